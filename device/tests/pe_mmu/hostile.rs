//! Hostile requests of a client: ranges that wrap, counts without end, pages without room.

use std::time::{Duration, Instant};

use ane_device::pe_mmu::{Rejected, Why};
use ane_uapi::hw::pe_mmu::{MAX_ENTRIES, MAX_REGIONS, MAX_REGIONS_PER_PAGE};
use proptest::prelude::*;

use super::*;

/// More than any message of these tests takes, in a build without optimization, on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// The same for messages that look at each page once: a bus waits for the device for as long.
const SOON: Duration = Duration::from_secs(10);

/// Vector 22.
///
/// Requirement: PEMMU-24
#[test]
fn message_with_a_range_that_wraps_is_refused_whole_and_the_next_one_works() {
    let mut mmu = mmu(0x1000);
    let good = Mapping { va: 0, pa: 0x5000, size: 0x1000 };
    for bad in [
        Mapping { va: 0xffff_ffff_ffff_f000, pa: 0, size: 0x2000 },
        Mapping { va: 0, pa: 0xffff_ffff_ffff_f000, size: 0x2000 },
        Mapping { va: 2, pa: 0, size: u64::MAX },
    ] {
        assert_eq!(mmu.map(&[good, bad]), Err(Rejected { entry: 1, why: Why::Wraps }));
        assert_eq!((mmu.mmu().regions(), at(&mmu, [0])), (0, [None]));
    }
    let bad = Range { va: u64::MAX, size: 2 };
    assert_eq!(mmu.unmap(&[bad]), Err(Rejected { entry: 0, why: Why::Wraps }));
    mmu.map(&[good]).unwrap();
    assert_eq!(at(&mmu, [0]), [Some(0x5000)]);
}

#[test]
fn range_may_end_with_the_address_space() {
    let mut mmu = mmu(0x1000);
    map(&mut mmu, 0xffff_ffff_ffff_f000, 0xffff_ffff_ffff_f000, 0x1000);
    assert_eq!(at(&mmu, [u64::MAX]), [Some(u64::MAX)]);
    unmap(&mut mmu, 0xffff_ffff_ffff_f000, 0x1000);
    assert_eq!(mmu.mmu().regions(), 0);
}

#[test]
fn whole_address_space_is_more_than_the_table_holds_and_can_be_unmapped() {
    for page in [1, 0x1000, 0x20_0000] {
        let mut mmu = mmu(page);
        let all = Mapping { va: 0, pa: 0, size: u64::MAX };
        assert_eq!(mmu.map(&[all]), Err(Rejected { entry: 0, why: Why::TableFull }));
        unmap(&mut mmu, 0, u64::MAX);
        assert_eq!(mmu.mmu().regions(), 0);
    }
}

#[test]
fn message_with_too_many_entries_is_refused() {
    let mut mmu = mmu(0x1000);
    let entries = vec![Mapping { va: 0, pa: 0, size: 1 }; MAX_ENTRIES + 1];
    assert_eq!(mmu.map(&entries), Err(Rejected { entry: MAX_ENTRIES + 1, why: Why::TooMany }));
    let ranges = vec![Range { va: 0, size: 1 }; MAX_ENTRIES + 1];
    assert_eq!(mmu.unmap(&ranges), Err(Rejected { entry: MAX_ENTRIES + 1, why: Why::TooMany }));
    mmu.map(&entries[1..]).unwrap();
}

#[test]
fn full_page_refuses_the_message_and_what_it_had_installed_is_taken_back() {
    let mut mmu = mmu(0x1000);
    let entry = Mapping { va: 0x1000, pa: 0x9000, size: 0x10 };
    for _ in 0..MAX_REGIONS_PER_PAGE / MAX_ENTRIES {
        mmu.map(&[entry; MAX_ENTRIES]).unwrap();
    }
    let elsewhere = Mapping { va: 0x8000, pa: 0, size: 0x1000 };
    let across = Mapping { va: 0, pa: 0, size: 0x2000 };
    let why = Why::PageFull { page: 1 };
    assert_eq!(mmu.map(&[elsewhere, across]), Err(Rejected { entry: 1, why }));
    assert_eq!(at(&mmu, [0x8000, 0, 0x1000]), [None, None, Some(0x9000)]);
    assert_eq!(mmu.mmu().regions(), MAX_REGIONS_PER_PAGE);
    unmap(&mut mmu, 0x1000, 0x1000);
    assert_eq!(mmu.mmu().regions(), 0);
}

#[test]
fn table_takes_as_many_regions_as_it_says_and_no_more() {
    let mut mmu = mmu(1);
    let all = Mapping { va: 0, pa: 0, size: MAX_REGIONS as u64 };
    let one = Mapping { va: 0, pa: 0, size: 1 };
    mmu.map(&[all]).unwrap();
    assert_eq!(mmu.map(&[one]), Err(Rejected { entry: 0, why: Why::TableFull }));
    unmap(&mut mmu, 7, 1);
    mmu.map(&[one]).unwrap();
}

