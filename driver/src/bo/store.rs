//! The arenas of a context, and which buffers' bytes lie in which.
//!
//! A context that one file has, or files that asked to share it, has one arena. Files that share a context without having
//! asked have an arena each: they see one address space, and none of the others' bytes. An offset that a client
//! maps is one of its file's arena, so the same offset is another buffer's in another arena.

use ane_uapi::hw::dart::aperture::PAGE_SHIFT;

use super::buffer::BufferId;
use super::space::Space;
use super::{BufferError, Result};
use crate::bus::{Arena, Bus};
use crate::handle::Missing;
use crate::mem::{Frames, FreeRuns, Run};

/// An arena of a context. A number may be used again once its arena is gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoreId(u16);

impl StoreId {
    /// The arena that the context began with.
    pub const FIRST: Self = Self(0);
}

/// An arena, its pages, and the offsets behind it.
#[derive(Debug)]
pub(super) struct Store {
    pub(super) frames: Frames,
    /// Offsets behind the arena's, for buffers that no one stretch of its file is.
    pub(super) window: FreeRuns,
}

impl Store {
    fn new(arena: Arena) -> Self {
        let window = Run::new(0, u32::try_from(arena.bytes() >> PAGE_SHIFT).unwrap_or(u32::MAX));
        let window = window.map_or_else(FreeRuns::default, FreeRuns::new);
        Self { frames: Frames::new(arena), window }
    }

    pub(super) const fn arena(&self) -> &Arena {
        self.frames.arena()
    }
}

/// All of a context's: by number.
#[derive(Debug)]
pub(super) struct Stores(Vec<Option<Store>>);

impl Stores {
    pub(super) fn new(first: Arena) -> Self {
        Self(vec![Some(Store::new(first))])
    }

    /// One more, under the lowest number that is free. The bus bounds how many there are.
    pub(super) fn add(&mut self, arena: Arena) -> StoreId {
        let free = self.0.iter().position(Option::is_none).unwrap_or(self.0.len());
        match self.0.get_mut(free) {
            Some(place) => *place = Some(Store::new(arena)),
            None => self.0.push(Some(Store::new(arena))),
        }
        StoreId(u16::try_from(free).unwrap_or(u16::MAX))
    }

    /// Drops an arena. Buffers that have pages in it are to end.
    pub(super) fn remove(&mut self, id: StoreId) {
        if let Some(place) = self.0.get_mut(usize::from(id.0)) {
            *place = None;
        }
    }

    pub(super) fn get(&self, id: StoreId) -> Result<&Store> {
        self.0.get(usize::from(id.0)).and_then(Option::as_ref).ok_or(BufferError::Missing(Missing::Gone))
    }

    pub(super) fn get_mut(&mut self, id: StoreId) -> Result<&mut Store> {
        self.0.get_mut(usize::from(id.0)).and_then(Option::as_mut).ok_or(BufferError::Missing(Missing::Gone))
    }

    /// True if pages of any were freed that [`Stores::settle`] would make free.
    pub(super) fn has_limbo(&self) -> bool {
        self.0.iter().flatten().any(|store| store.frames.has_limbo())
    }

    /// No translation leads to pages in limbo any more: see [`Frames::settle`].
    pub(super) fn settle(&mut self) {
        let limbo = self.0.iter_mut().flatten().filter(|store| store.frames.has_limbo());
        limbo.for_each(|store| store.frames.settle());
    }
}

impl Space {
    /// One more arena, for a file that comes to share the context.
    pub(crate) fn join(&mut self, arena: Arena) -> StoreId {
        self.stores.add(arena)
    }

    /// Drops an arena before its buffers end. A client may have mapped what lies in it still, so no page of it is made zero any
    /// more.
    pub(crate) fn drop_arena(&mut self, store: StoreId) {
        self.stores.remove(store);
    }

    /// Ends every buffer of an arena, even one that has holders, and drops the arena. No request of its file may be in flight.
    ///
    /// False if the device does not answer now. Its translation buffer may still lead to the pages then, for a request of
    /// the context that runs; it hears of the end before the next one, as of every unmap.
    pub(crate) fn leave(&mut self, bus: &mut impl Bus, store: StoreId) -> bool {
        self.drop_arena(store);
        let of_store = self.buffers.iter().filter(|(_, buffer)| buffer.store == store);
        let all: Vec<_> = of_store.map(|(handle, _)| BufferId(handle)).collect();
        all.into_iter().for_each(|id| self.end(id));
        let mut mapped = 0u32;
        self.processes.retain(|&(of, ..), count| {
            mapped = mapped.saturating_add(if of == store { *count } else { 0 });
            of != store
        });
        self.mapped = self.mapped.saturating_sub(mapped);
        self.flush(bus).is_ok()
    }

    /// An arena of the context, while a file has it.
    pub fn arena(&self, store: StoreId) -> Option<&Arena> {
        self.stores.get(store).ok().map(Store::arena)
    }
}
