//! Tile DMA, source side: the circuit that brings operands from memory.
//!
//! Two ports with the same words. An element lies at
//! `BAR + base + (channel div I) * plane + row * row_stride + 2 * I * column + 2 * (channel mod I)`
//! with `I` the interleave, 1 in the plain case. The BAR is the one that the header's RBase0 or RBase1 names.

use super::BASE;
use super::words::{DmaBytes, DmaStride, Unexplained};
use crate::register::Show;
use crate::{codes, layout, registers};

codes! {
    /// Element format in memory.
    pub enum MemoryFormat: u8, "memory format" {
        /// One byte.
        Byte = 0, "byte";
        /// IEEE 754 half.
        Fp16 = 2, "fp16";
    }
}

layout! {
    /// Switches of a source port.
    pub struct SourceDmaConfig {
        /// The port runs. Stays 0 for source 2 even when it is loaded.
        #[bits(1)] en: bool,
        #[bits(3)] __: u8,
        /// Cache hint selection; without numerical effect.
        #[bits(2)] cr_h: u8,
        /// Cache hint; without numerical effect.
        #[bits(4)] cache_hint: u8 => Show::Hex,
        /// Cache hint for what is read again.
        #[bits(4)] cache_hint_reuse: u8 => Show::Hex,
        /// Cache hint for what is not.
        #[bits(4)] cache_hint_no_reuse: u8 => Show::Hex,
        /// Dependence on earlier writes.
        #[bits(2)] dependency_mode: u8,
        #[bits(12)] __: u16
    }
}

layout! {
    /// Format of a source in memory.
    ///
    /// `0x01002031` is plain fp16; `0x01000000` one byte an element, or an unused port.
    pub struct SourceFmt {
        /// Format mode; 1 in every port that moves halves, 0 in those that move bytes.
        #[bits(2)] fmt_mode: u8,
        #[bits(2)] __: u8,
        /// Truncation; 3 in every port that moves halves, 0 in those that move bytes.
        #[bits(2)] truncate: u8,
        #[bits(2)] __: u8,
        /// Shift.
        #[bits(1)] shift: bool,
        #[bits(3)] __: u8,
        /// Element format in memory.
        #[bits(2)] mem_fmt: u8 => Show::Codes(MemoryFormat::CODES),
        #[bits(2)] __: u8,
        /// Channel offset.
        #[bits(3)] offset_ch: u8,
        #[bits(5)] __: u8,
        /// Channels side by side in one plane.
        #[bits(4)] interleave: u8,
        /// Compression vector.
        #[bits(4)] cmp_vec: u8
    }
}

layout! {
    /// A word that compilers set to `0x100` or 0; without effect (measured).
    pub struct Inert13840 {
        /// As compilers write it.
        #[bits(32)] value: u32 => Show::Hex
    }
}

layout! {
    /// Offset of the first pixel; 0 in every known program.
    pub struct PixelOffset {
        /// As compilers write it.
        #[bits(32)] value: u32 => Show::Hex
    }
}

registers! {
    /// Tile DMA, source side: brings operands from memory.
    pub block TILE_SOURCE "tile source", base BASE, 0x13800 + 0x70;

    /// Switches of source 1.
    DMA_CONFIG1 "SrcDMAConfig1" @ 0x13800: SourceDmaConfig, ReadWrite, Derived, "td 4.5, 10";
    /// Switches of source 2.
    DMA_CONFIG2 "SrcDMAConfig2" @ 0x13804: SourceDmaConfig, ReadWrite, Derived, "td 4.5";
    /// Added to the address in the BAR that RBase0 names.
    BASE_ADDR1 "SrcBaseAddr1" @ 0x13808: DmaBytes, ReadWrite, Derived, "td 4.5";
    /// Bytes from one row of source 1 to the next.
    ROW_STRIDE1 "SrcRowStride1" @ 0x1380c: DmaStride, ReadWrite, Derived, "td 4.5";
    /// Bytes from one plane of source 1 to the next.
    PLANE_STRIDE1 "SrcPlaneStride1" @ 0x13810: DmaStride, ReadWrite, Derived, "td 4.5";
    /// Bytes from one depth of source 1 to the next.
    DEPTH_STRIDE1 "SrcDepthStride1" @ 0x13814: DmaStride, ReadWrite, Derived, "td 4.5";
    /// Bytes from one batch of source 1 to the next.
    GROUP_STRIDE1 "SrcGroupStride1" @ 0x13818: DmaStride, ReadWrite, Derived, "td 4.3, 4.5";
    /// Added to the address in the BAR that RBase1 names.
    BASE_ADDR2 "SrcBaseAddr2" @ 0x1381c: DmaBytes, ReadWrite, Derived, "td 4.5";
    /// Bytes from one row of source 2 to the next.
    ROW_STRIDE2 "SrcRowStride2" @ 0x13820: DmaStride, ReadWrite, Derived, "td 4.5";
    /// Bytes from one plane of source 2 to the next.
    PLANE_STRIDE2 "SrcPlaneStride2" @ 0x13824: DmaStride, ReadWrite, Derived, "td 4.5";
    /// Bytes from one depth of source 2 to the next.
    DEPTH_STRIDE2 "SrcDepthStride2" @ 0x13828: DmaStride, ReadWrite, Derived, "td 4.5";
    /// Bytes from one batch of source 2 to the next.
    GROUP_STRIDE2 "SrcGroupStride2" @ 0x1382c: DmaStride, ReadWrite, Derived, "td 4.3, 4.5";
    /// Not explained by any source.
    UNEXPLAINED_13830 "Src13830" @ 0x13830 [2; 4]: Unexplained, ReadWrite, Predicted, "td 4.5 is silent";
    /// Format of source 1 in memory.
    FMT1 "SrcFmt1" @ 0x13838: SourceFmt, ReadWrite, Derived, "td 3.3, 4.5, 10, delta 4";
    /// Format of source 2 in memory.
    FMT2 "SrcFmt2" @ 0x1383c: SourceFmt, ReadWrite, Derived, "td 4.5";
    /// Without effect.
    INERT_13840 "Src13840" @ 0x13840: Inert13840, ReadWrite, Measured, "td 4.5";
    /// Not explained by any source.
    UNEXPLAINED_13844 "Src13844" @ 0x13844 [3; 4]: Unexplained, ReadWrite, Predicted, "td 4.5 is silent";
    /// Offset of the first pixel.
    PIXEL_OFFSET "SrcPixelOffset" @ 0x13850 [4; 4]: PixelOffset, ReadWrite, Derived, "td 3.3, 4.5";
    /// Not explained by any source.
    UNEXPLAINED_13860 "Src13860" @ 0x13860 [4; 4]: Unexplained, ReadWrite, Predicted, "td 4.5 is silent";
}
