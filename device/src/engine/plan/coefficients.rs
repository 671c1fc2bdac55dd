//! Coefficients: what kernel DMA brings, and how outputs are dealt to the neural engines.
//!
//! A *plane* holds the coefficients of `L` outputs, `L` being the lanes of a neural engine. Plane `p` is held by
//! engine `p mod E` in slot `p div E`; the slots of an engine follow each other in its chunk (td 7.1). Behind the last
//! whole round of planes there may be fewer outputs than the engines have lanes. Compilers then deal them evenly, in
//! narrower planes, one for each engine: 96 outputs of sixteen engines with eight lanes are six for each (delta 5,
//! `chain_ffn`). Others may fill plane after plane and leave engines idle. Which of both it is shows in how many bytes
//! the channels bring.
//!
//! In front of the slots may lie an activation table; the slots of a group lie in front of those of the next, each padded
//! to 64 bytes then (delta 5.2, 5.5).

use ane_uapi::hw::td::neural::KernelFormat;
use ane_uapi::hw::td::words::DmaBytes;
use ane_uapi::hw::td::{common, kernel_dma, neural};
use ane_uapi::register::Bits;

use super::geometry;
use super::task::Repeats;
use super::verdict::{Registers, Verdict};
use crate::engine::madd::Convolution;
use crate::refusal::Category;

/// Bytes of an activation table.
pub const TABLE_BYTES: u32 = 128;

/// To how much slots of groups, and chunks, are padded.
const PADDED: u64 = 64;

/// The largest logarithm of active engines: 16 of them.
const ACTIVE_NE_MAX: u8 = 4;

/// The most outputs of a plane (td 7.1).
const LANES_MAX: u32 = 32;
/// The most coefficients of one task: those of a vocabulary of 50257 words with 768 numbers each, and more than half
/// as much again. The bound keeps the staging area small enough to have: channels may all bring the same bytes, so
/// neither the guest's memory nor its aperture limits what they bring together.
pub const COEFFICIENTS_MAX: u64 = 1 << 26;

/// The most coefficients of one output: a kernel of 31 by 31 on 4096 channels.
pub const TAPS_MAX: u32 = 1 << 22;

/// PaletteBits of a kernel that has no palette.
const NO_PALETTE: [u8; 2] = [0, 8];

/// Configuration of a further stream of kernel DMA that is idle.
const IDLE_STREAM: [u32; 2] = [0x80, 0];

/// What a coefficient is where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A half.
    Half,
    /// A byte without a sign.
    Unsigned,
    /// A byte with one.
    Signed,
}

/// How sparse coefficients are stored: in the order of input channels, in them of phases of the stride, in them of the
/// taps that a phase reads, in them of lanes. Masks of eight bits say which of these positions are there (delta 5.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sparse {
    /// Lanes for which the masks have bits: those of a plane, or more, of which the others are never there.
    pub mask_lanes: u32,
    /// Input channels of an output.
    pub channels: u32,
    /// Kernel columns and rows.
    pub kernel: (u32, u32),
    /// Horizontal and vertical stride.
    pub stride: (u32, u32),
    /// Deviation: inferred. The order was seen of one input channel, of 1x1 kernels, and of stride 2.
    pub is_inferred: bool,
}

impl Sparse {
    /// Positions of one input channel, for one lane.
    pub const fn positions(&self) -> u64 {
        let ((width, height), (across, down)) = (self.kernel, self.stride);
        let taps = (width.div_ceil(across) as u64).saturating_mul(height.div_ceil(down) as u64);
        taps.saturating_mul(across as u64).saturating_mul(down as u64)
    }

    /// Mask bytes of a slot.
    pub const fn masks(&self) -> u64 {
        let positions = self.positions().saturating_mul(self.channels as u64);
        positions.saturating_mul(self.mask_lanes as u64).div_ceil(8)
    }
}

/// The coefficients of a convolution, of each of its groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// What a coefficient is.
    pub format: Format,
    /// A row of biases leads each slot.
    pub has_bias: bool,
    /// An activation table leads each chunk.
    pub has_table: bool,
    /// Neural engines that share the work.
    pub engines: u16,
    /// Outputs of a group.
    pub outputs: u32,
    /// Coefficients of one output.
    pub taps: u32,
    /// Outputs of a plane of the whole rounds.
    pub lanes: u32,
    /// Outputs of a plane behind them.
    pub last_lanes: u32,
    /// Groups.
    pub groups: u32,
    /// How they are stored, if not one by one.
    pub sparse: Option<Sparse>,
    /// Bytes that the channels bring in all.
    pub bytes: u64,
}

