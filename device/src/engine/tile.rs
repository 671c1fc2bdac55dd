//! Tile DMA: tensors between memory and the packed form in which the engines compute.
//!
//! In memory a tensor has strides and an interleave; packed, it is channels of rows of columns without a gap. The
//! fetcher reads whatever lies where the strides lead, and the sender writes elements and nothing between them.

use ane_uapi::hw::fault::IoDartErrorInfo;
use vm_memory::GuestMemory;
use zerocopy::IntoBytes;

use super::cancel::Pace;
use super::plan::operand::{MemoryPlace, Shape};
use crate::dart::{Access, Dma, Rows};

/// Bytes of an element.
const ELEMENT: u32 = 2;

/// Rows of one tensor that follow each other in packed order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bundle {
    base: u64,
    len: u32,
    stride: u32,
    count: u32,
}

/// Why a transfer did not happen: the descriptor that drivers get. Large, and rare.
pub(super) type Fault = Box<IoDartErrorInfo>;

/// The rows of a tensor that is not interleaved, in as few bundles as its strides allow.
fn bundles(place: &MemoryPlace, base: u64, shape: Shape) -> impl Iterator<Item = Bundle> + use<> {
    let MemoryPlace { row_stride, plane_stride, .. } = *place;
    let Shape { channels, height, width } = shape;
    let len = width.saturating_mul(ELEMENT);
    let rows_meet = u64::from(plane_stride) == u64::from(row_stride).saturating_mul(height.into());
    // One stride leads through all rows, or each channel has rows of its own.
    let (outer, count, stride) = if height == 1 {
        (1, channels, plane_stride)
    } else if channels == 1 || rows_meet {
        (1, channels.saturating_mul(height), row_stride)
    } else {
        (channels, height, row_stride)
    };
    (0..outer).map(move |channel| {
        let base = base.saturating_add(u64::from(plane_stride).saturating_mul(channel.into()));
        if stride == len {
            Bundle { base, len: len.saturating_mul(count), stride: 0, count: 1 }
        } else {
            Bundle { base, len, stride, count }
        }
    })
}

/// The rows of an interleaved tensor: each holds all columns of up to `I` channels.
fn blocks(place: &MemoryPlace, base: u64, shape: Shape) -> impl Iterator<Item = Block> + use<> {
    let MemoryPlace { row_stride, plane_stride, interleave, .. } = *place;
    let count = shape.channels.div_ceil(interleave.max(1));
    (0..count).map(move |block| {
        let first = block.saturating_mul(interleave);
        let base = base.saturating_add(u64::from(plane_stride).saturating_mul(block.into()));
        let channels = shape.channels.saturating_sub(first).min(interleave);
        Block { base, first, channels, row_stride, interleave }
    })
}

/// Up to `I` channels of an interleaved tensor.
#[derive(Clone, Copy, Debug)]
struct Block {
    base: u64,
    first: u32,
    channels: u32,
    row_stride: u32,
    interleave: u32,
}

impl Block {
    /// Row `y`: every column, as far as its last element.
    fn row(&self, y: u32, width: u32) -> Bundle {
        let base = self.base.saturating_add(u64::from(self.row_stride).saturating_mul(y.into()));
        let last = width.saturating_sub(1).saturating_mul(self.interleave);
        Bundle { base, len: last.saturating_add(self.channels).saturating_mul(ELEMENT), stride: 0, count: 1 }
    }

    /// The elements of row `y`, column by column.
    fn columns(&self, y: u32, width: u32) -> Bundle {
        let row = self.row(y, width);
        if self.channels == self.interleave {
            return row;
        }
        let stride = self.interleave.saturating_mul(ELEMENT);
        Bundle { base: row.base, len: self.channels.saturating_mul(ELEMENT), stride, count: width }
    }
}

/// Rows that are moved before the next look whether the transfer is still wanted.
const TOGETHER: u32 = 1 << 16;

impl Bundle {
    /// The same rows, no more than [`TOGETHER`] at a time.
    fn parts(self) -> impl Iterator<Item = Self> {
        let Self { base, count, stride, .. } = self;
        (0..count).step_by(TOGETHER as usize).map(move |first| {
            let before = u64::from(stride).saturating_mul(first.into());
            let count = count.saturating_sub(first).min(TOGETHER);
            Self { base: base.saturating_add(before), count, ..self }
        })
    }

    /// Elements of the rows that are moved together.
    const fn elements_together(self) -> usize {
        (self.len / ELEMENT).saturating_mul(TOGETHER) as usize
    }
}

/// One direction of tile DMA.
pub(super) struct Tile<'d, 'a, 'w, M: GuestMemory> {
    pub(super) dma: &'d mut Dma<'a, M>,
    /// Room for one interleaved row.
    pub(super) row: &'d mut Vec<u16>,
    /// Whether the transfer is still wanted; one that is not ends early.
    pub(super) pace: &'d mut Pace<'w>,
}

