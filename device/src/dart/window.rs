//! One window: its registers, the fault it holds, its translation buffer.
//!
//! The block's table has the fields of each register and its value after a reset; this module adds the effects
//! of reads and writes. Words of which only the place is known are stored and have no effect. A word with some
//! bits that are explained refuses a write that sets others, because the effect would be unknown. Sets of
//! streams are the exception: drivers write them as all ones, and bits without a stream are dropped.

use ane_uapi::hw::dart::regs::{
    self, Config, ErrorStatus, RegisterId, StreamCommand, StreamRemap, Streams, Tcr, WINDOW, Window,
};
use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::dart::ttbr::Ttbr;
use ane_uapi::hw::space::EngineOffset;

use super::fault::Capture;
use super::stream::{Gate, Rights};
use super::tlb::TranslationBuffer;
use crate::refusal::{Refusal, Result, Why};

/// Bytes up to the last register that is stored.
const STORED: u32 = regs::BUFFER_CONTROL.info.offset + 4;

/// A stream at a window: the slot it has become, and what may pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct Admission {
    pub(super) slot: StreamId,
    pub(super) gate: Gate,
    pub(super) rights: Rights,
    /// The table base of every address in the aperture.
    pub(super) base: Ttbr,
}

impl Admission {
    /// True if the other window does with the stream what this one does, whatever slots they use.
    pub(super) fn agrees(&self, other: &Self) -> bool {
        self.gate == other.gate
            && match self.gate {
                Gate::Closed(_) => true,
                Gate::Through => self.rights == other.rights,
                Gate::Translated => self.rights == other.rights && self.base == other.base,
            }
    }
}

pub(super) struct WindowState {
    window: Window,
    words: [u32; STORED as usize / 4],
    pub(super) capture: Capture,
    pub(super) buffer: TranslationBuffer,
}

impl WindowState {
    pub(super) fn new(window: Window) -> Box<Self> {
        let mut state = Box::new(Self {
            window,
            words: [0; STORED as usize / 4],
            capture: Capture::EMPTY,
            buffer: TranslationBuffer::new(),
        });
        state.reset();
        state
    }

    /// Everything back to where it was, an untaken fault included.
    pub(super) fn reset(&mut self) {
        self.words.fill(0);
        for register in WINDOW.registers {
            for offset in (0..register.count).filter_map(|index| register.at(index)) {
                self.store(offset, register.reset);
            }
        }
        self.capture = Capture::EMPTY;
        self.buffer.clear();
    }

    fn word(&self, offset: u32) -> u32 {
        usize::try_from(offset / 4).ok().and_then(|word| self.words.get(word)).copied().unwrap_or(0)
    }

    fn store(&mut self, offset: u32, value: u32) {
        if let Some(word) = usize::try_from(offset / 4).ok().and_then(|word| self.words.get_mut(word)) {
            *word = value;
        }
    }

    fn refusal(&self, offset: u32, why: Why) -> Refusal {
        Refusal::new(EngineOffset(self.window.base().0.saturating_add(offset)), why)
    }

    fn register(&self, offset: u32) -> Result<RegisterId> {
        if !offset.is_multiple_of(4) {
            return Err(self.refusal(offset, Why::Misaligned));
        }
        match RegisterId::find(offset) {
            Some((register, _)) => Ok(register),
            None => Err(self.refusal(offset, Why::NoRegister { block: self.window.name() })),
        }
    }

    pub(super) fn read(&self, offset: u32) -> Result<u32> {
        Ok(match self.register(offset)? {
            // Commands end at once, so none is ever busy (Chosen).
            RegisterId::STREAM_COMMAND => 0,
            RegisterId::ERROR_STATUS => self.capture.status().into_bits(),
            RegisterId::ERROR_ADDRESS_LOW => self.capture.address().low(),
            RegisterId::ERROR_ADDRESS_HIGH => self.capture.address().high(),
            RegisterId::BUFFER_STATUS => self.capture.buffer_status().into_bits(),
            // No source says what these two hold. Chosen: status word and low address once more.
            RegisterId::BUFFER_ERROR_20 => self.capture.status().into_bits(),
            RegisterId::BUFFER_ERROR_28 => self.capture.address().low(),
            RegisterId::PARAMS1
            | RegisterId::PARAMS2
            | RegisterId::STREAM_SELECT
            | RegisterId::CONFIG
            | RegisterId::CONFIG_68
            | RegisterId::CONFIG_6C
            | RegisterId::STREAM_REMAP_0
            | RegisterId::STREAM_REMAP_4
            | RegisterId::STREAM_REMAP_8
            | RegisterId::STREAM_REMAP_12
            | RegisterId::FILTER_LOCK
            | RegisterId::UNKNOWN_F8
            | RegisterId::ENABLED_STREAMS
            | RegisterId::TCR
            | RegisterId::TTBR
            | RegisterId::BUFFER_CONTROL => self.word(offset),
        })
    }

