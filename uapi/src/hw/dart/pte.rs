//! Page-table entries: the leaf that names a page, and the L2 entry that names a table of leaves.
//!
//! Two families of sources drive this hardware with different words. The founding document saw, in the
//! vendor's kernel, `physical address | bit 63`; it was taken where the kernel hands the word to a protected
//! layer, not read back from the table. Published drivers write a word that is valid by bit 0, in one of two
//! layouts. Each layout is a small type behind [`LeafFormat`], and a walker is made for one of them; none
//! accepts another's words (facts M, X-01).
//!
//! | | [`Seed`] | [`T8020`] | [`T6000`] |
//! |---|---|---|---|
//! | valid | 63 | 0 | 0 |
//! | frame | 46:14, unshifted | 35:14, unshifted | 37:10, shifted right by 4 |
//! | no write, no read | | 7, 8 | 2, 3 |
//! | open part of the page | | 63:52 to 51:40; all if bit 1 | 63:52 to 51:40 |
//! | other | auxiliary 62, 60, 59 | | no cache 1 |
//!
//! An L2 entry is the table's frame and the valid bit. Published drivers write that; for the founding
//! document's format, whose L2 entry no source describes, it is Chosen.

use thiserror::Error;

use super::aperture::{PAGE_SHIFT, PAGE_SIZE};
use crate::codes;
use crate::hw::space::PhysAddr;
use crate::hw::usage::Protection;

codes! {
    /// The name of a page-table format.
    pub enum PteFormat: u8, "page-table format" {
        /// [`Seed`], the default.
        Seed = 0, "seed";
        /// [`T8020`].
        T8020 = 1, "t8020";
        /// [`T6000`].
        T6000 = 2, "t6000";
    }
}

/// A layout of page-table entries.
pub trait LeafFormat {
    const FORMAT: PteFormat;

    fn encode(page: PhysAddr, protection: Protection) -> Result<u64, Unencodable>;

    /// The page that a leaf maps; `None` if it is not valid.
    fn decode(leaf: u64) -> Result<Option<Leaf>, Malformed>;

    /// The L2 entry that names the L3 table at `table`.
    fn encode_table(table: PhysAddr) -> Result<u64, Unencodable>;

    /// The table that an L2 entry names; `None` if it is not valid.
    fn decode_table(entry: u64) -> Result<Option<PhysAddr>, Malformed>;
}

/// A page, as a leaf describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Leaf {
    pub page: PhysAddr,
    /// The accesses that the leaf permits.
    pub protection: Protection,
    /// First byte of the page that is open.
    pub first: u16,
    /// Last byte of the page that is open.
    pub last: u16,
}

impl Leaf {
    /// True if `len` bytes from `offset` lie in the open part of the page.
    pub const fn opens(&self, offset: u16, len: u16) -> bool {
        len != 0 && offset >= self.first && offset as u32 + len as u32 - 1 <= self.last as u32
    }
}

/// A layout has no bits for what it was to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Unencodable {
    #[error("page at {0} is no multiple of {PAGE_SIZE:#x}")]
    Misaligned(PhysAddr),
    #[error("page at {page} needs more than {bits} bits")]
    TooHigh { page: PhysAddr, bits: u32 },
    #[error("protection {:#x} has bits that no leaf can hold", .0.into_bits())]
    Protection(Protection),
}

/// A valid entry with bits that its layout does not define.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("entry {entry:#018x} has undefined bits {bits:#x}")]
pub struct Malformed {
    pub entry: u64,
    pub bits: u64,
}

/// Where the layouts keep the frame.
const fn frame(page: PhysAddr, address_bits: u32) -> Result<u64, Unencodable> {
    if !page.is_aligned(PAGE_SIZE as u64) {
        Err(Unencodable::Misaligned(page))
    } else if page.0 >> address_bits != 0 {
        Err(Unencodable::TooHigh { page, bits: address_bits })
    } else {
        Ok(page.0)
    }
}

/// Nothing, if `entry` has no bits but `defined`.
const fn only(entry: u64, defined: u64) -> Result<(), Malformed> {
    let bits = entry & !defined;
    if bits == 0 { Ok(()) } else { Err(Malformed { entry, bits }) }
}

