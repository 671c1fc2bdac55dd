//! Progress: what the device has to say, and what the clock brings.
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

use std::time::Duration;

use ane_uapi::ioctl::stats::Counter;
use ane_uapi::wire::event::{Event, Kind};

use crate::bus::Bus;
use crate::clock::Time;
use crate::device::Driver;
use crate::front::{Files, Progress};
use crate::journal::Kind as Line;

/// How long the device may say nothing about requests that it has before the registers are looked at (Chosen: a task
/// may take longer, and looking costs next to nothing).
const SILENCE: Duration = Duration::from_millis(250);

/// The bits of a time that alarms do without: a sixteenth of a millisecond.
const ALARM_MASK: u64 = 0xffff;

/// Events that are taken in one go: what a device leaves while nobody looks.
const EVENTS_MAX: usize = 256;

impl<B: Bus> Driver<B> {
    /// Takes what the device has to say and what the clock brings; see
    /// [`Files::progress`](crate::front::Files::progress).
    pub(crate) fn advance(&mut self, limit: Duration) -> Progress {
        // First of all: the device works while this waits.
        self.push();
        if self.is_lost() {
            self.wait_for_device(limit);
        } else {
            let limit = if self.bus.is_pending() { Duration::ZERO } else { limit.min(self.rest()) };
            let event = self.bus.event(limit);
            if let Some(Some(event)) = self.expect(event) {
                self.take_event(&event);
            }
            self.take_arrived();
        }
        self.tend();
        let after = Some(self.rest()).filter(|rest| *rest < Duration::MAX);
        // Since it was said last, and not since this call began: other calls take events as well.
        let is_some = self.news != std::mem::replace(&mut self.told, self.news);
        Progress {
            is_some,
            is_pending: self.is_ready() && self.bus.is_pending(),
            after: after.into_iter().chain(self.bus.due()).min(),
        }
    }

    /// How long until the clock brings something.
    fn rest(&self) -> Duration {
        let now = self.clock.now();
        let mut next = self.alarms.first().copied().unwrap_or(Time::NEVER);
        if self.is_ready() {
            next = next.min(self.next_look()).min(self.turn_ends);
        }
        if next == Time::NEVER { Duration::MAX } else { next.since(now) }
    }

    /// When the registers are looked at, or the device suspended, if nothing happens until then.
    fn next_look(&self) -> Time {
        if self.hardware.count() != 0 {
            self.last_sign.after(SILENCE)
        } else if self.status().is_powered_idle() {
            self.last_work.after(crate::power::AUTOSUSPEND)
        } else {
            Time::NEVER
        }
    }

    /// A lost device has nothing to say: waits for the time to look for it again.
    fn wait_for_device(&mut self, limit: Duration) {
        let rest = limit.min(self.rest());
        if !rest.is_zero() {
            // It may end early, and then the device is looked for a little sooner.
            std::thread::park_timeout(rest);
        }
        self.search(self.clock.now());
    }

    /// Takes all events that have arrived; false if there were none.
    pub(crate) fn take_arrived(&mut self) -> bool {
        let mut has_some = false;
        for _ in 0..EVENTS_MAX {
            if self.is_lost() {
                break;
            }
            let event = self.bus.arrived();
            let Some(Some(event)) = self.expect(event) else { break };
            self.take_event(&event);
            has_some = true;
        }
        has_some
    }

    fn take_event(&mut self, event: &Event) {
        self.last_sign = self.clock.now();
        self.counters.add(Counter::Events, 1);
        self.counters.add(Counter::EventsLost, event.lost.get().into());
        match event.kind() {
            Ok(Kind::TaskManager) => self.hardware.event(event),
            Ok(Kind::Dart) => self.fault_event(event),
            // The end of the request that was stuck stands on a line, like any other's.
            Ok(Kind::QueueAborted) => {
                let line = || format!("device aborted task queue {}: it was stuck", event.source);
                self.journal.log(Line::Queue, self.last_sign, line);
            }
            Ok(Kind::Dead) => self.die(),
            Err(unknown) => {
                let line = || format!("event of the device: {unknown}");
                self.journal.log(Line::Device, self.last_sign, line);
            }
        }
        self.take_ended();
    }

    /// Has somebody look at that time: what is due, and calls that wait.
    ///
    /// Times are rounded up a little, so that a thousand deadlines of the same millisecond are a few alarms.
    pub(crate) fn ring_at(&mut self, time: Time) {
        if time < Time::NEVER {
            let late = time.0.saturating_add(ALARM_MASK) & !ALARM_MASK;
            self.alarms.insert(Time(late));
        }
    }

    /// Does everything that is due.
    pub(crate) fn tend(&mut self) {
        let now = self.clock.now();
        let has_rung = self.alarms.first().is_some_and(|&alarm| alarm <= now);
        if has_rung {
            self.alarms = self.alarms.split_off(&Time(now.0.saturating_add(1)));
            // Somebody may be waiting for just this time.
            self.news = self.news.wrapping_add(1);
        }
        self.tend_faults(now);
        if has_rung {
            self.expire(now);
        }
        if !self.is_ready() {
            return;
        }
        let is_silent = self.hardware.count() != 0 && now >= self.last_sign.after(SILENCE);
        if self.hardware.is_doubtful() || is_silent {
            self.check_hardware();
        }
        self.enforce_limit(now);
        self.pursue();
        self.watch_aborts(now);
        self.schedule();
        self.end_turns(now);
        let settled = self.hardware.settle(&mut self.bus, false);
        self.expect(settled);
        self.purge_closed();
        self.autosuspend(now);
    }
}
