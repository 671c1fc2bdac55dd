//! Coefficients on their way into tiles: which of them go where.
//!
//! They come as halves, those of a plane's outputs side by side (td 7.1), and a kernel wants those of its rows side by side.

use std::ops::Range;

use super::shape::Shape;
use crate::engine::cancel::{Pace, VECTOR};
use crate::engine::kernels::turn::{BLOCK, turned};
use crate::engine::kernels::{Code, Deal, Exponents, Extent, GRANULE, Strip};

/// One, with its last digit set.
const ONE: f32 = f32::from_bits(1.0f32.to_bits() | 1);
/// Taps that are dealt out before the next look whether they are still wanted.
const TAPS: usize = 1 << 12;
/// Taps of a tile that are measured together: they stay in the first cache.
const MEASURED: usize = 1 << 7;
/// Singles of tiles that are worth a thread's while, and what a tile counts for beside its own.
const MANY: usize = 1 << 14;
const PER_TILE: usize = 64;
/// Tiles after which any plane of the hardware ends with a tile.
const TILES: usize = 64;
/// Coefficients of a tile that are put side by side before they are dealt out: they stay in the first cache.
const SIDE_BY_SIDE: usize = 1 << 10;
/// Lanes that are dealt out at once, where they may be anybody's: what the longest vectors of any tier divide.
const LONGEST: usize = 16;

/// The source of the tiles, and the way in which they are packed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packing<'a> {
    pub(super) code: &'static Code,
    pub(super) shape: &'a Shape,
    /// None if each is one.
    pub(super) coefficients: Option<&'a [u16]>,
    /// Rows of a tile.
    pub(super) rows: usize,
    /// Whether the exponents that coefficients drop are used.
    pub(super) has_exponents: bool,
}

/// Some tiles that are to be packed.
#[derive(Debug)]
pub(super) struct Tiles<'a> {
    pub(super) first: usize,
    /// `[tile][tap][row]`
    pub(super) all: &'a mut [f32],
    /// The measures of each tile, granule by granule.
    pub(super) extents: &'a mut [Extent],
    /// The exponents of operands that each tap drops, `[tile][tap]`, or nothing.
    pub(super) exponents: &'a mut [Exponents],
}

#[expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "sizes are those of a checked shape"
)]
impl<'a> Packing<'a> {
    /// Tiles of a group.
    pub(super) fn tiles(&self) -> usize {
        self.shape.group_outputs.div_ceil(self.rows)
    }

    /// Singles of a tile.
    pub(super) fn size(&self) -> usize {
        self.shape.taps() * self.rows
    }

    /// Tiles that are a thread's share at a time.
    pub(super) fn share(&self) -> usize {
        // None of them has a plane in common with the next, so that none is read twice.
        let common = self.shape.lanes.trailing_zeros().min(self.rows.trailing_zeros());
        (MANY / (self.size() + PER_TILE)).max(1).next_multiple_of((self.shape.lanes >> common).min(TILES))
    }

    /// Packs some tiles; `strips` is room to work in.
    pub(super) fn pack(&self, tiles: Tiles<'_>, strips: &mut Vec<Strip>, pace: &mut Pace<'_>) {
        let Self { code, shape, rows, .. } = *self;
        let Tiles { first, all, extents, exponents } = tiles;
        let size = self.size();
        match self.coefficients {
            Some(coefficients) if self.has_narrow_planes() => self.collect(coefficients, (first, all), pace),
            Some(coefficients) => self.deal(coefficients, (first, all), strips, pace),
            None => all.fill(ONE),
        }
        let granules = shape.taps().div_ceil(GRANULE);
        let tiles = all.chunks_exact_mut(size).zip(extents.chunks_exact_mut(granules));
        let mut exponents = exponents.chunks_exact_mut(shape.taps());
        for (number, (tile, extents)) in (first..).zip(tiles) {
            if pace.spend(size / VECTOR + 1) {
                return;
            }
            let real = self.outputs(number).len();
            if real < rows {
                tile.chunks_exact_mut(rows).for_each(|tap| tap[real..].fill(0.0));
            }
            let mut exponents = exponents.next().unwrap_or_default().chunks_mut(MEASURED);
            for (taps, extents) in tile.chunks(MEASURED * rows).zip(extents.chunks_mut(MEASURED / GRANULE)) {
                code.measure_tile(taps, rows, extents);
                if let Some(exponents) = exponents.next() {
                    code.dropped(taps, exponents);
                }
            }
        }
    }

    fn outputs(&self, tile: usize) -> Range<usize> {
        let (group, row) = (tile / self.tiles(), tile % self.tiles() * self.rows);
        let first = group * self.shape.group_outputs;
        first + row..first + self.shape.group_outputs.min(row + self.rows)
    }

