//! The common block: shapes, geometry, class.

use ane_uapi::hw::td::common::{
    C_IN, C_OUT, CFG, CH_CFG, CONV_3D_CFG, CONV_CFG, Cfg, ChCfg, Channels as ChannelsWord, Conv3dCfg,
    ConvCfg, Depth, ElementFormat, Extent, GROUP_CONV_CFG, GroupConvCfg, IN_DEPTH, IN_DIM, OUT_DEPTH,
    OUT_DIM, PATCH_CFG, PLANAR_MAP, PatchCfg, PlanarMap, SecondFormat, TASK_INFO, TILE_CFG, TaskClass,
    TaskInfo, TileCfg,
};

use super::super::convolution::Channels;
use super::super::graph::View;
use super::super::pass::{Kernel, Neural, Pass, Planar, Work};
use super::super::shape::Shape;
use super::PlacedPass;
use crate::task::Descriptor;

pub(super) fn encode(placed: &PlacedPass<'_>, descriptor: &mut Descriptor) {
    let pass = placed.pass;
    let fp16 = ElementFormat::Fp16 as u8;
    let second = if pass.second.is_some() { SecondFormat::Fp16 } else { SecondFormat::NoneOrInt8 };
    let depth = Depth::new().with_depth(1);
    descriptor
        .set(&IN_DIM, extent(pass.input))
        .set(&IN_DEPTH, depth)
        .set(&CH_CFG, ChCfg::new().with_in_fmt(fp16).with_second_fmt(second as u8).with_out_fmt(fp16))
        // The registers hold the channels of one group.
        .set(&C_IN, ChannelsWord::new().with_channels(pass.input.c / pass.groups()))
        .set(&C_OUT, ChannelsWord::new().with_channels(pass.output.c / pass.groups()))
        .set(&OUT_DIM, extent(pass.output))
        .set(&OUT_DEPTH, depth)
        .set(&CONV_3D_CFG, Conv3dCfg::new().with_value(0x2041))
        // Rows have 15 bits, and a tile has no more than the input.
        .set(&TILE_CFG, TileCfg::new().with_tile_height(placed.tile_rows as u16));
    match &pass.work {
        Work::Planar(planar) => self::planar(placed, planar, descriptor),
        Work::Neural(neural) => self::neural(pass, neural, descriptor),
    }
}

fn planar(placed: &PlacedPass<'_>, planar: &Planar, descriptor: &mut Descriptor) {
    let pass = placed.pass;
    let second_in_memory = placed.second.is_some_and(|side| side.memory.is_some());
    let cfg = Cfg::new()
        .with_not_src2_only(placed.first.memory.is_some() || !second_in_memory)
        .with_src2_in_memory(second_in_memory)
        .with_class(planar.class as u8);
    let groups = GroupConvCfg::new().with_num_groups(pass.batches as u16).with_unicast_cin(1);
    descriptor
        .set(&CONV_CFG, geometry(Kernel::POINT))
        .set(&GROUP_CONV_CFG, groups)
        .set(&PATCH_CFG, PatchCfg::new().with_width(patch_width(pass.input)))
        .set(&PLANAR_MAP, planar_map(pass, planar))
        .set(&CFG, cfg);
}

fn planar_map(pass: &Pass, planar: &Planar) -> PlanarMap {
    let one = |view: View, extent: fn(Shape) -> u32| extent(view.shape) == 1 && extent(pass.input) > 1;
    let first = pass.first;
    let map = PlanarMap::new()
        .with_src1_column(one(first, |shape| shape.w))
        .with_src1_row(one(first, |shape| shape.h))
        .with_src1_channel(one(first, |shape| shape.c))
        .with_transpose(pass.transpose);
    let Some(second) = pass.second else { return map };
    // The two rows of a normalisation's source 2 are one operand each, both broadcast along the rows.
    let normalises = planar.class == TaskClass::PlanarNormalise;
    map.with_src2_column(one(second, |shape| shape.w))
        .with_src2_row(normalises || one(second, |shape| shape.h))
        .with_src2_channel(one(second, |shape| shape.c))
}

fn neural(pass: &Pass, neural: &Neural, descriptor: &mut Descriptor) {
    let tile = work_tile(neural, pass.input);
    let multiplies = neural.coefficients.multiply();
    // As compilers have it: convolutions take one shape, passes without coefficients prefer the second.
    let (preferred, largest) = if multiplies { (tile, tile) } else { (1, 1) };
    let cfg = Cfg::new()
        .with_not_src2_only(true)
        .with_small_source_mode(multiplies && tile == SHAPE_MAX)
        .with_class(TaskClass::Neural as u8)
        .with_sh_pref(preferred)
        .with_sh_min(tile)
        .with_sh_max(largest)
        .with_active_ne(neural.engines.ilog2() as u8)
        .with_acc_double_buf_en(neural.kernel.lanes < 32)
        .with_transpose(pass.transpose);
    descriptor
        .set(&CONV_CFG, geometry(neural.kernel))
        .set(&GROUP_CONV_CFG, groups(neural.channels))
        .set(&CFG, cfg)
        .set(&TASK_INFO, TaskInfo::new().with_nid(1));
}

fn groups(channels: Channels) -> GroupConvCfg {
    let dense = GroupConvCfg::new().with_num_groups(1).with_unicast_cin(1);
    match channels {
        Channels::Dense => dense,
        Channels::Grouped(groups) => dense.with_num_groups(groups as u16),
        Channels::Unicast(reads) => dense.with_unicast_en(true).with_unicast_cin(reads as u16),
    }
}

fn geometry(kernel: Kernel) -> ConvCfg {
    ConvCfg::new()
        .with_kw(kernel.width as u8)
        .with_kh(kernel.height as u8)
        .with_ocg_size(kernel.lanes.ilog2() as u8)
        .with_sx(kernel.stride.0 as u8)
        .with_sy(kernel.stride.1 as u8)
        .with_px(kernel.padding.0 as u8)
        .with_py(kernel.padding.1 as u8)
        .with_ox(1)
        .with_oy(1)
}

fn extent(shape: Shape) -> Extent {
    Extent::new().with_width(shape.w as u16).with_height(shape.h as u16)
}

/// Logarithm of the planar patch's width: as wide as the operand, in the range that compilers use (td 4.1).
pub(in super::super) fn patch_width(shape: Shape) -> u8 {
    (shape.w.next_power_of_two().ilog2() as u8).clamp(4, 9)
}

/// The narrowest work tile in known programs: 8 pixels.
const SHAPE_MAX: u8 = 4;

/// The smallest shape of the neural work tile, `128 >> shape` pixels wide.
///
/// (Chosen) The narrowest that holds a row. Passes without coefficients go down to 64 pixels, as compilers have it.
pub(in super::super) fn work_tile(neural: &Neural, input: Shape) -> u8 {
    let narrowest = if neural.coefficients.multiply() { SHAPE_MAX } else { 1 };
    (0..=narrowest).rev().find(|&shape| 128 >> shape >= input.w).unwrap_or(0)
}
