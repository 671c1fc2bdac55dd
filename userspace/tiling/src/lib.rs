//! Tiling: from dense halves to what the engine reads, and back.
//!
//! In memory a surface is planes of rows: one plane for each channel, each row at a multiple of 64 bytes, and what lies
//! between a row's end and the next row's start belongs to nobody (td 6). A dense array, in the order N, C, H, W, has no gaps.
//!
//! The client library and the C libraries both do this, and share nothing else; so it is a crate of its own, which knows no
//! container, no device and no numbers, only bytes.
//!
//! * [`Layout`]: where each element lies, and the copies there and back;
//! * [`Memory`]: what they go to, a slice or memory that an engine writes as well;
//! * `rows`: the loops, for each kind of vector unit.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod axes;
mod layout;
mod memory;
mod rows;

pub use axes::Axes;
pub use layout::{Error, Layout};
pub use memory::Memory;
