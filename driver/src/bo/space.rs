//! A context's buffers: made, held, released.

use std::collections::BTreeMap;

use ane_uapi::hw::dart::aperture::{PAGE_SHIFT, PAGE_SIZE};
use ane_uapi::hw::space::{Iova, IovaRange};
use ane_uapi::hw::usage::Usage;
use ane_uapi::ioctl::buffer::{
    BO_BUSY, BO_EVICTED, BO_FIXED_ADDRESS, BO_MAPPED, BO_PINNED, BO_PREMAPPED, BO_SCATTERED,
};
use ane_uapi::ioctl::handle::Handle;
use ane_uapi::wire::sideband::Declaration;

use super::buffer::{Buffer, BufferId, Holder, Holders, Mapping};
use super::store::{StoreId, Stores};
use super::{BufferError, Result};
use crate::bus::{Arena, Bus, DmaMemory};
use crate::dart::{GIVEN_OUT, Mapper, place};
use crate::evict::{Key, Queue};
use crate::handle::{Full, Table};
use crate::mem::{FreeRuns, Layout, NoMemory, Pinned, Run};
use crate::usage::{self, Origin, Rules};

/// Pages that the largest buffer has.
const PAGES_MAX: u32 = GIVEN_OUT.pages;

/// Buffers of one context: 65 times what clients were seen to have, and a bound on the driver's memory (Chosen).
pub(super) const BUFFERS_MAX: usize = 65_536;

/// A buffer as a client asks for it, in the client's own numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Create {
    /// Bytes.
    pub size: u64,
    /// `ANE_BO_` flags.
    pub flags: u32,
    /// The usage of mapping 0.
    pub usage: u32,
    /// Where mapping 0 is to lie, if a flag says so; otherwise zero.
    pub address: u64,
    /// The arena of the client's file.
    pub store: StoreId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// Bytes: whole pages.
    pub size: u64,
    /// The flags that it was made with.
    pub flags: u32,
    /// Usage of mapping 0.
    pub usage: Usage,
    /// Where clients map the file to reach it.
    pub map_offset: u64,
    /// Where mapping 0 lies now.
    pub device_address: Option<Iova>,
    /// `ANE_BO_MAPPED`, `ANE_BO_EVICTED` and `ANE_BO_BUSY`.
    pub state: u32,
    /// Mappings, mapping 0 included if it lies somewhere.
    pub mapping_count: u32,
    /// How often mapping 0 was evicted.
    pub evictions: u64,
}

/// Counts since the context was attached; the first three are the present state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub buffers: u64,
    pub buffer_bytes: u64,
    /// Bytes of the aperture that are mapped.
    pub mapped_bytes: u64,
    /// Mappings made, those after an eviction included.
    pub maps: u64,
    /// Mappings taken away, evictions included.
    pub unmaps: u64,
    pub evictions: u64,
    /// Mappings made ahead of their first request.
    pub premaps: u64,
    pub invalidations: u64,
}

/// A context's buffers and its device address space.
#[derive(Debug)]
pub struct Space {
    pub(super) stores: Stores,
    pub(super) mapper: Mapper,
    pub(super) rules: Rules,
    pub(super) buffers: Table<Buffer>,
    pub(super) by_offset: BTreeMap<(StoreId, u64), BufferId>,
    /// Bytes that processes have mapped of buffers: by arena, offset and length, how often.
    pub(super) processes: BTreeMap<(StoreId, u64, u64), u32>,
    pub(super) mapped: u32,
    /// By first page, what lies in the aperture.
    pub(super) by_place: BTreeMap<u32, (BufferId, u32)>,
    /// The mappings that may be evicted, or could be when they were queued.
    pub(super) idle: Queue,
    /// The addresses that would be free if every mapping that may ever be evicted were.
    pub(super) movable: FreeRuns,
    pub(super) now: u64,
    /// How often something happened that may have made room for a request.
    pub(super) chances: u64,
    pub(super) counters: Counters,
    pub(super) is_checking: bool,
    /// The declarations that a device in checking mode has not got yet.
    pub(super) declarations: Vec<Declaration>,
}

impl Space {
    pub(crate) fn new(arena: Arena, mapper: Mapper, rules: Rules, is_checking: bool) -> Self {
        let mut space = Self {
            stores: Stores::new(arena),
            mapper,
            rules,
            buffers: Table::new(),
            by_offset: BTreeMap::new(),
            processes: BTreeMap::new(),
            mapped: 0,
            by_place: BTreeMap::new(),
            idle: Queue::default(),
            movable: FreeRuns::new(GIVEN_OUT),
            now: 0,
            chances: 0,
            counters: Counters::default(),
            is_checking,
            declarations: Vec::new(),
        };
        space.declare_again();
        space
    }

    /// The driver's own pages in this context: the first device address, and their memory, which no client reaches.
    pub fn own(&self) -> (Iova, &DmaMemory) {
        let (place, memory) = self.mapper.own();
        (crate::dart::address_of(place), memory)
    }

