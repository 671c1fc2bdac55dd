//! The system calls that are left to the device once it listens; how the others are shut off is [`ane_sandbox`].
//!
//! This comes before the first thread, and after everything that needs a path or a further system call: sockets to listen on, files
//! to write to, handlers of signals. Memory, queues and kicks come as descriptors.

use std::path::PathBuf;

use ane_sandbox::{Calls, Confined};
use nix::libc;

/// More calls than every daemon has.
const CALLS: &[libc::c_long] = &[
    // A file's length.
    libc::SYS_statx,
    // Sockets that there are.
    libc::SYS_recvfrom,
    libc::SYS_sendto,
    // Waiting.
    libc::SYS_clock_nanosleep,
    libc::SYS_epoll_create1,
    libc::SYS_eventfd2,
    libc::SYS_timerfd_settime,
    // A thread that is stuck in a write is interrupted, and memory that is taken away replaced.
    libc::SYS_rt_sigreturn,
    libc::SYS_tgkill,
];

/// Calls that have other names on architectures without the older ones: waiting, and what a descriptor is, by its name.
#[cfg(target_arch = "x86_64")]
const NAMED: &[libc::c_long] = &[libc::SYS_epoll_wait, libc::SYS_readlink];
#[cfg(not(target_arch = "x86_64"))]
const NAMED: &[libc::c_long] = &[libc::SYS_epoll_pwait, libc::SYS_readlinkat];

/// A thread's locks that outlive it: none of this program's do, and the C library does without.
const REFUSED: [(libc::c_long, libc::c_int); 1] = [(libc::SYS_set_robust_list, libc::ENOSYS)];

/// Shuts everything off that serving does not need; `sockets` are those to be removed at the end.
pub(crate) fn enter(sockets: &[PathBuf]) -> Confined {
    ane_sandbox::enter(&calls(), sockets)
}

fn calls() -> Calls {
    let allowed = CALLS.iter().chain(NAMED).copied().collect();
    Calls { allowed, refused: REFUSED.to_vec(), ..Calls::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_is_left_forty_calls_at_the_most() {
        assert_eq!(calls().count(), Ok(40));
    }
}
