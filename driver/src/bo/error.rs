//! What can be wrong with a call about buffers, and the number that its client sees.

use ane_uapi::hw::space::Iova;
use ane_uapi::hw::usage::{BadUsage, Usage};
use ane_uapi::ioctl::errno::Errno;
use thiserror::Error;

use crate::bus::BusError;
use crate::dart::TableError;
use crate::handle::Missing;

/// A call about a buffer that fails. It has changed nothing.
#[derive(Debug, Error)]
pub enum Error {
    /// The buffer is not there.
    #[error("there is no such buffer: {0:?}")]
    Missing(Missing),
    /// A size that no buffer can have.
    #[error("{size:#x} bytes are none, or more than the aperture's {limit:#x}")]
    Size { size: u64, limit: u64 },
    /// Flags without a meaning here.
    #[error("flags {0:#x} have bits without a meaning")]
    Flags(u32),
    #[error(transparent)]
    Usage(BadUsage),
    /// A device address that is not that of a page, or was given without being asked for.
    #[error("device address {0:#x} is not that of a page, or not asked for")]
    Address(u64),
    /// A device address outside of what is given out.
    #[error("{size:#x} bytes at device address {address:#x} leave the aperture")]
    OutsideAperture { address: u64, size: u64 },
    /// Device addresses that something has that cannot be evicted.
    #[error("device address {0:#x} is taken by a mapping that cannot be evicted")]
    Taken(u64),
    /// No room among the device addresses, even by eviction.
    #[error("the aperture has no room for {pages} pages, even by eviction")]
    NoRoom { pages: u32 },
    /// A buffer with as many mappings as it may have.
    #[error("the buffer has {0} mappings, which is all it may have")]
    Mappings(u32),
    /// A file or a context with as many buffers as it may have.
    #[error("there is no handle left")]
    Handles,
    /// A mapping that is not there.
    #[error("the buffer has no mapping {0} now")]
    NoMapping(u32),
    /// A mapping under another usage than the one named.
    #[error("mapping {mapping} is under usage {is}, not {named:#x}")]
    OtherUsage { mapping: u32, is: Usage, named: u32 },
    /// A mapping that work uses, or a program keeps.
    #[error("mapping {0} is in use")]
    InUse(u32),
    /// A buffer that has its address already.
    #[error("the buffer is mapped at {0}")]
    Mapped(Iova),
    /// Bytes that the buffer does not have, or not from the start of a page.
    #[error("{size:#x} bytes from {offset:#x} are no pages of a buffer of {limit:#x} bytes")]
    Range { offset: u64, size: u64, limit: u64 },
    /// No buffer behind an offset of the file.
    #[error("no buffer has {bytes:#x} bytes at offset {offset:#x} of the file")]
    Nowhere { offset: u64, bytes: u64 },
    #[error("there is no memory for {pages} pages")]
    Memory { pages: u32 },
    /// The page tables.
    #[error(transparent)]
    Tables(#[from] TableError),
    /// The device.
    #[error(transparent)]
    Bus(#[from] BusError),
}

impl Error {
    /// What a client is told.
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

impl From<Missing> for Error {
    fn from(missing: Missing) -> Self {
        Self::Missing(missing)
    }
}
