//! Translation, transfers and the translation buffer.

use ane_device::dart::{Access, Circuit, Misuse};
use ane_uapi::hw::dart::aperture;
use ane_uapi::hw::dart::error::HwError;
use ane_uapi::hw::dart::pte::{LeafFormat, PteFormat, Seed, T6000, T8020};
use ane_uapi::hw::dart::regs::{self, StreamRemap, Tcr, Window};
use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::dart::ttbr::Ttbr;
use ane_uapi::hw::space::{Iova, PhysAddr};
use ane_uapi::hw::usage::{Protection, ProtectionClass, Usage};
use proptest::prelude::*;
use vm_memory::bitmap::{AtomicBitmap, Bitmap};
use vm_memory::{Bytes, GuestAddress, GuestMemoryBackend, GuestMemoryMmap, GuestMemoryRegion};

use crate::rig::{BASE, LOW, PAGE, PAGES, Rig, cause, fault, page, random, range, read_write, stream};

/// Requirement: DART-01, DMA-01
#[test]
fn no_circuit_reaches_memory_without_a_translation() {
    let mut rig = Rig::new();
    for circuit in Circuit::ALL {
        let mut into = [7; 32];
        let mut dma = rig.dma(StreamId::BASE, circuit);
        assert_eq!(cause(dma.read(range(LOW, 32), &mut into)), Err(HwError::NoL2Entry), "{circuit}");
        assert_eq!(cause(dma.write(range(LOW, 32), &into)), Err(HwError::NoL2Entry), "{circuit}");
        assert_eq!(into, [7; 32]);
    }
    assert_eq!(rig.bytes(PhysAddr(LOW), 32), [0; 32]);
}

#[test]
fn page_ends_after_16384_bytes() {
    let mut rig = Rig::new();
    rig.map(0, page(3));
    rig.map(0x4000, page(1));
    rig.fill(PhysAddr(page(3).0 + 0x3fff), 0x33, 1);
    rig.fill(page(1), 0x11, 1);
    assert_eq!(rig.read(0x3fff, 2).unwrap(), [0x33, 0x11]);
}

/// Requirement: DART-04
#[test]
fn last_byte_of_the_aperture_is_reached_and_the_next_faults() {
    let mut rig = Rig::new();
    rig.map(aperture::SIZE - PAGE, page(0));
    rig.fill(page(0), 0x5a, PAGE);
    assert_eq!(rig.read(aperture::SIZE - 1, 1).unwrap(), [0x5a]);
    let mut dma = rig.dma(StreamId::BASE, Circuit::TileFetch1);
    let outside = Err((HwError::OutsideAperture, 0xe000_0000));
    assert_eq!(fault(dma.range(aperture::SIZE, 1, Access::Read)), outside);
    assert_eq!(fault(dma.range(aperture::SIZE - 1, 2, Access::Read)), outside);
}

/// Requirement: DART-05
#[test]
fn circuits_see_one_memory_where_the_windows_share_a_base() {
    let mut rig = Rig::new();
    rig.map(0x8000, page(5));
    rig.fill(page(5), 0x99, PAGE);
    for circuit in Circuit::ALL {
        assert_eq!(rig.read_as(StreamId::BASE, circuit, 0x8000, 4).unwrap(), [0x99; 4], "{circuit}");
    }
}

/// Requirement: DART-06
#[test]
fn window_that_was_left_out_faults_with_its_own_name() {
    let mut rig = Rig::bare();
    let table = rig.table();
    rig.open_in(Window::Dart0, StreamId::BASE, table);
    rig.map(0x8000, page(5));
    for circuit in Circuit::ALL {
        let expected = if circuit.window() == Window::Dart0 { Ok(()) } else { Err(HwError::StreamBlocked) };
        let read = rig.read_as(StreamId::BASE, circuit, 0x8000, 4);
        assert_eq!(cause(read).map(|_| ()), expected, "{circuit}");
    }
    for window in [Window::Dart1, Window::Dart2] {
        rig.set_tcr(window, StreamId::BASE, Tcr::new().with_translate(true));
    }
    assert_eq!(cause(rig.read(0x8000, 4)), Err(HwError::NoTableBase));
    assert_eq!(cause(rig.write(0x8000, &[0])), Err(HwError::NoTableBase));
}

