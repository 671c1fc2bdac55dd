//! The vectors on the table (pe-mmu 7), by their numbers.

use super::*;

/// Vector 18.
#[test]
fn block_without_attributes_has_pages_of_two_megabytes_and_costs_nothing() {
    let mut mmu = PeMmu::new(Attributes::default());
    assert_eq!(mmu.mmu().page_size().bytes(), 0x20_0000);
    assert_eq!(mmu.read(RegisterId::OVERHEAD_PS, 0), 0);
}

/// Requirement: PEMMU-02, PEMMU-05
#[test]
fn table_is_one_object_through_every_access_and_through_messages() {
    let mut mmu = mmu(0x1000);
    let before = std::ptr::from_ref(mmu.mmu());
    map(&mut mmu, 0, 0x7000, 0x1000);
    unmap(&mut mmu, 0x5000, 0x1000);
    assert!(std::ptr::eq(before, mmu.mmu()));
    assert_eq!(at(&mmu, [0]), [Some(0x7000)]);
}

/// Vector 1.
#[test]
fn whole_page_leads_from_its_first_byte_to_its_last() {
    let mut mmu = mmu(0x20_0000);
    map(&mut mmu, 0x20_0000, 0x8000_0000, 0x20_0000);
    assert_eq!(
        at(&mmu, [0x20_0000, 0x3f_ffff, 0x40_0000, 0x1f_ffff]),
        [Some(0x8000_0000), Some(0x801f_ffff), None, None]
    );
    assert_eq!(mmu.mmu().regions(), 1);
}

/// Vector 2.
///
/// Requirement: PEMMU-11
#[test]
fn mapping_across_a_page_boundary_is_one_region_in_each_page() {
    let mut mmu = mmu(0x20_0000);
    map(&mut mmu, 0x3f_f000, 0x1000_0000, 0x2000);
    assert_eq!(mmu.mmu().regions(), 2);
    assert_eq!(
        at(&mmu, [0x3f_f000, 0x3f_ffff, 0x40_0000, 0x40_0fff, 0x40_1000, 0x3f_efff]),
        [Some(0x1000_0000), Some(0x1000_0fff), Some(0x1000_1000), Some(0x1000_1fff), None, None]
    );
}

/// Vector 3.
#[test]
fn region_near_the_end_of_a_page_may_lead_below_its_own_offset() {
    let mut mmu = mmu(0x20_0000);
    map(&mut mmu, 0x1f_f000, 0x1000, 0x1000);
    assert_eq!(at(&mmu, [0x1f_f000, 0x1f_f800, 0x1f_efff]), [Some(0x1000), Some(0x1800), None]);
}

/// Vector 4.
///
/// Requirement: PEMMU-10
#[test]
fn shards_of_128_bytes_share_a_page_and_each_keeps_its_own_place() {
    let mut mmu = mmu(0x1000);
    for i in 0..32 {
        map(&mut mmu, 0x1000 + 0x80 * i, 0xa000_0000 + 0x1000 * i, 0x80);
    }
    assert_eq!(mmu.mmu().regions(), 32);
    assert_eq!(
        at(&mmu, [0x1290, 0x1000, 0x1fff, 0x1280]),
        [Some(0xa000_5010), Some(0xa000_0000), Some(0xa001_f07f), Some(0xa000_5000)]
    );
}

/// A = [0, 0x1000), then B = [0x400, 0x600) on top of it.
fn covered() -> PeMmu {
    let mut mmu = mmu(0x1000);
    map(&mut mmu, 0, 0x4000_0000, 0x1000);
    map(&mut mmu, 0x400, 0x5000_0000, 0x200);
    mmu
}

/// Vector 5.
///
/// Requirement: PEMMU-12
#[test]
fn newest_region_that_covers_an_address_wins() {
    assert_eq!(
        at(&covered(), [0x3ff, 0x400, 0x5ff, 0x600]),
        [Some(0x4000_03ff), Some(0x5000_0000), Some(0x5000_01ff), Some(0x4000_0600)]
    );
}

