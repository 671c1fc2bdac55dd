//! The engine at one moment, as requests use it.

use ane_device::refusal::Refusal;
use ane_device::time::Ticks;
use ane_device::wire::{self, NotDone};
use ane_device::{Ane, Options};
use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::space::{EngineOffset, IovaRange};
use ane_uapi::hw::usage::Usage;
use ane_uapi::wire::sideband::Regions;
use vm_memory::GuestMemoryMmap;

use super::super::request::Registers;

/// The engine at one moment.
pub(super) struct Now<'a> {
    pub(super) ane: &'a mut Ane<GuestMemoryMmap>,
    pub(super) now: Ticks,
    pub(super) options: &'a Options,
}

impl Registers for Now<'_> {
    fn read(&mut self, at: EngineOffset) -> Result<u32, Refusal> {
        self.ane.read(at, self.now)
    }

    fn write(&mut self, at: EngineOffset, value: u32) -> Result<(), Refusal> {
        self.ane.write(at, value, self.now)
    }

    fn reset(&mut self) {
        self.ane.reset(self.now);
    }

    fn is_strict(&self) -> bool {
        self.options.strict
    }

    fn is_checking(&self) -> bool {
        self.options.check
    }

    fn is_dead(&self) -> bool {
        self.ane.dart().is_dead()
    }

    fn has_pe_mmu(&self) -> bool {
        self.options.pe_mmu.is_some()
    }

    fn install(&mut self, regions: Regions<'_>) -> Result<(), NotDone> {
        wire::install(self.ane, regions)
    }

    fn declare(&mut self, stream: StreamId, range: IovaRange, usage: Option<Usage>) -> bool {
        match usage {
            Some(usage) => self.ane.dart_mut().declare(stream, range, usage),
            None => {
                self.ane.dart_mut().forget(stream, range);
                true
            }
        }
    }
}