/// Where the coefficients of some outputs lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The engine that holds them.
    pub engine: u16,
    /// Their place in its chunk, if every slot has its size.
    pub offset: u64,
    /// The first output of the group.
    pub first: u32,
    /// How many outputs.
    pub lanes: u32,
}

impl Kernel {
    /// Whole rounds: slots of full planes that each engine holds.
    fn rounds(&self) -> u32 {
        self.outputs.checked_div(self.lanes.saturating_mul(self.engines as u32)).unwrap_or(0)
    }

    /// Outputs in the whole rounds.
    fn whole(&self) -> u32 {
        self.rounds().saturating_mul(self.lanes).saturating_mul(self.engines as u32)
    }

    /// Slots of a group.
    pub fn slots(&self) -> u32 {
        let rest = self.outputs.saturating_sub(self.whole()).div_ceil(self.last_lanes.max(1));
        self.rounds().saturating_mul(self.engines.into()).saturating_add(rest)
    }

    /// Slots of a group that an engine holds.
    pub fn slots_of(&self, engine: u16) -> u32 {
        let rest = self.outputs.saturating_sub(self.whole()).div_ceil(self.last_lanes.max(1));
        self.rounds().saturating_add((u32::from(engine) < rest).into())
    }

    /// Outputs of a group that the engine with most of them holds.
    pub fn busiest(&self) -> u32 {
        let last = if self.slots_of(0) > self.rounds() { self.last_lanes } else { 0 };
        self.rounds().saturating_mul(self.lanes).saturating_add(last)
    }

    /// A slot of a group, in the order of outputs.
    pub fn slot(&self, group: u32, index: u32) -> Slot {
        let engines = u32::from(self.engines).max(1);
        let round = index.checked_div(engines).unwrap_or(0);
        // Fewer than sixteen engines.
        let engine = u16::try_from(index.checked_rem(engines).unwrap_or(0)).unwrap_or(0);
        let is_last = round >= self.rounds();
        let lanes = if is_last { self.last_lanes } else { self.lanes };
        let first = if is_last {
            self.whole().saturating_add(u32::from(engine).saturating_mul(lanes))
        } else {
            index.saturating_mul(lanes)
        };
        let before = self.group_bytes(engine).saturating_mul(group.into());
        let inside = self.padded(self.slot_bytes(self.lanes)).saturating_mul(round.into());
        let offset = self.table_bytes().saturating_add(before).saturating_add(inside);
        Slot { engine, offset, first, lanes: lanes.min(self.outputs.saturating_sub(first)) }
    }

    /// Lanes of the planes in which the array gets the coefficients: what divides all planes.
    pub fn common_lanes(&self) -> u32 {
        let rest = self.outputs.saturating_sub(self.whole());
        if self.whole() == 0 {
            self.last_lanes
        } else if rest == 0 {
            self.lanes
        } else {
            common_divisor(self.lanes, self.last_lanes)
        }
    }

    /// Bytes of a table in front of a chunk.
    pub const fn table_bytes(&self) -> u64 {
        if self.has_table { TABLE_BYTES as u64 } else { 0 }
    }

    /// Bytes of a slot of so many lanes, as long as it is stored one by one.
    pub fn slot_bytes(&self, lanes: u32) -> u64 {
        let rows = u64::from(self.taps).saturating_add(self.has_bias.into());
        self.size(rows.saturating_mul(lanes.into()))
    }

    /// Bytes of so many coefficients.
    pub const fn size(&self, coefficients: u64) -> u64 {
        coefficients.saturating_mul(if matches!(self.format, Format::Half) { 2 } else { 1 })
    }

    /// Bytes to the next slot; those of a grouped task are padded each.
    pub const fn padded(&self, bytes: u64) -> u64 {
        if self.groups > 1 { bytes.div_ceil(PADDED).saturating_mul(PADDED) } else { bytes }
    }

    /// Bytes of one group in the chunk of an engine.
    fn group_bytes(&self, engine: u16) -> u64 {
        let whole = self.padded(self.slot_bytes(self.lanes)).saturating_mul(self.rounds().into());
        let has_more = self.slots_of(engine) > self.rounds();
        whole.saturating_add(if has_more { self.padded(self.slot_bytes(self.last_lanes)) } else { 0 })
    }

    /// Bytes that an engine needs, if it needs any.
    fn engine_bytes(&self, engine: u16) -> u64 {
        match self.group_bytes(engine).saturating_mul(self.groups.into()) {
            0 => 0,
            // Sparse slots have the length that they say; a header there has to be.
            _ if self.sparse.is_some() => self.table_bytes().saturating_add(3),
            bytes => self.table_bytes().saturating_add(bytes),
        }
    }
}

