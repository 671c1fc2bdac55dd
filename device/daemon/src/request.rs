//! One request of queue 0: what it asks for, and what the device answers.
//!
//! Nothing in here knows where the bytes came from. They are the guest's, so they are checked in the order
//! that `docs/virtio-ane.md` gives: everything that can be known beforehand is checked before anything is
//! done; what is then refused in the middle ends the batch there, and the answer says where.

use ane_device::refusal::Refusal;
use ane_device::wire::{NotDone, answer};
use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::space::EngineOffset;
use ane_uapi::hw::space::IovaRange;
use ane_uapi::hw::usage::Usage;
use ane_uapi::wire::ctrl::{Access, Header, Kind, NO_INDEX, Op, Response, Status};
use ane_uapi::wire::sideband::{self, Declaration, MapEntry, Regions, UnmapEntry};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

const HEADER: usize = size_of::<Header>();
const RESPONSE: usize = size_of::<Response>();

/// Where a header's flags start.
const FLAGS: u32 = 2;
const _: () = assert!(core::mem::offset_of!(Header, flags) == FLAGS as usize);

/// Bytes of the longest request that is well formed: no more is ever copied out of guest memory.
pub(crate) const REQUEST_MAX: usize = {
    let batch = HEADER + BATCH_MAX as usize * size_of::<Op>();
    let regions = HEADER + ENTRIES_MAX as usize * size_of::<MapEntry>();
    let declarations = HEADER + DECLARATIONS_MAX as usize * size_of::<Declaration>();
    let longer = if batch > regions { batch } else { regions };
    if longer > declarations { longer } else { declarations }
};

/// Operations of one batch: the contract's own limit. The engine is given to nobody else meanwhile, and a
/// thousand accesses take it some tens of microseconds.
pub(crate) const BATCH_MAX: u16 = 1024;
const _: () = assert!(BATCH_MAX as u32 == ane_uapi::wire::ctrl::BATCH_MAX);

/// Entries of one message to PE_MMU: the contract's own limit.
const ENTRIES_MAX: u16 = 1024;
const _: () = assert!(ENTRIES_MAX as u32 == sideband::ENTRIES_MAX);

/// Declarations of one message: the contract's own limit.
const DECLARATIONS_MAX: u16 = 512;
const _: () = assert!(DECLARATIONS_MAX as u32 == sideband::DECLARATIONS_MAX);

/// What a request is carried out on.
pub(crate) trait Registers {
    /// Reads a word.
    fn read(&mut self, at: EngineOffset) -> Result<u32, Refusal>;
    /// Writes a word.
    fn write(&mut self, at: EngineOffset, value: u32) -> Result<(), Refusal>;
    /// Back to the state after power-on.
    fn reset(&mut self);
    /// True if an access without an answer ends its batch.
    fn is_strict(&self) -> bool;
    /// True if transfers are held against what mappings are for.
    fn is_checking(&self) -> bool;
    /// True if only a reset helps.
    fn is_dead(&self) -> bool;
    /// True if there is a PE_MMU.
    fn has_pe_mmu(&self) -> bool;
    /// Carries out a message to PE_MMU, as a whole or not at all.
    fn install(&mut self, regions: Regions<'_>) -> Result<(), NotDone>;
    /// Takes note of what a mapping is for, or of one that is no more; false if there are too many.
    fn declare(&mut self, stream: StreamId, range: IovaRange, usage: Option<Usage>) -> bool;
}

/// A request as it was found in guest memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    /// Its bytes, as far as they were copied: all, or [`REQUEST_MAX`] of them.
    pub(crate) bytes: &'a [u8],
    /// How many it has.
    pub(crate) len: u64,
    /// Bytes of its writable part.
    pub(crate) room: u64,
}

/// Why a request ends.
struct End {
    status: Status,
    index: u32,
    detail: u32,
}

impl End {
    const fn new(status: Status, detail: u32) -> Self {
        Self { status, index: NO_INDEX, detail }
    }
}

