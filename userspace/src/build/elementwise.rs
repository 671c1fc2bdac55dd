//! Element by element: the planar engine's operations on one or two tensors.
//!
//! In order: source 1 times its pre-scale, negations, the operation, plus bias, times scale, times final scale,
//! ReLU, one rounding (td 8.1). An operand of extent 1 along an axis stretches to that of the other.

use ane_uapi::hw::td::common::TaskClass;
use ane_uapi::hw::td::planar::Operation;
use half::f16;

use super::error::{BuildError, Result};
use super::graph::{Graph, Tensor};
use super::parts::{PLANAR_TILE, parts};
use super::pass::Pass;
use super::shape::Shape;

/// The planar engine's operation on each element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Element {
    /// How the operands are combined. With one: `Add` is the operand itself, `SumSquared` its square.
    pub operation: Operation,
    /// Multiplies source 1 before anything else.
    pub pre_scale: f16,
    pub negate_first: bool,
    pub negate_second: bool,
    /// Added to the operation's result.
    pub bias: f16,
    /// Multiplies that sum.
    pub scale: f16,
    /// Multiplies once more, as a single.
    pub final_scale: f32,
    pub relu: bool,
    /// Channels and columns of the result change places.
    pub transpose: bool,
}

impl Element {
    /// `a + b`, or `a` alone.
    pub const ADD: Self = Self {
        operation: Operation::Add,
        pre_scale: f16::ONE,
        negate_first: false,
        negate_second: false,
        bias: f16::ZERO,
        scale: f16::ONE,
        final_scale: 1.0,
        relu: false,
        transpose: false,
    };
    /// `a` alone.
    pub const COPY: Self = Self::ADD;
    pub const SUBTRACT: Self = Self { negate_second: true, ..Self::ADD };
    pub const MULTIPLY: Self = Self { operation: Operation::Multiply, ..Self::ADD };
    pub const MAXIMUM: Self = Self { operation: Operation::Maximum, ..Self::ADD };
    pub const MINIMUM: Self = Self { operation: Operation::Minimum, ..Self::ADD };
    /// `(a + b)^2`.
    pub const SUM_SQUARED: Self = Self { operation: Operation::SumSquared, ..Self::ADD };
    /// `a^2` of one operand.
    pub const SQUARE: Self = Self::SUM_SQUARED;

    /// The same with a bias and a scale: `(result + bias) * scale`.
    pub const fn then(self, bias: f16, scale: f16) -> Self {
        Self { bias, scale, ..self }
    }

    pub const fn relu(self) -> Self {
        Self { relu: true, ..self }
    }

    /// The same with the result's channels and columns exchanged.
    pub const fn transposed(self) -> Self {
        Self { transpose: true, ..self }
    }
}

impl Graph {
    pub fn binary(&mut self, a: Tensor, b: Tensor, element: Element) -> Result<Tensor> {
        let operation = "elementwise";
        let (first, second) = (self.shape(a)?, self.shape(b)?);
        let shape = first.broadcast(second).ok_or(BuildError::Shapes { operation, first, second })?;
        let tensor = self.intermediate(operation, shape.transposed_if(element.transpose))?;
        self.binary_into(tensor, a, b, element)?;
        Ok(tensor)
    }

    /// The same into a tensor that is there already, or a part of it.
    pub(crate) fn binary_into(
        &mut self,
        tensor: Tensor,
        a: Tensor,
        b: Tensor,
        element: Element,
    ) -> Result<()> {
        let operation = "elementwise";
        let (first, second) = (self.view(a)?, self.view(b)?);
        let shapes = BuildError::Shapes { operation, first: first.shape, second: second.shape };
        let shape = first.shape.broadcast(second.shape).ok_or(shapes)?;
        self.check_filled(operation, tensor, shape.transposed_if(element.transpose))?;
        let channels = parts(&[first.shape, second.shape, shape], PLANAR_TILE);
        if channels.len() > 1 && !element.transpose {
            return self.each_part(&channels, [tensor, a, b], |graph, [tensor, a, b]| {
                graph.binary_into(tensor, a, b, element)
            });
        }
        let pass = Pass::planar(operation, TaskClass::PlanarBinary, shape, (first, Some(second)), element);
        self.pass_into(tensor, pass)
    }

