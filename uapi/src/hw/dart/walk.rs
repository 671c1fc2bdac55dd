//! The walk's arithmetic: which entry of which table an address leads to.
//!
//! ```text
//!   63      36 35       25 24       14 13        0
//!   [  TTBR  ] [ L2 index ] [ L3 index ] [ offset ]
//! ```
//!
//! A table is one page of 8-byte entries, 2048 of them, so an L3 table covers 32 MB and an L2 table 64 GB.
//! The aperture, at 3.5 GiB, needs one table base and 112 entries of one L2 table. The geometry follows from
//! page and entry size (facts B.3; Derived).

use super::aperture;
use super::error::FaultAddress;
use crate::hw::space::{Iova, PhysAddr};

pub const ENTRY_BYTES: u32 = 8;

/// Entries of one table.
pub const ENTRIES: u32 = aperture::PAGE_SIZE / ENTRY_BYTES;

/// Lowest address bit of the L3 index.
pub const L3_SHIFT: u32 = aperture::PAGE_SHIFT;

/// Lowest address bit of the L2 index.
pub const L2_SHIFT: u32 = L3_SHIFT + 11;

/// Lowest address bit of the table-base index.
pub const TTBR_SHIFT: u32 = L2_SHIFT + 11;

/// L2 entries that cover the aperture.
pub const APERTURE_L2_ENTRIES: u32 = (aperture::SIZE >> L2_SHIFT) as u32;

/// Leaves that cover the aperture.
pub const APERTURE_PAGES: u32 = (aperture::SIZE >> L3_SHIFT) as u32;

const _: () = {
    assert!(ENTRIES == 1 << 11);
    assert!(L2_SHIFT == 25 && TTBR_SHIFT == 36);
    assert!(APERTURE_L2_ENTRIES == 112 && APERTURE_PAGES == 229_376);
    assert!(aperture::SIZE.is_multiple_of(1 << L2_SHIFT));
};

/// An address, taken apart for the walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WalkIndices {
    /// Index of the table base; 0 for every address below 64 GB.
    pub ttbr: u32,
    /// Index in the L2 table, below 2048.
    pub l2: u16,
    /// Index in the L3 table, below 2048.
    pub l3: u16,
    /// Byte in the page, below 16384.
    pub offset: u16,
}

impl WalkIndices {
    const fn of(address: u64) -> Self {
        const INDEX: u64 = ENTRIES as u64 - 1;
        Self {
            ttbr: (address >> TTBR_SHIFT) as u32,
            l2: ((address >> L2_SHIFT) & INDEX) as u16,
            l3: ((address >> L3_SHIFT) & INDEX) as u16,
            offset: (address & (aperture::PAGE_SIZE as u64 - 1)) as u16,
        }
    }

    /// The indices of a device address.
    ///
    /// # Examples
    ///
    /// ```
    /// use ane_uapi::hw::dart::walk::WalkIndices;
    /// use ane_uapi::hw::space::Iova;
    ///
    /// let last = WalkIndices::of_iova(Iova(0xdfff_ffff));
    /// assert_eq!((last.ttbr, last.l2, last.l3, last.offset), (0, 111, 2047, 0x3fff));
    /// ```
    pub const fn of_iova(iova: Iova) -> Self {
        Self::of(iova.0 as u64)
    }

    /// The indices of an address that faulted, which may have a high half.
    pub const fn of_fault(address: FaultAddress) -> Self {
        Self::of(address.0)
    }
}

/// Where entry `index` of the table at `table` lies; `None` if that wraps.
pub const fn entry(table: PhysAddr, index: u16) -> Option<PhysAddr> {
    table.checked_add(index as u64 * ENTRY_BYTES as u64)
}
