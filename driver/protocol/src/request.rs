//! The messages of clients.

use ane_uapi::ioctl::number::MAX_SIZE;
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{
    Header, Kind, MAGIC, MESSAGE_MAX, Malformed, Rest, TEXT_MAX, Token, VERSION, bounded, length, reserved,
    stretches,
};
use ane_call::Segments;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The open file, zero where it is about none.
    pub file: u32,
    pub id: u64,
    pub ask: Ask,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// The highest version that the client knows.
    Hello { version: u32 },
    /// A new file, with a token by which it can be shared.
    Open,
    /// A file that has been opened.
    Attach(Token),
    /// Lets go of a file.
    Close,
    /// `memory` is what the argument points at.
    Ioctl { number: u32, argument: Vec<u8>, memory: Segments },
    /// Memory of a buffer.
    /// `offset` is where it is by the buffer's own word; `from` is the first extent to tell of. Only a call from zero is a
    /// mapping; others tell the rest of it.
    Map { offset: u64, bytes: u64, from: u64 },
    /// A mapping that is no more.
    Unmap { offset: u64, bytes: u64 },
    /// A descriptor that tells of a request's end.
    Signal { fence: u64 },
    /// Why a request failed.
    Failure { fence: u64 },
    /// The memory object of the file.
    Arena,
    /// No answer to a call but that it was given up.
    Abandon { call: u64 },
    /// Whether a `read` of the file would give something. With `wait`, the answer comes only once it would.
    Readable { wait: bool },
    /// The file whose memory object came with the message.
    AttachArena,
    /// Memory for calls.
    Mailbox,
    /// There is a call in that memory.
    Kick,
    /// Text about the device.
    /// `from` is the first byte to tell.
    Report { from: u32, what: String },
}

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Hello {
    magic: [u8; 8],
    version: U32,
    reserved: U32,
}

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Ioctl {
    number: U32,
    reserved: U32,
}

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Range {
    offset: U64,
    bytes: U64,
}

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Pair {
    first: U32,
    second: U32,
}

/// Do not answer before the file has something to tell.
const READABLE_WAIT: u32 = 1;

