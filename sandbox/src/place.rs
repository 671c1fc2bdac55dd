//! Where a daemon listens: the lock that makes it the only one there, and a socket that its parent passed.
//!
//! Beside the socket lies a lock, which the kernel releases when its holder dies, however that happens. The daemon that
//! holds the lock knows that no other daemon made a socket there. A socket that was passed to its server, or that another program
//! has, comes without a lock, so a daemon asks the system before it removes one.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, socket};
use thiserror::Error;

/// Why a daemon cannot listen at a place.
#[derive(Debug, Error)]
pub enum Refused {
    #[error("another process listens at {}; end it, or choose another path", path.display())]
    Taken { path: PathBuf },
    #[error("{} exists and is no socket; choose another path", path.display())]
    NoSocket { path: PathBuf },
    #[error("{action} {}: {why}", path.display())]
    System { action: &'static str, path: PathBuf, why: io::Error },
}

impl Refused {
    /// The error of the system when it was asked for this.
    pub fn by_system(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |why| Self::System { action, path, why }
    }
}

/// Makes this process the only one that listens at `path`, as long as the file that it gets is open. A socket that was left there
/// is removed, so that another can be made.
///
/// # Errors
///
/// If another process has it, if it is something else, or if the system refuses a step.
pub fn claim(path: &Path) -> Result<File, Refused> {
    let taken = || Refused::Taken { path: path.to_owned() };
    // Beside a file of somebody else no lock is made.
    if fs::symlink_metadata(path).is_ok_and(|found| !found.file_type().is_socket()) {
        return Err(Refused::NoSocket { path: path.to_owned() });
    }
    let lock = lock(path).map_err(Refused::by_system("locking", &lock_path(path)))?.ok_or_else(taken)?;
    match fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_socket() => Err(Refused::NoSocket { path: path.to_owned() }),
        Ok(_) if is_served(path).map_err(Refused::by_system("looking at", path))? => Err(taken()),
        Ok(_) => {
            fs::remove_file(path).map_err(Refused::by_system("removing the stale", path))?;
            Ok(lock)
        }
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(lock),
        Err(why) => Err(Refused::by_system("looking at", path)(why)),
    }
}

/// The file that is locked while a daemon listens at `path`.
fn lock_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

/// Locks a place, as long as the file that it gets is open; `None` if another process has locked it.
///
/// An attempt to connect does not show that: two processes that start at the same time would both find the socket stale, and
/// the second would remove the socket of the first. The kernel releases a lock when its holder dies, however that happens.
/// The file is never removed: a process that waits for it would lock a file that no other process finds.
fn lock(path: &Path) -> io::Result<Option<File>> {
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
pub(crate) fn is_served(path: &Path) -> io::Result<bool> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let asking = socket(AddressFamily::Unix, SockType::Datagram, flags, None)?;
    let outcome = connect(asking.as_raw_fd(), &UnixAddr::new(path)?);
    // Another error, such as a lack of permission, does not say that nobody is there.
    Ok(!matches!(outcome, Err(Errno::ECONNREFUSED | Errno::ENOENT)))
}

/// The descriptor `fd` that the parent passed; `None` if it is not open, or a standard stream.
///
/// # Safety
///
/// This process has opened nothing before that it still uses, since that could have the number, and asks for each number once.
#[expect(unsafe_code, reason = "a number becomes a descriptor")]
pub unsafe fn passed(fd: RawFd) -> Option<OwnedFd> {
    let is_open = fd > 2 && fs::symlink_metadata(format!("/proc/self/fd/{fd}")).is_ok();
    // SAFETY: it is open, as /proc shows, and not a standard stream; nothing else here has it, as the caller says.
    is_open.then(|| unsafe { OwnedFd::from_raw_fd(fd) })
}
