//! The kernel of `m1`: tiles of four rounded products, added with twelve digits.
//!
//! It computes with numbers only. Infinities and the limit of 2^15 are left to the definition: beside each sum the kernel
//! keeps the largest magnitude that it had, and for each column the largest operand, which together with the row's
//! largest coefficient bounds the products. An output that came near anything special is computed again.
#![expect(unsafe_code, reason = "reads and writes what `Block::fits` has seen to be there")]

use super::block::Block;
use super::lanes::Lanes;
use crate::engine::numerics::tile::TAPS;

/// Adds the taps, whole tiles of them, to the sums.
///
/// # Safety
///
/// The processor has the unit, and the block fits `ROWS` by `VECTORS * V::COUNT`.
#[inline(always)]
pub(super) unsafe fn run<V: Lanes, const ROWS: usize, const VECTORS: usize>(block: &mut Block<'_>) {
    for v in 0..VECTORS {
        // SAFETY: as the caller says.
        unsafe { column::<V, ROWS>(block, v * V::COUNT, VECTORS * V::COUNT) };
    }
}

/// One vector's width of columns, of rows that are `pitch` apart.
///
/// # Safety
///
/// As for [`run`].
#[inline(always)]
unsafe fn column<V: Lanes, const ROWS: usize>(block: &mut Block<'_>, at: usize, pitch: usize) {
    // SAFETY: as the caller says.
    let zero = unsafe { V::splat(0.0) };
    let mut sums = [zero; ROWS];
    let mut peaks = [zero; ROWS];
    for row in 0..ROWS {
        // SAFETY: there is a sum for each row and column.
        sums[row] = unsafe { V::load(block.sums.as_ptr().wrapping_add(row * pitch + at)) };
        // SAFETY: and a peak.
        peaks[row] = unsafe { V::load(block.peaks.as_ptr().wrapping_add(row * pitch + at)) };
    }
    // No bound may be zero: what is infinite has to show.
    // SAFETY: as the caller says.
    let mut largest = unsafe { V::splat(f32::MIN_POSITIVE) };
    let mut coefficients = block.coefficients.as_ptr();
    let (tiles, _) = block.offsets.each().as_chunks::<TAPS>();
    for tile in tiles {
        let mut operands = [zero; TAPS];
        for (operand, &offset) in operands.iter_mut().zip(tile) {
            // SAFETY: the largest offset leaves room for all columns.
            *operand = unsafe { V::load(block.panel.as_ptr().wrapping_add(offset).wrapping_add(at)) };
            largest = largest.peak(*operand);
        }
        let [first, second, third, fourth] = operands;
        let mut tile = [zero; ROWS];
        // SAFETY: there are as many coefficients as rows for each tap; this goes for all four.
        unsafe { tap(&mut tile, coefficients, first, |_, product| V::first(product)) };
        // SAFETY: as above.
        unsafe { tap(&mut tile, coefficients.wrapping_add(ROWS), second, V::add_second) };
        // SAFETY: as above.
        unsafe { tap(&mut tile, coefficients.wrapping_add(2 * ROWS), third, V::add_later) };
        // SAFETY: as above.
        unsafe { tap(&mut tile, coefficients.wrapping_add(3 * ROWS), fourth, V::add_later) };
        for row in 0..ROWS {
            sums[row] = sums[row].add(tile[row]);
            peaks[row] = peaks[row].peak(sums[row]);
        }
        coefficients = coefficients.wrapping_add(TAPS * ROWS);
    }
    for row in 0..ROWS {
        // SAFETY: as the caller says.
        let bound = unsafe { V::splat(block.bounds[row]) };
        // SAFETY: there is a sum for each row and column.
        unsafe { sums[row].store(block.sums.as_mut_ptr().wrapping_add(row * pitch + at)) };
        // SAFETY: and a peak.
        unsafe {
            peaks[row].peak(largest.mul(bound)).store(block.peaks.as_mut_ptr().wrapping_add(row * pitch + at))
        };
    }
}

/// Adds a tap's products to the tiles of all rows.
///
/// An add has to wait for the one before; side by side the rows keep the processor busy meanwhile.
///
/// # Safety
///
/// The processor has the unit, and there is a coefficient for each row.
#[inline(always)]
unsafe fn tap<V: Lanes, const ROWS: usize>(
    tile: &mut [V; ROWS],
    coefficients: *const f32,
    operand: V,
    add: impl Fn(V, V::Product) -> V,
) {
    for (row, sum) in tile.iter_mut().enumerate() {
        // SAFETY: as the caller says.
        let coefficient = unsafe { *coefficients.wrapping_add(row) };
        // SAFETY: as the caller says.
        let coefficient = unsafe { V::splat(coefficient) };
        *sum = add(*sum, operand.product(coefficient));
    }
}
