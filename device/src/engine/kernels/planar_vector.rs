//! Eight doubles at once, on any processor and on newer ones.
//!
//! The planar engine's arithmetic in doubles is written once, as [`VectorWork`] over a [`Vector`]. Each operation on each
//! element is the same IEEE 754 operation in every vector, so the results are the same bits.

use crate::engine::numerics::double::{self, settle};

/// Numbers in a vector.
pub(in crate::engine) const LANES: usize = 8;

/// A finite magnitude that is infinity as a half, and a single as well.
pub(super) const LARGE: f64 = 131_072.0;

/// Eight doubles and what is done with them. A result without a value is a NaN until it is settled.
pub(in crate::engine) trait Vector: Copy {
    /// The numbers that halves stand for; a NaN is +infinity.
    fn decode(halves: &[u16; LANES]) -> Self;

    /// The nearest halves, ties away from zero; of a NaN any.
    fn encode(self) -> [u16; LANES];

    /// The same number eight times.
    fn splat(number: f64) -> Self;

    fn numbers(self) -> [f64; LANES];

    fn plus(self, other: Self) -> Self;

    fn times(self, other: Self) -> Self;

    /// The numbers, and +0 in the place of a NaN.
    fn settled(self) -> Self;

    /// The numbers with the bits turned over that `signs` have set.
    fn flipped(self, signs: Self) -> Self;

    /// The numbers without their sign.
    fn magnitude(self) -> Self;

    /// The larger; +0 over -0 (Chosen). Neither operand may be a NaN.
    fn maximum(self, other: Self) -> Self;

    /// The smaller; -0 over +0 (Chosen). Neither operand may be a NaN.
    fn minimum(self, other: Self) -> Self;

    /// The number where it is above the least, and the least elsewhere.
    fn at_least(self, least: Self) -> Self;
}

/// Something to do with vectors.
pub(in crate::engine) trait VectorWork {
    /// Does it; to be marked `#[inline(always)]`, as everything that it calls.
    fn run<V: Vector>(self);
}

/// Does the work in the widest vectors that the processor has.
pub(in crate::engine) fn run(work: impl VectorWork) {
    #[cfg(target_arch = "x86_64")]
    let Some(work) = super::planar_avx512::run(work).and_then(super::planar_avx2::run) else { return };
    work.run::<Portable>();
}

/// The elements that follow the last whole vector of a row, padded with +0.
#[inline(always)]
pub(in crate::engine) fn padded(rest: &[u16]) -> [u16; LANES] {
    let mut whole = [0; LANES];
    whole.iter_mut().zip(rest).for_each(|(to, &from)| *to = from);
    whole
}

/// The larger; +0 over -0.
#[inline(always)]
pub(in crate::engine) fn maximum(a: f64, b: f64) -> f64 {
    if a > b || (a == b && a.is_sign_positive()) { a } else { b }
}

#[inline(always)]
fn minimum(a: f64, b: f64) -> f64 {
    if a < b || (a == b && a.is_sign_negative()) { a } else { b }
}

/// A vector for any processor.
#[derive(Clone, Copy)]
pub(in crate::engine) struct Portable([f64; LANES]);

impl Portable {
    #[inline(always)]
    fn with(mut self, other: Self, operation: impl Fn(f64, f64) -> f64) -> Self {
        for (a, b) in self.0.iter_mut().zip(other.0) {
            *a = operation(*a, b);
        }
        self
    }
}

impl Vector for Portable {
    #[inline(always)]
    fn decode(halves: &[u16; LANES]) -> Self {
        Self(halves.map(double::decode))
    }

    #[inline(always)]
    fn encode(self) -> [u16; LANES] {
        self.0.map(double::encode)
    }

    #[inline(always)]
    fn splat(number: f64) -> Self {
        Self([number; LANES])
    }

    #[inline(always)]
    fn numbers(self) -> [f64; LANES] {
        self.0
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.with(other, |a, b| a + b)
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        self.with(other, |a, b| a * b)
    }

    #[inline(always)]
    fn settled(self) -> Self {
        Self(self.0.map(settle))
    }

    #[inline(always)]
    fn flipped(self, signs: Self) -> Self {
        self.with(signs, |x, sign| f64::from_bits(x.to_bits() ^ sign.to_bits()))
    }

    #[inline(always)]
    fn magnitude(self) -> Self {
        Self(self.0.map(f64::abs))
    }

    #[inline(always)]
    fn maximum(self, other: Self) -> Self {
        self.with(other, maximum)
    }

    #[inline(always)]
    fn minimum(self, other: Self) -> Self {
        self.with(other, minimum)
    }

    #[inline(always)]
    fn at_least(self, least: Self) -> Self {
        self.with(least, |x, least| if x > least { x } else { least })
    }
}
