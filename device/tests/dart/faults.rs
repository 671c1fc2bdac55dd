//! Faults: capture, descriptor, policies.

use ane_device::dart::{Access, Circuit, FaultPolicy};
use ane_uapi::hw::dart::error::{FaultType, HwError};
use ane_uapi::hw::dart::regs::{ErrorStatus, Tcr, Window};
use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::dart::ttbr::Ttbr;
use ane_uapi::hw::fault::IoDartErrorInfo;
use ane_uapi::hw::space::{IovaRange, PhysAddr};
use proptest::prelude::*;
use zerocopy::IntoBytes;

use crate::rig::{PAGE, Rig, page, range, stream};

/// A change to a rig so that a read of address 0x4000 by stream 0 faults, and the cause of the fault.
type Case = (HwError, fn(&mut Rig));

fn leaf(rig: &mut Rig) -> PhysAddr {
    rig.leaf_at(rig.l2(), 0x4000)
}

/// Every cause that a read of one address can have.
const CASES: [Case; 11] = [
    (HwError::NoTableBase, |rig| rig.set_base(Window::Dart1, StreamId::BASE, Ttbr::new())),
    (HwError::NoL2Entry, |_| {}),
    (HwError::NoL3Entry, |rig| {
        leaf(rig);
    }),
    (HwError::L2TableUnreadable, |rig| {
        rig.set_base(Window::Dart1, StreamId::BASE, Ttbr::of(PhysAddr(0x7ff_ffff_c000)).unwrap());
    }),
    (HwError::L3TableUnreadable, |rig| rig.store(rig.l2(), 1 << 63 | 0x7fff_ffff_c000)),
    (HwError::L2EntryMalformed, |rig| rig.store(rig.l2(), u64::MAX)),
    (HwError::L3EntryMalformed, |rig| {
        let at = leaf(rig);
        rig.store(at, u64::MAX);
    }),
    (HwError::ReadProtection, |rig| {
        rig.map(0x4000, page(0));
        rig.set_tcr(Window::Dart1, StreamId::BASE, Tcr::new().with_translate(true).with_no_read(true));
    }),
    (HwError::StreamDisabled, |rig| rig.set(Window::Dart1, 0xfc, 0xa000)),
    (HwError::StreamBlocked, |rig| rig.set_tcr(Window::Dart1, StreamId::BASE, Tcr::new())),
    (HwError::NoMemory, |rig| rig.map(0x4000, PhysAddr(0x7fff_ffff_c000))),
];

/// Requirement: FAULT-01
/// Requirement: FAULT-05
#[test]
fn each_kind_of_fault_has_its_own_status_with_flag_and_stream() {
    let mut seen = Vec::new();
    for (error, prepare) in CASES {
        let mut rig = Rig::new();
        prepare(&mut rig);
        let info = rig.read(0x4000, 1).unwrap_err();
        let status = ErrorStatus::from_bits(rig.get(Window::Dart1, 0x40));
        assert_eq!((info.error(), HwError::of(status)), (Ok(error), error));
        assert_eq!((status.fault(), status.stream(), status.write()), (true, 0, false), "{error}");
        assert!(!seen.contains(&status), "{error}");
        seen.push(status);
    }
    let both = Tcr::new().with_translate(true).with_bypass(true);
    let mut rig = Rig::new();
    rig.set_tcr(Window::Dart1, StreamId::BASE, both);
    assert_eq!(rig.read(0x4000, 1).unwrap_err().error(), Ok(HwError::StreamControlInvalid));
}

/// Requirement: FAULT-02
#[test]
fn address_registers_hold_the_halves_of_the_address() {
    let mut rig = Rig::new();
    rig.read(0x1234_5678, 1).unwrap_err();
    assert_eq!((rig.get(Window::Dart1, 0x50), rig.get(Window::Dart1, 0x54)), (0x1234_5678, 0));
    rig.dma(StreamId::BASE, Circuit::TileSend).refuse(0xabcd_1234_5678, true);
    assert_eq!((rig.get(Window::Dart2, 0x50), rig.get(Window::Dart2, 0x54)), (0x1234_5678, 0xabcd));
}

/// Requirement: FAULT-03
#[test]
fn translation_buffer_shows_the_error_and_is_never_busy() {
    let mut rig = Rig::new();
    rig.read(0x4000, 1).unwrap_err();
    let status = rig.get(Window::Dart1, 0x40);
    assert_eq!(rig.get(Window::Dart1, 0x100c), 0b10);
    assert_eq!(rig.get(Window::Dart1, 0x1020), status);
    assert_eq!(rig.get(Window::Dart1, 0x1028), 0x4000);
    rig.set(Window::Dart1, 0x40, status);
    for offset in [0x100c, 0x1020, 0x1028] {
        assert_eq!(rig.get(Window::Dart1, offset), 0, "{offset:#x}");
    }
}

