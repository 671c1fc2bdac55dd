//! The errors of a call on buffers, and the error numbers that its client gets.

use ane_uapi::hw::space::Iova;
use ane_uapi::hw::usage::{BadUsage, Usage};
use ane_uapi::ioctl::errno::Errno;
use thiserror::Error;

use crate::bus::BusError;
use crate::dart::TableError;
use crate::handle::Missing;

/// A call about a buffer that fails. It has changed nothing.
#[derive(Debug, Error)]
pub enum BufferError {
    #[error("there is no such buffer: {0:?}")]
    Missing(Missing),
    #[error("size of {size:#x} bytes is zero, or more than the aperture's {limit:#x}")]
    Size { size: u64, limit: u64 },
    #[error("flags {0:#x} have bits without a meaning")]
    Flags(u32),
    #[error(transparent)]
    Usage(BadUsage),
    #[error("device address {0:#x} is not a multiple of the page size, or was not asked for by a flag")]
    Address(u64),
    #[error("{size:#x} bytes at device address {address:#x} leave the aperture")]
    OutsideAperture { address: u64, size: u64 },
    #[error("device address {0:#x} is taken by a mapping that cannot be evicted")]
    Taken(u64),
    #[error("the aperture has no room for {pages} pages, even by eviction")]
    NoRoom { pages: u32 },
    #[error("buffer has {0} mappings, the most that one may have")]
    Mappings(u32),
    #[error("there is no handle left")]
    Handles,
    #[error("the buffer has no mapping {0} now")]
    NoMapping(u32),
    #[error("mapping {mapping} is under usage {is}, not {named:#x}")]
    OtherUsage { mapping: u32, is: Usage, named: u32 },
    #[error("mapping {0} is in use")]
    InUse(u32),
    #[error("the buffer is mapped at {0}")]
    Mapped(Iova),
    #[error(
        "range of {size:#x} bytes from {offset:#x} is not whole pages inside a buffer of {limit:#x} bytes"
    )]
    Range { offset: u64, size: u64, limit: u64 },
    #[error("no buffer has {bytes:#x} bytes at offset {offset:#x} of the file")]
    Nowhere { offset: u64, bytes: u64 },
    #[error("there is no memory for {pages} pages")]
    Memory { pages: u32 },
    #[error(transparent)]
    Tables(#[from] TableError),
    #[error(transparent)]
    Bus(#[from] BusError),
}

pub type Result<T, E = BufferError> = std::result::Result<T, E>;

impl BufferError {
    pub const fn errno(&self) -> Errno {
        match self {
            Self::Missing(missing) => missing.errno(),
            Self::Size { .. }
            | Self::Flags(_)
            | Self::Usage(_)
            | Self::Address(_)
            | Self::OtherUsage { .. }
            | Self::Range { .. }
            | Self::Nowhere { .. } => Errno::EINVAL,
            Self::OutsideAperture { .. } => Errno::ERANGE,
            Self::Taken(_) => Errno::EEXIST,
            Self::NoRoom { .. } | Self::Mappings(_) | Self::Handles => Errno::ENOSPC,
            Self::NoMapping(_) => Errno::ENODATA,
            Self::InUse(_) => Errno::EBUSY,
            Self::Mapped(_) => Errno::EALREADY,
            Self::Memory { .. } | Self::Bus(BusError::Memory(_)) => Errno::ENOMEM,
            Self::Tables(_) | Self::Bus(_) => Errno::ENODEV,
        }
    }
}

impl From<Missing> for BufferError {
    fn from(missing: Missing) -> Self {
        Self::Missing(missing)
    }
}
