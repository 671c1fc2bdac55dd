//! From addresses to places: what a transfer has to pass before a byte of it moves.
//!
//! A [`Translator`] is one circuit with one stream in front of its window, for as long as no register changes.
//! Most addresses lie in a page whose translation is kept: one look into the translation buffer answers them.
//! Otherwise it checks the stream and walks the tables, and ends with a physical address or with a captured fault.

use ane_uapi::hw::dart::aperture::{self, PAGE_SIZE};
use ane_uapi::hw::dart::error::{FaultAddress, HwError};
use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::fault::IoDartErrorInfo;
use ane_uapi::hw::space::{Iova, IovaRange, PhysAddr};

use super::check::Transfer;
use super::dma::View;
use super::fault::{FaultPolicy, Result};
use super::memory::Place;
use super::rows::Rows;
use super::stall::Stalled;
use super::stream::{Access, Circuit, Gate, Rights};
use super::tlb::{Entry, Tag};
use super::window::{Admission, WindowState};
use super::{Shared, stall};
use crate::inject::Trap;

/// The bits of an address that name a byte in the page.
const OFFSET: u32 = PAGE_SIZE - 1;

/// Why a page may not be used, and the first address that is affected.
#[derive(Clone, Copy, Debug)]
pub(super) struct Denied {
    error: HwError,
    at: FaultAddress,
}

impl Denied {
    pub(super) fn new(error: HwError, at: Iova) -> Self {
        Self { error, at: at.into() }
    }
}

/// A circuit and a stream in front of a window.
pub(super) struct Translator<'a> {
    pub(super) view: View<'a>,
    pub(super) shared: &'a mut Shared,
    window: &'a mut WindowState,
    trap: &'a mut Trap,
    admission: Admission,
    /// The accesses that a kept translation alone decides; none while something else has to be done.
    fast: Rights,
    /// The accesses for which a whole transfer may be decided at once; none behind a PE_MMU.
    direct: Rights,
    /// Something has to be done before a transfer begins.
    is_watched: bool,
    /// Nothing is moved by what goes on: it is only looked at.
    pub(super) is_check: bool,
    pub(super) circuit: Circuit,
    stream: StreamId,
}

#[inline]
const fn last_of(range: IovaRange) -> u32 {
    // A range is not empty and ends below 2^32.
    range.base().0.wrapping_add(range.len()).wrapping_sub(1)
}

/// The parts of `range` that lie in one page each: the first address, and the last byte in the page.
#[inline]
fn pages(range: IovaRange) -> impl Iterator<Item = (Iova, u32)> {
    let end = range.end().0;
    let mut next = range.base().0;
    std::iter::from_fn(move || {
        let first = next;
        // The aperture ends below 2^32, so the page behind its last one can still be named.
        next = (first | OFFSET).wrapping_add(1).min(end);
        (first < end).then(|| (Iova(first), next.wrapping_sub(1) & OFFSET))
    })
}

impl<'a> Translator<'a> {
    pub(super) fn new(
        view: View<'a>,
        shared: &'a mut Shared,
        window: &'a mut WindowState,
        trap: &'a mut Trap,
        stream: StreamId,
        circuit: Circuit,
    ) -> Self {
        shared.requests = shared.requests.wrapping_add(1);
        let admission = window.admit(stream);
        window.buffer.announce(admission.slot);
        let is_watched = shared.checker.is_on() || shared.dead.is_some() || !trap.is_idle();
        let fast = match admission.gate {
            Gate::Translated if !is_watched => admission.rights,
            _ => Rights::NONE,
        };
        let direct = if shared.before.is_none() { fast } else { Rights::NONE };
        Self {
            view,
            shared,
            window,
            trap,
            admission,
            fast,
            direct,
            is_watched,
            is_check: false,
            circuit,
            stream,
        }
    }

    /// Where a range lies that is in one page, whose translation is kept, with nothing against it.
    #[inline]
    pub(super) fn kept(&self, range: IovaRange, access: Access) -> Option<Place> {
        let (first, last) = (range.base(), last_of(range));
        let entry = self.window.buffer.find(Tag::new(first, self.admission.slot))?;
        let is_one_page = (first.0 ^ last) <= OFFSET;
        (is_one_page && entry.serves(self.direct, first, last & OFFSET, access)).then(|| entry.at(first))
    }