/// A length as an answer's `detail` tells it.
fn clamp(len: u64) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

/// Carries out a request. `answer` is what goes into its writable part: empty if that is too short for any.
pub(crate) fn carry_out(registers: &mut impl Registers, request: Request<'_>, answer: &mut Vec<u8>) {
    answer.clear();
    if request.room < RESPONSE as u64 {
        return;
    }
    let header = match Header::read_from_prefix(request.bytes) {
        Ok((header, _)) => header,
        Err(_) => {
            let detail = clamp(request.len);
            let response = Response::new(Status::TooShort, 0, NO_INDEX, detail, 0);
            answer.extend_from_slice(response.as_bytes());
            return;
        }
    };
    // The values come behind the response, which is known last.
    answer.resize(RESPONSE, 0);
    let mut done = 0;
    let cookie = header.cookie.get();
    let response = match run(registers, request, &header, &mut done, answer) {
        Ok(()) => Response::done(done, cookie),
        Err(end) => Response::new(end.status, done, end.index, end.detail, cookie),
    };
    if let Some(place) = answer.get_mut(..RESPONSE) {
        place.copy_from_slice(response.as_bytes());
    }
}

/// The answer to a request that the device itself failed at.
pub(crate) fn internal_error(request: Request<'_>, answer: &mut Vec<u8>) {
    answer.clear();
    if request.room >= RESPONSE as u64 {
        let cookie = Header::read_from_prefix(request.bytes).map_or(0, |(header, _)| header.cookie.get());
        let response = Response::new(Status::Internal, 0, NO_INDEX, 0, cookie);
        answer.extend_from_slice(response.as_bytes());
    }
}

/// True if a request is a reset, as far as its first bytes tell.
pub(crate) fn is_reset(bytes: &[u8]) -> bool {
    Header::read_from_prefix(bytes).is_ok_and(|(header, _)| header.kind() == Ok(Kind::Reset))
}

fn run(
    registers: &mut impl Registers,
    request: Request<'_>,
    header: &Header,
    done: &mut u32,
    answer: &mut Vec<u8>,
) -> Result<(), End> {
    let kind = header.kind().map_err(|_| End::new(Status::UnknownKind, header.kind.get().into()))?;
    if header.flags.get() != 0 {
        return Err(End::new(Status::ReservedSet, FLAGS));
    }
    let (limit, size) = match kind {
        Kind::Batch => (BATCH_MAX, size_of::<Op>()),
        Kind::Reset => (0, 0),
        Kind::PeMmuMap => (ENTRIES_MAX, size_of::<MapEntry>()),
        Kind::PeMmuUnmap => (ENTRIES_MAX, size_of::<UnmapEntry>()),
        Kind::Declare => (DECLARATIONS_MAX, size_of::<Declaration>()),
    };
    let is_there = match kind {
        Kind::Batch | Kind::Reset => true,
        Kind::PeMmuMap | Kind::PeMmuUnmap => registers.has_pe_mmu(),
        Kind::Declare => registers.is_checking(),
    };
    if !is_there {
        return Err(End::new(Status::Absent, 0));
    }
    let count = header.count.get();
    if count > limit.into() {
        return Err(End::new(Status::TooMany, limit.into()));
    }
    // At most 2^16 things of some bytes each.
    let expected = u64::from(count).saturating_mul(size as u64).saturating_add(HEADER as u64);
    if request.len < expected {
        return Err(End::new(Status::TooShort, clamp(request.len)));
    }
    if request.len > expected {
        return Err(End::new(Status::TooLong, clamp(request.len)));
    }
    let behind = request.bytes.get(HEADER..).unwrap_or_default();
    match kind {
        Kind::Batch => batch(registers, behind, request.room, done, answer),
        Kind::Declare => declare(registers, behind, done),
        Kind::PeMmuMap => regions(registers, entries(behind)?, Regions::Map, done),
        Kind::PeMmuUnmap => regions(registers, entries(behind)?, Regions::Unmap, done),
        Kind::Reset => {
            registers.reset();
            Ok(())
        }
    }
}

