//! The DART's contract: windows and streams, page-table words, segments and usage codes.

use ane_uapi::hw::dart::aperture::{PAGE_SIZE, SIZE};
use ane_uapi::hw::dart::error::FaultAddress;
use ane_uapi::hw::dart::iso::ContextId;
use ane_uapi::hw::dart::pte::{Leaf, LeafFormat, Malformed, Seed, T6000, T8020, Unencodable};
use ane_uapi::hw::dart::regs::{self, StreamMode, Streams, Tcr, Window};
use ane_uapi::hw::dart::segment::{BadSegment, Segment, Template};
use ane_uapi::hw::dart::stream::{self, StreamId};
use ane_uapi::hw::dart::ttbr::{BadTableBase, Ttbr};
use ane_uapi::hw::dart::walk::{self, WalkIndices};
use ane_uapi::hw::space::{EngineOffset, Iova, PhysAddr};
use ane_uapi::hw::usage::{
    BadUsage, Direction, MATMUL_LOAD, MappingClass, Protection, ProtectionClass, ReadOnly, Usage,
};
use zerocopy::little_endian::U64;
use zerocopy::{FromBytes, IntoBytes};

/// A fixed pseudo-random sequence (SplitMix64).
fn random(seed: u64) -> impl Iterator<Item = u64> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    })
}

/// The three protection classes as words.
fn classes() -> impl Iterator<Item = Protection> {
    ProtectionClass::ALL.iter().map(|&class| Protection::of(class))
}

fn read_write() -> Protection {
    Protection::of(ProtectionClass::ReadWrite)
}

mod windows {
    use super::*;

    #[test]
    fn windows_lie_where_both_documents_say_and_do_not_overlap() {
        let bases = Window::ALL.iter().map(|window| window.base().0).collect::<Vec<_>>();
        assert_eq!(bases, [0x180_0000, 0x181_0000, 0x182_0000, 0x180_4000]);
        for &window in Window::ALL {
            let base = window.base().0;
            assert_eq!(Window::containing(EngineOffset(base)), Some((window, 0)));
            assert_eq!(Window::containing(EngineOffset(base + 0x3fff)), Some((window, 0x3fff)));
        }
    }

    #[test]
    fn offset_beside_a_window_belongs_to_none() {
        for offset in [0, 0x17f_ffff, 0x180_8000, 0x180_ffff, 0x181_4000, 0x182_4000, u32::MAX] {
            assert_eq!(Window::containing(EngineOffset(offset)), None, "{offset:#x}");
        }
    }

    #[test]
    fn three_windows_carry_dma_and_the_fourth_does_not() {
        let carrying = Window::ALL.iter().filter(|window| window.carries_dma()).copied();
        assert_eq!(carrying.collect::<Vec<_>>(), Window::CARRYING_DMA);
    }

    #[test]
    fn register_offsets_are_those_of_the_capture_routine() {
        let at = |offset| regs::WINDOW.find(offset).map(|(register, index)| (register.name, index));
        assert_eq!(at(0x40), Some(("ErrorStatus", 0)));
        assert_eq!(at(0x50), Some(("ErrorAddressLow", 0)));
        assert_eq!(at(0x54), Some(("ErrorAddressHigh", 0)));
        assert_eq!(at(0xfc), Some(("EnabledStreams", 0)));
        assert_eq!(at(0x13c), Some(("TCR", 15)));
        assert_eq!(at(0x140), None);
        assert_eq!(at(0x2fc), Some(("TTBR", 63)));
        assert_eq!(at(0x1000), Some(("BufferControl", 0)));
        assert_eq!(at(0x100c), Some(("BufferStatus", 0)));
        assert_eq!(at(0x1020), Some(("BufferError20", 0)));
        assert_eq!(at(0x1028), Some(("BufferError28", 0)));
    }

    #[test]
    fn live_values_are_what_the_registers_reset_to() {
        assert_eq!(regs::ENABLED_STREAMS.info.reset, 0xa001);
        assert_eq!(regs::CONFIG.info.reset, 0x8000_0025);
        assert_eq!(regs::CONFIG.reset().options(), 0x25);
        assert!(!regs::CONFIG.reset().lock());
        assert_eq!(1_u32 << regs::PARAMS1.reset().page_shift(), PAGE_SIZE);
        assert!(regs::PARAMS2.reset().bypass_supported());
    }

