//! Handles: how clients name buffers, pools and programs.
//!
//! A handle is an index with a generation. The index finds the object, the generation tells it from those
//! that had the index before, so use after free has a name: `ESTALE`, where a handle that was never given out
//! is `ENOENT`. Generations start at zero: the first handles of a file are 1, 2, 3, as GEM's are, which is
//! what existing clients expect of a buffer. That split is this project's own choice.

use crate::abi::{Item, Section, constants};

constants! {
    CONSTANTS;
    /// The handle that names nothing.
    pub const NONE: u32 = 0, "ANE_HANDLE_NONE";
    /// Bits of the index, which counts from 1: a million objects for one file are more than the aperture has
    /// pages.
    pub const INDEX_BITS: u32 = 20, "ANE_HANDLE_INDEX_BITS";
    /// The index's bits in a handle.
    pub const INDEX_MASK: u32 = 0xfffff, "ANE_HANDLE_INDEX_MASK";
    /// Lowest bit of the generation, which reaches to bit 31. An index whose generation is used up is not
    /// used again.
    pub const GENERATION_SHIFT: u32 = 20, "ANE_HANDLE_GENERATION_SHIFT";
    /// The last generation.
    pub const GENERATION_MAX: u32 = 0xfff, "ANE_HANDLE_GENERATION_MAX";
}

const _: () = {
    assert!(INDEX_MASK == (1 << INDEX_BITS) - 1 && GENERATION_SHIFT == INDEX_BITS);
    assert!(GENERATION_MAX == u32::MAX >> GENERATION_SHIFT);
};

/// A handle that names something, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handle {
    index: u32,
    generation: u32,
}

impl Handle {
    /// The handle of `index` in its `generation`; `None` if either does not fit, or the index is zero.
    pub const fn new(index: u32, generation: u32) -> Option<Self> {
        if index == 0 || index > INDEX_MASK || generation > GENERATION_MAX {
            return None;
        }
        Some(Self { index, generation })
    }

    /// Takes a client's word apart; `None` if its index is zero, so that it can name nothing.
    pub const fn from_raw(raw: u32) -> Option<Self> {
        Self::new(raw & INDEX_MASK, raw >> GENERATION_SHIFT)
    }

    /// The word that clients hold.
    pub const fn raw(self) -> u32 {
        self.generation << GENERATION_SHIFT | self.index
    }

    /// Where the object is found; from 1.
    pub const fn index(self) -> u32 {
        self.index
    }

    /// How many objects had the index before.
    pub const fn generation(self) -> u32 {
        self.generation
    }
}

impl core::fmt::Display for Handle {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "handle {:#x}", self.raw())
    }
}

pub(super) const SECTION: Section = Section {
    title: "Handles",
    doc: "Buffers, pools and programs of a file share one space of handles. A handle is an index in its low \
          bits and a generation above. One that was never given out fails with ENOENT, one whose object is \
          gone with ESTALE, one whose object is of another kind with EINVAL. (The ioctls of existing clients \
          say EINVAL to all three.)",
    items: &[Item::Constants(CONSTANTS)],
};
