//! The process and its threads.

use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

use libc::c_int;

use super::memory::Mapping;

/// Bytes of a page, of which four are used.
const PAGE: usize = 4096;

/// Where the process' number is kept: a page that the kernel wipes in the child of a `fork`, however it is made. Null
/// before the first call, and where there is no such page.
static KEPT: AtomicPtr<AtomicI32> = AtomicPtr::new(ptr::null_mut());

/// The process. Asking the system each time would take as long as all the rest of a short call.
pub(crate) fn id() -> c_int {
    let kept = KEPT.load(Ordering::Acquire);
    if kept.is_null() {
        keep();
        return ask();
    }
    // SAFETY: it is the start of a page that is never unmapped, aligned and zeroed.
    let kept = unsafe { &*kept };
    match kept.load(Ordering::Relaxed) {
        0 => {
            let id = ask();
            kept.store(id, Ordering::Relaxed);
            id
        }
        id => id,
    }
}

fn ask() -> c_int {
    // SAFETY: nothing goes in, a number comes out.
    let id = unsafe { libc::syscall(libc::SYS_getpid) };
    // It is an `int`.
    id as c_int
}

/// Makes the page, unless another thread is faster.
#[cold]
fn keep() {
    let Ok(page) = Mapping::anonymous(PAGE) else { return };
    if page.wipe_on_fork().is_err() {
        return;
    }
    let at = page.start().cast();
    if KEPT.compare_exchange(ptr::null_mut(), at, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
        std::mem::forget(page);
    }
}

pub(crate) fn thread() -> c_int {
    // SAFETY: nothing goes in, a number comes out.
    let id = unsafe { libc::syscall(libc::SYS_gettid) };
    // It is an `int`.
    id as c_int
}

/// The calling thread, by a number that takes no call of the system and is the same in the child of a `fork`. Never zero.
pub(crate) fn this_thread() -> usize {
    // SAFETY: nothing goes in, a number comes out.
    let thread = unsafe { libc::pthread_self() };
    // It is the address of what the C library knows of the thread.
    thread as usize
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
    unsafe { libc::syscall(libc::SYS_nanosleep, &raw const time, ptr::null_mut::<libc::timespec>()) };
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
        let none = ptr::null_mut::<u64>();
        // SAFETY: the set is borrowed for the call and as long as it is told.
        unsafe {
            libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const self.0, none, SET_BYTES)
        };
    }
}
