//! A bus to nothing: it remembers what the driver wrote, and answers what a test wants.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use ane_uapi::hw::dart::aperture::{self, PAGE_SIZE};
use ane_uapi::hw::dart::pte::PteFormat;
use ane_uapi::hw::space::{EngineOffset, PhysAddr};
use ane_uapi::hw::tm;
use ane_uapi::wire::config::Config;
use ane_uapi::wire::event::Event;
use ane_uapi::wire::sideband::Declaration;
use zerocopy::FromZeros;

use crate::bus::{Arena, ArenaId, Bus, BusError, DmaMemory, Operation};
use crate::dart::CONTEXT_BYTES;

#[derive(Debug)]
pub(crate) struct Fake {
    /// The configuration that the device reports: an M1's engine with eight contexts.
    pub(crate) config: Config,
    memory: DmaMemory,
    pub(crate) operations: Vec<Operation>,
    /// The values that were last written, or that a test wants to be read.
    pub(crate) registers: BTreeMap<u32, u32>,
    pub(crate) declared: Vec<Declaration>,
    pub(crate) arenas: BTreeMap<ArenaId, Arena>,
    /// As many as the device takes.
    pub(crate) arenas_max: usize,
    pub(crate) arena_bytes: u64,
    /// The device does not answer.
    pub(crate) is_gone: bool,
    /// Times that a DART says it is busy.
    pub(crate) busy: u32,
    pub(crate) events: VecDeque<Event>,
}

/// A task manager without work.
fn idle() -> BTreeMap<u32, u32> {
    BTreeMap::from([(tm::TASK_MANAGER.base.0 + tm::STATUS.offset(), 1)])
}

impl Fake {
    /// A device that answers, with arenas of so many pages.
    pub(crate) fn new(arena_pages: u32) -> Self {
        let mut config = Config::new_zeroed();
        config.chip.set(0x8103);
        config.context_count.set(8);
        config.batch_max.set(64);
        config.queue_count.set(8);
        config.aperture_base.set(aperture::BASE);
        config.aperture_size.set(aperture::SIZE);
        Self {
            config,
            memory: DmaMemory::new(PhysAddr(0x1_0000_0000), 8 * CONTEXT_BYTES).unwrap(),
            operations: Vec::new(),
            registers: idle(),
            declared: Vec::new(),
            arenas: BTreeMap::new(),
            arenas_max: usize::MAX,
            arena_bytes: u64::from(arena_pages) * u64::from(PAGE_SIZE),
            is_gone: false,
            busy: 0,
            events: VecDeque::new(),
        }
    }

    fn answer(&self) -> Result<(), BusError> {
        if self.is_gone { Err(BusError::OutOfOrder) } else { Ok(()) }
    }
}

impl Bus for Fake {
    fn config(&self) -> &Config {
        &self.config
    }

    fn memory(&self) -> &DmaMemory {
        &self.memory
    }

    fn arena(&mut self, id: ArenaId) -> Result<Arena, BusError> {
        self.answer()?;
        if self.arenas.len() >= self.arenas_max && !self.arenas.contains_key(&id) {
            return Err(BusError::Lacks { feature: "a memory slot for one more arena" });
        }
        let at = id.base(PteFormat::Seed).ok_or(BusError::Lacks { feature: "addresses" })?;
        let arena = Arena::new(at, self.arena_bytes)?;
        self.arenas.insert(id, arena.clone());
        Ok(arena)
    }

    fn retire(&mut self, id: ArenaId) -> Result<(), BusError> {
        self.answer()?;
        self.arenas.remove(&id);
        Ok(())
    }

    fn batch(&mut self, operations: &[Operation], values: &mut [u32]) -> Result<usize, BusError> {
        self.answer()?;
        let mut read = 0;
        for operation in operations {
            match *operation {
                Operation::Write(EngineOffset(at), value) => {
                    self.registers.insert(at, value);
                }
                Operation::Read(EngineOffset(at)) => {
                    let value = self.registers.get(&at).copied().unwrap_or_default();
                    // Bit 2 of a stream command is that it still runs.
                    let is_busy = at & 0xfff == 0x20 && self.busy > 0;
                    self.busy -= u32::from(is_busy);
                    values[read] = value | u32::from(is_busy) << 2;
                    read += 1;
                }
            }
        }
        self.operations.extend_from_slice(operations);
        Ok(read)
    }

    fn reset(&mut self) -> Result<(), BusError> {
        self.answer()?;
        self.registers = idle();
        Ok(())
    }

    fn declare(&mut self, declarations: &[Declaration]) -> Result<(), BusError> {
        self.answer()?;
        self.declared.extend_from_slice(declarations);
        Ok(())
    }

    fn event(&mut self, _: Duration) -> Result<Option<Event>, BusError> {
        self.answer().map(|()| self.events.pop_front())
    }

    fn find_again(&mut self) -> Result<(), BusError> {
        self.answer()
    }
}
