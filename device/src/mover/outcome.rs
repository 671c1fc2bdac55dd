//! What can be wrong with a command, and what checking mode notes: values with names, never the end of anything.

use std::fmt;

use ane_uapi::hw::mover::Transfer;
use ane_uapi::hw::mover::command::BadCommand;
use ane_uapi::hw::mover::model::Outcome;
use ane_uapi::hw::mover::regs::Core;
use ane_uapi::hw::mover::xmov::NotXmov;

/// Refusals and notes that are kept until somebody takes them.
const KEPT: usize = 64;

/// Where something came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Command {
        core: Core,
        word: u32,
        /// The parameters that it took with it.
        parameters: [u32; 4],
    },
    Xmov {
        thread: u16,
        word: u32,
    },
    /// A packer, or who plays its part.
    Packer {
        packer: u16,
        word: u32,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    Command(BadCommand),
    NotXmov(NotXmov),
    /// There was no parameter credit left.
    NoCredit,
    /// The transfer reads, or writes, scratch that does not exist.
    OutsideScratch(Transfer),
    /// The transfer leaves configuration space or instruction RAM.
    OutsideWindow(Transfer),
    /// The write is to scratch that does not exist.
    WriteOutsideScratch {
        /// Byte address.
        at: u32,
        bytes: u8,
    },
    QueueFull,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    pub unit: Unit,
    pub reason: Reason,
    /// When it was found out, in cycles.
    pub cycle: u64,
}

/// Something that silicon lets pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// Source and destination share bytes; the copy is as if by way of a snapshot.
    Overlap(Transfer),
    /// STATUS was read while the mover was idle and commands were queued: a loop that looks at bit 0 alone ends here.
    IdleWithCommandsQueued { queued: u8 },
    /// The queue of a packer was asked for its oldest tile, and was empty.
    NoTile { packer: u16 },
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Command { core, word, parameters: [source, destination, size, direction] } => write!(
                f,
                "mover command {word:#010x} of core {core} ({source:#x}, {destination:#x}, {size:#x}, {direction:#x})"
            ),
            Self::Xmov { thread, word } => write!(f, "instruction {word:#010x} of thread {thread}"),
            Self::Packer { packer, word } => write!(f, "tile {word:#010x} of packer {packer}"),
        }
    }
}

/// A transfer in words.
struct Described(Transfer);

impl fmt::Display for Described {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Transfer { source, destination, size, direction } = self.0;
        write!(f, "{direction} of {size} units from {source} to {destination}")
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(bad) => bad.fmt(f),
            Self::NotXmov(bad) => bad.fmt(f),
            Self::NoCredit => f.write_str("parameter credits exhausted"),
            Self::OutsideScratch(transfer) => write!(f, "{} leaves scratch", Described(*transfer)),
            Self::OutsideWindow(transfer) => write!(f, "{} leaves its window", Described(*transfer)),
            Self::WriteOutsideScratch { at, bytes } => {
                write!(f, "write of {bytes} bytes at {at:#x} leaves scratch")
            }
            Self::QueueFull => f.write_str("queue of tiles is full"),
            Self::NoThread => f.write_str("there is no such thread"),
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} refused: {}", self.unit, self.reason)
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overlap(transfer) => write!(f, "mover: {} overlaps itself", Described(*transfer)),
            Self::IdleWithCommandsQueued { queued } => {
                write!(
                    f,
                    "mover: idle with {queued} commands queued, which bit 0 of STATUS alone does not tell"
                )
            }
            Self::NoTile { packer } => write!(f, "mover: packer {packer} has no finished tile"),
        }
    }
}

/// Refusals and notes, until somebody takes them.
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
