//! Loss and reset: a device that does not answer, and one that has to start anew.
//!
//! A device that does not answer any more is *lost*: what was in flight ends with `ENODEV`, and so does every call
//! until it is found again. The memory is the driver's, so buffers and tables are all still there then.
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

use std::time::Duration;

use ane_uapi::hw::tm;
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::stats::Counter;
use ane_uapi::wire::ctrl::Status;

use crate::bus::{Bus, BusError};
use crate::clock::Time;
use crate::device::{Driver, Health};
use crate::fence::Ending;
use crate::submit::{Request, RequestId, Stage};
use crate::tm::manager;

/// How often a lost device is looked for.
const SEARCH: Duration = Duration::from_millis(20);

impl<B: Bus> Driver<B> {
    /// What the bus said; the device is dead or lost if it said no.
    pub(crate) fn expect<T>(&mut self, outcome: Result<T, BusError>) -> Option<T> {
        match outcome {
            Ok(value) => Some(value),
            Err(BusError::Refused { status: Status::Dead, .. }) => {
                self.die();
                None
            }
            Err(why) => {
                self.lose(&why);
                None
            }
        }
    }

    /// The device does not answer: everything that was in flight ends.
    pub(crate) fn lose(&mut self, why: &BusError) {
        if self.is_lost() {
            return;
        }
        log::error!(target: "ane::driver", "device is lost: {why}");
        let now = self.clock.now();
        self.health = Health::Lost(now);
        self.ring_at(now);
        self.hardware.take_all(None).for_each(drop);
        let all: Vec<RequestId> = self.requests.iter().map(|(id, _)| id).collect();
        for id in all {
            self.finish(id, Ending::unstarted(Errno::ENODEV));
        }
        self.purge_closed();
        self.news = self.news.wrapping_add(1);
    }

    /// Looks for a lost device.
    pub(crate) fn search(&mut self, now: Time) {
        let Health::Lost(at) = self.health else { return };
        if now < at {
            return;
        }
        let next = now.after(SEARCH);
        self.health = Health::Lost(next);
        self.ring_at(next);
        let before = *self.bus.config();
        if self.bus.find_again().is_err() || *self.bus.config() != before {
            return;
        }
        if self.start_anew().is_ok() {
            log::info!(target: "ane::driver", "device was found again");
            self.health = Health::Ready;
            self.news = self.news.wrapping_add(1);
        }
    }

    /// Resets the device and writes everything again.
    fn start_anew(&mut self) -> Result<(), BusError> {
        self.bus.reset()?;
        // What was on its way when the device was reset is about requests that are no more.
        while self.bus.arrived()?.is_some() {}
        self.hardware.registers_lost();
        self.faults.clear();
        self.bring_up()?;
        self.is_suspended = false;
        self.last_work = self.clock.now();
        self.last_sign = self.last_work;
        self.counters.add(Counter::Recoveries, 1);
        Ok(())
    }

    /// Resets the device. With an error, every request of every file ends with it. Without one, the requests that
    /// had not started go to the device again, and what had ends with `EIO`.
    ///
    /// How many requests have ended; `None` if the reset failed, and the device is lost.
    pub(crate) fn reset_for(&mut self, all: Option<Errno>) -> Option<usize> {
        let committed = self.bus.read(manager(&tm::COMMITTED)).map(tm::Committed::from_bits).ok();
        let mut taken: Vec<(RequestId, bool)> =
            self.hardware.take_all(committed.map(|committed| committed.nid())).collect();
        // What the device kept aside is lost with it.
        let is_aside = |request: &Request| matches!(request.stage, Stage::Aside { .. });
        taken.extend(self.requests.iter().filter(|(_, request)| is_aside(request)).map(|(id, _)| (id, true)));
        let before = self.requests.iter().count();
        self.health = Health::Ready;
        let anew = self.start_anew();
        if let Some(errno) = all {
            let ids: Vec<RequestId> = self.requests.iter().map(|(id, _)| id).collect();
            for id in ids {
                self.finish(id, Ending::unstarted(errno));
            }
        }
        // The youngest first, as each goes to the head of its line.
        for (id, has_started) in taken.into_iter().rev() {
            let doom = self.requests.get(id).and_then(|request| request.doom);
            match (doom, has_started) {
                (Some(errno), _) => self.finish(id, Ending::unstarted(errno)),
                (None, true) => self.finish(id, Ending::unstarted(Errno::EIO)),
                (None, false) => self.requeue(id),
            }
        }
        self.has_doomed = false;
        let ended = before.saturating_sub(self.requests.iter().count());
        self.news = self.news.wrapping_add(1);
        self.expect(anew)?;
        self.purge_closed();
        Some(ended)
    }

    /// Puts a request that did not run back to the head of its line.
    pub(crate) fn requeue(&mut self, id: RequestId) {
        let Some(request) = self.requests.get_mut(id) else { return };
        request.stage = Stage::Waiting;
        let (file, fence) = (request.file, request.fence);
        let Some(known) = self.files.get_mut(&file) else { return };
        known.fences.set_running(fence, false);
        self.shares.returned(file);
        self.head_of_line(id);
    }

    /// Puts a request to the head of its file's line.
    pub(crate) fn head_of_line(&mut self, id: RequestId) {
        let Some(request) = self.requests.get(id) else { return };
        let (file, index) = (request.file, request.queue.index());
        let Some(known) = self.files.get_mut(&file) else { return };
        if let (Some(waiting), Some(turns)) = (known.waiting.get_mut(index), self.turns.get_mut(index)) {
            if waiting.is_empty() && !turns.contains(&file) {
                turns.push_front(file);
            }
            waiting.push_front(id);
        }
    }

    /// Compares what the registers say with what is known, and takes note of all that has ended.
    pub(crate) fn check_hardware(&mut self) {
        self.last_sign = self.clock.now();
        let checked = self.hardware.check(&mut self.bus);
        self.expect(checked);
        self.take_ended();
    }
}
