//! The table: which virtual addresses lead where.
//!
//! It is the utility that siblings call, so asking changes nothing, waits for nothing and cannot be seen. Only
//! messages change it, each as a whole: what may be refused is found out before anything is touched, or taken
//! back. Clients choose all that is in here, so every dimension has a bound: entries of a message, regions of
//! a page, regions of the table.

use std::fmt;

use ane_uapi::hw::pe_mmu::{MAX_ENTRIES, MAX_REGIONS, MAX_REGIONS_PER_PAGE, PageSize};
use thiserror::Error;

use super::layers::{Region, Spot};
use super::pages::Pages;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// First virtual address.
    pub va: u64,
    pub pa: u64,
    /// Bytes; zero maps nothing.
    pub size: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// First virtual address.
    pub va: u64,
    /// Bytes.
    pub size: u64,
}

/// No region covers the address: a signal to use it as a physical one, and not an error (seed 001, D4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageFault {
    pub va: u64,
}

/// Addresses from one on that lead to one place, or to none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Where the first leads.
    pub to: Result<u64, PageFault>,
    /// Bytes; never zero.
    pub len: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    TooMany,
    Wraps,
    PageFull { page: u64 },
    TableFull,
}

/// A message that was refused: nothing of it took effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub struct Rejected {
    pub entry: usize,
    pub why: Why,
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { entry, why } = self;
        match why {
            Why::TooMany => write!(f, "pe_mmu message has {entry} entries, more than {MAX_ENTRIES}"),
            Why::Wraps => write!(f, "pe_mmu entry {entry} wraps around the end of the address space"),
            Why::PageFull { page } => {
                write!(f, "pe_mmu entry {entry}: page {page:#x} has {MAX_REGIONS_PER_PAGE} regions already")
            }
            Why::TableFull => {
                write!(f, "pe_mmu entry {entry}: table cannot hold more than {MAX_REGIONS} regions")
            }
        }
    }
}

/// Virtual addresses, with the last one: a range that ends with the address space has no end behind it.
#[derive(Clone, Copy, Debug)]
struct VirtualRange {
    first: u64,
    last: u64,
}

impl VirtualRange {
    /// `None` for no bytes.
    fn new(va: u64, size: u64) -> Option<Result<Self, Why>> {
        let gap = size.checked_sub(1)?;
        Some(va.checked_add(gap).map(|last| Self { first: va, last }).ok_or(Why::Wraps))
    }
}

#[derive(Debug)]
pub struct Table {
    page_size: PageSize,
    pages: Pages,
    regions: usize,
}

impl Table {
    pub(super) fn new(page_size: PageSize) -> Self {
        Self { page_size, pages: Pages::default(), regions: 0 }
    }

    pub const fn page_size(&self) -> PageSize {
        self.page_size
    }

    pub const fn regions(&self) -> usize {
        self.regions
    }

    /// Where an address leads: the newest region that covers it says so.
    #[inline]
    pub fn translate(&self, va: u64) -> Result<u64, PageFault> {
        let offset = self.page_size.offset(va);
        match self.pages.at(self.page_size.page(va), offset) {
            Spot::Seen(region) => Ok(region.base.wrapping_add(offset.into())),
            Spot::Bare(_) => Err(PageFault { va }),
        }
    }

    /// Where an address leads, and how many of the `len` bytes from there on lead to the same place.
    ///
    /// A stretch ends with its region and with its page, so that no byte goes through the wrong one.
    pub fn stretch(&self, va: u64, len: u64) -> Stretch {
        let offset = self.page_size.offset(va);
        let (to, end) = match self.pages.at(self.page_size.page(va), offset) {
            Spot::Seen(region) => (Ok(region.base.wrapping_add(offset.into())), region.end),
            Spot::Bare(next) => (Err(PageFault { va }), next.unwrap_or(self.page_size.bytes())),
        };
        Stretch { to, len: len.min(end.saturating_sub(offset).into()).max(1) }
    }

