//! Eight doubles in two registers of AVX2, with F16C's conversions.
//!
//! The methods of [`Wide`] may only run on a processor that has both. They are inlined into [`run`], which asks, and
//! `Wide` is named nowhere else.
#![expect(unsafe_code, reason = "vector instructions, behind a check that the processor has them")]

use core::arch::x86_64::*;

use super::intrinsics::vector_methods;
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
fn both(Wide([a, b]): Wide, Wide([c, d]): Wide, operation: impl Fn(__m256d, __m256d) -> __m256d) -> Wide {
    Wide([operation(a, c), operation(b, d)])
}

vector_methods! {
    Wide, "avx2,f16c";

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
    fn encode(self: Wide) -> [u16; LANES] {
        let Wide([low, high]) = self;
        let singles = _mm256_set_m128(_mm256_cvtpd_ps(beyond_tie(high)), _mm256_cvtpd_ps(beyond_tie(low)));
        let rounded = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(singles);
        let mut halves = [0; LANES];
        // SAFETY: the array has the sixteen bytes that are written, at any alignment.
        unsafe { _mm_storeu_si128(halves.as_mut_ptr().cast(), rounded) };
        halves
    }

    fn splat(number: f64) -> Wide {
        Wide([_mm256_set1_pd(number); 2])
    }

    fn numbers(self: Wide) -> [f64; LANES] {
        let Wide([low, high]) = self;
        let mut numbers = [0.0; LANES];
        let (lower, upper) = numbers.split_at_mut(LANES / 2);
        // SAFETY: each half of the array has the 32 bytes that are written, at any alignment.
        unsafe { _mm256_storeu_pd(lower.as_mut_ptr(), low) };
        // SAFETY: as above.
        unsafe { _mm256_storeu_pd(upper.as_mut_ptr(), high) };
        numbers
    }

    /// +0 where there is a NaN.
    fn settled(self: Wide) -> Wide {
        both(self, self, |x, same| _mm256_and_pd(x, _mm256_cmp_pd::<_CMP_ORD_Q>(x, same)))
    }

    fn plus(self: Wide, other: Wide) -> Wide {
        both(self, other, |a, b| _mm256_add_pd(a, b))
    }

    fn times(self: Wide, other: Wide) -> Wide {
        both(self, other, |a, b| _mm256_mul_pd(a, b))
    }

    fn flipped(self: Wide, signs: Wide) -> Wide {
        both(self, signs, |x, sign| _mm256_xor_pd(x, sign))
    }

    fn magnitude(self: Wide) -> Wide {
        both(self, Wide::splat(-0.0), |x, sign| _mm256_andnot_pd(sign, x))
    }

    /// Equal numbers are the same bits or two zeros, of which both bits set leave -0 and else +0.
    fn maximum(self: Wide, other: Wide) -> Wide {
        both(self, other, |a, b| {
            let is_equal = _mm256_cmp_pd::<_CMP_EQ_OQ>(a, b);
            _mm256_blendv_pd(_mm256_max_pd(a, b), _mm256_and_pd(a, b), is_equal)
        })
    }

    /// As the maximum, with either bit set.
    fn minimum(self: Wide, other: Wide) -> Wide {
        both(self, other, |a, b| {
            let is_equal = _mm256_cmp_pd::<_CMP_EQ_OQ>(a, b);
            _mm256_blendv_pd(_mm256_min_pd(a, b), _mm256_or_pd(a, b), is_equal)
        })
    }

    /// If both numbers are zero, the instruction gives the second.
    fn at_least(self: Wide, least: Wide) -> Wide {
        both(self, least, |x, least| _mm256_max_pd(x, least))
    }
}
