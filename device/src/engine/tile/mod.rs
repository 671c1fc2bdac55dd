//! Tile DMA: tensors between memory and the packed form in which the engines compute.
//!
//! In memory a tensor has strides and an interleave; packed, it is channels of rows of columns without a gap. The
//! fetcher reads whatever lies where the strides lead, and the sender writes elements and nothing between them.
//!
//! A transfer is moved in pieces with a number ([`pieces`]), so that it can stop between two of them.

mod pieces;

use ane_uapi::hw::fault::IoDartErrorInfo;
use vm_memory::GuestMemory;
use zerocopy::IntoBytes;

use self::pieces::{Blocks, Bundle, Bundles, InterleavedRow, Piece};
use super::cancel::Pace;
use super::plan::operand::{Element, MemoryPlace, Shape};
use super::pool::Pool;
use crate::dart::{Access, Dma, Rows};

/// Why a transfer did not happen: the descriptor that drivers get. Large, and rare.
pub(super) type Fault = Box<IoDartErrorInfo>;
type Result<T, E = Fault> = std::result::Result<T, E>;

/// A tensor in memory, in pieces.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tensor {
    element: Element,
    shape: Shape,
    layout: Layout,
}

#[derive(Clone, Copy, Debug)]
enum Layout {
    Plain(Bundles),
    Interleaved(Blocks),
}

impl Tensor {
    pub(super) fn new(place: &MemoryPlace, base: u64, shape: Shape) -> Self {
        let layout = if place.interleave == 1 {
            Layout::Plain(Bundles::new(place, base, shape))
        } else {
            Layout::Interleaved(Blocks::new(place, base, shape))
        };
        Self { element: place.element, shape, layout }
    }

    pub(super) fn pieces(&self) -> u32 {
        match &self.layout {
            Layout::Plain(bundles) => bundles.pieces(),
            Layout::Interleaved(blocks) => blocks.rows(),
        }
    }
}

pub(super) struct Tile<'d, 'a, 'w, M: GuestMemory> {
    pub(super) dma: &'d mut Dma<'a, M>,
    /// Room for one interleaved row.
    pub(super) row: &'d mut Vec<u16>,
    /// The threads that copy a large transfer together.
    pub(super) pool: &'d mut Pool,
    /// The pace of the transfer; a transfer that is cancelled moves nothing.
    pub(super) pace: &'d mut Pace<'w>,
}

