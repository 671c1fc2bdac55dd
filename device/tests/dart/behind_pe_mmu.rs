//! Transfers that a PE_MMU translates first.

use ane_device::dart::{Access, Alone, Circuit, FaultPolicy, Rows};
use ane_device::pe_mmu::{Attributes, Mapping, PeMmu};
use ane_uapi::hw::dart::error::HwError;
use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::pe_mmu::PageSize;
use ane_uapi::hw::usage::Usage;
use proptest::prelude::*;
use vm_memory::{Bytes, GuestAddress};

use crate::rig::{PAGE, Rig, fault, page, random, range};

/// Pages of PE_MMU, smaller than the DART's.
const SMALL: u64 = 0x1000;

/// Sixteen mapped pages with different bytes, and a PE_MMU before them.
fn rig(mappings: &[(u64, u64, u64)]) -> Rig {
    let mut rig = Rig::new();
    for n in 0..16 {
        rig.map(n * PAGE, page(n * 5 % 16));
        let bytes: Vec<_> = random(n).take(PAGE as usize).map(|word| word as u8).collect();
        rig.memory.write_slice(&bytes, GuestAddress(page(n * 5 % 16).0)).unwrap();
    }
    let page_size = PageSize::new(SMALL).unwrap();
    let mut mmu = PeMmu::new(Attributes { page_size, overhead_ps: 5_000, ..Attributes::default() });
    let mappings: Vec<_> = mappings.iter().map(|&(va, pa, size)| Mapping { va, pa, size }).collect();
    mmu.map(&mappings).unwrap();
    rig.dart.set_before(mmu);
    rig
}

/// The bytes that a rig without PE_MMU has at device addresses.
fn plain(at: u64, len: u64) -> Vec<u8> {
    let mut rig = rig(&[]);
    rig.read(at, len).unwrap()
}

#[test]
fn region_leads_to_another_device_address() {
    let mut rig = rig(&[(0x1000, 0x2_0000, 0x800)]);
    assert_eq!(rig.read(0x1200, 0x100).unwrap(), plain(0x2_0200, 0x100));
}

#[test]
fn transfer_across_regions_takes_each_byte_from_its_own() {
    let mut rig = rig(&[(0x1000, 0x2_0000, 0x1000), (0x1400, 0x3_0010, 0x200)]);
    let expected = [plain(0x2_0380, 0x80), plain(0x3_0010, 0x200), plain(0x2_0600, 0x80)].concat();
    assert_eq!(rig.read(0x1380, 0x300).unwrap(), expected);
    let bytes: Vec<u8> = (0..=255).cycle().take(0x300).collect();
    rig.write(0x1380, &bytes).unwrap();
    assert_eq!(rig.read(0x1380, 0x300).unwrap(), bytes);
    assert_eq!(rig.read(0x3_0010, 0x200).unwrap(), bytes[0x80..0x280]);
}

/// Requirement: PEMMU-15
#[test]
fn address_without_a_region_is_used_as_it_is_and_nothing_is_latched() {
    let mut rig = rig(&[]);
    let mut direct = Rig::new();
    direct.map(0, page(0));
    direct.memory.write_slice(&rig.bytes(page(0), PAGE), GuestAddress(page(0).0)).unwrap();
    assert_eq!(rig.read(0x40, 64).unwrap(), direct.read(0x40, 64).unwrap());
    assert_eq!(rig.dart.take_faults().count(), 0);
    assert_eq!(rig.dart.before().unwrap().counters().fallbacks, 1);
    assert_eq!(rig.dart.translation_wait(), 5_000);
}

#[test]
fn what_a_region_yields_still_has_to_pass_the_window() {
    let unmapped = 20 * PAGE;
    let beyond = 0xe000_0000;
    let mut rig = rig(&[(0x1000, unmapped, 0x100), (0x2000, beyond, 0x100), (0x3000, 1 << 40, 0x100)]);
    assert_eq!(fault(rig.read(0x1000, 16)), Err((HwError::NoL3Entry, unmapped as u32)));
    assert_eq!(rig.dart.take_faults().count(), 1);
    assert_eq!(fault(rig.read(0x2000, 16)), Err((HwError::OutsideAperture, 0xe000_0000)));
    assert_eq!(fault(rig.read(0x3000, 16)).unwrap_err().0, HwError::HighAddress);
    assert_eq!(fault(rig.read(0x40, 16)), Ok(plain(0x40, 16)));
}

#[test]
fn transfer_that_fails_in_its_last_region_moves_nothing() {
    let mut rig = rig(&[(0x1000, 0x2_0000, 0x800), (0x1800, 20 * PAGE, 0x800)]);
    let before = rig.read(0x2_0000, 0x800).unwrap();
    assert!(rig.write(0x1000, &[0xee; 0x1000]).is_err());
    assert_eq!(rig.read(0x2_0000, 0x800).unwrap(), before);
}

