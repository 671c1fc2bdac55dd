//! The coefficients as the kernels read them: singles, those of a block's rows side by side.

use std::ops::Range;

use super::make_room;
use super::packing::{Packing, Tiles};
use crate::engine::kernels::{Exponents, Extent, GRANULE, TOGETHER};

#[derive(Debug, Default)]
pub(super) struct Packed {
    /// `[group][tile][tap][row]`, or a single tile that all share.
    all: Vec<f32>,
    /// The measures of each granule of each tile.
    extents: Vec<Extent>,
    /// The exponents of operands that any coefficient of a tap drops, if that is of use, `[group][tile][tap]`.
    exponents: Vec<Exponents>,
    /// Singles of a tile.
    size: usize,
    /// Granules of a tile.
    granules: usize,
    /// Whether one tile serves all groups.
    is_shared: bool,
    taps: usize,
    /// Rows of a tile.
    rows: usize,
    /// Tiles of a group.
    tiles: usize,
}

#[expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "sizes are those of a checked shape"
)]
impl Packed {
    /// Makes room for the coefficients of a pass, and hands it out in shares for threads.
    pub(super) fn shares(&mut self, packing: &Packing<'_>) -> impl Iterator<Item = Tiles<'_>> + Send {
        (self.rows, self.tiles, self.size) = (packing.rows, packing.tiles(), packing.size());
        self.taps = packing.shape.taps();
        self.granules = self.taps.div_ceil(GRANULE);
        self.is_shared = packing.coefficients.is_none();
        let count = if self.is_shared { 1 } else { packing.shape.groups * self.tiles };
        let all = make_room(&mut self.all, count * self.size);
        self.extents.resize(count * self.granules, Extent::NONE);
        let kept = if packing.has_exponents { count * self.taps } else { 0 };
        self.exponents.resize(kept + TOGETHER, 0);
        let share = packing.share();
        let all = all.chunks_mut(share * self.size);
        let extents = self.extents.chunks_mut(share * self.granules);
        let mut exponents = self.exponents[..kept].chunks_mut(share * self.taps);
        all.zip(extents).enumerate().map(move |(i, (all, extents))| {
            let exponents = exponents.next().unwrap_or_default();
            Tiles { first: i * share, all, extents, exponents }
        })
    }

    /// The exponents of operands that taps of a tile drop, from this one on.
    pub(super) fn exponents(&self, group: usize, tile: usize, tap: usize) -> &[Exponents] {
        &self.exponents[self.index(group, tile) * self.taps + tap..]
    }

    /// Coefficients of a tile: so far behind each lies the same of the next tile.
    pub(super) const fn size(&self) -> usize {
        self.size
    }

    pub(super) fn tile(&self, group: usize, tile: usize, taps: Range<usize>) -> &[f32] {
        let at = self.index(group, tile) * self.size;
        &self.all[at + taps.start * self.rows..][..taps.len() * self.rows]
    }

    /// The measures of a tile, granule by granule.
    pub(super) fn extents(&self, group: usize, tile: usize) -> &[Extent] {
        &self.extents[self.index(group, tile) * self.granules..][..self.granules]
    }

    /// Index among the kept tiles.
    fn index(&self, group: usize, tile: usize) -> usize {
        if self.is_shared { 0 } else { group * self.tiles + tile }
    }
}
