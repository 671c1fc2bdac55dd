//! The coefficients as the kernels read them: singles, those of a block's rows side by side.

use std::ops::Range;

use super::pool::Pool;
use super::shape::Shape;
use crate::engine::kernels::{Code, SCALE};
use crate::engine::numerics::{Numerics, tile};

/// What the bound of a row is multiplied with. A product of 65520 or more shows as a sum beyond 2^15, and one that
/// might be as large counts as such: half of it and a little.
const BOUND: f32 = 0.5005;

/// Coefficients, packed.
#[derive(Debug, Default)]
pub(super) struct Packed {
    /// As they came, in single precision.
    wide: Vec<f32>,
    /// `[group][tile][tap][row]`, or a single tile that all share.
    all: Vec<f32>,
    /// One for each row of each tile.
    bounds: Vec<f32>,
    /// Singles of a tile; 0 if all share one.
    tile: usize,
    rows: usize,
    /// Tiles of a group.
    tiles: usize,
}

/// Rows of a tile that are packed together at most.
const STRIP: usize = 8;

/// Taps that a kernel is handed for so many: for `m1`, zeros fill up the last tile of the adder.
pub(super) fn padded(numerics: Numerics, taps: usize) -> usize {
    if numerics == Numerics::M1 { taps.next_multiple_of(tile::TAPS) } else { taps }
}

#[expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "sizes are those of a checked shape"
)]
impl Packed {
    /// Packs the coefficients of a pass for blocks of so many rows.
    pub(super) fn pack(
        &mut self,
        (pool, threads): (&Pool, usize),
        (code, numerics): (&Code, Numerics),
        shape: &Shape,
        rows: usize,
        coefficients: Option<&[u16]>,
    ) {
        let scale = if numerics == Numerics::M1 { SCALE } else { 1.0 };
        let taps = padded(numerics, shape.taps());
        self.rows = rows;
        self.tiles = shape.group_outputs.div_ceil(rows);
        let Some(coefficients) = coefficients else {
            self.tile = 0;
            self.all.resize(taps * rows, 0.0);
            self.all.fill(scale);
            self.all[shape.taps() * rows..].fill(0.0);
            self.bounds.resize(rows, 0.0);
            self.bounds.fill(scale * BOUND);
            return;
        };
        let Self { wide, all, bounds, tile, tiles, .. } = self;
        *tile = taps * rows;
        wide.resize(coefficients.len(), 0.0);
        pool.share(threads, wide, shape.lanes, |first, wide| {
            code.widen(&coefficients[first * shape.lanes..], numerics != Numerics::M1, wide);
        });
        all.resize(shape.groups * *tiles * *tile, 0.0);
        let (wide, tiles) = (&*wide, *tiles);
        pool.share(threads, all, *tile, |first, all| {
            for (at, all) in (first..).zip(all.chunks_exact_mut(*tile)) {
                pack_tile(shape, rows, (at / tiles, at % tiles * rows), (wide, scale), all);
            }
        });
        // Kernels of the other modes want a bound for each row as well, but do not look at it.
        bounds.resize(shape.groups * tiles * rows, f32::MIN_POSITIVE);
        if numerics == Numerics::M1 {
            for (bounds, all) in bounds.chunks_exact_mut(rows).zip(all.chunks_exact(*tile)) {
                bound(bounds, all);
            }
        }
    }

    /// Some taps of a tile, and the bounds of its rows.
    pub(super) fn tile(&self, group: usize, tile: usize, taps: Range<usize>) -> (&[f32], &[f32]) {
        let at = group * self.tiles + tile;
        let all = &self.all[at * self.tile + taps.start * self.rows..][..taps.len() * self.rows];
        let bounds = if self.tile == 0 { &self.bounds[..] } else { &self.bounds[at * self.rows..] };
        (all, bounds)
    }
}

/// Packs a tile, whose first row is an output of a group: scaled singles, `[tap][row]`.
#[expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "sizes are those of a checked shape"
)]
fn pack_tile(
    shape: &Shape,
    rows: usize,
    (group, first): (usize, usize),
    (wide, scale): (&[f32], f32),
    tile: &mut [f32],
) {
    let outputs = rows.min(shape.group_outputs - first);
    if outputs < rows || tile.len() > shape.taps() * rows {
        tile.fill(0.0);
    }
    let mut row = 0;
    // Neighbours in a plane are neighbours in a tile.
    while row < outputs {
        let output = group * shape.group_outputs + first + row;
        let together = (outputs - row).min(shape.lanes - output % shape.lanes).min(STRIP);
        let source = &wide[shape.coefficient(output, 0)..];
        let place = &mut tile[row..];
        // Copies of a length that is known beforehand need no loop.
        match together {
            1 => strip::<1>(shape, rows, (source, scale), place),
            2 => strip::<2>(shape, rows, (source, scale), place),
            3 => strip::<3>(shape, rows, (source, scale), place),
            4 => strip::<4>(shape, rows, (source, scale), place),
            5 => strip::<5>(shape, rows, (source, scale), place),
            6 => strip::<6>(shape, rows, (source, scale), place),
            7 => strip::<7>(shape, rows, (source, scale), place),
            _ => strip::<8>(shape, rows, (source, scale), place),
        }
        row += together;
    }
}

/// Packs so many rows of a tile.
fn strip<const N: usize>(shape: &Shape, rows: usize, (wide, scale): (&[f32], f32), tile: &mut [f32]) {
    for (place, from) in tile.chunks_mut(rows).zip(wide.chunks(shape.lanes)).take(shape.taps()) {
        if let (Some(place), Some(from)) = (place.first_chunk_mut::<N>(), from.first_chunk::<N>()) {
            *place = from.map(|coefficient| coefficient * scale);
        }
    }
}

/// Finds the bounds of a tile's rows.
fn bound(bounds: &mut [f32], tile: &[f32]) {
    // Not zero: what is infinite has to show even beside zeros.
    bounds.fill(f32::MIN_POSITIVE);
    for coefficients in tile.chunks_exact(bounds.len()) {
        for (bound, coefficient) in bounds.iter_mut().zip(coefficients) {
            *bound = bound.max(coefficient.abs() * BOUND);
        }
    }
}
