//! The kernel of `fast`: two chains of fused multiply-adds in each block of taps.
#![expect(unsafe_code, reason = "reads and writes what `Block::fits` has seen to be there")]

use super::block::Block;
use super::lanes::Lanes;
use crate::engine::numerics::sum::BLOCK;

/// Taps that are written out one after the other: a block that goes round often ends with a branch that processors
/// guess wrong, and what they guessed wrong costs as much as several taps.
const UNROLLED: usize = 8;

/// Adds the taps to the sums.
///
/// # Safety
///
/// The processor has the unit, and the block fits `ROWS` by `VECTORS * V::COUNT`.
#[inline(always)]
pub(super) unsafe fn run<V: Lanes, const ROWS: usize, const VECTORS: usize>(block: &mut Block<'_>) {
    if block.is_first {
        block.sums[..ROWS * VECTORS * V::COUNT].fill(0.0);
    }
    let panel = block.panel.as_ptr();
    let mut coefficients = block.coefficients.as_ptr();
    for taps in block.offsets.each().chunks(BLOCK) {
        // SAFETY: as the caller says.
        let zero = unsafe { V::splat(0.0) };
        // The chains are two variables and not an array, for the compiler to keep them in registers.
        let (mut even, mut odd) = ([[zero; VECTORS]; ROWS], [[zero; VECTORS]; ROWS]);
        let (many, rest) = taps.as_chunks::<UNROLLED>();
        for eight in many {
            let (pairs, _) = eight.as_chunks::<2>();
            for &[first, second] in pairs {
                // SAFETY: the largest offset leaves room for all columns, and each tap has a coefficient for each row.
                unsafe { tap::<V, ROWS, VECTORS>(&mut even, panel.wrapping_add(first), coefficients) };
                let next = coefficients.wrapping_add(ROWS);
                // SAFETY: as above.
                unsafe { tap::<V, ROWS, VECTORS>(&mut odd, panel.wrapping_add(second), next) };
                coefficients = next.wrapping_add(ROWS);
            }
        }
        let (pairs, last) = rest.as_chunks::<2>();
        for &[first, second] in pairs {
            // SAFETY: as above.
            unsafe { tap::<V, ROWS, VECTORS>(&mut even, panel.wrapping_add(first), coefficients) };
            // SAFETY: as above.
            unsafe {
                tap::<V, ROWS, VECTORS>(&mut odd, panel.wrapping_add(second), coefficients.wrapping_add(ROWS))
            };
            coefficients = coefficients.wrapping_add(2 * ROWS);
        }
        for &last in last {
            // SAFETY: as above.
            unsafe { tap::<V, ROWS, VECTORS>(&mut even, panel.wrapping_add(last), coefficients) };
            coefficients = coefficients.wrapping_add(ROWS);
        }
        // The compiler would keep the sums in registers, of which there are none left.
        let mut place = std::hint::black_box(block.sums.as_mut_ptr());
        for row in 0..ROWS {
            for v in 0..VECTORS {
                // SAFETY: there is a sum for each row and column.
                let before = unsafe { V::load(place) };
                // SAFETY: as above.
                unsafe { before.add(even[row][v].add(odd[row][v])).store(place) };
                place = place.wrapping_add(V::COUNT);
            }
        }
    }
}

/// Adds a tap to a chain of each sum.
///
/// # Safety
///
/// The processor has the unit; operands of all columns and coefficients of all rows can be read.
#[inline(always)]
unsafe fn tap<V: Lanes, const ROWS: usize, const VECTORS: usize>(
    chain: &mut [[V; VECTORS]; ROWS],
    operands: *const f32,
    coefficients: *const f32,
) {
    // SAFETY: as the caller says.
    let mut columns = [unsafe { V::load(operands) }; VECTORS];
    for (v, column) in columns.iter_mut().enumerate().skip(1) {
        // SAFETY: as the caller says.
        *column = unsafe { V::load(operands.wrapping_add(v * V::COUNT)) };
    }
    for (row, sums) in chain.iter_mut().enumerate() {
        // SAFETY: as the caller says.
        let coefficient = unsafe { *coefficients.wrapping_add(row) };
        // SAFETY: as the caller says.
        let coefficient = unsafe { V::splat(coefficient) };
        for (sum, column) in sums.iter_mut().zip(columns) {
            *sum = sum.plus_product(coefficient, column);
        }
    }
}
