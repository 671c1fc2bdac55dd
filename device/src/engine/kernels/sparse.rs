//! Products that are dropped, apart from the rest.
//!
//! A product whose exponents are small enough is dropped, and to look at each product doubles the work. But few coefficients of a
//! tile have such a product with any operand of a panel. The exponent of a coefficient says which exponents of operands it drops.
//! So a coefficient is found by two sets of exponents: those that it drops, and those of the operands of its tap. Most taps have no
//! such coefficient, and are passed over by what any coefficient of the tap drops. Every product is
//! added, as if none was dropped, to sums that start with what these few coefficients add too much taken off.
//!
//! Exponents that add up to less than -18 need no search: a product that small is rounded to zero anyway.
#![expect(unsafe_code, reason = "vectors are read from slices")]

use super::lanes::{ANCHOR, Fused};
use crate::engine::numerics::product::DROPPED;

/// Exponents from -14, bit 0, to 1. Larger ones have no part in a product that is dropped.
pub(crate) type Exponents = u16;

/// Taps that are looked at together.
pub(super) const TOGETHER: usize = 64;
/// The most rows of a tile.
const ROWS_MAX: usize = 8;
/// The exponents of operands that the smallest coefficients drop, whose products may still be half a unit: with -14 these are -3,
/// where the sum is [`DROPPED`], and -4.
const OF_SMALLEST: u32 = 0b11 << 10;
const _: () = assert!(DROPPED == -17, "the rule of products");
/// One of so many coefficients may have products to be dropped for it to be worth to take these off.
const FEW: usize = 6;
/// Coefficients that are found before it is asked whether that is worth it.
const TRIED: usize = 128;
/// Places that may be written behind the last one.
pub(super) const WRITTEN: usize = ROWS_MAX;

/// Places that there may be of so many coefficients, and room behind them.
pub(crate) const fn room(coefficients: usize) -> usize {
    (coefficients + TRIED) / FEW + TOGETHER * ROWS_MAX + WRITTEN
}

/// The exponents of operands that the coefficients of a tile drop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DroppedExponents<'a> {
    /// Those of each coefficient, `[tap][row]`.
    pub(crate) each: &'a [Exponents],
    /// Those that any coefficient of a tap drops.
    pub(crate) of_taps: &'a [Exponents],
}

/// How far the exponent of a number is above -14. Numbers below 2^-14 have that exponent.
#[inline(always)]
fn above(magnitude: u32) -> u32 {
    const FIELD: u32 = 127 - 14;
    (magnitude >> 23).max(FIELD) - FIELD
}

/// The bits of a number without its sign.
#[inline(always)]
fn magnitude(number: f32) -> u32 {
    number.to_bits() & !(1 << 31)
}

/// For each coefficient the exponents of operands that it drops; none for zero.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the largest one is twelve bits long")]
pub(super) fn dropped(coefficients: &[f32], to: &mut [Exponents]) {
    for (&number, to) in coefficients.iter().zip(to) {
        let magnitude = magnitude(number);
        let all = OF_SMALLEST.wrapping_shr(above(magnitude));
        *to = if magnitude == 0 { 0 } else { all as Exponents };
    }
}

/// For each tap the exponents of operands that any of its coefficients drops.
#[inline(always)]
pub(super) fn dropped_of_taps<const ROWS: usize>(each: &[Exponents], to: &mut [Exponents]) {
    for (tap, to) in each.as_chunks::<ROWS>().0.iter().zip(to) {
        *to = tap.iter().fold(0, |all, exponents| all | exponents);
    }
}

/// The exponents of the operands of each tap, `[tap][column]`, but zeros.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "larger exponents do not count")]
pub(super) fn exponents<const COLUMNS: usize>(operands: &[f32], to: &mut [Exponents]) {
    for (tap, to) in operands.as_chunks::<COLUMNS>().0.iter().zip(to) {
        let bit = |&number: &f32| {
            let magnitude = magnitude(number);
            let bit = 1u32.wrapping_shl(above(magnitude));
            if magnitude == 0 { 0 } else { bit }
        };
        *to = tap.iter().map(bit).fold(0, |all, bit| all | bit) as Exponents;
    }
}

