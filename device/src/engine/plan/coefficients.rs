//! Coefficients: what kernel DMA brings, and how outputs are dealt to the neural engines.
//!
//! A *plane* holds the coefficients of `L` outputs, `L` being the lanes of a neural engine. Plane `p` is held by
//! engine `p mod E` in slot `p div E`; the slots of an engine follow each other in its chunk (td 7.1).

use ane_uapi::hw::td::neural::KernelFormat;
use ane_uapi::hw::td::{common, kernel_dma, neural};

use super::geometry;
use super::verdict::{Registers, Verdict};
use crate::engine::madd::Convolution;
use crate::refusal::Category;

/// Bytes of an activation table.
const TABLE_BYTES: u32 = 128;

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

/// The coefficients of a convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// One byte for each, without a sign; otherwise a half.
    pub is_uint8: bool,
    /// A row of biases leads each slot.
    pub has_bias: bool,
    /// Neural engines that share the work.
    pub engines: u16,
    /// Planes.
    pub planes: u32,
    /// Coefficients of one output.
    pub taps: u32,
    /// Outputs of one plane.
    pub lanes: u32,
}

impl Kernel {
    /// Bytes of one slot.
    pub fn slot_bytes(&self) -> u64 {
        let rows = u64::from(self.taps).saturating_add(self.has_bias.into());
        self.bytes(rows.saturating_mul(self.lanes.into()))
    }

    /// Bytes of so many coefficients.
    pub const fn bytes(&self, coefficients: u64) -> u64 {
        coefficients.saturating_mul(if self.is_uint8 { 1 } else { 2 })
    }

    /// Slots that an engine holds.
    pub fn slots(&self, engine: u16) -> u32 {
        let engines = u32::from(self.engines).max(1);
        let behind = engines.saturating_sub(1).saturating_sub(engine.into());
        self.planes.saturating_add(behind).checked_div(engines).unwrap_or(0)
    }
}

/// More engines than there are, asked for by a neural task of any kind.
pub(super) fn check_engines(registers: Registers<'_>) -> Result<(), Verdict> {
    let log2 = registers.get(&common::CFG).active_ne();
    let register = &common::CFG;
    registers.defined(log2 <= ACTIVE_NE_MAX, register, "active_ne", "there are sixteen neural engines")
}

/// The coefficients that a convolution needs.
pub(super) fn kernel(registers: Registers<'_>, convolution: &Convolution) -> Result<Kernel, Verdict> {
    let cfg = registers.get(&neural::KERNEL_CFG);
    let register = &neural::KERNEL_CFG;
    registers.supported(!cfg.palettised(), register, "palettised", "palettised kernels are not executed")?;
    registers.supported(!cfg.sparse(), register, "sparse", "sparse kernels are not executed")?;
    registers.supported(
        !cfg.group_kernel_reuse(),
        register,
        "group_kernel_reuse",
        "reused kernels are not executed",
    )?;
    registers.defined(
        NO_PALETTE.contains(&cfg.palette_bits()),
        register,
        "palette_bits",
        "it is 0 or 8 without a palette",
    )?;
    let format = KernelFormat::try_from(cfg.format()).ok();
    registers.supported(
        format != Some(KernelFormat::Int8),
        register,
        "format",
        "signed 8-bit kernels are predicted only",
    )?;
    let is_uint8 = format == Some(KernelFormat::Uint8);
    let has_bias = registers.get(&neural::MAC_CFG).bias_mode();
    registers.defined(
        !(is_uint8 && has_bias),
        register,
        "format",
        "format of a bias row beside bytes is not known",
    )?;
    registers.defined(
        convolution.lanes <= LANES_MAX,
        &common::CONV_CFG,
        "ocg_size",
        "no program has more than 32 lanes",
    )?;
    let log2 = registers.get(&common::CFG).active_ne();
    registers.defined(
        convolution.outputs.is_multiple_of(convolution.lanes),
        &common::CONV_CFG,
        "ocg_size",
        "how a plane that is not full is stored is not known",
    )?;
    let kernel = Kernel {
        is_uint8,
        has_bias,
        engines: 1 << u32::from(log2),
        planes: convolution.outputs.checked_div(convolution.lanes).unwrap_or(0),
        taps: geometry::taps(convolution),
        lanes: convolution.lanes,
    };
    registers.supported(
        kernel.taps <= TAPS_MAX,
        &common::C_IN,
        "channels",
        "output has more than 2^22 coefficients",
    )?;
    registers.supported(
        u64::from(kernel.taps).saturating_mul(convolution.outputs.into()) <= COEFFICIENTS_MAX,
        &common::C_OUT,
        "channels",
        "task has more than 2^26 coefficients",
    )?;
    for engine in 0..kernel.engines {
        let bytes = u64::from(kernel.slots(engine)).saturating_mul(kernel.slot_bytes());
        if bytes != 0 {
            check_channel(registers, engine, bytes)?;
        }
    }
    check_master(registers)?;
    Ok(kernel)
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
                &kernel_dma::COEFF_BASE_ADDR.info,
                channel,
                "units",
                Category::Undefined,
                "no program has a table for each engine",
            ));
        }
    }
    check_master(registers)
}

fn check_channel(registers: Registers<'_>, channel: u16, bytes: u64) -> Result<(), Verdict> {
    if !registers.0.get_at(&kernel_dma::COEFF_DMA_CONFIG, channel).en() {
        // Measured for channel 0; of the others nothing is known.
        let category = if channel == 0 { Category::WouldHang } else { Category::Undefined };
        let register = &kernel_dma::COEFF_DMA_CONFIG.info;
        return Err(registers.verdict_at(
            register,
            channel,
            "en",
            category,
            "coefficients are needed and the channel is idle",
        ));
    }
    if u64::from(registers.0.get_at(&kernel_dma::COEFF_BFR_SIZE, channel).bytes()) < bytes {
        let register = &kernel_dma::COEFF_BFR_SIZE.info;
        return Err(registers.verdict_at(
            register,
            channel,
            "bytes",
            Category::Undefined,
            "channel does not bring all coefficients of its engine",
        ));
    }
    Ok(())
}

fn check_master(registers: Registers<'_>) -> Result<(), Verdict> {
    registers.defined(
        registers.get(&kernel_dma::MASTER).enable(),
        &kernel_dma::MASTER,
        "enable",
        "coefficients are needed and kernel DMA is off",
    )
}
