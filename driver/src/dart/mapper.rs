//! A mapper: the device addresses of one context, and the pages they lead to.
//!
//! Addresses are given out from `0x4000` on, all inside the aperture and so below 4 GiB, as the firmware insists:
//! whole pages, the lowest that fit best first. The first page stays free, so that a forgotten address faults
//! and zero can mean "nowhere" (client-abi). The last ones are the driver's own, for what the engine has to read
//! and no client may write, and lead to its own memory as long as the mapper lives (Chosen).

use ane_uapi::hw::dart::aperture::{PAGE_SHIFT, PAGE_SIZE};
use ane_uapi::hw::dart::iso::ContextId;
use ane_uapi::hw::dart::segment::{Segment, Template};
use ane_uapi::hw::dart::walk::APERTURE_PAGES;
use ane_uapi::hw::space::{Iova, IovaRange, PhysAddr};
use ane_uapi::hw::usage::{Protection, ProtectionClass};

use super::segments::Segments;
use super::tables::{TableError, Tables};
use crate::bus::DmaMemory;
use crate::mem::{FreeRuns, Run};

/// The first page whose address is given out.
pub(crate) const FIRST_PAGE: u32 = 1;

/// Pages of the driver's own at the end of the aperture.
pub const OWN_PAGES: u32 = 2;

/// The driver's own pages.
const OWN: Run = Run { first: APERTURE_PAGES - OWN_PAGES, pages: OWN_PAGES };

/// Pages whose addresses are given out.
pub(crate) const GIVEN_OUT: Run = Run { first: FIRST_PAGE, pages: OWN.first - FIRST_PAGE };

/// Bytes of the driver's own pages.
pub(super) const OWN_BYTES: usize = (OWN_PAGES * PAGE_SIZE) as usize;

/// There is no room for so many pages, or not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoPlace;

/// A context's address space.
#[derive(Debug)]
pub struct Mapper {
    context: ContextId,
    tables: Tables,
    free: FreeRuns,
    segments: Segments,
    own: DmaMemory,
    /// Pages that are mapped, without the driver's own.
    mapped: u32,
    is_stale: bool,
}

impl Mapper {
    /// The mapper of a context, with its tables and the driver's own pages.
    pub(super) fn new(context: ContextId, tables: Tables, own: DmaMemory) -> Result<Self, TableError> {
        own.write(own.base(), &[0; OWN_BYTES])?;
        let mut mapper = Self {
            context,
            tables,
            free: FreeRuns::new(GIVEN_OUT),
            segments: Segments::new(),
            own,
            mapped: 0,
            // The DART may still hold translations of the file that had the context before.
            is_stale: true,
        };
        let base = mapper.own.base().0;
        let pages = (0..OWN_PAGES).map(|page| PhysAddr(base.saturating_add(address(page).0.into())));
        mapper.map(OWN, pages, Protection::of(ProtectionClass::ReadWrite))?;
        mapper.mapped = 0;
        Ok(mapper)
    }

    /// Where the engine sees the driver's own pages, and the driver: its memory has no other user.
    pub fn own(&self) -> (Run, &DmaMemory) {
        (OWN, &self.own)
    }

    pub const fn context(&self) -> ContextId {
        self.context
    }

    pub const fn tables(&self) -> &Tables {
        &self.tables
    }

    pub const fn mapped_pages(&self) -> u32 {
        self.mapped
    }

    /// True while the DART may hold translations of what is mapped no more.
    pub const fn is_stale(&self) -> bool {
        self.is_stale
    }

    /// The DART was told to drop the stream's translations, and has.
    pub const fn invalidated(&mut self) {
        self.is_stale = false;
    }

    /// Takes addresses for so many pages. They lead nowhere yet.
    pub fn take(&mut self, pages: u32) -> Result<Run, NoPlace> {
        self.free.take(pages).ok_or(NoPlace)
    }

    /// Takes these addresses. They lead nowhere yet.
    ///
    /// # Errors
    ///
    /// [`NoPlace`] if one is taken, or is not given out at all.
    pub fn take_at(&mut self, place: Run) -> Result<(), NoPlace> {
        if self.free.take_at(place) { Ok(()) } else { Err(NoPlace) }
    }

    /// Pages of the longest stretch of addresses that is free.
    pub fn longest_free(&self) -> u32 {
        self.free.longest()
    }

    /// Gives back addresses that lead nowhere, or will before they are mapped again.
    pub fn give(&mut self, place: Run) {
        self.free.give(place);
    }

    /// Makes addresses that were taken lead to as many pages.
    pub fn map(
        &mut self,
        place: Run,
        pages: impl Iterator<Item = PhysAddr>,
        protection: Protection,
    ) -> Result<(), TableError> {
        let segments = (place.first..place.end()).zip(pages);
        let segments = segments.map(|(page, at)| Segment::new(address(page), at, protection));
        let mapped = self.segments.put(&mut self.tables, segments, Template::Map);
        self.mapped = self.mapped.saturating_add(place.pages);
        mapped.or_else(|why| self.unmap(place).and(Err(why)))
    }

    /// Makes addresses lead nowhere. The DART may still hold their translations.
    pub fn unmap(&mut self, place: Run) -> Result<(), TableError> {
        self.unmap_for(place, Run { first: place.first, pages: 0 })
    }

    /// The same, where some of the addresses (`next`) are about to be mapped again. Their leaves stay until then: an access
    /// sees the old page, as with a translation that the DART still holds.
    pub fn unmap_for(&mut self, place: Run, next: Run) -> Result<(), TableError> {
        self.is_stale = true;
        self.mapped = self.mapped.saturating_sub(place.pages);
        let nothing = Protection::of(ProtectionClass::ReadWrite);
        let before = place.first..place.end().min(next.first);
        let behind = place.first.max(next.end())..place.end();
        let pages = before.chain(behind);
        let segments = pages.map(|page| Segment::new(address(page), PhysAddr(0), nothing));
        self.segments.put(&mut self.tables, segments, Template::Unmap)
    }
}

