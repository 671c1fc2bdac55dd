//! Eight lanes: AVX2 with FMA and F16C.
#![expect(unsafe_code, reason = "intrinsics")]

use std::arch::asm;
use std::arch::x86_64::*;

use super::apart::{Exponents, TOGETHER};
use super::intrinsics::{instructions, memory, sixteen_halves};
use super::lanes::{
    ANCHOR, Doubles, Fused, HALF_DIGIT, LAST_DIGITS, Lanes, Outputs, SINGLES_HOLD, store_lanes,
};
use super::vector::Tap;
use crate::engine::numerics::bounds::Bounds;
use crate::engine::numerics::product::UNIT;

/// Which bits of a byte are set, in order, for each byte. Behind the last one is anything.
static PLACES: [[u8; 8]; 256] = {
    let mut all = [[0; 8]; 256];
    let mut byte = 0;
    while byte < all.len() {
        let (mut bit, mut count) = (0, 0);
        while bit < 8 {
            all[byte][count] = bit;
            count += byte >> bit & 1;
            // The last one may have been written where there is no room for another.
            if count == 8 {
                break;
            }
            bit += 1;
        }
        byte += 1;
    }
    all
};

/// A register of AVX with singles.
#[derive(Clone, Copy)]
pub(super) struct Avx2(__m256);

#[derive(Clone, Copy)]
pub(super) struct Pair(Avx2, Avx2);

/// As many outputs as a line of memory has halves: no line is read twice.
#[derive(Clone, Copy)]
pub(super) struct Line(Pair, Pair);

/// A register of AVX with doubles.
#[derive(Clone, Copy)]
pub(super) struct Doubles256(__m256d);

/// The numbers, in a register at this place.
///
/// # Safety
///
/// The processor has the unit.
#[inline]
#[target_feature(enable = "avx")]
unsafe fn in_register(mut numbers: __m256) -> __m256 {
    // SAFETY: there is no instruction. That memory may change here keeps the loads of the next tap behind it.
    unsafe { asm!("/* {} */", inout(ymm_reg) numbers, options(nostack, preserves_flags)) };
    numbers
}

/// The bits of the exponent field of a half.
const FIELD: i16 = 0x7c00;

impl Avx2 {
    instructions! {
        bits(self) -> __m256i = _mm256_castps_si256(self.0);
        away(self) -> __m256i = _mm256_sub_epi32(self.bits(), _mm256_set1_epi32(ANCHOR.to_bits().cast_signed()));
        units_and(self, more: i32) -> __m256i = _mm256_add_epi32(_mm256_set1_epi32(more), self.away());
        lower(self) -> __m128 = _mm256_castps256_ps128(self.0);
        upper(self) -> __m128 = _mm256_extractf128_ps::<1>(self.0);
        special(self, halves: __m128i) -> __m128i = {
            let field = _mm_set1_epi16(FIELD);
            _mm_cmpeq_epi16(_mm_and_si128(halves, field), field)
        };
        is_any(self, special: __m128i) -> bool = _mm_movemask_epi8(special) != 0;
        or_ordinary(self, halves: __m128i, special: __m128i) -> Self = {
            let wide = _mm256_cvtepi16_epi32(halves);
            let magnitude = _mm256_slli_epi32::<13>(_mm256_and_si256(wide, _mm256_set1_epi32(0x7fff)));
            let rebiased = _mm256_add_epi32(magnitude, _mm256_set1_epi32(112 << 23));
            let sign = _mm256_and_si256(wide, _mm256_set1_epi32(i32::MIN));
            let numbers = _mm256_castsi256_ps(_mm256_or_si256(rebiased, sign));
            let special = _mm256_castsi256_ps(_mm256_cvtepi16_epi32(special));
            Self(_mm256_blendv_ps(self.0, numbers, special))
        };
    }
}

impl Lanes for Avx2 {
    const COUNT: usize = 8;

