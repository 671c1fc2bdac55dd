//! Sixteen lanes: AVX-512 with F16C.
#![expect(unsafe_code, reason = "intrinsics")]

use std::arch::x86_64::*;

use super::apart::{Exponents, TOGETHER};
use super::intrinsics::{instructions, memory, sixteen_halves};
use super::lanes::{ANCHOR, Doubles, Fused, HALF_DIGIT, LAST_DIGITS, LONGEST, Lanes, Outputs, SINGLES_HOLD};
use super::turn::BLOCK;
use super::vector::Tap;
use crate::engine::numerics::bounds::Bounds;
use crate::engine::numerics::product::UNIT;

/// A register of AVX-512 with singles.
#[derive(Clone, Copy)]
pub(super) struct Avx512(__m512);

/// A register of AVX-512 with doubles.
#[derive(Clone, Copy)]
pub(super) struct Doubles512(__m512d);

/// Rows become columns, in each half of the registers by itself; see [`turn`](super::turn).
///
/// # Safety
///
/// The processor has the unit.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn turned(mut rows: [__m256i; BLOCK]) -> [__m256i; BLOCK] {
    for _ in 0..BLOCK.ilog2() {
        let [a, b, c, d, e, f, g, h] = rows;
        let zipped = |a, b| [_mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b)];
        let ([a, b], [c, d], [e, f], [g, h]) = (zipped(a, e), zipped(b, f), zipped(c, g), zipped(d, h));
        rows = [a, b, c, d, e, f, g, h];
    }
    rows
}

/// The bits of the exponent field of a half.
const FIELD: i16 = 0x7c00;

impl Avx512 {
    instructions! {
        bits(self) -> __m512i = _mm512_castps_si512(self.0);
        lower(self) -> __m256 = _mm512_castps512_ps256(self.0);
        upper(self) -> __m256 = _mm512_extractf32x8_ps::<1>(self.0);
        at_least(self, b: Self) -> __mmask16 = _mm512_cmp_ps_mask::<_CMP_GE_OQ>(self.0, b.0);
        away(self) -> __m512i = _mm512_sub_epi32(self.bits(), _mm512_set1_epi32(ANCHOR.to_bits().cast_signed()));
        units_and(self, more: i32) -> __m512i = _mm512_add_epi32(_mm512_set1_epi32(more), self.away());
        special(self, halves: __m256i) -> __mmask16 = {
            let field = _mm256_set1_epi16(FIELD);
            _mm256_cmpeq_epi16_mask(_mm256_and_si256(halves, field), field)
        };
        or_ordinary(self, halves: __m256i, special: __mmask16) -> Self = {
            let wide = _mm512_cvtepi16_epi32(halves);
            let magnitude = _mm512_slli_epi32::<13>(_mm512_and_si512(wide, _mm512_set1_epi32(0x7fff)));
            let rebiased = _mm512_add_epi32(magnitude, _mm512_set1_epi32(112 << 23));
            let sign = _mm512_and_si512(wide, _mm512_set1_epi32(i32::MIN));
            let numbers = _mm512_castsi512_ps(_mm512_or_si512(rebiased, sign));
            Self(_mm512_mask_mov_ps(self.0, special, numbers))
        };
        larger_than(self, magnitudes: __m256i, most: u32) -> __mmask16 =
            _mm256_cmpgt_epi16_mask(magnitudes, _mm256_set1_epi32(most.cast_signed()));
        plus_where(self, kept: __mmask16, coefficients: __m512, tap: Tap) -> Self =
            Self(_mm512_mask3_fmadd_ps(coefficients, _mm512_set1_ps(tap.operand), self.0, kept));
    }

    memory! {
        widened(halves: *const u16) -> __m512 = _mm512_cvtph_ps(_mm256_loadu_si256(halves.cast()));
    }
}

impl Lanes for Avx512 {
    const COUNT: usize = 16;

    memory! {
        load(from: *const f32) -> Self = Self(_mm512_loadu_ps(from));
        narrow(units: *const i32, bounds: Bounds, to: *mut u16) = {
            let units = _mm512_loadu_si512(units.cast());
            let magnitude = _mm512_abs_epi32(units);
            let is_large = _mm512_cmpgt_epi32_mask(magnitude, _mm512_set1_epi32(SINGLES_HOLD));
            let cut =
                _mm512_mask_andnot_epi32(magnitude, is_large, _mm512_set1_epi32(LAST_DIGITS), magnitude);
            let singles = _mm512_mul_ps(_mm512_cvtepi32_ps(cut), _mm512_set1_ps(UNIT));
            let rounded = _mm512_add_epi32(_mm512_castps_si512(singles), _mm512_set1_epi32(HALF_DIGIT));
            let sign = _mm512_and_si512(units, _mm512_set1_epi32(i32::MIN));
            let signed = _mm512_castsi512_ps(_mm512_or_si512(rounded, sign));
            let halves = _mm512_cvtps_ph::<_MM_FROUND_TO_ZERO>(signed);
            let halves = _mm256_max_epi16(halves, _mm256_set1_epi16(bounds.low));
            _mm256_storeu_si256(to.cast(), _mm256_min_epi16(halves, _mm256_set1_epi16(bounds.high)));
        };
    }

