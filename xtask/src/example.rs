//! `examples/add_relu.anec`: a small program of our own, for the README and for tests that need no compiler.
//!
//! Two tasks in a chain. The planar engine adds two fp16 tensors of 16 channels, one row and 32 columns, into
//! scratch memory; the neural engine passes the sum through ReLU into the output. The registers are what
//! compilers write for tasks of this kind (td 4.1 to 4.7), for these shapes.

use std::borrow::Cow;

use ane::container::anec::{Form, Image, Layout, WriteError};
use ane::task::Descriptor;
use ane_uapi::hw::dart::aperture::PAGE_SIZE;
use ane_uapi::hw::td::common::{self, ElementFormat, TaskClass};
use ane_uapi::hw::td::neural::{self, KernelFormat, NonlinearMode, OpMode};
use ane_uapi::hw::td::planar::{self, Operation, SecondSource};
use ane_uapi::hw::td::words::{ChipBytes, DmaStride};
use ane_uapi::hw::td::{self, STREAM_ALIGN, kernel_dma, l2, tile_destination, tile_source};

const CHANNELS: u32 = 16;
const WIDTH: u16 = 32;

/// Bytes of a row in memory: 32 halves, which is a multiple of 64 already.
const ROW: u32 = 2 * WIDTH as u32;

/// Bytes of a surface: one row for each channel.
const SURFACE: u32 = ROW * CHANNELS;

const ONE: u16 = 0x3c00;

/// BAR of the scratch buffer, by convention (td 5).
const SCRATCH: u8 = 3;
/// BAR of the output: outputs come first, from 4 (td 5).
const OUTPUT: u8 = 4;
/// BAR of the first input.
const INPUT_A: u8 = 5;
/// BAR of the second input.
const INPUT_B: u8 = 6;

pub fn render() -> Result<Vec<u8>, WriteError> {
    let surface = Layout { n: 1, c: CHANNELS, h: 1, w: WIDTH.into(), plane: ROW.into(), row: ROW.into() };
    let mut buffers = [0; 32];
    for bar in [SCRATCH, OUTPUT, INPUT_A, INPUT_B] {
        buffers[usize::from(bar)] = u64::from(PAGE_SIZE);
    }
    let image = Image {
        stream: Cow::Owned(task_stream()),
        first_task_bytes: td::FULL_BYTES,
        task_count: 2,
        constants: &[],
        buffers,
        outputs: vec![surface],
        inputs: vec![surface, surface],
        names: Vec::new(),
        trailer: None,
    };
    image.write(Form::Long)
}

/// The task stream: both descriptors, the second at the next multiple of 256.
fn task_stream() -> Vec<u8> {
    let second = td::FULL_BYTES.next_multiple_of(STREAM_ALIGN);
    let mut stream = add(second).encode();
    stream.resize(second as usize, 0);
    stream.extend(relu().encode());
    stream
}

fn memory(bytes: u32) -> DmaStride {
    DmaStride::new().with_units(bytes >> 6)
}

fn chip(bytes: u32) -> ChipBytes {
    ChipBytes::new().with_units(bytes >> 4)
}

