//! Records: the part of a descriptor that writes registers.
//!
//! One word says how many registers follow and where the first one lives, and the values follow it.
//! Records come in any order and cover any subset of the registers.

use bitfield_struct::bitfield;

/// The word in front of a record's values: `(count - 1) << 26 | address`.
///
/// Derived (td 3.2; decodes all seven words of seed 004 and their total). The address is a byte address of
/// record space; its two low bits do not exist.
#[bitfield(u32)]
#[derive(PartialEq, Eq, Hash)]
pub struct RecordHeader {
    #[bits(2)]
    pub low: u8,
    #[bits(24)]
    pub word_address: u32,
    #[bits(6)]
    pub count_minus_one: u8,
}

impl RecordHeader {
    /// Most registers that one record can write.
    pub const MAX_COUNT: u32 = 64;

    /// A record of `count` registers from `address`; `None` if the word cannot say that.
    pub const fn of(address: u32, count: u32) -> Option<Self> {
        if count == 0 || count > Self::MAX_COUNT || address & 0xfc00_0003 != 0 {
            return None;
        }
        Some(Self::from_bits(((count - 1) << 26) | address))
    }

    /// Number of registers that follow, 1 to 64.
    pub const fn count(self) -> u32 {
        self.count_minus_one() as u32 + 1
    }

    /// Record address of the first register.
    pub const fn address(self) -> u32 {
        self.word_address() << 2
    }
}

/// The seven record headers of a full descriptor, in the order of [`super::BLOCKS`] (seed 004).
pub const FULL: [u32; 7] =
    [0xf401_f800, 0x3c00_0000, 0x6c01_3800, 0x4400_4800, 0x0c00_8800, 0x1000_c800, 0x1801_7800];

const _: () = {
    let starts = [0x1f800, 0, 0x13800, 0x4800, 0x8800, 0xc800, 0x17800];
    let counts = [62, 16, 28, 18, 4, 5, 7];
    let mut i = 0;
    while i < FULL.len() {
        match RecordHeader::of(starts[i], counts[i]) {
            Some(header) => assert!(header.into_bits() == FULL[i]),
            None => panic!("a full descriptor's record does not fit its word"),
        }
        i += 1;
    }
};