impl<M: GuestMemory> Tile<'_, '_, '_, M> {
    /// True if a bundle is no longer wanted.
    fn is_over(&mut self, bundle: &Bundle) -> bool {
        // A transfer, and what it moves: a row at a time, and 16 bytes of it.
        let row = bundle.len as usize / 16;
        self.pace.spend(row.saturating_add(1).saturating_mul(bundle.count as usize).saturating_add(16))
    }

    /// The rows of a bundle, which fault if they leave what the engine can address.
    fn rows(&mut self, bundle: Bundle, access: Access) -> Result<Option<Rows>, Fault> {
        let Bundle { base, len, stride, count } = bundle;
        match Rows::new(base, len, stride, count) {
            Ok(rows) => Ok(Some(rows)),
            Err(_) => {
                let behind = u64::from(stride).saturating_mul(count.saturating_sub(1).into());
                let span = behind.saturating_add(len.into());
                // An empty range is no transfer, any other that is not one faults.
                self.dma.range(base, span, access).map_err(Box::new).map(|_| None)
            }
        }
    }

    /// Says whether every element of a tensor may be used so.
    pub(super) fn check(
        &mut self,
        place: &MemoryPlace,
        base: u64,
        shape: Shape,
        access: Access,
    ) -> Result<(), Fault> {
        if place.interleave == 1 {
            return bundles(place, base, shape).try_for_each(|bundle| self.check_bundle(bundle, access));
        }
        blocks(place, base, shape).try_for_each(|block| {
            (0..shape.height).try_for_each(|y| self.check_bundle(block.columns(y, shape.width), access))
        })
    }

    fn check_bundle(&mut self, bundle: Bundle, access: Access) -> Result<(), Fault> {
        if bundle.count > TOGETHER && self.rows(bundle, access)?.is_some() {
            return bundle.parts().try_for_each(|part| self.check_bundle(part, access));
        }
        if self.is_over(&bundle) {
            return Ok(());
        }
        match self.rows(bundle, access)? {
            Some(rows) => self.dma.check_rows(rows, access).map_err(Box::new),
            None => Ok(()),
        }
    }

    /// Reads a tensor.
    pub(super) fn fetch(
        &mut self,
        place: &MemoryPlace,
        base: u64,
        shape: Shape,
        into: &mut [u16],
    ) -> Result<(), Fault> {
        if place.interleave == 1 {
            let mut rest = into;
            for bundle in bundles(place, base, shape) {
                let halves = (bundle.len / ELEMENT).saturating_mul(bundle.count) as usize;
                let Some((part, behind)) = rest.split_at_mut_checked(halves) else { return Ok(()) };
                self.read(bundle, part)?;
                rest = behind;
            }
            return Ok(());
        }
        for block in blocks(place, base, shape) {
            for y in 0..shape.height {
                self.fetch_interleaved(block, y, shape, into)?;
            }
        }
        Ok(())
    }

    fn fetch_interleaved(
        &mut self,
        block: Block,
        y: u32,
        shape: Shape,
        into: &mut [u16],
    ) -> Result<(), Fault> {
        let bundle = block.row(y, shape.width);
        let mut row = std::mem::take(self.row);
        row.resize((bundle.len / ELEMENT) as usize, 0);
        let outcome = self.read(bundle, &mut row);
        for channel in 0..block.channels {
            let packed = packed_row(shape, block.first.saturating_add(channel), y);
            let Some(part) = into.get_mut(packed) else { continue };
            let elements = row.iter().skip(channel as usize).step_by(block.interleave as usize);
            part.iter_mut().zip(elements).for_each(|(to, from)| *to = *from);
        }
        *self.row = row;
        outcome
    }

    fn read(&mut self, bundle: Bundle, into: &mut [u16]) -> Result<(), Fault> {
        if bundle.count > TOGETHER && self.rows(bundle, Access::Read)?.is_some() {
            let mut parts = bundle.parts().zip(into.chunks_mut(bundle.elements_together()));
            return parts.try_for_each(|(part, into)| self.read(part, into));
        }
        if self.is_over(&bundle) {
            return Ok(());
        }
        if let Some(rows) = self.rows(bundle, Access::Read)? {
            if rows.count() == 1 {
                self.dma.read(rows.span(), into.as_mut_bytes()).map_err(Box::new)?;
            } else {
                self.dma.read_rows(rows, into.as_mut_bytes()).map_err(Box::new)?;
            }
            little_endian(into);
        }
        Ok(())
    }

    /// Writes a tensor.
    pub(super) fn send(
        &mut self,
        place: &MemoryPlace,
        base: u64,
        shape: Shape,
        from: &mut [u16],
    ) -> Result<(), Fault> {
        if place.interleave == 1 {
            let mut rest = from;
            for bundle in bundles(place, base, shape) {
                let halves = (bundle.len / ELEMENT).saturating_mul(bundle.count) as usize;
                let Some((part, behind)) = rest.split_at_mut_checked(halves) else { return Ok(()) };
                self.write(bundle, part)?;
                rest = behind;
            }
            return Ok(());
        }
        for block in blocks(place, base, shape) {
            for y in 0..shape.height {
                self.send_interleaved(block, y, shape, from)?;
            }
        }
        Ok(())
    }

    fn send_interleaved(&mut self, block: Block, y: u32, shape: Shape, from: &[u16]) -> Result<(), Fault> {
        let mut row = std::mem::take(self.row);
        row.resize(block.channels.saturating_mul(shape.width) as usize, 0);
        for channel in 0..block.channels {
            let packed = packed_row(shape, block.first.saturating_add(channel), y);
            let Some(part) = from.get(packed) else { continue };
            let elements = row.iter_mut().skip(channel as usize).step_by(block.channels as usize);
            elements.zip(part).for_each(|(to, from)| *to = *from);
        }
        let outcome = self.write(block.columns(y, shape.width), &mut row);
        *self.row = row;
        outcome
    }

    fn write(&mut self, bundle: Bundle, from: &mut [u16]) -> Result<(), Fault> {
        if bundle.count > TOGETHER && self.rows(bundle, Access::Write)?.is_some() {
            let mut parts = bundle.parts().zip(from.chunks_mut(bundle.elements_together()));
            return parts.try_for_each(|(part, from)| self.write(part, from));
        }
        if self.is_over(&bundle) {
            return Ok(());
        }
        let Some(rows) = self.rows(bundle, Access::Write)? else { return Ok(()) };
        little_endian(from);
        if rows.count() == 1 {
            self.dma.write(rows.span(), from.as_bytes()).map_err(Box::new)
        } else {
            self.dma.write_rows(rows, from.as_bytes()).map_err(Box::new)
        }
    }
}

