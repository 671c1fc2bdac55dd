//! Reductions over any axes.

use super::super::concat::Axis;
use super::super::error::Result;
use super::super::graph::{Graph, Tensor};
use super::{Setting, places};

/// How the elements along axes become one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Statistic {
    Sum,
    Mean,
    Largest,
    Smallest,
    /// Their product; there may be 256 of them.
    Product,
    /// The sum of their squares.
    SumOfSquares,
    /// The sum of their magnitudes.
    Norm1,
    /// The root of the sum of their squares.
    Norm2,
    /// The natural logarithm of their sum.
    LogSum,
    /// The natural logarithm of the sum of their exponentials.
    LogSumExp,
}

impl Statistic {
    const fn operator(self) -> &'static str {
        match self {
            Self::Sum => "ReduceSum",
            Self::Mean => "ReduceMean",
            Self::Largest => "ReduceMax",
            Self::Smallest => "ReduceMin",
            Self::Product => "ReduceProd",
            Self::SumOfSquares => "ReduceSumSquare",
            Self::Norm1 => "ReduceL1",
            Self::Norm2 => "ReduceL2",
            Self::LogSum => "ReduceLogSum",
            Self::LogSumExp => "ReduceLogSumExp",
        }
    }
}

impl Graph {
    /// Reduces a tensor over any of its axes, which have extent 1 afterwards; over none, it is a function of each element.
    ///
    /// # Errors
    ///
    /// Refuses products of too many elements.
    ///
    /// # Examples
    ///
    /// ```
    /// use ane::build::{Axis, Graph, Shape, Statistic};
    ///
    /// let mut graph = Graph::new();
    /// let x = graph.input("x", Shape::new(64, 4, 16))?;
    /// let y = graph.statistic(x, Statistic::Smallest, &[Axis::Channels, Axis::Columns])?;
    /// assert_eq!(graph.shape(y)?, Shape::new(1, 4, 1));
    /// # Ok::<(), ane::build::BuildError>(())
    /// ```
    pub fn statistic(&mut self, x: Tensor, statistic: Statistic, axes: &[Axis]) -> Result<Tensor> {
        let axes = places(axes).into_iter().map(|axis| axis as i64).collect();
        let settings = [("axes", Setting::Integers(axes)), ("noop_with_empty_axes", Setting::Integer(1))];
        self.layer("reduction", &[x], |layer, values| layer.operator(statistic.operator(), values, &settings))
    }
}
