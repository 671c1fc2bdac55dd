//! DMA: how the engine's circuits reach guest memory.
//!
//! A transfer of the engine asks the [`Dart`](super::Dart) for a [`Dma`]: one circuit, one stream.
//! Each transfer goes the same way:
//!
//! 1. The range is valid by its type. An address that is none goes to [`Dma::range`] or [`Dma::refuse`].
//! 2. Every page is translated and judged, from the first address up, before a byte moves: a transfer that
//!    fails has no effect on memory or on the engine (Chosen; real silicon may have moved what came before).
//! 3. The bytes go straight between guest memory and the caller's, in as few pieces as memory has (`moving`).
//!
//! The window captures a fault once. The caller gets it as the descriptor that drivers know.
//!
//! Zero bytes are no transfer: they touch nothing and fault nowhere. A range that wraps, crosses 2^32 or
//! leaves the aperture faults at its first byte outside, whatever is mapped below.

use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use ane_uapi::hw::dart::aperture::PAGE_SIZE;
use ane_uapi::hw::dart::walk::ENTRY_BYTES;
use ane_uapi::hw::fault::IoDartErrorInfo;
use ane_uapi::hw::space::{BadRange, IovaRange, PhysAddr};
use vm_memory::bitmap::Bitmap;
use vm_memory::{GuestAddress, GuestMemory, GuestMemoryBackend, GuestMemoryRegion};

use super::fault::Result;
use super::memory::{Home, MemoryMap, Place};
use super::moving::{self, Alone, Helpers};
use super::rows::Rows;
use super::stream::Access;
use super::translate::Translator;
use super::walk::Tables;
use crate::copy;

/// Guest memory for as long as it is borrowed, by places in this process.
pub(super) struct View<'a> {
    map: &'a MemoryMap,
    home: Home,
    memory: PhantomData<&'a ()>,
}

impl<'a> View<'a> {
    /// Notes where `memory` lies; true if places found earlier are void, which the caller has to forget.
    pub(super) fn attach<M>(map: &'a mut MemoryMap, memory: Option<&'a M>) -> (Self, bool)
    where
        M: GuestMemoryBackend + ?Sized,
    {
        let replaced = map.note(memory);
        (Self { map, home: Home::NONE, memory: PhantomData }, replaced)
    }

    /// Where `len` bytes from `at` lie, if one region holds them all.
    pub(super) fn find(&mut self, at: PhysAddr, len: u32) -> Option<Place> {
        match self.home.find(at) {
            Some(place) if len <= PAGE_SIZE => Some(place),
            _ => self.search(at, len),
        }
    }

    /// The part of memory that was used last.
    #[inline]
    pub(super) const fn at_home(&self) -> AtHome<'_> {
        AtHome(&self.home)
    }

    /// The same, away from home.
    fn search(&mut self, at: PhysAddr, len: u32) -> Option<Place> {
        let place = self.map.find(at, len.into())?;
        self.home = self.map.home_of(place);
        Some(place)
    }

    /// Where the page at `at` lies, if one region holds it all.
    pub(super) fn find_page(&mut self, at: PhysAddr) -> Option<Place> {
        self.find(at, PAGE_SIZE)
    }

    pub(super) fn address_of(&self, place: Place) -> Option<PhysAddr> {
        self.map.address_of(place)
    }

    /// Copies the bytes from `place` on, which have been found in one region.
    ///
    /// A place comes from [`MemoryMap::find`], which was asked for all the bytes that are used from it: for a
    /// page before its translation is kept, for an entry or a bypassing stretch before it is used. So the bytes
    /// lie in a slice that the memory object handed out when it was noted, and whose address it exposed.
    /// [`View::attach`] has noted it again for this view: either every region lies where it did, or everything
    /// that holds places was cleared ([`Dart::dma`](super::Dart::dma)). The memory object, and with it the
    /// slice, is borrowed for `'a`. The guest may write the bytes meanwhile, and gets what it wrote; no
    /// reference to them is made here or elsewhere in this process.
    #[inline]
    #[expect(unsafe_code, reason = "a guest page is resolved once and then moved by its address")]
    fn copy_out(&self, place: Place, into: &mut [u8]) {
        let from: *const u8 = ptr::with_exposed_provenance(place.host());
        // SAFETY: the bytes at `from` are guest memory that is borrowed, as above; `into` is a slice of this
        // process, which guest memory never is.
        unsafe { copy::bytes(from, into.as_mut_ptr(), into.len()) }
    }

    /// Copies bytes to `place` and behind it; see [`View::copy_out`].
    #[inline]
    #[expect(unsafe_code, reason = "a guest page is resolved once and then moved by its address")]
    fn copy_in(&self, place: Place, from: &[u8]) {
        let into: *mut u8 = ptr::with_exposed_provenance_mut(place.host());
        // SAFETY: the bytes at `into` are guest memory that is borrowed, as above, and mapped for writing as
        // all of it is; `from` is a slice of this process, which guest memory never is.
        unsafe { copy::bytes(from.as_ptr(), into, from.len()) }
    }
}

