//! The bus to a device in this process: a call in the place of a kick.
//!
//! Nothing has to be set up and nothing runs beside the caller: the engine works while a call waits for an
//! event, on the thread that waits. A device that computes beside that thread has a descriptor that is readable when it is
//! to be asked to work again.

use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ane_driver::bus::requests::{Carrier as _, Requests};
use ane_driver::bus::{Arena, ArenaId, Bus, BusError, DmaMemory, Operation};
use ane_uapi::hw::space::PhysAddr;
use ane_uapi::wire::config::Config;
use ane_uapi::wire::event::Event;
use ane_uapi::wire::sideband::{Declaration, Regions};

use super::{Embedded, Work};

/// Where the memory starts for the device: not at zero, so that a device address used as a physical one is
/// noticed.
pub const MEMORY_BASE: PhysAddr = PhysAddr(0x1_0000_0000);

/// A bus to a device in this process.
pub struct InProcess {
    requests: Requests<Embedded>,
    memory: DmaMemory,
    arenas: BTreeMap<ArenaId, Arena>,
    /// The work that is left, as far as is known: a batch may have brought more.
    left: Work,
}

impl InProcess {
    /// A bus to `device`, which reaches `memory`.
    pub(super) const fn new(device: Embedded, memory: DmaMemory) -> Self {
        Self {
            requests: Requests::new(device),
            memory,
            arenas: BTreeMap::new(),
            left: Work { pending: true, after: None },
        }
    }

    pub const fn device(&self) -> &Embedded {
        self.requests.carrier()
    }

    /// The device, to ask of it what no bus carries.
    pub const fn device_mut(&mut self) -> &mut Embedded {
        self.requests.carrier_mut()
    }

    /// Lets the device reach these arenas, and what it reaches always.
    fn reach(&mut self, arenas: BTreeMap<ArenaId, Arena>) -> Result<(), BusError> {
        // An arena of this bus is one region: its file has a single stretch.
        let of_arenas = arenas.values().filter_map(|arena| {
            let stretch = arena.stretches().first()?;
            Some((stretch.at, Arc::clone(arena.region())))
        });
        let regions = std::iter::once((self.memory.base(), self.memory.shared_region())).chain(of_arenas);
        self.device_mut()
            .reach(regions.collect())
            .map_err(|why| BusError::Transport { action: "sharing memory", why })?;
        self.arenas = arenas;
        Ok(())
    }
}

impl Bus for InProcess {
    fn config(&self) -> &Config {
        self.requests.carrier().config()
    }

    fn memory(&self) -> &DmaMemory {
        &self.memory
    }

    fn arena(&mut self, id: ArenaId) -> Result<Arena, BusError> {
        let arena = Arena::of(id, self.config())?;
        let mut arenas = self.arenas.clone();
        arenas.insert(id, arena.clone());
        self.reach(arenas)?;
        Ok(arena)
    }

    fn retire(&mut self, id: ArenaId) -> Result<(), BusError> {
        let mut arenas = self.arenas.clone();
        arenas.remove(&id);
        self.reach(arenas)
    }

    fn batch(&mut self, operations: &[Operation], values: &mut [u32]) -> Result<usize, BusError> {
        // Whatever is written may start something.
        self.left.pending = true;
        self.requests.batch(operations, values)
    }

    fn reset(&mut self) -> Result<(), BusError> {
        self.left = Work { pending: true, after: None };
        self.requests.reset()
    }

    fn declare(&mut self, declarations: &[Declaration]) -> Result<(), BusError> {
        self.requests.declare(declarations)
    }

    fn regions(&mut self, regions: Regions<'_>) -> Result<(), BusError> {
        self.requests.regions(regions)
    }

    fn reason(&mut self, registers: [u32; 3]) -> Option<String> {
        self.device().reason(registers)
    }

    fn event(&mut self, limit: Duration) -> Result<Option<Event>, BusError> {
        let start = Instant::now();
        loop {
            if let Some(event) = self.device_mut().event() {
                return Ok(Some(event));
            }
            let left = limit.saturating_sub(start.elapsed());
            self.left = self.device_mut().work();
            match self.left {
                Work { pending: true, .. } if limit.is_zero() => return Ok(self.device_mut().event()),
                Work { pending: true, .. } => {}
                // Nothing will happen but what a later call of this bus starts.
                Work { after: None, .. } => return Ok(self.device_mut().event()),
                Work { .. } if left.is_zero() => return Ok(self.device_mut().event()),
                Work { after: Some(after), .. } => std::thread::sleep(after.min(left)),
            }
        }
    }

    fn arrived(&mut self) -> Result<Option<Event>, BusError> {
        Ok(self.device_mut().event())
    }

    fn is_pending(&self) -> bool {
        self.left.pending
    }

    fn due(&self) -> Option<Duration> {
        self.left.after
    }

    fn wakeup(&self) -> Option<BorrowedFd<'_>> {
        self.device().wakeup()
    }
}

#[cfg(test)]
mod tests;
