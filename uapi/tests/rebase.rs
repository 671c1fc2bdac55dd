//! The firmware's rebase, the clamp, the way to a BAR, and the program's records.

use ane_uapi::hw::bar::{AddressWord, BarIndex};
use ane_uapi::hw::program::{
    APERTURE_CONFIG_OFFSET, ApertureConfig, BadText, Record, RegisterWrite, Target, records,
};
use ane_uapi::hw::rebase::{
    BarTarget, BarWidth, ClampedBuffer, HighAddress, NeedsWideBar, RebaseError, bar_register, bind, clamp,
    rebase, rebase_range, undo,
};
use ane_uapi::hw::space::{ApertureAddr, EngineOffset, Iova, IovaRange};
use ane_uapi::hw::td;
use ane_uapi::hw::tq::QueueId;
use zerocopy::IntoBytes;
use zerocopy::little_endian::U32;

/// MMIO base of the T6000's engine, for the addresses that seed 000 prints.
const T6000: u64 = 0x2_8400_0000;

fn config(dva_base: u64, region_size: u64, mapped_base: u64) -> ApertureConfig {
    ApertureConfig {
        dva_base: dva_base.into(),
        region_size: region_size.into(),
        mapped_base: mapped_base.into(),
    }
}

#[test]
fn rebase_of_published_addresses_is_one_subtract_and_one_add() {
    // The load addresses that programs carry, and the high half seen on a live machine.
    let config = config(0x3000_0000, 0x2_0000, 0x1bc4_0100_0000);
    let rebased = [0x3000_8000, 0x3000_c000, 0x3001_0000, 0x3001_8000]
        .map(|iova| rebase(&config, Iova(iova)).map(|address| address.0));
    assert_eq!(
        rebased,
        [Ok(0x1bc4_0100_8000), Ok(0x1bc4_0100_c000), Ok(0x1bc4_0101_0000), Ok(0x1bc4_0101_8000)]
    );
}

/// Requirement: REBASE-09, REBASE-11
#[test]
fn rebase_of_every_byte_of_two_pages_keeps_the_distance() {
    // Bases that are aligned to nothing: a shift, a mask or a rounding would show.
    let config = config(0x1235, 0x8000, 0x1bc4_dead_beef);
    for distance in 0..0x8000 {
        let rebased = rebase(&config, Iova(0x1235 + distance)).unwrap();
        assert_eq!(rebased.0, 0x1bc4_dead_beef + u64::from(distance));
        assert_eq!(undo(&config, rebased), Ok(Iova(0x1235 + distance)));
    }
}

/// Requirement: REBASE-03
#[test]
fn rebase_of_two_loads_has_no_constant_offset() {
    let first = rebase(&config(0x4000, 0x4000, 0x1bc4_0000_0000), Iova(0x4010)).unwrap();
    let second = rebase(&config(0x8000, 0x4000, 0x1bc4_7000_0000), Iova(0x8010)).unwrap();
    assert_ne!(first.0 - 0x4010, second.0 - 0x8010);
}

/// Requirement: REBASE-10
#[test]
fn rebase_checks_the_range_before_it_computes() {
    // An address outside would wrap if the arithmetic came first.
    let config = config(0x4000, 0x4000, u64::MAX - 0x3fff);
    assert_eq!(
        rebase(&config, Iova(0x3fff)),
        Err(RebaseError::BeforeRegion { iova: Iova(0x3fff), base: 0x4000 })
    );
    assert_eq!(rebase(&config, Iova(0x4000)), Ok(ApertureAddr(u64::MAX - 0x3fff)));
    assert_eq!(rebase(&config, Iova(0x7fff)), Ok(ApertureAddr(u64::MAX)));
    assert_eq!(
        rebase(&config, Iova(0x8000)),
        Err(RebaseError::BehindRegion { iova: Iova(0x8000), len: 1, end: 0x8000 })
    );
}

/// Requirement: REBASE-13
#[test]
fn rebase_before_anything_is_mapped_fails() {
    assert_eq!(rebase(&ApertureConfig::default(), Iova(0)), Err(RebaseError::NotMapped));
    assert_eq!(undo(&ApertureConfig::default(), ApertureAddr(0)), Err(RebaseError::NotMapped));
}

