//! The client's end.

use std::fs::File;
use std::hint;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use vm_memory::{FileOffset, MmapRegion};

use super::{ANSWER_MAX, ANSWERED, ASKED, BYTES, CLIENT, LENGTH, MESSAGE_MAX, Memory, SERVER};
use crate::futex;

#[derive(Debug)]
pub struct Asking {
    pub(super) memory: Memory,
}

/// The outcome of waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    Answered,
    TimedOut,
    /// A signal came.
    Interrupted,
}

impl Asking {
    /// Maps the box that the daemon passed.
    pub fn over(file: OwnedFd) -> io::Result<Self> {
        let mapped = FileOffset::new(File::from(file), 0);
        Ok(Self::new(MmapRegion::from_file(mapped, BYTES).map_err(io::Error::other)?))
    }

    /// A box that the caller mapped; [`BYTES`] of it.
    pub const fn new(region: MmapRegion) -> Self {
        Self { memory: Memory(region) }
    }

    /// Lays a message in. `None` if it is too long for a box; else whether the daemon has to be told of it.
    ///
    /// The last message has been answered.
    pub fn ask(&self, message: &[u8]) -> Option<bool> {
        let place = self.memory.message(message.len()).filter(|_| message.len() <= MESSAGE_MAX)?;
        place.copy_from(message);
        self.memory.store(ASKED + LENGTH, u32::try_from(message.len()).unwrap_or(0));
        self.memory.store(ASKED, self.memory.load(ASKED).wrapping_add(1));
        Some(self.memory.load(SERVER) == 0)
    }

    pub fn is_answered(&self) -> bool {
        self.memory.load(ANSWERED) == self.memory.load(ASKED)
    }

    /// Waits for the answer: looks for it for as long as `look`, then sleeps until `limit` is over.
    pub fn wait(&self, look: Duration, limit: Duration) -> Waited {
        let start = Instant::now();
        loop {
            // The clock is slower to read than the word.
            for _ in 0..64 {
                if self.is_answered() {
                    return Waited::Answered;
                }
                hint::spin_loop();
            }
            if start.elapsed() >= look {
                break;
            }
        }
        self.memory.store(CLIENT, 1);
        let waited = self.sleep(limit);
        self.memory.store(CLIENT, 0);
        waited
    }

    fn sleep(&self, limit: Duration) -> Waited {
        let until = Instant::now().checked_add(limit);
        loop {
            let answered = self.memory.load(ANSWERED);
            if answered == self.memory.load(ASKED) {
                return Waited::Answered;
            }
            let left = until.map_or(limit, |until| until.saturating_duration_since(Instant::now()));
            match self.memory.with_word(ANSWERED, |word| futex::wait(word, answered, left)) {
                Err(Errno::ETIMEDOUT) => return Waited::TimedOut,
                Err(Errno::EINTR) if !self.is_answered() => return Waited::Interrupted,
                _ => {}
            }
        }
    }

    /// Copies the answer into `into`; `None` if the daemon claims one that is longer than that or than a box holds.
    pub fn answer<'a>(&self, into: &'a mut [u8]) -> Option<&'a [u8]> {
        let bytes = usize::try_from(self.memory.load(ANSWERED + LENGTH)).ok()?;
        let into = into.get_mut(..bytes).filter(|_| bytes <= ANSWER_MAX)?;
        self.memory.message(bytes)?.copy_to(into);
        Some(into)
    }
}
