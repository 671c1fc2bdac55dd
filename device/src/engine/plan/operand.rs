//! Operands and results: how large they are, and where their elements lie.

use ane_uapi::hw::td::words::{ChipBytes, DmaBytes};

/// The largest operand: 2^26 elements.
///
/// The largest surface that a compiler is known to make, 16384 by 16384 elements, is four times this and is cut
/// into tasks by the 2 MB on-chip buffer long before. The bound keeps the staging area small enough to have.
pub const ELEMENTS_MAX: u64 = 1 << 26;

/// Extents of a tensor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Channels.
    pub channels: u32,
    /// Rows.
    pub height: u32,
    /// Columns.
    pub width: u32,
}

impl Shape {
    /// How many elements there are.
    pub const fn elements(self) -> u64 {
        // 2^17 channels of 2^15 by 2^15 fit.
        (self.channels as u64).saturating_mul(self.height as u64).saturating_mul(self.width as u64)
    }

    /// The same number, for what a plan has bounded by [`ELEMENTS_MAX`].
    #[expect(clippy::cast_possible_truncation, reason = "bounded by 2^26")]
    pub const fn len(self) -> usize {
        let elements = self.elements();
        if elements > ELEMENTS_MAX { 0 } else { elements as usize }
    }

    /// True if there is no element.
    pub const fn is_empty(self) -> bool {
        self.elements() == 0
    }

    /// Channels and columns in each other's place.
    #[must_use]
    pub const fn transposed(self) -> Self {
        Self { channels: self.width, height: self.height, width: self.channels }
    }
}

/// A tensor in the on-chip buffer: an element lies at `base + c * channel_stride + y * row_stride + 2 * x`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ChipPlace {
    /// The first element.
    pub base: u32,
    /// From one channel to the next.
    pub channel_stride: u32,
    /// From one row to the next.
    pub row_stride: u32,
    /// From one batch to the next.
    pub group_stride: u32,
}

impl ChipPlace {
    /// The place that four registers name.
    pub(super) const fn new(base: ChipBytes, channel: ChipBytes, row: ChipBytes, group: ChipBytes) -> Self {
        Self {
            base: base.bytes(),
            channel_stride: channel.bytes(),
            row_stride: row.bytes(),
            group_stride: group.bytes(),
        }
    }

    /// The same tensor of another batch.
    #[must_use]
    pub const fn batch(self, batch: u32) -> Self {
        Self { base: self.base.saturating_add(self.group_stride.saturating_mul(batch)), ..self }
    }

    /// The byte behind the last element of a tensor here.
    pub const fn end(self, shape: Shape) -> u64 {
        let channels = (self.channel_stride as u64).saturating_mul(shape.channels.saturating_sub(1) as u64);
        let rows = (self.row_stride as u64).saturating_mul(shape.height.saturating_sub(1) as u64);
        let row = (shape.width as u64).saturating_mul(2);
        (self.base as u64).saturating_add(channels).saturating_add(rows).saturating_add(row)
    }
}

/// A tensor in memory, relative to its base address: an element lies at
/// `(c div I) * plane_stride + y * row_stride + 2 * I * x + 2 * (c mod I)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MemoryPlace {
    /// From one row to the next.
    pub row_stride: u32,
    /// From one plane to the next.
    pub plane_stride: u32,
    /// From one batch to the next.
    pub group_stride: u32,
    /// Channels side by side in one plane; at least 1.
    pub interleave: u32,
}

impl MemoryPlace {
    pub(super) const fn new(row: DmaBytes, plane: DmaBytes, group: DmaBytes, interleave: u8) -> Self {
        Self {
            row_stride: row.bytes(),
            plane_stride: plane.bytes(),
            group_stride: group.bytes(),
            interleave: if interleave == 0 { 1 } else { interleave as u32 },
        }
    }
}

/// True if elements of two bytes may share bytes: along each axis they are `stride` bytes apart, `count` times.
///
/// Axes that nest, each reaching over everything inside it, share nothing. Others are taken to do so; no program is
/// known to interlace axes without nesting them.
pub(super) fn may_overlap<const N: usize>(mut axes: [(u32, u32); N]) -> bool {
    axes.sort_unstable();
    let mut extent = 2u64;
    for (stride, count) in axes {
        let Some(more) = count.checked_sub(1).filter(|more| *more != 0) else { continue };
        if u64::from(stride) < extent {
            return true;
        }
        extent = extent.saturating_add(u64::from(stride).saturating_mul(more.into()));
    }
    false
}

/// What a streamed operand leaves in its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Window {
    /// All of itself: the window was large enough.
    Whole,
    /// Bytes that depend on the order of refills: this many from the window's base.
    Unknown(u32),
}

/// Where a source comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// It is on chip.
    Chip(ChipPlace),
    /// Tile DMA brings it from memory, by way of the chip.
    Memory {
        /// Where it lies in memory.
        from: MemoryPlace,
        /// Where it passes on chip.
        by: ChipPlace,
        /// What it leaves there.
        leaves: Window,
    },
}

/// A source operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    /// Its extents; 1 where it is broadcast.
    pub shape: Shape,
    /// Where it comes from.
    pub origin: Origin,
}

/// What becomes of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sink {
    /// Extents as stored, after any transposition.
    pub shape: Shape,
    /// True if channels and columns change places on the way.
    pub is_transposed: bool,
    /// Where it stays on chip, or is assembled before it goes to memory.
    pub chip: Option<ChipPlace>,
    /// Where it goes in memory.
    pub memory: Option<MemoryPlace>,
    /// Where on chip it passes and leaves bytes unknown, and how many from there.
    pub spoils: Option<(ChipPlace, u32)>,
}

#[cfg(test)]
mod tests {
    use super::may_overlap;

    #[test]
    fn axes_that_nest_share_no_bytes_in_whatever_order_they_nest() {
        assert!(!may_overlap([(2, 32), (64, 4), (256, 8)]));
        assert!(!may_overlap([(512, 4), (2, 32), (64, 8)]), "channels inside rows");
        assert!(!may_overlap([(2, 77), (0, 1), (0, 1)]), "an axis of one element has no stride");
    }

    #[test]
    fn axes_that_do_not_nest_may_share_bytes() {
        assert!(may_overlap([(2, 33), (64, 2)]));
        assert!(may_overlap([(2, 1), (0, 2)]));
        assert!(may_overlap([(18, 9), (2, 3), (64, 4)]));
    }
}