/// Finds the coefficients that have a product to be dropped, from the exponents that they drop and those of the operands of each tap.
/// Gives their number, or none where there are many. Behind them [`room`] is written, too.
///
/// # Safety
///
/// The processor has the unit, and places have [`room`] for as many coefficients.
#[inline(always)]
pub(super) unsafe fn find<V: Fused>(
    dropped: DroppedExponents<'_>,
    operands: &[Exponents],
    places: &mut [u32],
) -> Option<usize> {
    const { assert!(V::ROWS <= ROWS_MAX, "there is room for the places of so many rows") };
    let DroppedExponents { each, of_taps } = dropped;
    assert!(
        each.len() >= of_taps.len() * V::ROWS && operands.len() >= of_taps.len(),
        "each tap has its exponents"
    );
    let mut found = Found { places: places.as_mut_ptr(), count: 0 };
    let (many, few) = of_taps.as_chunks::<TOGETHER>();
    let many_operands = operands.as_chunks::<TOGETHER>().0;
    let mut firsts = (0..).step_by(TOGETHER);
    for ((of_taps, operands), first) in many.iter().zip(many_operands).zip(&mut firsts) {
        // SAFETY: as the caller says; each tap has its exponents.
        unsafe { found.look::<V>((of_taps, operands), each.as_ptr(), first) }?;
    }
    if few.is_empty() {
        return Some(found.count);
    }
    let [mut last, mut last_operands] = [[0; TOGETHER]; 2];
    last[..few.len()].copy_from_slice(few);
    let first = firsts.next()?;
    last_operands[..few.len()].copy_from_slice(&operands[first..][..few.len()]);
    // SAFETY: as above; taps that are not there drop nothing.
    unsafe { found.look::<V>((&last, &last_operands), each.as_ptr(), first) }?;
    Some(found.count)
}

/// Places of coefficients that were found.
struct Found {
    places: *mut u32,
    count: usize,
}

impl Found {
    /// Looks at some taps, from `first` on; none where too many coefficients are found.
    ///
    /// # Safety
    ///
    /// The processor has the unit, and places have [`room`] for all coefficients up to the last of these. Each tap that drops any of
    /// its operands has the exponents of each of its coefficients.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "a tile has less than 2^32 coefficients")]
    unsafe fn look<V: Fused>(
        &mut self,
        (of_taps, operands): (&[Exponents; TOGETHER], &[Exponents; TOGETHER]),
        each: *const Exponents,
        first: usize,
    ) -> Option<()> {
        // SAFETY: as the caller says.
        let mut which = unsafe { V::common(of_taps, operands) };
        while which != 0 {
            let tap = which.trailing_zeros() as usize;
            which &= which - 1;
            let place = (first + tap) * V::ROWS;
            // SAFETY: as the caller says.
            let rows = unsafe { V::common_rows(each.wrapping_add(place), operands[tap]) };
            // SAFETY: there is room for `WRITTEN` places behind the last one that may be found so far.
            unsafe { V::put_places(rows, place as u32, self.places.wrapping_add(self.count)) };
            self.count += rows.count_ones() as usize;
        }
        (self.count * FEW <= (first + TOGETHER) * V::ROWS + TRIED).then_some(())
    }
}

