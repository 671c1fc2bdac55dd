//! The daemon against a frontend that does everything wrong: it answers with the right status or with
//! nothing, serves the next request, and outlives every connection.
//!
//! * `chains`: what a guest writes to its memory: requests, chains of descriptors, rings.
//! * `disconnects`: descriptors and answers that it leaves behind when it ends.
//! * `session`: what the frontend says and hands over: messages, memory, eventfds.

mod chains;
mod disconnects;
mod session;

use std::time::Duration;

use ane_tests::hostile::MEMORY;
use ane_uapi::wire::ctrl::{Header, RequestKind};
use zerocopy::IntoBytes;

/// Longer than any answer takes; only for what is expected to have none.
const SHORT: Duration = Duration::from_millis(100);

/// An address outside memory, from the start of memory.
const OUTSIDE: u64 = MEMORY as u64 + 0x1000;

fn empty_batch() -> Vec<u8> {
    Header::new(RequestKind::Batch, 0, 1).as_bytes().to_vec()
}
