//! A TCP connection that takes long to close: it lingers (`SO_LINGER`), and its other end takes nothing.
//!
//! Whoever closes the last of its descriptors is held up, and a test that passes one on and closes its own may be that one.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::thread;

use nix::libc;
use nix::sys::socket::{setsockopt, sockopt};

/// How long its close takes, in seconds: longer than a test waits for anything ([`crate::daemon::LIMIT`]).
const LINGERS: i32 = 60;

pub struct Lingering {
    /// None once it is closed.
    ours: Option<TcpStream>,
    /// As long as it is open, the close waits for it.
    _theirs: TcpStream,
}

impl Lingering {
    /// One that takes little of the system's memory.
    ///
    /// # Panics
    ///
    /// If the machine has no room for it.
    pub fn connect() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port can be had");
        setsockopt(&listener, sockopt::RcvBuf, &1).expect("an option can be set");
        let ours = TcpStream::connect(listener.local_addr().expect("it has one")).expect("it listens");
        let (theirs, _) = listener.accept().expect("it was connected to");
        let linger = libc::linger { l_onoff: 1, l_linger: LINGERS };
        setsockopt(&ours, sockopt::Linger, &linger).expect("an option can be set");
        setsockopt(&ours, sockopt::SndBuf, &(1 << 15)).expect("an option can be set");
        ours.set_nonblocking(true).expect("a flag can be set");
        while (&ours).write(&[0; 1 << 12]).is_ok() {}
        Self { ours: Some(ours), _theirs: theirs }
    }

    /// Closes the own descriptor, of which somebody else has another one.
    pub fn close(&mut self) {
        self.ours = None;
    }

    /// Closes the own descriptor, which may be the last, on a thread of its own.
    pub fn let_go(&mut self) {
        if let Some(ours) = self.ours.take() {
            thread::spawn(move || drop(ours));
        }
    }
}

impl AsFd for Lingering {
    /// # Panics
    ///
    /// If it was closed.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ours.as_ref().expect("it is held").as_fd()
    }
}

impl AsRawFd for Lingering {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}

impl Drop for Lingering {
    fn drop(&mut self) {
        self.let_go();
    }
}
