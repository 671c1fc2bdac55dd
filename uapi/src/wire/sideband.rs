//! Messages beside the batches, on queue 0: to PE_MMU, and to checking mode.
//!
//! Checking mode holds transfers against what the driver meant, which no register and no table says: what a
//! mapping is for. A driver that wants it checked declares its mappings when it makes them and when it takes
//! them away; no transfer does anything else for it (Chosen).
//!
//! A message to PE_MMU is what silicon has. Its entries are applied in order, and the message takes effect as a whole: if one entry is refused, none
//! applies. The response means that the regions are installed (seed 001, D5). An entry of no bytes maps
//! nothing and is no error; an empty message is answered like any other (pe-mmu 7, vector 21).

use zerocopy::little_endian::{U32, U64};

use crate::abi::{AbiStruct, Item, Section, abi, constants};
use crate::hw::dart::stream::StreamId;
use crate::hw::pe_mmu;
use crate::hw::space::IovaRange;
use crate::hw::usage::Usage;

constants! {
    CONSTANTS;
    /// Most entries of one message. A device says in config space how many it takes.
    pub const ENTRIES_MAX: u32 = 1024, "VIRTIO_ANE_ENTRIES_MAX";
    /// Most declarations of one message, which then is as long as the longest batch.
    pub const DECLARATIONS_MAX: u32 = 512, "VIRTIO_ANE_DECLARATIONS_MAX";
    /// In the place of a usage code: what was declared there is mapped no more.
    pub const USAGE_NONE: u32 = 0, "VIRTIO_ANE_USAGE_NONE";
}

abi! {
    /// The purpose of a mapping, behind a request of type VIRTIO_ANE_REQUEST_DECLARE. It takes the place of
    /// every declared mapping of the stream that shares a byte with it.
    pub struct Declaration, "virtio_ane_declaration" {
        /// First device address.
        pub base: U64,
        /// Bytes; not zero, and all inside the aperture.
        pub size: U64,
        /// The stream.
        pub stream: U32,
        /// The usage code, or VIRTIO_ANE_USAGE_NONE.
        pub usage: U32
    }
}

impl Declaration {
    /// A mapping with its usage, or one that is no more.
    pub const fn new(stream: StreamId, range: IovaRange, usage: Option<Usage>) -> Self {
        Self {
            base: U64::new(range.base().0 as u64),
            size: U64::new(range.len() as u64),
            stream: U32::new(stream.number() as u32),
            usage: U32::new(match usage {
                Some(usage) => usage as u32,
                None => USAGE_NONE,
            }),
        }
    }

    /// Stream, range and usage; `None` if one of them does not exist.
    pub fn decode(&self) -> Option<(StreamId, IovaRange, Option<Usage>)> {
        let stream = StreamId::new(self.stream.get()).ok()?;
        let range = IovaRange::new(self.base.get(), self.size.get()).ok()?;
        let usage = match self.usage.get() {
            USAGE_NONE => None,
            code => Some(Usage::try_from(code).ok()?),
        };
        Some((stream, range, usage))
    }
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

/// The entries of a message to PE_MMU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Regions<'a> {
    Map(&'a [MapEntry]),
    Unmap(&'a [UnmapEntry]),
}

impl Regions<'_> {
    pub const fn len(&self) -> usize {
        match self {
            Self::Map(entries) => entries.len(),
            Self::Unmap(entries) => entries.len(),
        }
    }

    /// True if there are none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

const _: () = {
    assert!(size_of::<MapEntry>() == 24 && size_of::<UnmapEntry>() == 16 && size_of::<Declaration>() == 24);
    assert!(ENTRIES_MAX as usize == pe_mmu::MAX_ENTRIES);
};

pub(super) const SECTION: Section = Section {
    title: "Messages to PE_MMU and to checking mode",
    doc: "All entries of a message to PE_MMU apply, in order, or none.",
    items: &[
        Item::Constants(CONSTANTS),
        Item::Struct(&MapEntry::LAYOUT),
        Item::Struct(&UnmapEntry::LAYOUT),
        Item::Struct(&Declaration::LAYOUT),
    ],
};
