//! The libraries that existing clients link with, without their languages.
//!
//! Clients of the Linux driver use a small C library: it opens the node, loads an ANEC, makes a buffer for each BAR,
//! copies tensors in and out in the engine's layout, and submits (client-abi). Two libraries offer that, `libane` to C
//! and C++ and `libane_python` to a Python binding; both are a list of functions over this crate. It knows nothing but
//! the node, so it runs where there is one: on the chip, in a guest, or under the preload library.
//!
//! It is apart from the client library on purpose, and so has a reader of the container of its own: a process
//! of somebody else's loads it, which is no place for an engine, a driver, a decoder and what those depend on, and C reaches
//! into the header as it stands in the file. That both read the same is a test's (`tests/tests/c_library.rs`). Tensors are
//! tiled for both by `ane-tiling`; here what is in the gaps becomes zero, so that the bytes of all planes depend on the tensor
//! only.
//!
//! * [`anec`]: the header of the container, which is the public part of a loaded program, and how a file is checked;
//! * [`surface`]: how a tensor lies in its buffer, and the copies there and back;
//! * [`node`]: the device node and what is asked of it;
//! * [`call`]: what C says, and `errno`;
//! * [`network`]: a loaded program with its buffers, as C sees it.
#![expect(unsafe_code, reason = "functions that C calls take pointers")]
#![cfg(target_os = "linux")]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

pub mod anec;
pub mod call;
pub mod network;
pub mod node;
pub mod surface;

pub use network::{Bind, Network};