    /// Where they are, from end to end.
    pub fn own_range(&self) -> Option<IovaRange> {
        crate::dart::range(self.mapper.own().0)
    }

    pub const fn mapper(&self) -> &Mapper {
        &self.mapper
    }

    pub const fn counters(&self) -> Counters {
        let mapped_bytes = (self.mapper.mapped_pages() as u64) << PAGE_SHIFT;
        Counters { mapped_bytes, ..self.counters }
    }

    /// Changes whenever there may be room for a request that found none. What can be evicted is room from the start, so neither
    /// eviction makes any nor the end of such a mapping.
    pub const fn chances(&self) -> u64 {
        self.chances
    }

    /// How often work asked for its places.
    #[cfg(test)]
    pub(crate) const fn begun(&self) -> u64 {
        self.now
    }

    /// Makes a buffer as a client asked for it, which has one handle.
    pub fn create(&mut self, bus: &mut impl Bus, create: &Create) -> Result<BufferId> {
        let usage = usage::named(create.usage, Origin::Client).map_err(BufferError::Usage)?;
        self.make(bus, create, usage, Holder::Handle)
    }

    /// Makes a buffer that a program is loaded with, of any usage, which the program holds.
    pub fn create_for_program(
        &mut self,
        bus: &mut impl Bus,
        store: StoreId,
        (size, usage): (u64, Usage),
    ) -> Result<BufferId> {
        let create = Create { size, store, ..Create::default() };
        self.make(bus, &create, usage, Holder::Program)
    }

    fn make(
        &mut self,
        bus: &mut impl Bus,
        create: &Create,
        usage: Usage,
        holder: Holder,
    ) -> Result<BufferId> {
        let &Create { size, flags, address, store, .. } = create;
        if flags & !(BO_SCATTERED | BO_FIXED_ADDRESS | BO_PINNED | BO_PREMAPPED) != 0 {
            return Err(BufferError::Flags(flags));
        }
        let whole = pages_of(size)?;
        let fixed = fixed_place(flags, address, whole.pages)?;
        if self.buffers.is_full() || self.buffers.len() >= BUFFERS_MAX {
            return Err(BufferError::Handles);
        }
        if self.stores.has_limbo() {
            self.flush(bus)?;
        }
        // Files that share the context have no more together than one has alone.
        let limit = self.stores.get(store)?.arena().bytes();
        let bytes = self.counters.buffer_bytes.saturating_add(u64::from(whole.pages) << PAGE_SHIFT);
        if bytes > limit {
            return Err(BufferError::Memory { pages: whole.pages });
        }
        let layout = if flags & BO_SCATTERED == 0 { Layout::Following } else { Layout::Scattered };
        let no_memory = |NoMemory| BufferError::Memory { pages: whole.pages };
        let pages = self.stores.get_mut(store)?.frames.take(whole.pages, layout).map_err(no_memory)?;
        let mut buffer = Buffer {
            store,
            pages,
            flags,
            map_offset: 0,
            window: None,
            holders: Holders::default(),
            mappings: vec![Some(Mapping::new(usage, whole, flags, fixed))],
            evictions: 0,
        };
        *buffer.holders.count(holder) = 1;
        match layout {
            Layout::Following => {
                let first = buffer.pages.runs().first().map_or(0, |run| run.first);
                buffer.map_offset = u64::from(first) << PAGE_SHIFT;
            }
            Layout::Scattered => {
                let of = self.stores.get_mut(store)?;
                let Some(window) = of.window.take(whole.pages) else {
                    self.forget(buffer);
                    return Err(BufferError::Memory { pages: whole.pages });
                };
                let inside = u64::from(window.first) << PAGE_SHIFT;
                buffer.map_offset = of.arena().bytes().saturating_add(inside);
                buffer.window = Some(window);
            }
        }
        let map_offset = buffer.map_offset;
        let id = BufferId(self.buffers.insert(buffer).map_err(|Full| BufferError::Handles)?);
        self.by_offset.insert((store, map_offset), id);
        self.counters.buffers = self.counters.buffers.saturating_add(1);
        self.counters.buffer_bytes =
            self.counters.buffer_bytes.saturating_add(u64::from(whole.pages) << PAGE_SHIFT);
        if flags & (BO_PREMAPPED | BO_FIXED_ADDRESS) != 0 {
            if let Err(why) = self.settle_place(bus, id, 0, None) {
                self.release(id, holder);
                return Err(why);
            }
            self.counters.premaps = self.counters.premaps.saturating_add(1);
        }
        Ok(id)
    }

    pub fn hold(&mut self, id: BufferId, holder: Holder) {
        if let Ok(buffer) = self.buffers.get_mut(id.0.raw()) {
            let count = buffer.holders.count(holder);
            *count = count.saturating_add(1);
        }
    }

    /// One holder less. After the last its mappings go, and its pages once the translation buffer has been told.
    pub fn release(&mut self, id: BufferId, holder: Holder) {
        if let Ok(buffer) = self.buffers.get_mut(id.0.raw()) {
            let count = buffer.holders.count(holder);
            *count = count.saturating_sub(1);
        }
        self.end_if_unheld(id);
    }

