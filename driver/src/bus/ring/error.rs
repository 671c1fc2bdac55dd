//! What can be wrong with a ring: where it lies, what is put into it, what the device makes of it.

use core::fmt;

/// An area that cannot hold the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadArea {
    /// It is too short.
    Short { bytes: usize, needed: usize },
    /// Its address is no multiple of 16.
    Misaligned {
        /// The address.
        base: u64,
    },
    /// It reaches beyond the end of the address space.
    Wraps {
        /// The address.
        base: u64,
    },
}

impl fmt::Display for BadArea {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short { bytes, needed } => write!(f, "ring needs {needed} bytes, its area has {bytes}"),
            Self::Misaligned { base } => write!(f, "ring at {base:#x} is not aligned to 16 bytes"),
            Self::Wraps { base } => write!(f, "ring at {base:#x} wraps around the end of the address space"),
        }
    }
}

impl core::error::Error for BadArea {}

/// A chain that cannot be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddError {
    /// There are not enough places until the device is done with something.
    Full,
    /// It has no part.
    Empty,
    /// It has more than [`PARTS_MAX`](super::PARTS_MAX) parts, or more than the ring has places.
    TooLong { parts: usize },
    /// A part has no bytes.
    EmptyPart { index: usize },
    /// A part that the device reads follows one that it writes.
    Order { index: usize },
    /// The parts have more than 2^32 - 1 bytes together.
    TooBig,
}

impl fmt::Display for AddError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("ring is full"),
            Self::Empty => f.write_str("chain has no part"),
            Self::TooLong { parts } => write!(f, "chain of {parts} parts is too long"),
            Self::EmptyPart { index } => write!(f, "part {index} has no bytes"),
            Self::Order { index } => write!(f, "part {index} is read and follows one that is written"),
            Self::TooBig => f.write_str("parts have more than 2^32 - 1 bytes together"),
        }
    }
}

impl core::error::Error for AddError {}

/// The device wrote what it cannot have meant; the queue is of no use until it is set up again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// It claims to be done with more chains than it has.
    Index {
        /// The index that was read.
        found: u16,
        /// What was seen so far.
        seen: u16,
        /// Chains that the device has.
        outstanding: u16,
    },
    /// It claims to be done with a chain that it does not have.
    Token { id: u32 },
    /// It claims to have written more than it was given.
    Written {
        /// Bytes that it claims.
        claimed: u32,
        /// Bytes that it was given.
        given: u32,
    },
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index { found, seen, outstanding } => {
                write!(f, "used index {found:#06x} is more than {outstanding} chains ahead of {seen:#06x}")
            }
            Self::Token { id } => write!(f, "device is done with chain {id}, which it does not have"),
            Self::Written { claimed, given } => {
                write!(f, "device wrote {claimed} bytes into a chain with room for {given}")
            }
        }
    }
}

impl core::error::Error for Broken {}