    #[inline(always)]
    unsafe fn load_halves(from: *const u16) -> Self {
        // SAFETY: so many halves can be read, as the caller says.
        let halves = unsafe { _mm256_loadu_si256(from.cast()) };
        // SAFETY: the processor has the unit, as the caller says.
        let numbers = Self(unsafe { _mm512_cvtph_ps(halves) });
        let special = numbers.special(halves);
        if special == 0 { numbers } else { numbers.or_ordinary(halves, special) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: as the caller says.
        unsafe { _mm512_storeu_ps(to, self.0) }
    }

    #[inline(always)]
    unsafe fn store_some(self, to: *mut f32, mask: u16) {
        // A store with a mask is slow on some processors, above all across cache lines. Tiles of eight rows take halves.
        match mask {
            // SAFETY: as the caller says.
            0x00ff => unsafe { _mm256_storeu_ps(to, self.lower()) },
            // SAFETY: as the caller says.
            0xff00 => unsafe { _mm256_storeu_ps(to.wrapping_add(8), self.upper()) },
            // SAFETY: as the caller says.
            _ => unsafe { _mm512_mask_storeu_ps(to, mask, self.0) },
        }
    }

    instructions! {
        odd(self) -> Self = {
            let bits = self.bits();
            let mask = _mm512_test_epi32_mask(bits, _mm512_set1_epi32(i32::MAX));
            Self(_mm512_castsi512_ps(_mm512_mask_or_epi32(bits, mask, bits, _mm512_set1_epi32(1))))
        };
    }
}

impl Outputs for Avx512 {
    const OUTPUTS: usize = 16;
    const CHAINS: usize = 4;

    sixteen_halves!();

    #[inline(always)]
    unsafe fn anchored() -> Self {
        // SAFETY: as the caller says.
        unsafe { Self::splat(ANCHOR) }
    }

    #[inline(always)]
    unsafe fn plus_kept(self, coefficients: *const u16, magnitudes: __m256i, tap: Tap) -> Self {
        // SAFETY: as the caller says.
        self.plus_where(self.larger_than(magnitudes, tap.most), unsafe { Self::widened(coefficients) }, tap)
    }

    #[inline(always)]
    unsafe fn add_units(self, to: *mut i32) {
        // SAFETY: as the caller says.
        unsafe { Fused::add_units(self, to) };
    }
}

/// Two registers of sums. What is looked at in halves is looked at for both at once.
#[derive(Clone, Copy)]
pub(super) struct Two(Avx512, Avx512);

impl Two {
    memory! {
        magnitudes_of(halves: __m512i) -> __m512i = _mm512_and_si512(halves, _mm512_set1_epi16(i16::MAX));
    }

    instructions! {
        larger_than(self, magnitudes: __m512i, most: u32) -> __mmask32 =
            _mm512_cmpgt_epi16_mask(magnitudes, _mm512_set1_epi32(most.cast_signed()));
    }
}

impl Outputs for Two {
    const OUTPUTS: usize = 32;
    const CHAINS: usize = 4;

    type Halves = __m512i;

    memory! {
        anchored() -> Self = Self(Avx512::anchored(), Avx512::anchored());
        load(from: *const u16) -> __m512i = _mm512_loadu_si512(from.cast());
    }

    #[inline(always)]
    fn magnitudes(halves: __m512i) -> __m512i {
        // SAFETY: halves of this kind come from `load`, which is called where the processor has the unit.
        unsafe { Self::magnitudes_of(halves) }
    }

    #[inline(always)]
    fn larger(a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: as above.
        unsafe { _mm512_max_epi16(a, b) }
    }

    #[inline(always)]
    fn largest(magnitudes: __m512i) -> u16 {
        // SAFETY: as above.
        let lower = unsafe { _mm512_castsi512_si256(magnitudes) };
        // SAFETY: as above.
        let upper = unsafe { _mm512_extracti64x4_epi64::<1>(magnitudes) };
        Avx512::largest(Avx512::larger(lower, upper))
    }

    #[inline(always)]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a bit for each output, sixteen of them in a register"
    )]
    unsafe fn plus_kept(self, coefficients: *const u16, magnitudes: __m512i, tap: Tap) -> Self {
        // SAFETY: as the caller says.
        let lower = unsafe { Avx512::widened(coefficients) };
        // SAFETY: as the caller says.
        let upper = unsafe { Avx512::widened(coefficients.wrapping_add(Avx512::OUTPUTS)) };
        let kept = self.larger_than(magnitudes, tap.most);
        Self(
            self.0.plus_where(kept as u16, lower, tap),
            self.1.plus_where((kept >> Avx512::OUTPUTS) as u16, upper, tap),
        )
    }

    #[inline(always)]
    unsafe fn add_units(self, to: *mut i32) {
        // SAFETY: as the caller says.
        unsafe { Outputs::add_units(self.0, to) };
        // SAFETY: as the caller says.
        unsafe { Outputs::add_units(self.1, to.wrapping_add(Avx512::OUTPUTS)) };
    }
}

