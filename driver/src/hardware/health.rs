//! Health: a device that does not answer, one that says it is dead, and one that has to start anew.
//!
//! A device that does not answer any more is *lost*: what was in flight ends with `ENODEV`, and so does every call
//! until it is found again. The memory is the driver's, so buffers and tables are all still there then. A device that
//! declared itself *dead* takes nothing but a reset.

use std::time::Duration;

use ane_uapi::hw::tm::Committed;
use ane_uapi::wire::ctrl::Status;

use super::Hardware;
use crate::bus::{Bus, BusError};
use crate::clock::Time;
use crate::journal::LineKind;
use crate::tm::{RequestId, manager};

/// How often a lost device is looked for.
const SEARCH: Duration = Duration::from_millis(20);

/// The pause after a search that took long, in lengths of that search: calls are answered meanwhile, and not during it.
const PAUSES: u32 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Health {
    /// It takes work.
    Ready,
    /// It declared itself dead, and takes nothing but a reset.
    Dead,
    /// It does not answer; it is looked for again at that time.
    Lost(Time),
}

/// The reason why a device takes no work any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// It declared itself dead.
    Dead,
    /// It does not answer.
    Lost,
}

impl<B: Bus> Hardware<B> {
    pub(crate) fn is_ready(&self) -> bool {
        self.health == Health::Ready
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.health == Health::Dead
    }

    pub(crate) const fn is_lost(&self) -> bool {
        matches!(self.health, Health::Lost(_))
    }

    /// The value of an outcome. An error is noted: the device is dead or lost then.
    pub(crate) fn note<T>(&mut self, outcome: Result<T, BusError>) -> Option<T> {
        match outcome {
            Ok(value) => return Some(value),
            Err(BusError::Refused { status: Status::Dead, .. }) => self.die(),
            Err(why) => self.lose(&why),
        }
        None
    }

    pub(crate) fn die(&mut self) {
        if !self.is_dead() {
            self.log(LineKind::Device, || {
                "device declared itself dead after a fault; it has to be reset".to_owned()
            });
            self.health = Health::Dead;
            self.has_failed = true;
        }
    }

    fn lose(&mut self, why: &BusError) {
        if !self.is_lost() {
            log::error!(target: "ane::driver", "device is lost: {why}");
            let now = self.now();
            self.health = Health::Lost(now);
            self.ring_at(now);
            self.has_failed = true;
        }
    }

    /// How the device failed since this was last asked, if it did. Nothing that was with it ends by itself any more.
    pub(crate) fn take_failure(&mut self) -> Option<Failure> {
        if !std::mem::take(&mut self.has_failed) {
            return None;
        }
        Some(if self.is_dead() { Failure::Dead } else { Failure::Lost })
    }

    /// Looks for a lost device; true if it was found now.
    pub(crate) fn search(&mut self) -> bool {
        let now = self.now();
        let Health::Lost(at) = self.health else { return false };
        if now < at {
            self.ring_at(at);
            return false;
        }
        let before = *self.bus.config();
        if self.bus.find_again().is_err() || *self.bus.config() != before || self.start_anew().is_err() {
            let took = self.now().since(now);
            let next = self.now().after(SEARCH.max(took.saturating_mul(PAUSES)));
            self.health = Health::Lost(next);
            self.ring_at(next);
            return false;
        }
        log::info!(target: "ane::driver", "device was found again");
        true
    }

    /// Resets the device and writes everything again. `None` if that failed, and the device is lost.
    pub(crate) fn reset(&mut self) -> Option<()> {
        let anew = self.start_anew();
        // How it failed before does not matter any more.
        self.has_failed = false;
        self.note(anew)
    }

    fn start_anew(&mut self) -> Result<(), BusError> {
        self.bus.reset()?;
        // Events that were on their way when the device was reset belong to requests that have ended.
        while self.bus.arrived()?.is_some() {}
        self.queues.registers_lost();
        self.bring_up()?;
        self.restore_regions()?;
        self.is_suspended = false;
        self.last_work = self.now();
        self.last_sign = self.last_work;
        self.health = Health::Ready;
        Ok(())
    }

    /// Forgets what was with the device, the oldest first, and whether it had started as far as the registers tell.
    pub(crate) fn take_back_all(&mut self) -> Vec<(RequestId, bool)> {
        let committed = self.bus.read(manager(&ane_uapi::hw::tm::COMMITTED)).map(Committed::from_bits).ok();
        self.queues.take_all(committed.map(|committed| committed.nid())).collect()
    }
}
