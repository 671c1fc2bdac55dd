//! The companion blocks: messages to PE_MMU, and the memories that the mover moves bytes between.
//!
//! The mover's time is modelled and follows the device's: so many cycles for each tick ([`CLOCK_HZ`]). Before
//! anything else sees a memory that the mover may write, commands whose time has come are processed.

use ane_uapi::hw::mover::model::CLOCK_HZ;
use vm_memory::GuestMemory;

use super::Ane;
use crate::bus::MoverWord;
use crate::engine::Engine;
use crate::firmware::Firmware;
use crate::mover::{Memories, Mover};
use crate::pe_mmu::node::TransactionRequest;
use crate::pe_mmu::{Message, Received, Rejected, Transaction, Why};
use crate::report::Kind;
use crate::time::{TICKS_PER_SECOND, Ticks};

const CYCLES_PER_SECOND: u64 = CLOCK_HZ as u64;

/// The mover's cycle at a time of the device, without the cycles for which a write was held.
const fn cycles(time: Ticks) -> u64 {
    let seconds = time.0 / TICKS_PER_SECOND;
    let rest = time.0 % TICKS_PER_SECOND;
    let whole = seconds.saturating_mul(CYCLES_PER_SECOND);
    whole.saturating_add(rest.saturating_mul(CYCLES_PER_SECOND) / TICKS_PER_SECOND)
}

const fn ticks(cycle: u64) -> Ticks {
    let seconds = cycle / CYCLES_PER_SECOND;
    let rest = cycle % CYCLES_PER_SECOND;
    let whole = seconds.saturating_mul(TICKS_PER_SECOND);
    Ticks(whole.saturating_add(rest.saturating_mul(TICKS_PER_SECOND).div_ceil(CYCLES_PER_SECOND)))
}

/// Why a message to PE_MMU had no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotInstalled {
    Absent,
    /// The device declared itself dead after a fault.
    Dead,
    /// An entry cannot be carried out.
    Rejected(Rejected),
}

impl<M: GuestMemory, E: Engine<M>> Ane<M, E> {
    /// Sends a message to PE_MMU and waits, in the fabric's time, until it is installed or refused.
    ///
    /// No circuit translates meanwhile, so none can meet the state before it. Host time does not pass: how long the
    /// message travelled is [`Ane::fabric_ps`].
    pub fn install(&mut self, message: Message) -> Result<(), NotInstalled> {
        if self.dart.is_dead() {
            return Err(NotInstalled::Dead);
        }
        let mmu = self.dart.before_mut().ok_or(NotInstalled::Absent)?;
        let transaction = Transaction { request: Some(TransactionRequest::Sideband(message)), done: 0 };
        // The inbox is empty between two calls.
        if self.fabric.send(self.fabric_ps, transaction).is_err() {
            return Err(NotInstalled::Rejected(Rejected { entry: 0, why: Why::TooMany }));
        }
        while let Some(at) = self.fabric.next() {
            self.fabric_ps = at;
            if let Some(Received::Done { outcome, .. }) = self.fabric.receive(at, mmu) {
                outcome.map_err(NotInstalled::Rejected)?;
            }
        }
        Ok(())
    }

    /// Picoseconds that messages to PE_MMU have travelled since the last reset. They are no part of any task's time.
    pub const fn fabric_ps(&self) -> u64 {
        self.fabric_ps
    }

    pub const fn firmware(&self) -> &Firmware {
        &self.firmware
    }

    pub const fn mover(&self) -> &Mover {
        &self.mover
    }

    /// The mover with its memories: scratch is tile L2, and instruction RAM is kernel memory.
    fn mover_and_memories(&mut self) -> (&mut Mover, Memories<'_>) {
        let memories = Memories {
            scratch: self.l2.bytes_mut(),
            known: self.engine.known(),
            configuration: self.mover_configuration.bytes_mut(),
            instruction_ram: self.kernel.sram_mut().bytes_mut(),
        };
        (&mut self.mover, memories)
    }

    pub(super) fn read_mover(&mut self, word: MoverWord, now: Ticks) -> u32 {
        let (mover, mut memories) = self.mover_and_memories();
        mover.advance(cycles(now), &mut memories);
        let value = match word {
            MoverWord::Core { core, register, index } => mover.read(core, register, index),
            MoverWord::Model { register, index } => mover.read_model(register, index),
            MoverWord::Configuration(offset) => self.mover_configuration.word(offset).unwrap_or_default(),
            MoverWord::Port { .. } => 0,
        };
        self.report_mover(now);
        value
    }

    pub(super) fn write_mover(&mut self, word: MoverWord, value: u32, now: Ticks) {
        let (mover, mut memories) = self.mover_and_memories();
        mover.advance(cycles(now), &mut memories);
        match word {
            MoverWord::Core { core, register, index } => {
                mover.write(core, register, index, value, &mut memories);
            }
            MoverWord::Model { register, index } => mover.write_model(register, index, value),
            MoverWord::Port { register, thread } => mover.write_port(register, thread, value, &mut memories),
            MoverWord::Configuration(offset) => {
                self.mover_configuration.set_word(offset, value);
            }
        }
        self.report_mover(now);
    }

    /// Processes the mover's commands whose time has come.
    pub(super) fn advance_mover(&mut self, now: Ticks) {
        if self.mover.next(cycles(now)).is_some() {
            let (mover, mut memories) = self.mover_and_memories();
            mover.advance(cycles(now), &mut memories);
            self.report_mover(now);
        }
    }

    /// When the mover's next command is due; `None` while none is queued.
    pub(super) fn next_of_mover(&self, now: Ticks) -> Option<Ticks> {
        self.mover.next(cycles(now)).map(ticks)
    }

    /// Logs what the mover refused and noted.
    fn report_mover(&mut self, now: Ticks) {
        for refused in self.mover.take_refused() {
            self.reporter.log(Kind::Mover, now, || refused.to_string());
        }
        for note in self.mover.take_notes() {
            self.reporter.log(Kind::Check, now, || format!("check: {note}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycle_has_come_at_its_tick_and_not_before() {
        for cycle in [0, 1, 41, 42, 88, 999_999_999, 1_000_000_000, 123_456_789_012] {
            let at = ticks(cycle);
            assert!(cycles(at) >= cycle, "{cycle}");
            assert!(at == Ticks(0) || cycles(Ticks(at.0 - 1)) < cycle, "{cycle}");
        }
    }
}
