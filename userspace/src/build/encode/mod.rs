//! Registers: the descriptor of a pass whose operands have places.
//!
//! One function for each block of registers. Words that have an effect follow from the pass; words that have none are
//! as compilers write them in programs of the kind.

mod common;
mod engines;
mod operands;

use ane_uapi::hw::td::activation;
use ane_uapi::hw::td::header::{Dependence, Flags, KernelBases, OperandBases};
use ane_uapi::hw::td::kernel_dma::{self, CoeffBfrSize, CoeffDmaConfig, Master, StreamWord};
use ane_uapi::hw::td::words::{ChipBytes, DmaBytes, DmaStride};

pub(super) use common::{patch_width, work_tile};

use super::pass::{Chunk, Coefficients, Neural, Pass, Work};
use crate::container::anec::CONSTANTS_BAR;
use crate::task::Descriptor;

#[derive(Debug)]
pub(super) struct PlacedPass<'p> {
    pub(super) pass: &'p Pass,
    pub(super) tile_rows: u32,
    pub(super) first: Side,
    pub(super) second: Option<Side>,
    pub(super) result: Side,
    /// The result is put together on chip before it is written.
    pub(super) assembled: bool,
    pub(super) runtime: Option<Runtime>,
}

/// Where an operand lies; if in memory, `chip` is its window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side {
    pub(super) chip: ChipWords,
    pub(super) memory: Option<MemoryWords>,
}

/// Where an operand lies on chip, or the window through which it streams.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ChipWords {
    pub(super) base: u64,
    pub(super) channel: u64,
    pub(super) row: u64,
    /// From one batch or group to the next.
    pub(super) group: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct MemoryWords {
    pub(super) bar: u8,
    pub(super) base: u64,
    pub(super) row: u64,
    pub(super) plane: u64,
    pub(super) depth: u64,
    pub(super) group: u64,
    pub(super) interleave: u32,
}

/// Coefficients that an earlier task made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Runtime {
    pub(super) memory: MemoryWords,
    pub(super) producer: usize,
}

/// The descriptor, without its place in the chain.
pub(super) fn descriptor(placed: &PlacedPass<'_>) -> Descriptor {
    let placed = &by_groups(placed);
    let mut descriptor = Descriptor::new();
    header(placed, &mut descriptor);
    if let Work::Neural(neural) = &placed.pass.work {
        kernel_dma(placed, neural, &mut descriptor);
    }
    common::encode(placed, &mut descriptor);
    operands::source(placed, &mut descriptor);
    operands::on_chip(placed, &mut descriptor);
    operands::destination(placed, &mut descriptor);
    match &placed.pass.work {
        Work::Planar(planar) => engines::planar(placed, planar, &mut descriptor),
        Work::Neural(neural) => engines::neural(neural, &mut descriptor),
    }
    descriptor
}

/// The same task with the strides from group to group, if it has any.
fn by_groups<'p>(placed: &PlacedPass<'p>) -> PlacedPass<'p> {
    let pass = placed.pass;
    let groups = pass.groups();
    let side = |side: Side, channels: u32, is_turned: bool| {
        if groups == 1 {
            return side;
        }
        let each = u64::from(channels / groups);
        let Side { mut chip, memory } = side;
        // A transposition exchanges channels and columns.
        chip.group = each * if is_turned { 2 } else { chip.channel };
        let memory = memory.map(|memory| {
            let interleave = u64::from(memory.interleave);
            let group = if is_turned { each * 2 * interleave } else { each / interleave * memory.plane };
            MemoryWords { group, ..memory }
        });
        Side { chip, memory }
    };
    PlacedPass {
        first: side(placed.first, pass.input.c, false),
        result: side(placed.result, pass.output.c, pass.transpose),
        ..*placed
    }
}

