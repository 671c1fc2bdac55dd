//! Bounds of operands and coefficients, found before they are multiplied: the largest and the smallest magnitudes.
//!
//! From that follows how many products a sum in single precision can take, whether a sum may overflow, and whether a product may be
//! so small that hardware drops it. These are plain loops, which the compiler turns into the vectors of each tier.

use super::lanes::LONGEST;
use crate::engine::numerics::halves::{Operand, SIGN};

/// Taps that are measured together.
pub(crate) const GRANULE: usize = 8;

/// Operands, in numbers that a single holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Extent {
    /// The largest magnitude; of coefficients, the largest sum of the magnitudes that one row has.
    pub(crate) largest: f32,
    /// The smallest magnitude that is not zero, or infinity.
    pub(crate) smallest: f32,
}

impl Extent {
    /// The extent of values that are all zero.
    pub(crate) const NONE: Self = Self { largest: 0.0, smallest: f32::INFINITY };

    /// The extent of both sets of values together.
    pub(crate) fn and(self, other: Self) -> Self {
        Self { largest: self.largest.max(other.largest), smallest: self.smallest.min(other.smallest) }
    }

    /// Whether a product of one of these and one of `other` may be dropped.
    pub(crate) fn drops(self, other: Self) -> bool {
        self.smallest < least(other.smallest)
    }
}

/// The measures of operands as halves.
#[inline(always)]
pub(super) fn halves(halves: &[u16]) -> Extent {
    let (mut largest, mut smallest) = (0, u16::MAX);
    for half in halves {
        let magnitude = half & !SIGN;
        largest = magnitude.max(largest);
        // One less makes zero the largest.
        smallest = magnitude.wrapping_sub(1).min(smallest);
    }
    let number = |bits: u16| Operand::new(bits).value();
    let smallest = if smallest == u16::MAX { f32::INFINITY } else { number(smallest + 1) };
    Extent { largest: number(largest), smallest }
}

/// The measures of each granule of a tile of coefficients, `[tap][row]`. A row or whole rows divide a vector.
#[inline(always)]
pub(super) fn tile(tile: &[f32], rows: usize, extents: &mut [Extent]) {
    // Values that are known when this is compiled stay in registers.
    match rows {
        8 => granules::<8>(tile, extents),
        4 => granules::<4>(tile, extents),
        2 => granules::<2>(tile, extents),
        1 => granules::<1>(tile, extents),
        _ => granules::<LONGEST>(tile, extents),
    }
}

/// The same of tiles of so many rows.
#[inline(always)]
fn granules<const ROWS: usize>(tile: &[f32], extents: &mut [Extent]) {
    for (granule, extent) in tile.chunks(GRANULE * ROWS).zip(extents) {
        let (mut sums, mut smallest) = ([0.0f32; LONGEST], [u32::MAX; LONGEST]);
        let mut add = |some: &[f32; LONGEST]| {
            for ((sum, smallest), coefficient) in sums.iter_mut().zip(&mut smallest).zip(some) {
                *sum += coefficient.abs();
                *smallest = (*smallest).min(coefficient.abs().to_bits().wrapping_sub(1));
            }
        };
        let (many, few) = granule.as_chunks::<LONGEST>();
        many.iter().for_each(&mut add);
        if !few.is_empty() {
            let mut last = [0.0; LONGEST];
            last[..few.len()].copy_from_slice(few);
            add(&last);
        }
        // Lanes of the same row lie as many apart as there are rows.
        let of_row = |row: usize| (row..LONGEST).step_by(ROWS).map(|lane| sums[lane]).sum::<f32>();
        let of_rows = std::array::from_fn(|row| if row < ROWS { of_row(row) } else { 0.0 });
        let largest = of_all(of_rows, |a, b| if b > a { b } else { a });
        let smallest = of_all(smallest, u32::min);
        let smallest = if smallest == u32::MAX { f32::INFINITY } else { f32::from_bits(smallest + 1) };
        *extent = Extent { largest, smallest };
    }
}

/// One number of all lanes: the upper half with the lower one, until one is left. Loops of this kind become vectors.
#[inline(always)]
fn of_all<T: Copy>(mut lanes: [T; LONGEST], of: impl Fn(T, T) -> T) -> T {
    let mut width = LONGEST / 2;
    while width > 0 {
        for at in 0..width {
            lanes[at] = of(lanes[at], lanes[at + width]);
        }
        width /= 2;
    }
    lanes[0]
}

/// The exponent field of a single.
const EXPONENT: u32 = 0x7f80_0000;
/// The field of the smallest exponent of the array: numbers below 2^-14 have that exponent, too.
const LOWEST: u32 = power(-14);
/// Two to the -16, with a field of an exponent to be taken off it.
const LEAST: u32 = power(-16) + power(0);

const fn power(exponent: i8) -> u32 {
    ((127 + exponent as i32) as u32) << 23
}

/// From which magnitude on the other factor of a product counts, if one is this number. A half, or one whose last digits are set.
///
/// Exponents that add up to -17 or less are dropped. Below 2^-14 numbers have that exponent, so that one with an exponent of -2
/// drops nothing.
#[inline(always)]
pub(crate) fn least(number: f32) -> f32 {
    let exponent = (number.to_bits() & EXPONENT).max(LOWEST);
    f32::from_bits(if exponent >= power(-2) { 0 } else { LEAST.wrapping_sub(exponent) })
}

