//! Eight lanes: AVX2 with FMA and F16C.
#![expect(unsafe_code, reason = "intrinsics")]

use std::arch::x86_64::*;

use super::lanes::{ALIGN, EXPONENT, Lanes, ROUND, SURVIVES};
use crate::engine::numerics::halves::SMALLEST_NORMAL;

/// A register of AVX.
#[derive(Clone, Copy)]
pub(super) struct Avx2(__m256);

/// Rounding to nearest, ties to even.
const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT;

/// Instructions by name. Each works on values of [`Avx2`].
macro_rules! instructions {
    ($($name:ident($self:ident $(, $argument:ident: $type:ty)*) -> $result:ty = $instruction:expr;)*) => {
        $(
            #[inline(always)]
            fn $name($self $(, $argument: $type)*) -> $result {
                // SAFETY: a value of this type exists only where the processor has AVX2, FMA and F16C.
                unsafe { $instruction }
            }
        )*
    };
}

impl Avx2 {
    instructions! {
        sum(self, b: Self) -> Self = Self(_mm256_add_ps(self.0, b.0));
        times(self, b: Self) -> Self = Self(_mm256_mul_ps(self.0, b.0));
        multiply_add(self, b: Self, c: Self) -> Self = Self(_mm256_fmadd_ps(self.0, b.0, c.0));
        subtract_product(self, b: Self, c: Self) -> Self = Self(_mm256_fnmadd_ps(self.0, b.0, c.0));
        larger(self, b: Self) -> Self = Self(_mm256_max_ps(self.0, b.0));
        and(self, b: Self) -> Self = Self(_mm256_and_ps(self.0, b.0));
        choose(self, b: Self, second: Self) -> Self = Self(_mm256_blendv_ps(self.0, b.0, second.0));
        ordered(self, b: Self) -> Self = Self(_mm256_cmp_ps::<_CMP_ORD_Q>(self.0, b.0));
        equal(self, b: Self) -> Self = Self(_mm256_cmp_ps::<_CMP_EQ_OQ>(self.0, b.0));
        at_least(self, b: Self) -> Self = Self(_mm256_cmp_ps::<_CMP_GE_OQ>(self.0, b.0));
        number(self, number: f32) -> Self = { let _ = self; Self(_mm256_set1_ps(number)) };
    }

    #[inline(always)]
    fn word(self, bits: u32) -> Self {
        self.number(f32::from_bits(bits))
    }

    #[inline(always)]
    fn magnitude(self) -> Self {
        self.and(self.word(0x7fff_ffff))
    }
}

impl Lanes for Avx2 {
    const COUNT: usize = 8;
    type Product = Self;

    #[inline(always)]
    unsafe fn splat(number: f32) -> Self {
        // SAFETY: as the caller says.
        Self(unsafe { _mm256_set1_ps(number) })
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: as the caller says.
        Self(unsafe { _mm256_loadu_ps(from) })
    }

    #[inline(always)]
    unsafe fn load_halves(from: *const u16) -> Self {
        // SAFETY: eight halves can be read, as the caller says.
        let halves = unsafe { _mm_loadu_si128(from.cast()) };
        // SAFETY: the processor has the unit, as the caller says.
        let numbers = Self(unsafe { _mm256_cvtph_ps(halves) });
        numbers.number(f32::INFINITY).choose(numbers, numbers.ordered(numbers))
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: as the caller says.
        unsafe { _mm256_storeu_ps(to, self.0) }
    }

    #[inline(always)]
    unsafe fn store_halves(self, to: *mut u16) {
        // SAFETY: a value of this type exists only where the processor has F16C.
        let halves = unsafe { _mm256_cvtps_ph::<NEAREST>(self.0) };
        // SAFETY: eight halves can be written, as the caller says.
        unsafe { _mm_storeu_si128(to.cast(), halves) }
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.sum(other)
    }

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.times(other)
    }

    #[inline(always)]
    fn plus_product(self, a: Self, b: Self) -> Self {
        a.multiply_add(b, self)
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
    fn product(self, other: Self) -> Self {
        let product = self.times(other);
        let power = product.and(product.word(EXPONENT)).larger(product.number(SURVIVES));
        let round = power.number(ROUND);
        let rounded = power.subtract_product(round, power.multiply_add(round, product));
        rounded.and(rounded.magnitude().at_least(rounded.number(SURVIVES)))
    }

    #[inline(always)]
    fn first(product: Self) -> Self {
        product
    }

    #[inline(always)]
    fn add_second(self, product: Self) -> Self {
        self.add_later(product)
    }

    #[inline(always)]
    fn add_later(self, product: Self) -> Self {
        let power = self.magnitude().larger(product.magnitude()).and(self.word(EXPONENT));
        let align = power.number(ALIGN);
        let aligned = power.multiply_add(align, self).sum(power.subtract_product(align, product));
        aligned.choose(self, product.equal(product.number(0.0)))
    }
}
