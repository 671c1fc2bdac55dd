//! What a worker says on its standard error: the end of it is the reason why it died.
//!
//! A pipe takes 64 KiB, and then its writer waits for a reader. So the words are read while the worker runs, and all but the
//! last of them are dropped.

use std::os::fd::{AsFd, OwnedFd};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags};

/// Bytes that are kept.
const KEPT: usize = 4096;

/// Reads between two looks at the clock: more than a full pipe.
const READS: usize = 32;

pub(super) struct Words {
    pipe: OwnedFd,
    last: Vec<u8>,
    /// Nothing more will come.
    is_over: bool,
}

impl Words {
    /// The words in a pipe that does not block.
    pub(super) const fn new(pipe: OwnedFd) -> Self {
        Self { pipe, last: Vec::new(), is_over: false }
    }

    /// The pipe to wait for; `None` once it is closed, which would end every wait at once.
    pub(super) fn awaited(&self) -> Option<PollFd<'_>> {
        (!self.is_over).then(|| PollFd::new(self.pipe.as_fd(), PollFlags::POLLIN))
    }

    /// Reads what is there, as far as a worker that never stops lets it come to an end.
    pub(super) fn take(&mut self) {
        let mut piece = [0; KEPT];
        for _ in 0..READS {
            match nix::unistd::read(&self.pipe, &mut piece) {
                Ok(0) => self.is_over = true,
                Ok(count) => {
                    self.last.extend_from_slice(piece.get(..count).unwrap_or_default());
                    self.last.drain(..self.last.len().saturating_sub(KEPT));
                    continue;
                }
                Err(Errno::EINTR) => continue,
                Err(Errno::EAGAIN) => {}
                Err(_) => self.is_over = true,
            }
            return;
        }
    }

    /// A case has ended, and what was said until now is about it.
    pub(super) fn forget(&mut self) {
        self.take();
        self.last.clear();
    }

    /// The last that was said.
    pub(super) fn last(&mut self) -> String {
        self.take();
        String::from_utf8_lossy(&self.last).into_owned()
    }
}
