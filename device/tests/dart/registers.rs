//! Windows and their registers.

use ane_device::refusal::Why;
use ane_uapi::hw::dart::regs::{self, Config, Tcr, WINDOW, Window};
use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::register::Access;

use crate::rig::Rig;

/// Requirement: DART-08
/// Requirement: DART-09
#[test]
fn four_windows_hold_their_own_words() {
    let mut rig = Rig::bare();
    assert_eq!(Window::ALL.len(), 4);
    assert_eq!(Window::Dart0.base().0, 0x180_0000);
    for (n, &window) in Window::ALL.iter().enumerate() {
        rig.set(window, regs::TTBR.offset(), 0x8000_0000 | n as u32);
    }
    for (n, &window) in Window::ALL.iter().enumerate() {
        assert_eq!(rig.get(window, regs::TTBR.offset()), 0x8000_0000 | n as u32, "{window}");
    }
}

/// Requirement: DART-10
/// Requirement: DART-24
#[test]
fn enabled_streams_are_those_of_the_live_machine_and_can_be_written() {
    let mut rig = Rig::bare();
    for &window in Window::ALL {
        assert_eq!(rig.get(window, 0xfc), 0xa001, "{window}");
        // Drivers write all ones; there are sixteen streams.
        rig.set(window, 0xfc, u32::MAX);
        assert_eq!(rig.get(window, 0xfc), 0xffff, "{window}");
    }
}

/// Requirement: DART-14
#[test]
fn configuration_reads_as_the_live_word() {
    let mut rig = Rig::bare();
    let config = Config::from_bits(rig.get(Window::Dart0, regs::CONFIG.offset()));
    assert_eq!((config.into_bits(), config.options()), (0x8000_0025, 0x25));
}

/// Requirement: DART-21
#[test]
fn each_stream_has_its_translation_control_at_0x100() {
    let mut rig = Rig::bare();
    let word = |n: u32| Tcr::new().with_translate(n & 1 == 0).with_no_read(n & 2 == 0).into_bits();
    for n in 0..16 {
        rig.set(Window::Dart1, 0x100 + 4 * n, word(n));
    }
    for n in 0..16 {
        assert_eq!(rig.get(Window::Dart1, 0x100 + 4 * n), word(n));
    }
}

/// Requirement: DART-22
#[test]
fn each_stream_has_four_table_bases_at_0x200() {
    let mut rig = Rig::bare();
    for n in 0..64 {
        rig.set(Window::Dart2, 0x200 + 4 * n, n * 0x0101_0101);
    }
    for n in 0..64 {
        assert_eq!(rig.get(Window::Dart2, 0x200 + 4 * n), n * 0x0101_0101);
    }
}

/// Requirement: DART-23
#[test]
fn registers_of_the_translation_buffer_exist_and_rest_at_zero() {
    let mut rig = Rig::bare();
    for offset in [0x1000, 0x100c, 0x1020, 0x1028] {
        assert_eq!(rig.get(Window::Dart0, offset), 0, "{offset:#x}");
    }
    rig.set(Window::Dart0, 0x1000, 0x1234_5678);
    assert_eq!(rig.get(Window::Dart0, 0x1000), 0x1234_5678);
    rig.set(Window::Dart0, 0x100c, u32::MAX);
    assert_eq!(rig.get(Window::Dart0, 0x100c), 0);
}

/// Requirement: DART-13
#[test]
fn window_has_sixteen_streams_and_no_more() {
    assert_eq!(StreamId::ALL.len(), 16);
    assert!(StreamId::new(16).is_err());
    assert_eq!(regs::TCR.info.at(16), None);
}

#[test]
fn registers_read_their_reset_values_again_after_a_reset() {
    let mut rig = Rig::new();
    for register in WINDOW.registers {
        // A register with unexplained bits refuses some values; all accept their own.
        if register.access == Access::ReadWrite {
            let value = !register.unknown & register.reset.rotate_left(8);
            let _ = rig.dart.write(Window::Dart0, register.offset, value);
        }
    }
    rig.dart.reset();
    for &window in Window::ALL {
        for register in WINDOW.registers {
            for offset in (0..register.count).filter_map(|n| register.at(n)) {
                assert_eq!(rig.get(window, offset), register.reset, "{} of {window}", register.name);
            }
        }
    }
}

#[test]
fn offset_without_a_register_is_refused_for_every_offset_of_the_window() {
    let mut rig = Rig::bare();
    for offset in 0..Window::LEN + 64 {
        let known = WINDOW.find(offset).is_some();
        assert_eq!(rig.dart.read(Window::Dart3, offset).is_ok(), known, "{offset:#x}");
        if !known {
            let refusal = rig.dart.write(Window::Dart3, offset, 0).unwrap_err();
            assert_eq!(refusal.at.0, Window::Dart3.base().0 + offset);
            let expected = if offset % 4 == 0 { Why::NoRegister { block: "dart3" } } else { Why::Misaligned };
            assert_eq!(refusal.why, expected);
        }
    }
}

#[test]
fn unexplained_bits_are_refused_and_leave_the_register() {
    let mut rig = Rig::bare();
    rig.set(Window::Dart0, 0x100, 0x80);
    let refusal = rig.dart.write(Window::Dart0, 0x100, 0x81).unwrap_err();
    assert_eq!(refusal.why, Why::UnexplainedBits { register: "TCR", bits: 1, value: 0x81 });
    assert_eq!(rig.get(Window::Dart0, 0x100), 0x80);
    assert!(rig.dart.write(Window::Dart0, regs::STREAM_COMMAND.offset(), 1).is_err());
    assert!(rig.dart.write(Window::Dart0, regs::STREAM_REMAP_0.offset(), 0x10).is_err());
}

#[test]
fn locked_window_keeps_its_configuration_until_reset_and_still_invalidates() {
    let mut rig = Rig::new();
    let config = Config::from_bits(rig.get(Window::Dart0, regs::CONFIG.offset())).with_lock(true);
    rig.set(Window::Dart0, regs::CONFIG.offset(), config.into_bits());
    for offset in [regs::CONFIG.offset(), 0x80, 0xfc, 0x100, 0x200, 0x2fc] {
        let refusal = rig.dart.write(Window::Dart0, offset, 0).unwrap_err();
        assert!(matches!(refusal.why, Why::Locked { .. }), "{offset:#x}");
    }
    rig.invalidate(u16::MAX);
    rig.dart.reset();
    rig.set(Window::Dart0, 0x100, 0);
}
