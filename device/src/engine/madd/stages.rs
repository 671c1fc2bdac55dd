//! How the taps of a tile are added, decided before they are.
//!
//! The sums of a block's coefficients and the largest of its operands bound the sum of a block of taps. From
//! that follows how many products a sum in single precision takes before it leaves its range, and whether an
//! output can come to the limit. From the smallest of both follows whether a product may be dropped. The
//! measures are those of the numbers that are multiplied, so no input can falsify them.

use std::ops::Range;

use super::coefficients::Packed;
use super::layout::Layout;
use super::shape::Shape;
use crate::engine::kernels::{Extent, GRANULE};
use crate::engine::numerics::product::UNIT;
use crate::engine::numerics::sum::{LIMIT, in_units};

/// The bound of the added magnitudes in single precision, a little less than 64.
pub(super) const SINGLES: f32 = 63.5;
/// The factor by which roundings may have made a bound too small: more than there are roundings in it.
pub(super) const SLACK: f32 = 1.001;

/// How some taps of a tile are added.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    /// The chunks in single precision; none if they do not fit.
    chunks: Range<usize>,
    /// Whether a product may be dropped.
    pub(super) drops: bool,
    /// The largest sum of the magnitudes of a sum's products.
    reach: f32,
}

impl Stage {
    /// Whether a sum may come to the limit if it begins with at most `units` units.
    pub(super) fn may_overflow(&self, units: u32) -> bool {
        beyond(in_units(i64::from(units)) + f64::from(self.reach))
    }
}

/// Whether magnitudes that add up to `reach` can come to the limit.
fn beyond(reach: f64) -> bool {
    reach * f64::from(SLACK) >= in_units(LIMIT)
}

/// The stages of some tiles.
#[derive(Debug, Default)]
pub(super) struct Stages {
    /// `[tile][block]`
    all: Vec<Stage>,
    /// Whether sums of a tile may come to the limit.
    watched: Vec<bool>,
    chunks: Vec<usize>,
    /// The operands of each granule.
    operands: Vec<Extent>,
    /// Blocks of a tile.
    blocks: usize,
    first: usize,
}

/// The inputs from which the stages of a piece are made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured<'a> {
    pub(super) shape: &'a Shape,
    pub(super) layout: &'a Layout,
    pub(super) coefficients: &'a Packed,
    /// The operands of each channel of the group.
    pub(super) channels: &'a [Extent],
}

#[expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "sizes are those of a checked shape"
)]
impl Stages {
    /// Decides for some tiles of a group; `bias` is the largest magnitude that a sum of a tile starts with.
    pub(super) fn set(
        &mut self,
        measured: Measured<'_>,
        group: usize,
        tiles: Range<usize>,
        bias: impl Fn(usize) -> f64,
    ) {
        let Measured { shape, layout, coefficients, channels } = measured;
        let taps = shape.taps();
        let window = shape.kernel_height * shape.kernel_width;
        self.operands.clear();
        self.operands.extend((0..taps).step_by(GRANULE).map(|tap| {
            let touched = tap / window..=(taps.min(tap + GRANULE) - 1) / window;
            channels[touched].iter().fold(Extent::NONE, |all, &extent| all.and(extent))
        }));
        self.blocks = layout.blocks(taps);
        self.first = tiles.start;
        self.all.clear();
        self.watched.clear();
        self.chunks.clear();
        for tile in tiles {
            let extents = coefficients.extents(group, tile);
            let mut reach = bias(tile);
            for block in 0..self.blocks {
                let stage = self.stage(layout.taps_of(taps, block), extents, layout.kernel.has_singles);
                reach += f64::from(stage.reach);
                self.all.push(stage);
            }
            self.watched.push(beyond(reach));
        }
    }

    /// The chunks of a tile's taps, in single precision, for coefficients and operands of these measures; none if that does not do.
    pub(super) fn chunks_of(operands: Extent, coefficients: &[Extent], taps: usize) -> Vec<usize> {
        let mut stages = Self { operands: vec![operands; coefficients.len()], ..Self::default() };
        let stage = stages.stage(0..taps, coefficients, true);
        stages.chunks(&stage).map(<[usize]>::to_vec).unwrap_or_default()
    }

    /// Decides for some taps of a tile whose coefficients have these measures.
    fn stage(&mut self, taps: Range<usize>, extents: &[Extent], has_singles: bool) -> Stage {
        let granules = taps.start / GRANULE..taps.end.div_ceil(GRANULE);
        let first = self.chunks.len();
        let each = extents[granules.clone()].iter().zip(&self.operands[granules]);
        // Each product is rounded by half a unit at most.
        let bound = |a: &Extent, b: &Extent| SLACK * a.largest * b.largest + GRANULE as f32 * UNIT;
        let (mut reach, mut drops) = (0.0, false);
        for (a, b) in each.clone() {
            drops |= b.drops(*a);
            reach += bound(a, b);
        }
        if has_singles && reach < SINGLES {
            // As in most layers, one chunk does.
            self.chunks.push(taps.len());
            return Stage { chunks: first..first + 1, drops, reach };
        }
        let (mut of_chunk, mut length, mut rest) = (0.0, 0, taps.len());
        let mut fits = has_singles;
        for (a, b) in each {
            let bound = bound(a, b);
            fits &= bound < SINGLES;
            if of_chunk + bound >= SINGLES && length > 0 {
                self.chunks.push(length);
                (of_chunk, length) = (0.0, 0);
            }
            of_chunk += bound;
            length += rest.min(GRANULE);
            rest -= rest.min(GRANULE);
        }
        self.chunks.push(length);
        if !fits {
            self.chunks.truncate(first);
        }
        Stage { chunks: first..self.chunks.len(), drops, reach }
    }

    /// Whether any tile may drop products.
    pub(super) fn may_drop(&self) -> bool {
        self.all.iter().any(|stage| stage.drops)
    }

    /// How some taps of a tile are added.
    pub(super) fn of(&self, tile: usize, block: usize) -> &Stage {
        &self.all[(tile - self.first) * self.blocks + block]
    }

    /// The chunks of a stage in single precision, if that does.
    pub(super) fn chunks(&self, stage: &Stage) -> Option<&[usize]> {
        Some(&self.chunks[stage.chunks.clone()]).filter(|chunks| !chunks.is_empty())
    }

    /// Whether sums of a tile may come to the limit.
    pub(super) fn is_watched(&self, tile: usize) -> bool {
        self.watched[tile - self.first]
    }

    /// Whether sums of any tile may come to the limit.
    pub(super) fn are_watched(&self) -> bool {
        self.watched.contains(&true)
    }
}
