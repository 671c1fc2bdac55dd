//! Power: the register writes when the device comes up, and when it goes to sleep.
//!
//! The device sleeps when no client has used it for a second. It then has no power, so its registers lose their values.
//! Before the next work everything is written again: table bases and control words of every context in
//! all three windows, priorities, enables. A device that was resumed without that finds no tables and faults at its
//! first transfer.

use std::time::Duration;

use ane_uapi::hw::status::EngineStatus;

use super::Hardware;
use crate::bus::{Bus, BusError, Operation};
use crate::clock::Time;
use crate::tm::TaskManager;

/// How long the device has to be idle before it is suspended (facts D.8: the existing driver's second).
pub const AUTOSUSPEND: Duration = Duration::from_secs(1);

/// The engine's status word while it works; which bits change then no source says (Chosen: as the device has it).
pub(super) const AT_WORK: EngineStatus = EngineStatus::from_bits(0xa1);

impl<B: Bus> Hardware<B> {
    /// Writes everything that the device has to know before it takes work.
    pub(super) fn bring_up(&mut self) -> Result<(), BusError> {
        let mut writes = Vec::new();
        self.contexts.restore(&mut writes);
        TaskManager::enable(&mut writes);
        self.carry_out(&writes)
    }

    /// Takes that back, in reverse.
    pub(super) fn shut_down(&mut self) -> Result<(), BusError> {
        self.queues.settle(&mut self.bus, true)?;
        let mut writes = Vec::new();
        TaskManager::disable(&mut writes);
        self.contexts.withdraw(&mut writes);
        self.carry_out(&writes)?;
        self.queues.registers_lost();
        Ok(())
    }

    /// Writes in as many batches as the device needs.
    fn carry_out(&mut self, writes: &[Operation]) -> Result<(), BusError> {
        let limit = usize::from(self.bus.config().batch_max.get()).max(1);
        for part in writes.chunks(limit) {
            self.bus.batch(part, &mut [])?;
        }
        Ok(())
    }

    /// The engine's status word: powered and idle, the same without power, or at work.
    pub(crate) fn status(&self) -> EngineStatus {
        if self.queues.count() != 0 || self.queues.has_aside() {
            AT_WORK
        } else {
            EngineStatus::POWERED_IDLE.with_powered(!self.is_suspended)
        }
    }

    /// Suspends the device if it was idle for long enough.
    pub(crate) fn autosuspend(&mut self, now: Time) {
        let is_due =
            self.is_ready() && self.status().is_powered_idle() && now >= self.last_work.after(AUTOSUSPEND);
        if is_due {
            let shut = self.shut_down();
            self.is_suspended = self.note(shut).is_some();
        }
    }

    /// Gives the device its power back, and everything that it forgot without. False if it is lost.
    pub(crate) fn wake(&mut self) -> bool {
        if self.is_suspended {
            let up = self.bring_up();
            if self.note(up).is_none() {
                return false;
            }
            self.is_suspended = false;
        }
        true
    }
}
