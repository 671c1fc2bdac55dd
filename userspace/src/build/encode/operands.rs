//! Where operands come from and where the result goes: tile DMA, and the on-chip buffer.

use ane_uapi::hw::td::l2::{self, L2Cfg, ResultCfg, ResultType, SourceCfg, SourceType};
use ane_uapi::hw::td::neural::OpMode;
use ane_uapi::hw::td::planar::Reduction;
use ane_uapi::hw::td::tile_destination::{self as destination, DestinationDmaConfig, DestinationFmt};
use ane_uapi::hw::td::tile_source::{self as source, Inert13840, MemoryFormat, SourceDmaConfig, SourceFmt};
use ane_uapi::hw::td::words::{ChipBytes, DmaBytes, DmaStride};
use ane_uapi::register::Reg;

use super::super::pass::Work;
use super::{ChipWords, MemoryWords, PlacedPass, Side, chip_bytes, memory_base, memory_stride};
use crate::task::Descriptor;

/// Switches of a source port that runs, with the cache hints of compilers; of one for source 2, whose enable stays
/// clear; and of one that is not used (td 4.5).
const PORT_RUNS: u32 = 0x0003_3881;
const PORT_SECOND: u32 = 0x0003_3880;
const PORT_UNUSED: u32 = 0x0000_8880;

/// Registers of one port: the base, and the strides of rows, planes, depths and groups.
type Port = (Reg<DmaBytes>, [Reg<DmaStride>; 4]);
const PORT1: Port = (
    source::BASE_ADDR1,
    [source::ROW_STRIDE1, source::PLANE_STRIDE1, source::DEPTH_STRIDE1, source::GROUP_STRIDE1],
);
const PORT2: Port = (
    source::BASE_ADDR2,
    [source::ROW_STRIDE2, source::PLANE_STRIDE2, source::DEPTH_STRIDE2, source::GROUP_STRIDE2],
);
const PORT_OUT: Port = (
    destination::BASE_ADDR,
    [
        destination::ROW_STRIDE,
        destination::PLANE_STRIDE,
        destination::DEPTH_STRIDE,
        destination::GROUP_STRIDE,
    ],
);

/// Registers of one operand on chip: base, channel, row, depth, group.
type OnChip = [Reg<ChipBytes>; 5];
const SOURCE1: OnChip = [
    l2::SOURCE_BASE,
    l2::SOURCE_CHANNEL_STRIDE,
    l2::SOURCE_ROW_STRIDE,
    l2::SOURCE_DEPTH_STRIDE,
    l2::SOURCE_GROUP_STRIDE,
];
const SOURCE2: OnChip = [
    l2::SOURCE2_BASE,
    l2::SOURCE2_CHANNEL_STRIDE,
    l2::SOURCE2_ROW_STRIDE,
    l2::SOURCE2_DEPTH_STRIDE,
    l2::SOURCE2_GROUP_STRIDE,
];
const RESULT: OnChip = [
    l2::RESULT_BASE,
    l2::RESULT_CHANNEL_STRIDE,
    l2::RESULT_ROW_STRIDE,
    l2::RESULT_DEPTH_STRIDE,
    l2::RESULT_GROUP_STRIDE,
];

pub(super) fn source(placed: &PlacedPass<'_>, descriptor: &mut Descriptor) {
    let plain = SourceFmt::new()
        .with_fmt_mode(1)
        .with_truncate(3)
        .with_mem_fmt(MemoryFormat::Fp16 as u8)
        .with_interleave(1);
    let second = placed.second.and_then(|side| side.memory);
    // When only source 2 comes from memory, the first port is enabled without moving anything (td 4.5).
    let (config, fmt) = match (placed.first.memory, second) {
        (Some(memory), _) => (PORT_RUNS, plain.with_interleave(memory.interleave as u8)),
        (None, Some(_)) => (PORT_RUNS, SourceFmt::new().with_fmt_mode(1).with_interleave(1)),
        (None, None) => (PORT_UNUSED, SourceFmt::new().with_interleave(1)),
    };
    descriptor.set(&source::DMA_CONFIG1, SourceDmaConfig::from_bits(config)).set(&source::FMT1, fmt);
    port(&PORT1, placed.first.memory, descriptor);
    if let Some(memory) = second {
        // Compilers leave the mode and, where nothing is interleaved, the interleave of source 2 at zero.
        let interleave = if memory.interleave == 1 { 0 } else { memory.interleave as u8 };
        let fmt = plain.with_fmt_mode(0).with_interleave(interleave);
        descriptor.set(&source::DMA_CONFIG2, SourceDmaConfig::from_bits(PORT_SECOND)).set(&source::FMT2, fmt);
        port(&PORT2, second, descriptor);
    } else {
        descriptor.set(&source::DMA_CONFIG2, SourceDmaConfig::from_bits(PORT_UNUSED));
    }
    if matches!(placed.pass.work, Work::Neural(_)) {
        descriptor.set(&source::INERT_13840, Inert13840::new().with_value(0x100));
    }
}

