//! The kernel in single precision: one fused multiply-add for a product.
//!
//! A running sum that stays between 128 and 256 has units for its last digit. A fused multiply-add rounds the exact product to
//! units and adds it, which is what the silicon does; only ties go to even, and the last digit of the coefficient, which is
//! set, makes them none. After some taps, as many as cannot lead out of that range, the units are added to a whole number,
//! and the sum starts anew in the middle.
#![expect(unsafe_code, reason = "reads and writes what `Block::fits` has seen to be there")]

use std::hint::black_box;

use super::apart::{Parted, PartedChunk};
use super::block::Block;
use super::lanes::{ANCHOR, Fused};
use super::prefetch;

/// Taps that are written out one after the other: a loop that ends often ends with a branch that processors guess
/// wrong, and what they guessed wrong costs as much as several taps.
const UNROLLED: usize = 4;

/// The taps of a block, as [`Adding::Singles`](super::Adding) has them.
#[derive(Clone, Copy)]
pub(super) struct Taps<'a> {
    pub(super) coefficients: &'a [f32],
    pub(super) begin: Option<&'a [i32]>,
    pub(super) chunks: &'a [usize],
    pub(super) ahead: usize,
}

/// Adds the taps to the sums, in chunks.
///
/// # Safety
///
/// The processor has the unit, the block fits `ROWS` by `VECTORS * V::COUNT`, and these are its taps.
#[inline(always)]
pub(super) unsafe fn run<V: Fused, const ROWS: usize, const VECTORS: usize, const LOOKED_AT: usize>(
    block: &mut Block<'_>,
    taps: Taps<'_>,
    parted: Option<&Parted>,
) {
    if let Some(parted) = parted {
        // SAFETY: as the caller says.
        unsafe { apart::<V, ROWS, VECTORS, LOOKED_AT>(block, taps, parted) }
    } else if block.least.is_empty() {
        // SAFETY: as the caller says.
        unsafe { plain::<V, ROWS, VECTORS>(block, taps) }
    } else {
        // SAFETY: as the caller says.
        unsafe { limited::<V, ROWS, VECTORS, LOOKED_AT>(block, taps) }
    }
}

/// The same, tap after tap, where no product is dropped.
///
/// # Safety
///
/// As for [`run`].
#[inline(always)]
unsafe fn plain<V: Fused, const ROWS: usize, const VECTORS: usize>(
    block: &mut Block<'_>,
    Taps { coefficients, begin, chunks, ahead }: Taps<'_>,
) {
    let panel = block.panel.as_ptr();
    let mut coefficients = coefficients.as_ptr();
    let mut begin = begin.and_then(<[i32]>::first_chunk::<ROWS>);
    let mut rest = block.offsets.each();
    // SAFETY: as the caller says.
    let anchor = unsafe { V::splat(ANCHOR) };
    for &length in chunks {
        let mut sums = [[anchor; VECTORS]; ROWS];
        let (chunk, behind) = rest.split_at(length);
        rest = behind;
        let (many, few) = chunk.as_chunks::<UNROLLED>();
        for offsets in many {
            prefetch::read(coefficients.wrapping_add(ahead));
            for &offset in offsets {
                let operands = panel.wrapping_add(offset);
                // SAFETY: the largest offset leaves room for all columns, and each tap has a coefficient for each row.
                unsafe { add::<V, ROWS, VECTORS>(&mut sums, operands, coefficients) };
                coefficients = coefficients.wrapping_add(ROWS);
            }
        }
        for &offset in few {
            let operands = panel.wrapping_add(offset);
            // SAFETY: as above.
            unsafe { add::<V, ROWS, VECTORS>(&mut sums, operands, coefficients) };
            coefficients = coefficients.wrapping_add(ROWS);
        }
        // SAFETY: as the caller says: there is a sum for each row and column.
        unsafe { leave(&sums, begin.take(), block.sums.as_mut_ptr()) };
    }
}

