//! One request of queue 0: what it asks for, and what the device answers.
//!
//! This is the only decoder of requests. Nothing in here knows what carried the bytes: a virtqueue of a guest, or a
//! driver in this process. They are not trusted either way, so they are checked in the order that
//! `docs/virtio-ane.md` gives: everything that can be known beforehand is checked before anything is
//! done; what is then refused in the middle ends the batch there, and the answer says where.

use ane_uapi::hw::space::EngineOffset;
use ane_uapi::wire::ctrl::{self, Access, Header, NO_INDEX, Op, RequestKind, Response, Status};
use ane_uapi::wire::sideband::{self, Declaration, MapEntry, Regions, UnmapEntry};
use vm_memory::GuestMemory;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::regions::{NotDone, install};
use crate::Ane;
use crate::engine::Engine;
use crate::halves::halves;
use crate::refusal::{Refusal, Why};
use crate::time::Ticks;

const HEADER: usize = size_of::<Header>();
const RESPONSE: usize = size_of::<Response>();

/// Where a header's flags start.
const FLAGS: u32 = 2;
const _: () = assert!(core::mem::offset_of!(Header, flags) == FLAGS as usize);

/// Bytes of the longest request that is well formed: no more is ever copied out of guest memory.
pub const REQUEST_MAX: usize = {
    let batch = HEADER + BATCH_MAX as usize * size_of::<Op>();
    let regions = HEADER + ENTRIES_MAX as usize * size_of::<MapEntry>();
    let declarations = HEADER + DECLARATIONS_MAX as usize * size_of::<Declaration>();
    let longer = if batch > regions { batch } else { regions };
    if longer > declarations { longer } else { declarations }
};

/// Operations of one batch: the contract's own limit. No other request gets the engine meanwhile, and a
/// thousand accesses take it some tens of microseconds.
pub(super) const BATCH_MAX: u16 = 1024;
const _: () = assert!(BATCH_MAX as u32 == ctrl::BATCH_MAX);

/// Entries of one message to PE_MMU: the contract's own limit.
pub(super) const ENTRIES_MAX: u16 = 1024;
const _: () = assert!(ENTRIES_MAX as u32 == sideband::ENTRIES_MAX);

/// Declarations of one message: the contract's own limit.
const DECLARATIONS_MAX: u16 = 512;
const _: () = assert!(DECLARATIONS_MAX as u32 == sideband::DECLARATIONS_MAX);

/// A request as its carrier found it.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The bytes that were copied: all of the request, or the first [`REQUEST_MAX`].
    pub bytes: &'a [u8],
    pub len: u64,
    /// Bytes of its writable part.
    pub room: u64,
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

/// Carries out a request at the time `now`. `answer` is what goes into its writable part: empty if that is too short
/// for any.
pub fn carry_out<M: GuestMemory, E: Engine<M>>(
    ane: &mut Ane<M, E>,
    now: Ticks,
    request: Request<'_>,
    answer: &mut Vec<u8>,
) {
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
    let mut underway = Underway { ane, now, done: 0, answer };
    let outcome = underway.run(request, &header);
    let done = underway.done;
    let cookie = header.cookie.get();
    let response = match outcome {
        Ok(()) => Response::done(done, cookie),
        Err(end) => Response::new(end.status, done, end.index, end.detail, cookie),
    };
    if let Some(place) = answer.get_mut(..RESPONSE) {
        place.copy_from_slice(response.as_bytes());
    }
}

/// The answer to a request that the device itself failed at.
pub fn internal_error(request: Request<'_>, answer: &mut Vec<u8>) {
    answer.clear();
    if request.room >= RESPONSE as u64 {
        let cookie = Header::read_from_prefix(request.bytes).map_or(0, |(header, _)| header.cookie.get());
        let response = Response::new(Status::Internal, 0, NO_INDEX, 0, cookie);
        answer.extend_from_slice(response.as_bytes());
    }
}

/// True if a request is a reset, as far as its first bytes tell.
pub fn is_reset(bytes: &[u8]) -> bool {
    Header::read_from_prefix(bytes).is_ok_and(|(header, _)| header.kind() == Ok(RequestKind::Reset))
}

/// A request that is being carried out.
struct Underway<'a, M, E> {
    ane: &'a mut Ane<M, E>,
    now: Ticks,
    /// Operations or entries that took effect.
    done: u32,
    answer: &'a mut Vec<u8>,
}