/// Requirement: FAULT-04
#[test]
fn first_fault_stays_until_its_bits_are_written_back() {
    let mut rig = Rig::new();
    rig.read(0x4000, 1).unwrap_err();
    let first = rig.get(Window::Dart1, 0x40);
    rig.read(0x2_0000, 1).unwrap_err();
    assert_eq!((rig.get(Window::Dart1, 0x40), rig.get(Window::Dart1, 0x50)), (first, 0x4000));
    let taken: Vec<_> = rig.dart.take_faults().map(|(window, info)| (window, info.address.get())).collect();
    assert_eq!(taken, [(Window::Dart1, 0x4000)], "the second raised no interrupt");
    // Zeros clear nothing.
    rig.set(Window::Dart1, 0x40, 0);
    assert_eq!(rig.get(Window::Dart1, 0x40), first);
    rig.set(Window::Dart1, 0x40, first);
    assert_eq!((rig.get(Window::Dart1, 0x40), rig.get(Window::Dart1, 0x50)), (0, 0));
    rig.read(0x2_0000, 1).unwrap_err();
    assert_eq!(rig.get(Window::Dart1, 0x50), 0x2_0000);
    assert_eq!(rig.dart.take_faults().count(), 1);
}

/// Requirement: FAULT-06
#[test]
fn contained_fault_leaves_the_device_alive_and_panic_kills_it_until_reset() {
    let mut rig = Rig::new();
    rig.map(0x4000, page(0));
    rig.read(0, 1).unwrap_err();
    assert!(!rig.dart.is_dead());
    rig.read(0x4000, 1).unwrap();

    rig.dart.set_policy(FaultPolicy::Panic);
    let killed_by = rig.read(0x8000, 1).unwrap_err();
    assert!(rig.dart.is_dead());
    assert_eq!(rig.read(0x4000, 1).unwrap_err(), killed_by);
    assert_eq!(rig.write(0x4000, &[1]).unwrap_err(), killed_by);
    rig.dart.reset();
    assert!(!rig.dart.is_dead());
    let table = rig.l2();
    rig.open_in(Window::Dart1, StreamId::BASE, table);
    rig.read(0x4000, 1).unwrap();
}

#[test]
fn panic_also_stops_the_circuit_that_caused_it() {
    let mut rig = Rig::new();
    rig.map(0x4000, page(0));
    rig.dart.set_policy(FaultPolicy::Panic);
    let mut dma = rig.dma(StreamId::BASE, Circuit::TileFetch1);
    dma.check(range(0x4000, 1), Access::Read).unwrap();
    let killed_by = dma.check(range(0, 1), Access::Read).unwrap_err();
    assert_eq!(dma.check(range(0x4000, 1), Access::Read), Err(killed_by));
    assert_eq!(dma.refuse(u64::MAX, true), killed_by);
}

/// Requirement: FAULT-07
#[test]
fn nothing_is_captured_before_a_fault() {
    let mut rig = Rig::new();
    rig.map(0x4000, page(0));
    rig.read(0x4000, 1).unwrap();
    for window in Window::CARRYING_DMA {
        for offset in [0x40, 0x50, 0x54, 0x100c, 0x1020, 0x1028] {
            assert_eq!(rig.get(window, offset), 0, "{offset:#x} of {window}");
        }
    }
    assert_eq!(rig.dart.take_faults().count(), 0);
}

/// Requirement: FAULT-10
/// Requirement: FAULT-11
#[test]
fn descriptor_names_the_fault_three_times_and_repeats_the_status_word() {
    for (error, prepare) in CASES {
        let mut rig = Rig::new();
        prepare(&mut rig);
        let info = rig.read(0x4000, 1).unwrap_err();
        assert_eq!(info.fault_type(), Ok(error.fault_type()));
        assert_eq!(info.class(), Ok(error.class()));
        assert!(!error.name().is_empty() && !error.class().name().is_empty());
        assert_eq!(info.hw_status.get(), rig.get(Window::Dart1, 0x40));
        assert_eq!(&info.as_bytes()[..4], (error.fault_type() as u32).to_le_bytes());
        assert_ne!(info.fault_type(), Ok(FaultType::Unexplained));
    }
}

/// Requirement: FAULT-12
#[test]
fn descriptor_tells_reads_from_writes() {
    let mut rig = Rig::new();
    assert_eq!(rig.read(0, 1).unwrap_err().is_write, 0);
    assert_eq!(rig.write(0, &[0]).unwrap_err().is_write, 1);
    assert!(ErrorStatus::from_bits(rig.get(Window::Dart2, 0x40)).write());
}

