//! PE_MMU: a table of mappings that sits before the DART, and costs its callers time.
//!
//! It has two faces on one table (seed 001, D1). As a *node* it receives map and unmap messages from the
//! fabric and applies each as a whole; a message takes the fabric's time to arrive. As a *utility* it is
//! called by its siblings, the DMA circuits beside it: translating an address is pure, changes nothing and
//! takes no time of its own; the caller then waits for [`OVERHEAD_PS`] itself (D2), so that the time appears
//! in the caller's record.
//!
//! The words:
//!
//! * *page*: [`PageSize`] bytes of virtual address; its number is the address divided by the size.
//! * *region*: a part of one page and the physical address it leads to. A page has a list of them, in order
//!   of arrival, and the newest that covers an address wins. Mapping only appends; unmapping takes out the
//!   regions that lie *wholly* inside the range, and leaves the others whole.
//! * *page fault*: no region covers the address. It is a signal and not an error: the address is then used as
//!   a physical one (D4). In the virtual engine what comes out still goes through the DART.
//!
//! Regions smaller than a page are a stopgap of the simulator that this comes from: they let 128-byte shards
//! share a page, and no real MMU has them (D3).
//!
//! *Known asymmetry* (D2.1): in that simulator the DMA's pipeline path forgets to wait, so that work through
//! it looks faster by the overhead of each translation. Here both paths pay, which is the remedy that the
//! record prefers; [`Control::pipeline_exempt`] brings the asymmetry back for comparison.
//!
//! Seed 001 has no registers. The block below is chosen, all of it.

use thiserror::Error;

use super::space::EngineOffset;
use crate::register::Show;
use crate::{layout, registers};

/// Bytes of a page unless configured otherwise: 2 MiB (seed 001, *First action*).
pub const DEFAULT_PAGE_SIZE: u32 = 0x20_0000;

/// Cost of a translation unless configured otherwise: none (seed 001, *First action*).
///
/// The seed counts in nanoseconds with a fraction; picoseconds in a whole number are chosen, because a
/// register holds them exactly.
pub const DEFAULT_OVERHEAD_PS: u32 = 0;

/// Picoseconds of a nanosecond.
pub const PS_PER_NS: u32 = 1000;

/// Most entries of a map or unmap message (chosen).
///
/// One entry maps a range of any length, so a message needs as many as there are separate ranges; a longer
/// list goes in several messages, as its entries take effect in order either way.
pub const MAX_ENTRIES: usize = 1024;

/// Most regions that one page holds (chosen).
///
/// The number of regions that fill a page of the default size with shards of 128 bytes, the smallest in seed 001.
pub const MAX_REGIONS_PER_PAGE: usize = DEFAULT_PAGE_SIZE as usize / 128;

/// Most regions that the table holds (chosen).
///
/// One entry can name every page of the address space, so pages need a bound too: this many regions of whole
/// pages of the default size are 2 TiB.
pub const MAX_REGIONS: usize = 1 << 20;

/// Bytes of a page: a power of two.
///
/// Seed 001 does not restrict it. A power of two is chosen, because a page number is a quotient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PageSize(u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BadPageSize {
    #[error("page size is zero")]
    Zero,
    #[error("page size {bytes:#x} is not a power of two")]
    NotAPowerOfTwo { bytes: u64 },
    #[error("page size {bytes:#x} exceeds {:#x}", PageSize::MAX)]
    TooLarge { bytes: u64 },
}

impl PageSize {
    /// The largest, in bytes.
    pub const MAX: u64 = 1 << 31;

    pub const fn new(bytes: u64) -> Result<Self, BadPageSize> {
        if bytes == 0 {
            Err(BadPageSize::Zero)
        } else if !bytes.is_power_of_two() {
            Err(BadPageSize::NotAPowerOfTwo { bytes })
        } else if bytes > Self::MAX {
            Err(BadPageSize::TooLarge { bytes })
        } else {
            Ok(Self(bytes as u32))
        }
    }

