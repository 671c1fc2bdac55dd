//! Operands and results: how large they are, and where their elements lie.

use ane_uapi::hw::td::words::{ChipBytes, DmaStride};

use crate::engine::numerics::double;

/// The largest operand: 2^26 elements.
///
/// The largest surface that a compiler is known to make, 16384 by 16384 elements, is four times this and is cut
/// into tasks by the 2 MB on-chip buffer long before. The bound keeps the staging area small enough to have.
pub const ELEMENTS_MAX: u64 = 1 << 26;

/// Extents of a tensor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Shape {
    pub channels: u32,
    pub height: u32,
    pub width: u32,
}

impl Shape {
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

/// The format of an element, in memory and on chip. The engines compute on halves for every format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Element {
    #[default]
    Half,
    /// A byte with a sign.
    Signed,
    /// A byte without.
    Unsigned,
}

impl Element {
    pub const fn bytes(self) -> u32 {
        match self {
            Self::Half => 2,
            Self::Signed | Self::Unsigned => 1,
        }
    }

    /// The half for a byte, which is exact.
    pub fn half(self, byte: u8) -> u16 {
        match self {
            Self::Signed => half::f16::from(byte.cast_signed()),
            Self::Half | Self::Unsigned => half::f16::from(byte),
        }
        .to_bits()
    }

    /// The byte nearest to a half, halves away from zero; what is beyond the bytes is the last of them (Chosen: known
    /// programs store 0 and 1).
    #[expect(clippy::cast_possible_truncation, reason = "casts of floats saturate, and none is a NaN")]
    #[expect(clippy::cast_sign_loss, reason = "casts of floats saturate")]
    pub fn byte(self, half: u16) -> u8 {
        let value = double::decode(half).round();
        match self {
            Self::Signed => (value as i8).cast_unsigned(),
            Self::Half | Self::Unsigned => value as u8,
        }
    }
}

/// How far the bases of a repetition of a task are from those of the first.
///
/// A task is repeated for each group, and in each group for each depth.
fn displacement(group_stride: u32, depth_stride: u32, depths: u32, batch: u32) -> u64 {
    let depths = depths.max(1);
    let group = batch.checked_div(depths).unwrap_or(0);
    let depth = batch.checked_rem(depths).unwrap_or(0);
    let apart = |stride: u32, count: u32| u64::from(stride).saturating_mul(count.into());
    apart(group_stride, group).saturating_add(apart(depth_stride, depth))
}

/// A tensor in the on-chip buffer: an element of `e` bytes lies at `base + c * channel_stride + y * row_stride + e * x`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ChipPlace {
    /// The first element.
    pub base: u32,
    pub channel_stride: u32,
    pub row_stride: u32,
    pub group_stride: u32,
    pub depth_stride: u32,
    /// Depths of a group; 0 counts as 1.
    pub depths: u32,
    pub element: Element,
}

impl ChipPlace {
    /// The place that five registers name: base, and strides of channels, rows, depths and groups.
    pub(super) const fn new(words: [ChipBytes; 5], depths: u32, element: Element) -> Self {
        let [base, channel, row, depth, group] = words;
        Self {
            base: base.bytes(),
            channel_stride: channel.bytes(),
            row_stride: row.bytes(),
            group_stride: group.bytes(),
            depth_stride: depth.bytes(),
            depths,
            element,
        }
    }

    /// The same tensor of another batch.
    #[must_use]
    pub fn batch(self, batch: u32) -> Self {
        let behind = displacement(self.group_stride, self.depth_stride, self.depths, batch);
        let behind = u32::try_from(behind).unwrap_or(u32::MAX);
        Self { base: self.base.saturating_add(behind), ..self }
    }

    /// The byte behind the last element of a tensor here.
    pub const fn end(self, shape: Shape) -> u64 {
        let channels = (self.channel_stride as u64).saturating_mul(shape.channels.saturating_sub(1) as u64);
        let rows = (self.row_stride as u64).saturating_mul(shape.height.saturating_sub(1) as u64);
        let row = (shape.width as u64).saturating_mul(self.element.bytes() as u64);
        (self.base as u64).saturating_add(channels).saturating_add(rows).saturating_add(row)
    }
}

