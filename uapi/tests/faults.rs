//! The forms of a fault: the status word, the descriptor that software passes around, and the engine's status
//! that decides whether it matters.

use ane_uapi::hw::dart::error::{FaultAddress, FaultType, HwClass, HwError};
use ane_uapi::hw::dart::regs::ErrorStatus;
use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::fault::{BadErrorInfo, IoDartErrorInfo};
use ane_uapi::hw::space::Iova;
use ane_uapi::hw::status::EngineStatus;
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, IntoBytes};

/// Every cause that a status word can name.
fn causes() -> impl Iterator<Item = HwError> {
    HwError::ALL.iter().copied().filter(|&error| error != HwError::Unexplained)
}

#[test]
fn status_word_of_every_cause_stream_and_direction_names_them_again() {
    for error in causes() {
        for stream in StreamId::ALL {
            for is_write in [false, true] {
                let status = error.raise(stream, is_write);
                assert_eq!(status.into_bits() >> 31, 1);
                assert_eq!(status.into_bits() >> 24 & 0xf, stream.number().into());
                assert_eq!(status.into_bits() >> 10 & 1, is_write.into());
                assert_eq!(HwError::of(status), error);
                assert_eq!(status.stream_id(), stream);
            }
        }
    }
}

#[test]
fn no_two_causes_look_alike() {
    for error in causes() {
        assert_ne!(error.bits().into_bits(), 0, "{error}");
        for other in causes().filter(|&other| other != error) {
            assert_ne!(error.bits(), other.bits(), "{error}, {other}");
            assert_ne!(error.name(), other.name());
        }
        assert_ne!(error.fault_type(), FaultType::Unexplained);
        assert_ne!(error.class(), HwClass::Unexplained);
    }
}

#[test]
fn published_bits_name_the_published_causes() {
    let published = [
        (0, HwError::NoTableBase),
        (1, HwError::NoL2Entry),
        (2, HwError::NoL3Entry),
        (3, HwError::WriteProtection),
        (4, HwError::ReadProtection),
        (6, HwError::L3TableUnreadable),
        (7, HwError::SubPage),
        (11, HwError::OutsideAperture),
    ];
    for (bit, error) in published {
        assert_eq!(HwError::of(ErrorStatus::from_bits(1 << 31 | 1 << bit)), error);
    }
}

#[test]
fn status_word_with_no_or_an_unknown_cause_is_unexplained() {
    for word in [0, 1 << 31, 1 << 31 | 0b11, 1 << 31 | 1 << 20, 0x8000_0001 | 1 << 28] {
        assert_eq!(HwError::of(ErrorStatus::from_bits(word)), HwError::Unexplained, "{word:#x}");
    }
    let info = IoDartErrorInfo::new(ErrorStatus::from_bits(1 << 31), FaultAddress(0), [0; 4]);
    assert_eq!(info.fault_type(), Ok(FaultType::Unexplained));
    assert_eq!(info.check(), Ok(()));
}

