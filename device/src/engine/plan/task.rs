//! The conditions for every task, of any class (docs/execution.md, *Every task*).

use ane_uapi::hw::td::common::{
    self, Cfg, Channels, ConvCfg, ElementFormat, GroupConvCfg, TaskClass, TileCfg,
};
use ane_uapi::hw::td::header::Header;
use ane_uapi::hw::td::l2::{self, SourceType};
use ane_uapi::hw::td::tile_source;
use ane_uapi::register::Bits;

use super::inferred::Inferred;
use super::operand::{ELEMENTS_MAX, Element, Shape};
use super::verdict::{Registers, Result, Verdict};
use crate::refusal::Category;
use crate::td::decode::HEADER_AT;

/// The value that compilers write to Conv3dCfg, and the one that silicon takes in its place.
const CONV3D: [u32; 2] = [0x2041, 0];

/// The values that compilers write to the word at 0x13840.
const WORD_13840: [u32; 2] = [0x100, 0];

/// PixelOffset of every program, and the other one that an M1 was seen to take in its place (delta 14).
const PIXEL_OFFSETS: [u32; 2] = [0, 1];

/// A header flag that would change what is executed, in a way that no source gives.
pub(super) fn check_header(header: &Header) -> Result<()> {
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
pub(super) fn check(task: Registers<'_>, has_source2: bool) -> Result<()> {
    check_hangs(task)?;
    let conv = task.get(&common::CONV_CFG);
    task.defined(
        conv.oy() == 1,
        &common::CONV_CFG,
        ConvCfg::OY,
        "only a vertical output step of 1 is known",
    )?;
    let cfg = task.get(&l2::SOURCE_CFG);
    let loads1 = [SourceType::LoadAndKeep as u8, SourceType::Stream as u8].contains(&cfg.source_type());
    if loads1 || (has_source2 && cfg.src2_in_memory()) {
        check_ports(task)?;
    }
    let conv3d = task.get(&common::CONV_3D_CFG).into_bits();
    task.defined(CONV3D.contains(&conv3d), &common::CONV_3D_CFG, Bits::ALL, "only 0x2041 and 0 are known")
}

/// Words beside the source ports. The values that were seen have no effect; of other values it is not known.
fn check_ports(task: Registers<'_>) -> Result<()> {
    for instance in 0..tile_source::PIXEL_OFFSET.info.count {
        let offset = task.0.get_at(&tile_source::PIXEL_OFFSET, instance);
        if !PIXEL_OFFSETS.contains(&offset.value()) {
            return Err(task.verdict_at(
                &tile_source::PIXEL_OFFSET,
                instance,
                Bits::ALL,
                Category::Undefined,
                "no program offsets pixels",
            ));
        }
    }
    let word = task.get(&tile_source::INERT_13840).into_bits();
    let register = &tile_source::INERT_13840;
    task.defined(WORD_13840.contains(&word), register, Bits::ALL, "only 0x100 and 0 are known")
}

/// The element of a format; the decoder has refused unknown formats.
pub(super) const fn element(format: u8) -> Element {
    const SIGNED: u8 = ElementFormat::Int8 as u8;
    const UNSIGNED: u8 = ElementFormat::Uint8 as u8;
    match format {
        SIGNED => Element::Signed,
        UNSIGNED => Element::Unsigned,
        _ => Element::Half,
    }
}

/// The inferences that a task with byte elements depends on: no known program has this kind, or has bytes there.
pub(super) fn bytes(task: Registers<'_>, has_source2: bool) -> Inferred {
    let formats = task.get(&common::CH_CFG);
    let (source1, result) = (element(formats.in_fmt()), element(formats.out_fmt()));
    // A task without source 2 looks at no format of it.
    let source2 = if has_source2 { element(formats.second_fmt()) } else { Element::Half };
    let unsigned = [source1, source2, result].contains(&Element::Unsigned);
    let unsigned = if unsigned { Inferred::UNSIGNED } else { Inferred::NONE };
    let second = if source2 == Element::Half { Inferred::NONE } else { Inferred::SOURCE2_BYTES };
    unsigned.with(second)
}

/// How often a task is done: for each group, and in each group for each depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Repeats {
    pub(super) groups: u32,
    pub(super) depths: u32,
}

