//! A mailbox: memory in which a client and the daemon pass calls without the system.
//!
//! A message through a socket costs each end a system call, and a wake-up if the other end sleeps, which takes several
//! times as long as a short call. So a connection may have a *box* beside its socket, memory that both ends
//! have mapped: the client lays a message into it and counts [`ASKED`] up; the daemon looks at that word for a while
//! before it goes to sleep, lays the answer at the same place and counts [`ANSWERED`] up, at which the client has
//! looked meanwhile. Neither waits so for long. Each says by a word of its own when it goes to sleep, and then the
//! other wakes it: the client by a message through the socket, the daemon by a futex.
//!
//! A box holds one call at a time, a few kilobytes of it; what is larger and what comes with descriptors takes the
//! socket. Both ends copy a message out before they look at it, as the other may change it at any time; and the
//! memory cannot be shortened, so that no access to it fails.
//!
//! ```text
//! 0x000  asked     messages that the client has laid in     0x004  bytes of the last one
//! 0x040  answered  messages that the daemon has answered    0x044  bytes of the last answer
//! 0x080  server    1: the daemon looks at `asked` by itself; 0: it has to be told
//! 0x0c0  client    1: the client waits for `answered` in a futex
//! 0x100  the message, as it would go through the socket, and then its answer
//! ```
//!
//! Each word has a cache line of its own. All are little-endian as the machine is: both ends are on one machine.

mod asking;
mod serving;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU32, Ordering};

use vm_memory::{MmapRegion, VolatileMemory, VolatileSlice};

pub use asking::{Asking, Waited};
pub use serving::Serving;

pub const BYTES: usize = 16 << 10;

pub const MESSAGE_AT: usize = 0x100;

pub const ANSWER_MAX: usize = BYTES - MESSAGE_AT;

/// Bytes of the largest message that may be asked: its answer is longer by a result and a length at most.
pub const MESSAGE_MAX: usize = ANSWER_MAX - 64;

/// Counted up by the client with each message.
pub const ASKED: usize = 0x00;

/// Counted up by the daemon with each answer.
pub const ANSWERED: usize = 0x40;

/// Whether the daemon looks at [`ASKED`].
pub const SERVER: usize = 0x80;

/// Whether the client sleeps.
pub const CLIENT: usize = 0xc0;

/// From a count to the length that stands behind it.
const LENGTH: usize = 4;

/// The memory of a box, as both ends have it.
#[derive(Debug)]
struct Memory(MmapRegion);

impl Memory {
    /// A word. It is in every box, so its absence is a word that nobody else sees.
    fn with_word<R>(&self, at: usize, with: impl FnOnce(&AtomicU32) -> R) -> R {
        match self.0.get_atomic_ref::<AtomicU32>(at) {
            Ok(word) => with(word),
            Err(_) => with(&AtomicU32::new(0)),
        }
    }

    fn load(&self, at: usize) -> u32 {
        self.with_word(at, |word| word.load(Ordering::SeqCst))
    }

    fn store(&self, at: usize, value: u32) {
        self.with_word(at, |word| word.store(value, Ordering::SeqCst));
    }

    /// The message's place, as far as `bytes` of it lie in the box.
    fn message(&self, bytes: usize) -> Option<VolatileSlice<'_>> {
        self.0.get_slice(MESSAGE_AT, bytes).ok()
    }
}
