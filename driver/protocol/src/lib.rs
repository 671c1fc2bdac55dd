//! The messages between a client and the daemon.
//!
//! Each message is one packet of a `SOCK_SEQPACKET` socket, so it arrives whole or not at all, and descriptors arrive
//! with the message that they belong to. A message has a [`Header`] and a body; every call has exactly one answer, under
//! the number that the client gave it, in whatever order calls end. All numbers are little-endian, all structures
//! without padding.
//!
//! * [`request`]: what clients ask;
//! * [`answer`]: what the daemon says;
//! * [`socket`]: packets, and the descriptors that ride on them;
//! * [`mailbox`]: memory beside a socket, in which short calls pass without the system;
//! * [`client`]: the client's end, blocking, for any number of threads.
//!
//! `docs/aned.md` specifies the messages for clients in other languages.
//!
//! Both directions are written and read here, once, for both ends. The reader checks every length before it uses it, since
//! either end may be a stranger.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::arithmetic_side_effects))]
#![cfg_attr(not(test), deny(clippy::cast_possible_truncation))]

pub mod answer;
pub mod client;
mod futex;
pub mod mailbox;
pub mod request;
pub mod socket;
mod stretches;

#[cfg(test)]
mod tests;

use ane_uapi::codes;
use thiserror::Error;
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The first bytes of the first message.
pub const MAGIC: [u8; 8] = *b"ane-aned";

/// The version of this protocol. Each end says the highest that it knows, and the lower one counts.
pub const VERSION: u32 = 1;

/// Bytes of the largest message. The largest call of the ABI is a chain of 128 requests with 32 BARs and 16 fences
/// each, 131,200 bytes with its table; a socket's usual buffer takes a packet of 212,960.
pub const MESSAGE_MAX: usize = 160 << 10;

/// Stretches of memory of one call: the same chain has 257.
pub const STRETCHES_MAX: usize = 512;

/// Calls of one connection that wait at a time: one for each of 127 requests in flight, and the one that finds it full.
pub const CALLS_MAX: usize = 128;

/// Open files of one connection: clients that open and close thousands have few open at a time.
pub const FILES_MAX: usize = 1024;

/// Extents of one answer. A buffer in more pieces takes several calls.
pub const EXTENTS_MAX: usize = 4096;

/// Descriptors that the kernel passes with one message.
pub const DESCRIPTORS_MAX: usize = 253;

/// Bytes of text that a dismissal or a question may have.
pub const TEXT_MAX: usize = 512;

/// Set in the kind of every message from the daemon.
pub const ANSWER: u32 = 1 << 31;

/// The kind of the daemon's last message, which answers no call.
pub const DISMISSAL: u32 = ANSWER;

codes! {
    /// The kind of a message.
    pub enum Kind: u32, "kind of message" {
        /// The first message: who speaks, in which version.
        Hello = 1, "HELLO";
        /// Opens a file.
        Open = 2, "OPEN";
        /// Shares a file that another connection opened, by its token.
        Attach = 3, "ATTACH";
        /// Lets go of a file.
        Close = 4, "CLOSE";
        /// An ioctl.
        Ioctl = 5, "IOCTL";
        /// Memory of a buffer.
        Map = 6, "MAP";
        /// That memory is not mapped any more.
        Unmap = 7, "UNMAP";
        /// A descriptor that becomes readable when a request ends.
        Signal = 8, "SIGNAL";
        /// The memory object of all of the file's buffers.
        Arena = 9, "ARENA";
        /// Gives up a call that waits. It has no answer of its own.
        Abandon = 10, "ABANDON";
        /// Whether a `read` of the file would give something.
        Readable = 11, "READABLE";
        /// Shares a file by its memory object.
        AttachArena = 12, "ATTACH_ARENA";
        /// Memory in which calls are passed faster than by the socket.
        Mailbox = 13, "MAILBOX";
        /// There is a call in that memory. It has no answer of its own.
        Kick = 14, "KICK";
        /// Text about the device, for its administrator.
        Report = 15, "REPORT";
        /// Why a request of the file failed, in words.
        Failure = 16, "FAILURE";
    }
}

impl Kind {
    /// How many descriptors come with such a message.
    pub const fn descriptors(self) -> usize {
        match self {
            Self::AttachArena => 1,
            _ => 0,
        }
    }

