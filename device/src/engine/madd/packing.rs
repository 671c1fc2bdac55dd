//! Coefficients on their way into tiles: which of them go where.
//!
//! They come as halves, those of a plane's outputs side by side (td 7.1), and a kernel wants those of its rows side by side.

use std::ops::Range;

use super::coefficients::padded;
use super::shape::Shape;
use crate::engine::cancel::{Pace, VECTOR};
use crate::engine::kernels::{Code, Deal, Kernel, MAGNITUDE, SCALE, Strip};
use crate::engine::numerics::Numerics;

/// What the bound of a row is multiplied with. A product of 65520 or more shows as a sum beyond 2^15, and one that
/// might be as large counts as such: half of it and a little.
const BOUND: f32 = 0.5005;
/// Taps that are dealt out before the next look whether they are still wanted.
const TAPS: usize = 1 << 12;
/// Singles of tiles that are worth a thread's while.
const MANY: usize = 1 << 14;
/// Tiles after which any plane of the hardware ends with a tile.
const TILES: usize = 64;

/// What tiles are packed from, and how.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packing<'a> {
    pub(super) code: &'static Code,
    pub(super) numerics: Numerics,
    pub(super) shape: &'a Shape,
    /// None if each is one.
    pub(super) coefficients: Option<&'a [u16]>,
    /// Rows of a tile.
    pub(super) rows: usize,
    /// Singles of a tap of a tile.
    pub(super) each: usize,
}

/// Some tiles that are to be packed.
#[derive(Debug)]
pub(super) struct Tiles<'a> {
    /// The number of the first.
    pub(super) first: usize,
    /// `[tile][tap][row]`
    pub(super) all: &'a mut [f32],
    /// For each tile, the bounds of its rows, and the largest sum of magnitudes that one of them has.
    pub(super) bounds: &'a mut [f32],
}

