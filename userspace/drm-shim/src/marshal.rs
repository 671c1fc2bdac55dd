//! An ioctl as a message: what its pointers lead to goes along, and what was changed comes back.
//!
//! The driver answers for a pointer that leads nowhere: bytes that are no memory do not go along, and it finds them
//! missing. What comes back is compared with what went, and only what differs is written, so that a client may have
//! its constants in memory that cannot be written.

use ane_uapi::ioctl::nested::{self, Client, Use};
use ane_uapi::ioctl::number::Ioctl;
use aned_protocol::{Kind, MESSAGE_MAX, STRETCHES_MAX};
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, IntoBytes};

use crate::connection::wire::{self, Answer, Counts, HEADER, Stretch};
use crate::sys::{Failure, Result, memory};

/// Where the table of stretches begins.
const TABLE: usize = HEADER + size_of::<wire::Ioctl>();

const ENTRY: usize = size_of::<Stretch>();

/// A message that is written, and where its parts lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    pub(crate) bytes: usize,
    /// Where the argument begins.
    argument_at: usize,
    argument: usize,
}

/// The stretches of a call, as they are found.
struct Gathering<'a> {
    table: &'a mut [u8],
    count: usize,
    is_full: bool,
}

impl Client for Gathering<'_> {
    fn stretch(&mut self, at: u64, bytes: usize, _: Use) {
        let from = self.count * ENTRY;
        let place = self.table.get_mut(from..).filter(|_| self.count < STRETCHES_MAX);
        let entry = u32::try_from(bytes).map(|bytes| entry(at, bytes));
        let is_written = match (place, entry) {
            (Some(place), Ok(entry)) => entry.write_to_prefix(place).is_ok(),
            _ => false,
        };
        if is_written {
            self.count += 1;
        } else {
            self.is_full = true;
        }
    }

    fn peek(&mut self, at: u64, into: &mut [u8]) -> bool {
        memory::read(at, into) == into.len()
    }
}

const fn entry(at: u64, bytes: u32) -> Stretch {
    Stretch { at: U64::new(at), bytes: U32::new(bytes), reserved: U32::ZERO }
}

pub(crate) fn write(message: &mut [u8], ioctl: &Ioctl, file: u32, id: u64, argument: u64) -> Result<Written> {
    const TOO_LONG: Failure = Failure(libc::E2BIG);
    let mut copy = [0; LARGEST];
    let length = usize::from(ioctl.decoded().size);
    let copy = copy.get_mut(..length).ok_or(TOO_LONG)?;
    if memory::read(argument, copy) < length {
        return Err(Failure(libc::EFAULT));
    }
    let table = message.get_mut(TABLE..).ok_or(TOO_LONG)?;
    let mut gathering = Gathering { table, count: 0, is_full: false };
    nested::follow(copy, nested::pointers(ioctl.number), &mut gathering);
    if gathering.is_full {
        return Err(TOO_LONG);
    }
    let count = gathering.count;

    // Both are small: an argument has fourteen bits of length.
    let counts = Counts { argument: U32::new(length as u32), stretches: U32::new(count as u32) };
    let head = wire::Ioctl { number: U32::new(ioctl.number), reserved: U32::ZERO, counts };
    let is_begun = wire::begin(message, Kind::Ioctl, file, id)
        && message.get_mut(HEADER..).is_some_and(|place| head.write_to_prefix(place).is_ok());
    let argument_at = TABLE + count * ENTRY;
    let place = message.get_mut(argument_at..argument_at + length).filter(|_| is_begun).ok_or(TOO_LONG)?;
    place.copy_from_slice(copy);

    let mut end = argument_at + length;
    for index in 0..count {
        end += bring(message, index, end).ok_or(TOO_LONG)?;
    }
    Ok(Written { bytes: end, argument_at, argument: length })
}

/// Bytes of the longest argument.
const LARGEST: usize = 256;

const _: () = assert!(TABLE + LARGEST < MESSAGE_MAX);

/// Copies what is memory of a stretch to `end` of the message, and says in its entry how much that is.
fn bring(message: &mut [u8], index: usize, end: usize) -> Option<usize> {
    let from = TABLE + index * ENTRY;
    let (head, data) = message.split_at_mut_checked(end)?;
    let place = head.get_mut(from..from + ENTRY)?;
    let wanted = *Stretch::ref_from_bytes(place).ok()?;
    let at = wanted.at.get();
    let got = memory::read_prefix(at, data.get_mut(..wanted.bytes.get() as usize)?);
    place.copy_from_slice(entry(at, got as u32).as_bytes());
    Some(got)
}

/// Writes back what the answer changes, to the argument at `argument` and to the stretches that went with the message.
pub(crate) fn write_back(message: &[u8], written: Written, answer: Answer<'_>, argument: u64) -> Result<()> {
    const NO_ANSWER: Failure = Failure(libc::EIO);
    let (counts, rest) = Counts::ref_from_prefix(answer.body).map_err(|_| NO_ANSWER)?;
    let stretches = counts.stretches.get() as usize;
    let (table, rest) = <[Stretch]>::ref_from_prefix_with_elems(rest, stretches).map_err(|_| NO_ANSWER)?;
    let (now, mut rest) = rest.split_at_checked(counts.argument.get() as usize).ok_or(NO_ANSWER)?;
    let before = message.get(written.argument_at..written.argument_at + written.argument);
    let before = before.filter(|before| before.len() == now.len()).ok_or(NO_ANSWER)?;
    let mut is_written = changes(before, now, argument);
    for stretch in table {
        let (now, behind) = rest.split_at_checked(stretch.bytes.get() as usize).ok_or(NO_ANSWER)?;
        rest = behind;
        let before = brought(message, written, stretch).ok_or(NO_ANSWER)?;
        is_written &= changes(before, now, stretch.at.get());
    }
    if is_written { Ok(()) } else { Err(Failure(libc::EFAULT)) }
}

/// The bytes of a stretch in the answer, if the message has them.
fn brought<'a>(message: &'a [u8], written: Written, stretch: &Stretch) -> Option<&'a [u8]> {
    let table = <[Stretch]>::ref_from_bytes(message.get(TABLE..written.argument_at)?).ok()?;
    let mut at = written.argument_at + written.argument;
    for other in table {
        let end = at + other.bytes.get() as usize;
        if other.at == stretch.at && other.bytes == stretch.bytes {
            return message.get(at..end);
        }
        at = end;
    }
    None
}

/// Writes to the client's address `at` what differs now, from the first byte to the last. False if no memory is there.
fn changes(before: &[u8], now: &[u8], at: u64) -> bool {
    let differs = |(before, now): (&u8, &u8)| before != now;
    let Some(first) = before.iter().zip(now).position(differs) else { return true };
    let last = before.iter().zip(now).rposition(differs).unwrap_or(first);
    let changed = now.get(first..=last).unwrap_or_default();
    at.checked_add(first as u64).is_some_and(|at| memory::write(at, changed))
}

#[cfg(test)]
mod tests;
