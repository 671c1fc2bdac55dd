//! Where a daemon listens: the lock that makes it the only one there, and a socket that its parent passed.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, socket};

/// The file that is locked while a daemon listens at `path`.
pub fn lock_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

/// Makes this process the only one that listens at `path`, as long as the file that it gets is open; `None` if another one is.
///
/// An attempt to connect does not show that: two processes that start at the same time would both find the socket stale, and
/// the second would remove the socket of the first. The kernel releases a lock when its holder dies, however that happens.
/// The file is never removed: a process that waits for it would lock a file that no other process finds.
///
/// # Errors
///
/// If the file of [`lock_path`] cannot be made or locked.
pub fn lock(path: &Path) -> io::Result<Option<File>> {
    // No file of another user behind a link, and nothing that blocks.
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600).custom_flags(flags.bits());
    let file = options.open(lock_path(path))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(why)) => Err(why),
    }
}

/// Gives the socket at `path` to a group, if one is named, and sets its permissions.
///
/// # Errors
///
/// If no socket lies there. What a link of that name leads to keeps its group and its permissions.
pub fn admit(path: &Path, mode: u32, group: Option<u32>) -> io::Result<()> {
    let flags = OFlag::O_PATH | OFlag::O_NOFOLLOW;
    let socket = OpenOptions::new().read(true).custom_flags(flags.bits()).open(path)?;
    if !socket.metadata()?.file_type().is_socket() {
        return Err(io::Error::other("it is no socket any more"));
    }
    let place = format!("/proc/self/fd/{}", socket.as_raw_fd());
    if group.is_some() {
        chown(&place, None, group)?;
    }
    fs::set_permissions(&place, Permissions::from_mode(mode))
}

/// Whether a process has a socket at `path`, of whatever type. A file that a process left behind is none.
///
/// The attempt to connect has a type of its own, so a server whose sockets have connections never sees it. The system tells
/// apart a socket of another type and one that nobody has.
///
/// # Errors
///
/// If no socket can be made.
pub fn is_served(path: &Path) -> io::Result<bool> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let asking = socket(AddressFamily::Unix, SockType::Datagram, flags, None)?;
    let outcome = connect(asking.as_raw_fd(), &UnixAddr::new(path)?);
    // Another error, such as a lack of permission, does not say that nobody is there.
    Ok(!matches!(outcome, Err(Errno::ECONNREFUSED | Errno::ENOENT)))
}

/// The descriptor `fd` that the parent passed; `None` if it is not open, or a standard stream.
///
/// To be called before this process opens anything: a later descriptor could have the number.
#[expect(unsafe_code, reason = "a number becomes a descriptor")]
pub fn passed(fd: RawFd) -> Option<OwnedFd> {
    let is_open = fd > 2 && fs::symlink_metadata(format!("/proc/self/fd/{fd}")).is_ok();
    // SAFETY: it is open, as /proc shows, and not a standard stream. The parent passed it for this purpose, and the caller
    // says that nothing was opened here before that could have its number.
    is_open.then(|| unsafe { OwnedFd::from_raw_fd(fd) })
}