fn batch(
    registers: &mut impl Registers,
    bytes: &[u8],
    room: u64,
    done: &mut u32,
    answer: &mut Vec<u8>,
) -> Result<(), End> {
    // The bytes were copied out of guest memory once, so both passes see the same.
    let ops = <[Op]>::ref_from_bytes(bytes).map_err(|_| End::new(Status::Internal, 0))?;
    let reads = ops.iter().filter(|op| op.access() == Ok(Access::Read)).count();
    let needed = RESPONSE.saturating_add(reads.saturating_mul(4)) as u64;
    if room < needed {
        return Err(End::new(Status::NoRoom, clamp(needed)));
    }
    for (index, op) in (0u32..).zip(ops) {
        *done = index;
        match operation(registers, index, op) {
            Ok(Some(value)) => answer.extend_from_slice(&value.to_le_bytes()),
            Ok(None) => {}
            Err((status, detail)) => return Err(End { status, index, detail }),
        }
    }
    *done = u32::try_from(ops.len()).unwrap_or(u32::MAX);
    Ok(())
}

fn declare(registers: &mut impl Registers, bytes: &[u8], done: &mut u32) -> Result<(), End> {
    let entries = <[Declaration]>::ref_from_bytes(bytes).map_err(|_| End::new(Status::Internal, 0))?;
    if registers.is_dead() {
        return Err(End::new(Status::Dead, 0));
    }
    let end = |status, index| End { status, index, detail: 0 };
    // All of them first: a message with a bad one has no effect.
    for (index, entry) in (0u32..).zip(entries) {
        entry.decode().ok_or(end(Status::BadEntry, index))?;
    }
    for (index, entry) in (0u32..).zip(entries) {
        if let Some((stream, range, usage)) = entry.decode()
            && !registers.declare(stream, range, usage)
        {
            return Err(end(Status::NoRegions, index));
        }
        *done = index.saturating_add(1);
    }
    Ok(())
}

/// The entries of a message; its length was checked.
fn entries<T: FromBytes + Immutable + KnownLayout>(bytes: &[u8]) -> Result<&[T], End> {
    <[T]>::ref_from_bytes(bytes).map_err(|_| End::new(Status::Internal, 0))
}

fn regions<'a, T>(
    registers: &mut impl Registers,
    entries: &'a [T],
    message: impl FnOnce(&'a [T]) -> Regions<'a>,
    done: &mut u32,
) -> Result<(), End> {
    registers.install(message(entries)).map_err(|NotDone { status, entry }| End {
        status,
        index: entry.unwrap_or(NO_INDEX),
        detail: 0,
    })?;
    *done = u32::try_from(entries.len()).unwrap_or(u32::MAX);
    Ok(())
}

/// One operation; a read has a value.
fn operation(registers: &mut impl Registers, index: u32, op: &Op) -> Result<Option<u32>, (Status, u32)> {
    let access = op.access().map_err(|_| (Status::UnknownAccess, op.access.get().into()))?;
    let field = |offset: usize| {
        let start = u64::from(index).saturating_mul(size_of::<Op>() as u64);
        clamp(start.saturating_add((HEADER as u64).saturating_add(offset as u64)))
    };
    if op.reserved.get() != 0 {
        return Err((Status::ReservedSet, field(core::mem::offset_of!(Op, reserved))));
    }
    let at = EngineOffset(op.offset.get());
    let outcome = match access {
        Access::Read if op.value.get() != 0 => {
            return Err((Status::ReservedSet, field(core::mem::offset_of!(Op, value))));
        }
        Access::Read => registers.read(at).map(Some),
        Access::Write => registers.write(at, op.value.get()).map(|()| None),
    };
    outcome.or_else(|refusal| {
        let value = answer(refusal, registers.is_strict())?;
        Ok((access == Access::Read).then_some(value))
    })
}

#[cfg(test)]
mod tests;
