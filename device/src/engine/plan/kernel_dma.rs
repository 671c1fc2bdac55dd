//! Kernel DMA: what the registers say of coefficients, held against what the channels bring.
//!
//! Each neural engine has a channel that fetches its chunk. The registers of the array say how many coefficients a task needs
//! and in which form (`KernelCfg`); those of kernel DMA, from where and how many bytes. A task in which the two differ is
//! refused here, by the register that promises less.

use ane_uapi::hw::td::common::{self, Cfg, Channels, ConvCfg, GroupConvCfg};
use ane_uapi::hw::td::kernel_dma::{self, CoeffBfrSize, CoeffDmaConfig, Master};
use ane_uapi::hw::td::neural::{self, KernelCfg, KernelFormat};
use ane_uapi::hw::td::words::DmaBytes;
use ane_uapi::register::Bits;

use super::coefficients::{Format, Kernel, PADDED, Padding, Sparse, TABLE_BYTES};
use super::geometry;
use super::task::Repeats;
use super::verdict::{Registers, Result};
use crate::engine::madd::Convolution;
use crate::refusal::Category;

/// The largest logarithm of active engines: 16 of them.
const ACTIVE_NE_MAX: u8 = 4;

/// The most outputs of a plane (td 7.1).
const LANES_MAX: u32 = 32;

/// The most coefficients of one task: those of a vocabulary of 50257 words with 768 numbers each, and more than half
/// as much again. The bound keeps the staging area small enough to have: channels may all bring the same bytes, so
/// neither the guest's memory nor its aperture limits what they bring together.
const COEFFICIENTS_MAX: u64 = 1 << 26;

/// The most coefficients of one output: a kernel of 31 by 31 on 4096 channels.
const TAPS_MAX: u32 = 1 << 22;

/// PaletteBits of a kernel that has no palette.
const NO_PALETTE: [u8; 2] = [0, 8];

/// Configuration of a further stream of kernel DMA that is idle.
const IDLE_STREAM: [u32; 2] = [0x80, 0];

/// More engines than there are, asked for by a neural task of any kind.
pub(super) fn check_engines(task: Registers<'_>) -> Result<()> {
    let log2 = task.get(&common::CFG).active_ne();
    let register = &common::CFG;
    task.defined(log2 <= ACTIVE_NE_MAX, register, Cfg::ACTIVE_NE, "there are sixteen neural engines")
}

/// The coefficients that a convolution needs; it gets the lanes in which the array is given them.
pub(super) fn kernel(
    task: Registers<'_>,
    convolution: &mut Convolution,
    repeats: Repeats,
    has_table: bool,
) -> Result<Kernel> {
    let cfg = task.get(&neural::KERNEL_CFG);
    let register = &neural::KERNEL_CFG;
    task.supported(
        !cfg.palettised(),
        register,
        KernelCfg::PALETTISED,
        "palettised kernels are not executed",
    )?;
    task.supported(
        !cfg.group_kernel_reuse(),
        register,
        KernelCfg::GROUP_KERNEL_REUSE,
        "reused kernels are not executed",
    )?;
    task.defined(
        NO_PALETTE.contains(&cfg.palette_bits()),
        register,
        KernelCfg::PALETTE_BITS,
        "it is 0 or 8 without a palette",
    )?;
    let format = match KernelFormat::try_from(cfg.format()) {
        Ok(KernelFormat::Uint8) => Format::Unsigned,
        Ok(KernelFormat::Int8) => Format::Signed,
        // The decoder has refused the fourth number.
        Ok(KernelFormat::Fp16) | Err(_) => Format::Half,
    };
    let has_bias = task.get(&neural::MAC_CFG).bias_mode();
    task.defined(
        format == Format::Half || !has_bias,
        register,
        KernelCfg::FORMAT,
        "format of a bias row beside bytes is not known",
    )?;
    let step = u32::from(task.get(&common::CONV_CFG).ox()).max(1);
    task.defined(
        convolution.lanes <= LANES_MAX.saturating_mul(step),
        &common::CONV_CFG,
        ConvCfg::OCG_SIZE,
        "no program has more than 32 lanes",
    )?;
    let taps = geometry::taps(convolution);
    task.supported(
        taps <= TAPS_MAX,
        &common::C_IN,
        Channels::CHANNELS,
        "output has more than 2^22 coefficients",
    )?;
    let all =
        u64::from(taps).saturating_mul(convolution.outputs.into()).saturating_mul(repeats.groups.into());
    task.supported(
        all <= COEFFICIENTS_MAX,
        &common::C_OUT,
        Channels::CHANNELS,
        "task has more than 2^26 coefficients",
    )?;
    let log2 = task.get(&common::CFG).active_ne();
    let mut kernel = Kernel {
        format,
        has_bias,
        has_table,
        engines: 1 << u32::from(log2),
        outputs: convolution.outputs,
        taps,
        lanes: convolution.lanes,
        last_lanes: convolution.lanes,
        has_full_rows: cfg.runtime(),
        groups: repeats.groups,
        padding: Padding::Slots,
        sparse: None,
        bytes: 0,
    };
    if cfg.sparse() {
        kernel.sparse = Some(sparse(task, convolution, &kernel, repeats)?);
    }
    // Before anything else that the channels say: without it the task hangs, whatever that is.
    check_runs(task, 0)?;
    let kernel = divided(task, padded(task, kernel)?)?;
    check_master(task, kernel.sparse.is_some())?;
    convolution.lanes = kernel.common_lanes();
    Ok(kernel)
}