/// The bits `high` to `low` of a word.
const fn span(high: u32, low: u32) -> u64 {
    (u64::MAX >> (63 - high)) & (u64::MAX << low)
}

/// The founding document's layout: the frame where it is, and bit 63 (seed 000, table 28.4; measured).
///
/// It carries no permission: that is the stream's (seed 000).
#[derive(Clone, Copy, Debug)]
pub struct Seed;

impl Seed {
    /// The valid bit, and the whole template of a mapped page.
    pub const VALID: u64 = 1 << 63;
    pub const FRAME: u64 = span(46, PAGE_SHIFT);
    /// The auxiliary bits, which follow bits 3, 4 and 5 of the protection word.
    pub const AUXILIARY: [u64; 3] = [1 << 62, 1 << 60, 1 << 59];

    const ADDRESS_BITS: u32 = 47;

    /// The protection of every leaf.
    const OPEN: u64 = Protection::new().with_device_reads(true).with_device_writes(true).into_bits();

    /// The meaning of the auxiliary bits: computed here, because a leaf is decoded with each walk.
    const MEANING: [u64; 3] = [
        Protection::new().with_auxiliary_3(true).into_bits(),
        Protection::new().with_auxiliary_4(true).into_bits(),
        Protection::new().with_auxiliary_5(true).into_bits(),
    ];
}

impl LeafFormat for Seed {
    const FORMAT: PteFormat = PteFormat::Seed;

    fn encode(page: PhysAddr, protection: Protection) -> Result<u64, Unencodable> {
        if protection.into_bits() & !Protection::KNOWN != 0 {
            return Err(Unencodable::Protection(protection));
        }
        let [third, fourth, fifth] = Self::AUXILIARY;
        let auxiliary = if protection.auxiliary_3() { third } else { 0 }
            | if protection.auxiliary_4() { fourth } else { 0 }
            | if protection.auxiliary_5() { fifth } else { 0 };
        Ok(Self::VALID | auxiliary | frame(page, Self::ADDRESS_BITS)?)
    }

    #[inline]
    fn decode(leaf: u64) -> Result<Option<Leaf>, Malformed> {
        if leaf & Self::VALID == 0 {
            return Ok(None);
        }
        let [third, fourth, fifth] = Self::AUXILIARY;
        only(leaf, Self::VALID | third | fourth | fifth | Self::FRAME)?;
        Ok(Some(Leaf {
            page: PhysAddr(leaf & Self::FRAME),
            protection: Protection::from_bits(
                Self::OPEN
                    | if leaf & third != 0 { Self::MEANING[0] } else { 0 }
                    | if leaf & fourth != 0 { Self::MEANING[1] } else { 0 }
                    | if leaf & fifth != 0 { Self::MEANING[2] } else { 0 },
            ),
            first: 0,
            last: PAGE_SIZE as u16 - 1,
        }))
    }

    fn encode_table(table: PhysAddr) -> Result<u64, Unencodable> {
        Ok(Self::VALID | frame(table, Self::ADDRESS_BITS)?)
    }

    #[inline]
    fn decode_table(entry: u64) -> Result<Option<PhysAddr>, Malformed> {
        if entry & Self::VALID == 0 {
            return Ok(None);
        }
        only(entry, Self::VALID | Self::FRAME)?;
        Ok(Some(PhysAddr(entry & Self::FRAME)))
    }
}

/// The part that both published layouts share.
mod published {
    use super::*;

    pub(super) const VALID: u64 = 1;
    /// First and last open unit of the page.
    pub(super) const OPEN: u64 = span(63, 40);

    /// The page is divided into 4096 units, of four bytes each where pages are 16 KB.
    const UNIT_SHIFT: u32 = PAGE_SHIFT - 12;

    /// Where one of the two puts things.
    pub(super) struct Layout {
        pub(super) frame: u64,
        pub(super) frame_shift: u32,
        pub(super) address_bits: u32,
        pub(super) no_write: u64,
        pub(super) no_read: u64,
        /// The bit that opens the whole page, whatever the units say.
        pub(super) all_open: u64,
        /// Bits without an effect here.
        pub(super) other: u64,
    }

