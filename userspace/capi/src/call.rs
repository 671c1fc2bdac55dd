//! The common part of the functions of both libraries: a path and a number come in, an answer and `errno` go out.

use std::ffi::{CStr, OsStr, c_char, c_int};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::Network;

/// Loads a program by what C says: `None` and `errno` if that fails. `shift` is as for [`anec::read`](crate::anec::read).
///
/// # Safety
///
/// `path` is null or ends with a zero.
pub unsafe fn open(path: *const c_char, device: c_int, shift: Option<u32>) -> Option<Box<Network>> {
    let opened = match usize::try_from(device) {
        _ if path.is_null() => Err(io::Error::from_raw_os_error(libc::EFAULT)),
        Err(_) => Err(io::Error::from_raw_os_error(libc::ENODEV)),
        Ok(device) => {
            // SAFETY: the caller's path ends with a zero.
            let path = unsafe { CStr::from_ptr(path) };
            Network::open(Path::new(OsStr::from_bytes(path.to_bytes())), device, shift)
        }
    };
    opened.inspect_err(fail).ok()
}

/// 0, or -1 and `errno`.
pub fn answer(result: io::Result<()>) -> c_int {
    result.inspect_err(fail).map_or(-1, |()| 0)
}

/// The answer to a call without a program.
pub fn invalid() -> io::Error {
    io::Error::from_raw_os_error(libc::EINVAL)
}

/// Sets `errno`. An error in a file, which has no number, is `EINVAL`.
fn fail(why: &io::Error) {
    // SAFETY: the C library gives a valid pointer to the calling thread's own variable.
    let at = unsafe { libc::__errno_location() };
    // SAFETY: as above; nobody else reads or writes it.
    unsafe { *at = why.raw_os_error().unwrap_or(libc::EINVAL) };
}
