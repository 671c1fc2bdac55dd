//! The parts of a call on a driver: the memory that it brings along and the results that it brings back.
//!
//! A driver in a kernel follows a client's pointers and maps memory into the client. Where the driver is a library, or a
//! daemon behind a socket, both are data that travel with the call: [`Segments`] are the stretches of the client's memory
//! that its pointers lead to, an [`Extent`] is a piece of a file that the client maps. The driver and the protocol of its
//! daemon share them, and neither needs the other.
#![forbid(unsafe_code)]

use std::os::fd::OwnedFd;
use std::sync::Arc;

pub use segments::{Bad, Segments};

mod segments;

/// Memory of a buffer, as a client maps it: these bytes of this file, and others behind them if the buffer is
/// scattered.
#[derive(Clone, Debug)]
pub struct Extent {
    /// The file to map.
    pub file: Arc<OwnedFd>,
    /// First byte in it.
    pub offset: u64,
    pub bytes: u64,
}