    #[test]
    fn control_word_by_its_two_bits_gives_each_mode() {
        assert_eq!(Tcr::from_bits(0).mode(), StreamMode::Blocked);
        assert_eq!(Tcr::from_bits(0x80).mode(), StreamMode::Translated);
        assert_eq!(Tcr::from_bits(0x100).mode(), StreamMode::Bypassed);
        assert_eq!(Tcr::from_bits(0x180).mode(), StreamMode::Invalid);
    }
}

mod streams {
    use super::*;

    #[test]
    fn sixteen_streams_exist_and_no_more() {
        for number in 0..16 {
            assert_eq!(StreamId::new(number).map(|stream| u32::from(stream.number())), Ok(number));
        }
        for number in [16, 255, 256, u32::MAX] {
            assert!(StreamId::new(number).is_err(), "{number}");
        }
        assert_eq!(StreamId::new(16).unwrap_err().to_string(), "stream 16 does not exist, there are 16");
    }

    #[test]
    fn live_bitmaps_name_streams_0_13_15_and_13_15() {
        let enabled = Streams::from_bits(stream::ENABLED_AT_RESET.into());
        for id in StreamId::ALL {
            assert_eq!(enabled.contains(id), [0, 13, 15].contains(&id.number()), "{id}");
            assert_eq!(id.is_bypassed(), [13, 15].contains(&id.number()), "{id}");
        }
    }

    #[test]
    fn table_bases_of_all_streams_fill_the_array_once() {
        let all = StreamId::ALL.into_iter().flat_map(|id| (0..4).filter_map(move |n| id.table_base(n)));
        assert_eq!(all.collect::<Vec<_>>(), (0..64).collect::<Vec<u16>>());
        assert_eq!(StreamId::ALL[3].table_base(4), None);
        assert_eq!(regs::TTBR.info.at(StreamId::ALL[3].table_base(1).unwrap()), Some(0x200 + 16 * 3 + 4));
    }

    /// Requirement: ISO-01, ISO-04
    #[test]
    fn eight_contexts_have_the_documented_names_and_streams() {
        assert_eq!(ContextId::ALL.len(), 8);
        assert_eq!(ContextId::BASE.capability(), None);
        for context in ContextId::ALL {
            let k = context.number();
            assert_eq!(context.stream().number(), k);
            assert_eq!(ContextId::of_stream(context.stream()), Some(context));
            if k > 0 {
                assert_eq!(context.label(), format!("mapper-ane0-iso{k}"));
                assert_eq!(context.capability(), Some(format!("ANEIsoID{k}").as_str()));
            }
        }
        assert!(ContextId::new(8).is_err());
        assert!(StreamId::ALL[8..].iter().all(|&stream| ContextId::of_stream(stream).is_none()));
    }
}

mod tables {
    use super::*;

    /// Requirement: DART-19
    #[test]
    fn table_base_of_the_live_word_is_the_live_table() {
        let live = Ttbr::from_bits(0x9002_2320);
        assert_eq!(live.table(), Some(PhysAddr(0x100_2232_0000)));
        assert_eq!(Ttbr::from_bits(0x1002_2320).table(), None);
    }

    #[test]
    fn table_base_of_any_table_it_can_hold_round_trips() {
        for word in random(1).take(10_000) {
            let table = PhysAddr(word & 0x7ff_ffff_f000);
            assert_eq!(Ttbr::of(table).unwrap().table(), Some(table));
        }
        assert_eq!(Ttbr::of(PhysAddr(0x800)), Err(BadTableBase::Misaligned(PhysAddr(0x800))));
        let high = PhysAddr(1 << 43);
        assert_eq!(Ttbr::of(high), Err(BadTableBase::TooHigh(high)));
        assert_eq!(Ttbr::of(PhysAddr(high.0 - 0x1000)).map(Ttbr::into_bits), Ok(u32::MAX));
    }

    #[test]
    fn walk_indices_put_together_give_the_address_again() {
        let edges = [0, 0x3fff, 0x4000, 0x1ff_ffff, 0x200_0000, 0xdfff_ffff, 0xe000_0000, 0xffff_ffff];
        for iova in edges.into_iter().chain(random(2).take(10_000).map(|word| word as u32)) {
            let walk = WalkIndices::of_iova(Iova(iova));
            assert_eq!(walk.ttbr, 0);
            assert!(walk.l2 < 2048 && walk.l3 < 2048 && u32::from(walk.offset) < PAGE_SIZE);
            let again = u32::from(walk.l2) << 25 | u32::from(walk.l3) << 14 | u32::from(walk.offset);
            assert_eq!(again, iova);
        }
        let last = WalkIndices::of_iova(Iova((SIZE - 1) as u32));
        assert_eq!(u32::from(last.l2) + 1, walk::APERTURE_L2_ENTRIES);
    }

