//! Products that are dropped, apart from the rest.
//!
//! A product whose exponents are small enough is dropped, and to look at each product doubles the work. But few coefficients of a
//! tile have such a product with any operand of a panel. Which do follows from two exponents: that of the coefficient, and that of
//! the smallest operand of its tap. So every product is added, as if none was dropped, to sums that start with what these few
//! coefficients add too much taken off.
#![expect(unsafe_code, reason = "vectors are read from slices")]

use super::lanes::{ANCHOR, Fused};
use super::measure;
use super::prefetch;
use crate::engine::numerics::product::DROPPED;

/// The exponent of zeros. With any other it is too much to be dropped, and twice it is still a byte.
const ZEROS: i8 = 50;
/// Coefficients that are looked at together.
pub(super) const TOGETHER: usize = 64;
/// The sum of two exponents from which on a product counts: more than that of [`DROPPED`].
const COUNTS: i8 = -16;
const _: () = assert!(COUNTS as i32 == DROPPED + 1, "the rule of products");
/// One of so many coefficients may have products to be dropped for it to be worth to take these off.
const FEW: usize = 6;
/// Places of coefficients that are written at once.
const WRITTEN: usize = 4;

/// Places that there may be of so many coefficients, and room behind them.
pub(crate) const fn room(coefficients: usize) -> usize {
    (coefficients + 2 * TOGETHER) / FEW + WRITTEN
}

/// The exponent of the smallest of some numbers but zero.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "an exponent is a byte")]
fn exponent(numbers: &[f32]) -> i8 {
    let smallest = measure::smallest(numbers);
    let exponent = (smallest.wrapping_add(1) >> 23) as i32 - 127;
    // Below 2^-14 numbers have that exponent.
    if smallest == u32::MAX { ZEROS } else { exponent.max(-14) as i8 }
}

/// The exponents of coefficients.
#[inline(always)]
pub(super) fn exponents(coefficients: &[f32], to: &mut [i8]) {
    coefficients.iter().zip(to).for_each(|(&number, to)| *to = exponent(&[number]));
}

/// The exponent of the smallest operand of each tap, `[tap][column]`, but zero: once for each row of a tile.
#[inline(always)]
pub(super) fn smallest<const COLUMNS: usize, const ROWS: usize>(operands: &[f32], to: &mut [i8]) {
    for (tap, to) in operands.as_chunks::<COLUMNS>().0.iter().zip(to.as_chunks_mut::<ROWS>().0) {
        *to = [exponent(tap); ROWS];
    }
}

/// Finds the coefficients that have a product to be dropped, from their exponents and those of the smallest operands. Gives their
/// number, or none where there are many. Behind them [`room`] is written, too.
///
/// # Safety
///
/// The processor has the unit, and places have [`room`] for as many coefficients.
#[inline(always)]
pub(super) unsafe fn find<V: Fused>(
    (coefficients, ahead): (&[i8], usize),
    operands: &[i8],
    places: &mut [u32],
) -> Option<usize> {
    let (many, few) = coefficients.as_chunks();
    let (many_operands, few_operands) = operands.as_chunks();
    let places = places.as_mut_ptr();
    let mut count = 0;
    let mut firsts = (0u32..).step_by(TOGETHER);
    for ((coefficients, operands), first) in many.iter().zip(many_operands).zip(&mut firsts) {
        prefetch::read(coefficients.as_ptr().wrapping_add(ahead));
        // SAFETY: as the caller says; `count` is as this function left it.
        count = unsafe { find_some::<V>((coefficients, operands), first, (places, count)) }?;
    }
    if few.is_empty() {
        return Some(count);
    }
    let [mut last, mut last_operands] = [[ZEROS; TOGETHER]; 2];
    last[..few.len()].copy_from_slice(few);
    last_operands[..few_operands.len()].copy_from_slice(few_operands);
    // SAFETY: as above.
    unsafe { find_some::<V>((&last, &last_operands), firsts.next()?, (places, count)) }
}