#[test]
fn worst_messages_end_soon() {
    let start = Instant::now();
    let mut mmu = mmu(0x20_0000);
    // Shards like scales, each over half of the one before; then one by one away from the oldest.
    for message in 0..MAX_REGIONS_PER_PAGE / MAX_ENTRIES {
        let entries: Vec<_> = (0..MAX_ENTRIES as u64)
            .map(|n| (message * MAX_ENTRIES) as u64 + n)
            .map(|n| Mapping { va: 64 * n, pa: 0, size: 128 })
            .collect();
        mmu.map(&entries).unwrap();
    }
    for message in 0..MAX_REGIONS_PER_PAGE / MAX_ENTRIES {
        let ranges: Vec<_> = (0..MAX_ENTRIES as u64)
            .map(|n| Range { va: 64 * ((message * MAX_ENTRIES) as u64 + n), size: 128 })
            .collect();
        mmu.unmap(&ranges).unwrap();
    }
    assert_eq!(mmu.mmu().regions(), 0);
    assert!(start.elapsed() < LONG);
}

/// Regions that all end with the page, each one byte shorter than the one before; one by one away from the shortest.
#[test]
fn nested_regions_that_are_unmapped_one_by_one_go_soon() {
    let mut mmu = mmu(0x20_0000);
    let size = |n: usize| (0x20_0000 - n) as u64;
    let all: Vec<usize> = (0..MAX_REGIONS_PER_PAGE).collect();
    for part in all.chunks(MAX_ENTRIES) {
        let entries: Vec<_> =
            part.iter().map(|&n| Mapping { va: n as u64, pa: n as u64, size: size(n) }).collect();
        mmu.map(&entries).unwrap();
    }
    let start = Instant::now();
    let shortest: Vec<usize> = all.into_iter().rev().collect();
    for part in shortest.chunks(MAX_ENTRIES) {
        let ranges: Vec<_> = part.iter().map(|&n| Range { va: n as u64, size: size(n) }).collect();
        mmu.unmap(&ranges).unwrap();
    }
    assert_eq!(mmu.mmu().regions(), 0);
    assert!(start.elapsed() < SOON);
}

#[test]
fn message_that_is_refused_at_its_last_entry_is_taken_back_soon() {
    let mut mmu = mmu(0x20_0000);
    let pages = 8;
    let entry = Mapping { va: 0, pa: 0x1000, size: pages * 0x20_0000 };
    for _ in 1..MAX_REGIONS_PER_PAGE / MAX_ENTRIES {
        mmu.map(&[entry; MAX_ENTRIES]).unwrap();
    }
    mmu.map(&[entry]).unwrap();
    let start = Instant::now();
    let before = mmu.mmu().regions();
    let rejected = Rejected { entry: MAX_ENTRIES - 1, why: Why::PageFull { page: 0 } };
    let above = Mapping { pa: 0x9000, ..entry };
    assert_eq!(mmu.map(&[above; MAX_ENTRIES]), Err(rejected));
    assert_eq!((mmu.mmu().regions(), at(&mmu, [0])), (before, [Some(0x1000)]));
    assert!(start.elapsed() < SOON);
}

#[test]
fn wide_ranges_with_nothing_in_them_are_answered_soon() {
    let start = Instant::now();
    let mut mmu = mmu(0x1000);
    // The last page of the window, and one far behind it: all between them is empty.
    let pages = [(1 << 26) - 1, 1 << 51];
    pages.iter().for_each(|page| map(&mut mmu, page * 0x1000, 0, 0x1000));
    for _ in 0..64 {
        mmu.unmap(&[Range { va: 0, size: pages[0] * 0x1000 }; MAX_ENTRIES]).unwrap();
        mmu.unmap(&[Range { va: (pages[0] + 1) * 0x1000, size: 1 << 62 }; MAX_ENTRIES]).unwrap();
    }
    assert_eq!(at(&mmu, pages.map(|page| page * 0x1000)), [Some(0), Some(0)]);
    assert!(start.elapsed() < LONG);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_message_is_answered_and_refused_ones_leave_nothing(
        page in 0u32..32, va: u64, pa: u64, size: u64, shift in 0u32..64,
    ) {
        let mut mmu = mmu(1 << page);
        let entry = Mapping { va, pa, size: size >> shift };
        let before = mmu.map(&[entry]).map_or(0, |()| mmu.mmu().regions());
        prop_assert_eq!(mmu.mmu().regions(), before);
        let _ = mmu.unmap(&[Range { va, size: size >> shift }]);
        prop_assert_eq!(mmu.mmu().regions(), 0);
    }
}