/// A tensor in memory, relative to its base address: an element of `e` bytes lies at
/// `(c div I) * plane_stride + y * row_stride + e * I * x + e * (c mod I)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MemoryPlace {
    pub row_stride: u32,
    pub plane_stride: u32,
    pub group_stride: u32,
    pub depth_stride: u32,
    /// Depths of a group; 0 counts as 1.
    pub depths: u32,
    /// Channels side by side in one plane; at least 1.
    pub interleave: u32,
    pub element: Element,
}

impl MemoryPlace {
    /// The place that four strides name: of rows, planes, depths and groups.
    pub(super) const fn new(strides: [DmaStride; 4], interleave: u8, depths: u32, element: Element) -> Self {
        let [row, plane, depth, group] = strides;
        Self {
            row_stride: row.bytes(),
            plane_stride: plane.bytes(),
            group_stride: group.bytes(),
            depth_stride: depth.bytes(),
            depths,
            interleave: if interleave == 0 { 1 } else { interleave as u32 },
            element,
        }
    }

    /// How far the base of a repetition of the task is from that of the first.
    pub fn displacement(&self, batch: u32) -> u64 {
        displacement(self.group_stride, self.depth_stride, self.depths, batch)
    }

    /// Rows of the tensor that an operand is a part of: those between two planes.
    pub fn whole_rows(&self, shape: Shape) -> u32 {
        self.plane_stride.checked_div(self.row_stride).unwrap_or(0).max(shape.height)
    }

    /// Bytes of the tensor that an operand is a part of, as far as strides show it: all of its rows, and all groups if each lies
    /// where the one before it ends, in the next planes or in the same rows.
    pub fn whole_bytes(&self, shape: Shape, groups: u32) -> u64 {
        let bytes = u64::from(self.element.bytes());
        let planes = u64::from(shape.channels.div_ceil(self.interleave.max(1)));
        let row = u64::from(shape.width).saturating_mul(self.interleave.into()).saturating_mul(bytes);
        let group = u64::from(self.group_stride);
        let goes_on = group == planes.saturating_mul(self.plane_stride.into())
            || (group == row && self.group_stride < self.row_stride);
        let groups = if group > 0 && goes_on { groups.max(1) } else { 1 };
        let of_group = Shape { height: self.whole_rows(shape), ..shape }.elements();
        of_group.saturating_mul(bytes).saturating_mul(groups.into())
    }
}

/// True if elements of so many bytes may share bytes: along each axis they are `stride` bytes apart, `count` times.
///
/// Axes that nest, each reaching over everything inside it, share nothing. Others are taken to do so; no program is
/// known to interlace axes without nesting them.
pub(super) fn may_overlap<const N: usize>(element: Element, mut axes: [(u32, u32); N]) -> bool {
    axes.sort_unstable();
    let mut extent = u64::from(element.bytes());
    for (stride, count) in axes {
        let Some(more) = count.checked_sub(1).filter(|more| *more != 0) else { continue };
        if u64::from(stride) < extent {
            return true;
        }
        extent = extent.saturating_add(u64::from(stride).saturating_mul(more.into()));
    }
    false
}

/// The contents that an operand from memory leaves on chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Window {
    /// All of itself: it is kept there, or its window was large enough.
    Whole,
    /// Bytes that depend on the order of refills: this many from the window's base. Each repetition of a task comes through the
    /// same window (inferred: compilers reserve no more).
    Unknown(u32),
    /// Elements in each other's place, from the first to the last byte; which of them stays is not known.
    Overlapping,
}

