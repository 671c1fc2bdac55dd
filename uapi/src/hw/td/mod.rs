//! The H13 task descriptor: one pass of the engine, written as register values.
//!
//! A *task descriptor* (TD) is a [header] of ten or eleven words, then [records](record) until the
//! descriptor ends; a record is one word that says where and how many, then the register values. Each
//! record writes registers of one of seven blocks. Registers keep their values from task to task, so a
//! later descriptor may leave out what has not changed. A *program* is a list of descriptors, linked by
//! the header's next pointer, with one section of constants.
//!
//! | block | file | record address | words |
//! |---|---|---|---|
//! | kernel DMA | [`kernel_dma`] | `0x1f800` | 62 |
//! | common | [`common`] | `0x00000` | 16 |
//! | tile DMA source | [`tile_source`] | `0x13800` | 28 |
//! | L2, the on-chip buffer | [`l2`] | `0x04800` | 18 |
//! | planar engine | [`planar`] | `0x08800` | 4 |
//! | neural engine | [`neural`] | `0x0c800` | 5 |
//! | tile DMA destination | [`tile_destination`] | `0x17800` | 7 |
//!
//! Seed 004 lists the same seven with the last four names rotated by one: its "dst tile" is L2, its "L2"
//! the planar engine, its "planar" the neural engine, its "neural" the tile DMA destination. The record
//! address decides ("td 3.3" in the sources named below is section 3.3 of the task-descriptor facts).
//!
//! All words are little-endian.

pub mod activation;
pub mod common;
pub mod header;
pub mod kernel_dma;
pub mod l2;
pub mod neural;
pub mod operands;
pub mod planar;
pub mod record;
pub mod tile_destination;
pub mod tile_source;
pub mod words;

use crate::hw::space::EngineOffset;
use crate::register::{Block, Register};

/// Container offset of record address 0: a register written at record address `a` is read at this plus `a`.
pub const BASE: EngineOffset = EngineOffset(0x1c0_0000);

/// The common block's registers appear once more this far below each other block (seed 004, *TD Fetcher*).
pub const COMMON_ECHO_BELOW: u32 = 0x800;

/// The seven blocks, in the order in which compilers write them.
pub static BLOCKS: [&Block; 7] = [
    &kernel_dma::KERNEL_DMA,
    &common::COMMON,
    &tile_source::TILE_SOURCE,
    &l2::L2,
    &planar::PLANAR,
    &neural::NEURAL,
    &tile_destination::TILE_DESTINATION,
];

/// Registers in all seven blocks together.
pub const REGISTER_WORDS: usize = 62 + 16 + 28 + 18 + 4 + 5 + 7;

/// Bytes of a full descriptor with the ten-word header.
pub const FULL_BYTES: u32 = 0x274;

/// Bytes of a full descriptor with the eleven-word header.
pub const FULL_EXTENDED_BYTES: u32 = 0x278;

/// Bytes of a compact descriptor, which leaves out 32 words of kernel DMA.
pub const COMPACT_BYTES: u32 = 0x1f8;

/// Compilers start each descriptor at a multiple of this (seed 000, table 28.9: segment alignment).
pub const STREAM_ALIGN: u32 = 0x100;

const _: () = {
    assert!(header::BYTES as usize + 4 * (BLOCKS_LEN + REGISTER_WORDS) == FULL_BYTES as usize);
    assert!(FULL_BYTES + 4 == FULL_EXTENDED_BYTES);
    // Kernel DMA: 62 words under one record word become 18 + 12 under two.
    assert!(FULL_BYTES - 4 * (1 + 62) + 4 * (2 + 18 + 12) == COMPACT_BYTES);
};

/// Number of blocks, and so of record words in a full descriptor.
const BLOCKS_LEN: usize = 7;

/// Where a record address leads.
#[derive(Clone, Copy, Debug)]
pub struct RecordTarget {
    pub block: &'static Block,
    pub register: &'static Register,
    /// Index of the instance, where a block has several of this register.
    pub index: u16,
}

/// The register at record address `address`, if one is known.
///
/// # Examples
///
/// ```
/// use ane_uapi::hw::td;
///
/// let place = td::find(0x1f808 + 4 * 3).unwrap();
/// assert_eq!((place.register.name, place.index), ("CoeffDMAConfig", 3));
/// assert!(td::find(0x0040).is_none());
/// ```
pub fn find(address: u32) -> Option<RecordTarget> {
    let block = block_at(address)?;
    let (register, index) = block.find(address)?;
    Some(RecordTarget { block, register, index })
}

/// The record address that a container offset shows, common registers through their echoes included.
pub fn shown_at(at: EngineOffset) -> Option<u32> {
    let address = at.0.checked_sub(BASE.0)?;
    if let Some(block) = block_at(address) {
        return (block.start != common::COMMON.start).then_some(address);
    }
    let below = address.checked_add(COMMON_ECHO_BELOW)?;
    let block = block_at(below & !0x7ff)?;
    if block.start == common::COMMON.start {
        return None;
    }
    let inside = below.checked_sub(block.start)?;
    common::COMMON.contains(inside).then_some(inside)
}

/// The block that `address` of record space belongs to.
///
/// The blocks lie in different 2 KB pages, so one comparison finds the only candidate: decoding asks once
/// per word.
pub fn block_at(address: u32) -> Option<&'static Block> {
    let block = match address >> 11 {
        0x3f => &kernel_dma::KERNEL_DMA,
        0x00 => &common::COMMON,
        0x27 => &tile_source::TILE_SOURCE,
        0x09 => &l2::L2,
        0x11 => &planar::PLANAR,
        0x19 => &neural::NEURAL,
        0x2f => &tile_destination::TILE_DESTINATION,
        _ => return None,
    };
    block.contains(address).then_some(block)
}