    /// Ends a buffer that nothing holds.
    pub(super) fn end_if_unheld(&mut self, id: BufferId) {
        let is_over = |buffer: &Buffer| buffer.holders.is_none() && !buffer.is_used();
        if self.buffers.get(id.0.raw()).is_ok_and(is_over) {
            self.end(id);
        }
    }

    pub(super) fn end(&mut self, id: BufferId) {
        let mappings = self.buffers.get(id.0.raw()).map_or(0, |buffer| buffer.mappings.len());
        for number in (0..).take(mappings) {
            self.displace(id, number);
        }
        let Ok(buffer) = self.buffers.remove(id.0.raw()) else { return };
        self.by_offset.remove(&(buffer.store, buffer.map_offset));
        self.counters.buffers = self.counters.buffers.saturating_sub(1);
        let bytes = u64::from(buffer.pages.len()) << PAGE_SHIFT;
        self.counters.buffer_bytes = self.counters.buffer_bytes.saturating_sub(bytes);
        self.forget(buffer);
    }

    /// Gives back what a buffer without mappings has.
    fn forget(&mut self, buffer: Buffer) {
        // The pages go with their arena, if that goes first.
        let Ok(store) = self.stores.get_mut(buffer.store) else { return };
        if let Some(window) = buffer.window {
            store.window.give(window);
        }
        // Pages that could be freed without their mappings gone would be a hole; they are lost instead.
        let freed = store.frames.free(buffer.pages);
        debug_assert!(!matches!(freed, Err(Pinned(_))), "a buffer without mappings has no pins");
        if !self.mapper.is_stale() {
            self.stores.settle();
        }
    }

    /// Ends every buffer, even one that has holders. No request may be in flight.
    pub(crate) fn clear(&mut self) {
        let all: Vec<_> = self.buffers.iter().map(|(handle, _)| BufferId(handle)).collect();
        all.into_iter().for_each(|id| self.end(id));
        self.processes.clear();
        self.mapped = 0;
    }

    /// Gives the mapper back. Nothing is mapped after [`Space::clear`].
    pub(crate) fn into_mapper(self) -> Mapper {
        self.mapper
    }

    pub fn info(&self, id: BufferId) -> Option<Info> {
        let buffer = self.buffers.get(id.0.raw()).ok()?;
        let own = buffer.mapping(0).ok()?;
        let bit = |is_set, bit| if is_set { bit } else { 0 };
        let others = buffer.mappings.iter().skip(1).flatten().count();
        let placed = usize::from(own.place.is_some());
        Some(Info {
            size: u64::from(buffer.pages.len()) << PAGE_SHIFT,
            flags: buffer.flags,
            usage: own.usage,
            map_offset: buffer.map_offset,
            device_address: own.place.map(crate::dart::address_of),
            state: bit(own.place.is_some(), BO_MAPPED)
                | bit(own.is_evicted, BO_EVICTED)
                | bit(buffer.holders.is_in_flight() || buffer.is_used(), BO_BUSY),
            mapping_count: u32::try_from(others.saturating_add(placed)).unwrap_or(u32::MAX),
            evictions: buffer.evictions,
        })
    }

    pub fn buffers(&self) -> impl Iterator<Item = BufferId> {
        self.buffers.iter().map(|(handle, _)| BufferId(handle))
    }
}

/// The pages of a buffer of so many bytes.
fn pages_of(size: u64) -> Result<Run> {
    let limit = u64::from(PAGES_MAX) << PAGE_SHIFT;
    let bad = BufferError::Size { size, limit };
    let pages = size.div_ceil(u64::from(PAGE_SIZE));
    match u32::try_from(pages).ok().and_then(|pages| Run::new(0, pages)) {
        Some(run) if run.pages <= PAGES_MAX => Ok(run),
        _ => Err(bad),
    }
}

/// Where a mapping has to lie, if a flag says that the address means something.
pub(super) fn fixed_place(flags: u32, address: u64, pages: u32) -> Result<Option<Run>> {
    if flags & BO_FIXED_ADDRESS == 0 {
        return if address == 0 { Ok(None) } else { Err(BufferError::Address(address)) };
    }
    aligned_place(address, pages).map(Some)
}

/// The pages at an address that a client chose.
pub(super) fn aligned_place(address: u64, pages: u32) -> Result<Run> {
    if !address.is_multiple_of(u64::from(PAGE_SIZE)) {
        return Err(BufferError::Address(address));
    }
    let outside = BufferError::OutsideAperture { address, size: u64::from(pages) << PAGE_SHIFT };
    place(address, pages).ok_or(outside)
}

pub(super) fn key(id: BufferId, mapping: u32) -> Key {
    Key { buffer: id.0.raw(), mapping }
}

pub(super) fn buffer_of(key: Key) -> Option<BufferId> {
    Handle::from_raw(key.buffer).map(BufferId)
}
