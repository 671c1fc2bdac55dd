//! The memory that the device is told of: the bus's own region, and the arenas of files that come and go.
//!
//! A device that offers memory slots is told of one region more or less. Any other gets the whole table anew
//! each time, and no such table is promised to hold more than eight regions: with such a device the eighth
//! context cannot be had, and a client that asks for it is told what any client is told that comes too late.

use std::collections::BTreeMap;
use std::os::fd::AsRawFd;

use ane_uapi::hw::dart::iso::ContextId;
use ane_uapi::hw::space::PhysAddr;
use vhost::vhost_user::{Frontend, VhostUserFrontend};
use vhost::{VhostBackend, VhostUserMemoryRegionInfo};
use vm_memory::MmapRegion;

use super::transport;
use crate::bus::{Arena, ArenaId, BusError, DmaMemory, Result};

/// Regions that every device takes in one table: what the vhost-user protocol promises without slots.
const TABLE_MAX: usize = 8;

pub(super) type Arenas = BTreeMap<ArenaId, Arena>;

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
    pub(super) fn new(mut frontend: Frontend, all: DmaMemory, has_slots: bool) -> Result<Self> {
        let limit = if has_slots {
            let slots = frontend.get_max_mem_slots().map_err(transport("asking for memory slots"))?;
            usize::try_from(slots).unwrap_or(usize::MAX)
        } else {
            TABLE_MAX
        };
        let shared = Self { frontend, all, arenas: Arenas::new(), limit, has_slots };
        shared.set_table()?;
        Ok(shared)
    }

    /// Lets the device reach an arena whose number no other has.
    pub(super) fn add(&mut self, id: ArenaId, arena: Arena) -> Result<()> {
        let own = self.arenas.keys().filter(|id| !id.is_extra()).count();
        // One beside takes no region that a context without an arena needs.
        let kept = if id.is_extra() { usize::from(ContextId::COUNT).saturating_sub(own) } else { 0 };
        if self.arenas.len() + 2 + kept > self.limit {
            return Err(BusError::Lacks { feature: "a memory slot for one more arena" });
        }
        if !self.has_slots {
            self.arenas.insert(id, arena);
            let told = self.set_table();
            if told.is_err() {
                self.arenas.remove(&id);
            }
            return told;
        }
        self.frontend.add_mem_region(&of_arena(&arena)?).map_err(transport("sharing an arena"))?;
        self.arenas.insert(id, arena);
        Ok(())
    }

    /// Takes the arena of a number away, if there is one.
    pub(super) fn remove(&mut self, id: ArenaId) -> Result<()> {
        let Some(arena) = self.arenas.remove(&id) else { return Ok(()) };
        if !self.has_slots {
            return self.set_table();
        }
        self.frontend.remove_mem_region(&of_arena(&arena)?).map_err(transport("taking an arena back"))
    }

    fn set_table(&self) -> Result<()> {
        let mut regions = vec![of(self.all.region(), self.all.base())?];
        for arena in self.arenas.values() {
            regions.push(of_arena(arena)?);
        }
        self.frontend.set_mem_table(&regions).map_err(transport("sharing memory")).map(|_| ())
    }
}

/// An arena of this bus is one region: its file has a single stretch.
fn of_arena(arena: &Arena) -> Result<VhostUserMemoryRegionInfo> {
    let stretch = arena.stretches().first().ok_or(BusError::Lacks { feature: "memory in its arena" })?;
    of(arena.region(), stretch.at)
}

fn of(region: &MmapRegion, at: PhysAddr) -> Result<VhostUserMemoryRegionInfo> {
    let file = region.file_offset().ok_or(BusError::Lacks { feature: "a file behind its memory" })?;
    Ok(VhostUserMemoryRegionInfo {
        guest_phys_addr: at.0,
        memory_size: region.size() as u64,
        userspace_addr: region.as_ptr() as u64,
        mmap_offset: file.start(),
        mmap_handle: file.file().as_raw_fd(),
    })
}