/// The same, where any product may be dropped, by the limits of the block.
///
/// # Safety
///
/// As for [`run`].
#[inline(always)]
unsafe fn limited<V: Fused, const ROWS: usize, const VECTORS: usize, const LOOKED_AT: usize>(
    block: &mut Block<'_>,
    Taps { coefficients, begin, chunks, ahead }: Taps<'_>,
) {
    let panel = block.panel.as_ptr();
    let mut coefficients = coefficients.as_ptr();
    let mut begin = begin.and_then(<[i32]>::first_chunk::<ROWS>);
    let mut least = block.least.as_ptr();
    let mut rest = block.offsets.each();
    // SAFETY: as the caller says.
    let anchor = unsafe { V::splat(ANCHOR) };
    for &length in chunks {
        let (chunk, behind) = rest.split_at(length);
        rest = behind;
        let taps = chunk.iter().enumerate().map(|(at, &offset)| Limited {
            operands: panel.wrapping_add(offset),
            coefficients: coefficients.wrapping_add(at * ROWS),
            least: least.wrapping_add(at * ROWS),
        });
        let sums = [[anchor; VECTORS]; ROWS];
        // SAFETY: the largest offset leaves room for all columns, and each tap has a coefficient and a limit for each row.
        let sums = unsafe { looked_at::<V, ROWS, VECTORS, LOOKED_AT>(sums, taps, ahead) };
        coefficients = coefficients.wrapping_add(length * ROWS);
        least = least.wrapping_add(length * ROWS);
        // SAFETY: as the caller says: there is a sum for each row and column.
        unsafe { leave(&sums, begin.take(), block.sums.as_mut_ptr()) };
    }
}

/// The same, with the taps of each chunk in two lists.
///
/// # Safety
///
/// As for [`run`]; the lists name taps of the block.
#[inline(always)]
unsafe fn apart<V: Fused, const ROWS: usize, const VECTORS: usize, const LOOKED_AT: usize>(
    block: &mut Block<'_>,
    Taps { coefficients, begin, ahead, .. }: Taps<'_>,
    parted: &Parted,
) {
    let (panel, offsets) = (block.panel.as_ptr(), block.offsets.each().as_ptr());
    let mut begin = begin.and_then(<[i32]>::first_chunk::<ROWS>);
    let at = |tap: u32| {
        // SAFETY: as the caller says: there is such a tap.
        let offset = unsafe { *offsets.wrapping_add(tap as usize) };
        (panel.wrapping_add(offset), coefficients.as_ptr().wrapping_add(tap as usize * ROWS))
    };
    // SAFETY: as the caller says.
    let anchor = unsafe { V::splat(ANCHOR) };
    for PartedChunk { kept, dropping, least } in parted.chunks() {
        let mut sums = [[anchor; VECTORS]; ROWS];
        let (many, few) = kept.as_chunks::<UNROLLED>();
        for taps in many {
            for &one in taps {
                let (operands, coefficients) = at(one);
                prefetch::read(coefficients.wrapping_add(ahead));
                // SAFETY: the largest offset leaves room for all columns, and each tap has a coefficient for each row.
                unsafe { add::<V, ROWS, VECTORS>(&mut sums, operands, coefficients) };
            }
        }
        for &one in few {
            let (operands, coefficients) = at(one);
            // SAFETY: as above.
            unsafe { add::<V, ROWS, VECTORS>(&mut sums, operands, coefficients) };
        }
        if !dropping.is_empty() {
            let taps = dropping.iter().zip(least.as_chunks::<ROWS>().0).map(|(&one, least)| {
                let (operands, coefficients) = at(one);
                Limited { operands, coefficients, least: least.as_ptr() }
            });
            // SAFETY: as above.
            sums = unsafe { looked_at::<V, ROWS, VECTORS, LOOKED_AT>(sums, taps, ahead) };
        }
        // SAFETY: as the caller says: there is a sum for each row and column.
        unsafe { leave(&sums, begin.take(), block.sums.as_mut_ptr()) };
    }
}

/// Adds running sums to the sums of a block, or to the first values of each row and puts them there.
///
/// # Safety
///
/// There is a place for each row and column.
#[inline(always)]
unsafe fn leave<V: Fused, const ROWS: usize, const VECTORS: usize>(
    sums: &[[V; VECTORS]; ROWS],
    begin: Option<&[i32; ROWS]>,
    mut place: *mut i32,
) {
    for (row, sums) in sums.iter().enumerate() {
        for sum in sums {
            match begin {
                // SAFETY: as the caller says.
                Some(begin) => unsafe { sum.put_units(begin[row], place) },
                // SAFETY: as the caller says.
                None => unsafe { sum.add_units(place) },
            }
            place = place.wrapping_add(V::COUNT);
        }
    }
}

