//! Where operands lie: layouts in memory and on chip, and those that earlier tasks used.

use super::{CONSTANTS, DATA};
use crate::differential::task::align;
use crate::random::Random;

pub(super) use crate::differential::random_case::Shape;

impl Shape {
    /// Elements that a task may have: the interpreter is slow.
    const ELEMENTS_MAX: u32 = 3000;

    /// One whose extents lie around those at which something changes: 16 bytes, a tile, a vector, the engines.
    pub(super) fn random(random: &mut Random) -> Self {
        const WIDTHS: [u32; 20] =
            [1, 1, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 127, 128, 129, 256, 300];
        const HEIGHTS: [u32; 10] = [1, 1, 1, 2, 3, 4, 5, 8, 9, 17];
        const CHANNELS: [u32; 16] = [1, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 65];
        let w = WIDTHS[random.below(20) as usize];
        let h = HEIGHTS[random.below(10) as usize].min(Self::ELEMENTS_MAX / w).max(1);
        let c = CHANNELS[random.below(16) as usize].min(Self::ELEMENTS_MAX / (w * h)).max(1);
        Self { c, h, w }
    }

    /// Whether a tensor of that size has room in this one.
    const fn holds(self, other: Self) -> bool {
        self.c >= other.c && self.h >= other.h && self.w >= other.w
    }
}

/// A tensor in memory, by its device address.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlaceInMemory {
    pub(super) at: u32,
    pub(super) row: u32,
    pub(super) plane: u32,
    pub(super) group: u32,
    pub(super) interleave: u32,
}

impl PlaceInMemory {
    /// Whether elements of a tensor may lie in the same bytes: axes do not nest.
    fn overlaps(self, shape: Shape) -> bool {
        let planes = shape.c.div_ceil(self.interleave);
        let mut axes = [(self.row, shape.h), (self.plane, planes)];
        axes.sort_unstable();
        let mut extent = 2 * shape.w * self.interleave;
        axes.into_iter().filter(|axis| axis.1 > 1).any(|(stride, count)| {
            let overlaps = stride < extent;
            extent += stride * (count - 1);
            overlaps
        })
    }
}

/// A tensor on chip.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlaceOnChip {
    pub(super) at: u32,
    pub(super) channel: u32,
    pub(super) row: u32,
    pub(super) group: u32,
}

/// The places that earlier tasks used, to be used again.
pub(super) struct UsedPlaces {
    pub(super) bars: [u32; 32],
    pub(super) memory: Vec<(Shape, PlaceInMemory)>,
    pub(super) chip: Vec<(Shape, PlaceOnChip)>,
}

impl UsedPlaces {
    pub(super) const fn new(bars: [u32; 32]) -> Self {
        Self { bars, memory: Vec::new(), chip: Vec::new() }
    }

    /// A shape for a task: that of something known, or any.
    pub(super) fn shape(&self, random: &mut Random) -> Shape {
        let known = self.memory.iter().map(|known| known.0).chain(self.chip.iter().map(|known| known.0));
        let known: Vec<Shape> = known.collect();
        if known.is_empty() || random.below(3) == 0 {
            return Shape::random(random);
        }
        let whole = known[random.below(known.len() as u32) as usize];
        let mut part = |extent| if random.below(4) == 0 { 1 + random.below(extent) } else { extent };
        Shape { c: part(whole.c), h: part(whole.h), w: part(whole.w) }
    }

    /// A place in memory of `groups` tensors: one that is known and large enough, or any that fits.
    pub(super) fn in_memory(
        &self,
        random: &mut Random,
        shape: Shape,
        groups: u32,
        is_result: bool,
    ) -> PlaceInMemory {
        let fits = |(known, place): &&(Shape, PlaceInMemory)| {
            groups == 1 && known.holds(shape) && !(is_result && place.overlaps(shape))
        };
        let known: Vec<PlaceInMemory> = self.memory.iter().filter(fits).map(|known| known.1).collect();
        if !known.is_empty() && random.below(3) != 0 {
            let place = known[random.below(known.len() as u32) as usize];
            // Sometimes a little behind it.
            let behind = if random.below(4) == 0 { 64 * random.below(4) } else { 0 };
            return placed(random, place, shape, 1, place.at + behind);
        }
        let mut layout = layout(random, shape, is_result);
        layout.group = match random.below(4) {
            0 if !is_result => 64 * random.below(3),
            _ => span(layout, shape).next_multiple_of(64),
        };
        let near = self.memory.get(random.below(8) as usize).map(|known| known.1.at);
        let at = match near {
            Some(at) if random.below(2) == 0 => at,
            _ => DATA.0 + 64 * random.below(DATA.1 / 64),
        };
        placed(random, layout, shape, groups, at)
    }

