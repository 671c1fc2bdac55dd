//! A device in this process that sees to it that a driver uses some registers only.

use std::time::Duration;

use ane::embedded::{self, InProcess};
use ane_device::Options;
use ane_driver::bus::{Arena, ArenaId, Bus, BusError, DmaMemory, Operation};
use ane_uapi::hw::space::EngineOffset;
use ane_uapi::wire::config::Config;
use ane_uapi::wire::event::Event;
use ane_uapi::wire::sideband::Declaration;

use super::rig::MEMORY;

/// A device, and the registers that may be used: another one ends the test.
pub(crate) struct CheckedBus<F> {
    bus: InProcess,
    /// What the driver is told of the device.
    pub(crate) config: Config,
    may: F,
}

impl<F: Fn(EngineOffset) -> bool> CheckedBus<F> {
    pub(crate) fn new(may: F) -> Self {
        let bus = embedded::open(&Options::default(), MEMORY).unwrap();
        let config = *bus.config();
        Self { bus, config, may }
    }

    pub(crate) fn bus_mut(&mut self) -> &mut InProcess {
        &mut self.bus
    }
}

impl<F: Fn(EngineOffset) -> bool> Bus for CheckedBus<F> {
    fn config(&self) -> &Config {
        &self.config
    }

    fn memory(&self) -> &DmaMemory {
        self.bus.memory()
    }

    fn arena(&mut self, id: ArenaId) -> Result<Arena, BusError> {
        self.bus.arena(id)
    }

    fn retire(&mut self, id: ArenaId) -> Result<(), BusError> {
        self.bus.retire(id)
    }

    fn batch(&mut self, operations: &[Operation], values: &mut [u32]) -> Result<usize, BusError> {
        for operation in operations {
            let (Operation::Read(at) | Operation::Write(at, _)) = *operation;
            assert!((self.may)(at), "{operation:?}");
        }
        self.bus.batch(operations, values)
    }

    fn reset(&mut self) -> Result<(), BusError> {
        self.bus.reset()
    }

    fn declare(&mut self, declarations: &[Declaration]) -> Result<(), BusError> {
        self.bus.declare(declarations)
    }

    fn event(&mut self, limit: Duration) -> Result<Option<Event>, BusError> {
        self.bus.event(limit)
    }

    fn arrived(&mut self) -> Result<Option<Event>, BusError> {
        self.bus.arrived()
    }

    fn is_pending(&self) -> bool {
        self.bus.is_pending()
    }

    fn due(&self) -> Option<Duration> {
        self.bus.due()
    }
}
