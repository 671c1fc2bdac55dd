//! Functions of each element, comparisons, and choices between two tensors.

use super::super::error::Result;
use super::super::graph::{Graph, Tensor};
use crate::model::network::Operation;
use crate::model::network::operation::Map;

/// How two elements compare; what comes out is 1 or 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    const fn operator(self) -> &'static str {
        match self {
            Self::Equal => "Equal",
            Self::NotEqual => "Xor",
            Self::Less => "Less",
            Self::LessOrEqual => "LessOrEqual",
            Self::Greater => "Greater",
            Self::GreaterOrEqual => "GreaterOrEqual",
        }
    }
}

impl Graph {
    /// A function of each element: on the planar engine where it has it, else by tables.
    ///
    /// # Errors
    ///
    /// Refuses tensors of another graph, and what has to lie on chip.
    ///
    /// # Examples
    ///
    /// ```
    /// use ane::build::{Graph, Map, Shape};
    ///
    /// let mut graph = Graph::new();
    /// let x = graph.input("x", Shape::new(8, 4, 16))?;
    /// let y = graph.map(x, Map::Floor)?;
    /// graph.output("y", y)?;
    /// // The fraction, what it adds, the whole part, and the sum.
    /// assert_eq!(graph.build()?.task_count(), 4);
    /// # Ok::<(), ane::build::BuildError>(())
    /// ```
    pub fn map(&mut self, x: Tensor, map: Map) -> Result<Tensor> {
        self.layer(map.name(), &[x], |layer, values| layer.add(Operation::Map(map), values))
    }

    /// `x` times the line `x / 6 + 1 / 2`, which is held between 0 and 1.
    ///
    /// # Errors
    ///
    /// As [`map`](Self::map).
    pub fn hard_swish(&mut self, x: Tensor) -> Result<Tensor> {
        self.layer("hard swish", &[x], |layer, values| layer.operator("HardSwish", values, &[]))
    }

    /// `a / b`: `a` times the reciprocals of `b`, by a table.
    ///
    /// # Errors
    ///
    /// Refuses shapes that do not stretch to each other.
    pub fn divide(&mut self, a: Tensor, b: Tensor) -> Result<Tensor> {
        self.layer("divide", &[a, b], |layer, values| layer.operator("Div", values, &[]))
    }

    /// `a^b`: `2^(b * log2(|a|))` by tables, with the sign that a whole `b` gives. Where `a` is below zero another `b` means nothing.
    ///
    /// # Errors
    ///
    /// Refuses shapes that do not stretch to each other.
    pub fn power(&mut self, a: Tensor, b: Tensor) -> Result<Tensor> {
        self.layer("power", &[a, b], |layer, values| layer.operator("Pow", values, &[]))
    }

    /// `x` to a known power: by products where it is a whole number up to 2048.
    ///
    /// # Errors
    ///
    /// As [`map`](Self::map).
    pub fn to_power(&mut self, x: Tensor, exponent: f64) -> Result<Tensor> {
        self.layer("power", &[x], |layer, values| {
            let exponent = layer.scalar(exponent);
            layer.operator("Pow", &[values[0], exponent], &[])
        })
    }

    /// 1 where two tensors compare so, 0 elsewhere: their difference through a table.
    ///
    /// # Errors
    ///
    /// Refuses shapes that do not stretch to each other.
    pub fn compare(&mut self, a: Tensor, b: Tensor, comparison: Comparison) -> Result<Tensor> {
        let operator = comparison.operator();
        self.layer("comparison", &[a, b], |layer, values| layer.operator(operator, values, &[]))
    }

    /// 1 where `x` is 0, and 0 elsewhere.
    ///
    /// # Errors
    ///
    /// As [`map`](Self::map).
    pub fn not(&mut self, x: Tensor) -> Result<Tensor> {
        self.layer("not", &[x], |layer, values| layer.operator("Not", values, &[]))
    }

    /// `a` where `condition` is not 0, and `b` elsewhere: masks times both, and their sum (delta 4).
    ///
    /// An infinity that is not chosen counts as nothing, because the engine's product of 0 and infinity is 0.
    ///
    /// # Errors
    ///
    /// Refuses shapes that do not stretch to each other.
    ///
    /// # Examples
    ///
    /// ```
    /// use ane::build::{Comparison, Graph, Shape};
    ///
    /// let mut graph = Graph::new();
    /// let a = graph.input("a", Shape::new(8, 1, 16))?;
    /// let b = graph.input("b", Shape::new(8, 1, 16))?;
    /// let is_less = graph.compare(a, b, Comparison::Less)?;
    /// let smaller = graph.select(is_less, a, b)?;
    /// graph.output("smaller", smaller)?;
    /// graph.build()?;
    /// # Ok::<(), ane::build::BuildError>(())
    /// ```
    pub fn select(&mut self, condition: Tensor, a: Tensor, b: Tensor) -> Result<Tensor> {
        self.layer("select", &[condition, a, b], |layer, values| layer.add(Operation::Select, values))
    }
}