const fn address(page: u32) -> Iova {
    Iova(page << PAGE_SHIFT)
}

/// Where pages that were given out begin.
pub(crate) const fn address_of(place: Run) -> Iova {
    address(place.first)
}

/// The pages of a range that begins at one; `None` if it does not, or holds an address that no mapping can have.
pub(crate) fn place(base: u64, pages: u32) -> Option<Run> {
    let bytes = u64::from(pages).checked_mul(u64::from(PAGE_SIZE))?;
    let range = IovaRange::new(base, bytes).ok()?;
    let first = range.base().0 >> PAGE_SHIFT;
    (range.base().is_aligned(PAGE_SIZE) && first >= FIRST_PAGE).then(|| Run::new(first, pages)).flatten()
}

/// The device addresses of pages that were given out.
pub(crate) fn range(place: Run) -> Option<IovaRange> {
    let bytes = u64::from(place.pages).checked_mul(u64::from(PAGE_SIZE))?;
    IovaRange::new(address(place.first).0.into(), bytes).ok()
}

#[cfg(test)]
mod tests {
    use ane_uapi::hw::dart::pte::PteFormat;

    use super::super::tables::TABLES_BYTES;
    use super::*;

    fn mapper() -> Mapper {
        let memory = DmaMemory::new(PhysAddr(0x4000_0000), TABLES_BYTES).unwrap();
        let own = DmaMemory::new(PhysAddr(0x8000_0000), OWN_BYTES).unwrap();
        Mapper::new(ContextId::BASE, Tables::new(&memory, PteFormat::Seed).unwrap(), own).unwrap()
    }

    /// Requirement: DART-03
    #[test]
    fn two_buffers_of_one_byte_lie_in_two_pages() {
        let mut mapper = mapper();
        let ranges = [1, 1].map(|pages| range(mapper.take(pages).unwrap()).unwrap());
        assert_eq!(
            ranges.map(|range| (range.base(), range.len())),
            [(Iova(0x4000), 0x4000), (Iova(0x8000), 0x4000)]
        );
    }

    /// Requirement: REBASE-19
    #[test]
    fn every_address_given_out_lies_in_the_aperture_and_below_4_gib() {
        let mut mapper = mapper();
        let mut sizes = [1, 7, 4096, 229].into_iter().cycle();
        let mut pages = 0;
        while let Ok(place) = mapper.take(sizes.next().unwrap().min(GIVEN_OUT.pages - pages)) {
            assert!(
                range(place).is_some_and(|range| range.end().0 <= 0xdfff_8000 && range.base().0 >= 0x4000)
            );
            pages += place.pages;
        }
        assert_eq!(pages, GIVEN_OUT.pages, "to the last page");
    }

    #[test]
    fn place_that_is_askew_or_holds_an_address_that_is_not_given_out_is_none() {
        for (base, pages) in [
            (0, 1),
            (0x4001, 1),
            (0x4000, 0),
            (0x4000, APERTURE_PAGES),
            (0xdfff_c000, 2),
            (0xe000_0000, 1),
            (1 << 32, 1),
            (u64::MAX, 1),
            (u64::MAX - 0x3fff, u32::MAX),
        ] {
            assert_eq!(place(base, pages), None, "{base:#x} {pages}");
        }
        assert_eq!(place(0xdfff_c000, 1), Run::new(APERTURE_PAGES - 1, 1));
    }

    #[test]
    fn driver_s_own_pages_are_mapped_zero_and_given_to_nobody() {
        let mut mapper = mapper();
        let (place, own) = mapper.own();
        let own = own.clone();
        assert_eq!(range(place).map(|range| (range.base(), range.len())), Some((Iova(0xdfff_8000), 0x8000)));
        let leaf = PhysAddr(mapper.tables().base().0 + 112 * 0x4000 + 2046 * 8);
        assert_eq!(mapper.tables().memory().load_u64(leaf).unwrap(), 1 << 63 | own.base().0);
        let mut seen = [1; OWN_BYTES];
        own.read(own.base(), &mut seen).unwrap();
        assert_eq!((seen, mapper.mapped_pages()), ([0; OWN_BYTES], 0));
        assert_eq!(mapper.take_at(Run { first: place.first, pages: 1 }), Err(NoPlace));
    }

    #[test]
    fn unmap_is_due_an_invalidation_and_map_is_not() {
        let mut mapper = mapper();
        mapper.invalidated();
        let place = mapper.take(2).unwrap();
        let protection = Protection::of(ProtectionClass::ReadWrite);
        mapper.map(place, [0x8000, 0x4000].map(PhysAddr).into_iter(), protection).unwrap();
        assert!(!mapper.is_stale() && mapper.mapped_pages() == 2);
        mapper.unmap(place).unwrap();
        assert!(mapper.is_stale() && mapper.mapped_pages() == 0);
    }

    #[test]
    fn page_that_cannot_be_mapped_leaves_nothing_mapped() {
        let mut mapper = mapper();
        let place = mapper.take(2).unwrap();
        let protection = Protection::of(ProtectionClass::ReadWrite);
        mapper.map(place, [0x8000, 0x4001].map(PhysAddr).into_iter(), protection).unwrap_err();
        assert!(mapper.is_stale() && mapper.mapped_pages() == 0);
        let leaf = PhysAddr(mapper.tables().base().0 + 0x4000 + 8);
        assert_eq!(mapper.tables().memory().load_u64(leaf).unwrap(), 0);
    }
}