#[test]
fn rebase_of_extreme_regions_neither_wraps_nor_panics() {
    let whole = config(0, 1 << 32, 0);
    assert_eq!(rebase(&whole, Iova(u32::MAX)), Ok(ApertureAddr(0xffff_ffff)));
    let far = config(u64::MAX - 1, 1, 0);
    assert!(matches!(rebase(&far, Iova(u32::MAX)), Err(RebaseError::BeforeRegion { .. })));
    assert_eq!(undo(&far, ApertureAddr(0)), Err(RebaseError::HighAddress(u64::MAX - 1)));
    for bad in [config(1, u64::MAX, 0), config(0, 2, u64::MAX), config(u64::MAX, u64::MAX, u64::MAX)] {
        assert_eq!(rebase(&bad, Iova(0)), Err(RebaseError::Wraps(bad)));
        assert_eq!(undo(&bad, ApertureAddr(0)), Err(RebaseError::Wraps(bad)));
    }
}

#[test]
fn rebase_of_a_buffer_looks_at_its_end() {
    let config = config(0x4000, 0x8000, 0x1bc4_0000_0000);
    let whole = IovaRange::new(0x4000, 0x8000).unwrap();
    assert_eq!(rebase_range(&config, whole), Ok(ApertureAddr(0x1bc4_0000_0000)));
    let beyond = IovaRange::new(0x8000, 0x4001).unwrap();
    assert_eq!(
        rebase_range(&config, beyond),
        Err(RebaseError::BehindRegion { iova: Iova(0x8000), len: 0x4001, end: 0xc000 })
    );
}

#[test]
fn aperture_address_outside_the_region_has_no_device_address() {
    let config = config(0x4000, 0x4000, 0x1bc4_0000_0000);
    for address in [0, 0x1bc3_ffff_ffff, 0x1bc4_0000_4000, u64::MAX] {
        let address = ApertureAddr(address);
        assert_eq!(undo(&config, address), Err(RebaseError::OutsideAperture(address)));
    }
}

/// Requirement: REBASE-14, REBASE-15, TM-19
#[test]
fn bar_register_of_every_queue_and_bar_is_the_published_address() {
    for queue in QueueId::ALL {
        for bar in BarIndex::ALL {
            let published = 0x2_85c2_5020 + u64::from(queue.number()) * 0x148 + u64::from(bar.number()) * 4;
            assert_eq!(T6000 + u64::from(bar_register(queue, bar).0), published);
        }
    }
}

/// Requirement: REBASE-18
#[test]
fn clamp_refuses_a_high_half_and_names_the_buffer() {
    for &buffer in ClampedBuffer::ALL {
        assert_eq!(clamp(buffer, 0), Ok(Iova(0)));
        assert_eq!(clamp(buffer, 0xffff_ffff), Ok(Iova(u32::MAX)));
        for bit in 32..64 {
            let address = 1 << bit;
            assert_eq!(clamp(buffer, address), Err(HighAddress { buffer, address }));
        }
    }
    let refused = clamp(ClampedBuffer::Weights, 0x1_0000_0000).unwrap_err();
    assert_eq!(refused.to_string(), "weights buffer at 0x100000000 has bits above 31");
}

/// Requirement: REBASE-20
#[test]
fn published_formula_and_register_give_these_numbers() {
    // Worked by hand from the two expressions that seed 000 prints.
    let config = config(0x3000_0000, 0x2_0000, 0x1bc4_0100_0000);
    assert_eq!(rebase(&config, Iova(0x3001_2345)), Ok(ApertureAddr(0x1bc4_0101_2345)));
    let register = bar_register(QueueId::ALL[3], BarIndex::ALL[5]);
    assert_eq!(T6000 + u64::from(register.0), 0x2_85c2_540c);
}

/// Requirement: REBASE-16
#[test]
fn narrow_bar_gets_32_bits_and_refuses_more() {
    let (queue, bar) = (QueueId::LINUX, BarIndex::FIRST_SURFACE);
    assert_eq!(
        bind(queue, bar, BarWidth::Narrow, ApertureAddr(0xffff_ffff)),
        Ok(BarTarget::Register {
            at: EngineOffset(0x1c2_5020 + 4 * 0x148 + 4 * 4),
            value: AddressWord::from_bits(0xffff_ffff)
        })
    );
    let address = ApertureAddr(0x1bc4_0000_0000);
    assert_eq!(bind(queue, bar, BarWidth::Narrow, address), Err(NeedsWideBar { queue, bar, address }));
}

