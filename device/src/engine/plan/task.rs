//! What every task has to satisfy, whatever its class (docs/execution.md, *Every task*).

use ane_uapi::hw::td::common::{self, ElementFormat, SecondFormat, TaskClass};
use ane_uapi::hw::td::header::Header;
use ane_uapi::hw::td::{kernel_dma, l2, tile_destination, tile_source};

use super::operand::{ELEMENTS_MAX, Shape};
use super::verdict::{Registers, Verdict};
use crate::refusal::Category;
use crate::td::decode::HEADER_AT;

/// The only output step that programs use.
const OUTPUT_STEP: u8 = 1;

/// What compilers write to Conv3dCfg, and what silicon takes in its place.
const CONV3D: [u32; 2] = [0x2041, 0];

/// What compilers write to the word at 0x13840.
const WORD_13840: [u32; 2] = [0x100, 0];

/// Configuration of a further stream of kernel DMA that is idle.
const IDLE_STREAM: [u32; 2] = [0x80, 0];

/// A header flag that would change what is executed, in a way that no source gives.
pub(super) fn check_header(header: &Header) -> Result<(), Verdict> {
    use ane_uapi::hw::td::header::{FLAGS, Flags};
    let unknown = Flags::new().with_td_skip(true).with_tq_dis(true);
    match header.flags.into_bits() & unknown.into_bits() {
        0 => Ok(()),
        bits => Err(Verdict {
            category: Category::Undefined,
            address: HEADER_AT | FLAGS.offset(),
            bits,
            value: header.flags.into_bits(),
            why: "no program sets this flag of the header",
        }),
    }
}

/// The words that all classes share.
pub(super) fn check(registers: Registers<'_>, has_source2: bool) -> Result<(), Verdict> {
    check_hangs(registers)?;
    for depth in [&common::IN_DEPTH, &common::OUT_DEPTH] {
        registers.defined(registers.get(depth).depth() == 1, depth, "", "only depth 1 is known")?;
    }
    let formats = registers.get(&common::CH_CFG);
    let fp16 = ElementFormat::Fp16 as u8;
    registers.supported(formats.in_fmt() == fp16, &common::CH_CFG, "in_fmt", "only fp16 is executed")?;
    registers.supported(formats.out_fmt() == fp16, &common::CH_CFG, "out_fmt", "only fp16 is executed")?;
    let second = if has_source2 { SecondFormat::Fp16 } else { SecondFormat::NoneOrInt8 };
    registers.supported(
        formats.second_fmt() == second as u8,
        &common::CH_CFG,
        "second_fmt",
        "fp16 with a source 2, none without",
    )?;
    let conv = registers.get(&common::CONV_CFG);
    registers.defined(
        conv.ox() == OUTPUT_STEP,
        &common::CONV_CFG,
        "ox",
        "only an output step of 1 is known",
    )?;
    registers.defined(
        conv.oy() == OUTPUT_STEP,
        &common::CONV_CFG,
        "oy",
        "only an output step of 1 is known",
    )?;
    for instance in 0..tile_source::PIXEL_OFFSET.info.count {
        let offset = registers.0.get_at(&tile_source::PIXEL_OFFSET, instance);
        if offset.value() != 0 {
            return Err(registers.verdict_at(
                &tile_source::PIXEL_OFFSET.info,
                instance,
                "",
                Category::Undefined,
                "no program offsets pixels",
            ));
        }
    }
    check_known_values(registers)?;
    check_formats(registers)
}

/// Words without an effect as far as their values were seen: of others nobody knows.
fn check_known_values(registers: Registers<'_>) -> Result<(), Verdict> {
    let conv3d = registers.get(&common::CONV_3D_CFG).into_bits();
    registers.defined(CONV3D.contains(&conv3d), &common::CONV_3D_CFG, "", "only 0x2041 and 0 are known")?;
    let word = registers.get(&tile_source::INERT_13840).into_bits();
    let register = &tile_source::INERT_13840;
    registers.defined(WORD_13840.contains(&word), register, "", "only 0x100 and 0 are known")?;
    let register = &kernel_dma::ALIGNED_SIZE;
    registers.defined(registers.get(register).value() == 0, register, "", "it is 0 in every program")?;
    for stream in 0..kernel_dma::STREAM_DMA_CONFIG.info.count {
        let config = registers.0.get_at(&kernel_dma::STREAM_DMA_CONFIG, stream).into_bits();
        if !IDLE_STREAM.contains(&config) {
            return Err(registers.verdict_at(
                &kernel_dma::STREAM_DMA_CONFIG.info,
                stream,
                "",
                Category::Undefined,
                "what further streams bring is not known",
            ));
        }
    }
    Ok(())
}

