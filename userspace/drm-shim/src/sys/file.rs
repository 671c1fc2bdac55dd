//! Descriptors and what they stand for.

use std::ffi::CStr;
use std::io::Write;
use std::mem::MaybeUninit;

use libc::{c_int, mode_t};

use super::{Failure, Result, checked};

/// The identity of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

impl Identity {
    /// That of what `stat` says.
    pub(crate) const fn of(stat: &libc::stat) -> Self {
        Self { device: stat.st_dev, inode: stat.st_ino }
    }
}

/// The system's status of a descriptor. Not `fstat`, which is this library's.
pub(crate) fn status(fd: c_int) -> Result<libc::stat> {
    let mut stat = MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: the system writes one structure, for which there is room; its layout is the C library's on the 64-bit
    // machines that this library is built for.
    let result = unsafe { libc::syscall(libc::SYS_fstat, fd, stat.as_mut_ptr()) };
    checked(result)?;
    // SAFETY: all bytes of it are initialised, with zeros or by the system; it has no invalid values.
    Ok(unsafe { stat.assume_init() })
}

/// The file behind a descriptor, if it is a regular one: memory objects are.
pub(crate) fn regular(fd: c_int) -> Option<Identity> {
    let stat = status(fd).ok()?;
    (stat.st_mode & libc::S_IFMT == libc::S_IFREG).then(|| Identity::of(&stat))
}

/// The file behind a descriptor, whatever it is.
pub(crate) fn identity(fd: c_int) -> Option<Identity> {
    status(fd).ok().map(|stat| Identity::of(&stat))
}

/// Opens a path. Not `openat`, which is this library's.
pub(crate) fn open(directory: c_int, path: &CStr, flags: c_int, mode: mode_t) -> Result<c_int> {
    // SAFETY: the path is borrowed for the call, which only reads it, up to its zero.
    let result = unsafe { libc::syscall(libc::SYS_openat, directory, path.as_ptr(), flags, mode) };
    // A descriptor is an `int`.
    checked(result).map(|fd| fd as c_int)
}

/// Closes a descriptor that is this library's own.
pub(crate) fn close(fd: c_int) {
    // SAFETY: plain numbers go in. The caller owns the descriptor.
    unsafe { libc::syscall(libc::SYS_close, fd) };
}

/// Closes a descriptor that came along unasked, if one did.
pub(crate) fn close_any(fd: Option<c_int>) {
    if let Some(fd) = fd {
        close(fd);
    }
}

/// Moves a descriptor to a number of at least `least`, closed at `exec`; leaves it where there is no such number.
pub(crate) fn move_up(fd: c_int, least: c_int) -> c_int {
    // SAFETY: plain numbers go in, a new descriptor comes out.
    let moved = unsafe { libc::syscall(libc::SYS_fcntl, fd, libc::F_DUPFD_CLOEXEC, least) };
    match checked(moved) {
        Ok(moved) => {
            close(fd);
            // A descriptor is an `int`.
            moved as c_int
        }
        Err(_) => fd,
    }
}

/// Whether a descriptor is closed at `exec`.
pub(crate) fn close_at_exec(fd: c_int, is_closed: bool) {
    let flags = if is_closed { libc::FD_CLOEXEC } else { 0 };
    // SAFETY: plain numbers go in.
    unsafe { libc::syscall(libc::SYS_fcntl, fd, libc::F_SETFD, flags) };
}

/// Opens what a descriptor stands for once more, with flags of its own and a position of its own, under the same number.
pub(crate) fn reopen(fd: c_int, flags: c_int) -> Result<()> {
    let again = with_path(fd, |path| open(libc::AT_FDCWD, path, flags, 0))?;
    // SAFETY: plain numbers go in; both descriptors are the caller's.
    let moved = unsafe { libc::syscall(libc::SYS_dup3, again, fd, flags & libc::O_CLOEXEC) };
    close(again);
    checked(moved).map(drop)
}

/// True if a descriptor stands for a memory object whose name begins so.
pub(crate) fn is_memory_object(fd: c_int, name: &[u8]) -> bool {
    let mut target = [0_u8; 64];
    let bytes = with_path(fd, |path| {
        // SAFETY: the path is borrowed for the call, which reads it up to its zero, and writes no more bytes than there is room for.
        let result = unsafe {
            libc::syscall(
                libc::SYS_readlinkat,
                libc::AT_FDCWD,
                path.as_ptr(),
                target.as_mut_ptr(),
                target.len(),
            )
        };
        checked(result)
    });
    bytes.is_ok() && target.strip_prefix(b"/memfd:").is_some_and(|rest| rest.starts_with(name))
}

/// The path by which the system has a descriptor of the calling thread: that of the process leads nowhere once its main
/// thread has ended.
fn with_path<T>(fd: c_int, work: impl FnOnce(&CStr) -> Result<T>) -> Result<T> {
    let mut path = [0_u8; 40];
    // There is room for it, and numbers are written without allocating.
    write!(&mut path[..], "/proc/thread-self/fd/{fd}\0").map_err(|_| Failure(libc::EBADF))?;
    work(CStr::from_bytes_until_nul(&path).map_err(|_| Failure(libc::EBADF))?)
}

/// Reads into `into`; the bytes that came.
pub(crate) fn read(fd: c_int, into: &mut [u8]) -> Result<usize> {
    // SAFETY: the system writes no more bytes than the slice has.
    let result = unsafe { libc::syscall(libc::SYS_read, fd, into.as_mut_ptr(), into.len()) };
    // It is not negative.
    checked(result).map(|bytes| bytes as usize)
}

/// Reads entries of a directory into `into`; the bytes that came.
pub(crate) fn entries(fd: c_int, into: &mut [u8]) -> Result<usize> {
    // SAFETY: the system writes no more bytes than the slice has.
    let result = unsafe { libc::syscall(libc::SYS_getdents64, fd, into.as_mut_ptr(), into.len()) };
    // It is not negative.
    checked(result).map(|bytes| bytes as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_object_is_told_by_its_name() {
        // SAFETY: the name ends with its zero; a descriptor comes out.
        let fd = unsafe { libc::syscall(libc::SYS_memfd_create, c"ane-arena".as_ptr(), 0) } as c_int;
        assert!(is_memory_object(fd, b"ane-") && !is_memory_object(fd, b"arena"));
        close(fd);
        assert!(!is_memory_object(fd, b"ane-"));
        let fd = open(libc::AT_FDCWD, c"/proc/self/exe", libc::O_RDONLY | libc::O_CLOEXEC, 0).unwrap();
        assert!(!is_memory_object(fd, b""));
        close(fd);
    }

    #[test]
    fn reopened_file_is_the_same_file_with_flags_of_its_own() {
        let at_exec = |fd: c_int| {
            // SAFETY: plain numbers go in and out.
            unsafe { libc::syscall(libc::SYS_fcntl, fd, libc::F_GETFD) }
        };
        let fd = open(libc::AT_FDCWD, c"/proc/self/exe", libc::O_RDONLY, 0).unwrap();
        let before = regular(fd);
        assert_eq!(at_exec(fd), 0);
        reopen(fd, libc::O_RDONLY | libc::O_CLOEXEC).unwrap();
        assert_eq!((regular(fd), at_exec(fd)), (before, libc::FD_CLOEXEC.into()));
        close_at_exec(fd, false);
        assert_eq!(at_exec(fd), 0);
        close(fd);
        assert_eq!(regular(fd), None);
    }
}