/// Vector 6.
#[test]
fn region_that_goes_uncovers_the_older_one() {
    let mut mmu = covered();
    unmap(&mut mmu, 0x400, 0x200);
    assert_eq!(at(&mmu, [0x400]), [Some(0x4000_0400)]);
    assert_eq!(mmu.mmu().regions(), 1);
}

/// Vector 7.
///
/// Requirement: PEMMU-13
#[test]
fn unmap_takes_what_lies_inside_and_leaves_what_reaches_out_whole() {
    let mut mmu = covered();
    unmap(&mut mmu, 0x300, 0x400);
    assert_eq!(at(&mmu, [0x450, 0x300]), [Some(0x4000_0450), Some(0x4000_0300)]);
}

/// Vector 8.
#[test]
fn unmap_of_a_whole_page_takes_everything() {
    let mut mmu = covered();
    unmap(&mut mmu, 0, 0x1000);
    assert_eq!(at(&mmu, [0, 0x400]), [None, None]);
    assert_eq!(mmu.mmu().regions(), 0);
}

/// Vector 9.
#[test]
fn page_that_is_half_in_the_range_keeps_its_region() {
    let mut mmu = mmu(0x1000);
    map(&mut mmu, 0, 0x1000_0000, 0x4000);
    unmap(&mut mmu, 0x1000, 0x1800);
    assert_eq!(
        at(&mmu, [0x0fff, 0x1000, 0x2000, 0x27ff]),
        [Some(0x1000_0fff), None, Some(0x1000_2000), Some(0x1000_27ff)]
    );
}

/// Vector 19.
#[test]
fn range_mapped_three_times_is_three_regions_and_one_unmap() {
    let mut mmu = mmu(0x1000);
    for pa in [0x1_0000, 0x2_0000, 0x3_0000] {
        map(&mut mmu, 0, pa, 0x1000);
    }
    assert_eq!((mmu.mmu().regions(), at(&mmu, [0x10])), (3, [Some(0x3_0010)]));
    unmap(&mut mmu, 0, 0x1000);
    assert_eq!((mmu.mmu().regions(), at(&mmu, [0x10])), (0, [None]));
}

/// Vector 20.
#[test]
fn transfer_is_cut_where_pages_and_regions_end() {
    let mut crossing = mmu(0x20_0000);
    map(&mut crossing, 0x3f_f000, 0x1000_0000, 0x1000);
    map(&mut crossing, 0x40_0000, 0x7000_0000, 0x1000);
    assert_eq!(pieces(&crossing, 0x3f_f000, 0x2000), [(0x1000_0000, 0x1000), (0x7000_0000, 0x1000)]);
    assert_eq!(
        pieces(&covered(), 0x380, 0x300),
        [(0x4000_0380, 0x80), (0x5000_0000, 0x200), (0x4000_0600, 0x80)]
    );
}

/// Vector 23.
#[test]
fn mapping_of_several_pages_can_go_page_by_page() {
    let mut mmu = mmu(0x1000);
    map(&mut mmu, 0x2000, 0x5000_0000, 0x3000);
    unmap(&mut mmu, 0x3000, 0x1000);
    assert_eq!(at(&mmu, [0x2fff, 0x3000, 0x4000]), [Some(0x5000_0fff), None, Some(0x5000_2000)]);
}

/// Requirement: PEMMU-04
#[test]
fn translating_a_million_times_changes_nothing_and_costs_nothing() {
    let mut mmu = covered();
    let digest = |mmu: &PeMmu| format!("{:?}", mmu.mmu());
    let before = digest(&mmu);
    for va in 0..1_000_000 {
        let _ = mmu.mmu().translate(va);
    }
    assert_eq!(digest(&mmu), before);
    assert_eq!(mmu.take_wait(), None);
    assert_eq!(mmu.counters().translations, 0);
}
