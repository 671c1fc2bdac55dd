//! Matrix products: with constant weights a 1x1 convolution; with two runtime operands a rewrite and a convolution.
//!
//! `x * y` with `x` of `[M, K]` (M channels, K columns) and `y` of `[K, N]` (K channels, N columns): a planar copy
//! writes `x` to scratch memory with `L` channels interleaved, which is how coefficients of `L` lanes lie; then a
//! convolution of `y` takes them from there (td 7.3). One task makes as many outputs as 16 engines have lanes; more are
//! divided over tasks. Rows of both operands are heads, each a product of its own, the last first. Compilers
//! have a copy for each head. In models one copy writes all of them: a row of the interleaved planes is the coefficients of a
//! head (Chosen).

use ane_uapi::hw::td::neural::OpMode;

use super::convolution::{Channels, Convolution, Weights, divides};
use super::elementwise::Element;
use super::error::{BuildError, Limit, Result};
use super::graph::{Graph, Home, Placement, Tensor};
use super::pass::{Coefficients, ENGINES, Kernel, Neural, Nonlinearity, Pass, Tail, engines};
use super::shape::{OnChip, Shape};

/// Most lanes of coefficients that a task made (td 7.3).
const LANES_MAX: u32 = 8;

/// Most bytes of an operand that is left on chip between tasks. (Chosen) A quarter of what there is.
const KEPT_BYTES_MAX: u64 = 512 << 10;

/// The most lanes that divide so many outputs.
fn lanes_for(rows: u32) -> u32 {
    let lanes = (0..=LANES_MAX.ilog2()).rev().map(|log2| 1 << log2);
    lanes.into_iter().find(|&lanes| rows.is_multiple_of(lanes)).unwrap_or(1)
}

impl Graph {
    /// `weights * input` for constant weights, `outputs` rows of as many values as the input has channels.
    pub fn linear(&mut self, input: Tensor, outputs: u32, weights: Weights<'_>) -> Result<Tensor> {
        self.convolution(input, &Convolution::new(outputs, (1, 1), weights))
    }

    /// `x * y` for each row: M channels of K columns times K channels of N columns gives M channels of N columns.
    pub fn matmul(&mut self, x: Tensor, y: Tensor, tail: Tail) -> Result<Tensor> {
        let rows = self.shape(x)?.c;
        self.matmul_with_lanes(x, y, tail, lanes_for(rows))
    }

    /// The same with a given number of lanes, a power of two to 8 that divides the channels of `x`.
    pub fn matmul_with_lanes(&mut self, x: Tensor, y: Tensor, tail: Tail, lanes: u32) -> Result<Tensor> {
        let operation = "matrix product";
        let (first, second) = self.factors(x, y)?;
        Limit::Lanes.check_power(operation, lanes)?;
        if matches!(tail.nonlinearity, Nonlinearity::Table(_)) {
            let (first, second) = ("coefficients", "an activation table");
            return Err(BuildError::Combination { operation, first, second });
        }
        divides(operation, "lanes", lanes, first.c)?;
        if tail.transpose {
            // A part in width cannot be written, so that one task has to do.
            Limit::TransposedOutputs.check(operation, u64::from(first.c) * u64::from(LANES_MAX / lanes))?;
        }

        let product = Shape { w: second.w, ..first };
        let result = self.intermediate(operation, product.transposed_if(tail.transpose))?;
        self.heads_into(result, x, y, (tail, lanes), false)?;
        Ok(result)
    }

    /// The product of each row of both, into a tensor that is there already.
    fn heads_into(
        &mut self,
        result: Tensor,
        x: Tensor,
        y: Tensor,
        (tail, lanes): (Tail, u32),
        is_one_copy: bool,
    ) -> Result<()> {
        let (first, second) = (self.shape(x)?, self.shape(y)?);
        let all = if is_one_copy { Some(self.rewritten(x, lanes)?) } else { None };
        for head in (0..first.h).rev() {
            let row = head..head + 1;
            let part = self.slice(all.unwrap_or(x), 0..first.c, row.clone())?;
            let kernels = if is_one_copy { part } else { self.rewritten(part, lanes)? };
            let y = self.slice(y, 0..second.c, row.clone())?;
            let channels = self.shape(result)?.c;
            let place = self.slice(result, 0..channels, row)?;
            self.head_into(place, kernels, y, (tail, lanes))?;
        }
        Ok(())
    }