/// Requirement: DART-07
#[test]
fn scattered_pages_are_one_buffer() {
    let mut rig = Rig::new();
    for (n, from) in [7, 2, 9, 4, 0].into_iter().enumerate() {
        rig.map(0x10_0000 + n as u64 * PAGE, page(from));
    }
    let bytes: Vec<_> = random(1).take(4 * PAGE as usize).map(|word| word as u8).collect();
    rig.write(0x10_0123, &bytes).unwrap();
    assert!(rig.read(0x10_0123, 4 * PAGE).unwrap() == bytes);
    assert!(rig.bytes(page(2), PAGE) == bytes[PAGE as usize - 0x123..][..PAGE as usize]);
}

/// Requirement: DART-11
#[test]
fn streams_13_and_15_pass_untranslated() {
    let mut rig = Rig::bare();
    rig.fill(PhysAddr(LOW + 5), 0x77, 3);
    for number in [13, 15] {
        assert_eq!(rig.read_as(stream(number), Circuit::TileFetch1, LOW + 5, 3).unwrap(), [0x77; 3]);
    }
    let read = rig.read_as(stream(13), Circuit::TileFetch1, 0x4000, 3);
    assert_eq!(cause(read), Err(HwError::NoMemory));
}

/// Requirement: DART-12
#[test]
fn disabled_stream_is_denied_whatever_its_control_word_says() {
    let mut rig = Rig::new();
    rig.map(0x4000, page(0));
    rig.read(0x4000, 1).unwrap();
    rig.set(Window::Dart1, regs::ENABLED_STREAMS.offset(), 0xa000);
    assert_eq!(cause(rig.read(0x4000, 1)), Err(HwError::StreamDisabled));
    rig.set(Window::Dart1, regs::ENABLED_STREAMS.offset(), 0xa001);
    rig.read(0x4000, 1).unwrap();
}

#[test]
fn live_table_base_names_the_table_of_the_live_machine() {
    assert_eq!(Ttbr::from_bits(0x9002_2320).table(), Some(PhysAddr(0x100_2232_0000)));
}

/// Requirement: DART-20
#[test]
fn table_base_and_tables_are_ordinary_memory() {
    let mut rig = Rig::new();
    rig.map(0x4000, page(0));
    rig.map(0x8000, rig.l2());
    // The engine reads its own L2 table, like any other page.
    assert_eq!(rig.read(0x8000, 8).unwrap(), rig.load(rig.l2()).to_le_bytes());
}

#[test]
fn leaf_is_the_frame_and_bit_63() {
    for word in random(25).take(10_000) {
        let frame = word & 0x0000_7fff_ffff_c000;
        assert_eq!(Seed::encode(PhysAddr(frame), read_write()), Ok(frame | 1 << 63));
    }
}

/// Requirement: DART-26
#[test]
fn unmapped_page_faults_and_so_does_a_leaf_without_bit_63() {
    let mut rig = Rig::new();
    rig.map(0x4000, page(0));
    rig.unmap(0x4000);
    assert_eq!(fault(rig.read(0x4010, 1)), Err((HwError::NoL3Entry, 0x4010)));
    let leaf = rig.leaf_at(rig.l2(), 0x4000);
    rig.store(leaf, page(0).0);
    assert_eq!(fault(rig.read(0x4010, 1)), Err((HwError::NoL3Entry, 0x4010)));
}

