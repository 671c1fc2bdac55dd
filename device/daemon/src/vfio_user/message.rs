//! Messages of the vfio-user protocol, to the byte.
//!
//! Each begins with sixteen bytes: an id that the answer repeats, a command, the length of all of it, flags, and an error
//! number. Everything is in the byte order of the host, as both ends are on one. A client says how long a message is; one
//! that is longer than any that this device takes ends the connection before room is made for it.
#![expect(unsafe_code, reason = "numbers become descriptors")]

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, FromRawFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use thiserror::Error;
use vmm_sys_util::sock_ctrl_msg::ScmSocket;

use super::super::descriptors::check_any;
use super::super::guard::Lost;
use super::super::ringing;

/// Bytes of a header.
pub(crate) const HEADER: usize = 16;

/// Most bytes of a message behind its header: a greeting's text is the longest, and those of monitors have some hundred.
pub(crate) const BODY_MAX: usize = 4096;

/// Most descriptors of a message: memory comes with one, interrupts with one for each vector.
pub(crate) const DESCRIPTORS_MAX: usize = 8;

/// How long a client may take over the rest of a message that it has begun, or to take an answer.
pub(super) const TIMEOUT: Duration = Duration::from_secs(5);

/// Answer, in the flags.
const REPLY: u32 = 1;
/// No answer is wanted.
const NO_REPLY: u32 = 1 << 4;
/// The answer is an error.
const ERROR: u32 = 1 << 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Version,
    DmaMap,
    DmaUnmap,
    GetInfo,
    GetRegionInfo,
    GetIrqInfo,
    SetIrqs,
    RegionRead,
    RegionWrite,
    Reset,
}

impl Command {
    const fn of(number: u16) -> Option<Self> {
        Some(match number {
            1 => Self::Version,
            2 => Self::DmaMap,
            3 => Self::DmaUnmap,
            4 => Self::GetInfo,
            5 => Self::GetRegionInfo,
            7 => Self::GetIrqInfo,
            8 => Self::SetIrqs,
            9 => Self::RegionRead,
            10 => Self::RegionWrite,
            13 => Self::Reset,
            _ => return None,
        })
    }
}

#[derive(Debug, Error)]
pub(crate) enum Broken {
    #[error("socket: {0}")]
    Socket(#[from] io::Error),
    #[error("message of {0} bytes is not between {HEADER} and {max}", max = HEADER + BODY_MAX)]
    Length(u32),
    #[error("message ends early")]
    Short,
    #[error("message is not complete after {TIMEOUT:?}")]
    Late,
    #[error("descriptor is refused: {0}")]
    Descriptor(io::Error),
    #[error("{0}")]
    Memory(Lost),
}

/// A message, and the descriptors that came with it.
#[derive(Debug)]
pub(crate) struct Message {
    id: u16,
    number: u16,
    flags: u32,
    pub(crate) command: Option<Command>,
    /// The bytes behind the header.
    pub(crate) body: Body,
    /// Descriptors; those that are not taken are closed.
    pub(crate) descriptors: Vec<File>,
}

/// The rest of a message, taken field by field.
#[derive(Clone, Debug, Default)]
pub(crate) struct Body {
    bytes: Vec<u8>,
    at: usize,
}

impl Body {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let end = self.at.checked_add(N)?;
        let bytes = self.bytes.get(self.at..end)?.try_into().ok()?;
        self.at = end;
        Some(bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_ne_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_ne_bytes)
    }

    pub(crate) fn rest(&self) -> &[u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    pub(crate) fn whole(&self) -> &[u8] {
        &self.bytes
    }
}

impl Message {
    /// Reads the next message; `None` if the client has gone.
    pub(crate) fn read(stream: &UnixStream) -> Result<Option<Self>, Broken> {
        let end = Instant::now().checked_add(TIMEOUT);
        let mut header = [0; HEADER];
        let (mut got, descriptors) = first(stream, &mut header)?;
        if got == 0 {
            return Ok(None);
        }
        while got < HEADER {
            got = got.saturating_add(more(stream, header.get_mut(got..).unwrap_or_default(), end)?);
        }
        let [i0, i1, c0, c1, s0, s1, s2, s3, f0, f1, f2, f3, ..] = header;
        let size = u32::from_ne_bytes([s0, s1, s2, s3]);
        let length = usize::try_from(size).ok().and_then(|size| size.checked_sub(HEADER));
        let length = length.filter(|&length| length <= BODY_MAX).ok_or(Broken::Length(size))?;
        let mut bytes = vec![0; length];
        let mut filled = 0;
        while filled < length {
            filled = filled.saturating_add(more(stream, bytes.get_mut(filled..).unwrap_or_default(), end)?);
        }
        let number = u16::from_ne_bytes([c0, c1]);
        Ok(Some(Self {
            id: u16::from_ne_bytes([i0, i1]),
            number,
            flags: u32::from_ne_bytes([f0, f1, f2, f3]),
            command: Command::of(number),
            body: Body { bytes, at: 0 },
            descriptors,
        }))
    }

    /// The answer, `body` behind its header; `None` where no answer is wanted.
    pub(crate) fn reply(&self, body: &[u8]) -> Option<Vec<u8>> {
        self.answer(REPLY, 0, body)
    }

