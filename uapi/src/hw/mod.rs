//! The hardware's own definitions: address spaces, registers, descriptors, page tables, chips.

pub mod bar;
pub mod chip;
pub mod dart;
pub mod fault;
pub mod firmware;
pub mod hal;
pub mod index;
pub mod lookup;
pub mod mmio_map;
pub mod mover;
mod names;
pub mod nid;
pub mod pe_mmu;
pub mod power;
pub mod program;
pub mod rebase;
pub mod space;
pub mod sram;
pub mod status;
pub mod td;
pub mod tm;
pub mod tq;
pub mod usage;

use crate::register::Block;

/// Every block of registers that this crate describes.
///
/// Dumps, `docs/registers.md`, the C header and the tests walk this list; a new block is added here and
/// nowhere else.
pub fn blocks() -> impl Iterator<Item = &'static Block> {
    [&td::header::HEADER].into_iter().chain(td::BLOCKS).chain([
        &dart::regs::WINDOW,
        &tm::TASK_MANAGER,
        &tq::TASK_QUEUE,
        &mover::regs::MOVER,
        &mover::model::MODEL,
        &mover::xmov::PORT,
        &pe_mmu::PE_MMU,
        &firmware::FIRMWARE,
    ])
}