const fn common_divisor(a: u32, b: u32) -> u32 {
    let (mut a, mut b) = (a, b);
    while let Some(rest) = a.checked_rem(b) {
        (a, b) = (b, rest);
    }
    a
}

/// More engines than there are, asked for by a neural task of any kind.
pub(super) fn check_engines(registers: Registers<'_>) -> Result<(), Verdict> {
    let log2 = registers.get(&common::CFG).active_ne();
    let register = &common::CFG;
    registers.defined(
        log2 <= ACTIVE_NE_MAX,
        register,
        common::Cfg::ACTIVE_NE,
        "there are sixteen neural engines",
    )
}

/// The coefficients that a convolution needs; it gets the lanes in which the array is given them.
pub(super) fn kernel(
    registers: Registers<'_>,
    convolution: &mut Convolution,
    repeats: Repeats,
    has_table: bool,
) -> Result<Kernel, Verdict> {
    let cfg = registers.get(&neural::KERNEL_CFG);
    let register = &neural::KERNEL_CFG;
    registers.supported(
        !cfg.palettised(),
        register,
        neural::KernelCfg::PALETTISED,
        "palettised kernels are not executed",
    )?;
    registers.supported(
        !cfg.group_kernel_reuse(),
        register,
        neural::KernelCfg::GROUP_KERNEL_REUSE,
        "reused kernels are not executed",
    )?;
    registers.defined(
        NO_PALETTE.contains(&cfg.palette_bits()),
        register,
        neural::KernelCfg::PALETTE_BITS,
        "it is 0 or 8 without a palette",
    )?;
    let format = match KernelFormat::try_from(cfg.format()) {
        Ok(KernelFormat::Uint8) => Format::Unsigned,
        Ok(KernelFormat::Int8) => Format::Signed,
        // The decoder has refused the fourth number.
        Ok(KernelFormat::Fp16) | Err(_) => Format::Half,
    };
    let has_bias = registers.get(&neural::MAC_CFG).bias_mode();
    registers.defined(
        format == Format::Half || !has_bias,
        register,
        neural::KernelCfg::FORMAT,
        "format of a bias row beside bytes is not known",
    )?;
    let step = u32::from(registers.get(&common::CONV_CFG).ox()).max(1);
    registers.defined(
        convolution.lanes <= LANES_MAX.saturating_mul(step),
        &common::CONV_CFG,
        common::ConvCfg::OCG_SIZE,
        "no program has more than 32 lanes",
    )?;
    let taps = geometry::taps(convolution);
    registers.supported(
        taps <= TAPS_MAX,
        &common::C_IN,
        common::Channels::CHANNELS,
        "output has more than 2^22 coefficients",
    )?;
    let all =
        u64::from(taps).saturating_mul(convolution.outputs.into()).saturating_mul(repeats.groups.into());
    registers.supported(
        all <= COEFFICIENTS_MAX,
        &common::C_OUT,
        common::Channels::CHANNELS,
        "task has more than 2^26 coefficients",
    )?;
    let log2 = registers.get(&common::CFG).active_ne();
    let mut kernel = Kernel {
        format,
        has_bias,
        has_table,
        engines: 1 << u32::from(log2),
        outputs: convolution.outputs,
        taps,
        lanes: convolution.lanes,
        last_lanes: convolution.lanes,
        groups: repeats.groups,
        sparse: None,
        bytes: 0,
    };
    if cfg.sparse() {
        kernel.sparse = Some(sparse(registers, convolution, &kernel, repeats)?);
    }
    let kernel = divided(registers, kernel)?;
    check_master(registers, kernel.sparse.is_some())?;
    convolution.lanes = kernel.common_lanes();
    Ok(kernel)
}

