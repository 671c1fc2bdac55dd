//! Tables and addresses that mean harm.
#![expect(unsafe_code, reason = "a word is changed while the device reads it")]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use ane_device::dart::{Access, Circuit, Dart};
use ane_device::td::fetch::Descriptor;
use ane_uapi::hw::dart::error::HwError;
use ane_uapi::hw::dart::pte::PteFormat;
use ane_uapi::hw::dart::regs::{WINDOW, Window};
use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::dart::ttbr::Ttbr;
use ane_uapi::hw::space::{IovaRange, PhysAddr};
use proptest::prelude::*;
use vm_memory::{Bytes, GuestAddress, GuestMemoryBackend};

use crate::rig::{BASE, Memory, PAGE, PAGES, Rig, cause, page, range, stream};

#[test]
fn tables_that_name_themselves_translate_to_themselves() {
    let mut rig = Rig::new();
    let l2 = rig.l2();
    // Every entry of the table is an L2 entry for the table, and a leaf for it.
    for n in 0..2048 {
        rig.store(PhysAddr(l2.0 + 8 * n), 1 << 63 | l2.0);
    }
    assert_eq!(rig.read(0x1234_4008, 8).unwrap(), (1 << 63 | l2.0).to_le_bytes());
}

#[test]
fn transfer_onto_its_own_tables_takes_effect_after_an_invalidation() {
    let mut rig = Rig::new();
    let l2 = rig.l2();
    rig.map(0, l2);
    rig.map(0x4000, page(0));
    rig.read(0x4000, 1).unwrap();
    rig.write(0, &[0; 8]).unwrap();
    assert_eq!(rig.load(l2), 0);
    rig.read(0x4000, 1).unwrap();
    rig.invalidate(1);
    assert_eq!(cause(rig.read(0x4000, 1)), Err(HwError::NoL2Entry));
}

#[test]
fn table_partly_outside_memory_is_read_where_it_is_inside() {
    let mut rig = Rig::new();
    // A table base has a granule of 4 KB; this table has its first half in memory.
    let table = PhysAddr(BASE + PAGES * PAGE - 0x2000);
    let l3 = rig.table();
    rig.store(l3, 1 << 63 | page(0).0);
    rig.store(PhysAddr(table.0 + 1023 * 8), 1 << 63 | l3.0);
    rig.set_base(Window::Dart1, StreamId::BASE, Ttbr::of(table).unwrap());
    // IOVAs reach entry 111 of an L2 table: put the table so that one entry ends memory.
    let near = PhysAddr(BASE + PAGES * PAGE - 0x1000);
    rig.store(PhysAddr(near.0 + 5 * 8), 1 << 63 | l3.0);
    rig.set_base(Window::Dart1, StreamId::BASE, Ttbr::of(near).unwrap());
    rig.read(5 << 25, 1).unwrap();
    let outside = PhysAddr(BASE + PAGES * PAGE);
    rig.set_base(Window::Dart1, StreamId::BASE, Ttbr::of(outside).unwrap());
    assert_eq!(cause(rig.read(6 << 25, 1)), Err(HwError::L2TableUnreadable));
}

#[test]
fn page_partly_outside_memory_is_no_memory() {
    let memory = Memory::from_ranges(&[(GuestAddress(BASE), 4 * PAGE as usize + 0x2000)]).unwrap();
    let store = |at: u64, word: u64| memory.write_obj(word, GuestAddress(at)).unwrap();
    store(BASE, 1 << 63 | (BASE + PAGE));
    store(BASE + PAGE, 1 << 63 | (BASE + 4 * PAGE));
    let mut rig = Rig::bare();
    rig.open_in(Window::Dart1, StreamId::BASE, PhysAddr(BASE));
    let mut dma = rig.dart.dma(&memory, StreamId::BASE, Circuit::TileFetch1);
    assert_eq!(cause(dma.read(range(0, 1), &mut [0])), Err(HwError::NoMemory));
}