/// Requirement: DART-27
#[test]
fn frame_is_unshifted_and_low_bits_are_an_error() {
    let mut rig = Rig::new();
    let leaf = rig.leaf_at(rig.l2(), 0x4000);
    rig.fill(PhysAddr(page(6).0 + 9), 0x66, 1);
    rig.store(leaf, page(6).0 | 1 << 63);
    assert_eq!(rig.read(0x4009, 1).unwrap(), [0x66]);
    rig.invalidate(u16::MAX);
    for bit in (0..14).chain(47..59).chain([61]) {
        rig.store(leaf, page(6).0 | 1 << 63 | 1 << bit);
        assert_eq!(cause(rig.read(0x4009, 1)), Err(HwError::L3EntryMalformed), "bit {bit}");
    }
}

/// Requirement: DART-30
#[test]
fn same_leaf_is_writable_for_one_control_word_and_not_for_another() {
    let mut rig = Rig::new();
    rig.map(0x4000, page(0));
    rig.write(0x4000, &[1, 2]).unwrap();
    let tcr = Tcr::new().with_translate(true);
    rig.set_tcr(Window::Dart2, StreamId::BASE, tcr.with_no_write(true));
    assert_eq!(fault(rig.write(0x4000, &[3, 4])), Err((HwError::WriteProtection, 0x4000)));
    rig.set_tcr(Window::Dart1, StreamId::BASE, tcr.with_no_read(true));
    assert_eq!(fault(rig.read(0x4000, 2)), Err((HwError::ReadProtection, 0x4000)));
    assert_eq!(rig.bytes(page(0), 2), [1, 2]);
}

/// Requirement: DART-34, MEM-33
#[test]
fn write_into_an_input_passes_the_leaf_and_is_reported_by_checking_mode() {
    let mut rig = Rig::new();
    rig.map(0x4000, page(0));
    rig.dart.set_check(true);
    assert!(rig.dart.declare(StreamId::BASE, range(0x4000, PAGE), Usage::Input));
    rig.write(0x4000, &[9]).unwrap();
    assert_eq!(rig.bytes(page(0), 1), [9]);
    let reports = rig.dart.take_reports();
    assert_eq!(reports.len(), 1);
    assert_eq!(reports[0].misuse, Misuse::InputWritten { mapping: range(0x4000, PAGE) });
}

/// Requirement: DART-35
#[test]
fn translation_stays_until_its_stream_is_invalidated() {
    let mut rig = Rig::new();
    rig.map(0x4000, page(0));
    rig.fill(page(0), 0xa0, 1);
    rig.fill(page(1), 0xb1, 1);
    assert_eq!(rig.read(0x4000, 1).unwrap(), [0xa0]);
    rig.map(0x4000, page(1));
    assert_eq!(rig.read(0x4000, 1).unwrap(), [0xa0], "stale");
    rig.invalidate(!1);
    assert_eq!(rig.read(0x4000, 1).unwrap(), [0xa0], "other streams were invalidated");
    // The tile sender's window never translated the page.
    rig.write(0x4000, &[0xc2]).unwrap();
    assert_eq!(rig.bytes(page(1), 1), [0xc2]);
    rig.invalidate(1);
    assert_eq!(rig.read(0x4000, 1).unwrap(), [0xc2]);
    rig.unmap(0x4000);
    rig.invalidate(1);
    assert_eq!(cause(rig.read(0x4000, 1)), Err(HwError::NoL3Entry));
}

/// Requirement: DART-37
#[test]
fn tables_are_left_as_the_driver_wrote_them() {
    let mut rig = Rig::new();
    rig.map(0x4000, page(0));
    let leaf = rig.leaf_at(rig.l2(), 0x4000);
    let (leaf_word, entry_word) = (rig.load(leaf), rig.load(rig.l2()));
    rig.write(0x4000, &[1; 64]).unwrap();
    rig.read(0x4000, 64).unwrap();
    assert_eq!((rig.load(leaf), rig.load(rig.l2())), (leaf_word, entry_word));
}

