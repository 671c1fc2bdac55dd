//! Products that are dropped, apart from the rest.
//!
//! A product whose exponents are small enough is dropped, and to look at each product doubles the work. But few are
//! dropped, and all of those have a small factor. So every product is added, as if none was dropped, to sums that start
//! with what is too much taken off. Where the limit between small and other numbers is put, a product of two that are not
//! small is never dropped ([`Small`] numbers are found by whoever packs tiles and panels); so a small coefficient is
//! compared with all operands of its tap, and a small operand with those coefficients that are not small.
#![expect(unsafe_code, reason = "vectors are read from slices")]

use super::lanes::{ANCHOR, Fused, LONGEST};
use super::measure::least;

/// A small number of a tile or a panel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Small {
    pub(crate) tap: u32,
    /// The row of the number in a tile, or its column in a panel.
    pub(crate) place: u32,
    /// The largest magnitude of another number with which its product is dropped.
    pub(crate) most: f32,
}

/// What is known of the products of a block that are dropped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dropped<'a> {
    pub(crate) coefficients: &'a [Small],
    pub(crate) operands: &'a [Small],
    /// Below which magnitude a coefficient is small.
    pub(crate) below: f32,
}

/// Numbers that are looked through before those that were found are written down.
const STRIP: usize = 1024;

/// Finds the numbers below a magnitude in `[tap][place]`, of so many places. Zeros are not looked for.
///
/// # Safety
///
/// The processor has the unit.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "a tap is not more than its place in all numbers")]
pub(super) unsafe fn find<V: Fused>(numbers: &[f32], places: u32, below: f32, to: &mut Vec<Small>) {
    // SAFETY: as the caller says.
    let limit = unsafe { V::splat(below) };
    let taps_of_place = f64::from(places).recip();
    let mut found = [0u32; STRIP + LONGEST];
    for (first, strip) in (0u32..).step_by(STRIP).zip(numbers.chunks(STRIP)) {
        let mut count = 0;
        let whole = strip.chunks_exact(V::COUNT);
        let mut last = [0.0; LONGEST];
        last[..whole.remainder().len()].copy_from_slice(whole.remainder());
        for (at, some) in (first..).step_by(V::COUNT).zip(whole.chain([&last[..V::COUNT]])) {
            // SAFETY: the slice is a vector.
            let some = unsafe { V::load(some.as_ptr()) };
            // SAFETY: there is room for one vector more than there are numbers in a strip.
            count += unsafe { some.places_below(limit, at, found[count..].as_mut_ptr()) };
        }
        to.extend(found[..count].iter().map(|&at| {
            let most = f32::from_bits(least(numbers[at as usize]).to_bits().saturating_sub(1));
            // Half a place more keeps the quotient away from whole numbers, by more than it is rounded; a division takes longer.
            let tap = ((f64::from(at) + 0.5) * taps_of_place) as u32;
            Small { tap, place: at - tap * places, most }
        }));
    }
}

/// What sums start with for dropped products to leave no trace: [`ANCHOR`] less all of them.
///
/// # Safety
///
/// The processor has the unit.
#[inline(always)]
pub(super) unsafe fn start<V: Fused, const ROWS: usize, const VECTORS: usize>(
    panel: &[f32],
    offsets: &[usize],
    coefficients: &[f32],
    dropped: Dropped<'_>,
) -> [[V; VECTORS]; ROWS] {
    // SAFETY: as the caller says.
    let anchor = unsafe { V::splat(ANCHOR) };
    let mut sums = [[anchor; VECTORS]; ROWS];
    for &Small { tap, place, most } in dropped.coefficients {
        let (tap, place) = (tap as usize, place as usize);
        let operands = panel[offsets[tap]..][..VECTORS * V::COUNT].as_ptr();
        let coefficient = coefficients[tap * ROWS + place];
        // SAFETY: as the caller says.
        let coefficient = unsafe { V::splat(coefficient) };
        // SAFETY: as the caller says.
        let most = unsafe { V::splat(most) };
        for (v, sum) in sums[place].iter_mut().enumerate() {
            // SAFETY: all columns are in the slice.
            let operand = unsafe { V::load(operands.wrapping_add(v * V::COUNT)) };
            *sum = sum.less_upto(operand, coefficient, most);
        }
    }
    if dropped.operands.is_empty() {
        return sums;
    }
    // SAFETY: as the caller says.
    let below = unsafe { V::splat(dropped.below) };
    // The rows of a column side by side, as coefficients are.
    let mut columns = [[anchor; LONGEST]; VECTORS];
    let columns = columns.as_flattened_mut();
    for &Small { tap, place, most } in dropped.operands {
        let (tap, place) = (tap as usize, place as usize);
        let operand = panel[offsets[tap] + place];
        let coefficients = coefficients[tap * ROWS..][..ROWS].as_ptr();
        // SAFETY: the slice has so many.
        let coefficients = unsafe { V::load_few(coefficients, count(ROWS)) };
        // SAFETY: as the caller says.
        let operand = unsafe { V::splat(operand) };
        // SAFETY: as the caller says.
        let most = unsafe { V::splat(most) };
        let sum = &mut columns[place];
        *sum = sum.less_between(coefficients, operand, below, most);
    }
    for (row, sums) in sums.iter_mut().enumerate() {
        for (v, sum) in sums.iter_mut().enumerate() {
            let of_columns = columns[v * V::COUNT..][..V::COUNT].as_ptr().cast::<f32>();
            // SAFETY: a column has a vector, and so has each row its place there.
            let of_row = unsafe { V::apart(of_columns.wrapping_add(row), count(V::COUNT)) };
            *sum = sum.plus_away(of_row);
        }
    }
    sums
}

/// A number of rows or lanes, which are few.
#[inline(always)]
fn count(few: usize) -> i32 {
    few.try_into().unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::Tier;
    use super::*;

    #[test]
    fn small_numbers_are_found_with_their_places() {
        let mut numbers: Vec<f32> = (0..5000).map(|i| if i % 1000 == 17 { -0.125 } else { 1.0 }).collect();
        numbers[3] = 0.0;
        numbers[4999] = 0.249;
        let most = f32::from_bits(2f32.powi(-13).to_bits() - 1);
        let expected =
            [17, 1017, 2017, 3017, 4017, 4999].map(|at| Small { tap: at / 5, place: at % 5, most });
        for tier in [Tier::Avx512, Tier::Avx2].into_iter().filter(|tier| tier.is_available()) {
            let mut small = Vec::new();
            tier.code().find(&numbers, 5, 0.25, &mut small);
            assert_eq!(small, expected, "{}", tier.name());
            small.clear();
            tier.code().find(&numbers, 5, 0.0, &mut small);
            assert_eq!(small, [], "{}", tier.name());
        }
    }
}
