//! One window: its registers, the fault it holds, its translation buffer.
//!
//! What a register is, and what it holds after a reset, stands in the block's table; this module adds what
//! reading and writing it does. Words that only have a place are stored and have no effect. A word of which
//! some bits are explained is refused if it sets others, because what it would do is not known. The exception
//! are sets of streams, which drivers write as all ones: bits without a stream are dropped.

use ane_uapi::hw::dart::regs::{
    self, Config, ErrorStatus, StreamCommand, StreamRemap, Streams, Tcr, WINDOW, Window,
};
use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::dart::ttbr::Ttbr;
use ane_uapi::hw::space::EngineOffset;
use ane_uapi::register::{Access, Register};

use super::fault::Capture;
use super::stream::{Gate, Rights};
use super::tlb::TranslationBuffer;
use crate::refusal::{Refusal, Why};

/// Bytes up to the last register that is stored.
const STORED: u32 = regs::BUFFER_CONTROL.info.offset + 4;

/// Offsets by which an access is told from the stored ones.
mod at {
    use super::regs;

    pub(super) const STREAM_COMMAND: u32 = regs::STREAM_COMMAND.offset();
    pub(super) const STREAM_SELECT: u32 = regs::STREAM_SELECT.offset();
    pub(super) const ERROR_STATUS: u32 = regs::ERROR_STATUS.offset();
    pub(super) const ERROR_ADDRESS_LOW: u32 = regs::ERROR_ADDRESS_LOW.offset();
    pub(super) const ERROR_ADDRESS_HIGH: u32 = regs::ERROR_ADDRESS_HIGH.offset();
    pub(super) const CONFIG: u32 = regs::CONFIG.offset();
    pub(super) const REMAP: [u32; 4] = [
        regs::STREAM_REMAP_0.offset(),
        regs::STREAM_REMAP_4.offset(),
        regs::STREAM_REMAP_8.offset(),
        regs::STREAM_REMAP_12.offset(),
    ];
    pub(super) const REMAP_FIRST: u32 = REMAP[0];
    pub(super) const REMAP_LAST: u32 = REMAP[3];
    pub(super) const ENABLED_STREAMS: u32 = regs::ENABLED_STREAMS.offset();
    pub(super) const TCR: u32 = regs::TCR.offset();
    pub(super) const TTBR: u32 = regs::TTBR.offset();
    pub(super) const BUFFER_STATUS: u32 = regs::BUFFER_STATUS.offset();
    pub(super) const BUFFER_ERROR_20: u32 = regs::BUFFER_ERROR_20.offset();
    pub(super) const BUFFER_ERROR_28: u32 = regs::BUFFER_ERROR_28.offset();
}

/// A stream at a window: the slot it has become, and what may pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct Admission {
    pub(super) slot: StreamId,
    pub(super) gate: Gate,
    pub(super) rights: Rights,
    /// The table base of every address in the aperture.
    pub(super) base: Ttbr,
}

/// The state of one window.
pub(super) struct WindowState {
    window: Window,
    words: [u32; STORED as usize / 4],
    pub(super) capture: Capture,
    pub(super) buffer: TranslationBuffer,
}

impl WindowState {
    /// A window as it is after a reset.
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