#[expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "sizes are those of a checked shape"
)]
impl<'a> Packing<'a> {
    /// For blocks of a kernel.
    pub(super) fn new(
        (code, numerics): (&'static Code, Numerics),
        shape: &'a Shape,
        coefficients: Option<&'a [u16]>,
        kernel: &Kernel,
    ) -> Self {
        Self { code, numerics, shape, coefficients, rows: kernel.rows, each: kernel.coefficients }
    }

    /// Tiles of a group.
    pub(super) fn tiles(&self) -> usize {
        self.shape.group_outputs.div_ceil(self.rows)
    }

    /// Singles of a tile.
    pub(super) fn size(&self) -> usize {
        padded(self.numerics, self.shape.taps()) * self.each
    }

    /// Tiles that are a thread's share at a time.
    pub(super) fn share(&self) -> usize {
        // None of them has a plane in common with the next, so that none is read twice.
        let common = self.shape.lanes.trailing_zeros().min(self.rows.trailing_zeros());
        (MANY / self.size()).max(1).next_multiple_of((self.shape.lanes >> common).min(TILES))
    }

    /// Packs some tiles; `strips` is room to work in.
    pub(super) fn pack(&self, tiles: Tiles<'_>, strips: &mut Vec<Strip>, pace: &mut Pace<'_>) {
        let Self { shape, rows, each, .. } = *self;
        let Tiles { first, all, bounds } = tiles;
        let size = self.size();
        match self.coefficients {
            Some(coefficients) => self.deal(coefficients, (first, all), strips, pace),
            None => all.fill(1.0),
        }
        let tiles = all.chunks_exact_mut(size).zip(bounds.chunks_exact_mut(rows + 1));
        for (number, (tile, bounds)) in (first..).zip(tiles) {
            tile[shape.taps() * each..].fill(0.0);
            let real = self.outputs(number).len();
            if real < rows {
                tile.chunks_exact_mut(each).for_each(|tap| tap[real..rows].fill(0.0));
            }
            if self.numerics == Numerics::M1 {
                if pace.spend(size) {
                    return;
                }
                scale((rows, each), tile);
                bound((rows, each), tile, bounds);
            }
        }
    }

    /// Outputs of a tile.
    fn outputs(&self, tile: usize) -> Range<usize> {
        let (group, row) = (tile / self.tiles(), tile % self.tiles() * self.rows);
        let first = group * self.shape.group_outputs;
        first + row..first + self.shape.group_outputs.min(row + self.rows)
    }

    /// Deals out the coefficients of some tiles.
    fn deal(
        &self,
        coefficients: &[u16],
        (first, all): (usize, &mut [f32]),
        strips: &mut Vec<Strip>,
        pace: &mut Pace<'_>,
    ) {
        let Shape { lanes, .. } = *self.shape;
        let (size, taps) = (self.size(), self.shape.taps());
        let tiles = first..first + all.len() / size;
        let planes = self.outputs(tiles.start).start / lanes..self.outputs(tiles.end - 1).end.div_ceil(lanes);
        let mut tile = tiles.start;
        for plane in planes {
            let of_plane = plane * lanes..(plane + 1) * lanes;
            strips.clear();
            while tile < tiles.end {
                let outputs = self.outputs(tile);
                let (start, end) = (outputs.start.max(of_plane.start), outputs.end.min(of_plane.end));
                if start < end {
                    let to = (tile - tiles.start) * size + start - outputs.start;
                    strips.push(Strip { lane: start - of_plane.start, length: end - start, to });
                }
                if outputs.end > of_plane.end {
                    break;
                }
                tile += 1;
            }
            for tap in (0..taps).step_by(TAPS) {
                let count = TAPS.min(taps - tap);
                if pace.spend(count * lanes / VECTOR) {
                    return;
                }
                self.code.deal(&mut Deal {
                    plane: &coefficients[(plane * taps + tap) * lanes..][..count * lanes],
                    lanes,
                    flush: self.numerics != Numerics::M1,
                    strips,
                    pitch: self.each,
                    tiles: &mut all[tap * self.each..],
                });
            }
        }
    }
}

/// Scales the coefficients of each tap for `m1`, and puts their magnitudes behind them.
fn scale((rows, each): (usize, usize), tile: &mut [f32]) {
    for tap in tile.chunks_exact_mut(each) {
        let (coefficients, magnitudes) = tap.split_at_mut(rows);
        for (magnitude, coefficient) in magnitudes.iter_mut().zip(coefficients) {
            *coefficient *= SCALE;
            *magnitude = coefficient.abs() * MAGNITUDE;
        }
    }
}

/// Finds the bounds of a tile's rows, and the largest sum of magnitudes among them.
fn bound((rows, each): (usize, usize), tile: &[f32], bounds: &mut [f32]) {
    let Some((reach, bounds)) = bounds.split_last_mut() else { return };
    // Kernels have one row or a multiple of four.
    *reach = match bounds {
        [bound] => of_rows(tile, each, 0, [bound]),
        bounds => {
            let fours = bounds.as_chunks_mut::<4>().0.iter_mut().zip((0..rows).step_by(4));
            fours.map(|(four, row)| of_rows(tile, each, row, four.each_mut())).fold(0.0, f32::max)
        }
    };
}

/// Finds the bounds of some rows of a tile, and the largest sum of magnitudes among them.
fn of_rows<const N: usize>(tile: &[f32], each: usize, first: usize, bounds: [&mut f32; N]) -> f32 {
    // Not zero: what is infinite has to show even beside zeros.
    let (mut largest, mut sums) = ([f32::MIN_POSITIVE; N], [0.0; N]);
    for tap in tile.chunks_exact(each) {
        let Some(coefficients) = tap.get(first..).and_then(|rest| rest.first_chunk::<N>()) else { continue };
        for ((largest, sum), coefficient) in largest.iter_mut().zip(&mut sums).zip(coefficients) {
            let magnitude = coefficient.abs();
            *largest = if magnitude > *largest { magnitude } else { *largest };
            *sum += magnitude;
        }
    }
    bounds.into_iter().zip(largest).for_each(|(bound, largest)| *bound = largest * BOUND);
    sums.into_iter().fold(0.0, f32::max)
}
