//! The process and its threads.

use libc::c_int;

/// The process.
pub(crate) fn id() -> c_int {
    // SAFETY: nothing goes in, a number comes out.
    let id = unsafe { libc::syscall(libc::SYS_getpid) };
    // It is an `int`.
    id as c_int
}

/// The thread.
pub(crate) fn thread() -> c_int {
    // SAFETY: nothing goes in, a number comes out.
    let id = unsafe { libc::syscall(libc::SYS_gettid) };
    // It is an `int`.
    id as c_int
}

/// Milliseconds of a clock that never goes back, to within some of them.
pub(crate) fn coarse_milliseconds() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the system writes one structure, which is borrowed for the call.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &raw mut time) };
    // Both are not negative.
    (time.tv_sec as u64).wrapping_mul(1000).wrapping_add(time.tv_nsec as u64 / 1_000_000)
}

/// Lets others run for about that long.
pub(crate) fn pause(microseconds: i64) {
    let time = libc::timespec { tv_sec: 0, tv_nsec: microseconds.saturating_mul(1000) };
    // SAFETY: the time is borrowed for the call; nobody wants what is left of it.
    unsafe { libc::syscall(libc::SYS_nanosleep, &raw const time, std::ptr::null_mut::<libc::timespec>()) };
}

/// All signals held back until it is dropped.
#[derive(Debug)]
pub(crate) struct Quiet(u64);

/// Bytes of the kernel's set of signals.
const SET_BYTES: usize = 8;

impl Quiet {
    /// Holds them back.
    pub(crate) fn new() -> Self {
        let (all, mut before) = (u64::MAX, 0_u64);
        // SAFETY: both sets are borrowed for the call and as long as it is told.
        unsafe {
            libc::syscall(
                libc::SYS_rt_sigprocmask,
                libc::SIG_SETMASK,
                &raw const all,
                &raw mut before,
                SET_BYTES,
            )
        };
        Self(before)
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        let none = std::ptr::null_mut::<u64>();
        // SAFETY: the set is borrowed for the call and as long as it is told.
        unsafe {
            libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const self.0, none, SET_BYTES)
        };
    }
}
