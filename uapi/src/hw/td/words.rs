//! Words that several blocks share: strides, bases, and the layouts of one DMA port's configuration.

use crate::layout;
use crate::register::Show;

layout! {
    /// A byte offset of a tile or kernel DMA port.
    ///
    /// The engine looks at bits 31:6 only: an offset that is not a multiple of 64 bytes acts as the next
    /// lower multiple (measured on BaseAddr of source 1).
    pub struct DmaBytes {
        /// Ignored by the engine.
        #[bits(6)] ignored: u8 => Show::Hex; Measured,
        /// Bytes, in units of 64.
        #[bits(26)] units: u32 => Show::Bytes(6)
    }
}

impl DmaBytes {
    /// The offset as the engine sees it.
    pub const fn bytes(self) -> u32 {
        self.units() << 6
    }
}

layout! {
    /// A byte stride of a tile DMA port.
    ///
    /// The engine looks at bits 31:6 only, as for [`DmaBytes`]. They are a signed number for the drivers of macOS; no program
    /// is known that leads backwards, and the device takes them as one without a sign.
    pub struct DmaStride {
        /// Ignored by the engine.
        #[bits(6)] ignored: u8 => Show::Hex; Measured,
        /// Bytes, in units of 64.
        #[bits(26)] units: u32 => Show::SignedBytes(6)
    }
}

impl DmaStride {
    /// The stride as the engine sees it.
    pub const fn bytes(self) -> u32 {
        self.units() << 6
    }
}

layout! {
    /// An address or a stride in the on-chip buffer.
    ///
    /// 2 MB at a granule of 16 bytes. The low four bits are ignored (measured: stride `0xa1` acts as `0xa0`).
    pub struct ChipBytes {
        /// Ignored by the engine.
        #[bits(4)] ignored: u8 => Show::Hex; Measured,
        /// Bytes, in units of 16.
        #[bits(17)] units: u32 => Show::Bytes(4),
        #[bits(11)] __: u16
    }
}

impl ChipBytes {
    /// The address or stride as the engine sees it.
    pub const fn bytes(self) -> u32 {
        self.units() << 4
    }
}

layout! {
    /// A word that no source explains.
    pub struct Unexplained {
        #[bits(32)] __: u32
    }
}
