//! XMOV: the coprocessor's instruction for a transfer, and how a thread waits for the mover.
//!
//! The instruction itself says almost nothing. Its parameters are four words of configuration space, in the
//! bank that the issuing thread's *state id* selects; the direction sits in the two top bits of the size
//! word. A thread that issues XMOV waits until the mover can start, pays one cycle, and goes on while the
//! transfer runs.
//!
//! STALLWAIT makes a thread wait: a block mask says which of its instructions, a condition mask says for
//! what. Tenstorrent's two chips put the parameter words and the mover's condition in different places
//! ([`Tensix`]).
//!
//! The virtual engine has no coprocessor to run such threads. It has a port in their place, one word for each
//! thread: writing an instruction there issues it (chosen).

use thiserror::Error;

use super::transfer::{Direction, Transfer, Units};
use crate::hw::space::EngineOffset;
use crate::register::{Show, Word};
use crate::{layout, registers};

/// Opcode of XMOV (seed 002, section 1).
pub const OPCODE: u8 = 0x40;

/// Threads that issue instructions.
pub const THREADS: u16 = 3;

layout! {
    /// An XMOV instruction.
    pub struct Instruction {
        /// Flushes accumulation buffers at the end; without effect on the bytes.
        #[bits(1)] last: bool; Derived,
        #[bits(22)] __: u32,
        /// The move block, one of two; without effect on the bytes.
        #[bits(1)] block_selection: bool; Derived,
        /// `0x40`.
        #[bits(8)] opcode: u8 => Show::Hex
    }
}

/// A word that is no XMOV instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("instruction {word:#010x} has opcode {:#04x} and is no xmov", word >> 24)]
pub struct NotXmov {
    pub word: u32,
}

impl Instruction {
    /// The instruction.
    ///
    /// ```
    /// use ane_uapi::hw::mover::xmov::Instruction;
    ///
    /// assert_eq!(Instruction::encode(true, true).into_bits(), 0x4080_0001);
    /// ```
    pub const fn encode(block_selection: bool, last: bool) -> Self {
        Self::new().with_opcode(OPCODE).with_block_selection(block_selection).with_last(last)
    }

    pub fn decode(word: u32) -> Result<Self, NotXmov> {
        let instruction = Self::from_word(word);
        if instruction.opcode() == OPCODE { Ok(instruction) } else { Err(NotXmov { word }) }
    }
}

layout! {
    /// The parameter word that holds size and direction.
    pub struct SizeAndDirection {
        /// Units; the engine uses the low sixteen bits.
        #[bits(16)] units: u16,
        /// The rest of the size field, which the engine ignores.
        #[bits(14)] ignored: u16 => Show::Hex,
        /// The direction of the transfer.
        #[bits(2)] direction: u8 => Show::Codes(Direction::CODES); Derived
    }
}

/// The four words of configuration space that XMOV reads: source, destination, size and direction, metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Descriptor(pub [u32; 4]);

impl Descriptor {
    /// The transfer that it describes; the fourth word is not used.
    pub const fn transfer(self) -> Transfer {
        let [source, destination, size, _] = self.0;
        let size = SizeAndDirection::from_bits(size);
        Transfer {
            source: Units(source),
            destination: Units(destination),
            size: size.units(),
            direction: Direction::from_word(size.direction() as u32),
        }
    }

    /// The words that describe a transfer.
    pub const fn encode(transfer: Transfer) -> Self {
        let size = SizeAndDirection::new().with_units(transfer.size).with_direction(transfer.direction as u8);
        Self([transfer.source.0, transfer.destination.0, size.into_bits(), 0])
    }
}

/// Words of one bank of configuration space (chosen: room for Tenstorrent's, at a round number).
pub const BANK_WORDS: u32 = 0x100;

/// Banks of configuration space.
pub const BANKS: u32 = 2;

/// The word of configuration space that holds thread 0's state id in bit 0; the other threads' follow
/// (chosen; Tenstorrent's thread configuration follows the banks likewise).
pub const STATE_ID_WORD: u32 = BANKS * BANK_WORDS;

