//! L2: the 2 MB on-chip buffer, and which operands live in it.
//!
//! The buffer is byte addressed in granules of 16. A source may already be in it, be loaded into it and
//! stay, or stream through a window of it; a result may stay, be assembled there and then written, or leave
//! at once, or pass straight to the next task. An element of `e` bytes lies at
//! `base + channel * channel_stride + row * row_stride + e * column`.

use super::BASE;
use super::words::ChipBytes;
use crate::register::Show;
use crate::{codes, layout, registers};

codes! {
    /// Where a source operand is found.
    pub enum SourceType: u8, "source type" {
        /// Already on chip at its base.
        OnChip = 0, "on chip";
        /// Tile DMA loads it, and it stays on chip for later tasks.
        LoadAndKeep = 1, "load and keep";
        /// Tile DMA streams it through a window at its base.
        Stream = 2, "stream";
        /// It is what the task before has passed on.
        Passed = 3, "passed on";
    }
}

codes! {
    /// The destination of a result.
    pub enum ResultType: u8, "result type" {
        /// Stays on chip at its base.
        OnChip = 0, "stays on chip";
        /// Is assembled on chip, then written by tile DMA.
        AssembleThenWrite = 1, "assembled on chip, then written";
        /// Leaves through tile DMA.
        Stream = 2, "stream";
        /// Goes straight to the next task, which reads it as its source 1; it has no address.
        Passed = 3, "passed on";
    }
}

layout! {
    /// Switches of the on-chip buffer.
    pub struct L2Cfg {
        /// ReLU on source 1.
        #[bits(1)] input_relu: bool,
        #[bits(1)] __: bool,
        /// Padding mode; 1 on maximum tasks, 0 otherwise.
        #[bits(2)] padding_mode: u8,
        /// ReLU on source 2 of a planar task.
        #[bits(1)] src2_relu: bool,
        #[bits(27)] __: u32
    }
}

layout! {
    /// Where the sources come from.
    pub struct SourceCfg {
        /// Where source 1 is found.
        #[bits(2)] source_type: u8 => Show::Codes(SourceType::CODES),
        /// Dependence on an earlier result.
        #[bits(2)] dependent: u8,
        /// The source shares its place with an earlier convolution's source.
        #[bits(1)] alias_conv_src: bool,
        /// The source shares its place with an earlier convolution's result.
        #[bits(1)] alias_conv_rslt: bool,
        /// DMA element size; 1 is 16 bits, 0 a byte or without effect beside fp16.
        #[bits(2)] dma_fmt: u8,
        /// DMA interleave.
        #[bits(4)] dma_interleave: u8,
        /// DMA compression vector.
        #[bits(4)] dma_cmp_vec: u8,
        /// DMA channel offset.
        #[bits(3)] dma_offset_ch: u8,
        #[bits(1)] __: bool,
        /// The source shares its place with an earlier planar source.
        #[bits(1)] alias_planar_src: bool,
        #[bits(1)] __: bool,
        /// The source shares its place with an earlier planar result.
        #[bits(1)] alias_planar_rslt: bool,
        #[bits(1)] __: bool,
        /// Source 2 comes from memory.
        #[bits(1)] src2_in_memory: bool,
        #[bits(1)] __: bool,
        /// Source 2 is the previous planar result; without numerical effect.
        #[bits(1)] src2_is_planar_rslt: bool; Predicted,
        #[bits(5)] __: u8
    }
}

layout! {
    /// The destination of the result.
    pub struct ResultCfg {
        /// The destination.
        #[bits(2)] result_type: u8 => Show::Codes(ResultType::CODES),
        #[bits(1)] __: bool,
        /// Buffer mode.
        #[bits(1)] l2_bfr_mode: bool,
        /// The result shares its place with an earlier convolution's source.
        #[bits(1)] alias_conv_src: bool,
        /// The result shares its place with an earlier convolution's result.
        #[bits(1)] alias_conv_rslt: bool,
        /// DMA element size; 1 is 16 bits.
        #[bits(2)] dma_fmt: u8,
        /// DMA interleave.
        #[bits(4)] dma_interleave: u8,
        /// DMA compression vector.
        #[bits(4)] dma_cmp_vec: u8,
        /// DMA channel offset.
        #[bits(3)] dma_offset_ch: u8,
        #[bits(1)] __: bool,
        /// The result shares its place with an earlier planar source.
        #[bits(1)] alias_planar_src: bool,
        #[bits(1)] __: bool,
        /// The result shares its place with an earlier planar result.
        #[bits(1)] alias_planar_rslt: bool,
        #[bits(9)] __: u16
    }
}