/// Finds some of them behind so many that were found, and gives the number of all; none where that is many.
///
/// # Safety
///
/// The processor has the unit, and places have [`room`] for all coefficients up to the last of these.
#[inline(always)]
unsafe fn find_some<V: Fused>(
    (coefficients, operands): (&[i8; TOGETHER], &[i8; TOGETHER]),
    first: u32,
    (places, count): (*mut u32, usize),
) -> Option<usize> {
    // SAFETY: as the caller says.
    let mut which = unsafe { V::sums_below(coefficients, operands, COUNTS) };
    let end = count + which.count_ones() as usize;
    if end * FEW > first as usize + 2 * TOGETHER {
        return None;
    }
    // How many there are is hard to guess for a processor. So some places are written in any case, and few have more.
    let mut place = places.wrapping_add(count);
    loop {
        for at in 0..WRITTEN {
            // SAFETY: there is room for `WRITTEN` places behind the last one that may be found so far.
            unsafe { place.wrapping_add(at).write(first.wrapping_add(which.trailing_zeros())) };
            which &= which.wrapping_sub(1);
        }
        if which == 0 {
            return Some(end);
        }
        place = place.wrapping_add(WRITTEN);
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
        let coefficient = coefficients[place as usize];
        // SAFETY: as the caller says.
        let less = unsafe { V::splat(-coefficient) };
        // SAFETY: as the caller says.
        let most = unsafe { V::splat(measure::most_dropped(coefficient)) };
        for (v, sum) in sums[row].iter_mut().enumerate() {
            // SAFETY: as the caller says.
            let operand = unsafe { V::load(operands.wrapping_add(v * V::COUNT)) };
            *sum = sum.plus_upto(operand, less, most);
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::super::{Kernel, Tier};
    use super::*;

    fn tiers() -> impl Iterator<Item = Tier> {
        [Tier::Avx512, Tier::Avx2].into_iter().filter(|tier| tier.is_available())
    }

    #[test]
    fn exponents_are_those_of_the_array_and_zeros_have_a_large_one() {
        for tier in tiers() {
            let mut found = [0; 5];
            let numbers = [-0.375, 0.0, 2f32.powi(-20), -0.0, 8.5];
            tier.code().exponents(&numbers, &mut found);
            assert_eq!(found, [-2, ZEROS, -14, ZEROS, 3], "{}", tier.name());
        }
    }

    #[test]
    fn smallest_operand_of_a_tap_is_none_of_its_zeros() {
        for tier in tiers() {
            let Kernel { rows, columns, .. } = tier.code().many;
            let mut panel = vec![8.0; 4 * columns];
            panel[0] = -0.375;
            panel[2] = 0.0;
            panel[columns + 1] = 2f32.powi(-20);
            panel[2 * columns..3 * columns].fill(-0.0);
            let mut found = vec![0; 4 * rows];
            tier.code().smallest(&panel, &mut found);
            let expected: Vec<_> = [-2, -14, ZEROS, 3].into_iter().flat_map(|e| vec![e; rows]).collect();
            assert_eq!(found, expected, "{}", tier.name());
        }
    }

    #[test]
    fn coefficients_that_drop_are_those_whose_exponents_add_up_to_less_than_products_need() {
        let length = 2 * TOGETHER + 7;
        let (mut coefficients, mut operands) = (vec![-8; length], vec![-8; length]);
        for place in [0, 31, 63, 64, 134] {
            coefficients[place] = -9;
        }
        operands[64] = ZEROS;
        operands[65] = -9;
        coefficients[66] = ZEROS;
        coefficients[100..100 + WRITTEN + 1].fill(-14);
        let expected: Vec<u32> = [0, 31, 63, 65].into_iter().chain(100..=104).chain([134]).collect();
        for tier in tiers() {
            let mut found = vec![0; room(length)];
            let count = tier.code().find((&coefficients, 0), &operands, &mut found);
            assert_eq!(count, Some(expected.len()), "{}", tier.name());
            assert_eq!(found[..expected.len()], expected, "{}", tier.name());
            let many = vec![-9; length];
            assert_eq!(tier.code().find((&many, 0), &operands, &mut found), None, "{}", tier.name());
        }
    }
}
