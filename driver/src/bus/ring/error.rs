//! The errors of a ring: its place, its requests, and the answers of the device.

use thiserror::Error;

/// An area that cannot hold the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BadArea {
    #[error("ring needs {needed} bytes, its area has {bytes}")]
    Short { bytes: usize, needed: usize },
    #[error("ring at {base:#x} is not aligned to 16 bytes")]
    Misaligned { base: u64 },
    #[error("ring at {base:#x} wraps around the end of the address space")]
    Wraps { base: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum AddError {
    /// There are not enough places until the device is done with something.
    #[error("ring is full")]
    Full,
    #[error("chain has no part")]
    Empty,
    /// It has more than [`PARTS_MAX`](super::PARTS_MAX) parts, or more than the ring has places.
    #[error("chain of {parts} parts is too long")]
    TooLong { parts: usize },
    #[error("part {index} has no bytes")]
    EmptyPart { index: usize },
    #[error("part {index} is read and follows one that is written")]
    Order { index: usize },
    #[error("parts have more than 2^32 - 1 bytes together")]
    TooBig,
}

/// The device wrote what it cannot have meant; the queue is of no use until it is set up again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Broken {
    /// It claims to be done with more chains than it has.
    #[error("used index {found:#06x} is more than {outstanding} chains ahead of {seen:#06x}")]
    Index { found: u16, seen: u16, outstanding: u16 },
    #[error("device is done with chain {id}, which it does not have")]
    Token { id: u32 },
    #[error("device wrote {claimed} bytes into a chain with room for {given}")]
    Written { claimed: u32, given: u32 },
}