/// Requirement: FAULT-13
/// Requirement: FAULT-27
#[test]
fn descriptor_names_each_of_the_sixteen_streams() {
    let mut rig = Rig::bare();
    for stream in StreamId::ALL {
        // Those that are enabled are blocked or reach no memory; the others are disabled.
        let info = rig.read_as(stream, Circuit::TileFetch1, 0, 1).unwrap_err();
        assert_eq!(info.sid.get(), u32::from(stream.number()));
        assert_eq!(info.status().stream(), stream.number());
    }
}

proptest! {
    /// Requirement: FAULT-14
    /// Requirement: FAULT-15
    /// Requirement: FAULT-26
    #[test]
    fn descriptor_holds_the_address_and_the_entry_that_failed(address in 0u32..0xe000_0000) {
        let mut rig = Rig::new();
        let at = rig.leaf_at(rig.l2(), address.into());
        rig.store(at, 0);
        let info = rig.read(address.into(), 1).unwrap_err();
        prop_assert_eq!(info.error(), Ok(HwError::NoL3Entry));
        prop_assert_eq!(info.fault_type(), Ok(FaultType::Translation));
        prop_assert_eq!(info.address.get(), address);
        prop_assert_eq!(info.ttbr_index.get(), 0);
        prop_assert_eq!((info.l2_index.get(), info.l3_index.get()), (address >> 25, (address >> 14) & 0x7ff));
    }
}

#[test]
fn bus_ids_are_master_request_distance_and_length() {
    let mut rig = Rig::new();
    rig.map(0x4000, page(0));
    rig.dart.reset();
    let table = rig.l2();
    for window in Window::CARRYING_DMA {
        rig.open_in(window, StreamId::BASE, table);
    }
    for (n, circuit) in Circuit::ALL.into_iter().enumerate() {
        let info = rig.read_as(StreamId::BASE, circuit, 0x4100, PAGE).unwrap_err();
        let ids = info.axi_id.map(|slot| slot.id.get());
        assert_eq!(ids, [circuit.axi_master(), n as u32 + 1, 0x3f00, 0x4000], "{circuit}");
    }
}

#[test]
fn circuit_and_driver_get_the_same_descriptor() {
    let mut rig = Rig::new();
    let given = rig.read(0x4000, 1).unwrap_err();
    let (window, taken) = rig.dart.take_faults().next().unwrap();
    assert_eq!(window, Window::Dart1);
    assert_eq!(given.as_bytes(), taken.as_bytes());
    assert_eq!(size_of::<IoDartErrorInfo>(), 0xb0);
}

/// Requirement: FAULT-18
#[test]
fn gaps_of_the_descriptor_are_zero() {
    for (_, prepare) in CASES {
        let mut rig = Rig::new();
        prepare(&mut rig);
        assert_eq!(rig.read(0x4000, 1).unwrap_err().check(), Ok(()));
    }
}

/// Requirement: FAULT-28
#[test]
fn address_that_nothing_maps_is_a_translation_fault_at_its_level() {
    let mut rig = Rig::new();
    rig.map(0x4000, page(0));
    assert_eq!(rig.read(0x8000, 1).unwrap_err().error(), Ok(HwError::NoL3Entry));
    assert_eq!(rig.read(0x200_0000, 1).unwrap_err().error(), Ok(HwError::NoL2Entry));
}

#[test]
fn windows_hold_their_own_faults() {
    let mut rig = Rig::new();
    for (n, circuit) in [Circuit::TdFetch, Circuit::TileFetch2, Circuit::TileSend].into_iter().enumerate() {
        rig.read_as(StreamId::BASE, circuit, 0x4000 * n as u64, 1).unwrap_err();
    }
    let taken: Vec<_> = rig.dart.take_faults().map(|(window, info)| (window, info.address.get())).collect();
    assert_eq!(taken, [(Window::Dart0, 0), (Window::Dart1, 0x4000), (Window::Dart2, 0x8000)]);
}

#[test]
fn stream_that_bypasses_by_nature_still_obeys_its_rights() {
    let mut rig = Rig::bare();
    rig.set_tcr(Window::Dart2, stream(13), Tcr::new().with_no_write(true));
    let write = IovaRange::new(crate::rig::LOW, 4).unwrap();
    let info = rig.dma(stream(13), Circuit::TileSend).write(write, &[1; 4]).unwrap_err();
    assert_eq!(info.error(), Ok(HwError::WriteProtection));
}