/// Requirement: FAULT-09, FAULT-16
#[test]
fn descriptor_has_each_field_at_its_offset_and_zeros_between() {
    let status = HwError::NoL3Entry.raise(StreamId::ALL[5], true);
    let info = IoDartErrorInfo::new(status, FaultAddress(0x1234_5678), [10, 11, 12, 13]);
    let mut bytes = [0; 0xb0];
    let mut put = |offset: usize, value: u32| {
        bytes[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
    };
    put(0x00, FaultType::Translation as u32);
    put(0x08, HwClass::L3Table as u32);
    put(0x10, HwError::NoL3Entry as u32);
    put(0x18, 0x8500_0404);
    put(0x20, 1);
    put(0x28, 5);
    put(0x30, 0x1234_5678);
    put(0x40, 0);
    put(0x50, 0x1234_5678 >> 25);
    put(0x58, 0x1234_5678 >> 14 & 0x7ff);
    for (slot, id) in (10..14).enumerate() {
        put(0x90 + 8 * slot, id);
    }
    assert_eq!(info.as_bytes(), bytes);
    assert_eq!(IoDartErrorInfo::read_from_bytes(&bytes).unwrap(), info);
    assert_eq!(info.check(), Ok(()));
}

#[test]
fn descriptor_of_every_cause_and_stream_checks_and_decodes() {
    for error in causes() {
        for (stream, is_write) in StreamId::ALL.into_iter().zip([false, true].into_iter().cycle()) {
            let status = error.raise(stream, is_write);
            let info = IoDartErrorInfo::new(status, Iova(0xdfff_c000).into(), [0; 4]);
            assert_eq!(info.check(), Ok(()));
            assert_eq!(info.error(), Ok(error));
            assert_eq!(info.class(), Ok(error.class()));
            assert_eq!(info.fault_type(), Ok(error.fault_type()));
            assert_eq!(info.stream(), Ok(stream));
            assert_eq!(info.is_write(), Ok(is_write));
            assert_eq!(info.status(), status);
        }
    }
}

#[test]
fn descriptor_of_a_high_address_keeps_the_low_half_and_the_table_base_index() {
    let status = HwError::HighAddress.raise(StreamId::BASE, false);
    let address = FaultAddress::from_halves(0x4000, 0x1bc4);
    assert_eq!((address.low(), address.high(), address.iova()), (0x4000, 0x1bc4, None));
    let info = IoDartErrorInfo::new(status, address, [0; 4]);
    assert_eq!((info.address.get(), info.ttbr_index.get()), (0x4000, 0x1bc4 >> 4));
}

#[test]
fn descriptor_with_any_reserved_byte_set_is_refused_at_that_byte() {
    let status = HwError::NoL2Entry.raise(StreamId::BASE, false);
    let good = IoDartErrorInfo::new(status, FaultAddress(0), [0; 4]);
    let gaps = [0x1c..0x20, 0x21..0x28, 0x2c..0x30, 0x34..0x40, 0x44..0x50, 0x54..0x58, 0x5c..0x90];
    let slots = (0..4).map(|slot| 0x94 + 8 * slot..0x98 + 8 * slot);
    for offset in gaps.into_iter().chain(slots).flatten() {
        let mut bytes = [0; 0xb0];
        bytes.copy_from_slice(good.as_bytes());
        bytes[offset] = 1;
        let bad = IoDartErrorInfo::read_from_bytes(&bytes).unwrap();
        assert_eq!(bad.check(), Err(BadErrorInfo::Reserved { offset }));
    }
}

#[test]
fn descriptor_with_a_code_that_has_no_name_is_refused_with_the_code() {
    let status = HwError::NoL2Entry.raise(StreamId::BASE, false);
    let good = IoDartErrorInfo::new(status, FaultAddress(0), [0; 4]);
    // A code that looks right in its low half only.
    let bad = 1 << 32 | 1;
    let with = |change: fn(&mut IoDartErrorInfo, u64)| {
        let mut info = good;
        change(&mut info, bad);
        info.check()
    };
    assert_eq!(with(|info, bad| info.fault_type = U64::new(bad)), Err(BadErrorInfo::Type(bad)));
    assert_eq!(with(|info, bad| info.hw_class = U64::new(bad)), Err(BadErrorInfo::Class(bad)));
    assert_eq!(with(|info, bad| info.hw_error = U64::new(bad)), Err(BadErrorInfo::Error(bad)));
    assert_eq!(with(|info, _| info.is_write = 2), Err(BadErrorInfo::IsWrite(2)));
    assert!(matches!(with(|info, _| info.sid = U32::new(16)), Err(BadErrorInfo::Stream(_))));
}

#[test]
fn descriptor_prints_names_and_numbers_line_by_line() {
    let status = HwError::ReadProtection.raise(StreamId::ALL[7], false);
    let mut info = IoDartErrorInfo::new(status, FaultAddress(0xc000), [1, 2, 3, 0xff]);
    let text = info.to_string();
    let lines = text.lines().collect::<Vec<_>>();
    assert_eq!(lines[0], "Type      protection fault");
    assert_eq!(lines[2], "HwError   read not permitted");
    assert_eq!(lines[3], "HwStatus  0x87000010");
    assert_eq!(lines[4], "IsWrite   0 (read)");
    assert_eq!(lines[9], "L3Index   3");
    assert_eq!(lines[10], "AXI_ID    0x1 0x2 0x3 0xff");
    info.hw_class = U64::new(0x99);
    assert_eq!(info.to_string().lines().nth(1), Some("HwClass   (0x99 is no known fault class)"));
}

/// Requirement: FAULT-20
#[test]
fn engine_status_is_benign_for_two_words_and_no_other() {
    for word in 0..=255 {
        let status = EngineStatus::from_bits(word);
        assert_eq!(status.is_benign(), word == 0x20 || word == 0xa0, "{word:#x}");
        assert_eq!(status.is_powered_idle(), word == 0xa0);
    }
    // Above the low byte nothing is benign: each single bit, and a spread of all of them.
    let single = (8..32).map(|bit| 1_u32 << bit);
    let spread = (1..100_000_u32).map(|n| n.wrapping_mul(0x9e37_79b9).rotate_left(n % 32));
    for high in single.chain(spread).map(|word| word & !0xff) {
        for low in [0x20, 0xa0] {
            let word = high | low;
            assert_eq!(EngineStatus::from_bits(word).is_benign(), high == 0, "{word:#x}");
        }
    }
}