    fn register(&self, offset: u32) -> Result<&'static Register, Refusal> {
        if !offset.is_multiple_of(4) {
            return Err(self.refusal(offset, Why::Misaligned));
        }
        match WINDOW.find(offset) {
            Some((register, _)) => Ok(register),
            None => Err(self.refusal(offset, Why::NoRegister { block: self.window.name() })),
        }
    }

    /// What the register at `offset` reads as.
    pub(super) fn read(&self, offset: u32) -> Result<u32, Refusal> {
        let register = self.register(offset)?;
        Ok(match register.offset {
            // Commands end at once, so none is ever busy (Chosen).
            at::STREAM_COMMAND => 0,
            at::ERROR_STATUS => self.capture.status().into_bits(),
            at::ERROR_ADDRESS_LOW => self.capture.address().low(),
            at::ERROR_ADDRESS_HIGH => self.capture.address().high(),
            at::BUFFER_STATUS => self.capture.buffer_status().into_bits(),
            // No source says what these two hold. Chosen: status word and low address once more.
            at::BUFFER_ERROR_20 => self.capture.status().into_bits(),
            at::BUFFER_ERROR_28 => self.capture.address().low(),
            _ => self.word(offset),
        })
    }

    /// Does what writing `value` at `offset` does.
    pub(super) fn write(&mut self, offset: u32, value: u32) -> Result<(), Refusal> {
        let register = self.register(offset)?;
        match (register.offset, register.access) {
            (at::ERROR_STATUS, _) => self.capture.clear(ErrorStatus::from_bits(value)),
            (at::STREAM_COMMAND, _) => {
                self.explained(register, offset, value)?;
                if StreamCommand::from_bits(value).invalidate() {
                    self.buffer.invalidate(self.selected());
                }
            }
            (_, Access::ReadOnly) => {}
            _ => {
                let value = self.storable(register, offset, value)?;
                self.store(offset, value);
            }
        }
        Ok(())
    }

    /// The streams that a command is for.
    pub(super) fn selected(&self) -> Streams {
        Streams::from_bits(self.word(at::STREAM_SELECT))
    }

    /// The word to store, if the register takes it.
    fn storable(&self, register: &'static Register, offset: u32, value: u32) -> Result<u32, Refusal> {
        let is_locked = Config::from_bits(self.word(at::CONFIG)).lock();
        match register.offset {
            at::CONFIG | at::REMAP_FIRST..=at::REMAP_LAST | at::ENABLED_STREAMS | at::TCR | at::TTBR
                if is_locked =>
            {
                Err(self.refusal(offset, Why::Locked { register: register.name }))
            }
            at::STREAM_SELECT | at::ENABLED_STREAMS => Ok(u32::from(Streams::from_bits(value).mask())),
            at::REMAP_FIRST..=at::REMAP_LAST => {
                // A window has sixteen slots, a field has room for 256.
                self.only(register, offset, value, 0x0f0f_0f0f)
            }
            _ => self.explained(register, offset, value),
        }
    }

    /// The word, if it sets no unexplained bit of a word that is explained elsewhere.
    fn explained(&self, register: &'static Register, offset: u32, value: u32) -> Result<u32, Refusal> {
        if register.unknown == u32::MAX {
            return Ok(value);
        }
        self.only(register, offset, value, !register.unknown)
    }

    /// The word, if it sets none but the bits `defined`.
    fn only(
        &self,
        register: &'static Register,
        offset: u32,
        value: u32,
        defined: u32,
    ) -> Result<u32, Refusal> {
        match value & !defined {
            0 => Ok(value),
            bits => Err(self.refusal(offset, Why::UnexplainedBits { register: register.name, bits, value })),
        }
    }

    /// The slot that a stream becomes here.
    fn slot(&self, stream: StreamId) -> StreamId {
        let [first, second, third, fourth] = at::REMAP;
        let (offset, field) = match stream.number() {
            n @ 0..=3 => (first, n),
            n @ 4..=7 => (second, n & 3),
            n @ 8..=11 => (third, n & 3),
            n => (fourth, n & 3),
        };
        let remap = StreamRemap::from_bits(self.word(offset));
        let slot = match field {
            0 => remap.first(),
            1 => remap.second(),
            2 => remap.third(),
            _ => remap.fourth(),
        };
        // Larger numbers were refused when they were written.
        StreamId::new(u32::from(slot)).unwrap_or(stream)
    }

    /// The control word of a slot.
    pub(super) fn tcr(&self, slot: StreamId) -> Tcr {
        let offset = regs::TCR.info.at(slot.number().into()).unwrap_or(at::TCR);
        Tcr::from_bits(self.word(offset))
    }

    /// The table base of a slot for addresses in the aperture.
    pub(super) fn base(&self, slot: StreamId) -> Ttbr {
        let offset = slot.table_base(0).and_then(|index| regs::TTBR.info.at(index)).unwrap_or(at::TTBR);
        Ttbr::from_bits(self.word(offset))
    }

    /// What becomes of a stream here, as the registers stand.
    pub(super) fn admit(&self, stream: StreamId) -> Admission {
        let slot = self.slot(stream);
        let enabled = Streams::from_bits(self.word(at::ENABLED_STREAMS)).contains(slot);
        let tcr = self.tcr(slot);
        Admission {
            slot,
            gate: Gate::of(slot, enabled, tcr),
            rights: Rights::of_stream(tcr),
            base: self.base(slot),
        }
    }
}
