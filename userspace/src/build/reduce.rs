//! Reductions over rows and columns: the planar engine's classes 5 and 6.
//!
//! The elements of a channel, unrounded, are summed or their maximum is taken; times final scale, plus epsilon, post
//! function, plus bias, times scale (td 4.3). Along the columns alone a reduction is one batch for each row.

use ane_uapi::hw::td::common::TaskClass;
use ane_uapi::hw::td::planar::{Operation, PostFunction, Reduction};
use half::f16;

use super::elementwise::{Element, check_one};
use super::error::{BuildError, Limit, Result};
use super::graph::{Graph, Tensor, View};
use super::parts::{PLANAR_TILE, parts};
use super::pass::{Pass, Planar, Work};
use super::shape::Shape;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Rows and columns.
    Plane,
    /// Columns, each row for itself.
    Columns,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reduce {
    pub reduction: Reduction,
    /// The sum is divided by the number of elements.
    pub mean: bool,
    /// Added to the value.
    pub epsilon: f16,
    pub post: PostFunction,
}

impl Reduce {
    pub const SUM: Self =
        Self { reduction: Reduction::Sum, mean: false, epsilon: f16::ZERO, post: PostFunction::None };
    pub const MEAN: Self = Self { mean: true, ..Self::SUM };
    pub const MAXIMUM: Self = Self { reduction: Reduction::Maximum, ..Self::SUM };

    /// The same with an addend and a function behind it.
    pub const fn then(self, epsilon: f16, post: PostFunction) -> Self {
        Self { epsilon, post, ..self }
    }
}

impl Graph {
    /// Reduces a tensor, or with `Element::SQUARE` its squares.
    ///
    /// # Errors
    ///
    /// Refuses operations that need two operands.
    pub fn reduce(&mut self, a: Tensor, element: Element, reduce: Reduce, over: Over) -> Result<Tensor> {
        check_one("reduction", element)?;
        let shape = self.shape(a)?;
        let tensor = self.intermediate("reduction", reduced(shape, over, element.transpose))?;
        self.reduce_into(tensor, (a, None), element, reduce, over)?;
        Ok(tensor)
    }

    /// Combines two tensors and reduces what comes out, without rounding in between.
    pub fn binary_reduce(
        &mut self,
        a: Tensor,
        b: Tensor,
        element: Element,
        reduce: Reduce,
        over: Over,
    ) -> Result<Tensor> {
        let operation = "reduction";
        let (first, second) = (self.shape(a)?, self.shape(b)?);
        let shape = first.broadcast(second).ok_or(BuildError::Shapes { operation, first, second })?;
        let tensor = self.intermediate(operation, reduced(shape, over, element.transpose))?;
        self.reduce_into(tensor, (a, Some(b)), element, reduce, over)?;
        Ok(tensor)
    }

    /// The same into a tensor that is there already, or a part of it.
    pub(crate) fn reduce_into(
        &mut self,
        tensor: Tensor,
        (a, b): (Tensor, Option<Tensor>),
        element: Element,
        reduce: Reduce,
        over: Over,
    ) -> Result<()> {
        let operation = "reduction";
        let (first, second) = (self.view(a)?, b.map(|b| self.view(b)).transpose()?);
        let shape = second.map_or(Some(first.shape), |second: View| first.shape.broadcast(second.shape));
        let other = second.map_or(first.shape, |second| second.shape);
        let shapes = BuildError::Shapes { operation, first: first.shape, second: other };
        let shape = shape.ok_or(shapes)?;
        // The window of the result is as wide as the operand.
        let channels = parts(&[first.shape, other, shape], PLANAR_TILE);
        if channels.len() > 1 && !element.transpose {
            return self.each_part(&channels, [tensor, a, b.unwrap_or(a)], |graph, [tensor, a, other]| {
                graph.reduce_into(tensor, (a, b.map(|_| other)), element, reduce, over)
            });
        }
        if over == Over::Columns && u64::from(shape.h) > Limit::Groups.max() {
            return self.reduce_rows(tensor, (a, b), element, reduce, shape.h);
        }
        let (batches, input) = match over {
            Over::Plane => (1, shape),
            Over::Columns => (shape.h, Shape { h: 1, ..shape }),
        };
        Limit::Groups.check(operation, batches)?;
        let class = if second.is_some() { TaskClass::PlanarBinaryReduce } else { TaskClass::PlanarReduce };
        let elements = f64::from(input.h) * f64::from(input.w);
        let mean = if reduce.mean { 1.0 / elements } else { 1.0 };
        let element = Element { final_scale: (f64::from(element.final_scale) * mean) as f32, ..element };
        let pass = Pass {
            operation,
            input,
            // As compilers have it, though one value for each channel comes out.
            output: input,
            batches,
            first,
            second,
            result: first,
            keep: None,
            transpose: element.transpose,
            work: Work::Planar(Planar { class, element, reduce }),
        };
        self.pass_into(tensor, pass)
    }

    /// Reduces columns where there are more rows than batches of a task: in several, each of which takes some of the rows.
    fn reduce_rows(
        &mut self,
        tensor: Tensor,
        (a, b): (Tensor, Option<Tensor>),
        element: Element,
        reduce: Reduce,
        rows: u32,
    ) -> Result<()> {
        let most = Limit::Groups.max() as u32;
        for start in (0..rows).step_by(most as usize) {
            let part = start..rows.min(start + most);
            // An operand of one row stretches, and is given whole.
            let mut rows_of = |tensor| -> Result<Tensor> {
                match self.shape(tensor)? {
                    Shape { h: 1, .. } => Ok(tensor),
                    Shape { c, .. } => self.slice(tensor, 0..c, part.clone()),
                }
            };
            let operands = (rows_of(a)?, b.map(&mut rows_of).transpose()?);
            let place = rows_of(tensor)?;
            self.reduce_into(place, operands, element, reduce, Over::Columns)?;
        }
        Ok(())
    }

    pub fn sum_of_squares(&mut self, a: Tensor, over: Over) -> Result<Tensor> {
        self.reduce(a, Element { operation: Operation::SumSquared, ..Element::COPY }, Reduce::SUM, over)
    }
}

fn reduced(shape: Shape, over: Over, transpose: bool) -> Shape {
    let left = match over {
        Over::Plane => Shape { h: 1, w: 1, ..shape },
        Over::Columns => Shape { w: 1, ..shape },
    };
    left.transposed_if(transpose)
}
