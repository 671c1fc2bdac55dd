//! The coefficients as the kernels read them: singles, those of a block's rows side by side.

use std::ops::Range;

use super::make_room;
use super::packing::{Packing, Tiles};
use crate::engine::kernels::SCALE;
use crate::engine::numerics::{Numerics, sum, tile};

/// Coefficients, packed.
#[derive(Debug, Default)]
pub(super) struct Packed {
    /// `[group][tile][tap][row]`, or a single tile that all share; for `m1` the magnitudes of a tap's rows behind them.
    all: Vec<f32>,
    /// For each tile, the bounds of its rows, and the largest sum of magnitudes that one of them has.
    bounds: Vec<f32>,
    /// Singles of a tile.
    size: usize,
    /// Whether there is but one.
    is_shared: bool,
    /// Rows of a tile.
    rows: usize,
    /// Singles of a tap of a tile.
    each: usize,
    /// Tiles of a group.
    tiles: usize,
}

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
    /// Makes room for the coefficients of a pass, and hands it out in shares for threads.
    pub(super) fn shares(&mut self, packing: &Packing<'_>) -> impl Iterator<Item = Tiles<'_>> + Send {
        (self.rows, self.each, self.tiles) = (packing.rows, packing.each, packing.tiles());
        self.size = packing.size();
        self.is_shared = packing.coefficients.is_none();
        let count = if self.is_shared { 1 } else { packing.shape.groups * self.tiles };
        make_room(&mut self.all, count * self.size);
        self.bounds.resize(count * (self.rows + 1), 0.0);
        let share = packing.share();
        let all = self.all.chunks_mut(share * self.size);
        let bounds = self.bounds.chunks_mut(share * (self.rows + 1));
        all.zip(bounds).enumerate().map(move |(i, (all, bounds))| Tiles { first: i * share, all, bounds })
    }

    /// Some taps of a tile.
    pub(super) fn tile(&self, group: usize, tile: usize, taps: Range<usize>) -> &[f32] {
        let at = self.index(group, tile) * self.size;
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
        if self.is_shared { 0 } else { group * self.tiles + tile }
    }
}