    #[test]
    fn walk_of_a_high_address_uses_a_later_table_base() {
        assert_eq!(WalkIndices::of_fault(FaultAddress(0xf_ffff_ffff)).ttbr, 0);
        assert_eq!(WalkIndices::of_fault(FaultAddress(0x10_0000_0000)).ttbr, 1);
        assert_eq!(WalkIndices::of_fault(FaultAddress(u64::MAX)).ttbr, 0xfff_ffff);
    }

    #[test]
    fn entry_of_a_table_is_eight_bytes_wide_and_never_wraps() {
        assert_eq!(walk::entry(PhysAddr(0x4000), 2047), Some(PhysAddr(0x7ff8)));
        assert_eq!(walk::entry(PhysAddr(u64::MAX - 7), 1), None);
    }
}

mod leaves {
    use super::*;

    /// Holds one layout to its promises over many pages and each protection class.
    fn round_trip<F: LeafFormat>(address_bits: u32, permission: bool) {
        let mask = ((1_u64 << address_bits) - 1) & !0x3fff;
        let pages = [0, 0x4000, mask].into_iter().chain(random(3).take(26_178).map(|word| word & mask));
        for page in pages.map(PhysAddr) {
            for protection in classes() {
                let word = F::encode(page, protection).unwrap();
                let kept = if permission { protection } else { read_write() };
                let leaf = Leaf { page, protection: kept, first: 0, last: 0x3fff };
                assert_eq!(F::decode(word), Ok(Some(leaf)), "{word:#x}");
            }
            let table = F::encode_table(page).unwrap();
            assert_eq!(F::decode_table(table), Ok(Some(page)), "{table:#x}");
        }
        let high = PhysAddr(1 << address_bits);
        let too_high = Unencodable::TooHigh { page: high, bits: address_bits };
        assert_eq!(F::encode(high, read_write()), Err(too_high));
        assert_eq!(F::encode_table(high), Err(too_high));
        for shift in 0..14 {
            let page = PhysAddr(1 << shift);
            assert_eq!(F::encode(page, read_write()), Err(Unencodable::Misaligned(page)));
            assert_eq!(F::encode_table(page), Err(Unencodable::Misaligned(page)));
        }
    }

    /// Every bit beside a valid entry either changes the page or its attributes, or is refused by name.
    fn every_bit<F: LeafFormat>(valid: u64, ignored: u64) {
        let leaf = F::encode(PhysAddr(0), read_write()).unwrap();
        let table = F::encode_table(PhysAddr(0)).unwrap();
        for bit in (0..64).map(|n| 1_u64 << n).filter(|bit| bit & (valid | ignored) == 0) {
            match F::decode(leaf ^ bit) {
                Ok(decoded) => assert_ne!(decoded, F::decode(leaf).unwrap(), "{bit:#x} has no effect"),
                Err(malformed) => assert_eq!(malformed, Malformed { entry: leaf ^ bit, bits: bit }),
            }
            match F::decode_table(table | bit) {
                Ok(decoded) => assert_ne!(decoded, Some(PhysAddr(0)), "{bit:#x} has no effect"),
                Err(malformed) => assert_eq!(malformed, Malformed { entry: table | bit, bits: bit }),
            }
        }
        assert_eq!(F::decode(leaf & !valid), Ok(None));
        assert_eq!(F::decode_table(table & !valid), Ok(None));
        assert_eq!(F::decode(0), Ok(None));
        assert_eq!(F::decode(!valid), Ok(None));
    }

    #[test]
    fn leaf_of_each_format_and_page_round_trips() {
        round_trip::<Seed>(47, false);
        round_trip::<T8020>(36, true);
        round_trip::<T6000>(42, true);
    }

    #[test]
    fn leaf_bit_of_each_format_means_something_or_is_malformed() {
        every_bit::<Seed>(1 << 63, 0);
        // The open part is ignored while bit 1 opens the whole page.
        every_bit::<T8020>(1, !0 << 40 | 1 << 1);
        every_bit::<T6000>(1, 1 << 1);
    }

