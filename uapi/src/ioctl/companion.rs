//! The two companion blocks that no Apple chip has: PE_MMU and mover.
//!
//! PE_MMU translates what sibling engines ask it to, by regions that clients map and unmap; it is not
//! protection, and a miss is not an error but leaves the address as it is (seed 001). Its result still goes
//! through the DART. The mover copies and fills in units of 16 bytes (seed 002). A device has them only if
//! its features say so, and both belong to the whole device.

use crate::abi::{AbiStruct, Item, Section, abi, constants};
use crate::hw::mover::transfer::{self, Direction};
use crate::hw::pe_mmu;

use super::number::ioctls;

constants! {
    UNITS;
    /// Bytes of a unit of the mover.
    pub const MOVER_UNIT: u32 = 16, "ANE_MOVER_UNIT";
    /// Largest transfer in units: the size has sixteen bits.
    pub const MOVER_UNITS_MAX: u32 = 0xffff, "ANE_MOVER_UNITS_MAX";
}

abi! {
    /// A region to map.
    pub struct PeMmuMapEntry, "drm_ane_pe_mmu_map_entry" {
        /// Input: first virtual address.
        pub va: u64,
        /// Input: where it leads.
        pub pa: u64,
        /// Input: bytes; zero maps nothing.
        pub size: u64
    }
}

abi! {
    /// A range to unmap.
    pub struct PeMmuUnmapEntry, "drm_ane_pe_mmu_unmap_entry" {
        /// Input: first virtual address.
        pub va: u64,
        /// Input: bytes. Only regions that lie in the range entirely go.
        pub size: u64
    }
}

abi! {
    /// Maps regions.
    pub struct PeMmuMap, "drm_ane_pe_mmu_map" {
        /// Input: pointer to struct drm_ane_pe_mmu_map_entry, applied in order.
        pub entries: u64,
        /// Input: number of them, at most ANE_PE_MMU_ENTRIES_MAX; may be zero.
        pub count: u32,
        /// Input: bytes of one.
        pub entry_size: u32
    }
}

abi! {
    /// Unmaps ranges.
    pub struct PeMmuUnmap, "drm_ane_pe_mmu_unmap" {
        /// Input: pointer to struct drm_ane_pe_mmu_unmap_entry, applied in order.
        pub entries: u64,
        /// Input: number of them, at most ANE_PE_MMU_ENTRIES_MAX; may be zero.
        pub count: u32,
        /// Input: bytes of one.
        pub entry_size: u32
    }
}

abi! {
    /// Runs one transfer of the mover.
    pub struct Mover, "drm_ane_mover" {
        /// Input: ANE_MOVER_ZERO_SCRATCH to ANE_MOVER_SCRATCH_TO_SCRATCH.
        pub direction: u32,
        /// Input: units, at most ANE_MOVER_UNITS_MAX; zero does nothing.
        pub size: u32,
        /// Input: source in units; not looked at where zeros are filled in.
        pub source: u32,
        /// Input: destination in units.
        pub destination: u32,
        /// Output: cycles that the transfer took by the model.
        pub cycles: u64,
        /// Input: must be zero.
        pub reserved: u64
    }
}

ioctls! {
    /// Maps regions: all of them or none. They are in force when the call returns, and until they are unmapped or the file is
    /// closed. A reset of the device does not change that.
    PE_MMU_MAP 0x95 "DRM_IOCTL_ANE_PE_MMU_MAP", ReadWrite, PeMmuMap {
        EOPNOTSUPP "the device has no PE_MMU.";
        E2BIG "too many entries.";
        ERANGE "an entry wraps around the end of the address space.";
        ENOSPC "a page would have more regions than the device keeps, or all files more than the driver keeps.";
    }
    /// Unmaps ranges: all of them or none. Unmapping what is not mapped is no error.
    PE_MMU_UNMAP 0x96 "DRM_IOCTL_ANE_PE_MMU_UNMAP", ReadWrite, PeMmuUnmap {
        EOPNOTSUPP "the device has no PE_MMU.";
        E2BIG "too many entries.";
        ERANGE "an entry wraps around the end of the address space.";
        ENOSPC "more parts of regions would be left than the driver keeps.";
    }
    /// Runs one transfer and returns when it is done.
    MOVER 0x97 "DRM_IOCTL_ANE_MOVER", ReadWrite, Mover {
        EOPNOTSUPP "the device has no mover.";
        EINVAL "no such direction.";
        ERANGE "the size has more than sixteen bits, or the transfer leaves scratch or its destination's region; nothing was written.";
    }
}

const _: () = {
    assert!(MOVER_UNIT == transfer::UNIT_BYTES && MOVER_UNITS_MAX == transfer::SIZE_MASK);
    assert!(super::param::PE_MMU_ENTRIES_MAX as usize == pe_mmu::MAX_ENTRIES);
};

pub(super) const SECTION: Section = Section {
    title: "Companion blocks",
    doc: "Blocks that no Apple chip has. ANE_PARAM_FEATURES tells whether the device does.",
    items: &[
        Item::Constants(UNITS),
        Item::enumeration("ANE_MOVER_", "The direction of a transfer.", Direction::CODES),
        Item::Struct(&PeMmuMapEntry::LAYOUT),
        Item::Struct(&PeMmuUnmapEntry::LAYOUT),
        Item::Struct(&PeMmuMap::LAYOUT),
        Item::Struct(&PeMmuUnmap::LAYOUT),
        Item::Struct(&Mover::LAYOUT),
    ],
};
