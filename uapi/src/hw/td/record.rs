//! Records: the part of a descriptor that writes registers.
//!
//! One word says how many registers follow and where the first one lives, and the values follow it.
//! Records come in any order and cover any subset of the registers.

use bitfield_struct::bitfield;
use zerocopy::little_endian::U32;

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

    pub const fn address(self) -> u32 {
        self.word_address() << 2
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Index of the record's first word in the descriptor.
    pub at: usize,
    pub header: RecordHeader,
    /// The register values, as far as the descriptor goes.
    pub values: &'a [U32],
    /// Values that it announces and that would lie behind the descriptor's end; they are zero (delta 14; measured).
    pub missing: usize,
}

impl<'a> Record<'a> {
    /// The register writes: record address and value.
    pub fn writes(&self) -> impl Iterator<Item = (u32, u32)> + use<'a> {
        let first = self.header.address();
        let zeros = core::iter::repeat_n(0, self.missing);
        let values = self.values.iter().map(|value| value.get()).chain(zeros);
        (0..).zip(values).map(move |(index, value)| (first + 4 * index, value))
    }
}

/// Walks the records of a descriptor, from the first word behind its header to its end.
///
/// Only the last can announce more than there is. Work is bounded by the number of words.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    words: &'a [U32],
    at: usize,
}

impl<'a> Records<'a> {
    /// The records of `descriptor`, whose header has `header_words` words.
    pub fn new(descriptor: &'a [U32], header_words: usize) -> Self {
        Self { words: descriptor.get(header_words..).unwrap_or_default(), at: header_words }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Record<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let (first, rest) = self.words.split_first()?;
        let header = RecordHeader::from_bits(first.get());
        let at = self.at;
        let count = header.count() as usize;
        let (values, rest) = rest.split_at_checked(count).unwrap_or((rest, &[]));
        self.words = rest;
        self.at += 1 + count;
        Some(Record { at, header, values, missing: count - values.len() })
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
