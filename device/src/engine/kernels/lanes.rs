//! The interface of a vector unit: numbers side by side, and the few operations on them.
//!
//! A value of such a type exists only where the processor has the unit, since the one way to a first value is
//! an unsafe function like [`Lanes::splat`] or [`Lanes::load`]; everything that starts from a value is safe.

use std::array;

use super::apart::Exponents;
use super::turn::{self, BLOCK};
use super::vector::Tap;
use crate::engine::numerics::bounds::Bounds;

/// Lanes of the longest vector of any tier.
pub(super) const LONGEST: usize = 16;

/// The start of a running sum in single precision. Between 128 and 256 the last digit of a single is a unit, 2^-16, so
/// that a fused multiply-add rounds the product to units and adds it.
pub(super) const ANCHOR: f32 = 192.0;

/// Numbers of units up to this one are exact in a single.
pub(super) const SINGLES_HOLD: i32 = (1 << 24) - 1;
/// Digits of larger numbers that make no difference to a half, and that a single might round.
pub(super) const LAST_DIGITS: i32 = 0x7f;
/// Half of the last digit of a half, in last digits of a single. With that, a single that is cut off to a half is one that was rounded,
/// half away from zero.
pub(super) const HALF_DIGIT: i32 = 1 << 12;

/// Singles side by side.
pub(super) trait Lanes: Copy {
    const COUNT: usize;

    /// Numbers that lie in a row.
    ///
    /// # Safety
    ///
    /// The processor has the unit, and `COUNT` numbers can be read.
    unsafe fn load(from: *const f32) -> Self;

    /// Halves that lie in a row, as the array reads them: an exponent field of 31 is one like any other.
    ///
    /// # Safety
    ///
    /// The processor has the unit, and `COUNT` halves can be read.
    unsafe fn load_halves(from: *const u16) -> Self;

    /// Writes those of the numbers whose bits are set in the mask.
    ///
    /// # Safety
    ///
    /// These can be written.
    #[inline(always)]
    unsafe fn store_some(self, to: *mut f32, mask: u16) {
        let mut numbers = [0.0; LONGEST];
        // SAFETY: no vector is longer.
        unsafe { self.store(numbers.as_mut_ptr()) };
        // SAFETY: as the caller says.
        unsafe { store_lanes(&numbers, to, mask) };
    }

    /// Writes the numbers in a row.
    ///
    /// # Safety
    ///
    /// `COUNT` numbers can be written.
    unsafe fn store(self, to: *mut f32);

    /// Writes numbers of units as halves, rounded half away from zero and kept within bounds.
    ///
    /// # Safety
    ///
    /// The processor has the unit, `COUNT` numbers can be read, and as many halves written.
    unsafe fn narrow(units: *const i32, bounds: Bounds, to: *mut u16);

    /// The numbers with the last digit of each set, but for zeros.
    ///
    /// Halves have 13 digits less than singles. A product with such a number is larger than the right one by less than a
    /// quarter of its last digit, which takes it off a tie and over nothing else.
    fn odd(self) -> Self;
}

/// Writes those of the numbers whose bits are set in the mask, one by one.
///
/// # Safety
///
/// These can be written.
#[inline(always)]
pub(super) unsafe fn store_lanes(numbers: &[f32], to: *mut f32, mask: u16) {
    for (lane, &number) in numbers.iter().enumerate() {
        if mask >> lane & 1 == 1 {
            // SAFETY: as the caller says.
            unsafe { to.wrapping_add(lane).write(number) };
        }
    }
}

/// Running sums of neighbouring outputs, in single precision.
pub(super) trait Outputs: Copy {
    const OUTPUTS: usize;
    /// Sums of each output, added to in turn: as many as an addition takes steps, if there are registers for them.
    const CHAINS: usize;

    /// `OUTPUTS` halves side by side, or their magnitudes.
    type Halves: Copy;

    /// Sums that start from [`ANCHOR`].
    ///
    /// # Safety
    ///
    /// The processor has the unit.
    unsafe fn anchored() -> Self;

    /// Halves that lie in a row.
    ///
    /// # Safety
    ///
    /// The processor has the unit, and `OUTPUTS` halves can be read.
    unsafe fn load(from: *const u16) -> Self::Halves;

    /// Halves without their signs.
    fn magnitudes(halves: Self::Halves) -> Self::Halves;

    /// The larger one of two magnitudes in each place.
    fn larger(a: Self::Halves, b: Self::Halves) -> Self::Halves;

    /// The largest of all places.
    fn largest(magnitudes: Self::Halves) -> u16;

    /// Adds the products of a tap where it does not drop them; the exponent fields of all coefficients are below 31.
    ///
    /// # Safety
    ///
    /// The coefficients of these magnitudes can be read.
    unsafe fn plus_kept(self, coefficients: *const u16, magnitudes: Self::Halves, tap: Tap) -> Self;

    /// Adds the units that the sums are away from [`ANCHOR`] to numbers in a row.
    ///
    /// # Safety
    ///
    /// `OUTPUTS` numbers can be read and written.
    unsafe fn add_units(self, to: *mut i32);
}