impl Fused for Avx512 {
    type Outputs = Self;
    type ManyOutputs = Two;

    const ROWS: usize = 8;

    memory! {
        splat(number: f32) -> Self = Self(_mm512_set1_ps(number));
    }

    instructions! {
        plus_product(self, a: Self, b: Self) -> Self = Self(_mm512_fmadd_ps(a.0, b.0, self.0));
        plus_kept(self, a: Self, b: Self, magnitude: Self, least: Self) -> Self =
            Self(_mm512_mask3_fmadd_ps(a.0, b.0, self.0, magnitude.at_least(least)));
        magnitude(self) -> Self = Self(_mm512_abs_ps(self.0));
    }

    memory! {
        common(a: *const Exponents, b: *const Exponents) -> u64 = {
            let half = |first: usize| {
                let [a, b] = [a, b].map(|all| _mm512_loadu_si512(all.wrapping_add(first).cast()));
                u64::from(_mm512_test_epi16_mask(a, b))
            };
            half(0) | half(TOGETHER / 2) << 32
        };
        list(which: u64, first: u32, to: *mut u32) = {
            let mut to = to;
            for at in (0..u64::BITS).step_by(16) {
                let which = (which >> at & 0xffff) as u16;
                let places = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
                let places = _mm512_add_epi32(places, _mm512_set1_epi32(first.wrapping_add(at).cast_signed()));
                _mm512_storeu_si512(to.cast(), _mm512_maskz_compress_epi32(which, places));
                to = to.wrapping_add(which.count_ones() as usize);
            }
        };
    }

    memory! {
        interleave(rows: *const u16, distance: usize, to: *mut u16) = {
            // Both halves of a register are turned at once.
            let row = |row: usize| _mm_loadu_si128(rows.wrapping_add(row * distance).cast());
            let pair = |at: usize| _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(row(at)), row(at + BLOCK));
            let columns = turned([pair(0), pair(1), pair(2), pair(3), pair(4), pair(5), pair(6), pair(7)]);
            for (at, column) in columns.into_iter().enumerate() {
                _mm256_storeu_si256(to.wrapping_add(at * LONGEST).cast(), column);
            }
        };
        separate(from: *const u16, rows: *mut u16, distance: usize) = {
            let pixel = |at: usize| _mm256_loadu_si256(from.wrapping_add(at * LONGEST).cast());
            let pixels = [pixel(0), pixel(1), pixel(2), pixel(3), pixel(4), pixel(5), pixel(6), pixel(7)];
            let row = |row: usize| rows.wrapping_add(row * distance).cast();
            for (at, pair) in turned(pixels).into_iter().enumerate() {
                _mm_storeu_si128(row(at), _mm256_castsi256_si128(pair));
                _mm_storeu_si128(row(at + BLOCK), _mm256_extracti128_si256::<1>(pair));
            }
        };
    }

    #[inline(always)]
    unsafe fn add_units(self, to: *mut i32) {
        // SAFETY: as the caller says.
        let before = unsafe { _mm512_loadu_si512(to.cast()) };
        // SAFETY: a value of this type exists only where the processor has the unit.
        let after = unsafe { _mm512_add_epi32(before, self.away()) };
        // SAFETY: as the caller says.
        unsafe { _mm512_storeu_si512(to.cast(), after) };
    }

    #[inline(always)]
    unsafe fn put_units(self, more: i32, to: *mut i32) {
        // SAFETY: as the caller says.
        unsafe { _mm512_storeu_si512(to.cast(), self.units_and(more)) };
    }
}

impl Doubles for Doubles512 {
    const COUNT: usize = 8;

    memory! {
        splat(number: f64) -> Self = Self(_mm512_set1_pd(number));
        widen(from: *const f32) -> Self = Self(_mm512_cvtps_pd(_mm256_loadu_ps(from)));
        above(anchor: u64, units: *const i32) -> Self = {
            let units = _mm512_cvtepi32_epi64(_mm256_loadu_si256(units.cast()));
            Self(_mm512_castsi512_pd(_mm512_add_epi64(units, _mm512_set1_epi64(anchor.cast_signed()))))
        };
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        // SAFETY: as the caller says.
        unsafe { _mm512_storeu_pd(to, self.0) }
    }

    instructions! {
        plus_product(self, a: Self, b: Self) -> Self = Self(_mm512_fmadd_pd(a.0, b.0, self.0));
        plus_kept(self, a: Self, b: Self, magnitude: Self, least: Self) -> Self = {
            let kept = _mm512_cmp_pd_mask::<_CMP_GE_OQ>(magnitude.0, least.0);
            Self(_mm512_mask3_fmadd_pd(a.0, b.0, self.0, kept))
        };
        magnitude(self) -> Self = Self(_mm512_abs_pd(self.0));
        smaller(self, other: Self) -> Self = Self(_mm512_min_pd(self.0, other.0));
    }
}