impl<M: GuestMemory, E: Engine<M>> Underway<'_, M, E> {
    fn run(&mut self, request: Request<'_>, header: &Header) -> Result<(), End> {
        let kind = header.kind().map_err(|_| End::new(Status::UnknownKind, header.kind.get().into()))?;
        if header.flags.get() != 0 {
            return Err(End::new(Status::ReservedSet, FLAGS));
        }
        let (limit, size) = match kind {
            RequestKind::Batch => (BATCH_MAX, size_of::<Op>()),
            RequestKind::Reset => (0, 0),
            RequestKind::PeMmuMap => (ENTRIES_MAX, size_of::<MapEntry>()),
            RequestKind::PeMmuUnmap => (ENTRIES_MAX, size_of::<UnmapEntry>()),
            RequestKind::Declare => (DECLARATIONS_MAX, size_of::<Declaration>()),
        };
        let is_there = match kind {
            RequestKind::Batch | RequestKind::Reset => true,
            RequestKind::PeMmuMap | RequestKind::PeMmuUnmap => self.ane.dart().before().is_some(),
            RequestKind::Declare => self.ane.is_checking(),
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
            RequestKind::Batch => self.batch(behind, request.room),
            RequestKind::Declare => self.declare(behind),
            RequestKind::PeMmuMap => self.regions(Regions::Map(entries(behind)?)),
            RequestKind::PeMmuUnmap => self.regions(Regions::Unmap(entries(behind)?)),
            RequestKind::Reset => {
                self.ane.reset(self.now);
                Ok(())
            }
        }
    }

    fn batch(&mut self, bytes: &[u8], room: u64) -> Result<(), End> {
        // The bytes are this side's own, so both passes see the same.
        let ops = entries::<Op>(bytes)?;
        let reads = ops.iter().filter(|op| op.access() == Ok(Access::Read)).count();
        let needed = RESPONSE.saturating_add(reads.saturating_mul(4)) as u64;
        if room < needed {
            return Err(End::new(Status::NoRoom, clamp(needed)));
        }
        for (index, op) in (0u32..).zip(ops) {
            self.done = index;
            match self.operation(index, op) {
                Ok(Some(value)) => self.answer.extend_from_slice(&value.to_le_bytes()),
                Ok(None) => {}
                Err((status, detail)) => return Err(End { status, index, detail }),
            }
        }
        self.done = u32::try_from(ops.len()).unwrap_or(u32::MAX);
        Ok(())
    }

    /// One operation; a read has a value.
    fn operation(&mut self, index: u32, op: &Op) -> Result<Option<u32>, (Status, u32)> {
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
            Access::Read => self.ane.read(at, self.now).map(Some),
            Access::Write => self.ane.write(at, op.value.get(), self.now).map(|()| None),
        };
        outcome.or_else(|refusal| {
            let value = answer_to_refusal(refusal, self.ane.is_strict())?;
            Ok((access == Access::Read).then_some(value))
        })
    }

    fn declare(&mut self, bytes: &[u8]) -> Result<(), End> {
        let declarations = entries::<Declaration>(bytes)?;
        if self.ane.dart().is_dead() {
            return Err(End::new(Status::Dead, 0));
        }
        let end = |status, index| End { status, index, detail: 0 };
        // All of them first: a message with a bad one has no effect.
        for (index, declaration) in (0u32..).zip(declarations) {
            declaration.decode().ok_or(end(Status::BadEntry, index))?;
        }
        for (index, declaration) in (0u32..).zip(declarations) {
            let dart = self.ane.dart_mut();
            match declaration.decode() {
                Some((stream, range, Some(usage))) if !dart.declare(stream, range, usage) => {
                    return Err(end(Status::NoRegions, index));
                }
                Some((stream, range, None)) => dart.forget(stream, range),
                // Declared above, or bad, which was looked at before.
                Some(_) | None => {}
            }
            self.done = index.saturating_add(1);
        }
        Ok(())
    }

    fn regions(&mut self, regions: Regions<'_>) -> Result<(), End> {
        let count = regions.len();
        install(self.ane, regions).map_err(|NotDone { status, entry }| End {
            status,
            index: entry.unwrap_or(NO_INDEX),
            detail: 0,
        })?;
        self.done = u32::try_from(count).unwrap_or(u32::MAX);
        Ok(())
    }
}

/// The bytes behind a header, as entries; their length was checked.
fn entries<T: FromBytes + Immutable + KnownLayout>(bytes: &[u8]) -> Result<&[T], End> {
    <[T]>::ref_from_bytes(bytes).map_err(|_| End::new(Status::Internal, 0))
}

/// The value of a refused read if its batch goes on; otherwise the status and detail with which the batch ends there.
fn answer_to_refusal(refusal: Refusal, is_strict: bool) -> Result<u32, (Status, u32)> {
    match refusal.why {
        Why::Misaligned => Err((Status::Misaligned, refusal.at.0)),
        Why::OutsideContainer => Err((Status::OutsideContainer, refusal.at.0)),
        Why::Dead => Err((Status::Dead, 0)),
        _ if is_strict => Err((Status::Unmodelled, refusal.at.0)),
        // The refusal stands in the log; the batch goes on, as a bus would.
        _ => Ok(halves(refusal.answer()).0),
    }
}
