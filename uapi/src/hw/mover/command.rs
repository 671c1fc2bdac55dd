//! The words that are written to the command register.
//!
//! Every write enqueues one command. A *parameterised* command (bit 31 clear) takes the four parameter
//! registers with it, as they are at that moment, and one of two *parameter credits* until it leaves the
//! queue. A *compact* command (bit 31 set) holds everything in its one word, for the short copies that load
//! a descriptor into configuration space.
//!
//! Tenstorrent's silicon has a bug here: without a credit left, the write should wait and does not. Software
//! therefore writes [`NOTHING`] after each parameterised command, so that the queue of four is full, and
//! makes the writer wait, before the credits run out.

use thiserror::Error;

use super::transfer::{Direction, Transfer, Units};
use crate::register::{Show, Word};
use crate::{codes, layout};

/// Commands that the queue holds (seed 002, section 3; measured).
pub const QUEUE_DEPTH: u8 = 4;

/// Parameterised commands that the queue holds at a time (mover 4; measured).
pub const PARAMETER_CREDITS: u8 = 2;

/// The command that software puts behind each parameterised one.
pub const NOTHING: u32 = 0x8000_0089;

/// The compact form of the command that waits for the mover.
pub const WAIT: u32 = 0x8000_0046;

codes! {
    /// The operation of a command.
    pub enum Opcode: u8, "mover command" {
        /// Waits until the mover is idle, starts a transfer, and goes on.
        Move = 0x40, "move";
        /// Waits until the mover is idle.
        Wait = 0x46, "wait";
        /// Writes one or two words to scratch.
        ScratchWrite = 0x66, "scratch write";
        /// Nothing.
        Nothing = 0x89, "nothing";
    }
}

layout! {
    /// Any command: what it does, and whether it is compact.
    pub struct CommandWord {
        /// The operation.
        #[bits(8)] opcode: u8 => Show::Codes(Opcode::CODES),
        /// Operands, by opcode and form.
        #[bits(23)] operands: u32 => Show::Hex,
        /// The word holds everything; clear, the four parameter registers belong to it.
        #[bits(1)] compact: bool
    }
}

layout! {
    /// A compact transfer out of scratch.
    pub struct CompactMove {
        /// [`Opcode::Move`].
        #[bits(8)] opcode: u8 => Show::Codes(Opcode::CODES),
        /// Units from the thread's base to the source.
        #[bits(8)] source: u8 => Show::Hex,
        /// Destination, in units.
        #[bits(8)] destination: u8 => Show::Hex,
        /// Units.
        #[bits(6)] size: u8,
        /// To scratch; clear, to configuration space.
        #[bits(1)] to_scratch: bool,
        /// Set.
        #[bits(1)] compact: bool
    }
}

layout! {
    /// A parameterised write of one or two words to scratch.
    ///
    /// Parameter 0 is a *byte* address, parameter 2 the value, parameter 3 its high half.
    pub struct ScratchWriteWord {
        /// [`Opcode::ScratchWrite`].
        #[bits(8)] opcode: u8 => Show::Codes(Opcode::CODES),
        /// 64 bits are written instead of 32.
        #[bits(1)] wide: bool,
        /// Both bits have to be set.
        #[bits(2)] enable: u8 => Show::Hex,
        #[bits(20)] __: u32,
        /// Clear.
        #[bits(1)] compact: bool
    }
}

impl CompactMove {
    /// The word for a transfer of `size` units, at most 63.
    pub const fn encode(
        source: u8,
        destination: u8,
        size: u8,
        to_scratch: bool,
    ) -> Result<Self, SizeTooLarge> {
        if size > Self::MAX_SIZE {
            return Err(SizeTooLarge { size });
        }
        Ok(Self::new()
            .with_opcode(Opcode::Move as u8)
            .with_source(source)
            .with_destination(destination)
            .with_size(size)
            .with_to_scratch(to_scratch)
            .with_compact(true))
    }

    pub const MAX_SIZE: u8 = 63;

    /// The transfer, from the base register of the thread that enqueued it.
    ///
    /// The base is read when the command is processed. No source says which thread's base that is. (Chosen) It is that of the
    /// thread that enqueued the command.
    pub const fn transfer(self, base: Units) -> Transfer {
        Transfer {
            source: base.plus(self.source() as u32),
            destination: Units(self.destination() as u32),
            size: self.size() as u16,
            direction: if self.to_scratch() { Direction::L1ToL1 } else { Direction::L1ToL0 },
        }
    }
}

/// A compact command cannot move that many units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("compact move of {size} units exceeds {}", CompactMove::MAX_SIZE)]
pub struct SizeTooLarge {
    /// Units.
    pub size: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// A transfer, described by the parameter registers.
    Move,
    /// A transfer, described by the word.
    CompactMove(CompactMove),
    /// A write to scratch, described by the parameter registers.
    ScratchWrite {
        /// 64 bits instead of 32.
        wide: bool,
    },
    /// Waits until the mover is idle.
    Wait,
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BadCommand {
    #[error("mover command {word:#010x}: opcode {:#04x} is unknown", word & 0xff)]
    Unknown { word: u32 },
    #[error("mover command {word:#010x}: a scratch write has no compact form")]
    CompactScratchWrite { word: u32 },
    #[error("mover command {word:#010x}: a scratch write needs bits 10 and 9 set")]
    ScratchWriteDisabled { word: u32 },
}

/// True if enqueueing the word takes the parameter registers and a credit.
///
/// The form decides, not the opcode: `0x89` without bit 31 takes a credit too.
pub const fn takes_parameters(word: u32) -> bool {
    !CommandWord::from_bits(word).compact()
}

impl Command {
    /// The command that the engine takes from a word.
    ///
    /// # Examples
    ///
    /// ```
    /// use ane_uapi::hw::mover::command::{BadCommand, Command};
    ///
    /// assert_eq!(Command::decode(0x0140), Ok(Command::Move));
    /// assert_eq!(Command::decode(0x8000_0089), Ok(Command::Nothing));
    /// assert_eq!(Command::decode(0x8000_0055), Err(BadCommand::Unknown { word: 0x8000_0055 }));
    /// ```
    pub fn decode(word: u32) -> Result<Self, BadCommand> {
        let command = CommandWord::from_word(word);
        match Opcode::try_from(command.opcode()) {
            Ok(Opcode::Move) if command.compact() => Ok(Self::CompactMove(CompactMove::from_word(word))),
            Ok(Opcode::Move) => Ok(Self::Move),
            Ok(Opcode::Wait) => Ok(Self::Wait),
            Ok(Opcode::Nothing) => Ok(Self::Nothing),
            Ok(Opcode::ScratchWrite) => {
                let write = ScratchWriteWord::from_word(word);
                if write.compact() {
                    Err(BadCommand::CompactScratchWrite { word })
                } else if write.enable() != 0b11 {
                    Err(BadCommand::ScratchWriteDisabled { word })
                } else {
                    Ok(Self::ScratchWrite { wide: write.wide() })
                }
            }
            Err(_) => Err(BadCommand::Unknown { word }),
        }
    }
}
