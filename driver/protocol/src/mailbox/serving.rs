//! The daemon's end.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use vm_memory::{FileOffset, MmapRegion};

use super::{ANSWER_MAX, ANSWERED, ASKED, BYTES, CLIENT, LENGTH, MESSAGE_MAX, Memory, SERVER};
use crate::futex;

#[derive(Debug)]
pub struct Serving {
    memory: Memory,
    file: File,
    /// How many messages were taken, as [`ASKED`] counts them.
    taken: u32,
}

impl Serving {
    /// A new box, which the daemon looks into by itself.
    pub fn new() -> io::Result<Self> {
        let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
        let file: OwnedFd = memfd_create(c"ane-mailbox", flags)?;
        let file = File::from(file);
        file.set_len(BYTES as u64)?;
        let seals = SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SEAL;
        fcntl(&file, FcntlArg::F_ADD_SEALS(seals))?;
        let mapped = FileOffset::new(file.try_clone()?, 0);
        let region = MmapRegion::from_file(mapped, BYTES).map_err(io::Error::other)?;
        let serving = Self { memory: Memory(region), file, taken: 0 };
        serving.memory.store(SERVER, 1);
        Ok(serving)
    }

    pub fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// True if there is a message that was not taken.
    pub fn is_asked(&self) -> bool {
        self.memory.load(ASKED) != self.taken
    }

    /// Takes a message, if there is one that was not taken: copies it into `into`.
    ///
    /// # Errors
    ///
    /// The length that the client claims, if no message is that long.
    pub fn take(&mut self, into: &mut Vec<u8>) -> Result<bool, u32> {
        let asked = self.memory.load(ASKED);
        if asked == self.taken {
            return Ok(false);
        }
        self.taken = asked;
        let claimed = self.memory.load(ASKED + LENGTH);
        let bytes = usize::try_from(claimed).ok().filter(|&bytes| bytes <= MESSAGE_MAX).ok_or(claimed)?;
        into.clear();
        into.resize(bytes, 0);
        self.memory.message(bytes).ok_or(claimed)?.copy_to(into);
        Ok(true)
    }

    /// Answers the message that was taken. False if the answer is longer than a box holds, and nothing has happened.
    pub fn answer(&self, answer: &[u8]) -> bool {
        let Some(place) = self.memory.message(answer.len()).filter(|_| answer.len() <= ANSWER_MAX) else {
            return false;
        };
        place.copy_from(answer);
        self.memory.store(ANSWERED + LENGTH, u32::try_from(answer.len()).unwrap_or(0));
        self.memory.store(ANSWERED, self.taken);
        if self.memory.load(CLIENT) != 0 {
            self.memory.with_word(ANSWERED, futex::wake);
        }
        true
    }

    /// The daemon goes to sleep and has to be told of messages. False if one came just before: then it must not sleep yet.
    pub fn rest(&self) -> bool {
        self.memory.store(SERVER, 0);
        if self.is_asked() {
            self.watch();
            return false;
        }
        true
    }

    /// The daemon looks by itself again.
    pub fn watch(&self) {
        self.memory.store(SERVER, 1);
    }
}
