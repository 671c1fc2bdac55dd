//! Program text as the firmware loads it, and the three numbers that the rebase needs.
//!
//! A loaded program's text is a list of 44-byte records. Each names a register of the engine, in space B,
//! and up to two tile addresses, in space C; the register says whether coefficients, input tiles or output
//! tiles are to come from there. The records are another thing than the 44-byte header of a task descriptor
//! (facts M, X-22).
//!
//! Only the record's length and contents are known, not where in it they stand: that is Chosen here, as is
//! that a record of one operand leaves the second at zero.

use core::mem::{offset_of, size_of};

use thiserror::Error;
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::space::{ApertureAddr, EngineOffset};
use super::td;

/// Bytes of a record (seed 000; measured).
pub const RECORD_BYTES: usize = 44;

/// One register write of a program's text.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct Record {
    /// Number of operands, 1 or 2.
    pub count: U32,
    /// The register, as an offset in the container.
    pub register: U32,
    /// The tile addresses.
    pub operands: [U64; 2],
    /// Zero.
    pub reserved: [u8; 20],
}

const _: () = {
    assert!(offset_of!(Record, count) == 0x00);
    assert!(offset_of!(Record, register) == 0x04);
    assert!(offset_of!(Record, operands) == 0x08);
    assert!(offset_of!(Record, reserved) == 0x18);
    assert!(size_of::<Record>() == RECORD_BYTES);
};

/// The register that a record rebases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// Where coefficients stream from.
    Weights,
    /// Where input tiles are read.
    TileReader,
    /// Where output tiles are written.
    TileWriter,
}

impl Target {
    /// The DMA target of a register; `None` if it belongs to no DMA circuit of the engine.
    pub fn of(register: EngineOffset) -> Option<Self> {
        let block = td::block_at(register.0.checked_sub(td::BASE.0)?)?;
        [
            (&td::kernel_dma::KERNEL_DMA, Self::Weights),
            (&td::tile_source::TILE_SOURCE, Self::TileReader),
            (&td::tile_destination::TILE_DESTINATION, Self::TileWriter),
        ]
        .into_iter()
        .find_map(|(circuit, target)| (circuit.start == block.start).then_some(target))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RegisterWrite {
    pub register: EngineOffset,
    pub target: Target,
    pub first: ApertureAddr,
    /// The second tile address, if the record has one.
    pub second: Option<ApertureAddr>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BadText {
    #[error("text of {0} bytes is no whole number of {RECORD_BYTES}-byte records")]
    Length(usize),
    #[error("record has {0} operands, not 1 or 2")]
    Count(u32),
    #[error("{0} belongs to no dma circuit")]
    Register(EngineOffset),
    #[error("record of one operand has a second, {0}")]
    Surplus(ApertureAddr),
    #[error("record's reserved bytes are not zero")]
    Reserved,
}

pub fn records(text: &[u8]) -> Result<&[Record], BadText> {
    <[Record]>::ref_from_bytes(text).map_err(|_| BadText::Length(text.len()))
}

impl Record {
    /// A record of one tile address, or two.
    pub const fn new(register: EngineOffset, first: ApertureAddr, second: Option<ApertureAddr>) -> Self {
        let (count, second) = match second {
            Some(second) => (2, second.0),
            None => (1, 0),
        };
        Self {
            count: U32::new(count),
            register: U32::new(register.0),
            operands: [U64::new(first.0), U64::new(second)],
            reserved: [0; 20],
        }
    }

    /// Decodes the record.
    pub fn decode(&self) -> Result<RegisterWrite, BadText> {
        if self.reserved.iter().any(|&byte| byte != 0) {
            return Err(BadText::Reserved);
        }
        let [first, second] = self.operands.map(|operand| ApertureAddr(operand.get()));
        let second = match self.count.get() {
            1 if second != ApertureAddr(0) => return Err(BadText::Surplus(second)),
            1 => None,
            2 => Some(second),
            other => return Err(BadText::Count(other)),
        };
        let register = EngineOffset(self.register.get());
        let target = Target::of(register).ok_or(BadText::Register(register))?;
        Ok(RegisterWrite { register, target, first, second })
    }
}

/// Where [`ApertureConfig`] begins in the object that the firmware has for the engine: its first field (seed 000, table 28.8).
pub const APERTURE_CONFIG_OFFSET: u32 = 0xb98;

/// The aperture configuration: the three numbers of the rebase (seed 000, table 28.8; derived).
///
/// The firmware sets them when buffers are mapped; they are in no image. Until then all are zero.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct ApertureConfig {
    /// dvaBase: first device address of the mapped region.
    pub dva_base: U64,
    /// regionSize: bytes of the region; 0 before it is mapped.
    pub region_size: U64,
    /// mappedBase: where the region begins in the firmware's aperture.
    pub mapped_base: U64,
}

const _: () = {
    assert!(APERTURE_CONFIG_OFFSET as usize + offset_of!(ApertureConfig, dva_base) == 0xb98);
    assert!(APERTURE_CONFIG_OFFSET as usize + offset_of!(ApertureConfig, region_size) == 0xba0);
    assert!(APERTURE_CONFIG_OFFSET as usize + offset_of!(ApertureConfig, mapped_base) == 0xba8);
    assert!(size_of::<ApertureConfig>() == 24);
};
