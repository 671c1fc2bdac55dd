//! Power words and what they do to the rest of the engine, and accesses that a machine would not survive.
//!
//! A driver of the real engine stays away from its registers while an island is off or a DART holds a fault: the first is
//! an abort of the access, the second was seen to hang machines (contract 3.4). Here an access to an island that is off is
//! refused, and one with a fault held is answered; checking mode reports both.

use ane_uapi::hw::power::Island;
use ane_uapi::hw::space::EngineOffset;
use vm_memory::GuestMemory;

use super::Ane;
use crate::bus::Target;
use crate::counters::increment;
use crate::engine::Engine;
use crate::firmware::Firmware;
use crate::power::{Lost, Power};
use crate::refusal::{Refusal, Why};
use crate::report::Kind;
use crate::td::register_file::RegisterFile;
use crate::time::Ticks;
use crate::tm::TaskManager;

impl<M: GuestMemory, E: Engine<M>> Ane<M, E> {
    pub const fn power(&self) -> &Power {
        &self.power
    }

    /// Reads the power word at `offset` of its window; `None` where there is none.
    pub fn read_power(&self, offset: u32) -> Option<u32> {
        self.power.read(offset)
    }

    /// Writes the power word at `offset` of its window, with all that follows from it; false where there is none.
    pub fn write_power(&mut self, offset: u32, value: u32, now: Ticks) -> bool {
        let Some(lost) = self.power.write(offset, value) else { return false };
        match lost {
            None => {}
            Some(Lost::Engine) => self.forget_engine(),
            Some(Lost::Everything) => {
                self.forget_engine();
                self.dart.reset();
                self.announced_dead = false;
            }
        }
        if let Some(lost) = lost {
            log::debug!(target: "ane", "{} lost its power at {}: {lost:?}", self.identity, now.0);
        }
        true
    }

    /// Sets the parts on the base island back to their state after power-on.
    ///
    /// Deviation: memory on chip keeps its contents, which silicon does not promise.
    pub(super) fn forget_engine(&mut self) {
        self.end_early(self.begun());
        self.tm = TaskManager::default();
        self.registers = RegisterFile::default();
        self.engine.give_up();
        self.engine.reset();
        self.thread_task = None;
        self.aside.clear();
        self.dart.drop_stalled();
        self.drop_translations();
        self.mover.reset();
        self.firmware = Firmware::default();
        self.stored.reset();
        self.events.clear();
    }

    /// Refuses an access to what has no power.
    pub(super) fn powered(&self, target: Target, at: EngineOffset) -> Result<Target, Refusal> {
        let island = if matches!(target, Target::Dart(..)) { Island::System } else { Island::Base };
        if self.power.is_on(island) {
            Ok(target)
        } else {
            Err(Refusal::new(at, Why::Gated { island: island.name() }))
        }
    }

    /// Reports an access to the engine that a real one does not survive.
    pub(super) fn check_survives(&mut self, target: Target, at: EngineOffset, now: Ticks) {
        if !self.check || matches!(target, Target::Dart(..)) {
            return;
        }
        if let Some(window) = self.dart.line() {
            increment(&mut self.counters.hazards);
            self.reporter.log(Kind::Check, now, || {
                format!("check: access at {at} while {window} holds a fault, which hangs a real machine")
            });
        }
    }

    /// Reports a refused access to what has no power.
    pub(super) fn check_gated(&mut self, refusal: &Refusal, now: Ticks) {
        if let (true, Why::Gated { island }) = (self.check, refusal.why) {
            increment(&mut self.counters.hazards);
            let at = refusal.at;
            self.reporter.log(Kind::Check, now, || {
                format!("check: access at {at} while {island} is off, which is an abort on a real machine")
            });
        }
    }
}
