//! Messages of a vhost-user frontend, looked at while they still lie in the socket.
//!
//! The transport reads a message in two parts, the header with the descriptors first, and waits for each as long as it takes. A
//! frontend that sends a header with its own end of the connection and dies would be waited for without end: the transport holds
//! that end, so the connection is never closed. So the transport is called only when the message lies in the socket as a whole,
//! each descriptor with it is of a kind that is of use, and the answer will find room. Everything else ends the connection, and
//! what is wrong is closed unread.
#![expect(unsafe_code, reason = "system calls that look at a message without taking it")]

use std::fs::File;
use std::io;
use std::mem::{offset_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use thiserror::Error;

use super::descriptors::check_any;

/// How long the rest of a message may take, and the room for an answer. Senders write messages at once, and read each answer
/// before they ask for the next (Chosen).
const TIMEOUT: Duration = Duration::from_secs(2);

/// How long to sleep between two looks for the rest of a message.
const NAP: Duration = Duration::from_millis(1);

/// Bytes of a header: what is asked for, flags, and the length of the rest.
const HEADER: usize = 12;

/// Most bytes behind a header.
const BODY_MAX: usize = 0x1000;

/// Most descriptors that the kernel takes in one call.
const DESCRIPTORS_MAX: usize = 253;

#[derive(Debug, Error)]
pub(crate) enum Broken {
    #[error("socket: {0}")]
    Socket(#[from] io::Error),
    #[error("message of {0} bytes is longer than {BODY_MAX}")]
    Length(usize),
    #[error("message is not complete after {TIMEOUT:?}")]
    Late,
    #[error("message ends early")]
    Short,
    #[error("answers are not taken for {TIMEOUT:?}")]
    Deaf,
    #[error("descriptor is refused: {0}")]
    Descriptor(io::Error),
}

/// Waits until a message lies in the socket as a whole; false if the frontend is gone.
pub(crate) fn wait_for_message(socket: &UnixStream) -> Result<bool, Broken> {
    let mut bytes = [0; HEADER + BODY_MAX];
    if !poll(socket, PollFlags::POLLIN, None)?.contains(PollFlags::POLLIN) {
        return Ok(false);
    }
    let Some(mut known) = peek(socket, &mut bytes)?.filter(|known| *known != 0) else { return Ok(false) };
    // Nearly always it is here.
    if known < total(&bytes, known)? {
        let start = Instant::now();
        let outcome = loop {
            match rest(socket, &mut bytes, known) {
                Ok(more) => known = known.saturating_add(more),
                Err(why) => break Err(why),
            }
            match total(&bytes, known) {
                Ok(total) if known >= total => break Ok(()),
                Ok(_) if start.elapsed() >= TIMEOUT => break Err(Broken::Late),
                Ok(_) => thread::sleep(NAP),
                Err(why) => break Err(why),
            }
        };
        peek_from(socket, -1)?;
        outcome?;
    }
    // A socket is writable while most of its room is free, and no answer is as long as that.
    if !poll(socket, PollFlags::POLLOUT, Some(TIMEOUT))?.contains(PollFlags::POLLOUT) {
        return Err(Broken::Deaf);
    }
    Ok(true)
}

/// Bytes of the first message of which `known` are known.
fn total(bytes: &[u8], known: usize) -> Result<usize, Broken> {
    let Some(&[_, _, _, _, _, _, _, _, l0, l1, l2, l3]) = bytes.get(..known).and_then(<[u8]>::first_chunk)
    else {
        return Ok(HEADER);
    };
    let body = usize::try_from(u32::from_ne_bytes([l0, l1, l2, l3])).unwrap_or(usize::MAX);
    if body > BODY_MAX { Err(Broken::Length(body)) } else { Ok(HEADER.saturating_add(body)) }
}

/// Looks at what lies behind the first `known` bytes. A look ends at the first part that came with descriptors.
fn rest(socket: &UnixStream, bytes: &mut [u8], known: usize) -> Result<usize, Broken> {
    peek_from(socket, libc::c_int::try_from(known).unwrap_or(libc::c_int::MAX))?;
    match peek(socket, bytes.get_mut(known..).unwrap_or_default())? {
        Some(0) => Err(Broken::Short),
        more => Ok(more.unwrap_or_default()),
    }
}

/// Waits for `events` or the end; what there is. Nothing of it if the time is over.
fn poll(socket: &UnixStream, events: PollFlags, limit: Option<Duration>) -> Result<PollFlags, Broken> {
    let mut asked = [PollFd::new(socket.as_fd(), events)];
    loop {
        match ppoll(&mut asked, limit.map(TimeSpec::from_duration), None) {
            Ok(_) => break,
            Err(Errno::EINTR) => {}
            Err(why) => return Err(Broken::Socket(why.into())),
        }
    }
    Ok(asked.iter().filter_map(PollFd::revents).fold(PollFlags::empty(), |all, some| all | some))
}

/// Has looks begin at this byte of what lies in the socket; at the first one if it is negative.
fn peek_from(socket: &UnixStream, byte: libc::c_int) -> io::Result<()> {
    let length = libc::socklen_t::try_from(size_of::<libc::c_int>()).map_err(io::Error::other)?;
    // SAFETY: the option's value is an int, which is there for as long as the call takes.
    let outcome = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEEK_OFF,
            (&raw const byte).cast(),
            length,
        )
    };
    Errno::result(outcome)?;
    Ok(())
}