    impl Layout {
        pub(super) fn encode(&self, page: PhysAddr, protection: Protection) -> Result<u64, Unencodable> {
            if protection.into_bits() >> 2 != 0 {
                return Err(Unencodable::Protection(protection));
            }
            let forbidden = if protection.device_writes() { 0 } else { self.no_write }
                | if protection.device_reads() { 0 } else { self.no_read };
            Ok(self.encode_table(page)? | (0xfff << 40) | self.all_open | forbidden)
        }

        #[inline]
        pub(super) fn decode(&self, leaf: u64) -> Result<Option<Leaf>, Malformed> {
            if leaf & VALID == 0 {
                return Ok(None);
            }
            let flags = self.no_write | self.no_read | self.all_open | self.other;
            only(leaf, OPEN | self.frame | flags | VALID)?;
            let (first, last) =
                if leaf & self.all_open != 0 { (0, 0xfff) } else { (leaf >> 52, (leaf >> 40) & 0xfff) };
            Ok(Some(Leaf {
                page: self.page(leaf),
                protection: Protection::new()
                    .with_device_reads(leaf & self.no_read == 0)
                    .with_device_writes(leaf & self.no_write == 0),
                first: (first << UNIT_SHIFT) as u16,
                last: (((last + 1) << UNIT_SHIFT) - 1) as u16,
            }))
        }

        pub(super) fn encode_table(&self, table: PhysAddr) -> Result<u64, Unencodable> {
            Ok((frame(table, self.address_bits)? >> self.frame_shift) | VALID)
        }

        #[inline]
        pub(super) fn decode_table(&self, entry: u64) -> Result<Option<PhysAddr>, Malformed> {
            if entry & VALID == 0 {
                return Ok(None);
            }
            only(entry, self.frame | VALID)?;
            Ok(Some(self.page(entry)))
        }

        fn page(&self, entry: u64) -> PhysAddr {
            PhysAddr((entry & self.frame) << self.frame_shift)
        }
    }
}

/// Declares a published layout.
macro_rules! published {
    ($( #[$meta:meta] )* $name:ident, $layout:expr) => {
        $( #[$meta] )*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl $name {
            const LAYOUT: published::Layout = $layout;
        }

        impl LeafFormat for $name {
            const FORMAT: PteFormat = PteFormat::$name;

            fn encode(page: PhysAddr, protection: Protection) -> Result<u64, Unencodable> {
                Self::LAYOUT.encode(page, protection)
            }

                #[inline]
        fn decode(leaf: u64) -> Result<Option<Leaf>, Malformed> {
                Self::LAYOUT.decode(leaf)
            }

            fn encode_table(table: PhysAddr) -> Result<u64, Unencodable> {
                Self::LAYOUT.encode_table(table)
            }

                #[inline]
        fn decode_table(entry: u64) -> Result<Option<PhysAddr>, Malformed> {
                Self::LAYOUT.decode_table(entry)
            }
        }
    };
}

published! {
    /// The published layout of the older controller class (facts B.4; derived).
    T8020,
    published::Layout {
        // Bits 13:12 belong to the published frame field; a 16 KB page leaves them clear.
        frame: span(35, PAGE_SHIFT),
        frame_shift: 0,
        address_bits: 36,
        no_write: 1 << 7,
        no_read: 1 << 8,
        all_open: 1 << 1,
        other: 0,
    }
}

published! {
    /// The published layout of the M1's controller class (facts B.4; derived).
    T6000,
    published::Layout {
        frame: span(37, 10),
        frame_shift: 4,
        address_bits: 42,
        no_write: 1 << 2,
        no_read: 1 << 3,
        all_open: 0,
        // No cache: how the page is cached changes no result.
        other: 1 << 1,
    }
}

const _: () = {
    assert!(Seed::FRAME == 0x0000_7fff_ffff_c000);
    assert!(Seed::ADDRESS_BITS == 47 && Seed::FRAME >> Seed::ADDRESS_BITS == 0);
    assert!(T8020::LAYOUT.frame >> T8020::LAYOUT.address_bits == 0);
    assert!(T6000::LAYOUT.frame << T6000::LAYOUT.frame_shift >> T6000::LAYOUT.address_bits == 0);
    assert!(T6000::LAYOUT.frame << T6000::LAYOUT.frame_shift == span(41, PAGE_SHIFT));
};
