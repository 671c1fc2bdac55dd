//! Eight doubles at once, on any processor and on newer ones.
//!
//! What the planar engine does in doubles is written once, as [`VectorWork`] over a [`Vector`]. Each operation of each
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

    /// The larger; +0 over -0 (Chosen). Of numbers only, as the next.
    fn maximum(self, other: Self) -> Self;

    /// The smaller; -0 over +0 (Chosen).
    fn minimum(self, other: Self) -> Self;

    /// What is above the least, else the least.
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

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::engine::kernels::{planar_avx2, planar_avx512};

    /// Halves of every kind, numbers of both signs among them.
    fn halves() -> Vec<[u16; LANES]> {
        let step = |n: usize| (n as u16).wrapping_mul(0x9e37);
        let special =
            [0, 0x8000, 1, 0x8001, 0x3ff, 0x400, 0x3c00, 0xbc00, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00];
        let all: Vec<u16> = special.into_iter().chain((0..500).map(step)).collect();
        all.windows(LANES).map(|eight| eight.try_into().expect("eight")).collect()
    }

    /// What each operation makes of all pairs of vectors, as bits.
    struct Every<'a>(&'a mut Vec<u64>);

    impl VectorWork for Every<'_> {
        #[inline(always)]
        fn run<V: Vector>(self) {
            let halves = halves();
            for (a, b) in halves.iter().zip(halves.iter().rev().cycle().skip(7)) {
                let (a, b) = (V::decode(a), V::decode(b));
                let fine = a.times(V::splat(1.0 / 3.0));
                let results = [
                    a.plus(b).settled(),
                    a.times(b).settled(),
                    a.flipped(V::splat(-0.0)),
                    a.magnitude(),
                    a.maximum(b),
                    b.maximum(a),
                    a.minimum(b),
                    b.minimum(a),
                    a.at_least(V::splat(0.0)),
                    a.at_least(V::splat(f64::NEG_INFINITY)),
                    fine,
                ];
                for result in results {
                    self.0.extend(result.numbers().map(f64::to_bits));
                    self.0.extend(result.encode().map(u64::from));
                }
            }
        }
    }

    /// On processors that have not what one of them takes there is nothing to compare.
    #[test]
    fn every_vector_gives_the_bits_of_the_portable_one() {
        let (mut expected, mut narrow, mut wide) = (Vec::new(), Vec::new(), Vec::new());
        Every(&mut expected).run::<Portable>();
        let has_narrow = planar_avx2::run(Every(&mut narrow)).is_none();
        let has_wide = planar_avx512::run(Every(&mut wide)).is_none();
        assert!(!has_narrow || narrow == expected);
        assert!(!has_wide || wide == expected);
    }
}
