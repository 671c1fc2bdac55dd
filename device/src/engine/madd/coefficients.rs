//! The coefficients as the kernels read them: singles, those of a block's rows side by side.

use std::ops::Range;

use super::make_room;
use super::pool::Pool;
use super::shape::Shape;
use crate::engine::cancel::{Pace, Watch};
use crate::engine::kernels::{Code, Kernel, MAGNITUDE, SCALE};
use crate::engine::numerics::{Numerics, sum, tile};

/// What the bound of a row is multiplied with. A product of 65520 or more shows as a sum beyond 2^15, and one that
/// might be as large counts as such: half of it and a little.
const BOUND: f32 = 0.5005;

/// Coefficients, packed.
#[derive(Debug, Default)]
pub(super) struct Packed {
    /// As they came, in single precision.
    wide: Vec<f32>,
    /// `[group][tile][tap][row]`, or a single tile that all share; for `m1` the magnitudes of a tap's rows behind them.
    all: Vec<f32>,
    /// For each tile, the bounds of its rows, and the largest sum of magnitudes that one of them has.
    bounds: Vec<f32>,
    /// Singles of a tile; 0 if all share one.
    tile: usize,
    /// Rows of a tile.
    rows: usize,
    /// Singles of a tap of a tile.
    each: usize,
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
    /// Packs the coefficients of a pass for blocks of a kernel.
    pub(super) fn pack(
        &mut self,
        (pool, threads): (&Pool, usize),
        (code, numerics): (&Code, Numerics),
        shape: &Shape,
        kernel: &Kernel,
        coefficients: Option<&[u16]>,
        watch: &Watch<'_>,
    ) {
        let (rows, each) = (kernel.rows, kernel.coefficients);
        let scale = if numerics == Numerics::M1 { SCALE } else { 1.0 };
        let size = padded(numerics, shape.taps()) * each;
        let Self { wide, all, tile, tiles, .. } = self;
        *tiles = shape.group_outputs.div_ceil(rows);
        (self.rows, self.each) = (rows, each);
        if let Some(coefficients) = coefficients {
            make_room(wide, coefficients.len());
            pool.share(threads, wide, shape.lanes, |first, wide| {
                code.widen(&coefficients[first * shape.lanes..], numerics != Numerics::M1, wide);
            });
            *tile = size;
            make_room(all, shape.groups * *tiles * size);
            let (wide, tiles) = (&*wide, *tiles);
            pool.share(threads, all, size, |first, all| {
                let mut pace = Pace::new(watch);
                for (at, all) in (first..).zip(all.chunks_exact_mut(size)) {
                    if pace.spend(size) {
                        return;
                    }
                    let first = (at / tiles, at % tiles * rows);
                    pack_tile(shape, (rows, each), first, (wide, scale), all);
                    add_magnitudes((rows, each), all);
                }
            });
        } else {
            *tile = 0;
            all.resize(size, 0.0);
            all.fill(0.0);
            for tap in all.chunks_exact_mut(each).take(shape.taps()) {
                tap[..rows].fill(scale);
            }
            add_magnitudes((rows, each), all);
        }
        if numerics == Numerics::M1 {
            self.bound((pool, threads), size, watch);
        }
    }

    /// Finds the bounds of all tiles.
    fn bound(&mut self, (pool, threads): (&Pool, usize), size: usize, watch: &Watch<'_>) {
        let Self { all, bounds, rows, each, .. } = self;
        bounds.resize(all.len() / size * (*rows + 1), 0.0);
        pool.share(threads, bounds, *rows + 1, |first, bounds| {
            let mut pace = Pace::new(watch);
            for (bounds, tile) in
                bounds.chunks_exact_mut(*rows + 1).zip(all[first * size..].chunks_exact(size))
            {
                if pace.spend(size) {
                    return;
                }
                // Kernels have one row or a multiple of four.
                match bounds.split_last_mut() {
                    Some((reach, [bound])) => *reach = of_rows(tile, *each, 0, [bound]),
                    Some((reach, bounds)) => {
                        let fours = bounds.as_chunks_mut::<4>().0.iter_mut().enumerate();
                        *reach = fours
                            .map(|(i, four)| of_rows(tile, *each, 4 * i, four.each_mut()))
                            .fold(0.0, f32::max);
                    }
                    None => {}
                }
            }
        });
    }

    /// Some taps of a tile.
    pub(super) fn tile(&self, group: usize, tile: usize, taps: Range<usize>) -> &[f32] {
        let at = (group * self.tiles + tile) * self.tile;
        &self.all[at + taps.start * self.each..][..taps.len() * self.each]
    }

    /// The bounds of a tile's rows.
    pub(super) fn bounds(&self, group: usize, tile: usize) -> &[f32] {
        &self.bounds[self.index(group, tile) * (self.rows + 1)..][..self.rows]
    }

    /// Whether sums of a tile, which have so many taps, may come near the limit with operands of at most this magnitude.
    pub(super) fn may_saturate(&self, group: usize, tile: usize, taps: usize, largest: f32) -> bool {
        /// Roundings raise a sum by a small part, as long as there are not too many of them; half is more than enough.
        const LIMIT: f32 = sum::LIMIT * SCALE / 2.0;
        const MANY: usize = 1 << 20;
        // What is no number is not below either.
        let reach = self.bounds[self.index(group, tile) * (self.rows + 1) + self.rows];
        let is_below = reach * largest < LIMIT;
        taps > MANY || !is_below
    }

    /// Which of the tiles that are kept.
    fn index(&self, group: usize, tile: usize) -> usize {
        if self.tile == 0 { 0 } else { group * self.tiles + tile }
    }
}

/// Puts the magnitudes of each tap's coefficients behind them, if there is room.
fn add_magnitudes((rows, each): (usize, usize), tile: &mut [f32]) {
    for tap in tile.chunks_exact_mut(each) {
        let (coefficients, magnitudes) = tap.split_at_mut(rows);
        for (magnitude, coefficient) in magnitudes.iter_mut().zip(coefficients) {
            *magnitude = coefficient.abs() * MAGNITUDE;
        }
    }
}

/// Packs a tile, whose first row is an output of a group: scaled singles, a tap behind the other.
#[expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "sizes are those of a checked shape"
)]
fn pack_tile(
    shape: &Shape,
    (rows, each): (usize, usize),
    (group, first): (usize, usize),
    (wide, scale): (&[f32], f32),
    tile: &mut [f32],
) {
    let outputs = rows.min(shape.group_outputs - first);
    if outputs < rows || tile.len() > shape.taps() * each {
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
            1 => strip::<1>(shape, each, (source, scale), place),
            2 => strip::<2>(shape, each, (source, scale), place),
            3 => strip::<3>(shape, each, (source, scale), place),
            4 => strip::<4>(shape, each, (source, scale), place),
            5 => strip::<5>(shape, each, (source, scale), place),
            6 => strip::<6>(shape, each, (source, scale), place),
            7 => strip::<7>(shape, each, (source, scale), place),
            _ => strip::<8>(shape, each, (source, scale), place),
        }
        row += together;
    }
}

/// Packs so many rows of a tile.
fn strip<const N: usize>(shape: &Shape, each: usize, (wide, scale): (&[f32], f32), tile: &mut [f32]) {
    for (place, from) in tile.chunks_mut(each).zip(wide.chunks(shape.lanes)).take(shape.taps()) {
        if let (Some(place), Some(from)) = (place.first_chunk_mut::<N>(), from.first_chunk::<N>()) {
            *place = from.map(|coefficient| coefficient * scale);
        }
    }
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