    pub const fn bytes(self) -> u32 {
        self.0
    }

    /// Bytes, as a power of two.
    pub const fn bits(self) -> u8 {
        // At most 31.
        self.0.trailing_zeros() as u8
    }

    /// The number of the page that a virtual address lies in.
    pub const fn page(self, va: u64) -> u64 {
        va >> self.0.trailing_zeros()
    }

    pub const fn offset(self, va: u64) -> u32 {
        // The mask has at most 31 bits.
        (va & (self.0 as u64 - 1)) as u32
    }
}

impl Default for PageSize {
    fn default() -> Self {
        Self(DEFAULT_PAGE_SIZE)
    }
}

layout! {
    /// Bytes of a page.
    pub struct PageBytes {
        /// Bytes.
        #[bits(32)] bytes: u32 => Show::Hex
    }
}

layout! {
    /// A span of modelled time.
    pub struct Picoseconds {
        /// Picoseconds.
        #[bits(32)] picoseconds: u32
    }
}

layout! {
    /// Switches.
    pub struct Control {
        /// The DMA's pipeline path does not pay for translations, as in the simulator of seed 001.
        #[bits(1)] pipeline_exempt: bool,
        #[bits(31)] __: u32
    }
}

layout! {
    /// Half of a counter of 64 bits.
    pub struct CounterHalf {
        /// Bits of the counter.
        #[bits(32)] half: u32
    }
}

registers! {
    /// PE_MMU: what it was configured with, one switch, and counters that only observe.
    ///
    /// A counter is two words, low half first; reading the low half holds the high half until it is read.
    pub block PE_MMU "pe_mmu", base EngineOffset(0x1f4_0000), 0x00 + 0x48;

    /// Bytes of a page, fixed when the block was made.
    PAGE_SIZE "PAGE_SIZE" @ 0x00: PageBytes, ReadOnly, Chosen, "pe-mmu 2" = DEFAULT_PAGE_SIZE;
    /// Cost of one translation, fixed when the block was made.
    OVERHEAD_PS "OVERHEAD_PS" @ 0x04: Picoseconds, ReadOnly, Chosen, "pe-mmu 2" = DEFAULT_OVERHEAD_PS;
    /// Switches.
    CONTROL "CONTROL" @ 0x08: Control, ReadWrite, Chosen, "seed 001, D2.1; pe-mmu 6, R14";
    /// The time of the fabric for one message, fixed when the block was made.
    FABRIC_PS "FABRIC_PS" @ 0x0c: Picoseconds, ReadOnly, Chosen, "pe-mmu 6, R20";
    /// Entries mapped.
    MAPS "MAPS" @ 0x20 [2; 4]: CounterHalf, ReadOnly, Chosen, "pe-mmu 6, R27";
    /// Entries unmapped, whether or not they took out a region.
    UNMAPS "UNMAPS" @ 0x28 [2; 4]: CounterHalf, ReadOnly, Chosen, "pe-mmu 6, R27";
    /// Regions that the table holds now.
    REGIONS "REGIONS" @ 0x30 [2; 4]: CounterHalf, ReadOnly, Chosen, "pe-mmu 6, R27";
    /// Addresses translated, fallbacks included.
    TRANSLATIONS "TRANSLATIONS" @ 0x38 [2; 4]: CounterHalf, ReadOnly, Chosen, "pe-mmu 6, R27";
    /// Addresses that no region covered, and that were used as they are.
    FALLBACKS "FALLBACKS" @ 0x40 [2; 4]: CounterHalf, ReadOnly, Chosen, "pe-mmu 6, R27";
}

const _: () = {
    assert!(DEFAULT_PAGE_SIZE.is_power_of_two());
    assert!(MAX_REGIONS_PER_PAGE == 16384 && MAX_REGIONS_PER_PAGE <= MAX_REGIONS);
};
