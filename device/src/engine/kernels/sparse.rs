//! Small numbers, apart from the rest.
//!
//! A product whose exponents are small enough is dropped, and to look at each product doubles the work. So the small
//! numbers, of which there are few, are taken out of coefficients and operands: no product of what is left is ever dropped,
//! every product of two small numbers is, and only those of a small number and another have to be looked at.
#![expect(unsafe_code, reason = "vectors are read from slices and written to them")]

use super::lanes::{ANCHOR, Fused, LONGEST};
use super::measure::least;

/// A number that was taken out of a tile or a panel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Small {
    /// Its tap.
    pub(crate) tap: usize,
    /// Its row in a tile, or its column in a panel.
    pub(crate) place: usize,
    /// What it is.
    pub(crate) number: f32,
}

/// Takes the numbers below a magnitude out of `[tap][place]`, of so many places, and leaves zeros.
#[inline(always)]
pub(super) fn extract(numbers: &mut [f32], places: usize, below: f32, to: &mut Vec<Small>) {
    let limit = below.to_bits().wrapping_sub(1);
    // One less makes zero the largest.
    let is_small = |number: f32| number.abs().to_bits().wrapping_sub(1) < limit;
    for (i, some) in numbers.chunks_mut(LONGEST).enumerate() {
        if some.iter().fold(false, |any, &number| any | is_small(number)) {
            for (lane, number) in some.iter_mut().enumerate() {
                if is_small(*number) {
                    let at = i * LONGEST + lane;
                    to.push(Small { tap: at / places, place: at % places, number: *number });
                    *number = 0.0;
                }
            }
        }
    }
}

/// Adds the products of small coefficients, row by row, to sums of `VECTORS` vectors a row.
///
/// # Safety
///
/// The processor has the unit.
#[inline(always)]
pub(super) unsafe fn of_rows<V: Fused, const VECTORS: usize>(
    panel: &[f32],
    offsets: &[usize],
    coefficients: &[Small],
    sums: &mut [i32],
) {
    let columns = VECTORS * V::COUNT;
    // SAFETY: as the caller says.
    let anchor = unsafe { V::splat(ANCHOR) };
    for of_row in coefficients.chunk_by(|a, b| a.place == b.place) {
        let mut added = [anchor; VECTORS];
        for small in of_row {
            let operands = panel[offsets[small.tap]..][..columns].as_ptr();
            // SAFETY: as the caller says.
            let coefficient = unsafe { V::splat(small.number) };
            // SAFETY: as the caller says.
            let least = unsafe { V::splat(least(small.number)) };
            for (v, sum) in added.iter_mut().enumerate() {
                // SAFETY: all columns are in the slice.
                let operand = unsafe { V::load(operands.wrapping_add(v * V::COUNT)) };
                *sum = sum.plus_kept(operand, coefficient, operand.magnitude(), least);
            }
        }
        let row = sums[of_row[0].place * columns..][..columns].as_mut_ptr();
        for (v, sum) in added.iter().enumerate() {
            // SAFETY: all columns are in the slice.
            unsafe { sum.add_units(row.wrapping_add(v * V::COUNT)) };
        }
    }
}

/// Adds the products of small operands to the sums of `ROWS` rows of so many columns.
#[inline(always)]
pub(super) fn of_columns<const ROWS: usize>(
    coefficients: &[f32],
    operands: &[Small],
    columns: usize,
    sums: &mut [i32],
) {
    let sums = &mut sums[..ROWS * columns];
    for small in operands {
        let Some(coefficients) = coefficients[small.tap * ROWS..].first_chunk::<ROWS>() else { continue };
        let least = least(small.number);
        let mut units = [0; ROWS];
        for (units, coefficient) in units.iter_mut().zip(coefficients) {
            let away = small.number.mul_add(*coefficient, ANCHOR).to_bits().wrapping_sub(ANCHOR.to_bits());
            // No branch: which of the coefficients count is anybody's guess.
            let kept = u32::from(coefficient.abs() >= least).wrapping_neg();
            *units = (away & kept).cast_signed();
        }
        for (row, units) in sums.chunks_exact_mut(columns).zip(units) {
            row[small.place] = row[small.place].wrapping_add(units);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_are_taken_out_with_their_places() {
        let mut numbers: Vec<f32> = (0..40).map(|i| if i == 17 { -0.25 } else { 1.0 }).collect();
        numbers[3] = 0.0;
        numbers[39] = 0.499;
        let mut small = Vec::new();
        extract(&mut numbers, 4, 0.5, &mut small);
        let expected = [Small { tap: 4, place: 1, number: -0.25 }, Small { tap: 9, place: 3, number: 0.499 }];
        assert_eq!(small, expected);
        assert_eq!([numbers[17], numbers[39], numbers[0]], [0.0, 0.0, 1.0]);
    }
}