/// Adds a tap to each sum.
///
/// # Safety
///
/// The processor has the unit; operands of all columns and coefficients of all rows can be read.
#[inline(always)]
unsafe fn add<V: Fused, const ROWS: usize, const VECTORS: usize>(
    sums: &mut [[V; VECTORS]; ROWS],
    operands: *const f32,
    coefficients: *const f32,
) {
    // SAFETY: as the caller says.
    let columns = unsafe { columns::<V, VECTORS>(operands) };
    for (row, sums) in sums.iter_mut().enumerate() {
        // SAFETY: as the caller says.
        let coefficient = unsafe { *coefficients.wrapping_add(row) };
        // SAFETY: as the caller says.
        let coefficient = unsafe { V::splat(coefficient) };
        for (sum, column) in sums.iter_mut().zip(columns) {
            *sum = sum.plus_product(coefficient, column).in_register();
        }
    }
}

/// A tap with products that may be dropped: where its operands, its coefficients and their limits are.
#[derive(Clone, Copy)]
struct Limited {
    operands: *const f32,
    coefficients: *const f32,
    /// From which magnitude of its operand on each row counts.
    least: *const f32,
}

/// Adds taps whose products are looked at, one by one, to the sums of so many rows at a time.
///
/// Magnitudes and limits take registers, too. A unit that has sixteen cannot hold them beside the sums of all rows, which then go
/// to the stack and back with each tap.
///
/// # Safety
///
/// As for [`add`], and all rows of each tap have a limit.
#[inline(always)]
unsafe fn looked_at<V: Fused, const ROWS: usize, const VECTORS: usize, const LOOKED_AT: usize>(
    mut sums: [[V; VECTORS]; ROWS],
    taps: impl Iterator<Item = Limited> + Clone,
    ahead: usize,
) -> [[V; VECTORS]; ROWS] {
    const { assert!(ROWS.is_multiple_of(LOOKED_AT), "all rows are looked at") };
    for (part, place) in sums.as_chunks_mut::<LOOKED_AT>().0.iter_mut().enumerate() {
        let first = part * LOOKED_AT;
        if LOOKED_AT < ROWS {
            // The compiler would hold the sums of the other rows in registers meanwhile, if it knew what they are.
            black_box(&mut *place);
        }
        let mut sums = *place;
        for Limited { operands, coefficients, least } in taps.clone() {
            prefetch::read(coefficients.wrapping_add(ahead));
            let [coefficients, least] = [coefficients, least].map(|of_tap| of_tap.wrapping_add(first));
            // SAFETY: as the caller says.
            unsafe { add_kept::<V, LOOKED_AT, VECTORS>(&mut sums, operands, coefficients, least) };
        }
        *place = sums;
        if LOOKED_AT < ROWS {
            black_box(&mut *place);
        }
    }
    sums
}

/// Adds a tap to each sum, but for the products that are dropped.
///
/// # Safety
///
/// As for [`looked_at`].
#[inline(always)]
unsafe fn add_kept<V: Fused, const ROWS: usize, const VECTORS: usize>(
    sums: &mut [[V; VECTORS]; ROWS],
    operands: *const f32,
    coefficients: *const f32,
    least: *const f32,
) {
    // SAFETY: as the caller says.
    let columns = unsafe { columns::<V, VECTORS>(operands) };
    let mut magnitudes = columns;
    for magnitude in &mut magnitudes {
        *magnitude = magnitude.magnitude();
    }
    for (row, sums) in sums.iter_mut().enumerate() {
        // SAFETY: as the caller says.
        let coefficient = unsafe { *coefficients.wrapping_add(row) };
        // SAFETY: as the caller says.
        let coefficient = unsafe { V::splat(coefficient) };
        // SAFETY: as the caller says.
        let least = unsafe { *least.wrapping_add(row) };
        // SAFETY: as the caller says.
        let least = unsafe { V::splat(least) };
        for ((sum, column), magnitude) in sums.iter_mut().zip(columns).zip(magnitudes) {
            *sum = sum.plus_kept(column, coefficient, magnitude, least);
        }
    }
}

/// The operands of all columns.
///
/// # Safety
///
/// The processor has the unit, and they can be read.
#[inline(always)]
unsafe fn columns<V: Fused, const VECTORS: usize>(operands: *const f32) -> [V; VECTORS] {
    // SAFETY: as the caller says.
    let mut columns = [unsafe { V::load(operands) }; VECTORS];
    for (v, column) in columns.iter_mut().enumerate().skip(1) {
        // SAFETY: as the caller says.
        *column = unsafe { V::load(operands.wrapping_add(v * V::COUNT)) };
    }
    columns
}