    /// True if the message is about an open file.
    pub const fn has_file(self) -> bool {
        !matches!(
            self,
            Self::Hello
                | Self::Open
                | Self::Attach
                | Self::AttachArena
                | Self::Abandon
                | Self::Mailbox
                | Self::Kick
                | Self::Report
        )
    }
}

/// The header of every message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Header {
    /// [`Kind`], with [`ANSWER`] set in what the daemon says.
    pub kind: U32,
    /// The open file, as this connection numbers it; zero if there is none.
    pub file: U32,
    /// The client's number for the call, not that of another one that waits.
    pub id: U64,
}

const _: () = assert!(size_of::<Header>() == 16);

/// A process attaches with it to a file that another process opened. It is random, so no process can guess it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(transparent)]
pub struct Token(pub [u8; 16]);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // A reader of the log must not get access to a file.
        f.write_str("Token(..)")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Malformed {
    #[error("message of {bytes} bytes ends inside {what}")]
    Short { bytes: usize, what: &'static str },
    #[error("message has {bytes} bytes behind its end")]
    Long { bytes: usize },
    #[error("message is larger than {MESSAGE_MAX} bytes")]
    Huge,
    #[error("kind of message {kind:#x} is not known")]
    Kind { kind: u32 },
    #[error("{what} is {value:#x}, which has no meaning")]
    Reserved { what: &'static str, value: u64 },
    #[error("{count} {what}, and at most {limit} may be")]
    Many { what: &'static str, count: u32, limit: usize },
    #[error("{count} descriptors came with a message that takes {takes}")]
    Descriptors { count: usize, takes: usize },
    #[error("it does not begin with the magic of this protocol")]
    Magic,
    #[error("call {id} has the number of one that waits")]
    Id { id: u64 },
    #[error("argument of {sent} bytes came back with {came}")]
    Argument { sent: usize, came: usize },
    #[error("{bytes} bytes at {at:#x} came back that the call did not bring")]
    Unasked { at: u64, bytes: usize },
    #[error("extent lies in descriptor {index}, and {count} came along")]
    NoDescriptor { index: u32, count: usize },
    #[error("{0} does not belong here")]
    Order(&'static str),
    #[error("text is no UTF-8")]
    Text,
}

/// The rest of a message that is read from its front.
#[derive(Clone, Copy, Debug)]
struct Rest<'a> {
    bytes: &'a [u8],
    all: usize,
}

impl<'a> Rest<'a> {
    const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, all: bytes.len() }
    }

    fn next<T: FromBytes + KnownLayout + Immutable + Unaligned>(
        &mut self,
        what: &'static str,
    ) -> Result<&'a T, Malformed> {
        let short = Malformed::Short { bytes: self.all, what };
        let (found, rest) = T::ref_from_prefix(self.bytes).map_err(|_| short)?;
        self.bytes = rest;
        Ok(found)
    }

    /// The next `count` structures.
    fn many<T: FromBytes + Immutable + Unaligned + KnownLayout>(
        &mut self,
        count: usize,
        what: &'static str,
    ) -> Result<&'a [T], Malformed> {
        let short = Malformed::Short { bytes: self.all, what };
        let (found, rest) = <[T]>::ref_from_prefix_with_elems(self.bytes, count).map_err(|_| short)?;
        self.bytes = rest;
        Ok(found)
    }

    fn take(&mut self, bytes: usize, what: &'static str) -> Result<&'a [u8], Malformed> {
        let (found, rest) =
            self.bytes.split_at_checked(bytes).ok_or(Malformed::Short { bytes: self.all, what })?;
        self.bytes = rest;
        Ok(found)
    }

    const fn end(self) -> Result<(), Malformed> {
        match self.bytes.len() {
            0 => Ok(()),
            bytes => Err(Malformed::Long { bytes }),
        }
    }
}

/// A count of a message as a number of things that may be that many.
fn bounded(what: &'static str, count: U32, limit: usize) -> Result<usize, Malformed> {
    let many = Malformed::Many { what, count: count.get(), limit };
    usize::try_from(count.get()).ok().filter(|&count| count <= limit).ok_or(many)
}

/// A field without a meaning.
fn reserved(what: &'static str, value: U32) -> Result<(), Malformed> {
    match value.get() {
        0 => Ok(()),
        value => Err(Malformed::Reserved { what, value: value.into() }),
    }
}

/// A length as messages carry it; messages are far smaller than what it holds.
fn length(bytes: usize) -> U32 {
    U32::new(u32::try_from(bytes).unwrap_or(u32::MAX))
}
