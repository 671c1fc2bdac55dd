//! The driver of one device: its hardware, its clients, and the scheduler between them.
//!
//! *Probe* checks that it is a device that this driver knows, brings it to the state after power-on, gives the queues
//! their priorities and lets them run. *Remove* takes all of that back, in reverse.

use ane_uapi::hw::status::EngineStatus;
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::stats::Counter;

use crate::bus::Bus;
use crate::clients::{Clients, Consumer};
use crate::clock::{Clock, Monotonic};
use crate::hardware::{Hardware, ProbeError};
use crate::submit::Scheduler;
use crate::submit::limits::Limits;

#[derive(Debug)]
pub struct Driver<B> {
    pub(crate) hardware: Hardware<B>,
    pub(crate) clients: Clients,
    pub(crate) scheduler: Scheduler,
}

impl<B: Bus> Driver<B> {
    pub fn probe(bus: B) -> Result<Self, ProbeError> {
        Self::with_clock(bus, Box::new(Monotonic))
    }

    /// The same, by another clock.
    pub fn with_clock(bus: B, clock: Box<dyn Clock>) -> Result<Self, ProbeError> {
        Ok(Self {
            hardware: Hardware::probe(bus, clock)?,
            clients: Clients::default(),
            scheduler: Scheduler::default(),
        })
    }

    /// Gives the device back as it was found: every file is closed, nothing runs, nothing is mapped.
    pub fn remove(mut self) -> B {
        for file in self.clients.all() {
            self.begin_close(file);
        }
        self.scheduler.pursue(&mut self.hardware, &mut self.clients);
        self.take_arrived();
        if self.clients.has_closed() && self.hardware.is_ready() {
            // Queues that still hold requests are ended by the reset.
            self.scheduler.reset(&mut self.hardware, &mut self.clients, Some(Errno::ECANCELED));
        }
        self.scheduler.purge_closed(&mut self.hardware, &mut self.clients);
        self.hardware.remove()
    }

    /// Sets the limits of every request and user. There are none before this is called.
    pub const fn limit(&mut self, limits: Limits) {
        self.scheduler.limit(limits);
    }

    pub const fn bus(&self) -> &B {
        self.hardware.bus()
    }

    /// The bus, to ask of it what the driver does not.
    pub const fn bus_mut(&mut self) -> &mut B {
        self.hardware.bus_mut()
    }

    /// The engine's status word, as the driver's object has it: powered and idle, the same without power, or at work.
    pub fn status(&self) -> EngineStatus {
        self.hardware.status()
    }

    /// Hands every fault's descriptor to `consumer` from now on, benign or not, as it was captured.
    pub fn on_fault(&mut self, consumer: Consumer) {
        self.clients.on_fault(consumer);
    }

    /// The dump of mappings and of the device's state when a real fault was latched last.
    pub fn last_dump(&self) -> Option<&str> {
        self.clients.last_dump()
    }

    pub const fn is_latched(&self) -> bool {
        self.clients.is_latched()
    }

    /// The device's text about the last request of any file that did not run to its end.
    pub fn last_failure(&self) -> Option<&str> {
        self.clients.last_failure()
    }

    pub fn counted(&self, counter: Counter) -> u64 {
        self.clients.counters().get(counter)
    }
}