/// Where row `y` of a channel is in a packed tensor.
fn packed_row(shape: Shape, channel: u32, y: u32) -> std::ops::Range<usize> {
    let width = shape.width as usize;
    let row = (channel as usize).saturating_mul(shape.height as usize).saturating_add(y as usize);
    let start = row.saturating_mul(width);
    start..start.saturating_add(width)
}

/// Between the host's order of bytes and that of memory; nothing on the hosts that there are.
pub(super) fn little_endian(halves: &mut [u16]) {
    if cfg!(target_endian = "big") {
        halves.iter_mut().for_each(|half| *half = half.swap_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(row_stride: u32, plane_stride: u32, interleave: u32) -> MemoryPlace {
        MemoryPlace { row_stride, plane_stride, group_stride: 0, interleave }
    }

    fn shape(channels: u32, height: u32, width: u32) -> Shape {
        Shape { channels, height, width }
    }

    fn all(place: &MemoryPlace, shape: Shape) -> Vec<Bundle> {
        bundles(place, 0x4000, shape).collect()
    }

    #[test]
    fn tensor_without_gaps_is_one_stretch() {
        let bundle = Bundle { base: 0x4000, len: 3 * 4 * 64, stride: 0, count: 1 };
        assert_eq!(all(&place(64, 256, 1), shape(3, 4, 32)), [bundle]);
    }

    #[test]
    fn planes_that_meet_are_one_bundle_of_rows() {
        let bundle = Bundle { base: 0x4000, len: 14, stride: 64, count: 12 };
        assert_eq!(all(&place(64, 256, 1), shape(3, 4, 7)), [bundle]);
    }

    #[test]
    fn single_rows_go_from_plane_to_plane() {
        let bundle = Bundle { base: 0x4000, len: 2, stride: 64, count: 512 };
        assert_eq!(all(&place(4096, 64, 1), shape(512, 1, 1)), [bundle]);
    }

    #[test]
    fn parts_of_a_bundle_are_its_rows_in_their_order() {
        let bundle = Bundle { base: 0x4000, len: 2, stride: 64, count: 2 * TOGETHER + 5 };
        let parts: Vec<Bundle> = bundle.parts().collect();
        assert_eq!(parts.iter().map(|part| part.count).collect::<Vec<_>>(), [TOGETHER, TOGETHER, 5]);
        assert_eq!(parts[2], Bundle { base: 0x4000 + 2 * 64 * u64::from(TOGETHER), count: 5, ..bundle });
        assert_eq!(bundle.elements_together(), TOGETHER as usize);
    }

    #[test]
    fn planes_that_do_not_meet_are_a_bundle_each() {
        let bundles = all(&place(64, 320, 1), shape(2, 4, 7));
        let bases: Vec<u64> = bundles.iter().map(|bundle| bundle.base).collect();
        assert_eq!(bases, [0x4000, 0x4140]);
    }

    #[test]
    fn last_block_of_an_interleaved_tensor_leaves_gaps_where_it_has_no_channels() {
        let blocks: Vec<Block> = blocks(&place(128, 256, 4), 0, shape(6, 2, 5)).collect();
        let whole = Bundle { base: 128, len: 40, stride: 0, count: 1 };
        assert_eq!(blocks[0].columns(1, 5), whole);
        assert_eq!(blocks[1].columns(1, 5), Bundle { base: 384, len: 4, stride: 8, count: 5 });
        assert_eq!(blocks[1].row(1, 5), Bundle { base: 384, len: 36, stride: 0, count: 1 });
    }
}
