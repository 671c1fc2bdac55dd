//! Buffers of an arena that is made of huge pages, as arenas are in a virtual machine.
//!
//! The system maps such a file by whole huge pages only, and programs map buffers, which begin anywhere and are smaller.
//! So the huge pages around a buffer are mapped, and the program has the buffer's address. It gives back what it
//! believes it has, which the system would refuse: each such mapping is remembered until then. What lies around the
//! buffer is the same file's, which the program could map as well.

use std::sync::atomic::{AtomicUsize, Ordering};

use libc::{c_int, off_t};

use crate::files;
use crate::sys::file::{self, Identity};
use crate::sys::{Failure, Result, memory};

/// Mappings of a process at a time: 32 buffers of each of eight programs, four times over (Chosen).
const MAPPINGS: usize = 1024;

/// The system's page. Lengths are compared in these.
const PAGE: usize = 4096;

/// One mapping: what the program knows of it, and what there is.
struct Slot {
    /// The program's address; zero while the place is free.
    at: AtomicUsize,
    bytes: AtomicUsize,
    start: AtomicUsize,
    total: AtomicUsize,
}

/// An address that is none, while a place is being filled.
const FILLING: usize = usize::MAX;

impl Slot {
    const fn free() -> Self {
        Self {
            at: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            start: AtomicUsize::new(0),
            total: AtomicUsize::new(0),
        }
    }
}

static TABLE: [Slot; MAPPINGS] = [const { Slot::free() }; MAPPINGS];

/// The number of them, so that a process without any is not held up.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Maps a part of a file; `None` if it is no arena, or one of ordinary pages.
pub(crate) fn map(
    bytes: usize,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    offset: off_t,
) -> Option<Result<usize>> {
    if fd < 0 || flags & libc::MAP_ANONYMOUS != 0 || files::all().next().is_none() {
        return None;
    }
    let stat = file::status(fd).ok()?;
    let page = usize::try_from(stat.st_blksize).ok().filter(|&page| page > PAGE && page.is_power_of_two())?;
    files::find(Identity::of(&stat))?;
    Some(map_around(bytes, prot, flags, fd, offset, page))
}

fn map_around(
    bytes: usize,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    offset: off_t,
    page: usize,
) -> Result<usize> {
    let refused = Failure(libc::EINVAL);
    if flags & (libc::MAP_FIXED | libc::MAP_FIXED_NOREPLACE) != 0 {
        return Err(refused);
    }
    let offset = usize::try_from(offset).ok().filter(|offset| offset % PAGE == 0).ok_or(refused)?;
    let Around { from, before, total } = Around::of(offset, bytes, page).ok_or(refused)?;
    let start = memory::map_file(total, prot, flags, fd, from)?;
    let at = start.wrapping_add(before);
    if total == bytes || remember(at, bytes, start, total) {
        return Ok(at);
    }
    memory::unmap(start, total)?;
    Err(Failure(libc::ENOMEM))
}

/// Takes a mapping back; `None` if it is none of these.
pub(crate) fn unmap(at: usize, bytes: usize) -> Option<Result<()>> {
    if COUNT.load(Ordering::Relaxed) == 0 {
        return None;
    }
    let (start, total) = forget(at, bytes)?;
    Some(memory::unmap(start, total))
}

/// The huge pages around a part of a file.
#[derive(Debug, PartialEq, Eq)]
struct Around {
    /// Where they begin in the file.
    from: usize,
    /// Bytes of them before the part.
    before: usize,
    /// Bytes of all of them.
    total: usize,
}

impl Around {
    fn of(offset: usize, bytes: usize, page: usize) -> Option<Self> {
        let from = offset - offset % page;
        let end = offset.checked_add(bytes)?.checked_next_multiple_of(page)?;
        (bytes != 0).then_some(Self { from, before: offset - from, total: end - from })
    }
}

fn pages(bytes: usize) -> usize {
    bytes.div_ceil(PAGE)
}

/// False if there are too many.
fn remember(at: usize, bytes: usize, start: usize, total: usize) -> bool {
    let free =
        |slot: &&Slot| slot.at.compare_exchange(0, FILLING, Ordering::Acquire, Ordering::Relaxed).is_ok();
    let Some(slot) = TABLE.iter().find(free) else { return false };
    slot.bytes.store(bytes, Ordering::Relaxed);
    slot.start.store(start, Ordering::Relaxed);
    slot.total.store(total, Ordering::Relaxed);
    slot.at.store(at, Ordering::Release);
    COUNT.fetch_add(1, Ordering::Relaxed);
    true
}

/// Forgets a mapping of `bytes` bytes at `at`, and gives the part of it that is there.
fn forget(at: usize, bytes: usize) -> Option<(usize, usize)> {
    if at == 0 || at == FILLING {
        return None;
    }
    TABLE.iter().find_map(|slot| {
        let is_it = slot.at.load(Ordering::Acquire) == at
            && pages(slot.bytes.load(Ordering::Relaxed)) == pages(bytes);
        let found = (slot.start.load(Ordering::Relaxed), slot.total.load(Ordering::Relaxed));
        // Two threads that take the same mapping back are the program's mistake; one of them does it.
        let is_mine = is_it && slot.at.compare_exchange(at, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        is_mine.then(|| {
            COUNT.fetch_sub(1, Ordering::Relaxed);
            found
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HUGE: usize = 2 << 20;

    #[test]
    fn huge_pages_around_a_part_hold_all_of_it() {
        let around = |from, before, total| Some(Around { from, before, total });
        assert_eq!(Around::of(0, HUGE, HUGE), around(0, 0, HUGE));
        assert_eq!(Around::of(0x4000, 0x4000, HUGE), around(0, 0x4000, HUGE));
        assert_eq!(Around::of(HUGE - 0x4000, 0x8000, HUGE), around(0, HUGE - 0x4000, 2 * HUGE));
        assert_eq!(Around::of(3 * HUGE, 1, HUGE), around(3 * HUGE, 0, HUGE));
        assert_eq!(Around::of(0, 0, HUGE), None);
        assert_eq!(Around::of(usize::MAX, 2, HUGE), None);
    }

    #[test]
    fn mapping_is_found_once_by_what_the_program_knows_of_it() {
        let (at, start) = (0x7000_0000_4000, 0x7000_0000_0000);
        assert!(remember(at, 0x5001, start, HUGE));
        assert_eq!(forget(at, 0x4000), None, "a part of it");
        assert_eq!(forget(at, 0x6000), Some((start, HUGE)));
        assert_eq!(forget(at, 0x6000), None);
    }
}
