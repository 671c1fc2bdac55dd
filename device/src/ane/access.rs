//! Register accesses: what a word's target does when it is read or written, at any width.

use std::ops::Range;

use ane_uapi::hw::mmio_map::Region;
use ane_uapi::hw::pe_mmu::PE_MMU;
use ane_uapi::hw::space::EngineOffset;
use ane_uapi::register::{Access, Register};
use vm_memory::GuestMemory;

use super::Ane;
use crate::bus::{Span, Target};
use crate::counters::increment;
use crate::engine::Engine;
use crate::firmware::BarWrite;
use crate::halves::halves;
use crate::pe_mmu::PeMmu;
use crate::refusal::{Refusal, Result, Why};
use crate::time::Ticks;

/// The bytes of a word.
const WHOLE: Range<u32> = 0..4;

/// The refusal of a read from a register that only starts something.
const fn write_only(at: EngineOffset, register: &Register) -> Refusal {
    Refusal::new(at, Why::WriteOnly { register: register.name })
}

impl<M: GuestMemory, E: Engine<M>> Ane<M, E> {
    /// Reads a word.
    ///
    /// # Errors
    ///
    /// The refusal of an access that has no answer. It was counted and logged.
    pub fn read(&mut self, at: EngineOffset, now: Ticks) -> Result<u32> {
        self.find(at, now)
            .and_then(|target| self.read_target(target, at, now))
            .map_err(|refusal| self.refuse(refusal, now))
    }

    pub fn write(&mut self, at: EngineOffset, value: u32, now: Ticks) -> Result<()> {
        self.write_bytes(at, value, WHOLE, now)
    }

    /// Writes a word of which only some bytes are new.
    fn write_bytes(&mut self, at: EngineOffset, value: u32, new: Range<u32>, now: Ticks) -> Result<()> {
        self.find(at, now)
            .and_then(|target| self.write_target(target, at, (value, new), now))
            .map_err(|refusal| self.refuse(refusal, now))
    }

    /// Reads 1, 2, 4 or 8 bytes, by the rules of [`bus`](crate::bus).
    pub fn read_wide(&mut self, at: EngineOffset, bytes: u8, now: Ticks) -> Result<u64> {
        match Span::new(at, bytes, false).map_err(|refusal| self.refuse(refusal, now))? {
            Span::Word(word) => self.read(word, now).map(u64::from),
            Span::Part { word, shift, mask } => {
                self.read(word, now).map(|value| u64::from(value.wrapping_shr(shift) & mask))
            }
            Span::Pair(low, high) => {
                let low = self.read(low, now)?;
                let high = self.read(high, now)?;
                Ok(u64::from(high) << 32 | u64::from(low))
            }
        }
    }

    /// Writes 1, 2, 4 or 8 bytes, by the rules of [`bus`](crate::bus).
    ///
    /// # Errors
    ///
    /// The refusal of an access that has no effect; of eight bytes, the lower four may have had theirs.
    pub fn write_wide(&mut self, at: EngineOffset, bytes: u8, value: u64, now: Ticks) -> Result<()> {
        // Bits beyond the width are dropped, as on a bus.
        let (low, high) = halves(value);
        match Span::new(at, bytes, true).map_err(|refusal| self.refuse(refusal, now))? {
            Span::Word(word) => self.write(word, low, now),
            Span::Part { word, shift, mask } => {
                let kept = self.read(word, now)? & !mask.wrapping_shl(shift);
                let first = shift.wrapping_div(u8::BITS);
                let new = first..first.saturating_add(bytes.into());
                self.write_bytes(word, kept | (low & mask).wrapping_shl(shift), new, now)
            }
            Span::Pair(first, second) => {
                self.write(first, low, now)?;
                self.write(second, high, now)
            }
        }
    }

    fn find(&mut self, at: EngineOffset, now: Ticks) -> Result<Target> {
        if self.dart.is_dead() {
            return Err(Refusal::new(at, Why::Dead));
        }
        let target = self.powered(Target::find(at)?, at)?;
        self.check_survives(target, at, now);
        Ok(target)
    }

    fn refuse(&mut self, refusal: Refusal, now: Ticks) -> Refusal {
        self.check_gated(&refusal, now);
        self.counters.count_refusal(refusal.category);
        self.reporter.refused(refusal, now);
        refusal
    }

