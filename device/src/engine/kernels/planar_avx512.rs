//! Eight doubles in one register of AVX-512, with F16C's conversions.
//!
//! The methods of [`Whole`] may only run on a processor that has both. They are inlined into [`run`], which asks, and
//! `Whole` is named nowhere else.
#![expect(unsafe_code, reason = "vector instructions, behind a check that the processor has them")]

use core::arch::x86_64::*;

use super::intrinsics::vector_methods;
use super::planar_vector::{LANES, LARGE, Vector, VectorWork};
use crate::engine::numerics::double::BEYOND_SINGLE;

/// Does the work, or gives it back if the processor has not what it takes.
pub(super) fn run<W: VectorWork>(work: W) -> Option<W> {
    if !(std::arch::is_x86_feature_detected!("avx512f")
        && std::arch::is_x86_feature_detected!("avx512dq")
        && std::arch::is_x86_feature_detected!("avx512vl")
        && std::arch::is_x86_feature_detected!("f16c"))
    {
        return Some(work);
    }
    // SAFETY: the processor has the instructions that the function is compiled for.
    unsafe { run_whole(work) };
    None
}

#[target_feature(enable = "avx512f,avx512dq,avx512vl,f16c")]
fn run_whole(work: impl VectorWork) {
    work.run::<Whole>();
}

#[derive(Clone, Copy)]
struct Whole(__m512d);

/// Numbers that are singles and lie on the same side of each half's tie, and above it where they lay on it.
///
/// The last bit of a single is far below a half's, so setting it moves nothing but an exact tie. Infinity would become a
/// NaN, and so a large number stands for it, which rounds to it.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn beyond_tie(numbers: __m512d) -> __m512d {
    let finite = _mm512_range_pd::<RANGE_SMALLER_MAGNITUDE>(numbers, _mm512_set1_pd(LARGE));
    let beyond = _mm512_set1_epi64(BEYOND_SINGLE.cast_signed());
    let kept = _mm512_andnot_si512(beyond, _mm512_castpd_si512(finite));
    let last = _mm512_set1_epi64(1 << 29);
    _mm512_castsi512_pd(_mm512_or_si512(kept, last))
}

/// The operand of the range instruction for the smaller magnitude, with the sign of the first operand.
const RANGE_SMALLER_MAGNITUDE: i32 = 0b0010;

vector_methods! {
    Whole, "avx512f,avx512dq,avx512vl,f16c";

    fn decode(halves: &[u16; LANES]) -> Whole {
        // SAFETY: the array has the sixteen bytes that are read, at any alignment.
        let halves = unsafe { _mm_loadu_si128(halves.as_ptr().cast()) };
        let raw = _mm256_cvtph_ps(halves);
        let is_nan = _mm256_cmp_ps_mask::<_CMP_UNORD_Q>(raw, raw);
        Whole(_mm512_cvtps_pd(_mm256_mask_mov_ps(raw, is_nan, _mm256_set1_ps(f32::INFINITY))))
    }

    /// Ties away from zero, as the portable encoding.
    fn encode(self: Whole) -> [u16; LANES] {
        let rounded = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm512_cvtpd_ps(beyond_tie(self.0)));
        let mut halves = [0; LANES];
        // SAFETY: the array has the sixteen bytes that are written, at any alignment.
        unsafe { _mm_storeu_si128(halves.as_mut_ptr().cast(), rounded) };
        halves
    }

    fn splat(number: f64) -> Whole {
        Whole(_mm512_set1_pd(number))
    }

    fn numbers(self: Whole) -> [f64; LANES] {
        let mut numbers = [0.0; LANES];
        // SAFETY: the array has the 64 bytes that are written, at any alignment.
        unsafe { _mm512_storeu_pd(numbers.as_mut_ptr(), self.0) };
        numbers
    }

    /// +0 where there is a NaN.
    fn settled(self: Whole) -> Whole {
        Whole(_mm512_maskz_mov_pd(_mm512_cmp_pd_mask::<_CMP_ORD_Q>(self.0, self.0), self.0))
    }

    fn plus(self: Whole, other: Whole) -> Whole {
        Whole(_mm512_add_pd(self.0, other.0))
    }

    fn times(self: Whole, other: Whole) -> Whole {
        Whole(_mm512_mul_pd(self.0, other.0))
    }

    fn flipped(self: Whole, signs: Whole) -> Whole {
        Whole(_mm512_xor_pd(self.0, signs.0))
    }

    fn magnitude(self: Whole) -> Whole {
        Whole(_mm512_andnot_pd(_mm512_set1_pd(-0.0), self.0))
    }

    /// Equal numbers are the same bits or two zeros, of which both bits set leave -0 and else +0.
    fn maximum(self: Whole, other: Whole) -> Whole {
        Whole(_mm512_mask_and_pd(_mm512_max_pd(self.0, other.0), _mm512_cmp_pd_mask::<_CMP_EQ_OQ>(self.0, other.0), self.0, other.0))
    }

    /// As the maximum, with either bit set.
    fn minimum(self: Whole, other: Whole) -> Whole {
        Whole(_mm512_mask_or_pd(_mm512_min_pd(self.0, other.0), _mm512_cmp_pd_mask::<_CMP_EQ_OQ>(self.0, other.0), self.0, other.0))
    }

    /// If both numbers are zero, the instruction gives the second.
    fn at_least(self: Whole, least: Whole) -> Whole {
        Whole(_mm512_max_pd(self.0, least.0))
    }
}
