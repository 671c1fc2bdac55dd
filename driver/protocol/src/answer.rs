//! The messages of the daemon.

use ane_uapi::ioctl::errno::Errno;
use zerocopy::little_endian::{I32, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{
    ANSWER, CALLS_MAX, DESCRIPTORS_MAX, DISMISSAL, EXTENTS_MAX, FILES_MAX, Header, Kind, MESSAGE_MAX,
    Malformed, Rest, TEXT_MAX, Token, bounded, length, reserved, stretches,
};
use ane_call::Segments;

/// The fields behind the header of every message of the daemon.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Outcome {
    /// Zero, or the negative error number.
    result: I32,
    reserved: U32,
}

/// The answer of the daemon to a greeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Welcome {
    pub version: U32,
    /// Bytes of the largest message.
    pub message_max: U32,
    /// Open files of this connection.
    pub files_max: U32,
    /// Calls that may wait at a time.
    pub calls_max: U32,
}

impl Welcome {
    /// The answer of this daemon, in a version that the client knows.
    pub fn new(version: u32) -> Self {
        Self {
            version: U32::new(version),
            message_max: length(MESSAGE_MAX),
            files_max: length(FILES_MAX),
            calls_max: length(CALLS_MAX),
        }
    }
}

/// A stretch of one of the descriptors that came along.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Piece {
    pub file: U32,
    /// Zero.
    pub reserved: U32,
    /// First byte of it.
    pub offset: U64,
    pub bytes: U64,
}

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Pieces {
    count: U32,
    files: U32,
    total: U64,
}

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Told {
    total: U32,
    bytes: U32,
}

const _: () = assert!(size_of::<Outcome>() == 8 && size_of::<Welcome>() == 16 && size_of::<Piece>() == 24);
const _: () = assert!(size_of::<Pieces>() == 16 && size_of::<Told>() == 8);
/// Fits beside the parts of a message that have a fixed size.
const _: () = assert!(EXTENTS_MAX * size_of::<Piece>() + 64 < MESSAGE_MAX);

/// Bytes of a report that one answer tells.
pub const REPORT_BYTES: usize = 64 << 10;

/// Begins an answer: all of it, if it failed or says nothing more.
pub fn begin(into: &mut Vec<u8>, kind: Kind, file: u32, id: u64, result: Result<(), Errno>) {
    let kind = U32::new(kind as u32 | ANSWER);
    into.extend_from_slice(Header { kind, file: U32::new(file), id: U64::new(id) }.as_bytes());
    outcome(into, result);
}

fn outcome(into: &mut Vec<u8>, result: Result<(), Errno>) {
    let result = I32::new(result.map_or_else(Errno::as_result, |()| 0));
    into.extend_from_slice(Outcome { result, reserved: U32::ZERO }.as_bytes());
}

/// Goes on with what an ioctl wrote.
pub fn ioctl(into: &mut Vec<u8>, argument: &[u8], memory: &Segments) {
    stretches::write(into, argument, memory.changed());
}

/// Goes on with extents.
pub fn pieces(into: &mut Vec<u8>, pieces: &[Piece], files: usize, total: usize) {
    let total = U64::new(u64::try_from(total).unwrap_or(u64::MAX));
    let head = Pieces { count: length(pieces.len()), files: length(files), total };
    into.extend_from_slice(head.as_bytes());
    into.extend_from_slice(pieces.as_bytes());
}

/// Goes on with a part of a report.
pub fn report(into: &mut Vec<u8>, text: &str, from: u32) {
    let from = usize::try_from(from).unwrap_or(usize::MAX);
    let rest = text.as_bytes().get(from..).unwrap_or_default();
    let part = rest.get(..REPORT_BYTES).unwrap_or(rest);
    let told = Told { total: length(text.len()), bytes: length(part.len()) };
    into.extend_from_slice(told.as_bytes());
    into.extend_from_slice(part);
}

/// The last message: why there are no more.
pub fn dismissal(into: &mut Vec<u8>, why: Errno, text: &str) {
    into.extend_from_slice(Header { kind: U32::new(DISMISSAL), file: U32::ZERO, id: U64::ZERO }.as_bytes());
    outcome(into, Err(why));
    words(into, text);
}

