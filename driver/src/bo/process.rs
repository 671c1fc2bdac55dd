//! Buffers outside of the engine: mapped by client processes, and read and written by the driver.

use std::sync::Arc;

use ane_uapi::hw::dart::aperture::PAGE_SHIFT;

use super::buffer::{Buffer, BufferId};
use super::space::Space;
use super::store::StoreId;
use super::{BufferError, Result};
use crate::front::Extent;

/// Bytes of the processor's smallest page: what a process maps begins at one.
const MAP_GRANULE: u64 = 0x1000;

/// Mappings that processes may have of one context's buffers: what Linux lets four processes have (Chosen).
pub(super) const MAPPED_MAX: u32 = 4 * 65_530;

impl Space {
    /// The bytes of an arena's file that a process maps when it maps the device's file there. The buffer lives
    /// on until [`Space::unmapped`] has been called for it too.
    ///
    /// # Errors
    ///
    /// [`BufferError::Nowhere`] if no buffer that a client can name has those bytes.
    pub fn extents(&mut self, store: StoreId, offset: u64, bytes: u64) -> Result<Vec<Extent>> {
        let nowhere = BufferError::Nowhere { offset, bytes };
        let (id, inside) = self.behind(store, offset, bytes).ok_or(nowhere)?;
        let file = Arc::clone(self.stores.get(store)?.arena().file());
        let buffer = self.buffers.get_mut(id.0.raw())?;
        if !buffer.holders.is_named() || !offset.is_multiple_of(MAP_GRANULE) {
            return Err(BufferError::Nowhere { offset, bytes });
        }
        if self.mapped >= MAPPED_MAX {
            return Err(BufferError::Memory { pages: buffer.pages.len() });
        }
        self.mapped = self.mapped.saturating_add(1);
        buffer.holders.processes = buffer.holders.processes.saturating_add(1);
        let count = self.processes.entry((store, offset, bytes)).or_default();
        *count = count.saturating_add(1);
        let pieces = pieces(buffer, inside, bytes);
        Ok(pieces.map(|(offset, bytes)| Extent { file: Arc::clone(&file), offset, bytes }).collect())
    }

    /// A mapping that [`Space::extents`] gave is no more.
    pub fn unmapped(&mut self, store: StoreId, offset: u64, bytes: u64) -> Result<()> {
        let nowhere = BufferError::Nowhere { offset, bytes };
        let Some(count) = self.processes.get_mut(&(store, offset, bytes)) else { return Err(nowhere) };
        *count = count.saturating_sub(1);
        self.mapped = self.mapped.saturating_sub(1);
        if *count == 0 {
            self.processes.remove(&(store, offset, bytes));
        }
        let (id, _) = self.behind(store, offset, bytes).ok_or(nowhere)?;
        let buffer = self.buffers.get_mut(id.0.raw())?;
        buffer.holders.processes = buffer.holders.processes.saturating_sub(1);
        self.end_if_unheld(id);
        Ok(())
    }

    /// The buffer that has these bytes at an offset of an arena's file, and where in it they begin.
    fn behind(&self, store: StoreId, offset: u64, bytes: u64) -> Option<(BufferId, u64)> {
        let (&(_, start), &id) = self.by_offset.range((store, 0)..=(store, offset)).next_back()?;
        let inside = offset.checked_sub(start)?;
        let end = inside.checked_add(bytes)?;
        let size = size(self.buffers.get(id.0.raw()).ok()?);
        (bytes != 0 && end <= size).then_some((id, inside))
    }

    /// Copies bytes of a buffer out.
    ///
    /// # Errors
    ///
    /// [`BufferError::Range`] if the buffer does not have them; nothing is copied.
    pub fn read(&self, id: BufferId, offset: u64, into: &mut [u8]) -> Result<()> {
        let buffer = self.checked(id, offset, into.len() as u64)?;
        let arena = self.stores.get(buffer.store)?.arena();
        let mut rest = into;
        for (at, bytes) in pieces(buffer, offset, rest.len() as u64) {
            let (piece, behind) =
                rest.split_at_mut_checked(usize::try_from(bytes).unwrap_or(0)).unwrap_or_default();
            arena.read(at, piece).map_err(|why| BufferError::Bus(why.into()))?;
            rest = behind;
        }
        Ok(())
    }

    /// Copies bytes into a buffer.
    ///
    /// # Errors
    ///
    /// [`BufferError::Range`] if the buffer does not have them; nothing is copied.
    pub fn write(&self, id: BufferId, offset: u64, from: &[u8]) -> Result<()> {
        let buffer = self.checked(id, offset, from.len() as u64)?;
        let arena = self.stores.get(buffer.store)?.arena();
        let mut rest = from;
        for (at, bytes) in pieces(buffer, offset, rest.len() as u64) {
            let (piece, behind) =
                rest.split_at_checked(usize::try_from(bytes).unwrap_or(0)).unwrap_or_default();
            arena.write(at, piece).map_err(|why| BufferError::Bus(why.into()))?;
            rest = behind;
        }
        Ok(())
    }

    fn checked(&self, id: BufferId, offset: u64, bytes: u64) -> Result<&Buffer> {
        let buffer = self.buffers.get(id.0.raw())?;
        let limit = size(buffer);
        match offset.checked_add(bytes) {
            Some(end) if end <= limit => Ok(buffer),
            _ => Err(BufferError::Range { offset, size: bytes, limit }),
        }
    }
}

const fn size(buffer: &Buffer) -> u64 {
    (buffer.pages.len() as u64) << PAGE_SHIFT
}

/// The stretches of the arena's file that make up a part of a buffer: where each begins, and how long it is.
fn pieces(buffer: &Buffer, offset: u64, bytes: u64) -> impl Iterator<Item = (u64, u64)> {
    let (mut skip, mut left) = (offset, bytes);
    buffer.pages.runs().iter().filter_map(move |run| {
        let length = u64::from(run.pages) << PAGE_SHIFT;
        let start = u64::from(run.first) << PAGE_SHIFT;
        let Some(behind) = length.checked_sub(skip).filter(|&behind| behind != 0) else {
            skip = skip.saturating_sub(length);
            return None;
        };
        let taken = behind.min(left);
        let at = start.saturating_add(skip);
        skip = 0;
        left = left.saturating_sub(taken);
        (taken != 0).then_some((at, taken))
    })
}