/// The common part of both tasks: one row of 32 columns, 16 channels, in and out.
fn shaped() -> Descriptor {
    let extent = common::Extent::new().with_width(WIDTH).with_height(1);
    let depth = common::Depth::new().with_depth(1);
    let channels = common::Channels::new().with_channels(CHANNELS);
    let fp16 = ElementFormat::Fp16 as u8;
    let mut task = Descriptor::new();
    task.set(&common::IN_DIM, extent)
        .set(&common::IN_DEPTH, depth)
        .set(&common::CH_CFG, common::ChCfg::new().with_in_fmt(fp16).with_out_fmt(fp16))
        .set(&common::C_IN, channels)
        .set(&common::C_OUT, channels)
        .set(&common::OUT_DIM, extent)
        .set(&common::OUT_DEPTH, depth)
        .set(
            &common::CONV_CFG,
            common::ConvCfg::new().with_kw(1).with_kh(1).with_sx(1).with_sy(1).with_ox(1).with_oy(1),
        )
        .set(&common::CONV_3D_CFG, common::Conv3dCfg::new().with_value(0x2041))
        .set(&common::TILE_CFG, common::TileCfg::new().with_tile_height(1));

    // Memory: rows of one channel each, no interleave.
    let source_fmt = tile_source::SourceFmt::new()
        .with_fmt_mode(1)
        .with_truncate(3)
        .with_mem_fmt(tile_source::MemoryFormat::Fp16 as u8)
        .with_interleave(1);
    let destination_fmt = tile_destination::DestinationFmt::new()
        .with_fmt_mode(1)
        .with_truncate(3)
        .with_mem_fmt(tile_source::MemoryFormat::Fp16 as u8)
        .with_interleave(1);
    task.set(&tile_source::DMA_CONFIG1, tile_source::SourceDmaConfig::from_bits(0x0003_3881))
        .set(&tile_source::ROW_STRIDE1, memory(ROW))
        .set(&tile_source::PLANE_STRIDE1, memory(ROW))
        .set(&tile_source::DEPTH_STRIDE1, memory(SURFACE))
        .set(&tile_source::FMT1, source_fmt)
        .set(&tile_destination::DMA_CONFIG, tile_destination::DestinationDmaConfig::from_bits(0x0400_00c1))
        .set(&tile_destination::ROW_STRIDE, memory(ROW))
        .set(&tile_destination::PLANE_STRIDE, memory(ROW))
        .set(&tile_destination::DEPTH_STRIDE, memory(SURFACE))
        .set(&tile_destination::FMT, destination_fmt);

    // On chip: everything streams through windows, one behind the other.
    task.set(&l2::SOURCE_CHANNEL_STRIDE, chip(ROW))
        .set(&l2::SOURCE_ROW_STRIDE, chip(SURFACE))
        .set(&l2::SOURCE_DEPTH_STRIDE, chip(SURFACE))
        .set(&l2::SOURCE_GROUP_STRIDE, chip(SURFACE));
    task
}

/// Task 0: `scratch = a + b`.
fn add(second: u32) -> Descriptor {
    let mut task = shaped();
    let header = task.header_mut();
    header.length.set_next_size((td::FULL_BYTES / 4 - 1) as u16);
    header.flags.set_src_loc(true);
    header.flags.set_dst_loc(true);
    header.next.set_offset(second);
    header.operands = td::header::OperandBases::new()
        .with_rbase0(INPUT_A)
        .with_rbe0(true)
        .with_rbase1(INPUT_B)
        .with_rbe1(true)
        .with_wbase(SCRATCH)
        .with_wbe(true)
        .with_tbe(true);

    let fp16 = ElementFormat::Fp16 as u8;
    let two_sources = common::ChCfg::new().with_in_fmt(fp16).with_second_fmt(fp16).with_out_fmt(fp16);
    task.set(&common::CH_CFG, two_sources)
        .set(&common::GROUP_CONV_CFG, common::GroupConvCfg::new().with_num_groups(1).with_unicast_cin(1))
        .set(&common::PATCH_CFG, common::PatchCfg::new().with_width(5))
        .set(
            &common::CFG,
            common::Cfg::new()
                .with_not_src2_only(true)
                .with_src2_in_memory(true)
                .with_class(TaskClass::PlanarBinary as u8),
        );
    let fmt2 =
        tile_source::SourceFmt::new().with_truncate(3).with_mem_fmt(tile_source::MemoryFormat::Fp16 as u8);
    task.set(&tile_source::DMA_CONFIG2, tile_source::SourceDmaConfig::from_bits(0x0003_3880))
        .set(&tile_source::ROW_STRIDE2, memory(ROW))
        .set(&tile_source::PLANE_STRIDE2, memory(ROW))
        .set(&tile_source::DEPTH_STRIDE2, memory(SURFACE))
        .set(&tile_source::FMT2, fmt2);
    task.set(&l2::SOURCE_CFG, source_cfg().with_src2_in_memory(true))
        .set(&l2::SOURCE2_BASE, chip(SURFACE))
        .set(&l2::SOURCE2_CHANNEL_STRIDE, chip(ROW))
        .set(&l2::SOURCE2_ROW_STRIDE, chip(SURFACE))
        .set(&l2::SOURCE2_DEPTH_STRIDE, chip(SURFACE))
        .set(&l2::SOURCE2_GROUP_STRIDE, chip(SURFACE))
        .set(&l2::RESULT_CFG, result_cfg())
        .set(&l2::RESULT_BASE, chip(2 * SURFACE));
    task.set(
        &planar::PE_CFG,
        planar::PeCfg::new()
            .with_operation(Operation::Add as u8)
            .with_second_source(SecondSource::AsIs as u8),
    )
    .set(&planar::BIAS_SCALE, planar::BiasScale::new().with_scale(ONE))
    .set(&planar::EPSILON_PRE_SCALE, planar::EpsilonPreScale::new().with_pre_scale(ONE))
    .set(&planar::FINAL_SCALE, planar::FinalScale::new().with_scale(1.0_f32.to_bits()));
    task
}

