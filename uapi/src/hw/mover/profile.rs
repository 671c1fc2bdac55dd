//! Where seed 002 and Tenstorrent's instruction-set pages differ, as data.
//!
//! Seed 002 is the default, and the instruction-set pages (ISA) are the other choice (`--mover-profile`). A
//! difference is one field of [`Rules`]; code asks the rules and never which profile it is.
//!
//! Only what the seed *says otherwise* is a difference. Where it is silent, both profiles do as the ISA does:
//! two parameter credits, two bits of direction and sixteen of size by command and by XMOV, the encoding of command
//! `0x66`, per-thread metadata, a clock-gate register that stores. One statement of the seed is followed by
//! neither: it reads XMOV's direction from a whole word, which is the word that also holds the size; Tenstorrent's
//! field table and a later edition of the seed's own page give bits 31:30, see [`super::xmov`].

use crate::named;

named! {
    /// The description of the mover that the model follows.
    #[derive(Default)]
    pub enum Profile {
        /// Seed 002.
        #[default]
        Seed "seed",
        /// Tenstorrent's instruction-set pages.
        Isa "isa",
    }
}

/// The effect of an unmapped destination on a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unmapped {
    /// The transfer ends at once: no time passes and nothing is read.
    Returns,
    /// The transfer runs its course, and its writes are lost.
    RunsAndDiscards,
}

/// The layout of STATUS: it reports errors, or parameter credits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StatusLayout {
    /// Bit 1 is a second mover, bit 4 an error flag: [`super::status::SeedStatus`].
    Seed,
    /// Bits 4 and 5 tell of parameter credits: [`super::status::Status`].
    Isa,
}

/// The points on which the two differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The layout of STATUS (mover 7, number 1).
    pub status: StatusLayout,
    /// The value of STATUS when nothing is queued or running (number 2).
    pub idle_status: u32,
    /// First byte address behind instruction RAM; `None` where it is said to have no end (number 3).
    pub instruction_ram_end: Option<u32>,
    /// The effect of an unmapped destination (number 4).
    pub unmapped: Unmapped,
}

impl Profile {
    pub const fn rules(self) -> &'static Rules {
        const TABLE: &[Rules; 2] = &RULES;
        &TABLE[self as usize]
    }
}

/// The rules of each profile, in the order of [`Profile::ALL`].
///
/// Seed 002 gives two values for an idle STATUS: its bit list makes `0x408`, its note for emulators returns
/// [`EMULATOR_IDLE_STATUS`]. The bit list is followed, because the note leaves out the free slots.
pub const RULES: [Rules; 2] = [
    Rules {
        status: StatusLayout::Seed,
        idle_status: 0x408,
        instruction_ram_end: None,
        unmapped: Unmapped::Returns,
    },
    Rules {
        status: StatusLayout::Isa,
        idle_status: 0x428,
        instruction_ram_end: Some(0x5_0000),
        unmapped: Unmapped::RunsAndDiscards,
    },
];

/// A value of an idle STATUS that seed 002, section 7 permits an emulator: queue empty and nothing else.
pub const EMULATOR_IDLE_STATUS: u32 = 0x08;

const _: () = {
    assert!(Profile::Seed as usize == 0 && Profile::Isa as usize == 1);
    // Tenstorrent's wait loop only looks at the bits that both idle values have.
    assert!(RULES[0].idle_status & 0x9 == EMULATOR_IDLE_STATUS);
    assert!(RULES[1].idle_status & 0x9 == EMULATOR_IDLE_STATUS);
};