/// The entry at `place`, where an aligned word has been found in one region.
///
/// A driver writes the leaf first and then the entry that leads to it, so this one is read before what depends
/// on it.
#[inline]
#[expect(unsafe_code, reason = "an entry is read once, in one piece, while the guest may write it")]
fn entry_at(place: Place) -> u64 {
    let host = ptr::with_exposed_provenance_mut(place.host());
    // SAFETY: the eight bytes were found in a region that is borrowed, as `View::copy_out` explains; both
    // callers see to it that they are aligned. The guest may write them meanwhile, which is why they are read
    // as one atomic word.
    let entry = unsafe { AtomicU64::from_ptr(host) };
    u64::from_le(entry.load(Ordering::Acquire))
}

impl Tables for View<'_> {
    fn load(&mut self, at: PhysAddr) -> Option<u64> {
        // A region that lies askew has no entries that can be read in one piece, and holds no tables.
        let place = self.find(at, ENTRY_BYTES)?;
        place.host().is_multiple_of(size_of::<u64>()).then(|| entry_at(place))
    }
}

/// The region of guest memory that was used last, alone.
pub(super) struct AtHome<'v>(&'v Home);

impl Tables for AtHome<'_> {
    #[inline]
    fn load(&mut self, at: PhysAddr) -> Option<u64> {
        // Home is a region where what is aligned there is aligned here.
        let place = self.0.find(at).filter(|_| at.is_aligned(ENTRY_BYTES.into()))?;
        Some(entry_at(place))
    }
}

impl AtHome<'_> {
    /// Where the page at `at` lies, if it lies at home.
    #[inline]
    pub(super) fn find_page(&self, at: PhysAddr) -> Option<Place> {
        self.0.find(at)
    }
}

/// One circuit's way to guest memory, for requests of one stream.
///
/// It holds the registers as they are: no register can be written while it lives. The error of a method is the fault of the
/// first address that the access may not use, captured like any other. Nothing was moved then.
pub struct Dma<'a, M: GuestMemory> {
    translator: Translator<'a>,
    memory: Option<&'a M::PhysicalMemory>,
}

/// The first `len` bytes, or as many as there are.
#[inline]
fn shorter(bytes: &[u8], len: u32) -> &[u8] {
    bytes.get(..len as usize).unwrap_or(bytes)
}

/// The first `len` bytes, or as many as there are.
#[inline]
fn shorter_mut(bytes: &mut [u8], len: u32) -> &mut [u8] {
    let len = bytes.len().min(len as usize);
    bytes.get_mut(..len).unwrap_or_default()
}

impl<'a, M: GuestMemory> Dma<'a, M> {
    pub(super) const fn new(translator: Translator<'a>, memory: Option<&'a M::PhysicalMemory>) -> Self {
        Self { translator, memory }
    }

    /// Does all of a transfer but the move: says whether `access` may use every byte of `range`.
    ///
    /// The translations are kept in the translation buffer as for any transfer.
    #[inline]
    pub fn check(&mut self, range: IovaRange, access: Access) -> Result<()> {
        let translator = &mut self.translator;
        if translator.kept(range, access).is_some() || translator.filled(range, access).is_some() {
            return Ok(());
        }
        translator.begin_check(range.into(), access)?;
        translator.plan(range, access)
    }

    /// Does all of a transfer of rows but the move.
    pub fn check_rows(&mut self, rows: Rows, access: Access) -> Result<()> {
        self.translator.begin_check(rows, access)?;
        self.translator.plan_rows(rows, access)
    }

    /// Says whether the window lets an access pass now that it stopped. The address is the one that reached the window.
    pub(super) fn look_again(&mut self, range: IovaRange, access: Access) -> Result<()> {
        self.translator.look_again(range, access)
    }

