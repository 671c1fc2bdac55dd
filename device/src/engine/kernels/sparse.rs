//! Products that are dropped, apart from the rest.
//!
//! A product whose exponents are small enough is dropped, and to look at each product doubles the work. But few coefficients of a
//! tile have such a product with any operand of a panel. The exponent of a coefficient says which exponents of operands it drops.
//! So a coefficient is found by two sets of exponents: those that it drops, and those of the operands of its tap. Every product is
//! added, as if none was dropped, to sums that start with what these few coefficients add too much taken off.
//!
//! Exponents that add up to less than -18 need no search: a product that small is rounded to zero anyway.
#![expect(unsafe_code, reason = "vectors are read from slices")]

use super::lanes::{ANCHOR, Fused};
use super::measure;
use super::prefetch;
use crate::engine::numerics::product::DROPPED;

/// Exponents from -14, bit 0, to 1. Larger ones have no part in a product that is dropped.
pub(crate) type Exponents = u16;

/// Coefficients that are looked at together.
pub(super) const TOGETHER: usize = 64;
/// The exponents of operands that the smallest coefficients drop, whose products may still be half a unit: with -14 these are -3,
/// where the sum is [`DROPPED`], and -4.
const OF_SMALLEST: u32 = 0b11 << 10;
const _: () = assert!(DROPPED == -17, "the rule of products");
/// One of so many coefficients may have products to be dropped for it to be worth to take these off.
const FEW: usize = 6;
/// Places that may be written behind the last one.
pub(super) const WRITTEN: usize = 16;

/// Places that there may be of so many coefficients, and room behind them.
pub(crate) const fn room(coefficients: usize) -> usize {
    (coefficients + 2 * TOGETHER) / FEW + WRITTEN
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

/// The exponents of the operands of each tap, `[tap][column]`, but zeros: once for each row of a tile.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "larger exponents do not count")]
pub(super) fn exponents<const COLUMNS: usize, const ROWS: usize>(operands: &[f32], to: &mut [Exponents]) {
    for (tap, to) in operands.as_chunks::<COLUMNS>().0.iter().zip(to.as_chunks_mut::<ROWS>().0) {
        let bit = |&number: &f32| {
            let magnitude = magnitude(number);
            let bit = 1u32.wrapping_shl(above(magnitude));
            if magnitude == 0 { 0 } else { bit }
        };
        *to = [tap.iter().map(bit).fold(0, |all, bit| all | bit) as Exponents; ROWS];
    }
}

/// Finds the coefficients that have a product to be dropped, from the exponents that they drop and those of the operands. Gives their
/// number, or none where there are many. Behind them [`room`] is written, too.
///
/// # Safety
///
/// The processor has the unit, and places have [`room`] for as many coefficients.
#[inline(always)]
pub(super) unsafe fn find<V: Fused>(
    (coefficients, ahead): (&[Exponents], usize),
    operands: &[Exponents],
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
    let [mut last, mut last_operands] = [[0; TOGETHER]; 2];
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
    (coefficients, operands): (&[Exponents; TOGETHER], &[Exponents; TOGETHER]),
    first: u32,
    (places, count): (*mut u32, usize),
) -> Option<usize> {
    // SAFETY: as the caller says.
    let which = unsafe { V::common(coefficients, operands) };
    let end = count + which.count_ones() as usize;
    if end * FEW > first as usize + 2 * TOGETHER {
        return None;
    }
    // SAFETY: there is room for `WRITTEN` places behind the last one that may be found so far.
    unsafe { V::put_places(which, first, places.wrapping_add(count)) };
    Some(end)
}

/// Writes the places of the bits that are set, the first of which has this place, some at a time.
///
/// # Safety
///
/// They can be written, and [`WRITTEN`] more.
#[inline(always)]
pub(super) unsafe fn put_places(mut which: u64, first: u32, mut to: *mut u32) {
    const AT_ONCE: usize = 4;
    // How many there are is hard to guess for a processor. So some places are written in any case, and few have more.
    loop {
        for at in 0..AT_ONCE {
            // SAFETY: as the caller says.
            unsafe { to.wrapping_add(at).write(first.wrapping_add(which.trailing_zeros())) };
            which &= which.wrapping_sub(1);
        }
        if which == 0 {
            return;
        }
        to = to.wrapping_add(AT_ONCE);
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
            let Kernel { rows, columns, .. } = tier.code().many;
            let mut panel = vec![8.0; 4 * columns];
            panel[0] = -0.375;
            panel[2] = 0.0;
            panel[columns + 1] = 2f32.powi(-20);
            panel[columns + 2] = -1.0;
            panel[2 * columns..3 * columns].fill(-0.0);
            let mut found = vec![0; 4 * rows];
            tier.code().exponents(&panel, &mut found);
            let expected: Vec<_> =
                [1 << 12, 1 | 1 << 14, 0, 0].into_iter().flat_map(|all: u16| vec![all; rows]).collect();
            assert_eq!(found, expected, "{}", tier.name());
        }
    }

    #[test]
    fn coefficients_are_found_that_drop_an_exponent_of_their_operands() {
        let length = 2 * TOGETHER + 7;
        let (mut coefficients, mut operands) = (vec![0b0011; length], vec![0b1100; length]);
        for place in [0, 15, 16, 31, 32, 63, 64, 134] {
            coefficients[place] = 0b0110;
        }
        operands[64] = 0;
        operands[65] = 0b0001;
        coefficients[66] = 0;
        coefficients[100..100 + WRITTEN + 1].fill(0b1000);
        let expected: Vec<u32> =
            [0, 15, 16, 31, 32, 63, 65].into_iter().chain(100..=104).chain([134]).collect();
        for tier in tiers() {
            let mut found = vec![0; room(length)];
            let count = tier.code().find((&coefficients, 0), &operands, &mut found);
            assert_eq!(count, Some(expected.len()), "{}", tier.name());
            assert_eq!(found[..expected.len()], expected, "{}", tier.name());
            let many = vec![0b1000; length];
            assert_eq!(tier.code().find((&many, 0), &operands, &mut found), None, "{}", tier.name());
        }
    }
}
