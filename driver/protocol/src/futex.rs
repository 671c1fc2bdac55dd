//! Sleeping on a word of memory, which processes may share.
#![expect(unsafe_code, reason = "the system call has no safe wrapper")]

use std::ptr;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use nix::errno::Errno;
use nix::libc::{self, FUTEX_WAIT, FUTEX_WAKE, SYS_futex, timespec};

/// Sleeps while the word is `value`, at most that long: `ETIMEDOUT`. `EINTR` for a signal, `EAGAIN` for another value.
pub(crate) fn wait(word: &AtomicU32, value: u32, limit: Duration) -> Result<(), Errno> {
    let limit = timespec {
        tv_sec: limit.as_secs().try_into().unwrap_or(libc::time_t::MAX),
        tv_nsec: limit.subsec_nanos().into(),
    };
    // SAFETY: the word and the time are borrowed for the length of the call, which only reads them.
    let result = unsafe {
        libc::syscall(
            SYS_futex,
            word.as_ptr(),
            FUTEX_WAIT,
            value,
            ptr::from_ref(&limit),
            ptr::null::<u32>(),
            0,
        )
    };
    Errno::result(result).map(drop)
}

/// Wakes all that sleep on the word.
pub(crate) fn wake(word: &AtomicU32) {
    // SAFETY: the call takes the word's address and does not touch the memory there. It cannot fail for a word that
    // is aligned and mapped.
    unsafe {
        libc::syscall(
            SYS_futex,
            word.as_ptr(),
            FUTEX_WAKE,
            i32::MAX,
            ptr::null::<timespec>(),
            ptr::null::<u32>(),
            0_u64,
        )
    };
}
