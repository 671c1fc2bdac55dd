//! What the device is told of memory: the bus's own region, and the arenas of contexts that come and go.
//!
//! A device that offers memory slots is told of one region more or less. Any other gets the whole table anew
//! each time, and no such table is promised to hold more than eight regions: with such a device the eighth
//! context cannot be had, and a client that asks for it is told what any client is told that comes too late.

use std::os::fd::AsRawFd;

use ane_uapi::hw::dart::iso::ContextId;
use ane_uapi::hw::space::PhysAddr;
use vhost::vhost_user::{Frontend, VhostUserFrontend};
use vhost::{VhostBackend, VhostUserMemoryRegionInfo};
use vm_memory::MmapRegion;

use super::transport;
use crate::bus::{Arena, BusError, DmaMemory};

/// Regions that every device takes in one table: what the vhost-user protocol promises without slots.
const TABLE_MAX: usize = 8;

pub(super) type Arenas = [Option<Arena>; ContextId::COUNT as usize];

pub(super) const NO_ARENAS: Arenas = [const { None }; ContextId::COUNT as usize];

pub(super) struct Shared {
    frontend: Frontend,
    /// The bus's own and the driver's.
    pub(super) all: DmaMemory,
    pub(super) arenas: Arenas,
    /// How many regions the device takes.
    limit: usize,
    has_slots: bool,
}

impl Shared {
    /// Shares the region that is always there.
    pub(super) fn new(mut frontend: Frontend, all: DmaMemory, has_slots: bool) -> Result<Self, BusError> {
        let limit = if has_slots {
            let slots = frontend.get_max_mem_slots().map_err(transport("asking for memory slots"))?;
            usize::try_from(slots).unwrap_or(usize::MAX)
        } else {
            TABLE_MAX
        };
        let shared = Self { frontend, all, arenas: NO_ARENAS, limit, has_slots };
        shared.set_table()?;
        Ok(shared)
    }

    /// Lets the device reach the arena of a context that has none yet.
    pub(super) fn add(&mut self, context: ContextId, arena: Arena) -> Result<(), BusError> {
        if self.arenas.iter().flatten().count() + 2 > self.limit {
            return Err(BusError::Lacks { feature: "a memory slot for one more context" });
        }
        let place = &mut self.arenas[context.index()];
        if !self.has_slots {
            *place = Some(arena);
            return self.set_table().inspect_err(|_| self.arenas[context.index()] = None);
        }
        self.frontend.add_mem_region(&of_arena(&arena)?).map_err(transport("sharing an arena"))?;
        *place = Some(arena);
        Ok(())
    }

    /// Takes a context's arena away, if it has one.
    pub(super) fn remove(&mut self, context: ContextId) -> Result<(), BusError> {
        let Some(arena) = self.arenas[context.index()].take() else {
            return Ok(());
        };
        if !self.has_slots {
            return self.set_table();
        }
        self.frontend.remove_mem_region(&of_arena(&arena)?).map_err(transport("taking an arena back"))
    }

    fn set_table(&self) -> Result<(), BusError> {
        let mut regions = vec![of(self.all.region(), self.all.base())?];
        for arena in self.arenas.iter().flatten() {
            regions.push(of_arena(arena)?);
        }
        self.frontend.set_mem_table(&regions).map_err(transport("sharing memory")).map(|_| ())
    }
}

/// An arena of this bus is one region: its file has a single stretch.
fn of_arena(arena: &Arena) -> Result<VhostUserMemoryRegionInfo, BusError> {
    let stretch = arena.stretches().first().ok_or(BusError::Lacks { feature: "memory in its arena" })?;
    of(arena.region(), stretch.at)
}

fn of(region: &MmapRegion, at: PhysAddr) -> Result<VhostUserMemoryRegionInfo, BusError> {
    let file = region.file_offset().ok_or(BusError::Lacks { feature: "a file behind its memory" })?;
    Ok(VhostUserMemoryRegionInfo {
        guest_phys_addr: at.0,
        memory_size: region.size() as u64,
        userspace_addr: region.as_ptr() as u64,
        mmap_offset: file.start(),
        mmap_handle: file.file().as_raw_fd(),
    })
}
