//! The wire contract: layouts and codes.

use ane_uapi::abi::{self, AbiStruct};
use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::fault::IoDartErrorInfo;
use ane_uapi::hw::space::IovaRange;
use ane_uapi::hw::usage::Usage;
use ane_uapi::ioctl::param;
use ane_uapi::wire::config::{self, BadConfig, Config};
use ane_uapi::wire::ctrl::{Access, Header, NO_INDEX, Op, RequestKind, Response, Status};
use ane_uapi::wire::event::{self, Event};
use ane_uapi::wire::sideband::{Declaration, MapEntry, UnmapEntry};
use ane_uapi::wire::{QUEUES, SECTIONS};
use zerocopy::{FromZeros, IntoBytes};

/// A configuration that reads well.
fn sound() -> Config {
    let mut config = Config::new_zeroed();
    config.magic = config::MAGIC.into();
    config.version = config::VERSION.into();
    config.page_size = 0x4000.into();
    config
}

#[test]
fn configuration_fits_the_bytes_that_a_carrier_passes() {
    assert_eq!(size_of::<Config>(), 56);
    assert_eq!(QUEUES, 2);
}

#[test]
fn configuration_starts_with_letters_that_a_person_recognises() {
    assert_eq!(&sound().as_bytes()[..4], b"vANE");
}

#[test]
fn configuration_of_another_device_version_or_length_is_refused_by_name() {
    assert_eq!(Config::read(sound().as_bytes()), Ok(sound()));
    let longer: Vec<u8> = sound().as_bytes().iter().copied().chain([0xff; 72]).collect();
    assert_eq!(Config::read(&longer), Ok(sound()));
    for len in 0..56 {
        assert_eq!(Config::read(&sound().as_bytes()[..len]), Err(BadConfig::Short { len }));
    }
    let mut other = sound();
    other.magic = 0x7472_6976.into();
    assert_eq!(Config::read(other.as_bytes()), Err(BadConfig::Magic { found: 0x7472_6976 }));
    let mut later = sound();
    later.version = 2.into();
    assert_eq!(Config::read(later.as_bytes()), Err(BadConfig::Version { found: 2 }));
}

#[test]
fn message_has_the_size_that_other_implementations_were_told() {
    assert_eq!((size_of::<Header>(), size_of::<Op>(), size_of::<Response>()), (16, 12, 24));
    assert_eq!((size_of::<MapEntry>(), size_of::<UnmapEntry>(), size_of::<Declaration>()), (24, 16, 24));
    assert_eq!(size_of::<Event>(), 0xe0);
}

#[test]
fn event_carries_the_whole_fault_descriptor() {
    let info = Event::LAYOUT.fields.iter().find(|field| field.name == "info").expect("an event has one");
    assert_eq!((info.offset, info.size), (0x30, size_of::<IoDartErrorInfo>()));
}

#[test]
fn operation_says_what_it_was_made_for() {
    let write = Op::write(0x1c2_4008, 0x405);
    assert_eq!(write.access(), Ok(Access::Write));
    assert_eq!(write.as_bytes(), [1, 0, 0, 0, 0x08, 0x40, 0xc2, 0x01, 0x05, 0x04, 0, 0]);
    let read = Op::read(0x1c2_4054);
    assert_eq!(read.access(), Ok(Access::Read));
    assert_eq!(read.value.get(), 0);
}

#[test]
fn number_beyond_an_enumeration_is_refused_with_the_number() {
    for number in 0..=u16::MAX {
        let known = RequestKind::ALL.iter().any(|kind| *kind as u16 == number);
        assert_eq!(RequestKind::try_from(number).is_ok(), known);
        let known = Access::ALL.iter().any(|access| *access as u16 == number);
        assert_eq!(Access::try_from(number).is_ok(), known);
        let known = event::EventKind::ALL.iter().any(|kind| *kind as u16 == number);
        assert_eq!(event::EventKind::try_from(number).is_ok(), known);
    }
    for number in 0..=0xffff_u32 {
        let known = Status::ALL.iter().any(|status| *status as u32 == number);
        assert_eq!(Status::try_from(number).is_ok(), known);
    }
    assert!(Status::try_from(NO_INDEX).is_err());
}

#[test]
fn every_field_of_every_message_says_what_it_is() {
    for layout in abi::structs(SECTIONS) {
        for field in layout.fields {
            assert!(!field.doc.trim().is_empty(), "{}.{}", layout.c_name, field.name);
        }
    }
}

#[test]
fn client_and_driver_call_a_feature_by_the_same_bit() {
    assert_eq!(u64::from(config::FEATURE_PE_MMU), param::FEATURE_PE_MMU);
    assert_eq!(u64::from(config::FEATURE_MOVER), param::FEATURE_MOVER);
    assert_eq!(u64::from(config::FEATURE_CHECK), param::FEATURE_CHECK);
}

#[test]
fn declaration_of_every_stream_and_usage_reads_as_it_was_made() {
    let range = IovaRange::new(0xdfff_ffff, 1).unwrap();
    for stream in StreamId::ALL {
        let usages = Usage::CODES.iter().map(|code| Usage::try_from(code.value).ok());
        for usage in usages.chain([None]) {
            let declaration = Declaration::new(stream, range, usage);
            assert_eq!(declaration.decode(), Some((stream, range, usage)));
        }
    }
}

/// Requirement: DART-17
#[test]
fn configuration_with_another_page_size_is_refused_by_the_size() {
    for found in [0, 0x1000, 0x3fff, 0x1_0000] {
        let mut config = sound();
        config.page_size = found.into();
        let refused = Config::read(config.as_bytes()).unwrap_err();
        assert_eq!(refused, BadConfig::PageSize { found });
        assert!(refused.to_string().contains(&format!("pages of {found:#x} bytes")), "{refused}");
    }
}
