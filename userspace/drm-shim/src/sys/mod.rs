//! The system, without the C library's word in it where that word is this library's own.
//!
//! The functions here may run inside a signal handler, in a child after `fork`, or before `main`: nothing
//! allocates, nothing takes a lock, and [`errno`](set_errno) changes only where it is set on purpose.

pub(crate) mod file;
pub(crate) mod memory;
pub(crate) mod process;
pub(crate) mod socket;

use libc::c_int;

/// The number of an error, as `errno` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failure(pub(crate) c_int);

pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// The connection to the daemon broke; no call through it is answered. To the program the device is gone.
    pub(crate) const BROKEN: Self = Self(-libc::ENODEV);

    /// The value for `errno`.
    pub(crate) const fn number(self) -> c_int {
        self.0.abs()
    }
}

/// The result of most calls: a number that is not negative, or the error.
fn checked(result: libc::c_long) -> Result<libc::c_long> {
    if result < 0 { Err(Failure(errno())) } else { Ok(result) }
}

pub(crate) fn errno() -> c_int {
    // SAFETY: the C library gives a valid pointer to the calling thread's own variable.
    let at = unsafe { libc::__errno_location() };
    // SAFETY: as above; nobody else reads or writes it.
    unsafe { *at }
}

pub(crate) fn set_errno(value: c_int) {
    // SAFETY: the C library gives a valid pointer to the calling thread's own variable.
    let at = unsafe { libc::__errno_location() };
    // SAFETY: as above; nobody else reads or writes it.
    unsafe { *at = value }
}

/// Does something that must leave `errno` as it is.
pub(crate) fn keeping_errno<R>(work: impl FnOnce() -> R) -> R {
    let before = errno();
    let result = work();
    set_errno(before);
    result
}