    /// Requirement: DART-25
    #[test]
    fn leaf_of_the_founding_document_is_the_page_and_bit_63() {
        for word in random(4).take(1000) {
            let page = word & 0x7fff_ffff_c000;
            for protection in classes() {
                assert_eq!(Seed::encode(PhysAddr(page), protection), Ok(page | 1 << 63));
            }
        }
    }

    #[test]
    fn leaf_auxiliary_bits_follow_the_protection_word() {
        for (protection_bit, leaf_bit) in [(3, 62), (4, 60), (5, 59)] {
            let protection = Protection::from_bits(3 | 1 << protection_bit);
            assert!(protection.has_auxiliary());
            let word = Seed::encode(PhysAddr(0x4000), protection).unwrap();
            assert_eq!(word, 1 << 63 | 1 << leaf_bit | 0x4000);
            assert_eq!(Seed::decode(word).unwrap().unwrap().protection, protection);
            assert_eq!(T6000::encode(PhysAddr(0), protection), Err(Unencodable::Protection(protection)));
        }
        let unknown = Protection::from_bits(3 | 1 << 6);
        assert_eq!(Seed::encode(PhysAddr(0), unknown), Err(Unencodable::Protection(unknown)));
    }

    #[test]
    fn leaf_of_published_formats_has_the_published_bits() {
        let page = PhysAddr(0x8_1234_4000);
        let [write, read, both] = [1, 2, 3].map(Protection::from_bits);
        assert_eq!(T8020::encode(page, both), Ok(0x000f_ff08_1234_4003));
        assert_eq!(T8020::encode(page, read), Ok(0x000f_ff08_1234_4083));
        assert_eq!(T8020::encode(page, write), Ok(0x000f_ff08_1234_4103));
        assert_eq!(T6000::encode(page, both), Ok(0x000f_ff00_8123_4401));
        assert_eq!(T6000::encode(page, read), Ok(0x000f_ff00_8123_4405));
        assert_eq!(T6000::encode(page, write), Ok(0x000f_ff00_8123_4409));
    }

    #[test]
    fn leaf_of_one_family_is_not_valid_in_the_other() {
        let page = PhysAddr(0x8_1234_4000);
        assert_eq!(Seed::decode(T8020::encode(page, read_write()).unwrap()), Ok(None));
        assert_eq!(Seed::decode(T6000::encode(page, read_write()).unwrap()), Ok(None));
        assert_eq!(T8020::decode(Seed::encode(page, read_write()).unwrap()), Ok(None));
        assert_eq!(T6000::decode(Seed::encode(page, read_write()).unwrap()), Ok(None));
    }

    #[test]
    fn leaf_with_part_of_the_page_open_says_which_bytes() {
        // Units 0x010 to 0x01f of four bytes each.
        let leaf = T6000::decode(0x0100_1f00_0000_0001).unwrap().unwrap();
        assert_eq!((leaf.first, leaf.last), (0x40, 0x7f));
        assert!(leaf.opens(0x40, 0x40));
        assert!(!leaf.opens(0x3f, 1));
        assert!(!leaf.opens(0x40, 0x41));
        assert!(!leaf.opens(0x40, 0));
        assert!(!leaf.opens(u16::MAX, u16::MAX));
        // First behind last opens nothing.
        let none = T6000::decode(0x0200_1f00_0000_0001).unwrap().unwrap();
        assert!((0..=0x3fff).all(|offset| !none.opens(offset, 1)));
    }
}

mod segments {
    use super::*;

    fn segment() -> Segment {
        Segment::new(Iova(0x8000), PhysAddr(0x100_2232_0000), read_write())
    }

    /// Requirement: MAP-02, MAP-03
    #[test]
    fn segment_has_the_listed_bytes() {
        let words = [0x8000, 0x100_2232_0000, 0x4000, 3, 0].map(u64::to_le_bytes).concat();
        assert_eq!(segment().as_bytes(), words);
        assert_eq!(Segment::read_from_bytes(&words).unwrap(), segment());
    }

    /// Requirement: MAP-05
    #[test]
    fn segment_becomes_page_and_template() {
        assert_eq!(Template::Map.word(), 0x8000_0000_0000_0000);
        assert_eq!(segment().leaf(Template::Map), Ok(0x100_2232_0000 | Template::Map.word()));
        assert_eq!(segment().leaf(Template::Unmap), Ok(0));
    }

