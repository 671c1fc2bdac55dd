//! Messages as bytes, written into room that is there and read without a copy.
//!
//! The daemon defines their contents (`aned_protocol`, `docs/aned.md`); that crate's own writer and reader
//! allocate, which this library must not.

use aned_protocol::{ANSWER, Header, Kind, MAGIC, VERSION};
use zerocopy::little_endian::{I32, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Bytes of what every message begins with.
pub(crate) const HEADER: usize = size_of::<Header>();

/// How an ioctl goes on: its number, how long its argument is, and how many stretches of memory come with it. Behind
/// it the table of stretches, the argument, and the bytes of the stretches.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Ioctl {
    pub(crate) number: U32,
    pub(crate) reserved: U32,
    pub(crate) counts: Counts,
}

/// How an ioctl's answer goes on, and its question behind the number.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Counts {
    pub(crate) argument: U32,
    pub(crate) stretches: U32,
}

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Stretch {
    pub(crate) at: U64,
    pub(crate) bytes: U32,
    pub(crate) reserved: U32,
}

/// The first fields of the daemon's answer, behind the header.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Outcome {
    result: I32,
    reserved: U32,
}

/// Writes a header; false if there is no room.
pub(crate) fn begin(into: &mut [u8], kind: Kind, file: u32, id: u64) -> bool {
    let header = Header { kind: U32::new(kind as u32), file: U32::new(file), id: U64::new(id) };
    header.write_to_prefix(into).is_ok()
}

/// A message of a header and nothing else.
pub(crate) fn plain(kind: Kind, file: u32, id: u64) -> [u8; HEADER] {
    let mut message = [0; HEADER];
    begin(&mut message, kind, file, id);
    message
}

pub(crate) fn hello(id: u64) -> [u8; HEADER + 16] {
    let mut message = [0; HEADER + 16];
    begin(&mut message, Kind::Hello, 0, id);
    let body = [MAGIC, (u64::from(VERSION)).to_le_bytes()];
    if let Some(place) = message.get_mut(HEADER..) {
        place.copy_from_slice(body.as_bytes());
    }
    message
}

/// The number of a question whose answer does not matter; no call has it.
const PROBE: u64 = u64::MAX;

/// A question whose answer takes no time, and says nothing.
pub(crate) fn probe() -> [u8; HEADER + 8] {
    let mut message = [0; HEADER + 8];
    begin(&mut message, Kind::Readable, 0, PROBE);
    message
}

/// True if a message answers that.
pub(crate) fn is_probed(message: &[u8]) -> bool {
    answer(message, Kind::Readable, PROBE).is_some()
}

pub(crate) fn abandon(id: u64, call: u64) -> [u8; HEADER + 8] {
    let mut message = [0; HEADER + 8];
    begin(&mut message, Kind::Abandon, 0, id);
    if let Some(place) = message.get_mut(HEADER..) {
        place.copy_from_slice(&call.to_le_bytes());
    }
    message
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer<'a> {
    /// The file, where the answer is about one.
    pub(crate) file: u32,
    /// Zero, or the error's number.
    pub(crate) error: i32,
    /// The rest of the answer.
    pub(crate) body: &'a [u8],
}

/// Reads the answer to a call; `None` if it is anything else, such as a dismissal.
pub(crate) fn answer(message: &[u8], kind: Kind, id: u64) -> Option<Answer<'_>> {
    let (header, rest) = Header::ref_from_prefix(message).ok()?;
    let (outcome, body) = Outcome::ref_from_prefix(rest).ok()?;
    let is_this = header.kind.get() == kind as u32 | ANSWER && header.id.get() == id;
    let error = outcome.result.get().checked_neg().filter(|error| *error >= 0)?;
    is_this.then_some(Answer { file: header.file.get(), error, body })
}

/// The error for which the daemon ends the connection, if a message says so.
pub(crate) fn dismissal(message: &[u8]) -> Option<i32> {
    let (header, rest) = Header::ref_from_prefix(message).ok()?;
    let (outcome, _) = Outcome::ref_from_prefix(rest).ok()?;
    let error = outcome.result.get().checked_neg().filter(|error| *error > 0)?;
    (header.kind.get() == ANSWER).then_some(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dismissal_has_an_error_and_nothing_else_is_one() {
        let mut message = [0; 28];
        message[3] = 0x80;
        message[16..20].copy_from_slice(&(-11_i32).to_le_bytes());
        assert_eq!(dismissal(&message), Some(11));
        assert_eq!(dismissal(&message[..23]), None);
        message[0] = 1;
        assert_eq!(dismissal(&message), None, "an answer");
        message[0] = 0;
        message[16..20].fill(0);
        assert_eq!(dismissal(&message), None, "no error");
    }

    #[test]
    fn farewell_or_another_calls_answer_is_no_answer() {
        let mut message = [0; 24];
        begin(&mut message, Kind::Open, 5, 7);
        assert!(answer(&message, Kind::Open, 7).is_none(), "a question");
        message[3] |= 0x80;
        assert_eq!(answer(&message, Kind::Open, 7).map(|answer| (answer.file, answer.error)), Some((5, 0)));
        assert!(answer(&message, Kind::Open, 8).is_none());
        assert!(answer(&message, Kind::Close, 7).is_none());
        assert!(answer(&message[..23], Kind::Open, 7).is_none());
        for (result, error) in [(-16_i32, Some(16)), (i32::MIN, None), (1, None)] {
            message[16..20].copy_from_slice(&result.to_le_bytes());
            assert_eq!(answer(&message, Kind::Open, 7).map(|answer| answer.error), error);
        }
    }
}
