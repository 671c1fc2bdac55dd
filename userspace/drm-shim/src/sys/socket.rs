//! The socket to the daemon, and the descriptors that pass through it.

use std::mem::{MaybeUninit, offset_of};
use std::ptr;
use std::time::{Duration, Instant};

use libc::{c_int, c_long};

use super::file::{self, Identity};
use super::{Failure, Result, checked};

/// Descriptors of this library begin here, out of the way of programs that close everything they count to.
const LEAST: c_int = 900;

/// A connection. It is closed when dropped, if it still is one.
#[derive(Debug)]
pub(crate) struct Socket {
    fd: c_int,
    identity: Identity,
    /// How long a daemon may take nothing; zero is without an end.
    patience: Duration,
}

/// The room for one descriptor beside a message, aligned as its header wants it.
#[repr(C)]
struct Control {
    header: libc::cmsghdr,
    fd: c_int,
    padding: c_int,
}

/// Bytes of [`Control`] with one descriptor, as the header counts them.
const CONTROL_LENGTH: usize = offset_of!(Control, padding);

impl Socket {
    /// Connects to the socket at `path`, which has no zero at its end. Connecting and sending wait for a daemon that takes
    /// nothing for `patience` at most; zero is without an end.
    pub(crate) fn connect(path: &[u8], patience: Duration) -> Result<Self> {
        let mut address =
            libc::sockaddr_un { sun_family: libc::AF_UNIX as libc::sa_family_t, sun_path: [0; 108] };
        if path.len() >= address.sun_path.len() {
            return Err(Failure(libc::ENAMETOOLONG));
        }
        for (place, &byte) in address.sun_path.iter_mut().zip(path) {
            *place = libc::c_char::from_ne_bytes([byte]);
        }
        // SAFETY: plain numbers go in, a descriptor comes out.
        let fd = unsafe {
            libc::syscall(libc::SYS_socket, libc::AF_UNIX, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC, 0)
        };
        // A descriptor is an `int`.
        let fd = file::move_up(checked(fd)? as c_int, LEAST);
        // A descriptor that was just made has an identity.
        let socket = Self { fd, identity: file::identity(fd).ok_or(Failure(libc::EBADF))?, patience };
        let limit = time_value(patience);
        // SAFETY: the structure is borrowed for the call and as long as it is told.
        let result = unsafe {
            libc::syscall(
                libc::SYS_setsockopt,
                fd,
                libc::SOL_SOCKET,
                libc::SO_SNDTIMEO,
                &raw const limit,
                size_of::<libc::timeval>(),
            )
        };
        checked(result)?;
        // SAFETY: the address is borrowed for the call and as long as it is told.
        let result = unsafe {
            libc::syscall(libc::SYS_connect, fd, &raw const address, size_of::<libc::sockaddr_un>())
        };
        checked(result)?;
        Ok(socket)
    }

    /// False if the program closed the descriptor, or something else has its number now.
    pub(crate) fn is_there(&self) -> bool {
        file::identity(self.fd) == Some(self.identity)
    }

    /// Sends one packet, with a descriptor if there is one. A packet that cannot be sent breaks the
    /// connection.
    pub(crate) fn send(&self, packet: &[u8], descriptor: Option<c_int>) -> Result<()> {
        if !self.is_there() {
            return Err(Failure::BROKEN);
        }
        let header = libc::cmsghdr {
            cmsg_len: CONTROL_LENGTH,
            cmsg_level: libc::SOL_SOCKET,
            cmsg_type: libc::SCM_RIGHTS,
        };
        let mut control = Control { header, fd: descriptor.unwrap_or(-1), padding: 0 };
        let mut part = libc::iovec { iov_base: packet.as_ptr().cast_mut().cast(), iov_len: packet.len() };
        let mut message = message(&mut part, &mut control);
        if descriptor.is_none() {
            message.msg_control = ptr::null_mut();
            message.msg_controllen = 0;
        }
        let start = Instant::now();
        loop {
            // SAFETY: everything that the message points at is borrowed for the call, which only reads it.
            let result =
                unsafe { libc::syscall(libc::SYS_sendmsg, self.fd, &raw const message, libc::MSG_NOSIGNAL) };
            match checked(result) {
                // The socket's own limit begins anew with each attempt.
                Err(Failure(libc::EINTR)) if self.patience.is_zero() || start.elapsed() < self.patience => {}
                result => return result.map(drop).map_err(|_| Failure::BROKEN),
            }
        }
    }

    /// Waits until there is something to take, or `limit` is over.
    ///
    /// `EINTR` if a signal comes first.
    pub(crate) fn wait(&self, limit: Option<Duration>) -> Result<()> {
        let mut watched = libc::pollfd { fd: self.fd, events: libc::POLLIN, revents: 0 };
        // The system writes into it what is left.
        let mut limit = limit.map(|limit| libc::timespec {
            tv_sec: libc::time_t::try_from(limit.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: limit.subsec_nanos().into(),
        });
        let limit = limit.as_mut().map_or(ptr::null_mut(), ptr::from_mut);
        let no_signals: *const libc::sigset_t = ptr::null();
        // SAFETY: the descriptor's structure and the time are borrowed for the call, and the signals stay as they are.
        let result = unsafe { libc::syscall(libc::SYS_ppoll, &raw mut watched, 1, limit, no_signals, 0) };
        checked(result).map(drop)
    }

    /// Takes one packet that is there: its bytes, and the descriptor that came along.
    ///
    /// `EAGAIN` if there is none; no bytes if the daemon is gone.
    pub(crate) fn receive(&self, into: &mut [u8]) -> Result<(usize, Option<c_int>)> {
        let mut control = MaybeUninit::<Control>::zeroed();
        let mut part = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
        let mut message = message(&mut part, control.as_mut_ptr());
        let flags = libc::MSG_CMSG_CLOEXEC | libc::MSG_DONTWAIT;
        // SAFETY: everything that the message points at is borrowed for the call and as long as it is told.
        let result: c_long = unsafe { libc::syscall(libc::SYS_recvmsg, self.fd, &raw mut message, flags) };
        let bytes = checked(result)?;
        // SAFETY: it is plain numbers, all of them initialised, with zeros or by the system.
        let control = unsafe { control.assume_init() };
        let is_descriptor = message.msg_controllen >= CONTROL_LENGTH
            && control.header.cmsg_level == libc::SOL_SOCKET
            && control.header.cmsg_type == libc::SCM_RIGHTS;
        // It is not negative.
        Ok((bytes as usize, is_descriptor.then_some(control.fd)))
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.is_there() {
            file::close(self.fd);
        }
    }
}

/// A span as the system knows it.
fn time_value(span: Duration) -> libc::timeval {
    libc::timeval {
        tv_sec: libc::time_t::try_from(span.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_usec: span.subsec_micros().into(),
    }
}

/// A message of one part with room for one descriptor.
fn message(part: *mut libc::iovec, control: *mut Control) -> libc::msghdr {
    // SAFETY: it is pointers and numbers, for which zeros are valid.
    let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    message.msg_iov = part;
    message.msg_iovlen = 1;
    message.msg_control = control.cast();
    message.msg_controllen = size_of::<Control>();
    message
}
