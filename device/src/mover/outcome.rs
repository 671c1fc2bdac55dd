//! The errors of a command, and the notes of checking mode: values with names, which never end the device.

use std::fmt;

use ane_uapi::hw::mover::Transfer;
use ane_uapi::hw::mover::command::BadCommand;
use ane_uapi::hw::mover::model::Outcome;
use ane_uapi::hw::mover::regs::Core;
use ane_uapi::hw::mover::xmov::NotXmov;
use thiserror::Error;

/// The number of refusals and of notes that are kept until they are taken.
const KEPT: usize = 64;

/// Where a command, an instruction or a tile came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Unit {
    /// `parameters` are those that the command took with it: source, destination, size, direction.
    #[error("mover command {word:#010x} of core {core} ({})", parameters.map(|word| format!("{word:#x}")).join(", "))]
    Command { core: Core, word: u32, parameters: [u32; 4] },
    #[error("instruction {word:#010x} of thread {thread}")]
    Xmov { thread: u16, word: u32 },
    /// A packer, or who plays its part.
    #[error("tile {word:#010x} of packer {packer}")]
    Packer { packer: u16, word: u32 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Reason {
    #[error("{0}")]
    Command(BadCommand),
    #[error("{0}")]
    NotXmov(NotXmov),
    #[error("parameter credits exhausted")]
    NoCredit,
    #[error("{} leaves scratch", Described(*.0))]
    OutsideScratch(Transfer),
    /// The transfer leaves configuration space or instruction RAM.
    #[error("{} leaves its window", Described(*.0))]
    OutsideWindow(Transfer),
    /// `at` is a byte address.
    #[error("write of {bytes} bytes at {at:#x} leaves scratch")]
    WriteOutsideScratch { at: u32, bytes: u8 },
    #[error("queue of tiles is full")]
    QueueFull,
    #[error("there is no such thread")]
    NoThread,
}

impl Reason {
    /// The name that a register has for it.
    pub const fn outcome(self) -> Outcome {
        match self {
            Self::Command(BadCommand::Unknown { .. }) => Outcome::UnknownCommand,
            Self::Command(
                BadCommand::CompactScratchWrite { .. } | BadCommand::ScratchWriteDisabled { .. },
            ) => Outcome::MalformedScratchWrite,
            Self::NotXmov(_) => Outcome::NotXmov,
            Self::NoCredit => Outcome::NoCredit,
            Self::OutsideScratch(_) | Self::WriteOutsideScratch { .. } => Outcome::OutsideScratch,
            Self::OutsideWindow(_) => Outcome::OutsideWindow,
            Self::QueueFull | Self::NoThread => Outcome::TileLost,
        }
    }
}

/// A command or an instruction that had no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{unit} refused: {reason}")]
pub struct Refused {
    pub unit: Unit,
    pub reason: Reason,
    /// When it was found out, in cycles.
    pub cycle: u64,
}

/// Something that silicon lets pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Note {
    /// Source and destination share bytes; the copy is as if by way of a snapshot.
    #[error("mover: {} overlaps itself", Described(*.0))]
    Overlap(Transfer),
    /// STATUS was read while the mover was idle and commands were queued: a loop that looks at bit 0 alone ends here.
    #[error("mover: idle with {queued} commands queued, which bit 0 of STATUS alone does not tell")]
    IdleWithCommandsQueued { queued: u8 },
    /// The queue of a packer was asked for its oldest tile, and was empty.
    #[error("mover: packer {packer} has no finished tile")]
    NoTile { packer: u16 },
}

/// A transfer in words.
struct Described(Transfer);

impl fmt::Display for Described {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Transfer { source, destination, size, direction } = self.0;
        write!(f, "{direction} of {size} units from {source} to {destination}")
    }
}

/// Refusals and notes, until they are taken.
#[derive(Debug, Default)]
pub(super) struct Log {
    refused: Vec<Refused>,
    notes: Vec<Note>,
}

impl Log {
    pub(super) fn refused(&mut self, refused: Refused) {
        if self.refused.len() < KEPT {
            self.refused.push(refused);
        }
    }

    pub(super) fn note(&mut self, note: Note) {
        if self.notes.len() < KEPT && self.notes.last() != Some(&note) {
            self.notes.push(note);
        }
    }

    pub(super) fn take_refused(&mut self) -> Vec<Refused> {
        std::mem::take(&mut self.refused)
    }

    pub(super) fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }
}
