//! Messages to PE_MMU, on queue 0 beside the batches.
//!
//! Their entries are applied in order, and the message takes effect as a whole: if one entry is refused, none
//! applies. The response means that the regions are installed (seed 001, D5). An entry of no bytes maps
//! nothing and is no error; an empty message is answered like any other (pe-mmu 7, vector 21).

use zerocopy::little_endian::U64;

use crate::abi::{AbiStruct, Item, Section, abi, constants};
use crate::hw::pe_mmu;

constants! {
    CONSTANTS;
    /// Most entries of one message. A device says in config space how many it takes.
    pub const ENTRIES_MAX: u32 = 1024, "VIRTIO_ANE_ENTRIES_MAX";
}

abi! {
    /// A region to map, behind a request of type VIRTIO_ANE_REQUEST_PE_MMU_MAP.
    pub struct MapEntry, "virtio_ane_pe_mmu_map" {
        /// First virtual address.
        pub va: U64,
        /// Where it leads.
        pub pa: U64,
        /// Bytes.
        pub size: U64
    }
}

abi! {
    /// A range to unmap, behind a request of type VIRTIO_ANE_REQUEST_PE_MMU_UNMAP.
    pub struct UnmapEntry, "virtio_ane_pe_mmu_unmap" {
        /// First virtual address.
        pub va: U64,
        /// Bytes. Only regions that lie in the range entirely go.
        pub size: U64
    }
}

const _: () = {
    assert!(size_of::<MapEntry>() == 24 && size_of::<UnmapEntry>() == 16);
    assert!(ENTRIES_MAX as usize == pe_mmu::MAX_ENTRIES);
};

pub(super) const SECTION: Section = Section {
    title: "Messages to PE_MMU",
    doc: "All entries of a message apply, in order, or none.",
    items: &[Item::Constants(CONSTANTS), Item::Struct(&MapEntry::LAYOUT), Item::Struct(&UnmapEntry::LAYOUT)],
};