    #[test]
    fn segment_that_is_no_page_is_refused_by_name() {
        let mut other = segment();
        other.size = U64::new(0x1000);
        assert_eq!(other.leaf(Template::Map), Err(BadSegment::Size(0x1000)));
        other = segment();
        other.reserved = U64::new(1);
        assert_eq!(other.leaf(Template::Map), Err(BadSegment::Reserved(1)));
        other = segment();
        other.iova = U64::new(0x8010);
        assert_eq!(other.leaf(Template::Unmap), Err(BadSegment::Misaligned(Iova(0x8010))));
        other.iova = U64::new(SIZE);
        assert!(matches!(other.leaf(Template::Unmap), Err(BadSegment::Range(_))));
        other.iova = U64::new(1 << 32);
        assert!(matches!(other.leaf(Template::Unmap), Err(BadSegment::Range(_))));
        other = segment();
        other.phys = U64::new(1);
        assert!(matches!(other.leaf(Template::Map), Err(BadSegment::Leaf(Unencodable::Misaligned(_)))));
    }
}

mod usages {
    use super::*;

    /// Requirement: MAP-06, MAP-07, MAP-08, MAP-09, MAP-10, MAP-11, MAP-12, MAP-13, MAP-14
    #[test]
    fn usage_codes_map_under_the_measured_classes() {
        let client = |code| Usage::try_from(code).unwrap().class(ReadOnly::Collapsed);
        for (code, class) in [(1, 3), (2, 1), (7, 3), (8, 3), (9, 3), (11, 3)] {
            let class = ProtectionClass::try_from(class).unwrap();
            assert_eq!(client(code), MappingClass::Client(class), "usage {code}");
            assert_eq!(client(code).protection().into_bits(), class as u64);
        }
        assert_eq!(client(4121), MappingClass::Firmware);
        assert_eq!(client(4122), MappingClass::Firmware);
    }

    /// Requirement: MAP-16
    #[test]
    fn every_other_usage_code_is_refused_by_name() {
        let known = [1, 2, 7, 8, 9, 11, 0x1019, 0x101a];
        for code in (0..=0xffff).chain([u32::MAX]) {
            assert_eq!(Usage::try_from(code).is_ok(), known.contains(&code), "{code:#x}");
        }
        assert_eq!(Usage::try_from(3).unwrap_err().to_string(), "0x3 is no known usage code");
    }

    #[test]
    fn client_may_not_use_firmware_codes() {
        for &usage in Usage::ALL {
            let code = usage as u32;
            let expected = if code & 0x1000 == 0 { Ok(usage) } else { Err(BadUsage::FirmwareOnly(usage)) };
            assert_eq!(Usage::for_client(code), expected);
        }
        assert!(matches!(Usage::for_client(0x1000), Err(BadUsage::Unknown(_))));
    }

    /// Requirement: DART-31, DART-33, MAP-17
    #[test]
    fn read_only_class_stays_only_where_the_controller_keeps_it() {
        assert_eq!(Direction::DeviceWrites.class() as u8, 1);
        assert_eq!(Direction::DeviceReads.class() as u8, 2);
        assert_eq!(Direction::Both.class() as u8, 3);
        assert_eq!(Direction::Unspecified.class() as u8, 3);
        for &class in ProtectionClass::ALL {
            assert_eq!(class.on(ReadOnly::Kept), class);
            let collapsed = [1, 3, 3][class as usize - 1];
            assert_eq!(class.on(ReadOnly::Collapsed) as u8, collapsed);
        }
        let input = Usage::Input.class(ReadOnly::Kept);
        assert_eq!(input, MappingClass::Client(ProtectionClass::ReadOnly));
    }

    /// Requirement: DART-29
    #[test]
    fn every_usage_gives_the_same_leaf_without_auxiliary_bits() {
        for &usage in Usage::ALL {
            for read_only in [ReadOnly::Collapsed, ReadOnly::Kept] {
                let protection = usage.class(read_only).protection();
                assert!(!protection.has_auxiliary());
                assert_eq!(Seed::encode(PhysAddr(0x4000), protection), Ok(1 << 63 | 0x4000), "{usage}");
            }
        }
    }

    #[test]
    fn load_of_one_program_has_the_nine_listed_usages() {
        assert_eq!(MATMUL_LOAD.map(|usage| usage as u32), [1, 2, 8, 9, 11, 7, 9, 4121, 4122]);
    }
}
