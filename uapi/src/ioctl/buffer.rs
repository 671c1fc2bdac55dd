//! Buffers, and where the engine sees them.
//!
//! A buffer is zeroed, shared memory. The engine reaches it through *mappings*, each at a device address of
//! its own and under a *usage* code, which says what the buffer is for and so which way data may flow. Mapping
//! 0 is the buffer's own: it is made when first needed, may be evicted while no request uses it, and comes
//! back with the next request that does, perhaps elsewhere. More mappings can be added, as in-place work
//! needs two (seed 000). Processor and engine see the same bytes at all times; nothing has to be flushed.

use crate::abi::{AbiStruct, Item, Section, abi, constants};
use crate::hw::usage::Usage;

use super::number::ioctls;

constants! {
    FLAGS;
    /// Lay the buffer on pages that do not follow each other in memory, to exercise page tables.
    pub const BO_SCATTERED: u32 = 0x1, "ANE_BO_SCATTERED";
    /// Map the buffer at the device address given, from the start, and nowhere else.
    pub const BO_FIXED_ADDRESS: u32 = 0x2, "ANE_BO_FIXED_ADDRESS";
    /// Never evict the buffer's mappings.
    pub const BO_PINNED: u32 = 0x4, "ANE_BO_PINNED";
    /// Map the buffer now and not with its first request.
    pub const BO_PREMAPPED: u32 = 0x8, "ANE_BO_PREMAPPED";
}

constants! {
    STATES;
    /// Mapping 0 has a device address now.
    pub const BO_MAPPED: u32 = 0x1, "ANE_BO_MAPPED";
    /// Mapping 0 had a device address and lost it to another buffer.
    pub const BO_EVICTED: u32 = 0x2, "ANE_BO_EVICTED";
    /// A request in flight uses the buffer.
    pub const BO_BUSY: u32 = 0x4, "ANE_BO_BUSY";
    /// The buffer's pool may hand it out.
    pub const BO_AVAILABLE: u32 = 0x8, "ANE_BO_AVAILABLE";
}

constants! {
    ADDRESSES;
    /// The driver chooses the device address.
    pub const ADDRESS_ANY: u64 = 0xffffffffffffffff, "ANE_ADDRESS_ANY";
}

abi! {
    /// Makes a buffer.
    pub struct BoCreate, "drm_ane_bo_create" {
        /// Input: bytes, not zero. Output: rounded up to a page.
        pub size: u64,
        /// Input: ANE_BO_SCATTERED to ANE_BO_PREMAPPED.
        pub flags: u32,
        /// Input: what mapping 0 is for, ANE_USAGE_. The codes of the firmware are refused.
        pub usage: u32,
        /// Input: the pool that the buffer belongs to, or ANE_HANDLE_NONE. Output buffers only.
        pub pool: u32,
        /// Output: the buffer.
        pub handle: u32,
        /// Input: with ANE_BO_FIXED_ADDRESS where mapping 0 lies, a multiple of the page; otherwise zero.
        /// Output: where it lies now, zero if nowhere yet.
        pub device_address: u64,
        /// Output: where to mmap the file to reach the buffer.
        pub map_offset: u64,
        /// Input: must be zero.
        pub reserved: [u64; 2]
    }
}

abi! {
    /// Asks about a buffer.
    pub struct BoInfo, "drm_ane_bo_info" {
        /// Input: the buffer.
        pub handle: u32,
        /// Output: the flags that it was made with.
        pub flags: u32,
        /// Output: bytes.
        pub size: u64,
        /// Output: where to mmap the file to reach it.
        pub map_offset: u64,
        /// Output: where mapping 0 lies now, zero if nowhere.
        pub device_address: u64,
        /// Output: usage of mapping 0.
        pub usage: u32,
        /// Output: its pool, or ANE_HANDLE_NONE.
        pub pool: u32,
        /// Output: ANE_BO_MAPPED to ANE_BO_AVAILABLE.
        pub state: u32,
        /// Output: mappings, mapping 0 included if it lies somewhere.
        pub mapping_count: u32,
        /// Output: how often mapping 0 was evicted.
        pub evictions: u64,
        /// Input: must be zero.
        pub reserved: [u64; 2]
    }
}

abi! {
    /// Adds a mapping to a buffer.
    pub struct BoMap, "drm_ane_bo_map" {
        /// Input: the buffer.
        pub handle: u32,
        /// Input: what the mapping is for, ANE_USAGE_.
        pub usage: u32,
        /// Input: ANE_BO_FIXED_ADDRESS, ANE_BO_PINNED, or zero.
        pub flags: u32,
        /// Output: number of the mapping in its buffer, not zero.
        pub mapping: u32,
        /// Input: first byte of the buffer to map, a multiple of the page.
        pub offset: u64,
        /// Input: bytes to map, rounded up to a page; zero is up to the end.
        pub size: u64,
        /// Input: with ANE_BO_FIXED_ADDRESS where, a multiple of the page; otherwise zero. Output: where.
        pub device_address: u64
    }
}

