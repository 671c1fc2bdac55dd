//! Where guest memory lies in this process.
//!
//! Looking an address up in the guest's own memory object costs more than the walk that found the address. So
//! the few regions of it are noted here, and noted again before every use: a [`Place`] found in one note is
//! good for as long as the next note is equal to it. If one differs, everything that was kept is dropped.

use ane_uapi::hw::dart::aperture::PAGE_SIZE;
use ane_uapi::hw::dart::walk::ENTRY_BYTES;
use ane_uapi::hw::space::PhysAddr;
use vm_memory::{GuestMemoryBackend, GuestMemoryRegion};

/// Regions that are noted; those above are no memory to the engine.
///
/// Front ends of virtual machines hand over at most 509.
const MAX_REGIONS: usize = 4096;

// The two highest numbers stand for no region and for nothing mapped.
const _: () = assert!(MAX_REGIONS < u16::MAX as usize - 1);

/// The bits of an address that say where in a word a byte lies.
const WORD_MASK: u64 = ENTRY_BYTES as u64 - 1;

/// A stretch of guest memory, and where this process sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Region {
    start: u64,
    len: u64,
    host: usize,
}

/// A byte of guest memory in this process, and the region that it belongs to.
///
/// Two places of one region are as far apart in guest memory as they are here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    host: usize,
    region: u16,
}

impl Place {
    /// No byte at all; nothing may be read or written there.
    pub(super) const NOWHERE: Self = Self { host: 0, region: u16::MAX };

    /// Where nothing is mapped and the policy lets transfers go on: reads give zeros, writes go nowhere.
    pub(super) const VOID: Self = Self { host: 0, region: u16::MAX - 1 };

    /// True of [`Self::VOID`] and of what is further on.
    pub(super) const fn is_void(self) -> bool {
        self.region == Self::VOID.region
    }

    /// The address in this process.
    pub(super) const fn host(self) -> usize {
        self.host
    }

    /// The byte `bytes` further on. The caller has checked that it is in the same region.
    pub(super) const fn further(self, bytes: usize) -> Self {
        Self { host: self.host.wrapping_add(bytes), region: self.region }
    }
}

/// The note: every region, by rising guest address.
#[derive(Debug, Default)]
pub(super) struct MemoryMap {
    regions: Vec<Region>,
}

/// The region where something was found last, which is where to look first: most guests have one large one.
///
/// It is one whose words are aligned here as they are in guest memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Home {
    start: u64,
    /// At how many addresses from the start on a page can begin and still lie inside.
    pages_begin: u64,
    /// Where the region's start lies here.
    first: Place,
}

impl Home {
    /// No region.
    pub(super) const NONE: Self = Self { start: 0, pages_begin: 0, first: Place::NOWHERE };

    /// Where up to a page of bytes from `at` lies, if a page that begins there lies in this region.
    #[inline]
    pub(super) fn find(&self, at: PhysAddr) -> Option<Place> {
        let inside = at.0.wrapping_sub(self.start);
        if inside >= self.pages_begin {
            return None;
        }
        usize::try_from(inside).ok().map(|inside| self.first.further(inside))
    }
}

impl Region {
    /// Where `len` bytes from `at` lie here.
    fn find(&self, index: u16, at: PhysAddr, len: u64) -> Option<Place> {
        let inside = at.0.checked_sub(self.start)?;
        if self.len.checked_sub(inside)? < len {
            return None;
        }
        Some(Place { host: self.host.checked_add(usize::try_from(inside).ok()?)?, region: index })
    }
}

/// The regions of `memory` that this process can reach.
fn regions<M: GuestMemoryBackend + ?Sized>(memory: &M) -> impl Iterator<Item = Region> {
    memory.iter().take(MAX_REGIONS).filter_map(|region| {
        let slice = region.as_volatile_slice().ok()?;
        let start = region.start_addr().0;
        let len = u64::try_from(slice.len()).ok()?;
        start.checked_add(len)?;
        Some(Region { start, len, host: slice.ptr_guard_mut().as_ptr().expose_provenance() })
    })
}

impl MemoryMap {
    /// Notes where `memory` lies, and tells whether that is another place than before.
    pub(super) fn note<M: GuestMemoryBackend + ?Sized>(&mut self, memory: Option<&M>) -> bool {
        let same = match memory {
            Some(memory) => regions(memory).eq(self.regions.iter().copied()),
            None => self.regions.is_empty(),
        };
        if !same {
            self.regions.clear();
            self.regions.extend(memory.into_iter().flat_map(regions));
            self.regions.sort_by_key(|region| region.start);
        }
        !same
    }

    /// Where `len` bytes from `at` lie, if one region holds them all.
    pub(super) fn find(&self, at: PhysAddr, len: u64) -> Option<Place> {
        let index = self.regions.partition_point(|region| region.start <= at.0).checked_sub(1)?;
        self.regions.get(index)?.find(u16::try_from(index).ok()?, at, len)
    }