impl Ask {
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Hello { .. } => Kind::Hello,
            Self::Open => Kind::Open,
            Self::Attach(_) => Kind::Attach,
            Self::Close => Kind::Close,
            Self::Ioctl { .. } => Kind::Ioctl,
            Self::Map { .. } => Kind::Map,
            Self::Unmap { .. } => Kind::Unmap,
            Self::Signal { .. } => Kind::Signal,
            Self::Failure { .. } => Kind::Failure,
            Self::Arena => Kind::Arena,
            Self::Abandon { .. } => Kind::Abandon,
            Self::Readable { .. } => Kind::Readable,
            Self::AttachArena => Kind::AttachArena,
            Self::Mailbox => Kind::Mailbox,
            Self::Kick => Kind::Kick,
            Self::Report { .. } => Kind::Report,
        }
    }

    fn write(&self, into: &mut Vec<u8>) {
        match self {
            Self::Hello { version } => {
                let hello = Hello { magic: MAGIC, version: U32::new(*version), reserved: U32::ZERO };
                into.extend_from_slice(hello.as_bytes());
            }
            Self::Attach(token) => into.extend_from_slice(token.as_bytes()),
            Self::Ioctl { number, argument, memory } => ioctl_body(into, *number, argument, memory),
            Self::Map { offset, bytes, from } => {
                into.extend_from_slice(range(*offset, *bytes).as_bytes());
                into.extend_from_slice(U64::new(*from).as_bytes());
            }
            Self::Unmap { offset, bytes } => into.extend_from_slice(range(*offset, *bytes).as_bytes()),
            Self::Signal { fence: word } | Self::Failure { fence: word } | Self::Abandon { call: word } => {
                into.extend_from_slice(U64::new(*word).as_bytes());
            }
            Self::Readable { wait } => {
                let flags = if *wait { READABLE_WAIT } else { 0 };
                into.extend_from_slice(Pair { first: U32::new(flags), second: U32::ZERO }.as_bytes());
            }
            Self::Report { from, what } => {
                let pair = Pair { first: U32::new(*from), second: length(what.len()) };
                into.extend_from_slice(pair.as_bytes());
                into.extend_from_slice(what.as_bytes());
            }
            Self::Open | Self::Close | Self::Arena | Self::AttachArena | Self::Mailbox | Self::Kick => {}
        }
    }

    fn read(kind: Kind, rest: &mut Rest<'_>) -> Result<Self, Malformed> {
        Ok(match kind {
            Kind::Hello => {
                let hello = *rest.next::<Hello>("its greeting")?;
                if hello.magic != MAGIC {
                    return Err(Malformed::Magic);
                }
                reserved("reserved field of the greeting", hello.reserved)?;
                Self::Hello { version: hello.version.get() }
            }
            Kind::Open => Self::Open,
            Kind::Attach => Self::Attach(*rest.next("its token")?),
            Kind::Close => Self::Close,
            Kind::Ioctl => {
                let ioctl = *rest.next::<Ioctl>("its number")?;
                reserved("reserved field of an ioctl", ioctl.reserved)?;
                let mut memory = Segments::new();
                let argument = stretches::read(rest, |at, bytes| {
                    memory.push(at, bytes.to_vec());
                    Ok(())
                })?;
                if argument.len() > MAX_SIZE {
                    let count = length(argument.len()).get();
                    return Err(Malformed::Many { what: "bytes of argument", count, limit: MAX_SIZE });
                }
                Self::Ioctl { number: ioctl.number.get(), argument: argument.to_vec(), memory }
            }
            Kind::Map => {
                let range = *rest.next::<Range>("its range")?;
                let from = rest.next::<U64>("its first extent")?.get();
                Self::Map { offset: range.offset.get(), bytes: range.bytes.get(), from }
            }
            Kind::Unmap => {
                let range = *rest.next::<Range>("its range")?;
                Self::Unmap { offset: range.offset.get(), bytes: range.bytes.get() }
            }
            Kind::Signal => Self::Signal { fence: rest.next::<U64>("its fence")?.get() },
            Kind::Failure => Self::Failure { fence: rest.next::<U64>("its fence")?.get() },
            Kind::Arena => Self::Arena,
            Kind::Abandon => Self::Abandon { call: rest.next::<U64>("its call")?.get() },
            Kind::Readable => {
                let pair = *rest.next::<Pair>("its flags")?;
                reserved("reserved field of a question", pair.second)?;
                match pair.first.get() {
                    0 => Self::Readable { wait: false },
                    READABLE_WAIT => Self::Readable { wait: true },
                    flags => return Err(Malformed::Reserved { what: "flag", value: flags.into() }),
                }
            }
            Kind::AttachArena => Self::AttachArena,
            Kind::Mailbox => Self::Mailbox,
            Kind::Kick => Self::Kick,
            Kind::Report => {
                let pair = *rest.next::<Pair>("its length")?;
                let text = rest.take(bounded("bytes of text", pair.second, TEXT_MAX)?, "its text")?;
                let what = str::from_utf8(text).map_err(|_| Malformed::Text)?.to_owned();
                Self::Report { from: pair.first.get(), what }
            }
        })
    }
}

impl Request {
    pub const fn hello(id: u64) -> Self {
        Self { file: 0, id, ask: Ask::Hello { version: VERSION } }
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        begin(&mut bytes, self.ask.kind(), self.file, self.id);
        self.ask.write(&mut bytes);
        bytes
    }

    pub fn read(message: &[u8]) -> Result<Self, Malformed> {
        if message.len() > MESSAGE_MAX {
            return Err(Malformed::Huge);
        }
        let mut rest = Rest::new(message);
        let header = *rest.next::<Header>("its header")?;
        let kind =
            Kind::try_from(header.kind.get()).map_err(|_| Malformed::Kind { kind: header.kind.get() })?;
        if !kind.has_file() {
            reserved("file of a message about none", header.file)?;
        }
        let ask = Ask::read(kind, &mut rest)?;
        rest.end()?;
        Ok(Self { file: header.file.get(), id: header.id.get(), ask })
    }
}

/// Writes an ioctl from what the caller has, without making it his.
pub fn ioctl(into: &mut Vec<u8>, file: u32, id: u64, number: u32, argument: &[u8], memory: &Segments) {
    begin(into, Kind::Ioctl, file, id);
    ioctl_body(into, number, argument, memory);
}

fn begin(into: &mut Vec<u8>, kind: Kind, file: u32, id: u64) {
    let header = Header { kind: U32::new(kind as u32), file: U32::new(file), id: U64::new(id) };
    into.extend_from_slice(header.as_bytes());
}

fn ioctl_body(into: &mut Vec<u8>, number: u32, argument: &[u8], memory: &Segments) {
    into.extend_from_slice(Ioctl { number: U32::new(number), reserved: U32::ZERO }.as_bytes());
    stretches::write(into, argument, memory.iter());
}

const fn range(offset: u64, bytes: u64) -> Range {
    Range { offset: U64::new(offset), bytes: U64::new(bytes) }
}
