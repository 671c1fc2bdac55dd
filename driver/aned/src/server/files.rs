//! Open files, and who holds them.
//!
//! A file belongs to the connection that opened it and to those that attached to it, and closes when the last of them
//! has let go: as a file of the kernel that a process and its children share.

use std::collections::HashMap;
use std::os::fd::AsFd;

use ane_uapi::ioctl::errno::Errno;
use rustix::fs::fstat;
use rustix::rand::{GetRandomFlags, getrandom};

use ane_driver::front::{FileId, User};
use aned_protocol::Token;

/// The kernel's own names of a file, by which a descriptor of it is recognised. Those of memory objects count up, so one that was
/// noted just now is not another object's.
pub(super) type Identity = (u64, u64);

/// Every file that has a holder.
#[derive(Debug, Default)]
pub(super) struct Shared {
    files: HashMap<FileId, Held>,
    by_token: HashMap<Token, FileId>,
    by_arena: HashMap<Identity, FileId>,
}

#[derive(Debug)]
struct Held {
    owner: User,
    token: Token,
    arena: Option<Identity>,
    holders: usize,
}

impl Shared {
    /// A file that was opened now, held once; gives the token by which others attach.
    pub(super) fn insert(&mut self, file: FileId, owner: User) -> Result<Token, Errno> {
        let mut bytes = [0; 16];
        let drawn = getrandom(&mut bytes, GetRandomFlags::empty());
        if drawn != Ok(bytes.len()) {
            return Err(Errno::EIO);
        }
        let token = Token(bytes);
        self.files.insert(file, Held { owner, token, arena: None, holders: 1 });
        self.by_token.insert(token, file);
        Ok(token)
    }

    pub(super) fn attach(&mut self, token: Token) -> Result<FileId, Errno> {
        let file = self.by_token.get(&token).copied();
        self.hold(file)
    }

    pub(super) fn attach_arena(&mut self, arena: Identity) -> Result<FileId, Errno> {
        let file = self.by_arena.get(&arena).copied();
        self.hold(file)
    }

    fn hold(&mut self, file: Option<FileId>) -> Result<FileId, Errno> {
        let file = file.ok_or(Errno::ENOENT)?;
        let held = self.files.get_mut(&file).ok_or(Errno::ENOENT)?;
        held.holders = held.holders.saturating_add(1);
        Ok(file)
    }

    /// Notes that a client has the arena now, and may pass it on.
    pub(super) fn know_arena(&mut self, file: FileId, arena: impl AsFd) -> Result<(), Errno> {
        let identity = identity(arena)?;
        if let Some(held) = self.files.get_mut(&file)
            && let Some(before) = held.arena.replace(identity)
        {
            self.by_arena.remove(&before);
        }
        self.by_arena.insert(identity, file);
        Ok(())
    }

    /// Takes one holder away from the file. If that was the last one, returns the user who opened the file.
    pub(super) fn release(&mut self, file: FileId) -> Option<User> {
        let held = self.files.get_mut(&file)?;
        held.holders = held.holders.saturating_sub(1);
        if held.holders > 0 {
            return None;
        }
        let held = self.files.remove(&file)?;
        self.by_token.remove(&held.token);
        held.arena.map(|arena| self.by_arena.remove(&arena));
        Some(held.owner)
    }

    pub(super) fn drain(&mut self) -> impl Iterator<Item = FileId> {
        self.by_token.clear();
        self.by_arena.clear();
        self.files.drain().map(|(file, _)| file)
    }

    pub(super) fn len(&self) -> usize {
        self.files.len()
    }
}

pub(super) fn identity(file: impl AsFd) -> Result<Identity, Errno> {
    let found = fstat(file).map_err(|_| Errno::EINVAL)?;
    Ok((found.st_dev, found.st_ino))
}
