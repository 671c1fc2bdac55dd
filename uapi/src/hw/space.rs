//! The four address spaces that meet in one request.
//!
//! | space | type | who speaks it |
//! |---|---|---|
//! | physical | [`PhysAddr`] | guest memory; page-table entries and table bases name it |
//! | A | [`Iova`] | every DMA address that the engine sees, before the DART translates it |
//! | B | [`EngineOffset`] | offsets in the engine's 32 MB MMIO container |
//! | C | [`ApertureAddr`] | where the firmware's rebase puts a tile; moves with every load |
//!
//! The letters are those of seed 000, table 28.7. A bare integer never crosses a function boundary as an
//! address: adding an IOVA to an engine offset is a type error here, and was a debugging session elsewhere.

use core::fmt;

use thiserror::Error;

use super::dart::aperture;

macro_rules! address {
    ($( #[$meta:meta] )* $name:ident($int:ty), $prefix:literal) => {
        $( #[$meta] )*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub $int);

        impl $name {
            /// The address `bytes` further on, unless that leaves the type.
            pub const fn checked_add(self, bytes: $int) -> Option<Self> {
                match self.0.checked_add(bytes) {
                    Some(sum) => Some(Self(sum)),
                    None => None,
                }
            }

            /// True if the address is a multiple of `align`, which has to be a power of two.
            pub const fn is_aligned(self, align: $int) -> bool {
                self.0 & (align - 1) == 0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, " {:#x}"), self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, " {:#x}"), self.0)
            }
        }
    };
}

address! {
    /// An address in guest memory, below all translation.
    PhysAddr(u64), "pa"
}

address! {
    /// Space A: a device virtual address, translated by the DART.
    ///
    /// 32 bits wide: the firmware asserts that every address it programs has no high half (seed 000).
    Iova(u32), "iova"
}

address! {
    /// Space B: an offset in the engine's MMIO container, `0..0x2000000`.
    ///
    /// Container-relative, so that one map serves every chip; the chip table holds the absolute bases.
    EngineOffset(u32), "engine"
}

address! {
    /// Space C: a tile address after the firmware's rebase.
    ApertureAddr(u64), "aperture"
}

impl EngineOffset {
    /// Length of the container (seed 004).
    pub const CONTAINER: u32 = 0x200_0000;
}

/// A non-empty run of IOVAs that lies inside the aperture.
///
/// [`IovaRange::new`] is the only way to make one, so whoever holds a range need not check it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IovaRange {
    base: Iova,
    len: u32,
}

/// Why two numbers do not make an [`IovaRange`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BadRange {
    #[error("range at iova {base:#x} is empty")]
    Empty { base: u64 },
    /// The engine's clamp refuses such an address.
    #[error("iova {base:#x} has bits above 31")]
    Above32Bits { base: u64 },
    /// The range ends beyond the aperture, or beyond 2^64.
    #[error("range of {len:#x} bytes at iova {base:#x} leaves the aperture of {:#x} bytes", aperture::SIZE)]
    BeyondAperture { base: u64, len: u64 },
}

impl IovaRange {
    /// A range of `len` bytes from `base`.
    ///
    /// # Errors
    ///
    /// Refuses a zero length, an address above 32 bits, and whatever does not end inside the aperture.
    ///
    /// # Examples
    ///
    /// ```
    /// use ane_uapi::hw::space::{BadRange, IovaRange};
    ///
    /// assert!(IovaRange::new(0xdfff_ffff, 1).is_ok());
    /// assert!(matches!(IovaRange::new(0xdfff_ffff, 2), Err(BadRange::BeyondAperture { .. })));
    /// assert!(matches!(IovaRange::new(0x1_0000_0000, 1), Err(BadRange::Above32Bits { .. })));
    /// assert!(matches!(IovaRange::new(0x4000, 0), Err(BadRange::Empty { .. })));
    /// ```
    pub const fn new(base: u64, len: u64) -> Result<Self, BadRange> {
        if len == 0 {
            return Err(BadRange::Empty { base });
        }
        if base >> 32 != 0 {
            return Err(BadRange::Above32Bits { base });
        }
        match base.checked_add(len) {
            // Both fit 32 bits: the aperture is shorter than 4 GiB.
            Some(end) if end <= aperture::SIZE => Ok(Self { base: Iova(base as u32), len: len as u32 }),
            _ => Err(BadRange::BeyondAperture { base, len }),
        }
    }

    pub const fn base(self) -> Iova {
        self.base
    }

    /// Length in bytes; never zero.
    #[expect(clippy::len_without_is_empty, reason = "a range is never empty")]
    pub const fn len(self) -> u32 {
        self.len
    }

    /// First address behind the range; at most the aperture's size, which still fits.
    pub const fn end(self) -> Iova {
        Iova(self.base.0 + self.len)
    }

    pub const fn contains(self, iova: Iova) -> bool {
        iova.0 >= self.base.0 && iova.0 - self.base.0 < self.len
    }

    /// True if the two share a byte.
    pub const fn overlaps(self, other: Self) -> bool {
        self.base.0 < other.end().0 && other.base.0 < self.end().0
    }

    /// True if all of `other` lies inside.
    pub const fn covers(self, other: Self) -> bool {
        self.base.0 <= other.base.0 && other.end().0 <= self.end().0
    }
}