/// The first values of sums, so that dropped products leave no trace: [`ANCHOR`] less all of them, of the
/// coefficients at these places.
///
/// # Safety
///
/// The processor has the unit; operands of all columns and coefficients of all rows can be read, and places are those of
/// coefficients that [`find`] found.
#[inline(always)]
pub(super) unsafe fn start<V: Fused, const ROWS: usize, const VECTORS: usize>(
    (panel, offsets): (*const f32, &[usize]),
    coefficients: &[f32],
    places: &[u32],
) -> [[V; VECTORS]; ROWS] {
    // SAFETY: as the caller says.
    let anchor = unsafe { V::splat(ANCHOR) };
    let mut sums = [[anchor; VECTORS]; ROWS];
    for &place in places {
        let (tap, row) = (place as usize / ROWS, place as usize % ROWS);
        let operands = panel.wrapping_add(offsets[tap]);
        // SAFETY: as the caller says.
        let coefficient = unsafe { V::splat(coefficients[place as usize]) };
        for (v, sum) in sums[row].iter_mut().enumerate() {
            // SAFETY: as the caller says.
            let operand = unsafe { V::load(operands.wrapping_add(v * V::COUNT)) };
            *sum = sum.less_dropped(operand, coefficient);
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::super::Tier;
    use super::*;
    use crate::engine::numerics::halves::value;

    fn tiers() -> impl Iterator<Item = Tier> {
        [Tier::Avx512, Tier::Avx2].into_iter().filter(|tier| tier.is_available())
    }

    /// A product of two numbers with these exponents, the largest there is.
    fn product(a: i32, b: i32) -> i64 {
        let half = |exponent: i32| ((exponent + 15) as u16) << 10 | 0x3ff;
        let units = (value(half(a)) as f64 * value(half(b)) as f64 * 65536.0).round();
        units as i64
    }

    #[test]
    fn coefficient_drops_the_exponents_of_products_that_are_dropped_and_not_rounded_to_zero() {
        for tier in tiers() {
            for own in -14..=15 {
                let mut found = [0; 1];
                tier.code().dropped(&[-1.5 * 2f32.powi(own)], &mut found);
                for operand in -14..=15 {
                    let is_dropped = own + operand <= DROPPED && product(own, operand) != 0;
                    let bit = 1u32 << (operand + 14);
                    assert_eq!(u32::from(found[0]) & bit != 0, is_dropped, "{own} {operand} {}", tier.name());
                }
            }
        }
    }

    #[test]
    fn zeros_drop_nothing_and_small_numbers_have_the_lowest_exponent() {
        for tier in tiers() {
            let mut found = [0; 4];
            tier.code().dropped(&[0.0, -0.0, 2f32.powi(-24), -2f32.powi(-14)], &mut found);
            assert_eq!(found, [0, 0, 0xc00, 0xc00], "{}", tier.name());
        }
    }

    #[test]
    fn exponents_of_a_tap_are_none_of_its_zeros() {
        for tier in tiers() {
            let columns = tier.code().many.columns;
            let mut panel = vec![8.0; 4 * columns];
            panel[0] = -0.375;
            panel[2] = 0.0;
            panel[columns + 1] = 2f32.powi(-20);
            panel[columns + 2] = -1.0;
            panel[2 * columns..3 * columns].fill(-0.0);
            let mut found = vec![0; 4];
            tier.code().exponents(&panel, &mut found);
            assert_eq!(found, [1 << 12, 1 | 1 << 14, 0, 0], "{}", tier.name());
        }
    }

    #[test]
    fn coefficients_are_found_that_drop_an_exponent_of_their_operands() {
        const TAPS: usize = 2 * TOGETHER + 7;
        for tier in tiers() {
            let rows = tier.code().many.rows;
            let find = |each: &[Exponents], operands: &[Exponents]| {
                let mut of_taps = [0; TAPS];
                tier.code().dropped_of_taps(each, &mut of_taps);
                let mut found = vec![0; room(each.len())];
                let dropped = DroppedExponents { each, of_taps: &of_taps };
                tier.code().find(dropped, operands, &mut found).map(|count| found[..count].to_vec())
            };
            let mut operands = [0b1100; TAPS];
            let mut each = vec![0b0011; TAPS * rows];
            // All rows of a tap, the first and the last one of others, at both ends of what is looked at together.
            each[3 * rows..4 * rows].fill(0b1000);
            let found = [0, TOGETHER * rows - 1, TOGETHER * rows, (TAPS - 1) * rows, TAPS * rows - 1];
            found.into_iter().for_each(|place| each[place] = 0b0110);
            // A tap with another operand, and one with none that counts.
            operands[5] = 0b0001;
            operands[6] = 0;
            each[6 * rows..7 * rows].fill(0b1111);
            let mut expected: Vec<_> = (3 * rows..4 * rows).chain(5 * rows..6 * rows).chain(found).collect();
            expected.sort_unstable();
            let expected = expected.into_iter().map(|place| place as u32).collect();
            assert_eq!(find(&each, &operands), Some(expected), "{}", tier.name());
            assert_eq!(find(&vec![0b1000; TAPS * rows], &operands), None, "{}", tier.name());
        }
    }
}