/// Reads the next bytes and leaves them in the socket; `None` if there are none. Descriptors that
/// come with them are checked.
fn peek(socket: &UnixStream, into: &mut [u8]) -> Result<Option<usize>, Broken> {
    let mut part = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let mut beside = [0_u8; size_of::<libc::cmsghdr>() + DESCRIPTORS_MAX * size_of::<RawFd>()];
    // SAFETY: a header of zeros is one of nothing.
    let mut header: libc::msghdr = unsafe { zeroed() };
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    header.msg_control = (&raw mut beside).cast();
    header.msg_controllen = size_of_val(&beside) as _;
    let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC;
    // SAFETY: the header names one part and room beside it, which are borrowed for as long as the call takes.
    let got = match Errno::result(unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header, flags) }) {
        Ok(got) => got,
        Err(Errno::EAGAIN | Errno::EINTR) => return Ok(None),
        // As good as gone: it ended with something unread.
        Err(Errno::ECONNRESET) => return Ok(Some(0)),
        Err(why) => return Err(Broken::Socket(why.into())),
    };
    // These are copies, so closing them waits for nobody while the message lies in the socket.
    let copies = descriptors(beside.get(..header.msg_controllen as usize).unwrap_or_default());
    if header.msg_flags & libc::MSG_CTRUNC != 0 {
        return Err(Broken::Descriptor(Errno::EMFILE.into()));
    }
    copies.iter().try_for_each(check_any).map_err(Broken::Descriptor)?;
    Ok(usize::try_from(got).ok())
}

/// The descriptors that came beside the bytes, also if some were cut off: in one part, and there is no other.
fn descriptors(beside: &[u8]) -> Vec<File> {
    let word =
        |at: usize| beside.get(at..).and_then(<[u8]>::first_chunk).map(|word| i32::from_ne_bytes(*word));
    let length = beside.first_chunk().map_or(0, |length| usize::from_ne_bytes(*length));
    let kind = (word(offset_of!(libc::cmsghdr, cmsg_level)), word(offset_of!(libc::cmsghdr, cmsg_type)));
    if kind != (Some(libc::SOL_SOCKET), Some(libc::SCM_RIGHTS)) {
        return Vec::new();
    }
    let numbers = beside.get(size_of::<libc::cmsghdr>()..length).unwrap_or_default();
    let (numbers, _) = numbers.as_chunks();
    // SAFETY: the kernel made each of these numbers for this process, and nobody else knows it.
    numbers.iter().map(|number| unsafe { File::from_raw_fd(RawFd::from_ne_bytes(*number)) }).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::OwnedFd;

    use nix::sys::eventfd::EventFd;
    use vmm_sys_util::sock_ctrl_msg::ScmSocket;

    use super::*;

    fn message(body: usize) -> Vec<u8> {
        [&1_u32.to_ne_bytes()[..], &1_u32.to_ne_bytes(), &(body as u32).to_ne_bytes(), &vec![7; body]]
            .concat()
    }

    #[test]
    fn message_is_left_in_the_socket_with_its_descriptors() {
        let (frontend, device) = UnixStream::pair().unwrap();
        let event = EventFd::new().unwrap();
        for whole in [message(0), message(8), message(BODY_MAX)] {
            frontend.send_with_fds(&[&whole[..3]], &[event.as_fd().as_raw_fd()]).unwrap();
            (&frontend).write_all(&whole[3..]).unwrap();
            assert!(wait_for_message(&device).unwrap() && wait_for_message(&device).unwrap());
            let (mut got, mut numbers) = (vec![0; whole.len()], [0; 2]);
            let mut part = [libc::iovec { iov_base: got.as_mut_ptr().cast(), iov_len: got.len() }];
            // SAFETY: the part is borrowed for as long as the call takes.
            let (bytes, count) = unsafe { device.recv_with_fds(&mut part, &mut numbers) }.unwrap();
            assert_eq!((&got[..bytes], count), (&whole[..3], 1));
            // SAFETY: the number was received just now.
            drop(unsafe { OwnedFd::from_raw_fd(numbers[0]) });
            let mut rest = vec![0; whole.len() - 3];
            io::Read::read_exact(&mut &device, &mut rest).unwrap();
            assert_eq!(rest, whole[3..]);
        }
        drop(frontend);
        assert!(!wait_for_message(&device).unwrap());
    }

    #[test]
    fn message_that_is_too_long_or_ends_early_or_never_is_broken() {
        let (frontend, device) = UnixStream::pair().unwrap();
        (&frontend).write_all(&message(BODY_MAX + 1)).unwrap();
        assert!(matches!(wait_for_message(&device), Err(Broken::Length(4097))));
        let (frontend, device) = UnixStream::pair().unwrap();
        (&frontend).write_all(&message(8)[..19]).unwrap();
        assert!(matches!(wait_for_message(&device), Err(Broken::Late)));
        drop(frontend);
        assert!(matches!(wait_for_message(&device), Err(Broken::Short)));
    }

    #[test]
    fn descriptor_of_no_use_is_refused_wherever_in_a_message_it_comes() {
        let pipe = nix::unistd::pipe().unwrap();
        for at in [0, 5, 12, 15] {
            let (frontend, device) = UnixStream::pair().unwrap();
            let whole = message(8);
            (&frontend).write_all(&whole[..at]).unwrap();
            frontend.send_with_fds(&[&whole[at..]], &[pipe.0.as_raw_fd()]).unwrap();
            assert!(matches!(wait_for_message(&device), Err(Broken::Descriptor(_))), "{at}");
        }
    }
}