registers! {
    /// L2: the on-chip buffer, and which operands live in it.
    pub block L2 "l2", base BASE, 0x04800 + 0x48;

    /// Input ReLU and padding mode.
    L2_CFG "L2Cfg" @ 0x4800: L2Cfg, ReadWrite, Derived, "td 4.2, delta 6";
    /// Where the sources come from.
    SOURCE_CFG "SourceCfg" @ 0x4804: SourceCfg, ReadWrite, Derived, "td 4.2, delta 4, 14";
    /// Place of source 1.
    SOURCE_BASE "SourceBase" @ 0x4808: ChipBytes, ReadWrite, Derived, "td 4.2";
    /// Bytes from one channel of source 1 to the next; shorter than one row tile hangs the engine.
    SOURCE_CHANNEL_STRIDE "SourceChannelStride" @ 0x480c: ChipBytes, ReadWrite, Measured, "td 4.2, 10";
    /// Bytes from one row of source 1 to the next.
    SOURCE_ROW_STRIDE "SourceRowStride" @ 0x4810: ChipBytes, ReadWrite, Derived, "td 4.2";
    /// Bytes from one depth of source 1 to the next.
    SOURCE_DEPTH_STRIDE "SourceDepthStride" @ 0x4814: ChipBytes, ReadWrite, Derived, "td 4.2";
    /// Bytes from one batch of source 1 to the next.
    SOURCE_GROUP_STRIDE "SourceGroupStride" @ 0x4818: ChipBytes, ReadWrite, Derived, "td 4.2, 4.3";
    /// Place of source 2.
    SOURCE2_BASE "Source2Base" @ 0x481c: ChipBytes, ReadWrite, Derived, "td 4.2";
    /// Bytes from one channel of source 2 to the next.
    SOURCE2_CHANNEL_STRIDE "Source2ChannelStride" @ 0x4820: ChipBytes, ReadWrite, Derived, "td 4.2";
    /// Bytes from one row of source 2 to the next.
    SOURCE2_ROW_STRIDE "Source2RowStride" @ 0x4824: ChipBytes, ReadWrite, Derived, "td 4.2";
    /// Bytes from one depth of source 2 to the next.
    SOURCE2_DEPTH_STRIDE "Source2DepthStride" @ 0x4828: ChipBytes, ReadWrite, Derived, "td 4.2";
    /// Bytes from one batch of source 2 to the next.
    SOURCE2_GROUP_STRIDE "Source2GroupStride" @ 0x482c: ChipBytes, ReadWrite, Derived, "td 4.2, 4.3";
    /// The destination of the result.
    RESULT_CFG "ResultCfg" @ 0x4830: ResultCfg, ReadWrite, Derived, "td 4.2, 10, delta 4, 14";
    /// Place of the result.
    RESULT_BASE "ResultBase" @ 0x4834: ChipBytes, ReadWrite, Derived, "td 4.2";
    /// Bytes from one channel of the result to the next.
    RESULT_CHANNEL_STRIDE "ResultChannelStride" @ 0x4838: ChipBytes, ReadWrite, Derived, "td 4.2";
    /// Bytes from one row of the result to the next.
    RESULT_ROW_STRIDE "ResultRowStride" @ 0x483c: ChipBytes, ReadWrite, Derived, "td 4.2";
    /// Bytes from one depth of the result to the next.
    RESULT_DEPTH_STRIDE "ResultDepthStride" @ 0x4840: ChipBytes, ReadWrite, Derived, "td 4.2";
    /// Bytes from one batch of the result to the next.
    RESULT_GROUP_STRIDE "ResultGroupStride" @ 0x4844: ChipBytes, ReadWrite, Derived, "td 4.2, 4.3";
}
