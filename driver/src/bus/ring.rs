//! A split virtqueue as the driver sees it.
//!
//! The two sides share three tables. The driver describes buffers in the *descriptor table*, and announces
//! the first descriptor of each chain in the *available ring*; the device announces in the *used ring* which
//! chains it is done with. Each ring has an index that only ever counts up, modulo 2^16, and each side tells
//! the other when it wants to be woken: with plain flags, or (event index) with the count at which to wake.
//!
//! All arithmetic on these counts is modulo 2^16, and comparisons are made on differences. A comparison that
//! is off by one at the wrap loses a wake-up once in 65,536 requests, and then the queue stands still; so it
//! is written once, in [`passed`], and the tests start just before the wrap.
//!
//! The device is not trusted: what it writes is checked against what is kept here, and nothing that it could
//! have changed (the links between descriptors above all) is read back from shared memory.
//!
//! Only `core` is used, and nothing is allocated, so that a kernel could use it.

mod error;

use core::sync::atomic::{Ordering, fence};

pub use error::{AddError, BadArea, Broken};

/// Memory that both sides see. Values are little-endian in it; accesses need not be ordered among each other,
/// but an access of a naturally aligned word must not tear.
///
/// An access outside the area cannot come from a [`Ring`]: its constructor compares its needs with
/// [`Area::bytes`].
pub trait Area {
    fn bytes(&self) -> usize;
    fn load_u16(&self, at: usize) -> u16;
    fn load_u32(&self, at: usize) -> u32;
    fn store_u16(&self, at: usize, value: u16);
    fn store_u32(&self, at: usize, value: u32);
    fn store_u64(&self, at: usize, value: u64);
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// `VIRTIO_F_RING_EVENT_IDX`: wake-ups are asked for by count.
    pub event_index: bool,
    /// `VIRTIO_F_INDIRECT_DESC`: a chain may have a table of its own, and so takes one place in the ring.
    pub indirect: bool,
}

/// Where the tables are in a ring's area, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub descriptors: usize,
    pub available: usize,
    pub used: usize,
    /// The indirect tables, one for each place.
    pub tables: usize,
    pub bytes: usize,
}

const DESCRIPTOR: usize = 16;

/// Most parts of one chain: a request has two, and some room is left. Also the size of a place's indirect table.
pub const PARTS_MAX: usize = 8;

/// Flags of a descriptor: it goes on in `next`; the device writes it; it is a table.
const NEXT: u16 = 1;
const WRITE: u16 = 2;
const INDIRECT: u16 = 4;

/// In `flags` of either ring: do not wake me.
const NO_WAKE: u16 = 1;

/// Bytes of a ring's flags and index, before its entries.
const RING_HEADER: usize = 4;

const USED_ENTRY: usize = 8;

impl Layout {
    pub const fn of(size: u16) -> Self {
        let size = size as usize;
        let available = DESCRIPTOR * size;
        // Flags, index, entries, and the event count behind them; the used ring is aligned to four.
        let used = (available + RING_HEADER + 2 * size + 2).next_multiple_of(4);
        let tables = (used + RING_HEADER + USED_ENTRY * size + 2).next_multiple_of(DESCRIPTOR);
        Self { descriptors: 0, available, used, tables, bytes: tables + DESCRIPTOR * PARTS_MAX * size }
    }
}

/// A stretch of memory, by the address that the device knows it by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub address: u64,
    /// Bytes; not zero.
    pub bytes: u32,
    pub writable: bool,
}

/// An outstanding chain: the number of its first descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Token(pub u16);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    pub token: Token,
    /// Bytes that the device says it wrote.
    pub written: u32,
}

/// True if a count that went from `old` to `new` has passed `event`: the other side asked to be woken when
/// the entry of that number is announced.
pub const fn passed(event: u16, new: u16, old: u16) -> bool {
    new.wrapping_sub(event).wrapping_sub(1) < new.wrapping_sub(old)
}

/// The record of a chain that the device has.
#[derive(Clone, Copy, Debug, Default)]
struct Chain {
    /// Descriptors that it takes; 0 if there is no such chain.
    places: u16,
    /// Bytes that the device may write.
    writable: u32,
}

/// A split virtqueue of `SIZE` places, a power of two.
#[derive(Debug)]
pub struct Ring<A, const SIZE: usize> {
    area: A,
    base: u64,
    features: Features,
    /// The free places, linked; and for a chain, its own.
    links: [u16; SIZE],
    free: u16,
    free_count: u16,
    chains: [Chain; SIZE],
    outstanding: u16,
    added: u16,
    /// Chains of those that the device was told about.
    published: u16,
    taken: u16,
}

