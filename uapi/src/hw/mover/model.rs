//! The virtual engine's additions to the mover: switches, the outcome of commands, and a stand-in for packers.
//!
//! On Tenstorrent's silicon a command that makes no sense has effects that nobody describes, and no register
//! reports it. Here it has no effect, and these registers report it to a driver that cannot see the device's
//! log. The packers, whose metadata the mover's block shows, do not exist here either: a program that takes
//! their part reports finished tiles through [`PACK_TILE`]. All of it is chosen.

use super::regs::PACKERS;
use crate::hw::space::EngineOffset;
use crate::register::Show;
use crate::{codes, layout, registers};

/// Cycles of the mover in a second: what Tenstorrent's earlier chip runs at (chosen).
pub const CLOCK_HZ: u32 = 1_000_000_000;

/// Finished tiles that a packer's queue holds (chosen; no source gives the number).
pub const TILES: usize = 16;

codes! {
    /// The reason why the last command or instruction that failed was refused.
    pub enum Outcome: u8, "mover outcome" {
        /// None was refused since the last reset.
        Fine = 0, "fine";
        /// No such command.
        UnknownCommand = 1, "unknown command";
        /// The write to scratch has no compact form, or its enable bits are not set.
        MalformedScratchWrite = 2, "malformed scratch write";
        /// The source, or a destination in scratch, does not lie in scratch from end to end.
        OutsideScratch = 3, "outside scratch";
        /// The destination does not lie in configuration space or instruction RAM from end to end.
        OutsideWindow = 4, "outside window";
        /// There was no parameter credit left.
        NoCredit = 5, "parameter credits exhausted";
        /// The word is no XMOV.
        NotXmov = 6, "not an xmov";
        /// The packer's queue of tiles was full, or there is no such packer's thread.
        TileLost = 7, "tile lost";
    }
}

layout! {
    /// How the mover was made.
    pub struct Attributes {
        /// It follows the instruction-set pages; clear, seed 002.
        #[bits(1)] isa: bool,
        /// Parameter words and wait conditions are where Tenstorrent's earlier chip has them.
        #[bits(1)] wormhole: bool,
        /// Programming mistakes that silicon lets pass are reported.
        #[bits(1)] checks: bool,
        #[bits(29)] __: u32
    }
}

layout! {
    /// Switches.
    pub struct Control {
        /// Others use the ports of scratch too, so transfers take longer.
        #[bits(1)] contended: bool,
        /// A command without a parameter credit waits for one, as it should have; clear, it is refused.
        #[bits(1)] waits_for_credit: bool,
        #[bits(30)] __: u32
    }
}

layout! {
    /// The reason of the last refusal of a command or an instruction.
    pub struct LastOutcome {
        /// It.
        #[bits(8)] outcome: u8 => Show::Codes(Outcome::CODES),
        #[bits(24)] __: u32
    }
}

layout! {
    /// A number that only grows, and wraps.
    pub struct Count {
        /// The number.
        #[bits(32)] count: u32
    }
}

layout! {
    /// A finished tile.
    pub struct Tile {
        /// Bytes that it has.
        #[bits(16)] bytes: u16,
        /// Thread that packed it, 0 to 2.
        #[bits(2)] thread: u8,
        #[bits(14)] __: u16
    }
}

layout! {
    /// The zero parts of the next finished tile.
    pub struct PackMask {
        /// Parts.
        #[bits(32)] parts: u32 => Show::Hex
    }
}

registers! {
    /// The mover as a model: switches, outcomes, and packers' stand-in.
    ///
    /// A counter of two words is read low half first, which holds the high half until it is read.
    pub block MODEL "mover_model", base EngineOffset(0x1f1_8000), 0x00 + 0x54;

    /// How the mover was made.
    ATTRIBUTES "ATTRIBUTES" @ 0x00: Attributes, ReadOnly, Chosen, "mover 7";
    /// Switches.
    CONTROL "CONTROL" @ 0x04: Control, ReadWrite, Chosen, "mover 4, 6";
    /// The reason of the last refusal of a command or an instruction.
    LAST_OUTCOME "LAST_OUTCOME" @ 0x08: LastOutcome, ReadOnly, Chosen, "mover 8, R40";
    /// Commands and instructions that were refused.
    REFUSED "REFUSED" @ 0x0c: Count, ReadOnly, Chosen, "mover 8, R40";
    /// Transfers that were carried out.
    TRANSFERS "TRANSFERS" @ 0x10: Count, ReadOnly, Chosen, "mover 6";
    /// Cycles of the last of them.
    LAST_CYCLES "LAST_CYCLES" @ 0x14: Count, ReadOnly, Chosen, "mover 6";
    /// Cycles of all of them together.
    BUSY_CYCLES "BUSY_CYCLES" @ 0x18 [2; 4]: Count, ReadOnly, Chosen, "mover 6";
    /// Cycles for which writers had to wait: for a free slot, a credit, or the mover.
    WAITED_CYCLES "WAITED_CYCLES" @ 0x20 [2; 4]: Count, ReadOnly, Chosen, "mover 4";
    /// The zero parts of the next finished tile.
    PACK_MASK "PACK_MASK" @ 0x40: PackMask, ReadWrite, Chosen, "seed 002, section 5";
    /// A packer finished a tile; reads as 0.
    PACK_TILE "PACK_TILE" @ 0x44 [4; 4]: Tile, Trigger, Chosen, "seed 002, section 5";
}

const _: () = assert!(PACK_TILE.info.count == PACKERS);