/// Requirement: DART-38
#[test]
fn address_above_32_bits_is_refused_with_its_high_half() {
    let mut rig = Rig::new();
    let info =
        rig.dma(StreamId::BASE, Circuit::TileSend).range(0x1_0000_4000, 16, Access::Write).unwrap_err();
    assert_eq!(info.error(), Ok(HwError::HighAddress));
    assert_eq!(rig.get(Window::Dart2, 0x50), 0x4000);
    assert_eq!(rig.get(Window::Dart2, 0x54), 1);
}

/// Requirement: ALIGN-01
/// Requirement: ALIGN-02
/// Requirement: ALIGN-03
#[test]
fn three_scales_of_alignment_are_16_and_256_and_16384() {
    assert_eq!((aperture::DMA_ALIGN, aperture::SEGMENT_ALIGN, aperture::PAGE_SIZE), (16, 256, 16384));
}

#[test]
fn new_page_is_found_without_an_invalidation() {
    let mut rig = Rig::new();
    assert_eq!(cause(rig.read(0x4000, 1)), Err(HwError::NoL2Entry));
    rig.map(0x4000, page(0));
    rig.read(0x4000, 1).unwrap();
}

#[test]
fn ranges_that_are_no_engine_addresses_fault_at_their_first_byte_outside() {
    let mut rig = Rig::new();
    let mut dma = rig.dma(StreamId::BASE, Circuit::TileFetch1);
    for (base, len, error, low) in [
        (0x4000, aperture::SIZE, HwError::OutsideAperture, 0xe000_0000),
        (0xffff_fff0, 0x20, HwError::OutsideAperture, 0xffff_fff0),
        (0x4000, u64::MAX, HwError::OutsideAperture, 0xe000_0000),
        (u64::MAX, 2, HwError::HighAddress, u32::MAX),
        (1 << 32, 1, HwError::HighAddress, 0),
    ] {
        assert_eq!(fault(dma.range(base, len, Access::Read)), Err((error, low)), "{base:#x}+{len:#x}");
    }
    assert_eq!(dma.range(u64::MAX, 0, Access::Read), Ok(None), "no bytes are no transfer");
    assert_eq!(dma.range(0x4000, 16, Access::Read), Ok(Some(range(0x4000, 16))));
}

#[test]
fn transfer_with_a_hole_in_the_middle_moves_nothing() {
    let mut rig = Rig::new();
    rig.map(0x4000, page(0));
    rig.map(0xc000, page(2));
    assert_eq!(fault(rig.write(0x7ff0, &[1; 0x8000])), Err((HwError::NoL3Entry, 0x8000)));
    assert!(rig.bytes(page(0), PAGE).iter().all(|&byte| byte == 0));
    rig.fill(page(0), 0xee, PAGE);
    let mut into = vec![3; 0x8000];
    let read = rig.dma(StreamId::BASE, Circuit::TileFetch1).read(range(0x7ff0, 0x8000), &mut into);
    assert!(read.is_err());
    assert!(into.iter().all(|&byte| byte == 3));
}

#[test]
fn bytes_are_counted_where_they_moved() {
    let mut rig = Rig::new();
    rig.map(0x4000, page(0));
    rig.map(0x8000, page(3));
    rig.read(0x4000, 100).unwrap();
    rig.read(0x7fff, 2).unwrap();
    rig.write(0x4000, &[0; 7]).unwrap();
    assert!(rig.read(0x0, 5).is_err());
    assert_eq!((rig.dart.bytes_read(), rig.dart.bytes_written()), (102, 7));
    rig.dart.reset();
    assert_eq!((rig.dart.bytes_read(), rig.dart.bytes_written()), (0, 0));
}