impl<M: GuestMemory> Tile<'_, '_, '_, M> {
    /// The rows of a bundle, which fault if they leave what the engine can address.
    fn rows(&mut self, bundle: Bundle, access: Access) -> Result<Option<Rows>> {
        let Bundle { base, len, stride, count, .. } = bundle;
        match bundle.rows() {
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
    fn begin(&mut self, bundles: &Bundles, piece: u32, access: Access) -> Result<()> {
        match bundles.begun_by(piece) {
            Some(bundle) => self.rows(bundle, access).map(|_| ()),
            None => Ok(()),
        }
    }

    pub(super) fn check(&mut self, tensor: &Tensor, piece: u32, access: Access) -> Result<()> {
        match &tensor.layout {
            Layout::Plain(bundles) => {
                self.begin(bundles, piece, access)?;
                bundles.piece(piece).bundles().try_for_each(|bundle| self.check_bundle(bundle, access))
            }
            Layout::Interleaved(blocks) => self.check_bundle(blocks.row(piece).columns(), access),
        }
    }

    fn check_bundle(&mut self, bundle: Bundle, access: Access) -> Result<()> {
        if self.pace.spend(bundle.steps()) {
            return Ok(());
        }
        match self.rows(bundle, access)? {
            Some(rows) => self.dma.check_rows(rows, access).map_err(Box::new),
            None => Ok(()),
        }
    }

    pub(super) fn fetch(&mut self, tensor: &Tensor, piece: u32, into: &mut [u16]) -> Result<()> {
        match &tensor.layout {
            Layout::Plain(bundles) => {
                self.begin(bundles, piece, Access::Read)?;
                let piece = bundles.piece(piece);
                let into = into.get_mut(piece.elements.clone()).unwrap_or_default();
                self.read_piece(tensor.element, &piece, into)
            }
            Layout::Interleaved(blocks) => self.fetch_interleaved(&blocks.row(piece), tensor.shape, into),
        }
    }

    fn fetch_interleaved(&mut self, line: &InterleavedRow, shape: Shape, into: &mut [u16]) -> Result<()> {
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

    /// Reads a piece; bundles of halves together.
    fn read_piece(&mut self, element: Element, piece: &Piece, into: &mut [u16]) -> Result<()> {
        let elements = piece.first.elements().max(1);
        if element != Element::Half || piece.count == 1 {
            let mut bundles = piece.bundles().zip(into.chunks_mut(elements));
            return bundles.try_for_each(|(bundle, into)| self.read_elements(element, bundle, into));
        }
        if self.pace.spend(piece.steps()) {
            return Ok(());
        }
        let mut outside = None;
        let parts = rows_of(piece, &mut outside).zip(into.chunks_mut(elements).map(IntoBytes::as_mut_bytes));
        self.dma.read_all(parts, self.pool).map_err(Box::new)?;
        self.refuse(outside, Access::Read)?;
        little_endian(into);
        Ok(())
    }

    /// Refuses a bundle that leaves what the engine can address.
    fn refuse(&mut self, outside: Option<Bundle>, access: Access) -> Result<()> {
        outside.map_or(Ok(()), |bundle| self.rows(bundle, access).map(|_| ()))
    }

    /// Reads a bundle; of bytes by way of room of their own.
    fn read_elements(&mut self, element: Element, bundle: Bundle, into: &mut [u16]) -> Result<()> {
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

    fn read(&mut self, bundle: Bundle, into: &mut [u16]) -> Result<()> {
        self.read_bytes(bundle, into.as_mut_bytes())?;
        little_endian(into);
        Ok(())
    }

    fn read_bytes(&mut self, bundle: Bundle, into: &mut [u8]) -> Result<()> {
        if self.pace.spend(bundle.steps()) {
            return Ok(());
        }
        if let Some(rows) = self.rows(bundle, Access::Read)? {
            self.dma.read_rows(rows, into, self.pool).map_err(Box::new)?;
        }
        Ok(())
    }

    pub(super) fn send(&mut self, tensor: &Tensor, piece: u32, from: &mut [u16]) -> Result<()> {
        match &tensor.layout {
            Layout::Plain(bundles) => {
                self.begin(bundles, piece, Access::Write)?;
                let piece = bundles.piece(piece);
                let from = from.get_mut(piece.elements.clone()).unwrap_or_default();
                self.write_piece(tensor.element, &piece, from)
            }
            Layout::Interleaved(blocks) => self.send_interleaved(&blocks.row(piece), tensor.shape, from),
        }
    }

    fn send_interleaved(&mut self, line: &InterleavedRow, shape: Shape, from: &[u16]) -> Result<()> {
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

    /// Writes a piece; bundles of halves together.
    fn write_piece(&mut self, element: Element, piece: &Piece, from: &mut [u16]) -> Result<()> {
        let elements = piece.first.elements().max(1);
        if element != Element::Half || piece.count == 1 {
            let mut bundles = piece.bundles().zip(from.chunks_mut(elements));
            return bundles.try_for_each(|(bundle, from)| self.write_elements(element, bundle, from));
        }
        if self.pace.spend(piece.steps()) {
            return Ok(());
        }
        little_endian(from);
        let mut outside = None;
        let parts = rows_of(piece, &mut outside).zip(from.chunks(elements).map(IntoBytes::as_bytes));
        self.dma.write_all(parts, self.pool).map_err(Box::new)?;
        self.refuse(outside, Access::Write)
    }

    /// Writes a bundle; of bytes by way of room of their own.
    fn write_elements(&mut self, element: Element, bundle: Bundle, from: &mut [u16]) -> Result<()> {
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

    fn write(&mut self, bundle: Bundle, from: &mut [u16]) -> Result<()> {
        little_endian(from);
        self.write_bytes(bundle, from.as_bytes())
    }

    fn write_bytes(&mut self, bundle: Bundle, from: &[u8]) -> Result<()> {
        if self.pace.spend(bundle.steps()) {
            return Ok(());
        }
        let Some(rows) = self.rows(bundle, Access::Write)? else { return Ok(()) };
        self.dma.write_rows(rows, from, self.pool).map_err(Box::new)
    }
}

/// The rows of each bundle of a piece, up to the first bundle that leaves what can be addressed.
fn rows_of(piece: &Piece, outside: &mut Option<Bundle>) -> impl Iterator<Item = Rows> {
    piece.bundles().map_while(|bundle| {
        let rows = bundle.rows();
        if rows.is_err() {
            *outside = Some(bundle);
        }
        rows.ok()
    })
}

/// Between the host's order of bytes and that of memory; nothing on the hosts that there are.
pub(super) fn little_endian(halves: &mut [u16]) {
    if cfg!(target_endian = "big") {
        halves.iter_mut().for_each(|half| *half = half.swap_bytes());
    }
}
