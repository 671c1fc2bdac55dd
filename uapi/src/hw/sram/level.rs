//! The hierarchy as a table: each level with its number, the field that holds it, and what it is for.
//!
//! Rows are those of seed 003, table 21.4, with the two numbers that the timing model derives.

use super::{Hierarchy, TILER_MARGIN_BYTES, value};
use crate::hw::hal::{self, FieldOffset};
use crate::register::Grade;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    pub name: &'static str,
    pub number: u32,
    /// The unit of the number; nothing for a count or a switch.
    pub unit: &'static str,
    /// The field of the HAL table that holds it; `None` of what is derived.
    pub field: Option<FieldOffset>,
    /// How well the number is established for this generation.
    pub grade: Grade,
    pub role: &'static str,
}

impl Hierarchy {
    /// The table, from the largest level to the smallest switch.
    pub fn levels(&self) -> [Level; 11] {
        let row = |name, field, unit, role, number| {
            let grade = value(self.generation, field).grade;
            Level { name, number, unit, field: Some(field), grade, role }
        };
        let derived = |name, number, role| Level {
            name,
            number,
            unit: "bytes",
            field: None,
            grade: Grade::Derived,
            role,
        };
        [
            row(
                "operand working set",
                hal::MAX_OPERAND_BYTES,
                "bytes",
                "an operand of this size or more is tiled and streamed from DRAM",
                self.operand_bytes,
            ),
            derived(
                "operand threshold",
                self.split_bytes(),
                "where the tiler was measured to split: the bound and its margin",
            ),
            derived("tiler margin", TILER_MARGIN_BYTES, "kept free for double buffers and alignment"),
            row("banks", hal::BANK_COUNT, "", "the pool is interleaved over them", self.banks),
            row(
                "interleave granule",
                hal::INTERLEAVE_GRANULE,
                "bytes",
                "width of DMA and unit of banks and strides",
                self.granule,
            ),
            row(
                "largest stride",
                hal::MAX_DESTINATION_STRIDE,
                "bytes",
                "bound of the search for a stride",
                self.max_stride,
            ),
            row(
                "residency threshold",
                hal::RESIDENCY_THRESHOLD,
                "bytes",
                "output footprint that decides about a dedicated buffer",
                self.residency_threshold,
            ),
            row(
                "residency gate",
                hal::RESIDENCY_GATE,
                "",
                "whether the threshold is asked",
                self.residency_gate.into(),
            ),
            row(
                "kernel store",
                hal::DENSE_KERNEL_BYTES,
                "bytes",
                "coefficients at once, apart from the pool",
                self.dense_kernel_bytes,
            ),
            row(
                "streamed kernel",
                hal::STREAMED_KERNEL_BYTES,
                "bytes",
                "coefficients that one task may stream through the store",
                self.streamed_kernel_bytes,
            ),
            row(
                "kernel store mode",
                hal::KERNEL_MEMORY_MODE,
                "",
                "1: the larger cap holds for all coefficients",
                self.extended_kernel.into(),
            ),
        ]
    }
}