/// How sparse coefficients are stored.
fn sparse(
    task: Registers<'_>,
    convolution: &Convolution,
    kernel: &Kernel,
    repeats: Repeats,
) -> Result<Sparse> {
    let register = &neural::KERNEL_CFG;
    task.defined(kernel.format == Format::Half, register, KernelCfg::FORMAT, "no program has sparse bytes")?;
    let ox = task.get(&common::CONV_CFG).ox();
    task.defined(ox == 1, &common::CONV_CFG, ConvCfg::OX, "no sparse program has an output step")?;
    task.defined(repeats.depths == 1, &common::IN_DEPTH, Bits::ALL, "no sparse program has a depth")?;
    // Why a plane of one output has more bits in its masks is open (delta 5.4).
    let mask_lanes = match (kernel.lanes, task.get(&common::CFG).small_source_mode()) {
        (4.., _) => Some(kernel.lanes),
        (1, false) => Some(2),
        (1, true) => Some(4),
        _ => None,
    };
    let known = mask_lanes.is_some();
    task.defined(
        known,
        &common::CONV_CFG,
        ConvCfg::OCG_SIZE,
        "masks of sparse planes of two outputs are not known",
    )?;
    let kernel_size = (convolution.kernel_width, convolution.kernel_height);
    let stride = (convolution.stride_x, convolution.stride_y);
    let channels = kernel.taps.checked_div(kernel_size.0.saturating_mul(kernel_size.1)).unwrap_or(0);
    let is_seen = stride == (2, 2) && (kernel_size == (1, 1) || channels == 1);
    Ok(Sparse {
        mask_lanes: mask_lanes.unwrap_or(kernel.lanes),
        channels,
        kernel: kernel_size,
        stride,
        is_inferred: !is_seen,
    })
}

/// The same kernel with slots or groups padded, as the channels say where that makes a difference.
fn padded(task: Registers<'_>, slots: Kernel) -> Result<Kernel> {
    if slots.sparse.is_some() || !(slots.shows_padding() || even(&slots).shows_padding()) {
        return Ok(slots);
    }
    let says = |kernel: &Kernel| brings_exactly(task, kernel) || brings_exactly(task, &even(kernel));
    let groups = Kernel { padding: Padding::Groups, ..slots };
    let (says_slots, says_groups) = (says(&slots), says(&groups));
    let register = &common::GROUP_CONV_CFG;
    let why = "channels do not say whether slots or groups are padded";
    let is_said = !(says_slots && says_groups);
    task.defined(is_said, register, GroupConvCfg::NUM_GROUPS, why)?;
    Ok(if says_groups { groups } else { slots })
}

/// The same kernel with the outputs behind the whole rounds dealt evenly over all engines.
fn even(kernel: &Kernel) -> Kernel {
    let rest = kernel.outputs.saturating_sub(kernel.whole());
    match rest.div_ceil(u32::from(kernel.engines).max(1)) {
        0 => *kernel,
        each => Kernel { last_lanes: each, ..*kernel },
    }
}

/// The same kernel with the outputs behind the whole rounds dealt as the channels say: evenly over all engines, or plane
/// after plane. The channels say a way if the engines that run are those that hold something, and each brings just that.
fn divided(task: Registers<'_>, filled: Kernel) -> Result<Kernel> {
    let rest = filled.outputs.saturating_sub(filled.whole());
    if rest == 0 {
        return brought(task, filled);
    }
    let refuse_unless = |holds, why| task.defined(holds, &common::CONV_CFG, ConvCfg::OCG_SIZE, why);
    let fills = filled.ragged() == 0;
    let even = even(&filled);
    // Where engines run that full planes leave idle, narrower ones may be meant.
    let is_filled = fills && (even == filled || runs_no_more(task, &filled));
    if filled.sparse.is_some() {
        refuse_unless(is_filled, "masks of sparse planes with fewer outputs than lanes are not known")?;
        return brought(task, filled);
    }
    let (says_even, says_filled) = (brings_exactly(task, &even), brings_exactly(task, &filled));
    // Where both are said, planes that are full come first, and even ones where there is no whole round, as compilers
    // were seen to make them. Coefficients that a task wrote are planes of all lanes (td 7.3).
    let written = filled.has_full_rows;
    let is_first = even == filled || (!fills && !written && (even.ragged() == 0 || filled.whole() == 0));
    if says_even && (is_first || !says_filled) && !(written && even.ragged() != 0) {
        return brought(task, even);
    }
    if fills {
        let why = "engines run that full planes leave idle, and bring no narrower ones";
        refuse_unless(is_filled, why)?;
    } else {
        let why = "channels do not say how a plane that is not full is stored";
        refuse_unless(says_filled && (written || !says_even), why)?;
    }
    brought(task, filled)
}