/// [`least`] of many numbers.
#[inline(always)]
pub(super) fn all_least(numbers: &[f32], to: &mut [f32]) {
    for (to, &number) in to.iter_mut().zip(numbers) {
        *to = least(number);
    }
}

/// The smallest magnitude of some numbers that is not zero, as bits less one: all of them set if there is none.
#[inline(always)]
pub(super) fn smallest(numbers: &[f32]) -> u32 {
    // Magnitudes are ordered as their bits are. One less makes zero the largest.
    let magnitude = |number: &f32| (number.to_bits() & !(1 << 31)).wrapping_sub(1);
    numbers.iter().map(magnitude).fold(u32::MAX, u32::min)
}

/// Whether any product is dropped: of the operands of each tap's columns and the magnitudes from which on its rows count them.
#[inline(always)]
pub(super) fn drops(panel: &[f32], offsets: &[usize], columns: usize, rows: usize, least: &[f32]) -> bool {
    offsets.iter().zip(least.chunks_exact(rows)).any(|(&offset, least)| {
        let most = least.iter().fold(0, |most, least| least.to_bits().max(most)).wrapping_sub(1);
        most != u32::MAX && smallest(&panel[offset..][..columns]) < most
    })
}

/// Coefficients with their last digit set, as doubles with a digit set that is small enough for any product, and scaled.
///
/// A digit of a single would be too large beside products of more than 64.
#[inline(always)]
pub(super) fn exact(numbers: &[f32], scale: f64, to: &mut [f64]) {
    /// The last digit of a single.
    const LAST: u64 = 1 << 29;
    for (to, &number) in to.iter_mut().zip(numbers) {
        let bits = f64::from(number).to_bits();
        let last = bits & LAST;
        *to = f64::from_bits(bits ^ last | last >> 18) * scale;
    }
}

/// The largest magnitude of the units that are not decided yet, if there is one.
#[inline(always)]
pub(super) fn peak(units: &[i32], fates: &[i32]) -> Option<u32> {
    let (mut largest, mut is_any) = (0, 0);
    for (unit, &fate) in units.iter().zip(fates) {
        let open = u32::from(fate == 0).wrapping_neg();
        largest = (unit.unsigned_abs() & open).max(largest);
        is_any |= open;
    }
    (is_any != 0).then_some(largest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::numerics::product;

    #[test]
    fn least_magnitude_is_where_products_begin_to_count() {
        for bits in (1..0x8000u16).step_by(7) {
            let number = Operand::new(bits).value();
            let least = least(number);
            let odd = f32::from_bits(number.to_bits() | 1);
            assert_eq!(super::least(odd), least);
            for other in 1..0x8000u16 {
                let exponents = Operand::new(bits).exponent + Operand::new(other).exponent;
                let counts = Operand::new(other).value() >= least;
                assert_eq!(counts, exponents > product::DROPPED, "{bits:#06x} {other:#06x}");
            }
        }
    }

    #[test]
    fn measures_of_halves_are_the_largest_and_the_smallest_but_zero() {
        assert_eq!(halves(&[0, 0x8000]), Extent::NONE);
        assert_eq!(halves(&[0xbc00, 0, 0x0001]), Extent { largest: 1.0, smallest: 2f32.powi(-24) });
        assert_eq!(halves(&[0xfe00]), Extent { largest: 98304.0, smallest: 98304.0 });
    }

    #[test]
    fn block_drops_a_product_where_one_of_its_operands_is_too_small_and_not_zero() {
        let panel = [4.0, -0.0, 0.5, 8.0, 0.0, -0.25];
        let offsets = [0, 3];
        let finds = |least: [f32; 4]| drops(&panel, &offsets, 3, 2, &least);
        // Zero beside any limit, and magnitudes at the limit, count.
        assert!(!finds([0.5, 0.0, 0.0, 0.25]));
        assert!(finds([0.0, 0.75, 0.0, 0.0]));
        // The sign does not matter, nor which row it is, but the tap does.
        assert!(finds([0.0, 0.0, 0.5, 0.0]));
        assert!(!finds([0.5, 0.5, 0.0, 0.0]));
    }

    #[test]
    fn measures_of_a_tile_are_those_of_its_rows() {
        for rows in [1, 4, 8] {
            let taps = GRANULE + 3;
            let all: Vec<f32> =
                (0..taps * rows).map(|i| if i % rows == rows - 1 { -2.0 } else { 0.5 }).collect();
            let mut extents = [Extent::NONE; 2];
            tile(&all, rows, &mut extents);
            let smallest = if rows == 1 { 2.0 } else { 0.5 };
            assert_eq!(extents[0], Extent { largest: 2.0 * GRANULE as f32, smallest });
            assert_eq!(extents[1], Extent { largest: 6.0, smallest });
        }
    }

    #[test]
    fn peak_is_that_of_sums_whose_fate_is_open() {
        assert_eq!(peak(&[5, -7, i32::MIN], &[0, 0, 1]), Some(7));
        assert_eq!(peak(&[5], &[-1]), None);
        assert_eq!(peak(&[0], &[0]), Some(0));
    }
}