    /// The parts of a range, page by page: number, and first byte and byte behind the last in the page.
    fn parts(&self, span: VirtualRange) -> impl Iterator<Item = (u64, u32, u32)> + use<> {
        let size = self.page_size;
        let (first, last) = (size.page(span.first), size.page(span.last));
        (first..=last).map(move |page| {
            let start = if page == first { size.offset(span.first) } else { 0 };
            // At most 2^31.
            let end = if page == last { size.offset(span.last).saturating_add(1) } else { size.bytes() };
            (page, start, end)
        })
    }

    fn pages_of(&self, span: VirtualRange) -> u64 {
        self.page_size.page(span.last).saturating_sub(self.page_size.page(span.first)).saturating_add(1)
    }

    pub(super) fn map(&mut self, entries: &[Mapping]) -> Result<(), Rejected> {
        let mut room = MAX_REGIONS.saturating_sub(self.regions) as u64;
        check(
            entries.len(),
            entries.iter().map(|entry| {
                let Some(span) = VirtualRange::new(entry.va, entry.size) else { return Ok(()) };
                let span = span?;
                entry.pa.checked_add(span.last.wrapping_sub(span.first)).ok_or(Why::Wraps)?;
                room = room.checked_sub(self.pages_of(span)).ok_or(Why::TableFull)?;
                Ok(())
            }),
        )?;
        for (index, entry) in entries.iter().enumerate() {
            if let Err((why, done)) = self.install(entry) {
                let before = entries.iter().take(index).map(|entry| (entry, u64::MAX));
                before.chain([(entry, done)]).for_each(|(entry, pages)| self.take_back(entry, pages));
                self.pages.settle();
                return Err(Rejected { entry: index, why });
            }
        }
        Ok(())
    }

    /// Adds the regions of an entry; if that fails, why, and how many pages got theirs.
    fn install(&mut self, entry: &Mapping) -> Result<(), (Why, u64)> {
        let Some(Ok(span)) = VirtualRange::new(entry.va, entry.size) else { return Ok(()) };
        for (done, (page, start, end)) in (0..).zip(self.parts(span)) {
            let from_start = page.wrapping_mul(self.page_size.bytes().into()).wrapping_sub(entry.va);
            let region = Region { start, end, base: entry.pa.wrapping_add(from_start) };
            self.pages.push(page, region).map_err(|_| (Why::PageFull { page }, done))?;
            self.regions = self.regions.saturating_add(1);
        }
        Ok(())
    }

    /// Takes out what [`Table::install`] added to the first `pages` pages of an entry.
    fn take_back(&mut self, entry: &Mapping, pages: u64) {
        let Some(Ok(span)) = VirtualRange::new(entry.va, entry.size) else { return };
        for (page, ..) in self.parts(span).take(usize::try_from(pages).unwrap_or(usize::MAX)) {
            self.pages.pop(page);
            self.regions = self.regions.saturating_sub(1);
        }
    }

    pub(super) fn unmap(&mut self, ranges: &[Range]) -> Result<(), Rejected> {
        check(
            ranges.len(),
            ranges.iter().map(|range| VirtualRange::new(range.va, range.size).transpose().map(|_| ())),
        )?;
        for range in ranges {
            if let Some(Ok(span)) = VirtualRange::new(range.va, range.size) {
                self.remove(span);
            }
        }
        self.pages.settle();
        Ok(())
    }

    fn remove(&mut self, span: VirtualRange) {
        let size = self.page_size;
        let (first, last) = (size.page(span.first), size.page(span.last));
        let gone = self.pages.remove(first, last, |page| {
            let start = if page == first { size.offset(span.first) } else { 0 };
            let end = if page == last { size.offset(span.last).saturating_add(1) } else { size.bytes() };
            (start, end)
        });
        self.regions = self.regions.saturating_sub(gone);
    }
}

/// Refuses a message with too many entries, or the first entry with something wrong.
fn check(len: usize, entries: impl Iterator<Item = Result<(), Why>>) -> Result<(), Rejected> {
    if len > MAX_ENTRIES {
        return Err(Rejected { entry: len, why: Why::TooMany });
    }
    for (entry, outcome) in entries.enumerate() {
        outcome.map_err(|why| Rejected { entry, why })?;
    }
    Ok(())
}