    /// Reads `range` into `into`; the shorter of the two says how much.
    #[inline]
    pub fn read(&mut self, range: IovaRange, into: &mut [u8]) -> Result<()> {
        self.read_range(range, into, &mut Alone)
    }

    #[inline]
    fn read_range(&mut self, range: IovaRange, into: &mut [u8], helpers: &mut impl Helpers) -> Result<()> {
        match self.translator.kept(range, Access::Read) {
            Some(place) => self.translator.view.copy_out(place, shorter_mut(into, range.len())),
            None => self.read_pages(range, into, helpers)?,
        }
        self.count(Access::Read, range.len().into());
        Ok(())
    }

    #[inline(never)]
    fn read_pages(&mut self, range: IovaRange, into: &mut [u8], helpers: &mut impl Helpers) -> Result<()> {
        if let Some(place) = self.translator.filled(range, Access::Read) {
            self.translator.view.copy_out(place, shorter_mut(into, range.len()));
            return Ok(());
        }
        self.translator.begin(range.into(), Access::Read)?;
        self.translator.plan(range, Access::Read)?;
        self.gather(into.len(), [into], helpers);
        Ok(())
    }

    /// Writes `from` to `range`; the shorter of the two says how much.
    #[inline]
    pub fn write(&mut self, range: IovaRange, from: &[u8]) -> Result<()> {
        self.write_range(range, from, &mut Alone)
    }

    #[inline]
    fn write_range(&mut self, range: IovaRange, from: &[u8], helpers: &mut impl Helpers) -> Result<()> {
        match self.translator.kept(range, Access::Write) {
            Some(place) => self.put(place, shorter(from, range.len())),
            None => self.write_pages(range, from, helpers)?,
        }
        self.count(Access::Write, range.len().into());
        Ok(())
    }

    #[inline(never)]
    fn write_pages(&mut self, range: IovaRange, from: &[u8], helpers: &mut impl Helpers) -> Result<()> {
        if let Some(place) = self.translator.filled(range, Access::Write) {
            self.put(place, shorter(from, range.len()));
            return Ok(());
        }
        self.translator.begin(range.into(), Access::Write)?;
        self.translator.plan(range, Access::Write)?;
        self.scatter(from.len(), [from], helpers);
        Ok(())
    }

    /// Reads rows into `into`, one behind the other; the shorter of the two says how much.
    pub fn read_rows(&mut self, rows: Rows, into: &mut [u8], helpers: &mut impl Helpers) -> Result<()> {
        if rows.count() == 1 {
            return self.read_range(rows.span(), into, helpers);
        }
        self.translator.begin(rows, Access::Read)?;
        self.translator.plan_rows(rows, Access::Read)?;
        self.gather(into.len(), [into], helpers);
        self.count(Access::Read, rows.bytes());
        Ok(())
    }

    /// Writes `from` to rows, one behind the other; the shorter of the two says how much.
    pub fn write_rows(&mut self, rows: Rows, from: &[u8], helpers: &mut impl Helpers) -> Result<()> {
        if rows.count() == 1 {
            return self.write_range(rows.span(), from, helpers);
        }
        self.translator.begin(rows, Access::Write)?;
        self.translator.plan_rows(rows, Access::Write)?;
        self.scatter(from.len(), [from], helpers);
        self.count(Access::Write, rows.bytes());
        Ok(())
    }

    /// Reads several groups of rows, each into bytes of its own that are as many, as one transfer each: all are translated,
    /// one after the other, before a byte moves.
    pub fn read_all<'i>(
        &mut self,
        parts: impl Iterator<Item = (Rows, &'i mut [u8])>,
        helpers: &mut impl Helpers,
    ) -> Result<()> {
        let into = self.plan_all(parts, Access::Read)?;
        let bytes = into.iter().map(|part| part.len()).sum();
        self.gather(bytes, into, helpers);
        Ok(())
    }

    /// Writes several groups of rows, as [`Dma::read_all`] reads them.
    pub fn write_all<'i>(
        &mut self,
        parts: impl Iterator<Item = (Rows, &'i [u8])>,
        helpers: &mut impl Helpers,
    ) -> Result<()> {
        let from = self.plan_all(parts, Access::Write)?;
        let bytes = from.iter().map(|part| part.len()).sum();
        self.scatter(bytes, from, helpers);
        Ok(())
    }