/// Singles that are multiplied and added with one rounding.
pub(super) trait Fused: Lanes {
    /// Rows of a tile.
    const ROWS: usize;

    type Outputs: Outputs;
    /// As many outputs as the unit computes best at a time, or the same.
    type ManyOutputs: Outputs;

    /// The same number everywhere.
    ///
    /// # Safety
    ///
    /// The processor has the unit.
    unsafe fn splat(number: f32) -> Self;

    /// The same numbers, in a register at this place. Where sums fill nearly all registers, a compiler that mixes the taps of a loop
    /// has none left for sums, and keeps them on the stack: the kernel then takes twice as long.
    #[inline(always)]
    fn in_register(self) -> Self {
        self
    }

    /// `a * b + self`, rounded once.
    fn plus_product(self, a: Self, b: Self) -> Self;

    /// The same where `magnitude` is `least` or more, and `self` elsewhere.
    fn plus_kept(self, a: Self, b: Self, magnitude: Self, least: Self) -> Self;

    fn magnitude(self) -> Self;

    /// The pairs of sets that have an exponent in common, a bit for each.
    ///
    /// # Safety
    ///
    /// The processor has the unit, and [`TOGETHER`](super::apart::TOGETHER) of each can be read.
    unsafe fn common(a: *const Exponents, b: *const Exponents) -> u64;

    /// Writes which bits are set, in order, if bit 0 is `first`. Behind the last one `COUNT` more may be written, which may be
    /// anything: how many bits are set is hard to guess for a processor.
    ///
    /// # Safety
    ///
    /// The processor has the unit, and so many numbers can be written.
    unsafe fn list(which: u64, first: u32, to: *mut u32);

    /// Puts eight halves of each of `COUNT` rows side by side: eight vectors with a half of each row.
    ///
    /// # Safety
    ///
    /// The processor has the unit; there are such rows, so far behind each other, and as many halves can be written.
    #[inline(always)]
    unsafe fn interleave(rows: *const u16, distance: usize, to: *mut u16) {
        const { assert!(Self::COUNT == BLOCK, "there are as many rows as columns") };
        let row = |row: usize| rows.wrapping_add(row.wrapping_mul(distance)).cast::<[u16; BLOCK]>();
        // SAFETY: as the caller says.
        let block = array::from_fn(|at| unsafe { row(at).read_unaligned() });
        // SAFETY: as the caller says.
        unsafe { to.cast::<turn::Block>().write_unaligned(turn::turned(block)) }
    }

    /// Takes eight vectors of halves apart: eight halves for each of `COUNT` rows.
    ///
    /// # Safety
    ///
    /// As for [`Fused::interleave`], with reading and writing exchanged.
    #[inline(always)]
    unsafe fn separate(from: *const u16, rows: *mut u16, distance: usize) {
        const { assert!(Self::COUNT == BLOCK, "there are as many rows as columns") };
        // SAFETY: as the caller says.
        let block = turn::turned(unsafe { from.cast::<turn::Block>().read_unaligned() });
        for (at, halves) in block.into_iter().enumerate() {
            let row = rows.wrapping_add(at.wrapping_mul(distance)).cast::<[u16; BLOCK]>();
            // SAFETY: as the caller says.
            unsafe { row.write_unaligned(halves) };
        }
    }

    /// Adds the units that the running sums are away from [`ANCHOR`] to numbers in a row.
    ///
    /// # Safety
    ///
    /// `COUNT` numbers can be read and written.
    unsafe fn add_units(self, to: *mut i32);

    /// Writes what they are away from it, and a number more.
    ///
    /// # Safety
    ///
    /// `COUNT` numbers can be written.
    unsafe fn put_units(self, more: i32, to: *mut i32);
}

/// Doubles side by side.
pub(super) trait Doubles: Copy {
    const COUNT: usize;

    /// The same number everywhere.
    ///
    /// # Safety
    ///
    /// The processor has the unit.
    unsafe fn splat(number: f64) -> Self;

    /// Singles that lie in a row, as doubles.
    ///
    /// # Safety
    ///
    /// The processor has the unit, and `COUNT` singles can be read.
    unsafe fn widen(from: *const f32) -> Self;

    /// Writes the numbers in a row.
    ///
    /// # Safety
    ///
    /// `COUNT` numbers can be written.
    unsafe fn store(self, to: *mut f64);

    /// `a * b + self`, where the product is exact, so that it does not matter whether it is fused.
    fn plus_product(self, a: Self, b: Self) -> Self;

    /// The same where `magnitude` is `least` or more, and `self` elsewhere.
    fn plus_kept(self, a: Self, b: Self, magnitude: Self, least: Self) -> Self;

    fn magnitude(self) -> Self;

    fn smaller(self, other: Self) -> Self;

    /// Numbers so many last digits above the one whose bits are given.
    ///
    /// # Safety
    ///
    /// The processor has the unit, and `COUNT` numbers can be read.
    unsafe fn above(anchor: u64, units: *const i32) -> Self;
}