abi! {
    /// Takes a mapping away.
    pub struct BoUnmap, "drm_ane_bo_unmap" {
        /// Input: the buffer.
        pub handle: u32,
        /// Input: number of the mapping. Mapping 0 is made again when next needed.
        pub mapping: u32,
        /// Input: the usage that it was mapped under.
        pub usage: u32,
        /// Input: must be zero.
        pub reserved: u32
    }
}

abi! {
    /// Maps a buffer ahead of its first request.
    pub struct BoPremap, "drm_ane_bo_premap" {
        /// Input: buffers named, exactly one.
        pub count: u32,
        /// Input: the buffer.
        pub handle: u32,
        /// Input: usage of mapping 0, as the buffer was made with.
        pub usage: u32,
        /// Input: must be zero.
        pub reserved: u32,
        /// Input: where, a multiple of the page and not zero; ANE_ADDRESS_ANY leaves it to the driver.
        /// Output: where.
        pub device_address: u64,
        /// Input: bytes, not zero and not more than the buffer has. The whole buffer is mapped.
        pub size: u64
    }
}

ioctls! {
    /// Makes a zeroed buffer and says where to map it into the process.
    BO_CREATE 0x83 "DRM_IOCTL_ANE_BO_CREATE", ReadWrite, BoCreate {
        EINVAL "the size is zero or beyond the aperture, the usage unknown or the firmware's, or not an output's with a pool, the address not that of a page, or not zero without the flag.";
        ERANGE "the fixed address leaves the aperture.";
        EEXIST "the fixed address is taken by a mapping that cannot be evicted.";
        ENOMEM "there is no memory for it.";
        ENOSPC "with ANE_BO_PREMAPPED: no room in the aperture, even by eviction; or the file has no handle left; or the pool is full.";
        EOPNOTSUPP "with ANE_BO_SCATTERED, from a client that maps the node as one file: under ane exec.";
    }
    /// Tells about a buffer.
    BO_INFO 0x84 "DRM_IOCTL_ANE_BO_INFO", ReadWrite, BoInfo {
    }
    /// Adds a mapping to a buffer, at another address and perhaps for another use.
    BO_MAP 0x85 "DRM_IOCTL_ANE_BO_MAP", ReadWrite, BoMap {
        EINVAL "the usage is unknown or the firmware's, offset or address are not those of a page, or the range is none of the buffer.";
        ERANGE "the fixed address leaves the aperture.";
        EEXIST "the fixed address is taken by a mapping that cannot be evicted.";
        ENOSPC "no room in the aperture, even by eviction, or the buffer has ANE_MAPPINGS_MAX mappings.";
    }
    /// Takes a mapping away.
    BO_UNMAP 0x86 "DRM_IOCTL_ANE_BO_UNMAP", ReadWrite, BoUnmap {
        EINVAL "the mapping exists under another usage.";
        ENODATA "the buffer has no such mapping now.";
        EBUSY "a request in flight uses it.";
    }
    /// Maps a buffer now, so that its first request finds it mapped.
    BO_PREMAP 0x87 "DRM_IOCTL_ANE_BO_PREMAP", ReadWrite, BoPremap {
        EINVAL "not exactly one buffer, address or size zero, the size beyond the buffer, another usage, or an address not that of a page.";
        EALREADY "the buffer is mapped; the address says where.";
        ERANGE "the address leaves the aperture.";
        EEXIST "the address is taken by a mapping that cannot be evicted.";
        ENOSPC "no room in the aperture, even by eviction.";
    }
}

pub(super) const SECTION: Section = Section {
    title: "Buffers",
    doc: "A buffer is shared memory. The engine sees it through mappings, each at a device address and for a \
          use. Mapping 0 is made when needed and may be evicted while no request uses it; its contents stay, \
          its address may change. DRM_IOCTL_ANE_BO_FREE and DRM_IOCTL_GEM_CLOSE let a buffer go; it lives on \
          until the last request, program and process mapping that uses it has ended.",
    items: &[
        Item::enumeration("ANE_USAGE_", "The use of a buffer.", Usage::CODES),
        Item::Constants(FLAGS),
        Item::Constants(STATES),
        Item::Constants(ADDRESSES),
        Item::Struct(&BoCreate::LAYOUT),
        Item::Struct(&BoInfo::LAYOUT),
        Item::Struct(&BoMap::LAYOUT),
        Item::Struct(&BoUnmap::LAYOUT),
        Item::Struct(&BoPremap::LAYOUT),
    ],
};