/// Whether every engine that runs has coefficients.
fn runs_no_more(task: Registers<'_>, kernel: &Kernel) -> bool {
    (0..kernel.engines).all(|engine| {
        kernel.engine_bytes(engine) != 0 || !task.0.get_at(&kernel_dma::COEFF_DMA_CONFIG, engine).en()
    })
}

/// The same kernel with the bytes that the channels bring, which are enough.
fn brought(task: Registers<'_>, mut kernel: Kernel) -> Result<Kernel> {
    for engine in 0..kernel.engines {
        let bytes = kernel.engine_bytes(engine);
        if bytes != 0 {
            check_channel(task, engine, bytes)?;
            let brought = match kernel.sparse {
                Some(_) => task.0.get_at(&kernel_dma::COEFF_BFR_SIZE, engine).bytes().into(),
                None => bytes,
            };
            kernel.bytes = kernel.bytes.saturating_add(brought);
        }
    }
    Ok(kernel)
}

/// Whether each channel brings exactly the bytes that its engine needs.
fn brings_exactly(task: Registers<'_>, kernel: &Kernel) -> bool {
    (0..kernel.engines).all(|engine| {
        let bytes = kernel.engine_bytes(engine).div_ceil(PADDED).saturating_mul(PADDED);
        let runs = task.0.get_at(&kernel_dma::COEFF_DMA_CONFIG, engine).en();
        let brought = task.0.get_at(&kernel_dma::COEFF_BFR_SIZE, engine).bytes();
        runs == (bytes != 0) && (!runs || u64::from(brought) == bytes)
    })
}

/// The table in channel 0; other channels that run have to name the same one.
pub(super) fn check_table(task: Registers<'_>) -> Result<()> {
    check_channel(task, 0, TABLE_BYTES.into())?;
    let first = task.get(&kernel_dma::COEFF_BASE_ADDR).bytes();
    for channel in 1..kernel_dma::CHANNELS {
        let runs = task.0.get_at(&kernel_dma::COEFF_DMA_CONFIG, channel).en();
        let base = task.0.get_at(&kernel_dma::COEFF_BASE_ADDR, channel).bytes();
        if runs && base != first {
            return Err(task.verdict_at(
                &kernel_dma::COEFF_BASE_ADDR,
                channel,
                DmaBytes::UNITS,
                Category::Undefined,
                "no program has a table for each engine",
            ));
        }
    }
    check_master(task, false)
}

/// Refuses an idle channel whose coefficients are needed.
fn check_runs(task: Registers<'_>, channel: u16) -> Result<()> {
    let register = &kernel_dma::COEFF_DMA_CONFIG;
    if task.0.get_at(register, channel).en() {
        return Ok(());
    }
    // Measured for channel 0; of the others nothing is known.
    let category = if channel == 0 { Category::WouldHang } else { Category::Undefined };
    let why = "coefficients are needed and the channel is idle";
    Err(task.verdict_at(register, channel, CoeffDmaConfig::EN, category, why))
}

fn check_channel(task: Registers<'_>, channel: u16, bytes: u64) -> Result<()> {
    check_runs(task, channel)?;
    if u64::from(task.0.get_at(&kernel_dma::COEFF_BFR_SIZE, channel).bytes()) < bytes {
        let register = &kernel_dma::COEFF_BFR_SIZE;
        return Err(task.verdict_at(
            register,
            channel,
            CoeffBfrSize::BYTES,
            Category::Undefined,
            "channel does not bring all coefficients of its engine",
        ));
    }
    Ok(())
}

/// The checks for all coefficients alike: the master switch, and words that have one value in every program.
fn check_master(task: Registers<'_>, is_sparse: bool) -> Result<()> {
    let register = &kernel_dma::MASTER;
    let master = task.get(register);
    task.defined(master.enable(), register, Master::ENABLE, "coefficients are needed and kernel DMA is off")?;
    task.defined(master.sparse() == is_sparse, register, Master::SPARSE, "KernelCfg says otherwise")?;
    task.supported(!master.group_reuse(), register, Master::GROUP_REUSE, "reused kernels are not executed")?;
    task.supported(
        master.palette_block() == 0,
        register,
        Master::PALETTE_BLOCK,
        "palettised kernels are not executed",
    )?;
    let register = &kernel_dma::ALIGNED_SIZE;
    task.defined(task.get(register).value() == 0, register, Bits::ALL, "it is 0 in every program")?;
    for stream in 0..kernel_dma::STREAM_DMA_CONFIG.info.count {
        let config = task.0.get_at(&kernel_dma::STREAM_DMA_CONFIG, stream).into_bits();
        if !IDLE_STREAM.contains(&config) {
            return Err(task.verdict_at(
                &kernel_dma::STREAM_DMA_CONFIG,
                stream,
                Bits::ALL,
                Category::Undefined,
                "what further streams bring is not known",
            ));
        }
    }
    Ok(())
}