/// Configuration space in the container (chosen: in the extension range).
pub const CONFIGURATION: EngineOffset = EngineOffset(0x1f2_0000);

/// The bank that a thread's state word selects.
pub const fn bank(state_word: u32) -> u32 {
    state_word & (BANKS - 1)
}

/// Tenstorrent's chip whose places for parameter words and wait conditions are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Tensix {
    /// The later chip, which seed 002 describes.
    #[default]
    Blackhole,
    /// The earlier chip, which the instruction-set pages describe.
    Wormhole,
}

impl Tensix {
    /// Both chips.
    pub const ALL: [Self; 2] = [Self::Blackhole, Self::Wormhole];

    /// Index inside a bank of the first of XMOV's four words (mover 2; derived).
    pub const fn descriptor_word(self) -> u32 {
        match self {
            Self::Blackhole => 88,
            Self::Wormhole => 76,
        }
    }

    /// The condition "the mover has requests outstanding", of commands or XMOV: C9 or C12 (mover 2; measured).
    pub const fn mover_busy(self) -> u32 {
        match self {
            Self::Blackhole => 1 << 9,
            Self::Wormhole => 1 << 12,
        }
    }

    /// The conditions that STALLWAIT waits for: a mask of zero stands for another one (mover 2; measured).
    pub const fn conditions(self, mask: u32) -> u32 {
        match (mask, self) {
            (0, Self::Blackhole) => 0x0f,
            (0, Self::Wormhole) => 0x7f,
            _ => mask,
        }
    }

    /// True if STALLWAIT with this condition mask waits for the mover.
    pub const fn waits_for_mover(self, mask: u32) -> bool {
        self.conditions(mask) & self.mover_busy() != 0
    }
}

/// STALLWAIT's block bit B0: stops XMOV together with the scalar unit, packers and unpackers.
pub const BLOCK_TDMA: u32 = 0x01;

/// STALLWAIT's block bit B4: stops XMOV alone.
pub const BLOCK_XMOV: u32 = 0x10;

/// The block mask that stands in for zero.
pub const BLOCK_DEFAULT: u32 = 1 << 6;

/// True if STALLWAIT with this block mask stops XMOV (mover 2; measured).
pub const fn blocks_xmov(mask: u32) -> bool {
    let mask = if mask == 0 { BLOCK_DEFAULT } else { mask };
    mask & (BLOCK_TDMA | BLOCK_XMOV) != 0
}

/// Cycles that a STALLWAIT blocks for at the least, even if its condition is already met.
pub const STALLWAIT_MIN_CYCLES: u32 = 1;

/// Cycles that the instruction takes once the mover can start.
pub const ISSUE_CYCLES: u32 = 1;

layout! {
    /// A STALLWAIT, as far as the mover is concerned; the order of its masks here is chosen.
    pub struct StallWait {
        /// The conditions for which the thread waits.
        #[bits(16)] condition: u16 => Show::Hex,
        /// The instructions of the thread that wait.
        #[bits(16)] block: u16 => Show::Hex
    }
}

registers! {
    /// Issue port of XMOV: the virtual engine's stand-in for the coprocessor's threads.
    pub block PORT "xmov", base EngineOffset(0x1f3_0000), 0x00 + 0x1c;

    /// Issues the instruction written, on the thread whose word it is; reads as 0.
    ISSUE "ISSUE" @ 0x0 [3; 4]: Instruction, Trigger, Chosen, "mover 2";
    /// Has the thread wait before it issues what the block mask names; reads as 0.
    STALL_WAIT "STALLWAIT" @ 0x10 [3; 4]: StallWait, Trigger, Chosen, "mover 2";
}

const _: () = {
    assert!(ISSUE.info.count == THREADS && STALL_WAIT.info.count == THREADS);
    assert!(Tensix::Blackhole.descriptor_word() + 4 <= BANK_WORDS);
    assert!((STATE_ID_WORD + THREADS as u32) * 4 <= super::transfer::WINDOW_BYTES);
};