impl Window {
    /// True if all of the operand goes to its own place on chip, which has to be there then.
    pub(super) const fn is_its_place(self) -> bool {
        matches!(self, Self::Whole | Self::Overlapping)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// It lies on chip already.
    Chip(ChipPlace),
    /// Tile DMA brings it from memory, by way of the chip.
    Memory { from: MemoryPlace, by: ChipPlace, leaves: Window },
    /// The task before has passed it on.
    Passed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    /// The extents of the operand; 1 where it is broadcast.
    pub shape: Shape,
    /// True if it lies with channels and columns in each other's place.
    pub is_transposed: bool,
    pub origin: Origin,
}

impl Source {
    /// Extents as it lies.
    pub const fn stored(&self) -> Shape {
        if self.is_transposed { self.shape.transposed() } else { self.shape }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sink {
    /// Extents as stored, after any transposition.
    pub shape: Shape,
    /// True if channels and columns change places on the way.
    pub is_transposed: bool,
    /// Where it stays on chip, or is assembled before it goes to memory.
    pub chip: Option<ChipPlace>,
    pub memory: Option<MemoryPlace>,
    /// Where on chip it passes and leaves bytes unknown, and how many from there.
    pub spoils: Option<(ChipPlace, u32)>,
    /// True if it goes straight to the next task.
    pub is_passed_on: bool,
}

#[cfg(test)]
mod tests {
    use super::{Element, MemoryPlace, Shape, may_overlap};

    #[test]
    fn axes_that_nest_share_no_bytes_in_whatever_order_they_nest() {
        assert!(!may_overlap(Element::Half, [(2, 32), (64, 4), (256, 8)]));
        assert!(!may_overlap(Element::Half, [(512, 4), (2, 32), (64, 8)]), "channels inside rows");
        assert!(
            !may_overlap(Element::Half, [(2, 77), (0, 1), (0, 1)]),
            "an axis of one element has no stride"
        );
    }

    #[test]
    fn bytes_lie_closer_than_halves_and_share_nothing() {
        assert!(!may_overlap(Element::Signed, [(1, 33), (64, 2)]));
        assert!(may_overlap(Element::Half, [(1, 33), (64, 2)]));
    }

    #[test]
    fn byte_becomes_the_half_of_its_number_and_comes_back() {
        for byte in 0..=u8::MAX {
            for element in [Element::Signed, Element::Unsigned] {
                assert_eq!(element.byte(element.half(byte)), byte);
            }
        }
        assert_eq!(Element::Signed.half(0xff), 0xbc00, "-1");
        assert_eq!(
            [0x7c00, 0xfc00, 0x3800, 0xb800, 0x5bf8].map(|half| Element::Signed.byte(half)),
            [127, 128, 1, 255, 127]
        );
        assert_eq!([0xbc00, 0x7bff].map(|half| Element::Unsigned.byte(half)), [0, 255]);
    }

    /// 16 channels of 8 rows of 32 columns, of a tensor that has 8 rows.
    const GROUP: Shape = Shape { channels: 16, height: 8, width: 32 };
    const PLACE: MemoryPlace = MemoryPlace {
        row_stride: 64,
        plane_stride: 512,
        group_stride: 0,
        depth_stride: 0,
        depths: 1,
        interleave: 1,
        element: Element::Half,
    };

    #[test]
    fn groups_that_follow_each_other_are_one_tensor() {
        let bytes = |group_stride| MemoryPlace { group_stride, ..PLACE }.whole_bytes(GROUP, 4);
        assert_eq!(bytes(16 * 512), 4 * 16 * 512);
        assert_eq!(bytes(0), 16 * 512, "the same elements again");
        assert_eq!(bytes(20 * 512), 16 * 512, "tensors with a gap between them");
        let wide = MemoryPlace { row_stride: 256, plane_stride: 2048, group_stride: 64, ..PLACE };
        assert_eq!(wide.whole_bytes(GROUP, 4), 4 * 16 * 512, "side by side in each row");
    }

    #[test]
    fn batches_of_rows_count_the_rows_of_the_tensor_once() {
        let row = Shape { height: 1, ..GROUP };
        let place = MemoryPlace { group_stride: 64, ..PLACE };
        assert_eq!((place.whole_rows(row), place.whole_bytes(row, 8)), (8, 16 * 512));
    }

    #[test]
    fn whole_of_bytes_is_half_as_long_as_one_of_halves() {
        let place = MemoryPlace { element: Element::Signed, ..PLACE };
        assert_eq!(place.whole_bytes(GROUP, 1), 16 * 8 * 32);
    }

    #[test]
    fn axes_that_do_not_nest_may_share_bytes() {
        assert!(may_overlap(Element::Half, [(2, 33), (64, 2)]));
        assert!(may_overlap(Element::Half, [(2, 1), (0, 2)]));
        assert!(may_overlap(Element::Half, [(18, 9), (2, 3), (64, 4)]));
    }
}