#[test]
fn tables_in_memory_that_lies_askew_are_unreadable() {
    let memory = Memory::from_ranges(&[(GuestAddress(BASE + 1), 8 * PAGE as usize)]).unwrap();
    let mut rig = Rig::bare();
    rig.open_in(Window::Dart1, StreamId::BASE, PhysAddr(BASE + PAGE));
    let mut dma = rig.dart.dma(&memory, StreamId::BASE, Circuit::TileFetch1);
    assert_eq!(cause(dma.read(range(0, 1), &mut [0])), Err(HwError::L2TableUnreadable));
}

#[test]
fn transfer_over_two_regions_that_touch_reaches_both() {
    // Two regions that touch in guest memory, wherever the host put them.
    let half = 8 * PAGE as usize;
    let second = BASE + half as u64;
    let memory = Memory::from_ranges(&[(GuestAddress(BASE), half), (GuestAddress(second), half)]).unwrap();
    let store = |at: u64, word: u64| memory.write_obj(word, GuestAddress(at)).unwrap();
    store(BASE, 1 << 63 | (BASE + PAGE));
    for n in 0..8 {
        store(BASE + PAGE + 8 * n, 1 << 63 | (BASE + (4 + n) * PAGE));
    }
    let mut rig = Rig::bare();
    rig.open_in(Window::Dart2, StreamId::BASE, PhysAddr(BASE));
    let mut dma = rig.dart.dma(&memory, StreamId::BASE, Circuit::TileSend);
    let bytes: Vec<u8> = (0..half).map(|n| (n % 251) as u8).collect();
    dma.write(range(0, 8 * PAGE), &bytes).unwrap();
    let mut found = vec![0; half];
    memory.read_slice(&mut found[..half / 2], GuestAddress(second - 4 * PAGE)).unwrap();
    memory.read_slice(&mut found[half / 2..], GuestAddress(second)).unwrap();
    assert!(found == bytes);
}

#[test]
fn memory_without_regions_behind_an_iommu_is_no_memory() {
    use vm_memory::iommu::{Error, Iommu, Iotlb, IotlbIterator};
    use vm_memory::{IommuMemory, Permissions};

    #[derive(Debug)]
    struct Nowhere(Iotlb);
    impl Iommu for Nowhere {
        type IotlbGuard<'a> = &'a Iotlb;
        fn translate(
            &self,
            iova: GuestAddress,
            length: usize,
            access: Permissions,
        ) -> Result<IotlbIterator<&Iotlb>, Error> {
            Iotlb::lookup(&self.0, iova, length, access)
                .map_err(|_| Error::IommuMisconfigured { reason: String::new() })
        }
    }
    let memory = IommuMemory::new(crate::rig::memory(), Nowhere(Iotlb::new()), true, ());
    let mut dart = Dart::new(PteFormat::Seed);
    let mut dma = dart.dma(&memory, stream(13), Circuit::TileFetch1);
    assert_eq!(cause(dma.read(range(crate::rig::LOW, 1), &mut [0])), Err(HwError::NoMemory));
}

