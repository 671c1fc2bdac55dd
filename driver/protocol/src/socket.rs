//! Packets, and the descriptors that ride on them.
//!
//! A descriptor that arrives is owned from its first moment, also if the message that it came with turns out to be
//! none: a stranger must not be able to leave descriptors lying in this process.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use nix::sys::socket::{setsockopt, sockopt::SetBool};
use nix::{libc, setsockopt_impl};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, Shutdown, SocketAddrUnix, SocketFlags, SocketType, connect, recvmsg,
    sendmsg, shutdown, socket_with, socketpair, sockopt,
};

use crate::{DESCRIPTORS_MAX, MESSAGE_MAX};

/// Room for the descriptors of one message.
const CONTROL: usize = rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX));

/// The size that a socket's buffers ought to have: a largest message on its way, and another behind it.
const BUFFER: usize = 2 * MESSAGE_MAX;

/// Whether descriptors may come with messages: `SO_PASSRIGHTS`, for which the libraries have no name yet.
#[derive(Clone, Debug)]
struct PassRights;

/// The number of this option on x86-64 and aarch64.
const SO_PASSRIGHTS: libc::c_int = 83;

setsockopt_impl!(PassRights, libc::SOL_SOCKET, SO_PASSRIGHTS, bool, SetBool);

#[derive(Debug)]
pub enum Arrival {
    /// A message; it lies in the buffer.
    Message {
        bytes: usize,
        descriptors: Vec<OwnedFd>,
        /// More descriptors came. As a rule this process has as many as it may, and the system closed the rest.
        is_short: bool,
    },
    /// A message that is larger than any.
    Cut,
    /// The other end is closed.
    End,
}

pub fn dial(path: &Path) -> Result<OwnedFd, Errno> {
    let socket = seqpacket(SocketFlags::CLOEXEC)?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    enlarge(&socket);
    Ok(socket)
}

pub fn seqpacket(flags: SocketFlags) -> Result<OwnedFd, Errno> {
    socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
}

/// Two ends of a connection.
pub fn pair() -> Result<(OwnedFd, OwnedFd), Errno> {
    let (one, other) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    enlarge(&one);
    enlarge(&other);
    Ok((one, other))
}

/// Asks for room for the largest messages. A system that gives less has room for one as a rule, and one is enough.
pub fn enlarge(socket: impl AsFd) {
    let _ = sockopt::set_socket_send_buffer_size(&socket, BUFFER);
}

/// Says whether descriptors may come with what the other end sends, which has `EPERM` otherwise; of a socket that listens,
/// whether they may with what is sent to its connections until those say otherwise. False if the system lets them all
/// pass, as before Linux 6.16.
pub fn let_descriptors_pass(socket: impl AsFd, may_pass: bool) -> bool {
    setsockopt(&socket.as_fd(), PassRights, &may_pass).is_ok()
}

/// Sends a message. One end or the other may be gone, and with `DONTWAIT` there may be no room.
///
/// # Errors
///
/// The error of the system. `AGAIN`: there is no room.
pub fn send(
    socket: impl AsFd,
    message: &[u8],
    descriptors: &[BorrowedFd<'_>],
    flags: SendFlags,
) -> Result<(), Errno> {
    let mut space = [MaybeUninit::uninit(); CONTROL];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(Errno::INVAL);
    }
    sendmsg(socket, &[IoSlice::new(message)], &mut control, flags | SendFlags::NOSIGNAL).map(|_| ())
}

/// The kind of the next message of a socket, which is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peek {
    /// There is none.
    Nothing,
    /// There will be none: the other end is closed, or sent a packet without a byte, which is as good.
    End,
    /// A message alone.
    Plain,
    WithDescriptors,
}

/// Looks at the next message, and closes no descriptor that may have come with it.
pub fn peek(socket: impl AsFd) -> Result<Peek, Errno> {
    let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
    // Without room for any, the kernel says that there are descriptors; they stay with the message.
    let mut control = RecvAncillaryBuffer::default();
    match recvmsg(socket, &mut [], &mut control, flags) {
        Ok(received) if received.flags.contains(ReturnFlags::CTRUNC) => Ok(Peek::WithDescriptors),
        Ok(received) if received.flags.contains(ReturnFlags::TRUNC) => Ok(Peek::Plain),
        Ok(_) | Err(Errno::CONNRESET) => Ok(Peek::End),
        Err(Errno::AGAIN | Errno::INTR) => Ok(Peek::Nothing),
        Err(why) => Err(why),
    }
}

/// Lets nothing more come to a socket. True if something lies in it, which its closing will close.
pub fn seal(socket: impl AsFd) -> bool {
    let is_shut = shutdown(&socket, Shutdown::Read).is_ok();
    // Each packet has its sender's credentials now, so that also one without a byte is told from the end.
    let is_told = sockopt::set_socket_passcred(&socket, true).is_ok();
    !(is_shut && is_told && matches!(peek(socket), Ok(Peek::Nothing | Peek::End)))
}

/// Receives a message into `buffer`, which has room for the largest.
///
/// # Errors
///
/// The error of the system. `AGAIN`, with `DONTWAIT`: there is none.
pub fn receive(socket: impl AsFd, buffer: &mut [u8], flags: RecvFlags) -> Result<Arrival, Errno> {
    let mut space = [MaybeUninit::uninit(); CONTROL];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received =
        recvmsg(socket, &mut [IoSliceMut::new(buffer)], &mut control, flags | RecvFlags::CMSG_CLOEXEC)?;
    let descriptors: Vec<OwnedFd> = control
        .drain()
        .filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
            _ => None,
        })
        .flatten()
        .collect();
    if received.flags.contains(ReturnFlags::TRUNC) {
        return Ok(Arrival::Cut);
    }
    // No message is empty, so this is the end; a client that sends an empty packet ends itself.
    if received.bytes == 0 {
        return Ok(Arrival::End);
    }
    let is_short = received.flags.contains(ReturnFlags::CTRUNC);
    Ok(Arrival::Message { bytes: received.bytes, descriptors, is_short })
}

/// Waits until there is something to receive; true if there is.
pub fn wait(socket: impl AsFd, limit: Option<Duration>) -> Result<bool, Errno> {
    let fd = socket.as_fd();
    let limit =
        limit.map(|limit| Timespec::try_from(limit).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 }));
    poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], limit.as_ref()).map(|ready| ready > 0)
}
