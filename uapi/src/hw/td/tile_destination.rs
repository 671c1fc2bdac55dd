//! Tile DMA, destination side: the circuit that carries the result to memory.
//!
//! Addresses as on the source side, with the BAR that the header's WBase names. Only valid elements are
//! written: bytes between them keep what they held. When the result is transposed, the strides are those
//! of the transposed tensor.

use super::BASE;
use super::tile_source::MemoryFormat;
use super::words::{DmaBytes, DmaStride};
use crate::register::Show;
use crate::{layout, registers};

layout! {
    /// Switches of the destination port.
    pub struct DestinationDmaConfig {
        /// The port runs.
        #[bits(1)] en: bool,
        #[bits(3)] __: u8,
        /// Cache hint selection; without numerical effect.
        #[bits(2)] cr_h: u8,
        /// Cache hint; without numerical effect.
        #[bits(4)] cache_hint: u8 => Show::Hex,
        #[bits(16)] __: u16,
        /// Buffer mode.
        #[bits(1)] l2_bfr_mode: bool,
        /// Bypass the end-of-work wait.
        #[bits(1)] bypass_eow: bool,
        #[bits(4)] __: u8
    }
}

layout! {
    /// Format of the result in memory.
    ///
    /// `0x01302031` or `0x01002031` for plain fp16, and no test tells the two apart; `0x01300000` for bytes.
    pub struct DestinationFmt {
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
        #[bits(1)] __: bool,
        /// May fill the padding behind the last row with zeroes.
        #[bits(1)] zero_pad_last: bool; Predicted,
        /// May fill the padding before the first row with zeroes.
        #[bits(1)] zero_pad_first: bool; Predicted,
        /// Compression-vector fill.
        #[bits(1)] cmp_vec_fill: bool,
        #[bits(1)] __: bool,
        /// Channels side by side in one plane.
        #[bits(4)] interleave: u8,
        /// Compression vector.
        #[bits(4)] cmp_vec: u8
    }
}

registers! {
    /// Tile DMA, destination side: carries the result to memory.
    pub block TILE_DESTINATION "tile destination", base BASE, 0x17800 + 0x1c;

    /// Switches of the port.
    DMA_CONFIG "DstDMAConfig" @ 0x17800: DestinationDmaConfig, ReadWrite, Derived, "td 4.6";
    /// Added to the address in the BAR that WBase names.
    BASE_ADDR "DstBaseAddr" @ 0x17804: DmaBytes, ReadWrite, Derived, "td 4.6";
    /// Bytes from one row to the next.
    ROW_STRIDE "DstRowStride" @ 0x17808: DmaStride, ReadWrite, Derived, "td 4.6";
    /// Bytes from one plane to the next.
    PLANE_STRIDE "DstPlaneStride" @ 0x1780c: DmaStride, ReadWrite, Derived, "td 4.6";
    /// Bytes from one depth to the next.
    DEPTH_STRIDE "DstDepthStride" @ 0x17810: DmaStride, ReadWrite, Derived, "td 4.6";
    /// Bytes from one batch to the next.
    GROUP_STRIDE "DstGroupStride" @ 0x17814: DmaStride, ReadWrite, Derived, "td 4.3, 4.6";
    /// Format in memory.
    FMT "DstFmt" @ 0x17818: DestinationFmt, ReadWrite, Derived, "td 4.6, 10, delta 4";
}