    /// Whether each tile is several whole planes.
    fn has_narrow_planes(&self) -> bool {
        let Shape { lanes, group_outputs, .. } = *self.shape;
        let divides = |number: usize| number.is_multiple_of(lanes);
        lanes < self.rows && divides(self.rows) && divides(group_outputs) && LONGEST.is_multiple_of(self.rows)
    }

    /// Puts narrow planes side by side, and deals them out together.
    fn collect(&self, coefficients: &[u16], (first, all): (usize, &mut [f32]), pace: &mut Pace<'_>) {
        let (lanes, rows, taps) = (self.shape.lanes, self.rows, self.shape.taps());
        let mut room = [0; SIDE_BY_SIDE];
        let together = SIDE_BY_SIDE / rows;
        for (number, tile) in (first..).zip(all.chunks_exact_mut(self.size())) {
            let outputs = self.outputs(number);
            for (start, to) in (0..taps).step_by(together).zip(tile.chunks_mut(together * rows)) {
                let count = together.min(taps - start);
                if pace.spend(count) {
                    return;
                }
                let turns = lanes == 1 && rows.is_multiple_of(BLOCK);
                for output in outputs.clone().step_by(BLOCK).filter(|_| turns) {
                    let from = (&coefficients[output * taps + start..], taps);
                    turned_side_by_side(from, count, &mut room[output - outputs.start..], rows);
                }
                let plane =
                    |output: usize| &coefficients[(output / lanes * taps + start) * lanes..][..count * lanes];
                if [lanes, outputs.len()] == [4, 8] {
                    // As compilers often have it.
                    both_side_by_side([plane(outputs.start), plane(outputs.start + 4)], &mut room);
                } else if !turns {
                    for output in outputs.clone().step_by(lanes) {
                        side_by_side(plane(output), lanes, &mut room[output - outputs.start..], rows);
                    }
                }
                let side_by_side = &room[..count * rows];
                let whole = side_by_side.len() / LONGEST * LONGEST;
                for (lanes, range) in [(LONGEST, 0..whole), (rows, whole..side_by_side.len())] {
                    self.code.deal(&mut Deal {
                        plane: &side_by_side[range.clone()],
                        lanes,
                        strips: &[Strip { lane: 0, length: lanes, to: 0 }],
                        pitch: lanes,
                        tiles: &mut to[range],
                    });
                }
            }
        }
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
                    strips,
                    pitch: self.rows,
                    tiles: &mut all[tap * self.rows..],
                });
            }
        }
    }
}

/// Puts eight planes of one lane, so far apart, side by side: so many taps of each plane become a column of rows. Behind the last of
/// them come zeros.
#[expect(clippy::indexing_slicing, clippy::arithmetic_side_effects, reason = "a row has room for the planes")]
pub(super) fn turned_side_by_side((from, pitch): (&[u16], usize), taps: usize, to: &mut [u16], rows: usize) {
    for (tap, to) in (0..taps).step_by(BLOCK).zip(to.chunks_mut(BLOCK * rows)) {
        let count = BLOCK.min(taps - tap);
        let block = std::array::from_fn(|plane| {
            let plane = from.get(plane * pitch + tap..).unwrap_or_default();
            match plane.first_chunk() {
                Some(row) => *row,
                None => {
                    let mut few = [0; BLOCK];
                    few[..plane.len()].copy_from_slice(plane);
                    few
                }
            }
        });
        for (row, to) in turned(block).iter().zip(to.chunks_mut(rows)).take(count) {
            to[..BLOCK].copy_from_slice(row);
        }
    }
}

/// Puts the four lanes of each tap of two planes side by side.
fn both_side_by_side([a, b]: [&[u16]; 2], to: &mut [u16]) {
    let planes = a.as_chunks::<4>().0.iter().zip(b.as_chunks::<4>().0);
    for (to, (a, b)) in to.as_chunks_mut::<8>().0.iter_mut().zip(planes) {
        let (lower, upper) = to.split_at_mut(4);
        lower.copy_from_slice(a);
        upper.copy_from_slice(b);
    }
}

/// Puts the lanes of each tap of a plane where a row of that tap begins.
#[expect(clippy::indexing_slicing, reason = "a row has more lanes than a plane")]
pub(super) fn side_by_side(plane: &[u16], lanes: usize, to: &mut [u16], rows: usize) {
    let to = to.chunks_mut(rows);
    match lanes {
        1 => to.zip(plane).for_each(|(to, from)| to[0] = *from),
        2 => to.zip(plane.as_chunks::<2>().0).for_each(|(to, from)| to[..2].copy_from_slice(from)),
        4 => to.zip(plane.as_chunks::<4>().0).for_each(|(to, from)| to[..4].copy_from_slice(from)),
        _ => to.zip(plane.chunks_exact(lanes)).for_each(|(to, from)| to[..lanes].copy_from_slice(from)),
    }
}