    pub(super) fn read_target(&mut self, target: Target, at: EngineOffset, now: Ticks) -> Result<u32> {
        match target {
            Target::Dart(window, offset) => self.dart.read(window, offset),
            Target::Manager { register, index } => {
                self.tm.read(register, index).ok_or_else(|| write_only(at, register.register()))
            }
            Target::Queue { queue, register, offset } => {
                if register.register().unknown == u32::MAX {
                    self.reporter.remark(at, now, "no bit of the register is known, its reset value is read");
                }
                self.tm.read_queue(queue, register, offset).ok_or_else(|| write_only(at, register.register()))
            }
            Target::Configuration { row, address } => Ok(self.registers.shown(address).unwrap_or(row.reset)),
            Target::Stored(_) => Ok(self.stored.get(at)),
            Target::Clock { high } => Ok(if high { now.high() } else { now.low() }),
            Target::Version => Ok(self.identity.version()),
            Target::Performance { report, high } => {
                let (lower, upper) = halves(self.report(report));
                Ok(if high { upper } else { lower })
            }
            Target::KernelMemory(offset) => {
                self.advance_mover(now);
                Ok(self.kernel.sram().word(offset).unwrap_or_default())
            }
            Target::TileL2(offset) => {
                self.advance_mover(now);
                Ok(self.l2.word(offset).unwrap_or_default())
            }
            Target::Mover(word) => Ok(self.read_mover(word, now)),
            Target::Firmware { register, index } => Ok(self.firmware.read(register, index)),
            Target::PeMmu { register, index } => Ok(self.pe_mmu_at(at)?.read(register, index)),
        }
    }

    /// Writes a word to what it is for; what nobody knew of the bytes that are not new, nobody knows afterwards.
    fn write_target(
        &mut self,
        target: Target,
        at: EngineOffset,
        (value, new): (u32, Range<u32>),
        now: Ticks,
    ) -> Result<()> {
        if matches!(target, Target::PeMmu { .. }) {
            self.pe_mmu_at(at)?;
        }
        // Writing takes a tile out, as reading does.
        let pops = |row: &Register| matches!(target, Target::Mover(_)) && row.access == Access::Pop;
        if let Some(row) = target.row().filter(|row| !pops(row)) {
            self.check_write(row, at, value, now)?;
        }
        match target {
            Target::Dart(window, offset) => {
                self.dart.write(window, offset, value)?;
                if self.dart.retry(window, offset, value, &self.memory) {
                    self.tm.unpark(now);
                }
            }
            Target::Manager { register, .. } => {
                let effect = self.tm.write(register, value, now);
                self.follow(effect, now);
            }
            Target::Queue { queue, register, offset } => {
                let effect = self.tm.write_queue(queue, register, offset, value);
                self.follow(effect, now);
            }
            Target::Configuration { address, .. } => {
                self.reporter.remark(at, now, "configuration is written by descriptors, not by drivers");
                self.registers.write(address, value);
            }
            Target::Stored(region) => {
                if region == Region::Asc && !self.tm.is_idle() {
                    increment(&mut self.counters.hazards);
                    self.reporter.remark(at, now, "coprocessor's range was written while a request runs");
                }
                self.stored.set(at, value);
            }
            Target::Clock { .. } | Target::Version | Target::Performance { .. } => {
                self.reporter.remark(at, now, "word cannot be written");
            }
            Target::KernelMemory(offset) => {
                self.advance_mover(now);
                self.kernel.sram_mut().set_word(offset, value);
            }
            Target::TileL2(offset) => {
                self.advance_mover(now);
                if self.l2.set_word(offset, value).is_some()
                    && let Some(known) = self.engine.known()
                {
                    known.written(offset.saturating_add(new.start), new.end.saturating_sub(new.start));
                }
            }
            Target::Mover(word) => self.write_mover(word, value, now),
            Target::Firmware { register, index } => {
                // The address that it binds is written as a driver would write it.
                if let Some(BarWrite { at, value }) = self.firmware.write(register, index, value) {
                    let target = Target::find(at)?;
                    self.write_target(target, at, (value, WHOLE), now)?;
                }
            }
            Target::PeMmu { register, .. } => self.pe_mmu_at(at)?.write(register, value),
        }
        Ok(())
    }

    fn pe_mmu_at(&mut self, at: EngineOffset) -> Result<&mut PeMmu> {
        self.dart.before_mut().ok_or(Refusal::new(at, Why::Absent { block: PE_MMU.name }))
    }

    /// Reports, or refuses, what is remarkable about a value.
    fn check_write(&mut self, row: &Register, at: EngineOffset, value: u32, now: Ticks) -> Result<()> {
        if matches!(row.access, Access::ReadOnly | Access::Pop) {
            self.reporter.remark(at, now, "register cannot be written");
            return Ok(());
        }
        let bits = value & row.unknown;
        if bits == 0 {
            return Ok(());
        }
        let refusal = Refusal::new(at, Why::UnexplainedBits { register: row.name, bits, value });
        if self.strict {
            return Err(refusal);
        }
        // The value is kept and shown all the same: drivers write bits that no source explains.
        self.refuse(refusal, now);
        Ok(())
    }
}