impl Repeats {
    pub(super) const fn count(self) -> u32 {
        self.groups.saturating_mul(self.depths)
    }
}

/// How often a task of such extents is done.
pub(super) fn repeats(task: Registers<'_>, each: Shape) -> Result<(Repeats, Inferred)> {
    let register = &common::GROUP_CONV_CFG;
    let cfg = task.get(register);
    task.defined(!cfg.elem_mult_mode(), register, GroupConvCfg::ELEM_MULT_MODE, "its effect is not known")?;
    let groups = u32::from(cfg.num_groups());
    task.defined(groups != 0, register, GroupConvCfg::NUM_GROUPS, "there are no groups")?;
    let depths = task.get(&common::IN_DEPTH).depth();
    let is_same = task.get(&common::OUT_DEPTH).depth() == depths;
    task.defined(is_same, &common::OUT_DEPTH, Bits::ALL, "output is not as deep as the input")?;
    let all = each.elements().saturating_mul(groups.into());
    let why = "groups have more than 2^27 elements in all";
    task.supported(all <= super::REPEATED_ELEMENTS_MAX, register, GroupConvCfg::NUM_GROUPS, why)?;
    let why = "depths have more than 2^27 elements in all";
    let all = all.saturating_mul(depths.into());
    task.supported(all <= super::REPEATED_ELEMENTS_MAX, &common::IN_DEPTH, Bits::ALL, why)?;
    let inferred = if depths > 1 { Inferred::DEPTH } else { Inferred::NONE };
    Ok((Repeats { groups, depths }, inferred))
}

/// Words that hang the engine when they are zero (td 10; measured).
fn check_hangs(task: Registers<'_>) -> Result<()> {
    let zero = "engine hangs on zero";
    for depth in [&common::IN_DEPTH, &common::OUT_DEPTH] {
        task.runs(task.get(depth).depth() != 0, depth, Bits::ALL, zero)?;
    }
    task.runs(task.get(&common::CONV_CFG).into_bits() != 0, &common::CONV_CFG, Bits::ALL, zero)?;
    task.runs(task.get(&common::GROUP_CONV_CFG).into_bits() != 0, &common::GROUP_CONV_CFG, Bits::ALL, zero)?;
    let tile = task.get(&common::TILE_CFG);
    task.runs(tile.tile_height() != 0, &common::TILE_CFG, TileCfg::TILE_HEIGHT, zero)
}

/// Extents of the input, bounded.
pub(super) fn input(task: Registers<'_>) -> Result<Shape> {
    let dim = task.get(&common::IN_DIM);
    let channels = task.get(&common::C_IN).channels();
    task.defined(channels != 0, &common::C_IN, Channels::CHANNELS, "there are no input channels")?;
    let shape = Shape { channels, height: dim.height().into(), width: dim.width().into() };
    task.defined(!shape.is_empty(), &common::IN_DIM, Bits::ALL, "input has no elements")?;
    task.supported(
        shape.elements() <= ELEMENTS_MAX,
        &common::IN_DIM,
        Bits::ALL,
        "input has more than 2^26 elements",
    )?;
    Ok(shape)
}

/// Extents of the output, bounded.
pub(super) fn output(task: Registers<'_>) -> Result<Shape> {
    let dim = task.get(&common::OUT_DIM);
    let channels = task.get(&common::C_OUT).channels();
    task.defined(channels != 0, &common::C_OUT, Channels::CHANNELS, "there are no output channels")?;
    let shape = Shape { channels, height: dim.height().into(), width: dim.width().into() };
    task.defined(!shape.is_empty(), &common::OUT_DIM, Bits::ALL, "output has no elements")?;
    task.supported(
        shape.elements() <= ELEMENTS_MAX,
        &common::OUT_DIM,
        Bits::ALL,
        "output has more than 2^26 elements",
    )?;
    Ok(shape)
}

pub(super) fn class(task: Registers<'_>) -> Result<TaskClass> {
    TaskClass::try_from(task.get(&common::CFG).class()).map_err(|_| {
        task.verdict(&common::CFG, Cfg::CLASS, Category::Undefined, "no program has a task of this class")
    })
}
