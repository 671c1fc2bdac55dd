//! Sixteen lanes: AVX-512 with F16C.
#![expect(unsafe_code, reason = "intrinsics")]

use std::arch::x86_64::*;

use super::intrinsics::{instructions, memory};
use super::lanes::{EXPONENT, Lanes, POWER, SIGN};
use crate::engine::numerics::halves::SMALLEST_NORMAL;

/// A register of AVX-512.
#[derive(Clone, Copy)]
pub(super) struct Avx512(__m512);

/// The larger magnitude of the two, positive.
const LARGER_MAGNITUDE: i32 = 0b1011;
/// `(a & b) ^ c`.
const AND_XOR: i32 = 0x6a;
/// `a & (b | c)`.
const AND_OR: i32 = 0xe0;

impl Avx512 {
    instructions! {
        only(self, mask: __mmask16) -> Self = Self(_mm512_maskz_mov_ps(mask, self.0));
        or_else(self, mask: __mmask16, b: Self) -> Self = Self(_mm512_mask_mov_ps(b.0, mask, self.0));
        bits(self) -> __m512i = _mm512_castps_si512(self.0);
        ordered(self, b: Self) -> __mmask16 = _mm512_cmp_ps_mask::<_CMP_ORD_Q>(self.0, b.0);
        at_least(self, b: Self) -> __mmask16 = _mm512_cmp_ps_mask::<_CMP_GE_OQ>(self.0, b.0);
        word(self, bits: u32) -> __m512i = { let _ = self; _mm512_set1_epi32(bits.cast_signed()) };
        logic<const TABLE: i32>(self, b: __m512i, c: __m512i) -> Self =
            Self(_mm512_castsi512_ps(_mm512_ternarylogic_epi32::<TABLE>(self.bits(), b, c)));
    }

    #[inline(always)]
    fn or_infinity(self) -> Self {
        self.or_else(self.ordered(self), self.number(f32::INFINITY))
    }
}

impl Lanes for Avx512 {
    const COUNT: usize = 16;

    memory! {
        _mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps;
        _mm256_loadu_si256, _mm256_storeu_si256; _mm512_cvtph_ps, _mm512_cvtps_ph
    }

    instructions! {
        number(self, number: f32) -> Self = { let _ = self; Self(_mm512_set1_ps(number)) };
        add(self, other: Self) -> Self = Self(_mm512_add_ps(self.0, other.0));
        sub(self, other: Self) -> Self = Self(_mm512_sub_ps(self.0, other.0));
        mul(self, other: Self) -> Self = Self(_mm512_mul_ps(self.0, other.0));
        plus_product(self, a: Self, b: Self) -> Self = Self(_mm512_fmadd_ps(a.0, b.0, self.0));
        minus_product(self, a: Self, b: Self) -> Self = Self(_mm512_fnmadd_ps(a.0, b.0, self.0));
        magnitude(self) -> Self = Self(_mm512_abs_ps(self.0));
        peak(self, other: Self) -> Self = Self(_mm512_range_ps::<LARGER_MAGNITUDE>(self.0, other.0));
    }

    #[inline(always)]
    unsafe fn store_some(self, to: *mut f32, mask: u16) {
        // SAFETY: as the caller says.
        unsafe { _mm512_mask_storeu_ps(to, mask, self.0) }
    }

    #[inline(always)]
    fn flush(self) -> Self {
        self.only(self.magnitude().at_least(self.number(SMALLEST_NORMAL)))
    }

    #[inline(always)]
    fn or_zero(self) -> Self {
        self.only(self.ordered(self))
    }

    #[inline(always)]
    fn limited(self, limit: Self) -> Self {
        let beyond = self.magnitude().at_least(limit);
        self.masked(SIGN, EXPONENT).or_else(beyond, self)
    }

    #[inline(always)]
    fn masked(self, mask: u32, flipped: u32) -> Self {
        self.logic::<AND_XOR>(self.word(mask), self.word(flipped))
    }

    #[inline(always)]
    fn larger_power(self, other: Self, gate: Self) -> Self {
        self.peak(other).logic::<AND_OR>(gate.bits(), self.word(POWER))
    }
}
