//! Eight doubles in two registers of AVX2, with F16C's conversions.
//!
//! The methods of [`Wide`] may only run on a processor that has both. They are inlined into [`run`], which asks, and
//! `Wide` is named nowhere else.
#![expect(unsafe_code, reason = "vector instructions, behind a check that the processor has them")]

use core::arch::x86_64::*;

use super::planar_vector::{LANES, LARGE, Vector, VectorWork};
use crate::engine::numerics::double::BEYOND_SINGLE;

/// Does the work, or gives it back if the processor has not what it takes.
pub(super) fn run<W: VectorWork>(work: W) -> Option<W> {
    if !(std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("f16c")) {
        return Some(work);
    }
    // SAFETY: the processor has the instructions that the function is compiled for.
    unsafe { run_wide(work) };
    None
}

#[target_feature(enable = "avx2,f16c")]
fn run_wide(work: impl VectorWork) {
    work.run::<Wide>();
}

#[derive(Clone, Copy)]
struct Wide([__m256d; 2]);

/// Calls a function of this file that is compiled for newer processors.
macro_rules! wide {
    ($call:expr) => {
        // SAFETY: whoever has a vector of this type, or makes one, was called by `run`, which has asked.
        unsafe { $call }
    };
}

impl Vector for Wide {
    #[inline(always)]
    fn decode(halves: &[u16; LANES]) -> Self {
        wide!(decode(halves))
    }

    #[inline(always)]
    fn encode(self) -> [u16; LANES] {
        wide!(encode(self))
    }

    #[inline(always)]
    fn splat(number: f64) -> Self {
        wide!(splat(number))
    }

    #[inline(always)]
    fn numbers(self) -> [f64; LANES] {
        wide!(numbers(self))
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        wide!(plus(self, other))
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        wide!(times(self, other))
    }

    #[inline(always)]
    fn settled(self) -> Self {
        wide!(settled(self))
    }

    #[inline(always)]
    fn flipped(self, signs: Self) -> Self {
        wide!(flipped(self, signs))
    }

    #[inline(always)]
    fn magnitude(self) -> Self {
        wide!(magnitude(self))
    }

    #[inline(always)]
    fn maximum(self, other: Self) -> Self {
        wide!(maximum(self, other))
    }

    #[inline(always)]
    fn minimum(self, other: Self) -> Self {
        wide!(minimum(self, other))
    }

    #[inline(always)]
    fn at_least(self, least: Self) -> Self {
        wide!(at_least(self, least))
    }
}

#[inline]
#[target_feature(enable = "avx2,f16c")]
fn decode(halves: &[u16; LANES]) -> Wide {
    // SAFETY: the array has the sixteen bytes that are read, at any alignment.
    let halves = unsafe { _mm_loadu_si128(halves.as_ptr().cast()) };
    let raw = _mm256_cvtph_ps(halves);
    let is_nan = _mm256_cmp_ps::<_CMP_UNORD_Q>(raw, raw);
    let singles = _mm256_blendv_ps(raw, _mm256_set1_ps(f32::INFINITY), is_nan);
    let (low, high) = (_mm256_castps256_ps128(singles), _mm256_extractf128_ps::<1>(singles));
    Wide([_mm256_cvtps_pd(low), _mm256_cvtps_pd(high)])
}

/// Rounds to odd at a single's last bit, and then to nearest, as the portable encoding does.
#[inline]
#[target_feature(enable = "avx2,f16c")]
fn encode(Wide([low, high]): Wide) -> [u16; LANES] {
    let singles = _mm256_set_m128(_mm256_cvtpd_ps(beyond_tie(high)), _mm256_cvtpd_ps(beyond_tie(low)));
    let rounded = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(singles);
    let mut halves = [0; LANES];
    // SAFETY: the array has the sixteen bytes that are written, at any alignment.
    unsafe { _mm_storeu_si128(halves.as_mut_ptr().cast(), rounded) };
    halves
}

