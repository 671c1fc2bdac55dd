//! Progress: what the device has to say, and what the clock brings.

use std::time::Duration;

use ane_uapi::ioctl::stats::Counter;
use ane_uapi::wire::event::{Event, EventKind};

use crate::bus::Bus;
use crate::clock::Time;
use crate::device::Driver;
use crate::front::{Files, Progress};
use crate::journal::LineKind;

/// Events that are taken in one go: what a device leaves while nobody looks.
const EVENTS_MAX: usize = 256;

impl<B: Bus> Driver<B> {
    /// Takes what the device has to say and what the clock brings; see
    /// [`Files::progress`](crate::front::Files::progress).
    pub(crate) fn advance(&mut self, limit: Duration) -> Progress {
        // First of all: the device works while this waits.
        self.push();
        self.scheduler.end_failed(&mut self.hardware, &mut self.clients);
        if self.hardware.is_lost() {
            self.wait_for_device(limit);
        } else {
            let limit = limit.min(self.rest());
            if let Some(event) = self.hardware.event(limit) {
                self.take_event(&event);
            }
            self.take_arrived();
        }
        self.tend();
        let after = Some(self.rest()).filter(|rest| *rest < Duration::MAX);
        Progress {
            // Since it was said last, and not since this call began: other calls take events as well.
            is_some: self.clients.take_news(),
            is_pending: self.hardware.is_pending(),
            after: after.into_iter().chain(self.hardware.bus().due()).min(),
        }
    }

    /// How long until the clock brings something.
    fn rest(&self) -> Duration {
        let mut next = self.hardware.next_look();
        if self.hardware.is_ready() {
            next = next.min(self.scheduler.turn_ends());
        }
        if next == Time::NEVER { Duration::MAX } else { next.since(self.hardware.now()) }
    }

    /// A lost device has nothing to say: waits for the time to look for it again.
    fn wait_for_device(&mut self, limit: Duration) {
        let rest = limit.min(self.rest());
        if !rest.is_zero() {
            // It may end early, and then the device is looked for a little sooner.
            std::thread::park_timeout(rest);
        }
        if self.hardware.search() {
            self.clients.clear_faults();
            self.clients.count(Counter::Recoveries, 1);
            self.clients.announce();
        }
    }

    /// Takes all events that have arrived.
    pub(crate) fn take_arrived(&mut self) {
        for _ in 0..EVENTS_MAX {
            if self.hardware.is_lost() {
                break;
            }
            let Some(event) = self.hardware.arrived() else { break };
            self.take_event(&event);
        }
        self.scheduler.end_failed(&mut self.hardware, &mut self.clients);
    }

    fn take_event(&mut self, event: &Event) {
        self.clients.count(Counter::Events, 1);
        self.clients.count(Counter::EventsLost, event.lost.get().into());
        match event.kind() {
            Ok(EventKind::TaskManager) => self.hardware.queues_mut().event(event),
            Ok(EventKind::Dart) => {
                let caught = self.hardware.caught(event);
                self.clients.fault(&mut self.hardware, caught);
            }
            // The end of the request that was stuck stands on a line, like any other's.
            Ok(EventKind::QueueAborted) => {
                let line = || format!("device aborted task queue {}: it was stuck", event.source);
                self.hardware.log(LineKind::Queue, line);
            }
            Ok(EventKind::Dead) => self.hardware.die(),
            Err(unknown) => self.hardware.log(LineKind::Device, || format!("event of the device: {unknown}")),
        }
        let Self { hardware, clients, scheduler } = self;
        scheduler.end_failed(hardware, clients);
        scheduler.take_ended(hardware, clients);
    }

    /// Does everything that is due.
    fn tend(&mut self) {
        let Self { hardware, clients, scheduler } = self;
        let now = hardware.now();
        let has_rung = hardware.has_rung(now);
        if has_rung {
            // A call may wait for just this time.
            clients.announce();
        }
        clients.tend_faults(hardware, now);
        if has_rung {
            scheduler.expire(hardware, clients, now);
        }
        if hardware.is_ready() {
            if hardware.is_doubtful(now) {
                scheduler.check_hardware(hardware, clients);
            }
            scheduler.enforce_limit(hardware, clients, now);
            scheduler.pursue(hardware, clients);
            scheduler.watch_aborts(hardware, clients, now);
            scheduler.schedule(hardware, clients);
            scheduler.end_turns(hardware, clients, now);
            hardware.drive(|queues, bus| queues.settle(bus, false));
            scheduler.purge_closed(hardware, clients);
            hardware.catch_up();
            hardware.autosuspend(now);
        }
        scheduler.end_failed(hardware, clients);
    }
}
