//! What the hardware defines: address spaces, registers, descriptors, page tables, chips.

pub mod dart;
pub mod space;
pub mod td;

use crate::register::Block;

/// Every block of registers that this crate describes.
///
/// Dumps, `docs/registers.md`, the C header and the tests walk this list; a new block is added here and
/// nowhere else.
pub fn blocks() -> impl Iterator<Item = &'static Block> {
    [&td::header::HEADER].into_iter().chain(td::BLOCKS)
}