/// Fields of the formats that are zero in every program, of ports that are used and of those that are not.
fn check_formats(registers: Registers<'_>) -> Result<(), Verdict> {
    let compresses = "no program compresses";
    let offsets = "no program offsets channels";
    for register in [&tile_source::FMT1, &tile_source::FMT2] {
        let fmt = registers.get(register);
        registers.defined(!fmt.shift(), register, "shift", "no program shifts")?;
        registers.defined(fmt.offset_ch() == 0, register, "offset_ch", offsets)?;
        registers.defined(fmt.cmp_vec() == 0, register, "cmp_vec", compresses)?;
    }
    let register = &tile_destination::FMT;
    let fmt = registers.get(register);
    registers.defined(!fmt.shift(), register, "shift", "no program shifts")?;
    registers.defined(fmt.offset_ch() == 0, register, "offset_ch", offsets)?;
    registers.defined(!fmt.cmp_vec_fill(), register, "cmp_vec_fill", compresses)?;
    registers.defined(fmt.cmp_vec() == 0, register, "cmp_vec", compresses)?;
    let cfg = registers.get(&l2::SOURCE_CFG);
    registers.defined(cfg.dma_cmp_vec() == 0, &l2::SOURCE_CFG, "dma_cmp_vec", compresses)?;
    registers.defined(cfg.dma_offset_ch() == 0, &l2::SOURCE_CFG, "dma_offset_ch", offsets)?;
    let cfg = registers.get(&l2::RESULT_CFG);
    registers.defined(cfg.dma_cmp_vec() == 0, &l2::RESULT_CFG, "dma_cmp_vec", compresses)?;
    registers.defined(cfg.dma_offset_ch() == 0, &l2::RESULT_CFG, "dma_offset_ch", offsets)
}

/// Words that hang the engine when they are zero (td 10; measured).
fn check_hangs(registers: Registers<'_>) -> Result<(), Verdict> {
    let zero = "engine hangs on zero";
    for depth in [&common::IN_DEPTH, &common::OUT_DEPTH] {
        registers.runs(registers.get(depth).depth() != 0, depth, "", zero)?;
    }
    registers.runs(registers.get(&common::CONV_CFG).into_bits() != 0, &common::CONV_CFG, "", zero)?;
    registers.runs(
        registers.get(&common::GROUP_CONV_CFG).into_bits() != 0,
        &common::GROUP_CONV_CFG,
        "",
        zero,
    )?;
    let tile = registers.get(&common::TILE_CFG);
    registers.runs(tile.tile_height() != 0, &common::TILE_CFG, "tile_height", zero)
}

/// Extents of the input, bounded.
pub(super) fn input(registers: Registers<'_>) -> Result<Shape, Verdict> {
    let dim = registers.get(&common::IN_DIM);
    let channels = registers.get(&common::C_IN).channels();
    registers.defined(channels != 0, &common::C_IN, "channels", "there are no input channels")?;
    let shape = Shape { channels, height: dim.height().into(), width: dim.width().into() };
    registers.defined(!shape.is_empty(), &common::IN_DIM, "", "input has no elements")?;
    registers.supported(
        shape.elements() <= ELEMENTS_MAX,
        &common::IN_DIM,
        "",
        "input has more than 2^26 elements",
    )?;
    Ok(shape)
}

/// Extents of the output, bounded.
pub(super) fn output(registers: Registers<'_>) -> Result<Shape, Verdict> {
    let dim = registers.get(&common::OUT_DIM);
    let channels = registers.get(&common::C_OUT).channels();
    registers.defined(channels != 0, &common::C_OUT, "channels", "there are no output channels")?;
    let shape = Shape { channels, height: dim.height().into(), width: dim.width().into() };
    registers.defined(!shape.is_empty(), &common::OUT_DIM, "", "output has no elements")?;
    registers.supported(
        shape.elements() <= ELEMENTS_MAX,
        &common::OUT_DIM,
        "",
        "output has more than 2^26 elements",
    )?;
    Ok(shape)
}

/// The class of the task.
pub(super) fn class(registers: Registers<'_>) -> Result<TaskClass, Verdict> {
    TaskClass::try_from(registers.get(&common::CFG).class()).map_err(|_| {
        registers.verdict(
            &common::CFG.info,
            "class",
            Category::Undefined,
            "no program has a task of this class",
        )
    })
}