    /// The same for a range whose translation is not kept yet and can be.
    #[inline]
    pub(super) fn filled(&mut self, range: IovaRange, access: Access) -> Option<Place> {
        let (first, last) = (range.base(), last_of(range));
        if (first.0 ^ last) > OFFSET {
            return None;
        }
        // Without a translation the transfer begins from its start, and finds out why.
        let direct = self.direct;
        if direct == Rights::NONE {
            return None;
        }
        match self.fill(first) {
            Some(Ok(entry)) if entry.serves(direct, first, last & OFFSET, access) => Some(entry.at(first)),
            _ => None,
        }
    }

    /// Keeps the translation that the tables have now; `None` where there is nothing to keep.
    #[inline]
    fn fill(&mut self, iova: Iova) -> Option<Result<&Entry, HwError>> {
        let tag = Tag::new(iova, self.admission.slot);
        let entry = self.window.buffer.slot(tag)?;
        if entry.is(tag) || self.fast == Rights::NONE {
            return None;
        }
        let fill = self.shared.format.fill;
        Some(fill(&mut self.view, self.admission.base, iova, entry, tag).map(|()| &*entry))
    }

    /// The first step of a transfer that a kept translation alone does not decide.
    #[inline]
    pub(super) fn begin(&mut self, rows: Rows, access: Access) -> Result<()> {
        self.is_check = false;
        if self.is_watched {
            self.watch(rows, access)?;
            if self.trap.springs_after() {
                let denied = Denied::new(HwError::NoL3Entry, rows.span().base());
                return Err(self.fail_before_pe_mmu(denied, rows.span(), access));
            }
            // Behind a PE_MMU it is looked at where it goes to.
            if self.shared.before.is_none() {
                self.observe(rows.span(), access);
            }
        }
        Ok(())
    }

    /// The same where nothing will be moved: checking mode and a trap that counts look at the transfer that follows.
    #[inline]
    pub(super) fn begin_check(&mut self, rows: Rows, access: Access) -> Result<()> {
        self.is_check = true;
        if self.is_watched { self.watch(rows, access) } else { Ok(()) }
    }

    /// A device that is dead, a fault on demand at an address.
    #[cold]
    fn watch(&mut self, rows: Rows, access: Access) -> Result<()> {
        if let Some(info) = self.shared.dead {
            return Err(info);
        }
        if let Some(at) = self.trap.springs_at(|at| rows.contain(at)) {
            return Err(self.fail_before_pe_mmu(Denied::new(HwError::NoL3Entry, at), rows.span(), access));
        }
        Ok(())
    }

    /// Checking mode.
    #[cold]
    pub(super) fn observe(&mut self, span: IovaRange, access: Access) {
        if self.shared.checker.is_on() {
            let transfer = Transfer { stream: self.stream, circuit: self.circuit, access, span };
            self.shared.checker.observe(transfer);
        }
    }

    #[inline(never)]
    pub(super) fn plan(&mut self, range: IovaRange, access: Access) -> Result<()> {
        self.plan_whole(|translator| translator.plan_part(range, access))
    }

    /// Plans a transfer, all its parts together.
    #[inline]
    pub(super) fn plan_whole<T>(&mut self, parts: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.shared.pieces.start();
        if self.shared.before.is_none() {
            return parts(self);
        }
        self.ask_once(parts)
    }

    /// Plans a part of a transfer that has no gaps.
    fn plan_part(&mut self, range: IovaRange, access: Access) -> Result<()> {
        self.shared.pieces.start_part(0);
        if self.shared.before.is_some() {
            return self.plan_behind(range, access);
        }
        self.each_page(range, access)
    }

    /// Looks at an access that reached the window and was stopped there, whatever stands before the window.
    pub(super) fn look_again(&mut self, range: IovaRange, access: Access) -> Result<()> {
        self.is_check = true;
        self.shared.pieces.start();
        self.shared.pieces.start_part(0);
        self.each_page(range, access)
    }

    /// Translates a range one page after the other.
    #[inline]
    pub(super) fn each_page(&mut self, range: IovaRange, access: Access) -> Result<()> {
        for (first, last) in pages(range) {
            self.part(first, last, access).map_err(|denied| self.fail(denied, range, access))?;
        }
        Ok(())
    }

    pub(super) fn plan_rows(&mut self, rows: Rows, access: Access) -> Result<()> {
        self.plan_whole(|translator| translator.plan_part_of_rows(rows, access))
    }