/// How sparse coefficients are stored.
fn sparse(
    registers: Registers<'_>,
    convolution: &Convolution,
    kernel: &Kernel,
    repeats: Repeats,
) -> Result<Sparse, Verdict> {
    let register = &neural::KERNEL_CFG;
    registers.defined(
        kernel.format == Format::Half,
        register,
        neural::KernelCfg::FORMAT,
        "no program has sparse bytes",
    )?;
    let ox = registers.get(&common::CONV_CFG).ox();
    registers.defined(
        ox == 1,
        &common::CONV_CFG,
        common::ConvCfg::OX,
        "no sparse program has an output step",
    )?;
    registers.defined(repeats.depths == 1, &common::IN_DEPTH, Bits::ALL, "no sparse program has a depth")?;
    // Why a plane of one output has more bits in its masks is open (delta 5.4).
    let mask_lanes = match (kernel.lanes, registers.get(&common::CFG).small_source_mode()) {
        (4.., _) => Some(kernel.lanes),
        (1, false) => Some(2),
        (1, true) => Some(4),
        _ => None,
    };
    let known = mask_lanes.is_some();
    registers.defined(
        known,
        &common::CONV_CFG,
        common::ConvCfg::OCG_SIZE,
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

/// The same kernel with what is behind the whole rounds divided as the channels say.
fn divided(registers: Registers<'_>, kernel: Kernel) -> Result<Kernel, Verdict> {
    let rest = kernel.outputs.saturating_sub(kernel.whole());
    let even = Kernel { last_lanes: rest.div_ceil(u32::from(kernel.engines).max(1)).max(1), ..kernel };
    let is_full = |kernel: &Kernel| rest.is_multiple_of(kernel.last_lanes);
    let is_even = rest != 0
        && rest.is_multiple_of(u32::from(kernel.engines).max(1))
        && kernel.sparse.is_none()
        && is_full(&even)
        && brings_exactly(registers, &even)
        && !(is_full(&kernel) && brings_exactly(registers, &kernel));
    let mut kernel = if is_even { even } else { kernel };
    registers.defined(
        is_full(&kernel),
        &common::CONV_CFG,
        common::ConvCfg::OCG_SIZE,
        "how a plane that is not full is stored is not known",
    )?;
    for engine in 0..kernel.engines {
        let bytes = kernel.engine_bytes(engine);
        if bytes != 0 {
            check_channel(registers, engine, bytes)?;
            let brought = match kernel.sparse {
                Some(_) => registers.0.get_at(&kernel_dma::COEFF_BFR_SIZE, engine).bytes().into(),
                None => bytes,
            };
            kernel.bytes = kernel.bytes.saturating_add(brought);
        }
    }
    Ok(kernel)
}

/// Whether each channel brings what its engine needs and no more.
fn brings_exactly(registers: Registers<'_>, kernel: &Kernel) -> bool {
    (0..kernel.engines).all(|engine| {
        let bytes = kernel.engine_bytes(engine).div_ceil(PADDED).saturating_mul(PADDED);
        let runs = registers.0.get_at(&kernel_dma::COEFF_DMA_CONFIG, engine).en();
        let brought = registers.0.get_at(&kernel_dma::COEFF_BFR_SIZE, engine).bytes();
        runs == (bytes != 0) && (!runs || u64::from(brought) == bytes)
    })
}

/// The table in channel 0; other channels that run have to name the same one.
pub(super) fn check_table(registers: Registers<'_>) -> Result<(), Verdict> {
    check_channel(registers, 0, TABLE_BYTES.into())?;
    let first = registers.get(&kernel_dma::COEFF_BASE_ADDR).bytes();
    for channel in 1..kernel_dma::CHANNELS {
        let runs = registers.0.get_at(&kernel_dma::COEFF_DMA_CONFIG, channel).en();
        let base = registers.0.get_at(&kernel_dma::COEFF_BASE_ADDR, channel).bytes();
        if runs && base != first {
            return Err(registers.verdict_at(
                &kernel_dma::COEFF_BASE_ADDR,
                channel,
                DmaBytes::UNITS,
                Category::Undefined,
                "no program has a table for each engine",
            ));
        }
    }
    check_master(registers, false)
}

fn check_channel(registers: Registers<'_>, channel: u16, bytes: u64) -> Result<(), Verdict> {
    if !registers.0.get_at(&kernel_dma::COEFF_DMA_CONFIG, channel).en() {
        // Measured for channel 0; of the others nothing is known.
        let category = if channel == 0 { Category::WouldHang } else { Category::Undefined };
        let register = &kernel_dma::COEFF_DMA_CONFIG;
        return Err(registers.verdict_at(
            register,
            channel,
            kernel_dma::CoeffDmaConfig::EN,
            category,
            "coefficients are needed and the channel is idle",
        ));
    }
    if u64::from(registers.0.get_at(&kernel_dma::COEFF_BFR_SIZE, channel).bytes()) < bytes {
        let register = &kernel_dma::COEFF_BFR_SIZE;
        return Err(registers.verdict_at(
            register,
            channel,
            kernel_dma::CoeffBfrSize::BYTES,
            Category::Undefined,
            "channel does not bring all coefficients of its engine",
        ));
    }
    Ok(())
}

/// What all that is brought has in common: the master switch, and words that are alike in every program.
fn check_master(registers: Registers<'_>, is_sparse: bool) -> Result<(), Verdict> {
    let register = &kernel_dma::MASTER;
    let master = registers.get(register);
    registers.defined(
        master.enable(),
        register,
        kernel_dma::Master::ENABLE,
        "coefficients are needed and kernel DMA is off",
    )?;
    registers.defined(
        master.sparse() == is_sparse,
        register,
        kernel_dma::Master::SPARSE,
        "KernelCfg says otherwise",
    )?;
    registers.supported(
        !master.group_reuse(),
        register,
        kernel_dma::Master::GROUP_REUSE,
        "reused kernels are not executed",
    )?;
    registers.supported(
        master.palette_block() == 0,
        register,
        kernel_dma::Master::PALETTE_BLOCK,
        "palettised kernels are not executed",
    )?;
    let register = &kernel_dma::ALIGNED_SIZE;
    registers.defined(
        registers.get(register).value() == 0,
        register,
        Bits::ALL,
        "it is 0 in every program",
    )?;
    for stream in 0..kernel_dma::STREAM_DMA_CONFIG.info.count {
        let config = registers.0.get_at(&kernel_dma::STREAM_DMA_CONFIG, stream).into_bits();
        if !IDLE_STREAM.contains(&config) {
            return Err(registers.verdict_at(
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

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: Kernel = Kernel {
        format: Format::Half,
        has_bias: false,
        has_table: false,
        engines: 16,
        outputs: 64,
        taps: 10,
        lanes: 4,
        last_lanes: 4,
        groups: 1,
        sparse: None,
        bytes: 0,
    };

    fn slots(kernel: &Kernel, group: u32) -> Vec<Slot> {
        (0..kernel.slots()).map(|index| kernel.slot(group, index)).collect()
    }

    #[test]
    fn slots_cover_each_output_once_in_order() {
        for (outputs, lanes, last_lanes, engines) in
            [(64, 4, 4, 16), (96, 8, 6, 16), (768, 32, 16, 16), (3, 1, 1, 4), (12, 4, 4, 2), (40, 4, 1, 8)]
        {
            let kernel = Kernel { outputs, lanes, last_lanes, engines, ..KERNEL };
            let mut next = 0;
            for slot in slots(&kernel, 0) {
                assert_eq!(slot.first, next, "{kernel:?}");
                assert!(slot.lanes > 0 && slot.lanes % kernel.common_lanes() == 0, "{kernel:?}");
                next += slot.lanes;
            }
            assert_eq!(next, outputs);
            let of_engines: u32 = (0..engines).map(|engine| kernel.slots_of(engine)).sum();
            assert_eq!(of_engines, kernel.slots());
        }
    }

    /// td 7.1: 768 outputs of sixteen engines with 32 lanes.
    #[test]
    fn last_round_may_be_narrower() {
        let kernel = Kernel { outputs: 768, lanes: 32, last_lanes: 16, ..KERNEL };
        let third = slots(&kernel, 0).into_iter().filter(|slot| slot.engine == 3).collect::<Vec<_>>();
        let behind = kernel.slot_bytes(32);
        assert_eq!(
            third,
            [
                Slot { engine: 3, offset: 0, first: 96, lanes: 32 },
                Slot { engine: 3, offset: behind, first: 512 + 48, lanes: 16 }
            ]
        );
        assert_eq!((kernel.busiest(), kernel.common_lanes()), (48, 16));
    }

    /// The five published programs: 64 to 64 channels in four groups have 0x140 bytes for each group in a chunk of 0x500.
    #[test]
    fn slots_of_groups_are_padded_and_follow_each_other() {
        let kernel = Kernel { outputs: 16, taps: 144, lanes: 1, last_lanes: 1, groups: 4, ..KERNEL };
        assert_eq!(kernel.engine_bytes(0), 0x500);
        assert_eq!(kernel.slot(2, 5), Slot { engine: 5, offset: 0x280, first: 5, lanes: 1 });
        let table = Kernel { has_table: true, ..kernel };
        assert_eq!((table.engine_bytes(0), table.slot(0, 0).offset), (0x580, 0x80));
    }

    #[test]
    fn sparse_positions_are_those_of_the_published_sizes() {
        let sparse = |mask_lanes, channels, kernel| Sparse {
            mask_lanes,
            channels,
            kernel: (kernel, kernel),
            stride: (2, 2),
            is_inferred: false,
        };
        assert_eq!(sparse(4, 64, 1).masks(), 128);
        assert_eq!(sparse(4, 64, 3).masks(), 512);
        assert_eq!(sparse(2, 1, 3).masks(), 4);
    }
}