    /// The region of a place, or none if it is smaller than a page or lies askew.
    pub(super) fn home_of(&self, place: Place) -> Home {
        let home = |region: &Region| {
            let pages_begin = region.len.checked_sub(u64::from(PAGE_SIZE))?.checked_add(1)?;
            let is_askew = (region.start ^ u64::try_from(region.host).ok()?) & WORD_MASK != 0;
            let first = Place { host: region.host, region: place.region };
            (!is_askew).then_some(Home { start: region.start, pages_begin, first })
        };
        self.regions.get(usize::from(place.region)).and_then(home).unwrap_or(Home::NONE)
    }

    pub(super) fn address_of(&self, place: Place) -> Option<PhysAddr> {
        let region = self.regions.get(usize::from(place.region))?;
        let inside = u64::try_from(place.host.checked_sub(region.host)?).ok()?;
        PhysAddr(region.start).checked_add(inside)
    }
}

#[cfg(test)]
mod tests {
    use vm_memory::{GuestAddress, GuestMemoryMmap};

    use super::*;

    impl Place {
        /// A place for tests that read and write nothing.
        pub(in crate::dart) const fn new(host: usize, region: u16) -> Self {
            Self { host, region }
        }
    }

    fn memory(ranges: &[(u64, usize)]) -> GuestMemoryMmap<()> {
        let ranges = ranges.iter().map(|&(start, len)| (GuestAddress(start), len)).collect::<Vec<_>>();
        GuestMemoryMmap::from_ranges(&ranges).unwrap()
    }

    fn noted(ranges: &[(u64, usize)]) -> (MemoryMap, GuestMemoryMmap<()>) {
        let memory = memory(ranges);
        let mut map = MemoryMap::default();
        assert!(map.note(Some(&memory)));
        (map, memory)
    }

    #[test]
    fn place_is_where_the_memory_object_says() {
        let (map, memory) = noted(&[(0x1_0000, 0x8000), (0x4_0000, 0x4000)]);
        for at in [0x1_0000, 0x1_7fff, 0x4_0000, 0x4_3fff] {
            let place = map.find(PhysAddr(at), 1).unwrap();
            assert_eq!(place.host(), memory.get_host_address(GuestAddress(at)).unwrap().addr());
            assert_eq!(map.address_of(place), Some(PhysAddr(at)));
        }
    }

    #[test]
    fn home_finds_what_the_map_finds_and_never_more() {
        let (map, _memory) = noted(&[(0x1_0000, 0x8000), (0x4_0000, 0x4000)]);
        let home = map.home_of(map.find(PhysAddr(0x1_2345), 1).unwrap());
        for at in [0x1_0000, 0x1_4000] {
            assert_eq!(home.find(PhysAddr(at)), map.find(PhysAddr(at), 0x4000));
        }
        for at in [0, 0xffff, 0x1_4001, 0x1_8000, 0x4_0000, u64::MAX] {
            assert_eq!(home.find(PhysAddr(at)), None, "{at:#x}");
        }
        for at in [0, 0x1_0000, u64::MAX] {
            assert_eq!(Home::NONE.find(PhysAddr(at)), None, "{at:#x}");
        }
    }

    #[test]
    fn region_that_is_small_or_lies_askew_is_no_home() {
        let (map, _memory) = noted(&[(0x1_0000, 0x3fff), (0x4_0001, 0x8000)]);
        for at in [0x1_0000, 0x4_0001] {
            let home = map.home_of(map.find(PhysAddr(at), 1).unwrap());
            assert_eq!(home.find(PhysAddr(at)), None, "{at:#x}");
        }
    }

    #[test]
    fn bytes_that_no_one_region_holds_have_no_place() {
        let (map, _memory) = noted(&[(0x1_0000, 0x8000), (0x1_8000, 0x4000)]);
        for (at, len) in [
            (0, 1),
            (0xffff, 1),
            (0x1_7fff, 2),
            (0x1_bfff, 2),
            (0x1_c000, 1),
            (u64::MAX, 1),
            (u64::MAX, u64::MAX),
        ] {
            assert_eq!(map.find(PhysAddr(at), len), None, "{len} bytes at {at:#x}");
        }
    }

    #[test]
    fn same_memory_is_noted_once_and_other_memory_again() {
        let (mut map, memory) = noted(&[(0, 0x4000)]);
        assert!(!map.note(Some(&memory)));
        let other = self::memory(&[(0, 0x4000)]);
        assert!(map.note(Some(&other)));
        assert!(map.note(None::<&GuestMemoryMmap<()>>));
        assert_eq!(map.find(PhysAddr(0), 1), None);
        assert!(!map.note(None::<&GuestMemoryMmap<()>>));
    }
}
