//! Tile DMA: tensors between memory and the packed form in which the engines compute.
//!
//! In memory a tensor has strides and an interleave; packed, it is channels of rows of columns without a gap. The
//! fetcher reads whatever lies where the strides lead, and the sender writes elements and nothing between them.
//!
//! A transfer may take more than its turn. Then it is pending, and goes on from the piece that it is given
//! ([`pieces`]).

mod pieces;

use std::task::Poll;

use ane_uapi::hw::fault::IoDartErrorInfo;
use vm_memory::GuestMemory;
use zerocopy::IntoBytes;

use self::pieces::{Blocks, Bundle, Bundles, Line};
use super::cancel::Pace;
use super::plan::operand::{Element, MemoryPlace, Shape};
use crate::dart::{Access, Dma, Rows};

/// Why a transfer did not happen: the descriptor that drivers get. Large, and rare.
pub(super) type Fault = Box<IoDartErrorInfo>;

/// One direction of tile DMA.
pub(super) struct Tile<'d, 'a, 'w, M: GuestMemory> {
    pub(super) dma: &'d mut Dma<'a, M>,
    /// Room for one interleaved row.
    pub(super) row: &'d mut Vec<u16>,
    /// Whether the transfer is still wanted, and still has its turn; one that is not wanted ends early.
    pub(super) pace: &'d mut Pace<'w>,
    /// The first piece that was not moved.
    pub(super) next: &'d mut u32,
}

