//! The kernel of `m1`: tiles of four rounded products, added with twelve digits.
//!
//! It computes with numbers only. Infinities and the limit of 2^15 are left to the definition: where a block is guarded,
//! the kernel keeps the largest magnitude that each sum had, and for each column the largest operand, which together with
//! the row's largest coefficient bounds the products. An output that came near anything special is computed again.
#![expect(unsafe_code, reason = "reads and writes what `Block::fits` has seen to be there")]

use super::block::Block;
use super::lanes::Lanes;
use super::narrow::{Operand, Product};
use crate::engine::numerics::tile::TAPS;

/// Adds the taps, whole tiles of them, to the sums.
///
/// # Safety
///
/// The processor has the unit, and the block fits `ROWS` by `VECTORS * V::COUNT`, with two coefficients for each row.
#[inline(always)]
pub(super) unsafe fn run<V: Lanes, const ROWS: usize, const VECTORS: usize>(block: &mut Block<'_>) {
    for v in 0..VECTORS {
        let (at, pitch) = (v * V::COUNT, VECTORS * V::COUNT);
        if block.guard.is_some() {
            // SAFETY: as the caller says.
            unsafe { column::<V, ROWS, true>(block, at, pitch) };
        } else {
            // SAFETY: as the caller says.
            unsafe { column::<V, ROWS, false>(block, at, pitch) };
        }
    }
}

/// One vector's width of columns, of rows that are `pitch` apart.
///
/// # Safety
///
/// As for [`run`].
#[inline(always)]
unsafe fn column<V: Lanes, const ROWS: usize, const GUARDED: bool>(
    block: &mut Block<'_>,
    at: usize,
    pitch: usize,
) {
    let is_first = block.is_first;
    // SAFETY: as the caller says.
    let zero = unsafe { V::splat(0.0) };
    let (mut sums, mut peaks) = ([zero; ROWS], [zero; ROWS]);
    if !is_first {
        for (row, sum) in sums.iter_mut().enumerate() {
            // SAFETY: there is a sum for each row and column.
            *sum = unsafe { V::load(block.sums.as_ptr().wrapping_add(row * pitch + at)) };
        }
    }
    // No bound may be zero: what is infinite has to show.
    let mut largest = zero.number(f32::MIN_POSITIVE);
    let mut coefficients = block.coefficients.as_ptr();
    let (tiles, _) = block.offsets.each().as_chunks::<TAPS>();
    for tile in tiles {
        // No `map`: what it is made of is compiled for no unit.
        let mut operands = [Operand::new(zero); TAPS];
        for (operand, &offset) in operands.iter_mut().zip(tile) {
            // SAFETY: the largest offset leaves room for all columns.
            let number = unsafe { V::load(block.panel.as_ptr().wrapping_add(offset).wrapping_add(at)) };
            *operand = Operand::new(number);
            if GUARDED {
                largest = largest.peak(number);
            }
        }
        let [first, second, third, fourth] = operands;
        let mut tile = [zero; ROWS];
        // SAFETY: there are two coefficients for each row and tap; this goes for all four.
        unsafe { tap(&mut tile, coefficients, first, |_, product| product.first()) };
        // SAFETY: as above.
        unsafe { tap(&mut tile, coefficients.wrapping_add(2 * ROWS), second, Product::add_second) };
        // SAFETY: as above.
        unsafe { tap(&mut tile, coefficients.wrapping_add(4 * ROWS), third, Product::add_later) };
        // SAFETY: as above.
        unsafe { tap(&mut tile, coefficients.wrapping_add(6 * ROWS), fourth, Product::add_later) };
        for row in 0..ROWS {
            sums[row] = sums[row].add(tile[row]);
            if GUARDED {
                peaks[row] = peaks[row].peak(sums[row]);
            }
        }
        coefficients = coefficients.wrapping_add(2 * TAPS * ROWS);
    }
    for (row, sum) in sums.iter().enumerate() {
        // SAFETY: there is a sum for each row and column.
        unsafe { sum.store(block.sums.as_mut_ptr().wrapping_add(row * pitch + at)) };
    }
    if let Some(guard) = &mut block.guard {
        for (row, peak) in peaks.iter().enumerate() {
            let place = guard.peaks.as_mut_ptr().wrapping_add(row * pitch + at);
            // SAFETY: there is a peak for each row and column.
            let before = if is_first { zero } else { unsafe { V::load(place) } };
            let products = largest.mul(zero.number(guard.bounds[row]));
            // SAFETY: as above.
            unsafe { before.peak(*peak).peak(products).store(place) };
        }
    }
}

/// Adds a tap's products to the tiles of all rows.
///
/// An add has to wait for the one before; side by side the rows keep the processor busy meanwhile.
///
/// # Safety
///
/// The processor has the unit, and there are two coefficients for each row.
#[inline(always)]
unsafe fn tap<V: Lanes, const ROWS: usize>(
    tile: &mut [V; ROWS],
    coefficients: *const f32,
    operand: Operand<V>,
    add: impl Fn(V, Product<V>) -> V,
) {
    for (row, sum) in tile.iter_mut().enumerate() {
        // SAFETY: as the caller says.
        let coefficient = unsafe { *coefficients.wrapping_add(row) };
        // SAFETY: as the caller says.
        let magnitude = unsafe { *coefficients.wrapping_add(ROWS + row) };
        *sum = add(*sum, operand.times(sum.number(coefficient), sum.number(magnitude)));
    }
}
