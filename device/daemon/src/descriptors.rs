//! The kinds of descriptors that a peer may pass.
//!
//! Only two kinds are of any use: an eventfd, by which one side wakes the other, and an ordinary file, which is memory.
//! All others are refused before anything is done with them. A socket may be the peer's own end of the connection, and
//! a process that holds that never sees the peer disconnect. It also depends on the kind whether a close waits.

use std::fs::{File, read_link};
use std::io;
use std::os::fd::{AsFd, AsRawFd};

use nix::fcntl::{FcntlArg, OFlag, fcntl};

/// Refuses what is no eventfd.
pub(crate) fn check_event(descriptor: &impl AsFd) -> io::Result<()> {
    let name = read_link(format!("/proc/self/fd/{}", descriptor.as_fd().as_raw_fd()))?;
    if name.as_os_str() == "anon_inode:[eventfd]" {
        return Ok(());
    }
    Err(io::Error::other(format!("{} is no eventfd", name.display())))
}

/// Refuses what is neither an eventfd nor an ordinary file.
pub(crate) fn check_any(descriptor: &File) -> io::Result<()> {
    check_event(descriptor).or_else(|why| match descriptor.metadata() {
        Ok(found) if found.is_file() => Ok(()),
        _ => Err(io::Error::other(format!("{why} and no ordinary file"))),
    })
}

/// Has a write to a full eventfd fail instead of wait, as long as nobody says otherwise.
pub(crate) fn set_nonblocking(descriptor: &impl AsFd) -> io::Result<()> {
    let flags = OFlag::from_bits_retain(fcntl(descriptor, FcntlArg::F_GETFL)?);
    fcntl(descriptor, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    Ok(())
}