/// Task 1: `output = relu(scratch)`.
fn relu() -> Descriptor {
    let mut task = shaped();
    let header = task.header_mut();
    header.identity = td::header::Identity::new().with_tid(1).with_lnid(true).with_eon(true);
    header.flags.set_src_loc(true);
    header.flags.set_dst_loc(true);
    header.operands = td::header::OperandBases::new()
        .with_rbase0(SCRATCH)
        .with_rbe0(true)
        .with_wbase(OUTPUT)
        .with_wbe(true)
        .with_ene(1);

    let idle = kernel_dma::CoeffDmaConfig::from_bits(0x80);
    let nothing = kernel_dma::CoeffBfrSize::new().with_bytes(0x40);
    task.fill(&kernel_dma::COEFF_DMA_CONFIG, idle)
        .fill(&kernel_dma::COEFF_BFR_SIZE, nothing)
        .fill(&kernel_dma::STREAM_DMA_CONFIG, kernel_dma::StreamWord::from_bits(0x80))
        .fill(&kernel_dma::STREAM_BFR_SIZE, nothing);
    let each_channel_alone =
        common::GroupConvCfg::new().with_num_groups(1).with_unicast_en(true).with_unicast_cin(1);
    task.set(&common::GROUP_CONV_CFG, each_channel_alone)
        .set(
            &common::CFG,
            common::Cfg::new()
                .with_not_src2_only(true)
                .with_class(TaskClass::Neural as u8)
                .with_sh_pref(1)
                .with_sh_max(1)
                .with_acc_double_buf_en(true),
        )
        .set(&common::TASK_INFO, common::TaskInfo::new().with_nid(1));
    task.set(&l2::SOURCE_CFG, source_cfg())
        .set(&l2::RESULT_CFG, result_cfg())
        .set(&l2::RESULT_BASE, chip(SURFACE));
    task.set(
        &neural::KERNEL_CFG,
        neural::KernelCfg::new().with_format(KernelFormat::Uint8 as u8).with_palette_bits(8),
    )
    .set(
        &neural::MAC_CFG,
        neural::MacCfg::new()
            .with_op_mode(OpMode::PassThrough as u8)
            .with_unity_kernel(true)
            .with_nonlinear_mode(NonlinearMode::Relu as u8)
            .with_compiler_set(true),
    )
    .set(&neural::POST_SCALE, neural::PostScale::new().with_scale(ONE));
    task
}

fn source_cfg() -> l2::SourceCfg {
    l2::SourceCfg::new()
        .with_source_type(l2::SourceType::Stream as u8)
        .with_alias_conv_src(true)
        .with_alias_conv_rslt(true)
        .with_dma_fmt(1)
        .with_dma_interleave(1)
        .with_alias_planar_src(true)
        .with_alias_planar_rslt(true)
}

fn result_cfg() -> l2::ResultCfg {
    l2::ResultCfg::new()
        .with_result_type(l2::ResultType::Stream as u8)
        .with_l2_bfr_mode(true)
        .with_alias_conv_src(true)
        .with_alias_conv_rslt(true)
        .with_dma_fmt(1)
        .with_dma_interleave(1)
        .with_alias_planar_src(true)
        .with_alias_planar_rslt(true)
}