#[test]
fn buffer_shorter_than_its_range_gets_the_first_bytes() {
    let mut rig = Rig::new();
    rig.map(0x4000, page(0));
    rig.map(0x8000, page(2));
    rig.fill(page(0), 1, PAGE);
    rig.fill(page(2), 2, PAGE);
    let mut into = [0; 4];
    let mut dma = rig.dma(StreamId::BASE, Circuit::TileFetch1);
    dma.read(range(0x4000, 100), &mut into).unwrap();
    assert_eq!(into, [1; 4]);
    dma.read(range(0x7ffe, 100), &mut into).unwrap();
    assert_eq!(into, [1, 1, 2, 2]);
    dma.read(range(0x7ffe, 100), &mut []).unwrap();
}

#[test]
fn published_formats_translate_protect_and_open_parts_of_pages() {
    fn check<F: LeafFormat>(format: PteFormat) {
        let mut rig = Rig::new();
        rig.dart = ane_device::dart::Dart::new(format);
        let (l2, l3) = (rig.l2(), rig.table());
        // Low memory is within the reach of every format.
        let low = |n: u64| PhysAddr(LOW + n * PAGE);
        for window in Window::CARRYING_DMA {
            rig.open_in(window, StreamId::BASE, l2);
        }
        // T8020 has 36 address bits, and the tables lie at bit 35.
        rig.store(l2, F::encode_table(l3).unwrap());
        let write_only = Protection::of(ProtectionClass::DeviceWrite);
        let read_only = Protection::of(ProtectionClass::ReadOnly);
        rig.store(l3, F::encode(low(0), read_write()).unwrap());
        rig.store(PhysAddr(l3.0 + 8), F::encode(low(1), write_only).unwrap());
        rig.store(PhysAddr(l3.0 + 16), F::encode(low(2), read_only).unwrap());
        rig.fill(low(0), 0xf0, 1);
        assert_eq!(rig.read(0, 1).unwrap(), [0xf0], "{format}");
        assert_eq!(cause(rig.read(0x4000, 1)), Err(HwError::ReadProtection), "{format}");
        rig.write(0x4000, &[1]).unwrap();
        assert_eq!(cause(rig.write(0x8000, &[1])), Err(HwError::WriteProtection), "{format}");

        // Units 1 to 2 are open: bytes 4 to 11.
        let whole = F::encode(low(3), read_write()).unwrap();
        let open = 1 << 52 | 2 << 40;
        rig.store(PhysAddr(l3.0 + 24), (whole & !(0xfff << 52 | 0xfff << 40 | 2)) | open);
        rig.read(0xc004, 8).unwrap();
        assert_eq!(fault(rig.read(0xc003, 2)), Err((HwError::SubPage, 0xc003)), "{format}");
        assert_eq!(fault(rig.read(0xc008, 8)), Err((HwError::SubPage, 0xc00c)), "{format}");
        assert_eq!(fault(rig.read(0xc100, 8)), Err((HwError::SubPage, 0xc100)), "{format}");
    }
    check::<T8020>(PteFormat::T8020);
    check::<T6000>(PteFormat::T6000);
}

#[test]
fn remapped_stream_uses_another_slot_and_faults_under_its_number() {
    let mut rig = Rig::bare();
    rig.open(stream(5));
    let remap = StreamRemap::from_bits(0x0302_0100).with_third(5).into_bits();
    rig.set(Window::Dart1, regs::STREAM_REMAP_0.offset(), remap);
    let info = rig.read_as(stream(2), Circuit::TileFetch1, 0x4000, 1).unwrap_err();
    assert_eq!((info.error(), info.stream()), (Ok(HwError::NoL2Entry), Ok(stream(5))));
}

#[test]
fn other_memory_is_used_at_once_and_translations_start_anew() {
    let mut rig = Rig::new();
    rig.map(0x4000, page(0));
    rig.fill(page(0), 0x11, 8);
    assert_eq!(rig.read(0x4000, 8).unwrap(), [0x11; 8]);
    // The new memory has other tables; the old one is gone when it is read.
    let other = Rig::new();
    rig.memory = other.memory;
    assert_eq!(cause(rig.read(0x4000, 8)), Err(HwError::NoL2Entry));
    rig.map(0x4000, page(7));
    rig.fill(page(7), 0x22, 8);
    assert_eq!(rig.read(0x4000, 8).unwrap(), [0x22; 8]);
}