#[test]
fn checks_and_rows_go_the_same_way_as_transfers() {
    let mut rig = rig(&[(0x1000, 20 * PAGE, 0x1000)]);
    let mut dma = rig.dma(StreamId::BASE, Circuit::TileSend);
    assert!(dma.check(range(0x1000, 16), Access::Write).is_err());
    assert!(dma.check(range(0x2000, 16), Access::Write).is_ok());
    let rows = Rows::new(0, 16, 0x800, 4).unwrap();
    assert!(dma.check_rows(rows, Access::Write).is_err());
    assert!(dma.check_rows(Rows::new(0, 16, 0x800, 2).unwrap(), Access::Write).is_ok());
}

/// What circuits have asked PE_MMU: translations, fall-backs, and the picoseconds to wait for them.
fn asked(rig: &Rig) -> (u64, u64, u64) {
    let counters = rig.dart.before().unwrap().counters();
    (counters.translations, counters.fallbacks, rig.dart.translation_wait())
}

#[test]
fn transfer_that_is_looked_at_before_it_is_moved_is_asked_for_once() {
    let mut rig = rig(&[(0x1000, 0x2_0000, 0x800)]);
    let rows = Rows::new(0x40, 16, 0x1000, 4).unwrap();
    let mut dma = rig.dma(StreamId::BASE, Circuit::TileSend);
    dma.check(range(0x1000, 0x1000), Access::Write).unwrap();
    dma.check_rows(rows, Access::Write).unwrap();
    assert_eq!(asked(&rig), (0, 0, 0));
    rig.write(0x1000, &[0; 0x1000]).unwrap();
    assert_eq!(asked(&rig), (2, 1, 10_000), "a stretch in the region and one behind it");
    assert_eq!(rig.dart.before_mut().unwrap().take_notes().len(), 1);
}

#[test]
fn transfer_that_faults_when_it_is_looked_at_was_asked_for_unless_it_waits() {
    for (policy, expected) in [(FaultPolicy::Contain, (1, 1, 5_000)), (FaultPolicy::Stall, (0, 0, 0))] {
        let mut rig = rig(&[]);
        rig.dart.set_policy(policy);
        let mut dma = rig.dma(StreamId::BASE, Circuit::TileSend);
        dma.check(range(20 * PAGE, 16), Access::Write).unwrap_err();
        assert_eq!(asked(&rig), expected, "{policy:?}");
    }
}

#[test]
fn checking_mode_reports_a_transfer_behind_pe_mmu_when_it_is_moved_and_not_before() {
    let mut rig = rig(&[]);
    rig.dart.set_check(true);
    assert!(rig.dart.declare(StreamId::BASE, range(0x1000, 0x1000), Usage::Input));
    let mut dma = rig.dma(StreamId::BASE, Circuit::TileSend);
    dma.check(range(0x1000, 16), Access::Write).unwrap();
    dma.check_rows(Rows::new(0x1000, 16, 0x100, 4).unwrap(), Access::Write).unwrap();
    assert_eq!(rig.dart.take_reports(), []);
    rig.write(0x1000, &[0; 16]).unwrap();
    assert_eq!(rig.dart.take_reports().len(), 1);
}

#[test]
fn one_row_read_a_million_times_is_asked_for_once() {
    let mut rig = rig(&[]);
    let rows = Rows::new(0x40, 1, 0, 1 << 20).unwrap();
    let mut into = vec![0; 1 << 20];
    rig.dma(StreamId::BASE, Circuit::TileFetch1).read_rows(rows, &mut into, &mut Alone).unwrap();
    assert_eq!(rig.dart.before().unwrap().counters().translations, 1);
    assert_eq!(into, vec![into[0]; 1 << 20]);
}

#[test]
fn rows_over_single_byte_regions_end_in_a_fault_before_they_fill_memory() {
    let mappings: Vec<_> = (0..1024).map(|n| (n, n * 2, 1)).collect();
    let mut rig = rig(&mappings);
    let rows = Rows::new(0, 1024, 0, 2048).unwrap();
    let mut into = vec![0; 2 << 20];
    let refused = rig.dma(StreamId::BASE, Circuit::TileFetch1).read_rows(rows, &mut into, &mut Alone);
    assert_eq!(fault(refused).map_err(|(error, _)| error), Err(HwError::NoMemory));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn rows_are_what_reading_each_byte_gives(
        mappings in prop::collection::vec((0u64..0x8000, 0u64..0x2_0000, 1u64..0x3000), 0..12),
        base in 0u64..0x4000, len in 1u32..0x900, stride in 0u32..0xc00, count in 1u32..9,
    ) {
        let mut rig = rig(&mappings);
        let rows = Rows::new(base, len, stride, count).unwrap();
        let mut expected = Vec::new();
        for row in 0..u64::from(count) {
            for byte in 0..u64::from(len) {
                expected.extend(rig.read(base + row * u64::from(stride) + byte, 1).unwrap());
            }
        }
        let mut into = vec![0; expected.len()];
        rig.dma(StreamId::BASE, Circuit::TileFetch2).read_rows(rows, &mut into, &mut Alone).unwrap();
        prop_assert!(into == expected);
    }
}