/// L2: what is on chip, and the windows.
pub(super) fn on_chip(placed: &PlacedPass<'_>, descriptor: &mut Descriptor) {
    let second_in_memory = placed.second.is_some_and(|side| side.memory.is_some());
    let source_type = match (placed.first.memory, placed.pass.keep) {
        (None, _) => SourceType::OnChip,
        (Some(_), Some(_)) => SourceType::LoadAndKeep,
        (Some(_), None) => SourceType::Stream,
    };
    let interleave = |side: Side| side.memory.map_or(1, |memory| memory.interleave as u8);
    let source = SourceCfg::new()
        .with_source_type(source_type as u8)
        .with_alias_conv_src(true)
        .with_alias_conv_rslt(true)
        .with_dma_fmt(1)
        .with_dma_interleave(interleave(placed.first))
        .with_alias_planar_src(true)
        .with_alias_planar_rslt(true)
        .with_src2_in_memory(second_in_memory);
    let direct = goes_straight_out(placed);
    let result_type = match (placed.result.memory, placed.assembled) {
        (None, _) => ResultType::OnChip,
        (Some(_), true) => ResultType::AssembleThenWrite,
        (Some(_), false) => ResultType::Stream,
    };
    let result = ResultCfg::new()
        .with_result_type(result_type as u8)
        .with_l2_bfr_mode(direct)
        .with_alias_conv_src(true)
        .with_alias_conv_rslt(true)
        .with_dma_fmt(1)
        .with_dma_interleave(interleave(placed.result))
        .with_alias_planar_src(true)
        .with_alias_planar_rslt(true);
    let (relu, maximum) = match &placed.pass.work {
        Work::Planar(planar) => (false, planar.reduce.reduction == Reduction::Maximum),
        Work::Neural(neural) => (neural.input_relu, neural.op_mode == OpMode::Maximum),
    };
    descriptor
        .set(&l2::L2_CFG, L2Cfg::new().with_input_relu(relu).with_padding_mode(maximum.into()))
        .set(&l2::SOURCE_CFG, source)
        .set(&l2::RESULT_CFG, result);
    place(&SOURCE1, placed.first.chip, descriptor);
    if let Some(second) = placed.second {
        place(&SOURCE2, second.chip, descriptor);
    }
    let chip = placed.result.chip;
    let strides = if direct { ChipWords { channel: 0, row: 0, group: 0, ..chip } } else { chip };
    place(&RESULT, strides, descriptor);
}

pub(super) fn destination(placed: &PlacedPass<'_>, descriptor: &mut Descriptor) {
    let fmt = DestinationFmt::new()
        .with_fmt_mode(1)
        .with_truncate(3)
        .with_mem_fmt(MemoryFormat::Fp16 as u8)
        .with_interleave(1);
    let Some(memory) = placed.result.memory else { return };
    let zero_pads = matches!(placed.pass.work, Work::Neural(_));
    let fmt = fmt
        .with_zero_pad_last(zero_pads)
        .with_zero_pad_first(zero_pads)
        .with_interleave(memory.interleave as u8);
    let config = DestinationDmaConfig::new()
        .with_en(true)
        .with_cache_hint(3)
        .with_l2_bfr_mode(goes_straight_out(placed));
    descriptor.set(&destination::DMA_CONFIG, config).set(&destination::FMT, fmt);
    port(&PORT_OUT, Some(memory), descriptor);
}

/// Whether the result streams out without a window of its own, as in every known pass without coefficients.
fn goes_straight_out(placed: &PlacedPass<'_>) -> bool {
    let multiplies = match &placed.pass.work {
        Work::Planar(_) => false,
        Work::Neural(neural) => neural.coefficients.multiply(),
    };
    placed.result.memory.is_some() && !placed.assembled && !multiplies
}

fn port((base, strides): &Port, memory: Option<MemoryWords>, descriptor: &mut Descriptor) {
    let Some(memory) = memory else { return };
    descriptor.set(base, memory_base(memory.base));
    for (register, bytes) in strides.iter().zip([memory.row, memory.plane, memory.depth, memory.group]) {
        descriptor.set(register, memory_stride(bytes));
    }
}

fn place(registers: &OnChip, chip: ChipWords, descriptor: &mut Descriptor) {
    let bytes = [chip.base, chip.channel, chip.row, chip.group, chip.group];
    for (register, bytes) in registers.iter().zip(bytes) {
        descriptor.set(register, chip_bytes(bytes));
    }
}
