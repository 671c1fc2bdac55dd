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

/// Adds the taps, whole tiles of them, to the sums; `TOGETHER` vectors of columns at a time.
///
/// An add has to wait for the one before it. Side by side, rows or else vectors keep the processor busy meanwhile.
///
/// # Safety
///
/// The processor has the unit, and the block fits `ROWS` by `VECTORS * V::COUNT`, with two coefficients for each row.
/// `TOGETHER` divides `VECTORS`.
#[inline(always)]
pub(super) unsafe fn run<V: Lanes, const ROWS: usize, const VECTORS: usize, const TOGETHER: usize>(
    block: &mut Block<'_>,
) {
    for v in (0..VECTORS).step_by(TOGETHER) {
        let (at, pitch) = (v * V::COUNT, VECTORS * V::COUNT);
        if block.guard.is_some() {
            // SAFETY: as the caller says.
            unsafe { columns::<V, ROWS, TOGETHER, true>(block, at, pitch) };
        } else {
            // SAFETY: as the caller says.
            unsafe { columns::<V, ROWS, TOGETHER, false>(block, at, pitch) };
        }
    }
}

/// Some vectors' width of columns, of rows that are `pitch` apart.
///
/// # Safety
///
/// As for [`run`].
#[inline(always)]
unsafe fn columns<V: Lanes, const ROWS: usize, const TOGETHER: usize, const GUARDED: bool>(
    block: &mut Block<'_>,
    at: usize,
    pitch: usize,
) {
    let place = |row: usize, v: usize| row * pitch + at + v * V::COUNT;
    // SAFETY: as the caller says.
    let zero = unsafe { V::splat(0.0) };
    let mut state = State {
        sums: [[zero; TOGETHER]; ROWS],
        peaks: [[zero; TOGETHER]; ROWS],
        // No bound may be zero: what is infinite has to show.
        largest: [zero.number(f32::MIN_POSITIVE); TOGETHER],
    };
    if !block.is_first {
        for (row, sums) in state.sums.iter_mut().enumerate() {
            for (v, sum) in sums.iter_mut().enumerate() {
                // SAFETY: there is a sum for each row and column.
                *sum = unsafe { V::load(block.sums.as_ptr().wrapping_add(place(row, v))) };
            }
        }
    }
    let panel = block.panel.as_ptr().wrapping_add(at);
    let mut coefficients = block.coefficients.as_ptr();
    let (tiles, alone) = block.offsets.tiles();
    for tile in tiles {
        // SAFETY: the largest offset leaves room for all columns, and there are two coefficients for each row and tap.
        unsafe { state.add::<GUARDED, TAPS>(panel, tile, coefficients) };
        coefficients = coefficients.wrapping_add(2 * TAPS * ROWS);
    }
    if let Some(alone) = alone {
        // SAFETY: as above.
        unsafe { state.add::<GUARDED, 1>(panel, alone, coefficients) };
    }
    for (row, sums) in state.sums.iter().enumerate() {
        for (v, sum) in sums.iter().enumerate() {
            // SAFETY: there is a sum for each row and column.
            unsafe { sum.store(block.sums.as_mut_ptr().wrapping_add(place(row, v))) };
        }
    }
    if let Some(guard) = &mut block.guard {
        for (row, peaks) in state.peaks.iter().enumerate() {
            for (v, peak) in peaks.iter().enumerate() {
                let place = guard.peaks.as_mut_ptr().wrapping_add(place(row, v));
                // SAFETY: there is a peak for each row and column.
                let before = if block.is_first { zero } else { unsafe { V::load(place) } };
                let products = state.largest[v].mul(zero.number(guard.bounds[row]));
                // SAFETY: as above.
                unsafe { before.peak(*peak).peak(products).store(place) };
            }
        }
    }
}

/// Sums on their way, the largest magnitudes that they had, and the largest operand of each column.
struct State<V, const ROWS: usize, const TOGETHER: usize> {
    sums: [[V; TOGETHER]; ROWS],
    peaks: [[V; TOGETHER]; ROWS],
    largest: [V; TOGETHER],
}

impl<V: Lanes, const ROWS: usize, const TOGETHER: usize> State<V, ROWS, TOGETHER> {
    /// Adds a tile of so many taps to all sums.
    ///
    /// # Safety
    ///
    /// The processor has the unit. Operands of all columns can be read behind each offset, and two coefficients for each
    /// row and tap.
    #[inline(always)]
    unsafe fn add<const GUARDED: bool, const N: usize>(
        &mut self,
        panel: *const f32,
        offsets: &[usize; N],
        coefficients: *const f32,
    ) {
        let mut tile = [[self.largest[0]; TOGETHER]; ROWS];
        for (tap, &offset) in offsets.iter().enumerate() {
            // No `map`: what it is made of is compiled for no unit.
            let mut operands = [Operand::new(self.largest[0]); TOGETHER];
            for (v, operand) in operands.iter_mut().enumerate() {
                // SAFETY: as the caller says.
                let number = unsafe { V::load(panel.wrapping_add(offset).wrapping_add(v * V::COUNT)) };
                *operand = Operand::new(number);
                if GUARDED {
                    self.largest[v] = self.largest[v].peak(number);
                }
            }
            let coefficients = coefficients.wrapping_add(2 * ROWS * tap);
            for (row, sums) in tile.iter_mut().enumerate() {
                // SAFETY: as the caller says.
                let coefficient = unsafe { *coefficients.wrapping_add(row) };
                // SAFETY: as the caller says.
                let magnitude = unsafe { *coefficients.wrapping_add(ROWS + row) };
                for (sum, operand) in sums.iter_mut().zip(operands) {
                    let product = operand.times(sum.number(coefficient), sum.number(magnitude));
                    *sum = match tap {
                        0 => product.first(),
                        1 => Product::add_second(*sum, product),
                        _ => Product::add_later(*sum, product),
                    };
                }
            }
        }
        for ((sums, peaks), tile) in self.sums.iter_mut().zip(&mut self.peaks).zip(tile) {
            for ((sum, peak), tile) in sums.iter_mut().zip(peaks).zip(tile) {
                *sum = sum.add(tile);
                if GUARDED {
                    *peak = peak.peak(*sum);
                }
            }
        }
    }
}