    /// Plans several groups of rows as one, and counts each as a transfer; what belongs to them.
    fn plan_all<T>(&mut self, parts: impl Iterator<Item = (Rows, T)>, access: Access) -> Result<Vec<T>> {
        let (mut all, mut bytes) = (Vec::with_capacity(parts.size_hint().0), 0_u64);
        self.translator.plan_whole(|translator| {
            for (rows, part) in parts {
                translator.begin(rows, access)?;
                translator.plan_part_of_rows(rows, access)?;
                bytes = bytes.saturating_add(rows.bytes());
                all.push(part);
            }
            Ok(())
        })?;
        self.count_all(access, bytes, all.len() as u64);
        Ok(all)
    }

    /// The range of `len` bytes from `base`; `None` for no bytes, which are no transfer.
    ///
    /// # Errors
    ///
    /// The fault of the first byte that no engine address names, captured like any other.
    pub fn range(&mut self, base: u64, len: u64, access: Access) -> Result<Option<IovaRange>> {
        match IovaRange::new(base, len) {
            Ok(range) => Ok(Some(range)),
            Err(BadRange::Empty { .. }) => Ok(None),
            Err(BadRange::Above32Bits { .. } | BadRange::BeyondAperture { .. }) => {
                Err(self.translator.refuse(base, access))
            }
        }
    }

    /// Captures the fault of an access that starts at `address` and leaves what the engine can address.
    ///
    /// The fault is at the first byte outside. The address is looked at before the stream is, so this is the
    /// fault whatever the stream may do (Chosen).
    pub fn refuse(&mut self, address: u64, is_write: bool) -> IoDartErrorInfo {
        self.translator.refuse(address, if is_write { Access::Write } else { Access::Read })
    }

    /// Copies what was planned into `into`.
    fn gather<'i>(
        &self,
        bytes: usize,
        into: impl IntoIterator<Item = &'i mut [u8], IntoIter: Send>,
        helpers: &mut impl Helpers,
    ) {
        let Translator { view, shared, .. } = &self.translator;
        moving::read(&shared.pieces, bytes, into, helpers, |place, row| match place.is_void() {
            true => row.fill(0),
            false => view.copy_out(place, row),
        });
    }

    /// Copies `from` to what was planned.
    fn scatter<'i>(
        &self,
        bytes: usize,
        from: impl IntoIterator<Item = &'i [u8], IntoIter: Send>,
        helpers: &mut impl Helpers,
    ) {
        let Translator { view, shared, .. } = &self.translator;
        moving::write(&shared.pieces, bytes, from, helpers, |place, row| {
            if !place.is_void() {
                view.copy_in(place, row);
            }
        });
        if Self::NOTES_WRITES {
            let written = shared.pieces.rows().filter(|(place, _)| !place.is_void());
            written.for_each(|(place, len)| self.note_written(place, len));
        }
    }

    /// Writes bytes, and notes it where memory keeps such notes.
    #[inline]
    fn put(&self, place: Place, bytes: &[u8]) {
        self.translator.view.copy_in(place, bytes);
        if Self::NOTES_WRITES {
            self.note_written(place, bytes.len());
        }
    }

    /// Whether memory keeps notes of what is written.
    const NOTES_WRITES: bool =
        size_of::<<<M::PhysicalMemory as GuestMemoryBackend>::R as GuestMemoryRegion>::B>() != 0;

    fn note_written(&self, place: Place, len: usize) {
        if let Some(memory) = self.memory
            && let Some(at) = self.translator.view.address_of(place)
            && let Some((region, inside)) = memory.to_region_addr(GuestAddress(at.0))
            && let Ok(inside) = usize::try_from(inside.0)
        {
            region.bitmap().mark_dirty(inside, len);
        }
    }

    #[inline]
    fn count(&mut self, access: Access, bytes: u64) {
        self.count_all(access, bytes, 1);
    }

    #[inline]
    fn count_all(&mut self, access: Access, bytes: u64, transfers: u64) {
        let shared = &mut self.translator.shared;
        let counter = match access {
            Access::Read => &mut shared.bytes_read,
            Access::Write => &mut shared.bytes_written,
        };
        *counter = counter.wrapping_add(bytes);
        shared.transfers = shared.transfers.wrapping_add(transfers);
    }
}