    /// Plans a part of a transfer.
    pub(super) fn plan_part_of_rows(&mut self, rows: Rows, access: Access) -> Result<()> {
        if rows.are_packed() {
            return self.plan_part(rows.span(), access);
        }
        self.shared.pieces.start_part(rows.stride());
        if self.shared.before.is_some() {
            return self.plan_rows_behind(rows, access);
        }
        self.each_row(rows, access)
    }

    /// Translates rows one page after the other.
    pub(super) fn each_row(&mut self, rows: Rows, access: Access) -> Result<()> {
        let mut row = 0;
        while row < rows.count() {
            let left = rows.count().wrapping_sub(row);
            let done = self.rows_of_page(rows, row, left, access);
            let done = done.map_err(|denied| self.fail(denied, rows.span(), access))?;
            row = row.saturating_add(done);
        }
        Ok(())
    }

    /// Translates row `row` and those behind it that lie in the same page; tells how many.
    #[inline]
    fn rows_of_page(&mut self, rows: Rows, row: u32, left: u32, access: Access) -> Result<u32, Denied> {
        let first = rows.start(row);
        // The rest of the page behind the row, if the row ends in it.
        let Some(room) = PAGE_SIZE.wrapping_sub(first.0 & OFFSET).checked_sub(rows.len()) else {
            return self.row(first, rows.len(), access).map(|()| 1);
        };
        let more = match rows.stride() {
            stride if stride > room => 0,
            stride => room.checked_div(stride).unwrap_or(u32::MAX).min(left.wrapping_sub(1)),
        };
        let behind = more.wrapping_mul(rows.stride());
        let last = (first.0 & OFFSET).wrapping_add(behind).wrapping_add(rows.len()).wrapping_sub(1);
        match self.page(first, last, access) {
            Ok(place) => {
                let count = more.wrapping_add(1);
                self.shared.pieces.push_rows(place, rows.len(), count);
                Ok(count)
            }
            // One by one, so that neither a gap nor a row behind is taken for what was refused.
            Err(_) if more > 0 => self.row(first, rows.len(), access).map(|()| 1),
            Err(denied) => Err(denied),
        }
    }

    /// Translates one row, wherever it ends.
    fn row(&mut self, first: Iova, len: u32, access: Access) -> Result<(), Denied> {
        // Rows lie in the aperture by their type.
        let Ok(range) = IovaRange::new(first.0.into(), len.into()) else {
            return Err(Denied::new(HwError::OutsideAperture, first));
        };
        pages(range).try_for_each(|(first, last)| self.part(first, last, access))
    }

    #[inline]
    fn part(&mut self, first: Iova, last: u32, access: Access) -> Result<(), Denied> {
        let place = self.page(first, last, access)?;
        let len = last.wrapping_sub(first.0 & OFFSET).wrapping_add(1);
        self.shared.pieces.push(place, len);
        Ok(())
    }

    #[inline]
    fn page(&mut self, first: Iova, last: u32, access: Access) -> Result<Place, Denied> {
        match self.window.buffer.find(Tag::new(first, self.admission.slot)) {
            Some(entry) if entry.serves(self.fast, first, last, access) => Ok(entry.at(first)),
            _ => self.page_apart(first, last, access),
        }
    }

    /// The same, where the translation has to be found first or does not decide alone.
    #[inline(never)]
    fn page_apart(&mut self, first: Iova, last: u32, access: Access) -> Result<Place, Denied> {
        let fast = self.fast;
        let found = match self.fill(first) {
            Some(Ok(entry)) if entry.serves(fast, first, last, access) => Ok(entry.at(first)),
            Some(Err(error)) => Err(Denied::new(error, first)),
            _ => self.look(first, last, access),
        };
        found.or_else(|denied| self.absorb(denied, first))
    }

    /// Takes what nothing is mapped at for a place that gives zeros and keeps nothing, if that is the policy.
    #[cold]
    fn absorb(&mut self, denied: Denied, at: Iova) -> Result<Place, Denied> {
        if self.shared.policy != FaultPolicy::Absorb || !stall::is_unmapped(denied.error) {
            return Err(denied);
        }
        self.shared.checker.absorbed(self.stream, self.circuit, at, denied.error);
        Ok(Place::VOID)
    }