#[test]
fn memory_that_is_removed_is_memory_no_more() {
    let mut rig = Rig::new();
    rig.map(0x4000, PhysAddr(LOW));
    rig.read(0x4000, 8).unwrap();
    let (without, _removed) =
        rig.memory.remove_region(GuestAddress(LOW), crate::rig::LOW_PAGES * PAGE).unwrap();
    rig.memory = without;
    assert_eq!(cause(rig.read(0x4000, 8)), Err(HwError::NoMemory));
}

#[test]
fn written_bytes_are_noted_where_memory_keeps_notes() {
    let memory: GuestMemoryMmap<AtomicBitmap> =
        GuestMemoryMmap::from_ranges(&[(GuestAddress(LOW), 16 * PAGE as usize)]).unwrap();
    let mut rig = Rig::bare();
    let mut dma = rig.dart.dma(&memory, stream(13), Circuit::TileSend);
    dma.write(range(LOW + PAGE, 4), &[1; 4]).unwrap();
    dma.write(range(LOW + 3 * PAGE - 1, 2), &[1; 2]).unwrap();
    let mut dirty = [0; 1];
    dma.read(range(LOW + 5 * PAGE, 1), &mut dirty).unwrap();
    let region = memory.iter().next().unwrap();
    let noted = (0..16).filter(|&n| region.bitmap().dirty_at(n * PAGE as usize)).collect::<Vec<_>>();
    assert_eq!(noted, [1, 3]);
    assert!(region.bitmap().dirty_at(3 * PAGE as usize - 1));
}

#[test]
fn checking_mode_reports_a_stale_translation_and_uses_it() {
    let mut rig = Rig::new();
    rig.map(0x4000, page(0));
    rig.fill(page(0), 0x11, 8);
    rig.dart.set_check(true);
    rig.read(0x4000, 8).unwrap();
    assert_eq!(rig.dart.take_reports(), []);
    rig.map(0x4000, page(1));
    assert_eq!(rig.read(0x4004, 1).unwrap(), [0x11]);
    rig.unmap(0x4000);
    assert_eq!(rig.read(0x4004, 1).unwrap(), [0x11]);
    let found: Vec<_> =
        rig.dart.take_reports().into_iter().map(|report| (report.misuse, report.address)).collect();
    let stale = |now| (Misuse::StaleTranslation { used: page(0), now }, Iova(0x4004));
    assert_eq!(found, [stale(Ok(page(1))), stale(Err(HwError::NoL3Entry))]);
}

#[test]
fn checking_mode_compares_the_slots_that_transfers_use() {
    let mut rig = Rig::new();
    rig.dart.set_check(true);
    rig.map(0x4000, page(0));
    let (slot, other) = (stream(5), rig.table());
    let remap = regs::STREAM_REMAP_0.offset();
    let told = |rig: &mut Rig| {
        rig.read(0x4000, 1).unwrap();
        rig.dart.take_reports().into_iter().map(|report| report.misuse).collect::<Vec<_>>()
    };
    // A slot that no stream becomes.
    rig.open_in(Window::Dart2, slot, other);
    assert_eq!(told(&mut rig), []);
    // The base stream becomes it in one window.
    let word = rig.get(Window::Dart2, remap);
    rig.set(Window::Dart2, remap, word & !0xff | u32::from(slot.number()));
    assert_eq!(told(&mut rig), [Misuse::WindowsDisagree { window: Window::Dart2 }]);
    // Its own slot is not used there, so nothing that it has matters.
    let base = Ttbr::from_bits(rig.get(Window::Dart0, regs::TTBR.offset()));
    rig.set_base(Window::Dart2, slot, base);
    rig.set_base(Window::Dart2, StreamId::BASE, Ttbr::of(other).unwrap());
    assert_eq!(told(&mut rig), []);
    rig.set(Window::Dart2, regs::ENABLED_STREAMS.offset(), 1);
    assert_eq!(told(&mut rig), [Misuse::WindowsDisagree { window: Window::Dart2 }]);
}