    memory! {
        load(from: *const f32) -> Self = Self(_mm256_loadu_ps(from));
        narrow(units: *const i32, bounds: Bounds, to: *mut u16) = {
            let units = _mm256_loadu_si256(units.cast());
            let magnitude = _mm256_abs_epi32(units);
            let is_large = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(SINGLES_HOLD));
            let cut = _mm256_andnot_si256(_mm256_and_si256(is_large, _mm256_set1_epi32(LAST_DIGITS)), magnitude);
            let singles = _mm256_mul_ps(_mm256_cvtepi32_ps(cut), _mm256_set1_ps(UNIT));
            let rounded = _mm256_add_epi32(_mm256_castps_si256(singles), _mm256_set1_epi32(HALF_DIGIT));
            let sign = _mm256_and_si256(units, _mm256_set1_epi32(i32::MIN));
            let signed = _mm256_castsi256_ps(_mm256_or_si256(rounded, sign));
            let halves = _mm256_cvtps_ph::<_MM_FROUND_TO_ZERO>(signed);
            let halves = _mm_max_epi16(halves, _mm_set1_epi16(bounds.low));
            _mm_storeu_si128(to.cast(), _mm_min_epi16(halves, _mm_set1_epi16(bounds.high)));
        };
    }

    #[inline(always)]
    unsafe fn load_halves(from: *const u16) -> Self {
        // SAFETY: so many halves can be read, as the caller says.
        let halves = unsafe { _mm_loadu_si128(from.cast()) };
        // SAFETY: the processor has the unit, as the caller says.
        let numbers = Self(unsafe { _mm256_cvtph_ps(halves) });
        let special = numbers.special(halves);
        if numbers.is_any(special) { numbers.or_ordinary(halves, special) } else { numbers }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: as the caller says.
        unsafe { _mm256_storeu_ps(to, self.0) }
    }

    /// Half a register goes at once: a tile has four rows, so that this is often all.
    #[inline(always)]
    unsafe fn store_some(self, to: *mut f32, mask: u16) {
        for (half, mask, to) in [(self.lower(), mask & 15, to), (self.upper(), mask >> 4, to.wrapping_add(4))]
        {
            if mask == 0 {
                continue;
            }
            if mask == 15 {
                // SAFETY: as the caller says.
                unsafe { _mm_storeu_ps(to, half) };
                continue;
            }
            let mut numbers = [0.0; 4];
            // SAFETY: there is room for half a register.
            unsafe { _mm_storeu_ps(numbers.as_mut_ptr(), half) };
            // SAFETY: as the caller says.
            unsafe { store_lanes(&numbers, to, mask) };
        }
    }

    instructions! {
        odd(self) -> Self = {
            let other = _mm256_cmp_ps::<_CMP_NEQ_OQ>(self.0, _mm256_setzero_ps());
            let last = _mm256_castsi256_ps(_mm256_set1_epi32(1));
            Self(_mm256_or_ps(self.0, _mm256_and_ps(other, last)))
        };
    }
}

impl Pair {
    instructions! {
        plus_larger(self, coefficients: __m256i, magnitudes: __m256i, tap: Tap) -> Self = {
            let kept = _mm256_cmpgt_epi16(magnitudes, _mm256_set1_epi32(tap.most.cast_signed()));
            let kept = _mm256_and_si256(coefficients, kept);
            let operand = Avx2(_mm256_set1_ps(tap.operand));
            let lower = Avx2(_mm256_cvtph_ps(_mm256_castsi256_si128(kept)));
            let upper = Avx2(_mm256_cvtph_ps(_mm256_extracti128_si256::<1>(kept)));
            Self(self.0.plus_product(lower, operand), self.1.plus_product(upper, operand))
        };
    }
}

impl Outputs for Pair {
    const OUTPUTS: usize = 16;
    const CHAINS: usize = 4;

    sixteen_halves!();

    #[inline(always)]
    unsafe fn anchored() -> Self {
        // SAFETY: as the caller says.
        let anchor = unsafe { Avx2::splat(ANCHOR) };
        Self(anchor, anchor)
    }

    #[inline(always)]
    unsafe fn plus_kept(self, coefficients: *const u16, magnitudes: __m256i, tap: Tap) -> Self {
        // SAFETY: as the caller says.
        self.plus_larger(unsafe { Self::load(coefficients) }, magnitudes, tap)
    }

    #[inline(always)]
    unsafe fn add_units(self, to: *mut i32) {
        // SAFETY: as the caller says.
        unsafe { self.0.add_units(to) };
        // SAFETY: as the caller says.
        unsafe { self.1.add_units(to.wrapping_add(Avx2::COUNT)) };
    }
}

impl Outputs for Line {
    const OUTPUTS: usize = 32;
    const CHAINS: usize = 2;

    type Halves = [__m256i; 2];

    #[inline(always)]
    unsafe fn anchored() -> Self {
        // SAFETY: as the caller says.
        let anchored = unsafe { Pair::anchored() };
        Self(anchored, anchored)
    }

    #[inline(always)]
    unsafe fn load(from: *const u16) -> Self::Halves {
        // SAFETY: as the caller says.
        let lower = unsafe { Pair::load(from) };
        // SAFETY: as the caller says.
        let upper = unsafe { Pair::load(from.wrapping_add(Pair::OUTPUTS)) };
        [lower, upper]
    }

    #[inline(always)]
    fn magnitudes([lower, upper]: Self::Halves) -> Self::Halves {
        [Pair::magnitudes(lower), Pair::magnitudes(upper)]
    }

    #[inline(always)]
    fn larger(a: Self::Halves, b: Self::Halves) -> Self::Halves {
        [Pair::larger(a[0], b[0]), Pair::larger(a[1], b[1])]
    }

    #[inline(always)]
    fn largest([lower, upper]: Self::Halves) -> u16 {
        Pair::largest(Pair::larger(lower, upper))
    }

    #[inline(always)]
    unsafe fn plus_kept(self, coefficients: *const u16, [lower, upper]: Self::Halves, tap: Tap) -> Self {
        // SAFETY: as the caller says.
        let lower = unsafe { self.0.plus_kept(coefficients, lower, tap) };
        // SAFETY: as the caller says.
        let upper = unsafe { self.1.plus_kept(coefficients.wrapping_add(Pair::OUTPUTS), upper, tap) };
        Self(lower, upper)
    }

