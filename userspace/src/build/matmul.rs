//! Matrix products: with constant weights a 1x1 convolution; with two runtime operands a rewrite and a convolution.
//!
//! `x * y` with `x` of `[M, K]` (M channels, K columns) and `y` of `[K, N]` (K channels, N columns): a planar copy
//! writes `x` to scratch memory with `L` channels interleaved, which is how coefficients of `L` lanes lie; then a
//! convolution of `y` takes them from there (td 7.3). One task makes as many outputs as 16 engines have lanes; more are
//! divided over tasks.

use ane_uapi::hw::td::neural::OpMode;

use super::convolution::{Channels, Convolution, Weights};
use super::elementwise::Element;
use super::error::{BuildError, Limit};
use super::graph::{Graph, Tensor};
use super::pass::{Coefficients, Kernel, Neural, Nonlinearity, Pass, Tail, Work, engines};
use super::shape::Shape;

/// Most lanes of coefficients that a task made (td 7.3).
const LANES_MAX: u32 = 8;

/// Engines of the hardware.
const ENGINES: u32 = 16;

impl Graph {
    /// `weights * input` for constant weights, `outputs` rows of as many values as the input has channels.
    ///
    /// # Errors
    ///
    /// As [`convolution`](Self::convolution).
    pub fn linear(
        &mut self,
        input: Tensor,
        outputs: u32,
        weights: Weights<'_>,
    ) -> Result<Tensor, BuildError> {
        self.convolution(input, &Convolution::new(outputs, (1, 1), weights))
    }

    /// `x * y`: M channels of K columns times K channels of N columns gives M channels of N columns.
    ///
    /// # Errors
    ///
    /// Refuses operands of more than one row, shapes that do not go together, and activation tables.
    pub fn matmul(&mut self, x: Tensor, y: Tensor, tail: Tail) -> Result<Tensor, BuildError> {
        let rows = self.shape(x)?.c;
        let lanes = (0..=LANES_MAX.ilog2()).rev().map(|log2| 1 << log2);
        let lanes = lanes.into_iter().find(|&lanes| rows.is_multiple_of(lanes)).unwrap_or(1);
        self.matmul_with_lanes(x, y, tail, lanes)
    }

    /// The same with a given number of lanes, a power of two to 8 that divides the channels of `x`.
    ///
    /// # Errors
    ///
    /// As [`matmul`](Self::matmul).
    pub fn matmul_with_lanes(
        &mut self,
        x: Tensor,
        y: Tensor,
        tail: Tail,
        lanes: u32,
    ) -> Result<Tensor, BuildError> {
        let operation = "matrix product";
        let (first, second) = (self.shape(x)?, self.shape(y)?);
        if first.w != second.c || first.h != 1 || second.h != 1 {
            return Err(BuildError::Shapes { operation, first, second });
        }
        Limit::Lanes.check_power(operation, lanes)?;
        if matches!(tail.nonlinearity, Nonlinearity::Table(_)) {
            let (first, second) = ("coefficients", "an activation table");
            return Err(BuildError::Combination { operation, first, second });
        }
        super::convolution::divides(operation, "lanes", lanes, first.c)?;

        let kernels = self.unary(x, Element::COPY)?;
        self.interleave(kernels, lanes)?;
        let product = Shape::new(first.c, 1, second.w);
        let result =
            self.intermediate(operation, if tail.transpose { product.transposed() } else { product })?;
        if tail.transpose {
            // A part in width cannot be written, so that one task has to do.
            Limit::TransposedOutputs.check(operation, first.c.saturating_mul(LANES_MAX / lanes))?;
            self.product_into(result, kernels, y, tail, lanes)?;
            return Ok(result);
        }
        for start in (0..first.c).step_by((ENGINES * lanes) as usize) {
            let outputs = start..first.c.min(start + ENGINES * lanes);
            let part = self.slice(kernels, outputs.clone(), 0..1)?;
            let place = self.slice(result, outputs, 0..1)?;
            self.product_into(place, part, y, tail, lanes)?;
        }
        Ok(result)
    }

    /// One task: as many outputs as `kernels` has channels.
    fn product_into(
        &mut self,
        place: Tensor,
        kernels: Tensor,
        y: Tensor,
        tail: Tail,
        lanes: u32,
    ) -> Result<(), BuildError> {
        let (first, kernels) = (self.view(y)?, self.view(kernels)?);
        let outputs = kernels.shape.c;
        let neural = Neural {
            op_mode: OpMode::MultiplyAccumulate,
            kernel: Kernel { lanes, ..Kernel::POINT },
            channels: Channels::Dense,
            engines: engines(outputs / lanes),
            coefficients: Coefficients::Runtime(kernels),
            tail,
            input_relu: false,
        };
        let pass = Pass {
            operation: "matrix product",
            input: first.shape,
            output: Shape::new(outputs, 1, first.shape.w),
            batches: 1,
            first,
            second: None,
            result: first,
            transpose: tail.transpose,
            work: Work::Neural(neural),
        };
        self.pass_into(place, pass)
    }
}