fn header(placed: &PlacedPass<'_>, descriptor: &mut Descriptor) {
    let memory = |side: Option<Side>| side.and_then(|side| side.memory);
    let (first, second) = (memory(Some(placed.first)), memory(placed.second));
    let result = memory(Some(placed.result));
    let mut operands = OperandBases::new();
    if let Some(memory) = first {
        operands = operands.with_rbase0(memory.bar).with_rbe0(true);
    }
    if let Some(memory) = second {
        operands = operands.with_rbase1(memory.bar).with_rbe1(true);
    }
    if let Some(memory) = result {
        operands = operands.with_wbase(memory.bar).with_wbe(true);
    }
    let mut kernels = KernelBases::new();
    if let Work::Neural(neural) = &placed.pass.work {
        operands = operands.with_ene(neural.engines.ilog2() as u8 + 1);
        if placed.runtime.is_none() && has_constants(neural) {
            kernels = kernels.with_kbase0(CONSTANTS_BAR).with_kbe0(true);
        }
    }
    if let Some(runtime) = placed.runtime {
        kernels = kernels.with_kbase0(runtime.memory.bar).with_kbe0(true);
    }

    let source_in_memory = first.is_some() || second.is_some();
    let header = descriptor.header_mut();
    header.flags = Flags::new()
        .with_spl(true)
        .with_tsr(true)
        .with_tse(true)
        .with_spc(!source_in_memory)
        .with_dpc(result.is_none())
        .with_src_loc(source_in_memory)
        .with_dst_loc(result.is_some());
    header.operands = operands;
    header.kernels = kernels;
    if let Some(runtime) = placed.runtime {
        header.flags.set_tde(true);
        // A program has at most 2^16 - 1 tasks.
        header.dependence = Some(Dependence::new().with_dtid(runtime.producer as u16));
    }
}

fn has_constants(neural: &Neural) -> bool {
    matches!(neural.coefficients, Coefficients::Packed { .. } | Coefficients::Table { .. })
}

fn kernel_dma(placed: &PlacedPass<'_>, neural: &Neural, descriptor: &mut Descriptor) {
    /// Switches of a channel that runs, and of an idle one (td 4.7).
    const RUNS: u32 = 0x81;
    const IDLE: u32 = 0x80;
    descriptor
        .fill(&kernel_dma::COEFF_DMA_CONFIG, CoeffDmaConfig::from_bits(IDLE))
        .fill(&kernel_dma::COEFF_BFR_SIZE, CoeffBfrSize::new().with_bytes(0x40))
        .fill(&kernel_dma::STREAM_DMA_CONFIG, StreamWord::from_bits(IDLE));
    let chunks = chunks(placed, neural);
    if chunks.is_empty() {
        return;
    }
    descriptor.set(&kernel_dma::MASTER, Master::new().with_enable(true));
    for (channel, chunk) in (0..kernel_dma::CHANNELS).zip(&chunks) {
        // Both fit: the section is at most 2^32 bytes.
        descriptor
            .set_at(&kernel_dma::COEFF_DMA_CONFIG, channel, CoeffDmaConfig::from_bits(RUNS))
            .set_at(&kernel_dma::COEFF_BASE_ADDR, channel, memory_base(chunk.base))
            .set_at(&kernel_dma::COEFF_BFR_SIZE, channel, CoeffBfrSize::new().with_bytes(chunk.bytes as u32));
    }
}

fn chunks(placed: &PlacedPass<'_>, neural: &Neural) -> Vec<Chunk> {
    match (&neural.coefficients, placed.runtime) {
        (Coefficients::Packed { chunks, .. }, _) => chunks.clone(),
        (&Coefficients::Table { base, engines }, _) => {
            (0..engines).map(|_| Chunk { base, bytes: activation::BYTES as u64 }).collect()
        }
        (Coefficients::Runtime(_), Some(Runtime { memory, .. })) => {
            let planes = u64::from(placed.pass.output.c / neural.kernel.lanes);
            let plane = |index| Chunk { base: memory.base + index * memory.plane, bytes: memory.plane };
            (0..planes).map(plane).collect()
        }
        _ => Vec::new(),
    }
}

/// The word of a base in memory, below 2^32.
fn memory_base(bytes: u64) -> DmaBytes {
    DmaBytes::new().with_units((bytes >> 6) as u32)
}

/// The word of a stride in memory, below 2^32.
fn memory_stride(bytes: u64) -> DmaStride {
    DmaStride::new().with_units((bytes >> 6) as u32)
}

/// The word of a number of bytes on chip, at most 2 MB.
fn chip_bytes(bytes: u64) -> ChipBytes {
    ChipBytes::new().with_units((bytes >> 4) as u32 & 0x1_ffff)
}
