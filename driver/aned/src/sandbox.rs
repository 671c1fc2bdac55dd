//! The system calls that are left to `aned` and `ane daemon` once they listen; how the others are shut off is [`ane_sandbox`].

use std::path::Path;

pub use ane_sandbox::NOT_CONFINED;
use ane_sandbox::{Calls, Confined};
use nix::libc;

/// Where the device is that a daemon serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// In this process: it computes on threads of its own.
    Here,
    /// Behind the socket of another process, to which it connects anew when that one was started anew.
    Socket,
}

/// More calls than every daemon has.
const CALLS: &[libc::c_long] = &[
    // Memory objects and pipes for clients.
    libc::SYS_fallocate,
    libc::SYS_fstat,
    libc::SYS_ftruncate,
    libc::SYS_memfd_create,
    libc::SYS_pipe2,
    // Waiting.
    libc::SYS_epoll_pwait,
    // Threads.
    libc::SYS_set_robust_list,
];

/// Further calls of a daemon whose device is in another process: it connects to the device again.
const CALLS_SOCKET: &[libc::c_long] = &[libc::SYS_connect, libc::SYS_epoll_create1, libc::SYS_eventfd2];

/// Shuts everything off that serving does not need; `socket` is removed at the end.
///
/// Walls that the kernel does not have are listed in the result, and done without.
pub fn enter(device: Device, socket: Option<&Path>) -> Confined {
    let socket: Vec<_> = socket.into_iter().map(Path::to_owned).collect();
    ane_sandbox::enter(&calls(device), &socket)
}

fn calls(device: Device) -> Calls {
    let more = match device {
        Device::Here => &[][..],
        Device::Socket => CALLS_SOCKET,
    };
    Calls {
        allowed: CALLS.iter().chain(more).copied().collect(),
        makes_sockets: device == Device::Socket,
        // Its device may listen at one.
        uses_abstract_sockets: true,
        ..Calls::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn daemon_is_left_forty_calls_at_the_most() {
        assert_eq!([Device::Here, Device::Socket].map(|device| calls(device).count()), [Ok(36), Ok(40)]);
    }
}