    /// The same, where more than a kept translation decides.
    #[cold]
    fn look(&mut self, first: Iova, last: u32, access: Access) -> Result<Place, Denied> {
        let rights = self.admission.rights;
        match self.admission.gate {
            Gate::Closed(error) => Err(Denied::new(error, first)),
            Gate::Through if !rights.allow(access) => Err(Denied::new(access.refusal(), first)),
            Gate::Through => {
                let len = last.wrapping_sub(first.0 & OFFSET).wrapping_add(1);
                let place = self.view.find(PhysAddr(first.0.into()), len);
                place.ok_or(Denied::new(HwError::NoMemory, first))
            }
            Gate::Translated => {
                let entry = self.translation(first).map_err(|error| Denied::new(error, first))?;
                if entry.serves(rights, first, last, access) {
                    Ok(entry.at(first))
                } else if !entry.rights.and(rights).allow(access) {
                    Err(Denied::new(access.refusal(), first))
                } else {
                    Err(Denied::new(HwError::SubPage, entry.first_closed(first)))
                }
            }
        }
    }

    /// The translation of a page: the one that is kept, or else the one that the tables have now.
    fn translation(&mut self, iova: Iova) -> Result<Entry, HwError> {
        let tag = Tag::new(iova, self.admission.slot);
        let Some(slot) = self.window.buffer.slot(tag) else { return Err(HwError::NoMemory) };
        if !slot.is(tag) {
            (self.shared.format.fill)(&mut self.view, self.admission.base, iova, slot, tag)?;
            return Ok(*slot);
        }
        let kept = *slot;
        if self.shared.checker.is_on() {
            self.compare(iova, &kept);
        }
        Ok(kept)
    }

    /// Reports a kept translation that the tables no longer have.
    fn compare(&mut self, iova: Iova, kept: &Entry) {
        let used = self.view.address_of(kept.page);
        let now = (self.shared.format.walk)(&mut self.view, self.admission.base, iova);
        let same = now.is_ok_and(|leaf| Some(leaf.page) == used && kept.says(&leaf));
        if let Some(used) = used.filter(|_| !same) {
            let now = now.map(|leaf| leaf.page);
            self.shared.checker.stale(self.stream, self.circuit, iova, used, now);
        }
    }

    /// Captures the fault of an access that starts at `address` and leaves what the engine can address.
    #[cold]
    pub(super) fn refuse(&mut self, address: u64, access: Access) -> IoDartErrorInfo {
        let at = FaultAddress(address.max(aperture::SIZE));
        let error = if at.high() == 0 { HwError::OutsideAperture } else { HwError::HighAddress };
        match self.shared.dead {
            Some(info) => info,
            None => self.deny(Denied { error, at }, address, 0, access),
        }
    }

    /// Captures the fault of a transfer.
    #[cold]
    pub(super) fn fail(&mut self, denied: Denied, span: IovaRange, access: Access) -> IoDartErrorInfo {
        self.deny(denied, span.base().0.into(), span.len(), access)
    }

    /// The same of an address that PE_MMU would have translated.
    pub(super) fn fail_before_pe_mmu(
        &mut self,
        denied: Denied,
        span: IovaRange,
        access: Access,
    ) -> IoDartErrorInfo {
        let info = self.fail(denied, span, access);
        if let Some(stalled) = &mut self.shared.stalled {
            stalled.is_before_pe_mmu = true;
        }
        info
    }

    /// Captures a fault, and does what the policy says.
    ///
    /// The four bus ids are not described anywhere. Chosen: the circuit as a master, the number of the
    /// request since the last reset, how far into the transfer the fault is, and how long the transfer is.
    fn deny(&mut self, denied: Denied, base: u64, len: u32, access: Access) -> IoDartErrorInfo {
        let status = denied.error.raise(self.admission.slot, access.is_write());
        let far = u32::try_from(denied.at.0.saturating_sub(base)).unwrap_or(u32::MAX);
        let axi_ids = [self.circuit.axi_master(), self.shared.requests, far, len];
        let info = IoDartErrorInfo::new(status, denied.at, axi_ids);
        self.window.capture.latch(denied.at, &info);
        match self.shared.policy {
            FaultPolicy::Panic => {
                self.shared.dead = Some(info);
                self.is_watched = true;
                self.fast = Rights::NONE;
                self.direct = Rights::NONE;
            }
            FaultPolicy::Stall => {
                self.shared.stalled = Some(Stalled {
                    slot: self.admission.slot,
                    stream: self.stream,
                    circuit: self.circuit,
                    access,
                    at: denied.at,
                    is_before_pe_mmu: false,
                });
            }
            FaultPolicy::Contain | FaultPolicy::Absorb => {}
        }
        info
    }
}