    /// Copies a tensor, or squares it, on the planar engine.
    ///
    /// # Errors
    ///
    /// Refuses operations that need two operands.
    pub fn unary(&mut self, a: Tensor, element: Element) -> Result<Tensor> {
        let shape = self.shape(a)?;
        let tensor = self.intermediate("copy", shape.transposed_if(element.transpose))?;
        self.unary_into(tensor, a, element)?;
        Ok(tensor)
    }

    pub(crate) fn unary_into(&mut self, tensor: Tensor, a: Tensor, element: Element) -> Result<()> {
        let operation = "copy";
        check_one(operation, element)?;
        let first = self.view(a)?;
        self.check_filled(operation, tensor, first.shape.transposed_if(element.transpose))?;
        let channels = parts(&[first.shape, first.shape], PLANAR_TILE);
        if channels.len() > 1 && !element.transpose {
            return self.each_part(&channels, [tensor, a], |graph, [tensor, a]| {
                graph.unary_into(tensor, a, element)
            });
        }
        let pass = Pass::planar(operation, TaskClass::PlanarCopy, first.shape, (first, None), element);
        self.pass_into(tensor, pass)
    }

    /// Refuses a result that does not fill its place: the rest would have elements that nothing computes.
    fn check_filled(&self, operation: &'static str, place: Tensor, made: Shape) -> Result<()> {
        let shape = self.shape(place)?;
        if shape == made { Ok(()) } else { Err(BuildError::Shapes { operation, first: made, second: shape }) }
    }

    /// Fills a tensor, or a part of one, with a tensor that stretches to it: how compilers tile (delta 6).
    pub fn stretch_into(&mut self, tensor: Tensor, a: Tensor) -> Result<()> {
        let operation = "tile";
        let (shape, first) = (self.shape(tensor)?, self.view(a)?);
        if shape.broadcast(first.shape) != Some(shape) {
            return Err(BuildError::Shapes { operation, first: first.shape, second: shape });
        }
        let channels = parts(&[first.shape, shape], PLANAR_TILE);
        if channels.len() > 1 {
            return self
                .each_part(&channels, [tensor, a], |graph, [tensor, a]| graph.stretch_into(tensor, a));
        }
        let pass = Pass::planar(operation, TaskClass::PlanarCopy, shape, (first, None), Element::COPY);
        self.pass_into(tensor, pass)
    }

    /// `(a - b) * s` for each channel, where `b` and `s` are the two rows of `statistics`.
    ///
    /// # Errors
    ///
    /// Refuses statistics that are not two rows of one column, for each channel or for all.
    pub fn normalise(&mut self, a: Tensor, statistics: Tensor, element: Element) -> Result<Tensor> {
        let shape = self.shape(a)?;
        let result = shape.transposed_if(element.transpose);
        let tensor = self.intermediate("normalisation", result)?;
        self.normalise_into(tensor, a, statistics, element)?;
        Ok(tensor)
    }

    pub(super) fn normalise_into(
        &mut self,
        tensor: Tensor,
        a: Tensor,
        statistics: Tensor,
        element: Element,
    ) -> Result<()> {
        let operation = "normalisation";
        let (first, rows) = (self.view(a)?, self.view(statistics)?);
        let per_channel = rows.shape.c == first.shape.c || rows.shape.c == 1;
        if !per_channel || rows.shape.h != 2 || rows.shape.w != 1 {
            return Err(BuildError::Shapes { operation, first: first.shape, second: rows.shape });
        }
        if element.operation != Operation::Add || element.negate_second {
            let (first, second) = ("normalisation", "another operation");
            return Err(BuildError::Combination { operation, first, second });
        }
        let channels = parts(&[first.shape, rows.shape, rows.shape, first.shape], PLANAR_TILE);
        if channels.len() > 1 && !element.transpose {
            return self.each_part(&channels, [tensor, a, statistics], |graph, [tensor, a, statistics]| {
                graph.normalise_into(tensor, a, statistics, element)
            });
        }
        let pass =
            Pass::planar(operation, TaskClass::PlanarNormalise, first.shape, (first, Some(rows)), element);
        self.pass_into(tensor, pass)
    }
}

/// Refuses what only makes sense with two operands.
pub(super) fn check_one(operation: &'static str, element: Element) -> Result<()> {
    let alone = matches!(element.operation, Operation::Add | Operation::SumSquared) && !element.negate_second;
    if alone {
        Ok(())
    } else {
        Err(BuildError::Combination {
            operation,
            first: "one operand",
            second: "an operation that takes two",
        })
    }
}