/// As the function of the same name for AVX-512.
#[inline]
#[target_feature(enable = "avx2")]
fn beyond_tie(numbers: __m256d) -> __m256d {
    let large = _mm256_set1_pd(LARGE);
    let finite = _mm256_max_pd(_mm256_min_pd(numbers, large), _mm256_set1_pd(-LARGE));
    let beyond = _mm256_set1_epi64x(BEYOND_SINGLE.cast_signed());
    let kept = _mm256_andnot_si256(beyond, _mm256_castpd_si256(finite));
    _mm256_castsi256_pd(_mm256_or_si256(kept, _mm256_set1_epi64x(1 << 29)))
}

#[inline]
#[target_feature(enable = "avx2")]
fn splat(number: f64) -> Wide {
    Wide([_mm256_set1_pd(number); 2])
}

#[inline]
#[target_feature(enable = "avx2")]
fn numbers(Wide([low, high]): Wide) -> [f64; LANES] {
    let mut numbers = [0.0; LANES];
    let (lower, upper) = numbers.split_at_mut(LANES / 2);
    // SAFETY: each half of the array has the 32 bytes that are written, at any alignment.
    unsafe { _mm256_storeu_pd(lower.as_mut_ptr(), low) };
    // SAFETY: as above.
    unsafe { _mm256_storeu_pd(upper.as_mut_ptr(), high) };
    numbers
}

#[inline]
#[target_feature(enable = "avx2")]
fn both(Wide([a, b]): Wide, Wide([c, d]): Wide, operation: impl Fn(__m256d, __m256d) -> __m256d) -> Wide {
    Wide([operation(a, c), operation(b, d)])
}

/// +0 where there is a NaN.
#[inline]
#[target_feature(enable = "avx2")]
fn settled(numbers: Wide) -> Wide {
    both(numbers, numbers, |x, same| _mm256_and_pd(x, _mm256_cmp_pd::<_CMP_ORD_Q>(x, same)))
}

#[inline]
#[target_feature(enable = "avx2")]
fn plus(first: Wide, second: Wide) -> Wide {
    both(first, second, |a, b| _mm256_add_pd(a, b))
}

#[inline]
#[target_feature(enable = "avx2")]
fn times(first: Wide, second: Wide) -> Wide {
    both(first, second, |a, b| _mm256_mul_pd(a, b))
}

#[inline]
#[target_feature(enable = "avx2")]
fn flipped(numbers: Wide, signs: Wide) -> Wide {
    both(numbers, signs, |x, sign| _mm256_xor_pd(x, sign))
}

#[inline]
#[target_feature(enable = "avx2")]
fn magnitude(numbers: Wide) -> Wide {
    both(numbers, splat(-0.0), |x, sign| _mm256_andnot_pd(sign, x))
}

/// Equal numbers are the same bits or two zeros, of which both bits set leave -0 and else +0.
#[inline]
#[target_feature(enable = "avx2")]
fn maximum(first: Wide, second: Wide) -> Wide {
    both(first, second, |a, b| {
        let is_equal = _mm256_cmp_pd::<_CMP_EQ_OQ>(a, b);
        _mm256_blendv_pd(_mm256_max_pd(a, b), _mm256_and_pd(a, b), is_equal)
    })
}

/// As the maximum, with either bit set.
#[inline]
#[target_feature(enable = "avx2")]
fn minimum(first: Wide, second: Wide) -> Wide {
    both(first, second, |a, b| {
        let is_equal = _mm256_cmp_pd::<_CMP_EQ_OQ>(a, b);
        _mm256_blendv_pd(_mm256_min_pd(a, b), _mm256_or_pd(a, b), is_equal)
    })
}

/// If both numbers are zero, the instruction gives the second.
#[inline]
#[target_feature(enable = "avx2")]
fn at_least(numbers: Wide, least: Wide) -> Wide {
    both(numbers, least, |x, least| _mm256_max_pd(x, least))
}