    /// The answer that says why not.
    pub(crate) fn refusal(&self, errno: i32) -> Option<Vec<u8>> {
        self.answer(REPLY | ERROR, errno.unsigned_abs(), &[])
    }

    fn answer(&self, flags: u32, errno: u32, body: &[u8]) -> Option<Vec<u8>> {
        if self.flags & NO_REPLY != 0 {
            return None;
        }
        let size = u32::try_from(HEADER.saturating_add(body.len())).ok()?;
        let mut bytes = Vec::with_capacity(HEADER.saturating_add(body.len()));
        bytes.extend_from_slice(&self.id.to_ne_bytes());
        bytes.extend_from_slice(&self.number.to_ne_bytes());
        for word in [size, flags, errno] {
            bytes.extend_from_slice(&word.to_ne_bytes());
        }
        bytes.extend_from_slice(body);
        Some(bytes)
    }
}

/// Reads what there is of a header, with descriptors.
fn first(stream: &UnixStream, header: &mut [u8]) -> Result<(usize, Vec<File>), Broken> {
    // Descriptors that no message takes are closed on the way.
    let _watched = ringing::begin();
    let mut raw = [-1; DESCRIPTORS_MAX];
    let (got, count) = receive(stream, header, &mut raw)?;
    let descriptors: Vec<File> = raw
        .into_iter()
        .take(count)
        // SAFETY: the kernel has just made these descriptors for this process, and nobody else has their numbers.
        .map(|fd| unsafe { File::from_raw_fd(fd) })
        .collect();
    // Before anything is waited for: one of them may be the client's own end.
    descriptors.iter().try_for_each(check_any).map_err(Broken::Descriptor)?;
    Ok((got, descriptors))
}

/// Reads what there is, with descriptors.
fn receive(stream: &UnixStream, into: &mut [u8], descriptors: &mut [i32]) -> Result<(usize, usize), Broken> {
    let mut part = [nix::libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() }];
    // SAFETY: the one part is `into`, which is borrowed for writing as long as the call takes.
    let got = unsafe { stream.recv_with_fds(&mut part, descriptors) };
    got.map_err(|why| Broken::Socket(io::Error::from_raw_os_error(why.errno())))
}

/// Waits for more and reads what there is; the end of the stream is too early here.
fn more(mut stream: &UnixStream, into: &mut [u8], end: Option<Instant>) -> Result<usize, Broken> {
    let left = end.map(|end| end.saturating_duration_since(Instant::now())).unwrap_or_default();
    match ppoll(
        &mut [PollFd::new(stream.as_fd(), PollFlags::POLLIN)],
        Some(TimeSpec::from_duration(left)),
        None,
    ) {
        Ok(0) => return Err(Broken::Late),
        Ok(_) => {}
        Err(Errno::EINTR) => return Ok(0),
        Err(why) => return Err(Broken::Socket(why.into())),
    }
    // A client may be slow, but to read what is there takes no time unless a descriptor comes with it, which is closed.
    let _watched = ringing::begin();
    match io::Read::read(&mut stream, into) {
        Ok(0) => Err(Broken::Short),
        Ok(got) => Ok(got),
        Err(why) if why.kind() == io::ErrorKind::Interrupted => Ok(0),
        Err(why) if why.kind() == io::ErrorKind::WouldBlock => Err(Broken::Late),
        Err(why) => Err(why.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn pair() -> (UnixStream, UnixStream) {
        UnixStream::pair().unwrap()
    }

    fn header(size: u32) -> Vec<u8> {
        [&7_u16.to_ne_bytes()[..], &9_u16.to_ne_bytes(), &size.to_ne_bytes(), &[0; 8]].concat()
    }

    #[test]
    fn message_that_comes_in_pieces_is_read_whole() {
        let (mut client, server) = pair();
        let sender = std::thread::spawn(move || {
            for byte in [header(20), vec![1, 2, 3, 4]].concat() {
                client.write_all(&[byte]).unwrap();
            }
        });
        let mut message = Message::read(&server).unwrap().unwrap();
        sender.join().unwrap();
        assert_eq!(message.command, Some(Command::RegionRead));
        assert_eq!(message.body.u32(), Some(u32::from_ne_bytes([1, 2, 3, 4])));
        assert_eq!((message.body.u32(), message.body.rest().len()), (None, 0));
        let reply = message.reply(&[9]).unwrap();
        assert_eq!((&reply[..4], reply.len()), (&[7, 0, 9, 0][..], 17));
    }

    #[test]
    fn length_that_no_message_has_ends_the_connection_before_room_is_made() {
        for size in [0, 15, (HEADER + BODY_MAX + 1) as u32, u32::MAX] {
            let (mut client, server) = pair();
            client.write_all(&header(size)).unwrap();
            assert!(matches!(Message::read(&server), Err(Broken::Length(found)) if found == size));
        }
    }

    #[test]
    fn client_that_leaves_between_messages_is_gone_and_inside_of_one_is_broken() {
        let (client, server) = pair();
        drop(client);
        assert!(Message::read(&server).unwrap().is_none());
        let (mut client, server) = pair();
        client.write_all(&header(20)[..9]).unwrap();
        drop(client);
        assert!(matches!(Message::read(&server), Err(Broken::Short)));
    }
}