#[test]
fn checking_mode_reports_windows_that_do_not_agree() {
    let mut rig = Rig::new();
    rig.dart.set_check(true);
    rig.map(0x4000, page(0));
    rig.read(0x4000, 1).unwrap();
    assert_eq!(rig.dart.take_reports(), []);
    let other = rig.table();
    rig.set_base(Window::Dart2, StreamId::BASE, Ttbr::of(other).unwrap());
    rig.read(0x4000, 1).unwrap();
    let reports = rig.dart.take_reports();
    assert_eq!(reports.len(), 1);
    assert_eq!(reports[0].misuse, Misuse::WindowsDisagree { window: Window::Dart2 });
}

/// A second walker, written from the founding document alone: where a byte lies, or nothing.
fn walked(rig: &Rig, l2: u64, iova: u64) -> Option<u64> {
    let word = |at: u64| rig.memory.read_obj::<u64>(GuestAddress(at)).ok();
    let entry = |table: u64, index: u64| {
        let word = word(table + index * 8)?;
        let only_frame_and_valid = word & !((1 << 63) | (((1 << 47) - 1) & !0x3fff)) == 0;
        (word >> 63 == 1 && only_frame_and_valid).then_some(word & ((1 << 47) - 1))
    };
    let frame = entry(entry(l2, iova / (32 << 20))?, iova / 16384 % 2048)?;
    rig.memory.check_range(GuestAddress(frame), 16384).then_some(frame + iova % 16384)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Requirement: DART-18
    #[test]
    fn translation_agrees_with_a_second_walker(
        maps in prop::collection::vec((0u64..6, 0u64..24, any::<u64>(), 0u8..12), 1..40),
        reads in prop::collection::vec((0u64..6, 0u64..24, 0u64..PAGE), 1..40),
    ) {
        let mut rig = Rig::new();
        for word in random(9).take(64).enumerate() {
            rig.store(PhysAddr(page(word.0 as u64).0 + (word.1 & 0x3ff8)), word.1);
        }
        let iova = |l2: u64, l3: u64| (l2 % 6 * 22) << 25 | (l3 * 89 % 2048) << 14;
        for (l2, l3, word, kind) in maps {
            let leaf = rig.leaf_at(rig.l2(), iova(l2, l3));
            let leaf_word = match kind {
                // Most are pages of data; some are tables, nowhere, half outside, or nonsense.
                0..=6 => page(word % 64).0 | 1 << 63,
                7 => (BASE + word % 8 * PAGE) | 1 << 63,
                8 => (BASE + PAGES * PAGE) | 1 << 63,
                9 => (word & 0x7fff_ffff_c000) | 1 << 63,
                10 => 0,
                _ => word,
            };
            rig.store(leaf, leaf_word);
        }
        for (l2, l3, offset) in reads {
            let at = iova(l2, l3) + offset;
            // Auxiliary bits are defined and change nothing; the second walker knows only plain leaves.
            let expected = walked(&rig, rig.l2().0, at).map(|at| rig.bytes(PhysAddr(at), 1));
            let leaf = (rig.load(PhysAddr(rig.l2().0 + (at >> 25) * 8)) != 0)
                .then(|| rig.leaf_at(rig.l2(), at)).map(|leaf| rig.load(leaf)).unwrap_or(0);
            prop_assume!(leaf & (1 << 62 | 1 << 60 | 1 << 59) == 0);
            prop_assert_eq!(rig.read(at, 1).ok(), expected, "{:#x}", at);
        }
    }
}