    pub(super) fn write(&mut self, offset: u32, value: u32) -> Result<()> {
        let register = self.register(offset)?;
        let stored = match register {
            RegisterId::PARAMS1
            | RegisterId::PARAMS2
            | RegisterId::ERROR_ADDRESS_LOW
            | RegisterId::ERROR_ADDRESS_HIGH
            | RegisterId::BUFFER_STATUS
            | RegisterId::BUFFER_ERROR_20
            | RegisterId::BUFFER_ERROR_28 => return Ok(()),
            RegisterId::ERROR_STATUS => {
                self.capture.clear(ErrorStatus::from_bits(value));
                return Ok(());
            }
            RegisterId::STREAM_COMMAND => {
                self.explained(register, offset, value)?;
                if StreamCommand::from_bits(value).invalidate() {
                    self.buffer.invalidate(self.selected());
                }
                return Ok(());
            }
            RegisterId::STREAM_SELECT => u32::from(Streams::from_bits(value).mask()),
            RegisterId::CONFIG | RegisterId::TCR | RegisterId::TTBR => {
                self.unlocked(register, offset)?;
                self.explained(register, offset, value)?
            }
            RegisterId::ENABLED_STREAMS => {
                self.unlocked(register, offset)?;
                u32::from(Streams::from_bits(value).mask())
            }
            RegisterId::STREAM_REMAP_0
            | RegisterId::STREAM_REMAP_4
            | RegisterId::STREAM_REMAP_8
            | RegisterId::STREAM_REMAP_12 => {
                self.unlocked(register, offset)?;
                // A window has sixteen slots, a field has room for 256.
                self.only(register, offset, value, 0x0f0f_0f0f)?
            }
            RegisterId::CONFIG_68
            | RegisterId::CONFIG_6C
            | RegisterId::FILTER_LOCK
            | RegisterId::UNKNOWN_F8
            | RegisterId::BUFFER_CONTROL => self.explained(register, offset, value)?,
        };
        self.store(offset, stored);
        Ok(())
    }

    pub(super) fn selected(&self) -> Streams {
        Streams::from_bits(self.word(regs::STREAM_SELECT.offset()))
    }

    /// Refuses a write to a register that the lock of Config protects, while the lock is set.
    fn unlocked(&self, register: RegisterId, offset: u32) -> Result<()> {
        if Config::from_bits(self.word(regs::CONFIG.offset())).lock() {
            return Err(self.refusal(offset, Why::Locked { register: register.register().name }));
        }
        Ok(())
    }

    /// The word, if it sets no unexplained bit of a word that is explained elsewhere.
    fn explained(&self, register: RegisterId, offset: u32, value: u32) -> Result<u32> {
        match register.register().unknown {
            u32::MAX => Ok(value),
            unknown => self.only(register, offset, value, !unknown),
        }
    }

    /// The word, if it sets only bits of `defined`.
    fn only(&self, register: RegisterId, offset: u32, value: u32, defined: u32) -> Result<u32> {
        match value & !defined {
            0 => Ok(value),
            bits => {
                let register = register.register().name;
                Err(self.refusal(offset, Why::UnexplainedBits { register, bits, value }))
            }
        }
    }

    /// The slot that a stream becomes here.
    fn slot(&self, stream: StreamId) -> StreamId {
        let (register, field) = match stream.number() {
            n @ 0..=3 => (regs::STREAM_REMAP_0, n),
            n @ 4..=7 => (regs::STREAM_REMAP_4, n & 3),
            n @ 8..=11 => (regs::STREAM_REMAP_8, n & 3),
            n => (regs::STREAM_REMAP_12, n & 3),
        };
        let remap = StreamRemap::from_bits(self.word(register.offset()));
        let slot = match field {
            0 => remap.first(),
            1 => remap.second(),
            2 => remap.third(),
            _ => remap.fourth(),
        };
        // Larger numbers were refused when they were written.
        StreamId::new(u32::from(slot)).unwrap_or(stream)
    }

    fn tcr(&self, slot: StreamId) -> Tcr {
        let offset = regs::TCR.info.at(slot.number().into()).unwrap_or(regs::TCR.offset());
        Tcr::from_bits(self.word(offset))
    }

    fn base(&self, slot: StreamId) -> Ttbr {
        let offset =
            slot.table_base(0).and_then(|index| regs::TTBR.info.at(index)).unwrap_or(regs::TTBR.offset());
        Ttbr::from_bits(self.word(offset))
    }

    /// The treatment of a stream here, by the present registers.
    pub(super) fn admit(&self, stream: StreamId) -> Admission {
        let slot = self.slot(stream);
        let enabled = Streams::from_bits(self.word(regs::ENABLED_STREAMS.offset())).contains(slot);
        let tcr = self.tcr(slot);
        Admission {
            slot,
            gate: Gate::of(slot, enabled, tcr),
            rights: Rights::of_stream(tcr),
            base: self.base(slot),
        }
    }
}
