//! One transfer: its direction, its destination, its cost.
//!
//! Everything is counted in units of sixteen bytes. Directions 0 and 3 write scratch; directions 1 and 2
//! write what lies in a small address space of their own, where the low 64 KB are configuration space, a
//! window at `0x40000` is instruction RAM, and the rest is nowhere.

use super::profile::Profile;
use crate::codes;

pub const UNIT_BYTES: u32 = 16;

/// Bytes of configuration space and of the window of instruction RAM (mover 1; measured).
pub const WINDOW_BYTES: u32 = 0x1_0000;

/// First byte address of instruction RAM, in the address space of directions 1 and 2 (mover 1; measured).
pub const INSTRUCTION_RAM: u32 = 0x4_0000;

/// The bits of a size that count, by command and by XMOV; sizes are in units (mover 2, 4; measured).
pub const SIZE_MASK: u32 = 0xffff;

/// The bits of a direction that count, by command and by XMOV (mover 4; measured).
pub const DIRECTION_MASK: u32 = 3;

/// Most bytes that one transfer moves.
pub const MAX_BYTES: u32 = SIZE_MASK * UNIT_BYTES;

const _: () = assert!(MAX_BYTES == 1_048_560);

codes! {
    /// The direction of a transfer, by Tenstorrent's names.
    pub enum Direction: u8, "transfer direction" {
        /// Zeros to scratch.
        L0ToL1 = 0, "zero scratch";
        /// Scratch to configuration space or instruction RAM.
        L1ToL0 = 1, "scratch to configuration";
        /// Zeros to configuration space or instruction RAM.
        L0ToL0 = 2, "zero configuration";
        /// Scratch to scratch.
        L1ToL1 = 3, "scratch to scratch";
    }
}

impl Direction {
    /// The direction that the engine takes from a word: it looks at two bits.
    pub const fn from_word(word: u32) -> Self {
        match word & DIRECTION_MASK {
            0 => Self::L0ToL1,
            1 => Self::L1ToL0,
            2 => Self::L0ToL0,
            _ => Self::L1ToL1,
        }
    }

    /// True if the transfer reads scratch; a fill reads nothing, whatever its source address says.
    pub const fn copies(self) -> bool {
        matches!(self, Self::L1ToL0 | Self::L1ToL1)
    }

    pub const fn writes_scratch(self) -> bool {
        matches!(self, Self::L0ToL1 | Self::L1ToL1)
    }
}

/// An address in units of sixteen bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Units(pub u32);

impl Units {
    /// The byte address. One that leaves 32 bits is the last one: no memory reaches as far, so in scratch it is refused, and
    /// elsewhere it is as unmapped as any other place (Chosen; Tenstorrent's own model loses the bits).
    pub const fn byte_address(self) -> u32 {
        if self.0 > u32::MAX / UNIT_BYTES { u32::MAX } else { self.0 * UNIT_BYTES }
    }

    /// The address `offset` units on; wraps.
    #[must_use]
    pub const fn plus(self, offset: u32) -> Self {
        Self(self.0.wrapping_add(offset))
    }
}

impl core::fmt::Display for Units {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "unit {:#x}", self.0)
    }
}

/// A transfer, as a command of TDMA or an instruction of XMOV asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Transfer {
    /// Where it reads, in scratch; of no meaning in a fill.
    pub source: Units,
    pub destination: Units,
    /// Units that it moves; zero does nothing.
    pub size: u16,
    pub direction: Direction,
}

/// Where the first byte of a transfer's destination lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Destination {
    /// At a byte address.
    Scratch { at: u32 },
    /// At a byte offset.
    Configuration { at: u32 },
    /// At a byte offset, which is beyond the window only under [`Profile::Seed`].
    InstructionRam { at: u32 },
    /// In no memory: the bytes are lost.
    Nowhere,
}

impl Destination {
    /// Where `address` lies in a transfer of that direction.
    ///
    /// # Examples
    ///
    /// ```
    /// use ane_uapi::hw::mover::{Destination, Direction, Profile, Units};
    ///
    /// let at = |units| Destination::of(Direction::L1ToL0, Units(units), Profile::Isa);
    /// assert_eq!(at(0x10), Destination::Configuration { at: 0x100 });
    /// assert_eq!(at(0x4000), Destination::InstructionRam { at: 0 });
    /// assert_eq!(at(0x1000), Destination::Nowhere);
    /// ```
    pub const fn of(direction: Direction, address: Units, profile: Profile) -> Self {
        let byte = address.byte_address();
        if direction.writes_scratch() {
            return Self::Scratch { at: byte };
        }
        let in_instruction_ram = byte >= INSTRUCTION_RAM
            && match profile.rules().instruction_ram_end {
                Some(end) => byte < end,
                None => true,
            };
        if byte < WINDOW_BYTES {
            Self::Configuration { at: byte }
        } else if in_instruction_ram {
            Self::InstructionRam { at: byte - INSTRUCTION_RAM }
        } else {
            Self::Nowhere
        }
    }

    /// Bytes from here to the end of the window; `None` where the end is not the mover's to know.
    ///
    /// A transfer that is longer than this leaves its window. What silicon does then is undefined; the
    /// virtual engine refuses the whole transfer.
    pub const fn room(self) -> Option<u32> {
        match self {
            Self::Configuration { at } | Self::InstructionRam { at } => Some(WINDOW_BYTES.saturating_sub(at)),
            Self::Scratch { .. } | Self::Nowhere => None,
        }
    }
}

impl Transfer {
    /// The transfer that four parameter registers describe: source, destination, size, direction.
    pub const fn from_parameters([source, destination, size, direction]: [u32; 4]) -> Self {
        Self {
            source: Units(source),
            destination: Units(destination),
            size: (size & SIZE_MASK) as u16,
            direction: Direction::from_word(direction),
        }
    }

    pub const fn bytes(self) -> u32 {
        self.size as u32 * UNIT_BYTES
    }

    /// Where it writes first.
    pub const fn target(self, profile: Profile) -> Destination {
        Destination::of(self.direction, self.destination, profile)
    }

    /// Cycles for which the mover is busy with it.
    pub const fn cycles(self, contention: Contention) -> u32 {
        cycles(self.direction, self.size, contention)
    }
}

/// The use of scratch's ports by other blocks at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Contention {
    /// Nobody else does.
    #[default]
    Ideal,
    /// Others do, as they usually do while the machine computes.
    Contended,
}

/// Cycles for which the mover is busy with `units` units.
///
/// A copy alternates eight reads and eight writes every eleven cycles, a fill writes one unit in a cycle, and
/// contention slows down whatever touches scratch (seed 002, section 6; measured). That a copy whose length
/// is no multiple of eight rounds up to whole cycles is chosen.
///
/// # Examples
///
/// ```
/// use ane_uapi::hw::mover::{Direction, transfer::{Contention, cycles}};
///
/// // 1024 bytes in 88 cycles are 93.1 bits in a cycle.
/// assert_eq!(cycles(Direction::L1ToL1, 64, Contention::Ideal), 88);
/// ```
pub const fn cycles(direction: Direction, units: u16, contention: Contention) -> u32 {
    let units = units as u32;
    match (direction, contention) {
        (Direction::L1ToL0 | Direction::L1ToL1, Contention::Ideal) => (11 * units).div_ceil(8),
        (Direction::L1ToL0 | Direction::L1ToL1, Contention::Contended) => 4 * units,
        (Direction::L0ToL1, Contention::Contended) => 3 * units,
        (Direction::L0ToL1, Contention::Ideal) | (Direction::L0ToL0, _) => units,
    }
}