/// Requirement: REBASE-17
#[test]
fn wide_bar_goes_to_the_software_table_whatever_the_address() {
    let (queue, bar) = (QueueId::LINUX, BarIndex::SCRATCH);
    for value in [0, 0x4000, 0x1bc4_0000_0000, u64::MAX].map(ApertureAddr) {
        let target = bind(queue, bar, BarWidth::Wide, value);
        assert_eq!(target, Ok(BarTarget::SoftwareTable { queue, bar, value }));
    }
}

/// Requirement: REBASE-12
#[test]
fn aperture_config_has_its_fields_at_the_listed_offsets() {
    let bytes = config(1, 2, 3).as_bytes().to_vec();
    assert_eq!(bytes, [1_u64, 2, 3].map(u64::to_le_bytes).concat());
    assert_eq!([0, 8, 16].map(|at| APERTURE_CONFIG_OFFSET + at), [0xb98, 0xba0, 0xba8]);
}

/// Requirement: REBASE-07
#[test]
fn record_of_one_or_two_operands_round_trips_through_44_bytes() {
    let register = td::kernel_dma::KERNEL_DMA.container(0x1f800);
    for second in [None, Some(ApertureAddr(0x1bc4_0002_0000))] {
        let record = Record::new(register, ApertureAddr(0x1bc4_0001_0000), second);
        let bytes = record.as_bytes();
        assert_eq!(bytes.len(), 44);
        assert_eq!(records(bytes), Ok(&[record][..]));
        let expected = RegisterWrite {
            register,
            target: Target::Weights,
            first: ApertureAddr(0x1bc4_0001_0000),
            second,
        };
        assert_eq!(record.decode(), Ok(expected));
    }
}

/// Requirement: REBASE-06, TD-10
#[test]
fn text_of_any_length_but_whole_records_is_refused() {
    let text = [0; 44 * 3];
    for len in 0..=text.len() {
        match records(&text[..len]) {
            Ok(records) => assert_eq!(records.len() * 44, len),
            Err(error) => {
                assert!(len % 44 != 0);
                assert_eq!(error, BadText::Length(len));
            }
        }
    }
}

/// Requirement: REBASE-08
#[test]
fn record_register_selects_what_is_rebased() {
    let register = |container: u32| Record::new(EngineOffset(container), ApertureAddr(0), None).decode();
    let target = |container| register(container).map(|write| write.target);
    assert_eq!(target(0x1c1_f800), Ok(Target::Weights));
    assert_eq!(target(0x1c1_3800), Ok(Target::TileReader));
    assert_eq!(target(0x1c1_7800), Ok(Target::TileWriter));
    for other in [0, 0x1bf_ffff, 0x1c0_0000, 0x1c0_4800, 0x1c0_8800, 0x1c0_c800, 0x1c2_5020, u32::MAX] {
        assert_eq!(target(other), Err(BadText::Register(EngineOffset(other))));
    }
}

#[test]
fn record_that_no_writer_makes_is_refused_by_name() {
    let good = Record::new(EngineOffset(0x1c1_7800), ApertureAddr(1), Some(ApertureAddr(2)));
    for count in [0, 3, u32::MAX] {
        assert_eq!(Record { count: U32::new(count), ..good }.decode(), Err(BadText::Count(count)));
    }
    assert_eq!(Record { count: U32::new(1), ..good }.decode(), Err(BadText::Surplus(ApertureAddr(2))));
    let mut reserved = good;
    reserved.reserved[19] = 1;
    assert_eq!(reserved.decode(), Err(BadText::Reserved));
}

/// Requirement: REBASE-05
#[test]
fn addresses_of_the_three_spaces_are_three_types_that_print_as_such() {
    use std::any::TypeId;
    let types = [TypeId::of::<Iova>(), TypeId::of::<EngineOffset>(), TypeId::of::<ApertureAddr>()];
    assert!(types[0] != types[1] && types[1] != types[2] && types[0] != types[2]);
    let printed = [Iova(16).to_string(), EngineOffset(16).to_string(), ApertureAddr(16).to_string()];
    assert_eq!(printed, ["iova 0x10", "engine 0x10", "aperture 0x10"]);
}