impl<A: Area, const SIZE: usize> Ring<A, SIZE> {
    /// Where its tables are.
    pub const LAYOUT: Layout = {
        assert!(SIZE.is_power_of_two() && SIZE <= 1 << 15, "a queue has a power of two of places");
        Layout::of(SIZE as u16)
    };

    /// Sets a ring up in `area`, which the device knows by the address `base`.
    pub fn new(area: A, base: u64, features: Features) -> Result<Self, BadArea> {
        Self::starting_at(area, base, features, 0)
    }

    /// The same, with both counts at `start`, as a queue goes on that was stopped.
    pub fn starting_at(area: A, base: u64, features: Features, start: u16) -> Result<Self, BadArea> {
        let needed = Self::LAYOUT.bytes;
        if area.bytes() < needed {
            return Err(BadArea::Short { bytes: area.bytes(), needed });
        }
        if !base.is_multiple_of(DESCRIPTOR as u64) {
            return Err(BadArea::Misaligned { base });
        }
        if base.checked_add(needed as u64).is_none() {
            return Err(BadArea::Wraps { base });
        }
        for at in (0..Self::LAYOUT.tables).step_by(4) {
            area.store_u32(at, 0);
        }
        let index = Self::LAYOUT.available + 2;
        area.store_u16(index, start);
        area.store_u16(Self::LAYOUT.used + 2, start);
        let mut links = [0; SIZE];
        for (next, link) in (1u16..).zip(links.iter_mut()) {
            *link = next;
        }
        Ok(Self {
            area,
            base,
            features,
            links,
            free: 0,
            free_count: SIZE as u16,
            chains: [Chain::default(); SIZE],
            outstanding: 0,
            added: start,
            published: start,
            taken: start,
        })
    }

    /// The address by which the device knows the area.
    pub const fn base(&self) -> u64 {
        self.base
    }

    /// Chains that were added and not taken back.
    pub const fn outstanding(&self) -> u16 {
        self.outstanding
    }

    /// Adds a chain; the device learns of it with the next [`publish`](Self::publish).
    ///
    /// # Errors
    ///
    /// Refuses a chain that no device would take, and any chain while the ring is full. Nothing is added then.
    pub fn add(&mut self, parts: &[Part]) -> Result<Token, AddError> {
        let writable = check(parts, SIZE)?;
        let indirect = self.features.indirect && parts.len() > 1;
        let places = if indirect { 1 } else { parts.len() as u16 };
        if places > self.free_count {
            return Err(AddError::Full);
        }
        let head = self.free;
        if indirect {
            let table = Self::LAYOUT.tables + DESCRIPTOR * PARTS_MAX * usize::from(head);
            for (n, part) in (0u16..).zip(parts) {
                let next = (usize::from(n) + 1 < parts.len()).then_some(n + 1);
                self.describe(table + DESCRIPTOR * usize::from(n), part, next);
            }
            let at = DESCRIPTOR * usize::from(head);
            self.area.store_u64(at, self.base + table as u64);
            self.area.store_u32(at + 8, (DESCRIPTOR * parts.len()) as u32);
            self.area.store_u16(at + 12, INDIRECT);
            self.area.store_u16(at + 14, 0);
            self.free = self.link(head);
        } else {
            let mut place = head;
            for (n, part) in parts.iter().enumerate() {
                let after = self.link(place);
                let next = (n + 1 < parts.len()).then_some(after);
                self.describe(DESCRIPTOR * usize::from(place), part, next);
                place = after;
            }
            self.free = place;
        }
        self.free_count -= places;
        if let Some(chain) = self.chains.get_mut(usize::from(head)) {
            *chain = Chain { places, writable };
        }
        let slot = usize::from(self.added) % SIZE;
        self.area.store_u16(Self::LAYOUT.available + RING_HEADER + 2 * slot, head);
        self.added = self.added.wrapping_add(1);
        self.outstanding += 1;
        Ok(Token(head))
    }

    /// Tells the device of the chains that were added; true if it wants to be woken.
    pub fn publish(&mut self) -> bool {
        let old = core::mem::replace(&mut self.published, self.added);
        if old == self.added {
            return false;
        }
        // The chains have to be there before the index says so.
        fence(Ordering::Release);
        self.area.store_u16(Self::LAYOUT.available + 2, self.added);
        // The device looks at the index after it said that it sleeps; so must we at what it said after we
        // moved the index, or both miss each other.
        fence(Ordering::SeqCst);
        if self.features.event_index {
            let event = self.area.load_u16(Self::LAYOUT.used + RING_HEADER + USED_ENTRY * SIZE);
            passed(event, self.added, old)
        } else {
            self.area.load_u16(Self::LAYOUT.used) & NO_WAKE == 0
        }
    }

