//! Eight doubles at once, on any processor and on newer ones.
//!
//! What the planar engine does in doubles is written once, as [`Work`] over a [`Vector`]. Each operation of each
//! element is the same IEEE 754 operation in every vector, so the results are the same bits.

use crate::engine::numerics::double::{self, settle};

/// Numbers in a vector.
pub(in crate::engine) const LANES: usize = 8;

/// Eight doubles and what is done with them. None is ever a NaN: a result that has no value is +0.
pub(in crate::engine) trait Vector: Copy {
    /// The numbers that halves stand for; a NaN is +infinity.
    fn decode(halves: &[u16; LANES]) -> Self;

    /// The nearest halves, ties to even.
    fn encode(self) -> [u16; LANES];

    /// The same number eight times.
    fn splat(number: f64) -> Self;

    /// The numbers.
    fn numbers(self) -> [f64; LANES];

    /// Sums.
    fn plus(self, other: Self) -> Self;

    /// Products.
    fn times(self, other: Self) -> Self;

    /// The numbers with the other sign.
    fn negated(self) -> Self;

    /// The numbers without their sign.
    fn magnitude(self) -> Self;

    /// The larger; +0 over -0 (Chosen).
    fn maximum(self, other: Self) -> Self;

    /// The smaller; -0 over +0 (Chosen).
    fn minimum(self, other: Self) -> Self;

    /// What is above zero, else +0.
    fn relu(self) -> Self;
}

/// Something to do with vectors.
pub(in crate::engine) trait Work {
    /// Does it; to be marked `#[inline(always)]`, as everything that it calls.
    fn run<V: Vector>(self);
}

/// Does the work in the widest vectors that the processor has.
pub(in crate::engine) fn run(work: impl Work) {
    #[cfg(target_arch = "x86_64")]
    let Some(work) = super::planar_avx2::run(work) else { return };
    work.run::<Portable>();
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
        self.with(other, |a, b| settle(a + b))
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        self.with(other, |a, b| settle(a * b))
    }

    #[inline(always)]
    fn negated(self) -> Self {
        Self(self.0.map(|x| -x))
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
    fn relu(self) -> Self {
        Self(self.0.map(|x| if x > 0.0 { x } else { 0.0 }))
    }
}