/// A guest that rewrites a leaf all the time: each read sees one page or the other, or a fault, and nothing
/// between.
#[test]
fn leaf_that_changes_under_the_walk_gives_one_answer_or_the_other() {
    let mut rig = Rig::new();
    rig.fill(page(0), 0xaa, PAGE);
    rig.fill(page(1), 0xbb, PAGE);
    rig.map(0x4000, page(0));
    let leaf = rig.leaf_at(rig.l2(), 0x4000);
    let words = [1 << 63 | page(0).0, 0, 1 << 63 | page(1).0, u64::MAX];
    let host = rig.memory.get_host_address(GuestAddress(leaf.0)).unwrap().cast::<u64>();
    // SAFETY: the word is aligned and in memory that outlives the threads; everybody uses it atomically.
    let entry = unsafe { AtomicU64::from_ptr(host) };
    let done = AtomicBool::new(false);
    let seen = std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0.. {
                entry.store(words[n % 4], Ordering::Relaxed);
                // So that each of them lies there for a moment, also where there is one processor.
                std::thread::yield_now();
                if done.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        let mut seen = [false; 4];
        let mut rounds = 0;
        // A writer that has not begun shows nothing.
        while rounds < 20_000 || (seen.contains(&false) && rounds < 20_000_000) {
            rounds += 1;
            let answer = match cause(rig.read(0x4000, 64)) {
                Ok(bytes) if bytes == [0xaa; 64] => 0,
                Err(HwError::NoL3Entry) => 1,
                Ok(bytes) if bytes == [0xbb; 64] => 2,
                Err(HwError::L3EntryMalformed) => 3,
                other => panic!("{other:?}"),
            };
            seen[answer] = true;
            rig.invalidate(1);
        }
        done.store(true, Ordering::Relaxed);
        seen
    });
    assert_eq!(seen, [true; 4]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Whatever is in tables, bases and control words: a transfer ends, in bytes or in a whole descriptor.
    #[test]
    fn random_tables_and_registers_end_in_bytes_or_a_descriptor(
        words in prop::collection::vec((0u64..4, 0u64..2048, any::<u64>()), 0..64),
        writes in prop::collection::vec((0usize..4, 0u32..0x1100, any::<u32>()), 0..32),
        transfers in prop::collection::vec((0u32..16, 0usize..5, any::<u64>(), 0u64..200_000), 1..8),
        format in 0u8..3,
    ) {
        let mut rig = Rig::new();
        rig.dart = Dart::new(PteFormat::try_from(format).unwrap());
        let table = rig.l2();
        for window in Window::CARRYING_DMA {
            rig.open_in(window, StreamId::BASE, table);
        }
        for (page, index, word) in words {
            // Half of the words name something near.
            let word = if word & 1 == 0 { word } else { 1 << 63 | (BASE + (word >> 8) % (PAGES + 2) * PAGE) };
            rig.store(PhysAddr(BASE + page * PAGE + index * 8), word);
        }
        for (window, offset, value) in writes {
            let answer = rig.dart.write(Window::ALL[window], offset, value);
            prop_assert!(answer.is_ok() || offset % 4 != 0 || WINDOW.find(offset).is_none() || value != 0);
        }
        for (number, circuit, base, len) in transfers {
            let circuit = Circuit::ALL[circuit];
            let mut dma = rig.dma(stream(number), circuit);
            match dma.range(base >> (base % 64), len, Access::Write) {
                Ok(Some(range)) => {
                    let bytes = vec![0x55; range.len() as usize];
                    if let Err(info) = dma.write(range, &bytes) {
                        prop_assert_eq!(info.check(), Ok(()));
                        prop_assert!(range.contains(ane_uapi::hw::space::Iova(info.address.get())));
                    }
                }
                Ok(None) => prop_assert_eq!(len, 0),
                Err(info) => prop_assert_eq!(info.check(), Ok(())),
            }
        }
    }
}

#[test]
fn largest_transfer_ends_at_its_first_unmapped_page() {
    let mut rig = Rig::new();
    let l3 = rig.table();
    // All of the aperture leads to one table, whose last leaf is missing.
    for n in 0..112 {
        rig.store(PhysAddr(rig.l2().0 + 8 * n), 1 << 63 | l3.0);
    }
    for n in 0..2048 {
        rig.store(PhysAddr(l3.0 + 8 * n), 1 << 63 | page(n % 100).0);
    }
    let all = IovaRange::new(0, 0xe000_0000).unwrap();
    let mut dma = rig.dma(StreamId::BASE, Circuit::TileFetch1);
    dma.check(all, Access::Read).unwrap();
    rig.store(PhysAddr(l3.0 + 8 * 2047), 0);
    rig.invalidate(1);
    let info = rig.dma(StreamId::BASE, Circuit::TileFetch1).check(all, Access::Read).unwrap_err();
    assert_eq!((info.error(), info.address.get()), (Ok(HwError::NoL3Entry), 2047 << 14));
}

#[test]
fn descriptor_is_never_longer_than_its_length_can_say() {
    let mut rig = Rig::new();
    // A quarter of a megabyte is sixteen pages, and all of them may be the same.
    (1..=16).for_each(|at| rig.map(0x4000 * at, page(0)));
    for (words, expected) in [(0, 1), (1, 1), (513, 513), (1 << 16, 1 << 16), (usize::MAX, 1 << 16)] {
        let mut dma = rig.dma(StreamId::BASE, Circuit::TdFetch);
        let mut descriptor = Descriptor::default();
        descriptor.fetch(&mut dma, 0x4000, words).unwrap();
        assert_eq!(descriptor.words().len(), expected);
    }
}
