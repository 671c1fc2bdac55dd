//! Tasks: the descriptors of a program, in the order in which the engine runs them.
//!
//! A program's task stream is a linked list. The program says how long the first descriptor is and how many
//! there are; each header says where the next one lies and how long it is. [`Tasks`] walks the list, [`Task`]
//! is one descriptor of it, still in the bytes of the file; [`Descriptor`] is the way back, from registers to
//! bytes.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod build;
mod chain;

pub use build::Descriptor;
pub use chain::{ChainError, Tasks};

use ane_uapi::hw::td::header::Header;
use ane_uapi::hw::td::record::Records;
use zerocopy::little_endian::U32;

#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// Place in the chain, from 0.
    pub index: u32,
    /// Byte offset of the descriptor in the task stream.
    pub offset: u32,
    pub words: &'a [U32],
    pub header: Header,
}

impl<'a> Task<'a> {
    pub fn len_bytes(&self) -> u32 {
        // Fits: the program gives the first descriptor's length as a u32, a header the others' in nine bits.
        (self.words.len() * 4) as u32
    }

    pub fn records(&self) -> Records<'a> {
        Records::new(self.words, self.header.words())
    }

    /// The register writes in stream order: record address and value.
    pub fn for_each_write(&self, mut write: impl FnMut(u32, u32)) {
        for record in self.records() {
            record.writes().for_each(|(address, value)| write(address, value));
        }
    }

    /// Byte offset in the task stream of word `at` of the descriptor.
    pub fn offset_of_word(&self, at: usize) -> u64 {
        u64::from(self.offset) + 4 * at as u64
    }
}
