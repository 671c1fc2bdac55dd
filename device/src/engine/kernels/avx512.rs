//! Sixteen lanes: AVX-512 with F16C.
#![expect(unsafe_code, reason = "intrinsics")]

use std::arch::x86_64::*;

use super::lanes::{ALIGN, EXPONENT, Lanes, ROUND, SURVIVES};

/// A register of AVX-512.
#[derive(Clone, Copy)]
pub(super) struct Avx512(__m512);

/// Sixteen products, and which of them survive.
#[derive(Clone, Copy)]
pub(super) struct Product {
    rounded: Avx512,
    survives: __mmask16,
}

/// Highest bit of the exponent: set from 2 on.
const TWO_AND_UP: u32 = 0x4000_0000;
/// What [`ALIGN`] is for a power of two, for a number of eleven digits: aligns what is not larger.
const ALIGN_ELEVEN: f32 = 4097.0;
/// The larger magnitude of the two, positive.
const LARGER_MAGNITUDE: i32 = 0b1011;
/// Rounding to nearest, ties to even, and no exceptions.
const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

/// Instructions by name. Each works on values of [`Avx512`].
macro_rules! instructions {
    ($($name:ident($self:ident $(, $argument:ident: $type:ty)*) -> $result:ty = $instruction:expr;)*) => {
        $(
            #[inline(always)]
            fn $name($self $(, $argument: $type)*) -> $result {
                // SAFETY: a value of this type exists only where the processor has AVX-512.
                unsafe { $instruction }
            }
        )*
    };
}

impl Avx512 {
    instructions! {
        sum(self, b: Self) -> Self = Self(_mm512_add_ps(self.0, b.0));
        times(self, b: Self) -> Self = Self(_mm512_mul_ps(self.0, b.0));
        multiply_add(self, b: Self, c: Self) -> Self = Self(_mm512_fmadd_ps(self.0, b.0, c.0));
        subtract_product(self, b: Self, c: Self) -> Self = Self(_mm512_fnmadd_ps(self.0, b.0, c.0));
        sum_where(self, mask: __mmask16, b: Self, c: Self) -> Self =
            Self(_mm512_mask_add_ps(self.0, mask, b.0, c.0));
        max(self, b: Self) -> Self = Self(_mm512_castsi512_ps(_mm512_max_epu32(self.bits(), b.bits())));
        larger(self, b: Self) -> Self = Self(_mm512_range_ps::<LARGER_MAGNITUDE>(self.0, b.0));
        only(self, mask: __mmask16) -> Self = Self(_mm512_maskz_mov_ps(mask, self.0));
        or_else(self, mask: __mmask16, b: Self) -> Self = Self(_mm512_mask_mov_ps(b.0, mask, self.0));
        bits(self) -> __m512i = _mm512_castps_si512(self.0);
        ordered(self, b: Self) -> __mmask16 = _mm512_cmp_ps_mask::<_CMP_ORD_Q>(self.0, b.0);
        at_least(self, b: Self) -> __mmask16 = _mm512_cmp_ps_mask::<_CMP_GE_OQ>(self.0, b.0);
        number(self, number: f32) -> Self = { let _ = self; Self(_mm512_set1_ps(number)) };
        word(self, bits: u32) -> __m512i = { let _ = self; _mm512_set1_epi32(bits.cast_signed()) };
        and(self, bits: __m512i) -> Self = Self(_mm512_and_ps(self.0, bits.floats()));
        has(self, bits: __m512i) -> __mmask16 = _mm512_test_epi32_mask(self.bits(), bits);
    }
}

/// Bits as the numbers that they are.
trait Floats {
    fn floats(self) -> __m512;
}

impl Floats for __m512i {
    #[inline(always)]
    fn floats(self) -> __m512 {
        // SAFETY: a value of this type is made from values of `Avx512` only.
        unsafe { _mm512_castsi512_ps(self) }
    }
}

impl Lanes for Avx512 {
    const COUNT: usize = 16;
    type Product = Product;

    #[inline(always)]
    unsafe fn splat(number: f32) -> Self {
        // SAFETY: as the caller says.
        Self(unsafe { _mm512_set1_ps(number) })
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: as the caller says.
        Self(unsafe { _mm512_loadu_ps(from) })
    }

    #[inline(always)]
    unsafe fn load_halves(from: *const u16) -> Self {
        // SAFETY: sixteen halves can be read, as the caller says.
        let halves = unsafe { _mm256_loadu_si256(from.cast()) };
        // SAFETY: the processor has the unit, as the caller says.
        let numbers = Self(unsafe { _mm512_cvtph_ps(halves) });
        numbers.or_else(numbers.ordered(numbers), numbers.number(f32::INFINITY))
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: as the caller says.
        unsafe { _mm512_storeu_ps(to, self.0) }
    }

    #[inline(always)]
    unsafe fn store_halves(self, to: *mut u16) {
        // SAFETY: a value of this type exists only where the processor has AVX-512.
        let halves = unsafe { _mm512_cvtps_ph::<NEAREST>(self.0) };
        // SAFETY: sixteen halves can be written, as the caller says.
        unsafe { _mm256_storeu_si256(to.cast(), halves) }
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
        self.larger(other)
    }

    #[inline(always)]
    fn flush(self) -> Self {
        let least = self.number(crate::engine::numerics::halves::SMALLEST_NORMAL);
        self.only(self.larger(self).at_least(least))
    }

    #[inline(always)]
    fn product(self, other: Self) -> Product {
        let product = self.times(other);
        let power = product.and(product.word(EXPONENT)).max(product.number(SURVIVES));
        let round = power.number(ROUND);
        let rounded = power.subtract_product(round, power.multiply_add(round, product));
        Product { rounded, survives: rounded.has(rounded.word(TWO_AND_UP)) }
    }

    #[inline(always)]
    fn first(product: Product) -> Self {
        product.rounded.only(product.survives)
    }

    #[inline(always)]
    fn add_second(self, product: Product) -> Self {
        let larger = self.larger(product.rounded);
        let align = larger.number(ALIGN_ELEVEN);
        let aligned = larger.multiply_add(align, self);
        self.sum_where(product.survives, aligned, larger.subtract_product(align, product.rounded))
    }

    #[inline(always)]
    fn add_later(self, product: Product) -> Self {
        let larger = self.larger(product.rounded);
        let power = larger.and(larger.word(EXPONENT));
        let align = larger.number(ALIGN);
        let aligned = power.multiply_add(align, self);
        self.sum_where(product.survives, aligned, power.subtract_product(align, product.rounded))
    }
}