/// Goes on with a short text, cut off between two letters if it is longer than any.
pub fn words(into: &mut Vec<u8>, text: &str) {
    let end = text
        .char_indices()
        .map(|(at, c)| at.saturating_add(c.len_utf8()))
        .take_while(|&end| end <= TEXT_MAX)
        .last();
    let text = text.get(..end.unwrap_or(0)).unwrap_or_default();
    into.extend_from_slice(length(text.len()).as_bytes());
    into.extend_from_slice(text.as_bytes());
}

/// A message of the daemon, as its client finds it.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// The kind of the call, or nothing if it is the last message.
    pub kind: Option<Kind>,
    pub file: u32,
    pub id: u64,
    /// Zero, or the negative error number.
    pub result: i32,
    rest: Rest<'a>,
}

impl<'a> Answer<'a> {
    /// Reads a message up to where its kind matters.
    pub fn read(message: &'a [u8]) -> Result<Self, Malformed> {
        let mut rest = Rest::new(message);
        let header = *rest.next::<Header>("its header")?;
        let outcome = *rest.next::<Outcome>("its result")?;
        reserved("reserved field of an answer", outcome.reserved)?;
        let unknown = Malformed::Kind { kind: header.kind.get() };
        let kind = match header.kind.get() {
            DISMISSAL => None,
            kind if kind & ANSWER == 0 => return Err(unknown),
            kind => Some(Kind::try_from(kind & !ANSWER).map_err(|_| unknown)?),
        };
        let result = outcome.result.get();
        Ok(Self { kind, file: header.file.get(), id: header.id.get(), result, rest })
    }

    pub fn welcome(mut self) -> Result<Welcome, Malformed> {
        let welcome = *self.rest.next("its greeting")?;
        self.rest.end()?;
        Ok(welcome)
    }

    /// The token of the file that was opened, for other connections to attach with.
    pub fn token(mut self) -> Result<Token, Malformed> {
        let token = *self.rest.next("its token")?;
        self.rest.end()?;
        Ok(token)
    }

    /// Puts what an ioctl wrote where the caller has it: the argument, and the stretches that changed.
    pub fn ioctl(mut self, argument: &mut [u8], memory: &mut Segments) -> Result<(), Malformed> {
        let found = stretches::read(&mut self.rest, |at, bytes| {
            memory.write(at, bytes).map_err(|_| Malformed::Unasked { at, bytes: bytes.len() })
        })?;
        self.rest.end()?;
        if found.len() != argument.len() {
            return Err(Malformed::Argument { sent: argument.len(), came: found.len() });
        }
        argument.copy_from_slice(found);
        Ok(())
    }

    /// Extents, and how many there are in all; `descriptors` came along.
    pub fn pieces(mut self, descriptors: usize) -> Result<(&'a [Piece], u64), Malformed> {
        let head = *self.rest.next::<Pieces>("its counts")?;
        let files = bounded("descriptors", head.files, DESCRIPTORS_MAX)?;
        if files != descriptors {
            return Err(Malformed::Descriptors { count: descriptors, takes: files });
        }
        let pieces = self.rest.many::<Piece>(bounded("extents", head.count, EXTENTS_MAX)?, "its extents")?;
        self.rest.end()?;
        for piece in pieces {
            reserved("reserved field of an extent", piece.reserved)?;
            let index = piece.file.get();
            if !usize::try_from(index).is_ok_and(|index| index < files) {
                return Err(Malformed::NoDescriptor { index, count: files });
            }
        }
        Ok((pieces, head.total.get()))
    }

    /// A part of a report, and how many bytes the whole has.
    pub fn report(mut self) -> Result<(&'a [u8], usize), Malformed> {
        let told = *self.rest.next::<Told>("its length")?;
        let text = self.rest.take(bounded("bytes of text", told.bytes, REPORT_BYTES)?, "its text")?;
        self.rest.end()?;
        Ok((text, usize::try_from(told.total.get()).unwrap_or(usize::MAX)))
    }

    /// A short text: why a request failed, or why the daemon will say no more.
    pub fn words(mut self) -> Result<&'a str, Malformed> {
        let bytes = bounded("bytes of text", *self.rest.next("its length")?, TEXT_MAX)?;
        let text = self.rest.take(bytes, "its text")?;
        self.rest.end()?;
        str::from_utf8(text).map_err(|_| Malformed::Text)
    }
}