    /// True if the device is done with a chain that was not taken back.
    pub fn is_ready(&self) -> bool {
        self.area.load_u16(Self::LAYOUT.used + 2) != self.taken
    }

    /// Takes back a chain that the device is done with.
    ///
    /// # Errors
    ///
    /// [`Broken`] if the device wrote nonsense. Nothing is taken back then, and the same is found again.
    pub fn take(&mut self) -> Result<Option<Done>, Broken> {
        let found = self.area.load_u16(Self::LAYOUT.used + 2);
        let ready = found.wrapping_sub(self.taken);
        if ready == 0 {
            return Ok(None);
        }
        // Only published chains can come back; added ones are unknown to the device.
        let known = self.outstanding.wrapping_sub(self.added.wrapping_sub(self.published));
        if ready > known {
            return Err(Broken::Index { found, seen: self.taken, outstanding: known });
        }
        // The fence makes the writes of the device before the index visible after it.
        fence(Ordering::Acquire);
        let entry = Self::LAYOUT.used + RING_HEADER + USED_ENTRY * (usize::from(self.taken) % SIZE);
        let id = self.area.load_u32(entry);
        let written = self.area.load_u32(entry + 4);
        let head = u16::try_from(id).map_err(|_| Broken::Token { id })?;
        let chain = self.chains.get_mut(usize::from(head)).ok_or(Broken::Token { id })?;
        if chain.places == 0 {
            return Err(Broken::Token { id });
        }
        if written > chain.writable {
            return Err(Broken::Written { claimed: written, given: chain.writable });
        }
        let places = core::mem::take(chain).places;
        self.release(head, places);
        self.taken = self.taken.wrapping_add(1);
        self.outstanding -= 1;
        Ok(Some(Done { token: Token(head), written }))
    }

    /// Asks to be woken when the device is done with a chain; true if one is there, for which no wake-up may come then.
    pub fn arm(&mut self) -> bool {
        if self.features.event_index {
            self.area.store_u16(Self::LAYOUT.available + RING_HEADER + 2 * SIZE, self.taken);
        } else {
            self.area.store_u16(Self::LAYOUT.available, 0);
        }
        fence(Ordering::SeqCst);
        self.is_ready()
    }

    /// Asks not to be woken. With event index nothing needs to be said: a count asks for one wake-up only.
    pub fn disarm(&mut self) {
        if !self.features.event_index {
            self.area.store_u16(Self::LAYOUT.available, NO_WAKE);
        }
    }

    fn link(&self, place: u16) -> u16 {
        self.links.get(usize::from(place)).copied().unwrap_or(0)
    }

    fn describe(&self, at: usize, part: &Part, next: Option<u16>) {
        let write = if part.writable { WRITE } else { 0 };
        self.area.store_u64(at, part.address);
        self.area.store_u32(at + 8, part.bytes);
        self.area.store_u16(at + 12, write | if next.is_some() { NEXT } else { 0 });
        self.area.store_u16(at + 14, next.unwrap_or(0));
    }

    /// Puts the places of a chain in front of the free ones.
    fn release(&mut self, head: u16, places: u16) {
        let mut last = head;
        for _ in 1..places {
            last = self.link(last);
        }
        if let Some(link) = self.links.get_mut(usize::from(last)) {
            *link = self.free;
        }
        self.free = head;
        self.free_count += places;
    }
}

/// Checks a chain; the number is how many bytes the device may write.
fn check(parts: &[Part], size: usize) -> Result<u32, AddError> {
    if parts.is_empty() {
        return Err(AddError::Empty);
    }
    if parts.len() > PARTS_MAX.min(size) {
        return Err(AddError::TooLong { parts: parts.len() });
    }
    let (mut total, mut writable) = (0u32, 0u32);
    for (index, part) in parts.iter().enumerate() {
        if part.bytes == 0 {
            return Err(AddError::EmptyPart { index });
        }
        total = total.checked_add(part.bytes).ok_or(AddError::TooBig)?;
        if part.writable {
            writable += part.bytes;
        } else if writable != 0 {
            return Err(AddError::Order { index });
        }
    }
    Ok(writable)
}

#[cfg(test)]
mod tests;
