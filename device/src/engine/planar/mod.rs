//! The planar engine: element-wise operations and reductions that need no coefficients.
//!
//! Beside the array of multipliers sits a smaller engine that takes one or two tensors, element by element, through a
//! fixed chain: source 1 times its pre-scale, negations, one operation, plus bias, times scale, times final scale,
//! ReLU. It can sum the elements of a channel instead, or take the largest, and make a reciprocal or a reciprocal
//! square root of that: means, variances and the maximum of a softmax come from here. The arithmetic is that of
//! `docs/numerics.md`, "The planar engine": double precision, and one rounding to fp16 at the end.
//!
//! * [`Planar`]: what one pass does, and [`Planar::run`].
//! * [`operand`]: a tensor, with an extent of one wherever it is broadcast.
//! * `chain`: the element-wise chain in doubles.
//! * `reduce`: sums and maxima.
//! * `single`: passes of one operation, which need no doubles.

mod chain;
pub mod operand;
mod reduce;
mod single;
#[cfg(test)]
mod tests;

use std::num::NonZero;

use ane_uapi::hw::td::common::TaskClass;
use ane_uapi::hw::td::planar::{Operation, PostFunction, Reduction};

pub use self::operand::{BadOperands, Operand};
use self::operand::{View, check};
use super::cancel::{Pace, Watch};
use super::numerics::double;
use super::plan::operand::Shape;
use super::pool::Pool;

/// The class of a pass: its sources, and whether it is element-wise or a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// The element-wise chain on source 1.
    Copy,
    /// The element-wise chain on both sources.
    Binary,
    /// `(a + b) * s`, with `b` and `s` in two rows of source 2.
    Normalise,
    /// A reduction of source 1 over height and width.
    Reduce,
    /// A reduction of what the operation makes of both sources.
    BinaryReduce,
}

impl Class {
    /// The planar engine's part in tasks of a class; `None` for neural tasks.
    pub const fn of(class: TaskClass) -> Option<Self> {
        match class {
            TaskClass::Neural => None,
            TaskClass::PlanarCopy => Some(Self::Copy),
            TaskClass::PlanarBinary => Some(Self::Binary),
            TaskClass::PlanarNormalise => Some(Self::Normalise),
            TaskClass::PlanarReduce => Some(Self::Reduce),
            TaskClass::PlanarBinaryReduce => Some(Self::BinaryReduce),
        }
    }

    pub const fn task_class(self) -> TaskClass {
        match self {
            Self::Copy => TaskClass::PlanarCopy,
            Self::Binary => TaskClass::PlanarBinary,
            Self::Normalise => TaskClass::PlanarNormalise,
            Self::Reduce => TaskClass::PlanarReduce,
            Self::BinaryReduce => TaskClass::PlanarBinaryReduce,
        }
    }

    /// True if the pass gives one value for each channel.
    pub const fn is_reduction(self) -> bool {
        matches!(self, Self::Reduce | Self::BinaryReduce)
    }
}

/// One pass: the registers of td 4.3, understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Planar {
    pub class: Class,
    /// How elements are combined; with one source, [`Operation::Add`] is that source and
    /// [`Operation::SumSquared`] its square. Without effect on [`Class::Normalise`].
    pub operation: Operation,
    /// Multiplies source 1; fp16, as are all constants but the final scale.
    pub pre_scale: u16,
    /// Source 1 is +0 unless it is above zero, before anything else.
    pub relu_first: bool,
    /// The same of source 2.
    pub relu_second: bool,
    /// The result is its magnitude, in the place of ReLU.
    pub magnitude: bool,
    /// Source 1 is negated after that.
    pub negates_first: bool,
    /// Source 2 is negated; in [`Class::Normalise`], the first of its two rows.
    pub negates_second: bool,
    /// Added to the result.
    pub bias: u16,
    /// Multiplies the result after that.
    pub scale: u16,
    /// Multiplies the result after that, or the sum of a reduction before epsilon; a single.
    pub final_scale: u32,
    /// Added after the final scale of a reduction.
    pub epsilon: u16,
    /// The result is +0 unless it is above zero.
    pub relu: bool,
    /// How a reduction combines elements.
    pub reduction: Reduction,
    /// The steps on the value of a reduction.
    pub post: PostFunction,
}

impl Planar {
    /// A pass of this class whose chain changes nothing.
    pub const fn plain(class: Class, operation: Operation) -> Self {
        Self {
            class,
            operation,
            relu_first: false,
            relu_second: false,
            magnitude: false,
            pre_scale: double::ONE,
            negates_first: false,
            negates_second: false,
            bias: 0,
            scale: double::ONE,
            final_scale: 1f32.to_bits(),
            epsilon: 0,
            relu: false,
            reduction: Reduction::Sum,
            post: PostFunction::None,
        }
    }

    /// Computes the pass on packed tensors; every value is an fp16 bit pattern.
    ///
    /// `out` has the shape's elements, or its channels if the pass is a reduction. In [`Class::Normalise`] the second
    /// operand has two rows, `b` and `s`.
    ///
    /// # Errors
    ///
    /// Refuses operands and results that do not fit the shape or the class. Nothing is computed then.
    pub fn run(
        &self,
        shape: Shape,
        a: Operand<'_>,
        b: Option<Operand<'_>>,
        out: &mut [u16],
    ) -> Result<(), BadOperands> {
        self.run_under(&Watch::idle(), &mut Pool::new(NonZero::<usize>::MIN), shape, (a, b), out)
    }

    /// The same on several threads, for a pass that may be called off; what it has computed is worth nothing then.
    pub(super) fn run_under(
        &self,
        watch: &Watch<'_>,
        pool: &mut Pool,
        shape: Shape,
        (a, b): (Operand<'_>, Option<Operand<'_>>),
        out: &mut [u16],
    ) -> Result<(), BadOperands> {
        let elements = check(self, shape, out.len())?;
        let first = View::new(shape, a).ok_or(BadOperands::First { shape })?;
        let bad_second = BadOperands::Second { shape };
        match (self.class, b) {
            (Class::Copy, None) => self.element_wise(watch, pool, (&first, None), out),
            (Class::Binary, Some(b)) => {
                let second = View::new(shape, b).ok_or(bad_second)?;
                self.element_wise(watch, pool, (&first, Some(&second)), out);
            }
            (Class::Normalise, Some(b)) => {
                let [mean, factor] = View::two_rows(shape, b).ok_or(bad_second)?;
                pool.stretches(watch, out, |at, out, pace| {
                    chain::normalise(self, [&first, &mean, &factor], (at, out), pace);
                });
            }
            (Class::Reduce, None) => reduce::run(self, elements, (&first, None), out, &mut Pace::new(watch)),
            (Class::BinaryReduce, Some(b)) => {
                let second = View::new(shape, b).ok_or(bad_second)?;
                reduce::run(self, elements, (&first, Some(&second)), out, &mut Pace::new(watch));
            }
            _ => return Err(bad_second),
        }
        Ok(())
    }

    /// Computes the chain on one or two sources.
    fn element_wise(
        &self,
        watch: &Watch<'_>,
        pool: &mut Pool,
        (first, second): (&View<'_>, Option<&View<'_>>),
        out: &mut [u16],
    ) {
        let in_singles = single::of(self, second.is_some());
        pool.stretches(watch, out, |at, out, pace| match &in_singles {
            Some(pass) => single::run(pass, [first, second.unwrap_or(first)], (at, out), pace),
            None => chain::run(self, (first, second), (at, out), pace),
        });
    }
}
