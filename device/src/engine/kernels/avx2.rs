//! Eight lanes: AVX2 with FMA and F16C.
#![expect(unsafe_code, reason = "intrinsics")]

use std::arch::x86_64::*;

use super::intrinsics::{instructions, memory};
use super::lanes::{EXPONENT, Lanes, POWER, SIGN};
use crate::engine::numerics::halves::SMALLEST_NORMAL;

/// A register of AVX.
#[derive(Clone, Copy)]
pub(super) struct Avx2(__m256);

impl Avx2 {
    instructions! {
        larger(self, b: Self) -> Self = Self(_mm256_max_ps(self.0, b.0));
        and(self, b: Self) -> Self = Self(_mm256_and_ps(self.0, b.0));
        or(self, b: Self) -> Self = Self(_mm256_or_ps(self.0, b.0));
        xor(self, b: Self) -> Self = Self(_mm256_xor_ps(self.0, b.0));
        choose(self, b: Self, second: Self) -> Self = Self(_mm256_blendv_ps(self.0, b.0, second.0));
        ordered(self, b: Self) -> Self = Self(_mm256_cmp_ps::<_CMP_ORD_Q>(self.0, b.0));
        at_least(self, b: Self) -> Self = Self(_mm256_cmp_ps::<_CMP_GE_OQ>(self.0, b.0));
    }

    #[inline(always)]
    fn word(self, bits: u32) -> Self {
        self.number(f32::from_bits(bits))
    }

    #[inline(always)]
    fn or_infinity(self) -> Self {
        self.number(f32::INFINITY).choose(self, self.ordered(self))
    }
}

impl Lanes for Avx2 {
    const COUNT: usize = 8;

    memory! {
        _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps;
        _mm_loadu_si128, _mm_storeu_si128; _mm256_cvtph_ps, _mm256_cvtps_ph
    }

    instructions! {
        number(self, number: f32) -> Self = { let _ = self; Self(_mm256_set1_ps(number)) };
        add(self, other: Self) -> Self = Self(_mm256_add_ps(self.0, other.0));
        sub(self, other: Self) -> Self = Self(_mm256_sub_ps(self.0, other.0));
        mul(self, other: Self) -> Self = Self(_mm256_mul_ps(self.0, other.0));
        plus_product(self, a: Self, b: Self) -> Self = Self(_mm256_fmadd_ps(a.0, b.0, self.0));
        minus_product(self, a: Self, b: Self) -> Self = Self(_mm256_fnmadd_ps(a.0, b.0, self.0));
    }

    #[inline(always)]
    fn magnitude(self) -> Self {
        self.and(self.word(0x7fff_ffff))
    }

    #[inline(always)]
    fn peak(self, other: Self) -> Self {
        // The instruction answers with its second operand if either is a NaN.
        other.magnitude().larger(self.magnitude())
    }

    #[inline(always)]
    fn flush(self) -> Self {
        self.and(self.magnitude().at_least(self.number(SMALLEST_NORMAL)))
    }

    #[inline(always)]
    fn or_zero(self) -> Self {
        self.and(self.ordered(self))
    }

    #[inline(always)]
    fn limited(self, limit: Self) -> Self {
        let beyond = self.magnitude().at_least(limit);
        self.choose(self.masked(SIGN, EXPONENT), beyond)
    }

    #[inline(always)]
    fn masked(self, mask: u32, flipped: u32) -> Self {
        self.and(self.word(mask)).xor(self.word(flipped))
    }

    #[inline(always)]
    fn larger_power(self, other: Self, gate: Self) -> Self {
        // With the exponents alone there is no need of magnitudes first. Where the gate is closed the other is zero.
        self.and(gate.or(self.word(POWER))).larger(other.and(other.word(EXPONENT)))
    }
}
