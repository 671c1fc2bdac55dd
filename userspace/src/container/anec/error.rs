//! How an ANEC can be wrong, and what it cannot say.

use thiserror::Error;

use super::super::bytes::Outside;
use super::super::limits::{BUFFER_BYTES_MAX, Exceeded};
use super::SURFACES_MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ReadError {
    #[error(transparent)]
    Outside(#[from] Outside),
    #[error(transparent)]
    Exceeded(#[from] Exceeded),
    #[error(
        "payload size at 0x0 is {payload:#x}: the file of {file:#x} bytes should have 0x800 or 0x1000 more than that"
    )]
    PayloadSize { payload: u64, file: u64 },
    #[error(
        "payload size at 0x0 is {payload:#x}, but the task stream of {stream:#x} bytes (at 0x10), rounded up to 16, \
         and the constants of {constants:#x} (at 0x18) make another"
    )]
    PayloadSum { payload: u64, stream: u64, constants: u64 },
    #[error(
        "payload at {at:#x} begins with zeros where the first task has its header: the end of the file is missing"
    )]
    NoTask { at: u64 },
    #[error(
        "{inputs} inputs (at 0x20) and {outputs} outputs (at 0x24) are more than the {SURFACES_MAX} BARs for them"
    )]
    TooManySurfaces { inputs: u32, outputs: u32 },
    #[error(
        "buffer of BAR 0 at 0x28 is {tiles:#x} tiles of {unit:#x} bytes: it has to hold the payload of {payload:#x} \
         and be longer than the task stream of {stream:#x}"
    )]
    CommandBuffer { tiles: u32, unit: u64, payload: u64, stream: u64 },
    #[error(
        "buffer of BAR {bar} at {at:#x} is {tiles:#x} tiles of {unit:#x} bytes, more than the {BUFFER_BYTES_MAX:#x} \
         bytes that the engine can address"
    )]
    BufferTooLong { bar: u8, at: u64, tiles: u32, unit: u64 },
    #[error(
        "surface of BAR {bar}: shape and strides at {at:#x} need more than its buffer of {buffer:#x} bytes has"
    )]
    BufferTooShort { bar: u8, at: u64, buffer: u64 },
    #[error(
        "surface of BAR {bar}: {axis} at {at:#x} is {count:#x}, at least 1 and less than 2^32 are possible"
    )]
    Axis { bar: u8, axis: &'static str, at: u64, count: u64 },
    #[error("surface of BAR {bar}: tasks move its elements both as bytes and as halves")]
    MixedElements { bar: u8 },
}

/// The properties of a program that an ANEC cannot describe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum WriteError {
    #[error(transparent)]
    Exceeded(#[from] Exceeded),
    /// A task stream that begins with zeros, which readers take for a damaged file.
    #[error("task stream begins with zeros where the first task has its header")]
    NoTask,
    #[error("{inputs} inputs and {outputs} outputs are more than the {SURFACES_MAX} BARs for them")]
    TooManySurfaces { inputs: usize, outputs: usize },
    #[error(
        "buffer of BAR {bar} has {bytes:#x} bytes, more than the {BUFFER_BYTES_MAX:#x} that the engine can address"
    )]
    BufferTooLong { bar: u8, bytes: u64 },
}
