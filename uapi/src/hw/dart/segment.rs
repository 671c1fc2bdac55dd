//! Per-page segments: what the host's mapping code collects before it writes leaves.
//!
//! A buffer is pinned, described page by page in these 40-byte structures, and flushed: each becomes one
//! leaf, the physical page with a template over it. The template is the valid bit to map, and nothing to
//! unmap. The usage code travels *beside* the segment: the text says that it is held in it, but the five
//! known fields leave no room (facts M, X-23).

use core::mem::{offset_of, size_of};

use thiserror::Error;
use zerocopy::little_endian::U64;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::aperture::PAGE_SIZE;
use super::pte::{LeafFormat, Seed, Unencodable};
use crate::hw::space::{BadRange, Iova, IovaRange, PhysAddr};
use crate::hw::usage::Protection;

/// One page of a mapping (seed 000, listing 28.1; measured).
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Segment {
    /// Device address of the page.
    pub iova: U64,
    /// Physical address of the page.
    pub phys: U64,
    /// Bytes: always one page.
    pub size: U64,
    /// Protection word: 3 read-write, 1 device-write.
    pub prot: U64,
    /// Zero.
    pub reserved: U64,
}

const _: () = {
    assert!(offset_of!(Segment, iova) == 0x00);
    assert!(offset_of!(Segment, phys) == 0x08);
    assert!(offset_of!(Segment, size) == 0x10);
    assert!(offset_of!(Segment, prot) == 0x18);
    assert!(offset_of!(Segment, reserved) == 0x20);
    assert!(size_of::<Segment>() == 0x28);
};

/// The bits that are combined with the physical page to make a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Template {
    /// The valid bit.
    Map,
    /// Nothing.
    Unmap,
}

impl Template {
    /// The template's word (seed 000, listing 28.1; measured).
    pub const fn word(self) -> u64 {
        match self {
            Self::Map => Seed::VALID,
            Self::Unmap => 0,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BadSegment {
    #[error("segment size {0:#x} is not {PAGE_SIZE:#x}")]
    Size(u64),
    #[error("segment at {0} is no multiple of {PAGE_SIZE:#x}")]
    Misaligned(Iova),
    #[error(transparent)]
    Range(BadRange),
    #[error("segment's reserved field is {0:#x}, not zero")]
    Reserved(u64),
    #[error(transparent)]
    Leaf(Unencodable),
}

impl Segment {
    /// The segment of one page.
    pub const fn new(iova: Iova, page: PhysAddr, protection: Protection) -> Self {
        Self {
            iova: U64::new(iova.0 as u64),
            phys: U64::new(page.0),
            size: U64::new(PAGE_SIZE as u64),
            prot: U64::new(protection.into_bits()),
            reserved: U64::new(0),
        }
    }

    /// The page's device addresses.
    ///
    /// # Errors
    ///
    /// Refuses a segment that is not one aligned page of the aperture with nothing in its reserved field.
    pub fn pages(&self) -> Result<IovaRange, BadSegment> {
        let size = self.size.get();
        if size != u64::from(PAGE_SIZE) {
            return Err(BadSegment::Size(size));
        }
        if self.reserved.get() != 0 {
            return Err(BadSegment::Reserved(self.reserved.get()));
        }
        let range = IovaRange::new(self.iova.get(), size).map_err(BadSegment::Range)?;
        if !range.base().is_aligned(PAGE_SIZE) {
            return Err(BadSegment::Misaligned(range.base()));
        }
        Ok(range)
    }

    /// The leaf that this segment becomes: `phys | template`, in the founding document's format.
    ///
    /// To unmap stores zero whatever the segment's page is: the document has the word cleared to the
    /// all-zero template.
    ///
    /// # Examples
    ///
    /// ```
    /// use ane_uapi::hw::dart::segment::{Segment, Template};
    /// use ane_uapi::hw::space::{Iova, PhysAddr};
    /// use ane_uapi::hw::usage::{Protection, ProtectionClass};
    ///
    /// let output = Protection::of(ProtectionClass::DeviceWrite);
    /// let segment = Segment::new(Iova(0x4000), PhysAddr(0x100_2232_0000), output);
    /// assert_eq!(segment.leaf(Template::Map), Ok(0x8000_0100_2232_0000));
    /// assert_eq!(segment.leaf(Template::Unmap), Ok(0));
    /// ```
    pub fn leaf(&self, template: Template) -> Result<u64, BadSegment> {
        self.pages()?;
        match template {
            Template::Map => Seed::encode(PhysAddr(self.phys.get()), Protection::from_bits(self.prot.get()))
                .map_err(BadSegment::Leaf),
            Template::Unmap => Ok(template.word()),
        }
    }
}