    /// A place on chip of `groups` tensors, the same way.
    pub(super) fn on_chip(&self, random: &mut Random, shape: Shape, groups: u32) -> PlaceOnChip {
        let fits = |(known, place): &&(Shape, PlaceOnChip)| {
            groups == 1 && known.holds(shape) && place.channel >= 2 * shape.w
        };
        let known: Vec<PlaceOnChip> = self.chip.iter().filter(fits).map(|known| known.1).collect();
        if !known.is_empty() && random.below(3) != 0 {
            return known[random.below(known.len() as u32) as usize];
        }
        self.beside(random, shape, groups)
    }

    /// A place on chip that need not be known.
    pub(super) fn beside(&self, random: &mut Random, shape: Shape, groups: u32) -> PlaceOnChip {
        let wide = align(2 * shape.w, 16) + 16 * (random.below(3) * random.below(2));
        let (channel, row) = match random.below(4) {
            0 => (wide * shape.h, wide),
            _ => (wide, wide * shape.c + 16 * random.below(2)),
        };
        let group = (channel.max(row) * shape.h.max(shape.c)).min(0x1f_fff0);
        let near = self.chip.get(random.below(8) as usize).map(|known| known.1.at);
        let at = match (near, random.below(8)) {
            (Some(at), 0 | 1) => at + 16 * random.below(3),
            // Against the end of the buffer.
            (_, 2) => (2 << 20) - align(group * groups, 16).min(1 << 20),
            _ => 16 * random.below(0x4000),
        };
        PlaceOnChip { at: at.min(0x1f_fff0), channel, row, group }
    }

    /// The number of a BAR at or below an address, and the offset from it.
    pub(super) fn bar(&self, random: &mut Random, address: u32) -> (u32, u32) {
        let below = |bar: &u32| {
            let base = self.bars[*bar as usize];
            base != 0 && base <= address
        };
        let bars: Vec<u32> = (0..10).filter(below).collect();
        let bar = bars[random.below(bars.len() as u32) as usize];
        (bar, address - self.bars[bar as usize])
    }
}

/// Strides for a tensor. A source may have rows that repeat or overlap; channels may lie inside of rows.
fn layout(random: &mut Random, shape: Shape, is_result: bool) -> PlaceInMemory {
    let interleave = if random.below(4) == 0 { 1 + random.below(15) } else { 1 };
    let wide = align(2 * shape.w * interleave, 64) + 64 * (random.below(3) * random.below(2));
    let planes = shape.c.div_ceil(interleave);
    let (row, plane) = match random.below(8) {
        0 if !is_result => (0, wide),
        1 if !is_result => (64, 64),
        2 if !is_result => (wide, 0),
        3 => (wide * planes, wide),
        4 => (wide, wide * shape.h + 64 * random.below(3)),
        _ => (wide, wide * shape.h),
    };
    PlaceInMemory { at: 0, row, plane, group: 0, interleave }
}

/// Bytes from the first element to behind the last.
fn span(layout: PlaceInMemory, shape: Shape) -> u32 {
    (shape.c.div_ceil(layout.interleave) - 1) * layout.plane
        + (shape.h - 1) * layout.row
        + 2 * shape.w * layout.interleave
}

/// The layout at an address from which it fits into one of the regions. A tensor that does not fit anywhere
/// will fault.
fn placed(random: &mut Random, layout: PlaceInMemory, shape: Shape, groups: u32, at: u32) -> PlaceInMemory {
    let bytes = span(layout, shape) + (groups - 1) * layout.group;
    let (base, room) = if random.below(16) == 0 { CONSTANTS } else { DATA };
    let last = base + room.saturating_sub(align(bytes, 64));
    PlaceInMemory { at: at.clamp(base, last), ..layout }
}
