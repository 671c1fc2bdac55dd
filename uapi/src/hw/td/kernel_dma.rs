//! Kernel DMA: sixteen channels that fill kernel memory with coefficients, one for each neural engine.
//!
//! A channel that a task does not use is *idle*: its configuration is `0x80` or 0, its base 0, its size
//! `0x40` or 0; none of it has an effect. Four further streams are idle in every known program. A compact
//! task leaves out 32 words: it writes an 18-word record from the start and a 12-word record at `0x1f8c8`.

use super::BASE;
use super::words::DmaBytes;
use crate::register::Show;
use crate::{layout, registers};

/// Channels, one for each neural engine.
pub const CHANNELS: u16 = 16;

layout! {
    /// Master switch.
    pub struct Master {
        #[bits(4)] __: u8,
        /// Groups share what is brought.
        #[bits(1)] group_reuse: bool; Predicted,
        /// The coefficients are sparse.
        #[bits(1)] sparse: bool,
        /// Kernel DMA runs: set whenever any coefficients are used.
        #[bits(1)] enable: bool,
        #[bits(4)] __: u8,
        /// Size of a palette's block.
        #[bits(3)] palette_block: u8; Predicted,
        #[bits(18)] __: u32
    }
}

layout! {
    /// Aligned size per channel; 0 in every known program.
    pub struct AlignedSize {
        /// As compilers write it.
        #[bits(32)] value: u32 => Show::Hex; Predicted
    }
}

layout! {
    /// Switches of a coefficient channel.
    ///
    /// `0x81` when it runs, `0x80` when it is idle.
    pub struct CoeffDmaConfig {
        /// The channel runs.
        #[bits(1)] en: bool,
        #[bits(3)] __: u8,
        /// Cache hint selection; without numerical effect.
        #[bits(2)] cr_h: u8,
        /// Cache hint; without numerical effect.
        #[bits(4)] cache_hint: u8 => Show::Hex,
        #[bits(18)] __: u32,
        /// The channel takes part in prefetching.
        #[bits(1)] prefetch_participate_en: bool,
        #[bits(3)] __: u8
    }
}

layout! {
    /// Bytes that a channel moves; `0x40` or 0 when it is idle.
    pub struct CoeffBfrSize {
        /// Bytes.
        #[bits(32)] bytes: u32 => Show::Hex
    }
}

layout! {
    /// A word of a further stream, whose parts no source gives; `0x80` or 0 as configuration when idle.
    pub struct StreamWord {
        /// As compilers write it.
        #[bits(32)] value: u32 => Show::Hex
    }
}

registers! {
    /// Kernel DMA: fills kernel memory with coefficients.
    pub block KERNEL_DMA "kernel dma", base BASE, 0x1f800 + 0xf8;

    /// Master switch.
    MASTER "KernelDMAMaster" @ 0x1f800: Master, ReadWrite, Derived, "td 4.7, delta 3.6";
    /// Aligned size per channel.
    ALIGNED_SIZE "KernelAlignedSize" @ 0x1f804: AlignedSize, ReadWrite, Predicted, "td 4.7";
    /// Switches of each channel.
    COEFF_DMA_CONFIG "CoeffDMAConfig" @ 0x1f808 [16; 4]: CoeffDmaConfig, ReadWrite, Derived, "td 4.7";
    /// Added to the address in the BAR that KBase0 names, for each channel.
    COEFF_BASE_ADDR "CoeffBaseAddr" @ 0x1f848 [16; 4]: DmaBytes, ReadWrite, Derived, "td 4.7";
    /// Bytes that each channel moves.
    COEFF_BFR_SIZE "CoeffBfrSize" @ 0x1f888 [16; 4]: CoeffBfrSize, ReadWrite, Derived, "td 4.7";
    /// Switches of four further streams: perhaps bias, post-scale, palette and activation table.
    STREAM_DMA_CONFIG "StreamDMAConfig" @ 0x1f8c8 [4; 4]: StreamWord, ReadWrite, Predicted, "td 4.7";
    /// Bases of the four further streams.
    STREAM_BASE_ADDR "StreamBaseAddr" @ 0x1f8d8 [4; 4]: StreamWord, ReadWrite, Predicted, "td 4.7";
    /// Sizes of the four further streams.
    STREAM_BFR_SIZE "StreamBfrSize" @ 0x1f8e8 [4; 4]: CoeffBfrSize, ReadWrite, Predicted, "td 4.7";
}