    /// A copy whose planes are coefficients of so many lanes.
    fn rewritten(&mut self, x: Tensor, lanes: u32) -> Result<Tensor> {
        let kernels = self.unary(x, Element::COPY)?;
        self.interleave(kernels, lanes)?;
        Ok(kernels)
    }

    /// `x * y` for each row, of operands that fit, into a tensor that is there already or a part of it.
    pub(crate) fn matmul_into(&mut self, place: Tensor, x: Tensor, y: Tensor, tail: Tail) -> Result<()> {
        let (first, _) = self.factors(x, y)?;
        // As many rows as can be had with the most lanes, and the rest with fewer.
        let one_task = first.c <= ENGINES * lanes_for(first.c);
        let whole = if one_task { first.c } else { first.c / LANES_MAX * LANES_MAX };
        for rows in [0..whole, whole..first.c] {
            if rows.is_empty() {
                continue;
            }
            let x = self.slice(x, rows.clone(), 0..first.h)?;
            let place = self.slice(place, rows.clone(), 0..first.h)?;
            self.heads_into(place, x, y, (tail, lanes_for(rows.end - rows.start)), true)?;
        }
        Ok(())
    }

    /// The shapes of two tensors that can be multiplied.
    fn factors(&self, x: Tensor, y: Tensor) -> Result<(Shape, Shape)> {
        let (first, second) = (self.shape(x)?, self.shape(y)?);
        if first.w == second.c && first.h == second.h {
            return Ok((first, second));
        }
        Err(BuildError::Shapes { operation: "matrix product", first, second })
    }

    /// One head: a task for as many outputs as 16 engines have lanes.
    fn head_into(
        &mut self,
        place: Tensor,
        kernels: Tensor,
        y: Tensor,
        (tail, lanes): (Tail, u32),
    ) -> Result<()> {
        let rows = self.shape(kernels)?.c;
        let each = ENGINES * lanes;
        if rows <= each {
            return self.product_into(place, kernels, y, None, (tail, lanes));
        }
        // The first task leaves the other operand on chip, and the others read it there.
        let kept = self.kept("matrix product", y)?;
        for start in (0..rows).step_by(each as usize) {
            let outputs = start..rows.min(start + each);
            let part = self.slice(kernels, outputs.clone(), 0..1)?;
            let place = self.slice(place, outputs, 0..1)?;
            let (y, keep) = match kept {
                Some(kept) if start == 0 => (y, Some(kept)),
                Some(kept) => (kept, None),
                None => (y, None),
            };
            self.product_into(place, part, y, keep, (tail, lanes))?;
        }
        Ok(())
    }

    /// A place on chip for a tensor that several tasks read, if it is in memory and small enough.
    pub(super) fn kept(&mut self, operation: &'static str, tensor: Tensor) -> Result<Option<Tensor>> {
        let view = self.view(tensor)?;
        let in_memory = matches!(self.values[view.value].home, Home::Input(_) | Home::Constant(_));
        if !in_memory || OnChip::dense(view.shape).bytes > KEPT_BYTES_MAX {
            return Ok(None);
        }
        let kept = self.intermediate(operation, view.shape)?;
        self.place(kept, Placement::Chip)?;
        Ok(Some(kept))
    }

    /// One task: as many outputs as `kernels` has channels.
    fn product_into(
        &mut self,
        place: Tensor,
        kernels: Tensor,
        y: Tensor,
        keep: Option<Tensor>,
        (tail, lanes): (Tail, u32),
    ) -> Result<()> {
        let keep = keep.map(|keep| self.view(keep)).transpose()?;
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
            keep,
            ..Pass::neural("matrix product", first, Shape::new(outputs, 1, first.shape.w), neural)
        };
        self.pass_into(place, pass)
    }
}