impl<M: GuestMemory> Tile<'_, '_, '_, M> {
    /// Moves pieces up to `count`, as long as they are wanted and it has its turn.
    fn each(
        &mut self,
        count: u32,
        mut work: impl FnMut(&mut Self, u32) -> Result<(), Fault>,
    ) -> Poll<Result<(), Fault>> {
        while *self.next < count && !self.pace.is_over() {
            if self.pace.has_had_its_turn() {
                return Poll::Pending;
            }
            work(self, *self.next)?;
            *self.next = self.next.saturating_add(1);
        }
        Poll::Ready(Ok(()))
    }

    /// The rows of a bundle, which fault if they leave what the engine can address.
    fn rows(&mut self, bundle: Bundle, access: Access) -> Result<Option<Rows>, Fault> {
        let Bundle { base, len, stride, count, .. } = bundle;
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

    /// Looks at all of a bundle of which the first part comes: if it leaves what can be addressed, none is moved.
    fn begin(&mut self, bundles: &Bundles, piece: u32, access: Access) -> Result<(), Fault> {
        match bundles.begun_by(piece) {
            Some(bundle) => self.rows(bundle, access).map(|_| ()),
            None => Ok(()),
        }
    }

    /// Says whether every element of a tensor may be used so.
    pub(super) fn check(
        &mut self,
        place: &MemoryPlace,
        base: u64,
        shape: Shape,
        access: Access,
    ) -> Poll<Result<(), Fault>> {
        if place.interleave == 1 {
            let bundles = Bundles::new(place, base, shape);
            return self.each(bundles.pieces(), |tile, piece| {
                tile.begin(&bundles, piece, access)?;
                tile.check_bundle(bundles.piece(piece).0, access)
            });
        }
        let blocks = Blocks::new(place, base, shape);
        self.each(blocks.rows(), |tile, row| tile.check_bundle(blocks.row(row).columns(), access))
    }

    fn check_bundle(&mut self, bundle: Bundle, access: Access) -> Result<(), Fault> {
        if self.pace.spend(bundle.steps()) {
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
    ) -> Poll<Result<(), Fault>> {
        if place.interleave == 1 {
            let bundles = Bundles::new(place, base, shape);
            return self.each(bundles.pieces(), |tile, piece| {
                tile.begin(&bundles, piece, Access::Read)?;
                let (bundle, at) = bundles.piece(piece);
                into.get_mut(at).map_or(Ok(()), |part| tile.read_elements(place.element, bundle, part))
            });
        }
        let blocks = Blocks::new(place, base, shape);
        self.each(blocks.rows(), |tile, row| tile.fetch_interleaved(&blocks.row(row), shape, into))
    }

    fn fetch_interleaved(&mut self, line: &Line, shape: Shape, into: &mut [u16]) -> Result<(), Fault> {
        let bundle = line.whole();
        let mut row = std::mem::take(self.row);
        row.resize(bundle.elements(), 0);
        let outcome = self.read(bundle, &mut row);
        for channel in 0..line.channels {
            let Some(part) = into.get_mut(line.packed(shape, channel)) else { continue };
            let elements = row.iter().skip(channel as usize).step_by(line.interleave as usize);
            part.iter_mut().zip(elements).for_each(|(to, from)| *to = *from);
        }
        *self.row = row;
        outcome
    }

    /// Reads a bundle; of bytes by way of room of their own.
    fn read_elements(&mut self, element: Element, bundle: Bundle, into: &mut [u16]) -> Result<(), Fault> {
        if element == Element::Half {
            return self.read(bundle, into);
        }
        let mut row = std::mem::take(self.row);
        row.resize(into.len().div_ceil(2), 0);
        let bytes = row.as_mut_bytes().get_mut(..into.len()).unwrap_or_default();
        let outcome = self.read_bytes(bundle, bytes);
        into.iter_mut().zip(&*bytes).for_each(|(to, from)| *to = element.half(*from));
        *self.row = row;
        outcome
    }

    fn read(&mut self, bundle: Bundle, into: &mut [u16]) -> Result<(), Fault> {
        self.read_bytes(bundle, into.as_mut_bytes())?;
        little_endian(into);
        Ok(())
    }

    fn read_bytes(&mut self, bundle: Bundle, into: &mut [u8]) -> Result<(), Fault> {
        if self.pace.spend(bundle.steps()) {
            return Ok(());
        }
        if let Some(rows) = self.rows(bundle, Access::Read)? {
            if rows.count() == 1 {
                self.dma.read(rows.span(), into).map_err(Box::new)?;
            } else {
                self.dma.read_rows(rows, into).map_err(Box::new)?;
            }
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
    ) -> Poll<Result<(), Fault>> {
        if place.interleave == 1 {
            let bundles = Bundles::new(place, base, shape);
            return self.each(bundles.pieces(), |tile, piece| {
                tile.begin(&bundles, piece, Access::Write)?;
                let (bundle, at) = bundles.piece(piece);
                from.get_mut(at).map_or(Ok(()), |part| tile.write_elements(place.element, bundle, part))
            });
        }
        let blocks = Blocks::new(place, base, shape);
        self.each(blocks.rows(), |tile, row| tile.send_interleaved(&blocks.row(row), shape, from))
    }

    fn send_interleaved(&mut self, line: &Line, shape: Shape, from: &[u16]) -> Result<(), Fault> {
        let mut row = std::mem::take(self.row);
        row.resize(line.channels.saturating_mul(line.width) as usize, 0);
        for channel in 0..line.channels {
            let Some(part) = from.get(line.packed(shape, channel)) else { continue };
            let elements = row.iter_mut().skip(channel as usize).step_by(line.channels as usize);
            elements.zip(part).for_each(|(to, from)| *to = *from);
        }
        let outcome = self.write(line.columns(), &mut row);
        *self.row = row;
        outcome
    }

    /// Writes a bundle; of bytes by way of room of their own.
    fn write_elements(&mut self, element: Element, bundle: Bundle, from: &mut [u16]) -> Result<(), Fault> {
        if element == Element::Half {
            return self.write(bundle, from);
        }
        let mut row = std::mem::take(self.row);
        row.resize(from.len().div_ceil(2), 0);
        let bytes = row.as_mut_bytes().get_mut(..from.len()).unwrap_or_default();
        bytes.iter_mut().zip(&*from).for_each(|(to, from)| *to = element.byte(*from));
        let outcome = self.write_bytes(bundle, bytes);
        *self.row = row;
        outcome
    }

    fn write(&mut self, bundle: Bundle, from: &mut [u16]) -> Result<(), Fault> {
        little_endian(from);
        self.write_bytes(bundle, from.as_bytes())
    }

    fn write_bytes(&mut self, bundle: Bundle, from: &[u8]) -> Result<(), Fault> {
        if self.pace.spend(bundle.steps()) {
            return Ok(());
        }
        let Some(rows) = self.rows(bundle, Access::Write)? else { return Ok(()) };
        if rows.count() == 1 {
            self.dma.write(rows.span(), from).map_err(Box::new)
        } else {
            self.dma.write_rows(rows, from).map_err(Box::new)
        }
    }
}

/// Between the host's order of bytes and that of memory; nothing on the hosts that there are.
pub(super) fn little_endian(halves: &mut [u16]) {
    if cfg!(target_endian = "big") {
        halves.iter_mut().for_each(|half| *half = half.swap_bytes());
    }
}
