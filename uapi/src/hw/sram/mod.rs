//! The on-chip memory hierarchy: one pool in 64 banks, a kernel store beside it, and the rules that compilers keep.
//!
//! The engine computes in one pool of 2 MB. It is no cache: nothing in the hardware decides what is in it. A compiler does,
//! by a few numbers of the [HAL table](super::hal), and writes the outcome into the program: an operand below the
//! bound lies in the pool as a whole, one at or above it is cut into tiles that stream through; a stride is chosen so that
//! rows that are read together lie in different banks; coefficients have a store of their own. In the order of
//! distance from the array: DRAM, pool, banks, array (seed 003, figure).
//!
//! * this file: the numbers of one chip.
//! * [`bank`]: which bank a byte is in, and how many turns an access takes.
//! * [`stride`]: the choice of a stride.
//! * [`tile`]: what the array fetches at once.
//! * [`residency`]: what stays, what streams, and who gets a buffer.
//! * [`level`]: the hierarchy as a table, each number with its field.
//!
//! Builders of programs and the device use the same arithmetic, so it lives here.

use super::hal::{self, FieldOffset, Generation, Value};
use crate::register::Grade;

pub mod bank;
pub mod level;
pub mod residency;
pub mod stride;
pub mod tile;

/// Bytes of an element: all operands are fp16.
pub const ELEMENT_BYTES: u64 = 2;

/// Bytes of a tensor of so many fp16 elements.
pub const fn tensor_bytes(elements: u64) -> u64 {
    elements.saturating_mul(ELEMENT_BYTES)
}

/// The bytes that the tiler keeps free for double buffers and alignment before it splits an operand: "roughly
/// 0.3 MB" (seed 003).
pub const TILER_MARGIN_BYTES: u32 = 3 * (1 << 20) / 10;

/// The names that compilers have for [`Hierarchy::operand_bytes`] (seed 003).
pub const OPERAND_BOUND_NAMES: [&str; 2] = ["MemCacheSize", "L2Size"];

/// The option by which compilers override [`Hierarchy::operand_bytes`] (seed 003).
pub const OPERAND_BOUND_OPTION: &str = "fl2-size";

/// How throughput behaves where an operand outgrows the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crossing {
    /// Below the bound an operand is filled whole before the array starts; above it tiles overlap: a step.
    Step,
    /// Batch and outputs are tiled together at every size, so nothing changes at the bound (M5).
    Smooth,
}

/// The memory hierarchy of one generation, as its compiler knows it.
///
/// # Examples
///
/// ```
/// use ane_uapi::hw::hal::Generation;
/// use ane_uapi::hw::sram::Hierarchy;
///
/// let m1 = Hierarchy::of(Generation::H13);
/// assert_eq!((m1.operand_bytes, m1.banks, m1.granule), (2 << 20, 64, 16));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hierarchy {
    /// The compiler's target.
    pub generation: Generation,
    /// From this size on an operand is tiled and streamed.
    pub operand_bytes: u32,
    /// Bytes of the interleave granule.
    pub granule: u32,
    pub banks: u32,
    /// The largest stride that the search proposes.
    pub max_stride: u32,
    /// The compiler reads the residency threshold.
    pub residency_gate: bool,
    /// Footprint that decides about a convolution's own buffer.
    pub residency_threshold: u32,
    /// Bytes of coefficients that lie in the kernel store at once.
    pub dense_kernel_bytes: u32,
    /// Bytes of coefficients that one task may stream through it.
    pub streamed_kernel_bytes: u32,
    /// The extended mode of the kernel store: the larger cap holds for dense coefficients too.
    pub extended_kernel: bool,
    /// The fate of an operand of exactly [`operand_bytes`](Self::operand_bytes).
    pub crossing: Crossing,
}

/// The value of a field for a generation; that of the M1, as a prediction, where no source states one for its class.
///
/// The table is known in full for the M1 alone, and the fields of the hierarchy that are known elsewhere are the same
/// but for those that seed 003 lists.
pub(super) fn value(generation: Generation, field: FieldOffset) -> Value {
    hal::expected(generation, field)
        .or_else(|| {
            let number = hal::value(Generation::H13, field)?.number;
            Some(Value { number, grade: Grade::Predicted })
        })
        // Every field that is asked for here has a value on the M1; `hierarchy_of_every_generation_is_whole` looks.
        .unwrap_or(Value { number: 0, grade: Grade::Predicted })
}

impl Hierarchy {
    pub fn of(generation: Generation) -> Self {
        let number = |field| value(generation, field).number;
        let crossing = match generation.class() {
            Generation::H17s => Crossing::Smooth,
            _ => Crossing::Step,
        };
        Self {
            generation,
            operand_bytes: number(hal::MAX_OPERAND_BYTES),
            // A small profile has a granule of 1 (facts A.4); zero would divide.
            granule: number(hal::INTERLEAVE_GRANULE).max(1),
            banks: number(hal::BANK_COUNT).clamp(1, bank::BANKS_MAX),
            max_stride: number(hal::MAX_DESTINATION_STRIDE),
            residency_gate: number(hal::RESIDENCY_GATE) & 1 == 1,
            residency_threshold: number(hal::RESIDENCY_THRESHOLD),
            dense_kernel_bytes: number(hal::DENSE_KERNEL_BYTES),
            streamed_kernel_bytes: number(hal::STREAMED_KERNEL_BYTES),
            extended_kernel: number(hal::KERNEL_MEMORY_MODE) != 0,
            crossing,
        }
    }

    /// The same with another bound on an operand, as the compiler's option `fl2-size` sets it.
    #[must_use]
    pub const fn with_operand_bytes(self, operand_bytes: u32) -> Self {
        Self { operand_bytes, ..self }
    }

    /// Size from which the tiler was measured to split an operand: the bound and its margin.
    ///
    /// Measured between 2.28 and 2.34 MB on the M1.
    pub const fn split_bytes(&self) -> u32 {
        self.operand_bytes.saturating_add(TILER_MARGIN_BYTES)
    }

    /// Bytes of one tile of a streamed operand: two of them, one filling and one in use, make the pool.
    ///
    /// Deviation: inferred. Seed 003 says that tiles are double-buffered, and not how large they are.
    pub const fn tile_bytes(&self) -> u32 {
        let half = self.operand_bytes / 2;
        if half == 0 { 1 } else { half }
    }
}