    #[inline(always)]
    unsafe fn add_units(self, to: *mut i32) {
        // SAFETY: as the caller says.
        unsafe { self.0.add_units(to) };
        // SAFETY: as the caller says.
        unsafe { self.1.add_units(to.wrapping_add(Pair::OUTPUTS)) };
    }
}

impl Fused for Avx2 {
    type Outputs = Pair;
    type ManyOutputs = Line;

    const ROWS: usize = 4;

    memory! {
        splat(number: f32) -> Self = Self(_mm256_set1_ps(number));
    }

    #[inline(always)]
    fn in_register(self) -> Self {
        // SAFETY: a value of this type exists only where the processor has the unit.
        Self(unsafe { in_register(self.0) })
    }

    instructions! {
        plus_product(self, a: Self, b: Self) -> Self = Self(_mm256_fmadd_ps(a.0, b.0, self.0));
        plus_kept(self, a: Self, b: Self, magnitude: Self, least: Self) -> Self = {
            let kept = _mm256_cmp_ps::<_CMP_GE_OQ>(magnitude.0, least.0);
            Self(_mm256_fmadd_ps(_mm256_and_ps(a.0, kept), b.0, self.0))
        };
        magnitude(self) -> Self = Self(_mm256_and_ps(self.0, _mm256_castsi256_ps(_mm256_set1_epi32(i32::MAX))));
    }

    memory! {
        common(a: *const Exponents, b: *const Exponents) -> u64 = {
            let apart = |first: usize| {
                let [a, b] = [a, b].map(|all| _mm256_loadu_si256(all.wrapping_add(first).cast()));
                _mm256_cmpeq_epi16(_mm256_and_si256(a, b), _mm256_setzero_si256())
            };
            let half = |first: usize| {
                let apart = _mm256_packs_epi16(apart(first), apart(first + TOGETHER / 4));
                // Packing takes halves of registers in turn.
                let apart = _mm256_permute4x64_epi64::<0b11_01_10_00>(apart);
                u64::from(!_mm256_movemask_epi8(apart).cast_unsigned())
            };
            half(0) | half(TOGETHER / 2) << 32
        };
        list(which: u64, first: u32, to: *mut u32) = {
            let mut to = to;
            for (at, byte) in (0..).step_by(8).zip(which.to_le_bytes()) {
                let places = _mm256_cvtepu8_epi32(_mm_loadl_epi64(PLACES[usize::from(byte)].as_ptr().cast()));
                let places = _mm256_add_epi32(places, _mm256_set1_epi32(first.wrapping_add(at).cast_signed()));
                _mm256_storeu_si256(to.cast(), places);
                to = to.wrapping_add(byte.count_ones() as usize);
            }
        };
    }

    #[inline(always)]
    unsafe fn add_units(self, to: *mut i32) {
        // SAFETY: as the caller says.
        let before = unsafe { _mm256_loadu_si256(to.cast()) };
        // SAFETY: a value of this type exists only where the processor has the unit.
        let after = unsafe { _mm256_add_epi32(before, self.away()) };
        // SAFETY: as the caller says.
        unsafe { _mm256_storeu_si256(to.cast(), after) };
    }

    #[inline(always)]
    unsafe fn put_units(self, more: i32, to: *mut i32) {
        // SAFETY: as the caller says.
        unsafe { _mm256_storeu_si256(to.cast(), self.units_and(more)) };
    }
}

impl Doubles for Doubles256 {
    const COUNT: usize = 4;

    memory! {
        splat(number: f64) -> Self = Self(_mm256_set1_pd(number));
        widen(from: *const f32) -> Self = Self(_mm256_cvtps_pd(_mm_loadu_ps(from)));
        above(anchor: u64, units: *const i32) -> Self = {
            let units = _mm256_cvtepi32_epi64(_mm_loadu_si128(units.cast()));
            Self(_mm256_castsi256_pd(_mm256_add_epi64(units, _mm256_set1_epi64x(anchor.cast_signed()))))
        };
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        // SAFETY: as the caller says.
        unsafe { _mm256_storeu_pd(to, self.0) }
    }

    instructions! {
        plus_product(self, a: Self, b: Self) -> Self = Self(_mm256_fmadd_pd(a.0, b.0, self.0));
        plus_kept(self, a: Self, b: Self, magnitude: Self, least: Self) -> Self = {
            let kept = _mm256_cmp_pd::<_CMP_GE_OQ>(magnitude.0, least.0);
            Self(_mm256_fmadd_pd(_mm256_and_pd(a.0, kept), b.0, self.0))
        };
        magnitude(self) -> Self = Self(_mm256_and_pd(self.0, _mm256_castsi256_pd(_mm256_set1_epi64x(i64::MAX))));
        smaller(self, other: Self) -> Self = Self(_mm256_min_pd(self.0, other.0));
    }
}
