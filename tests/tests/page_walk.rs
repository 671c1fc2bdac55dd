//! The DART's translation against a slow walker that was written from the documents alone, over random tables
//! in guest memory; and the isolation of contexts, each against each.

use std::collections::BTreeSet;

use ane_device::dart::{Access, Circuit, Dart};
use ane_tests::random::Random;
use ane_tests::reference::page_walk::{self, Cause, LeafFormat, Level, Stream, WalkOutcome};
use ane_uapi::hw::dart::error::HwError;
use ane_uapi::hw::dart::iso::ContextId;
use ane_uapi::hw::dart::pte::PteFormat;
use ane_uapi::hw::dart::regs::{self, Window};
use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::fault::IoDartErrorInfo;
use ane_uapi::hw::space::IovaRange;
use vm_memory::{Bytes, GuestAddress, GuestMemoryMmap};

const PAGE: u64 = 0x4000;

/// Guest memory: 64 pages, not at 0, so that a frame of zeros is outside.
const RAM: u64 = 0x4000_0000;
const PAGES: u64 = 64;

/// The tables of the random walks: one L2 table, a few L3 tables.
const L2_TABLE: u64 = RAM;
const L3_TABLES: u64 = 4;

/// Indices that the random tables fill and the random addresses use.
const USED: u64 = 6;

fn memory() -> GuestMemoryMmap<()> {
    let memory = GuestMemoryMmap::from_ranges(&[(GuestAddress(RAM), (PAGES * PAGE) as usize)]);
    let memory = memory.expect("guest memory can be mapped");
    // Every word of a data page says where it is.
    for address in (RAM + 8 * PAGE..RAM + PAGES * PAGE).step_by(8) {
        memory.write_obj(address, GuestAddress(address)).expect("inside memory");
    }
    memory
}

fn word_at(memory: &GuestMemoryMmap<()>, address: u64) -> Option<u64> {
    memory.read_obj(GuestAddress(address)).ok()
}

/// Writes one register alike in the three windows that carry DMA.
fn program(dart: &mut Dart, offset: u32, value: u32) {
    for window in Window::CARRYING_DMA {
        dart.write(window, offset, value).expect("the register is there");
    }
}

/// A table entry for `page` in `format`, with one of many things wrong with it now and then.
fn entry(random: &mut Random, format: LeafFormat, page: u64, is_leaf: bool) -> u64 {
    let page = match random.below(12) {
        0 => RAM + PAGES * PAGE,
        1 => 0,
        _ => page,
    };
    let valid = match format {
        LeafFormat::Seed => page | 1 << 63,
        LeafFormat::T8020 => page | 1,
        LeafFormat::T6000 => (page >> 4) | 1,
    };
    // A leaf of the published formats opens a whole page: start 0, end 0xfff.
    let valid = if is_leaf && format != LeafFormat::Seed { valid | 0xfff << 40 } else { valid };
    match random.below(10) {
        0 => 0,
        1 => valid & !(1 << 63 | 1),
        2 => valid ^ 1 << random.below(64),
        3 => valid | u64::from(random.below(16)),
        _ => valid,
    }
}

/// Fills the tables; L3 tables may lie outside memory, and one may be the L2 table itself.
fn fill(random: &mut Random, memory: &GuestMemoryMmap<()>, format: LeafFormat) {
    for index in 0..USED {
        let table = L2_TABLE + PAGE * u64::from(random.below(1 + L3_TABLES as u32));
        let entry = entry(random, format, table, false);
        memory.write_obj(entry, GuestAddress(L2_TABLE + 8 * index)).expect("inside memory");
    }
    for table in 1..=L3_TABLES {
        for index in 0..USED {
            let page = RAM + PAGE * u64::from(8 + random.below(PAGES as u32 - 8));
            let entry = entry(random, format, page, true);
            let at = L2_TABLE + table * PAGE + 8 * index;
            memory.write_obj(entry, GuestAddress(at)).expect("inside memory");
        }
    }
}

/// A stream as the registers hold it; the bits that only this project gives a meaning stay clear.
fn stream(random: &mut Random, id: StreamId) -> Stream {
    let base = (L2_TABLE >> 12) as u32;
    Stream {
        enabled: random.below(16) != 0,
        bypass: id.is_bypassed(),
        tcr: match random.below(12) {
            0 => 0,
            1 => 1 << 8,
            2 => 1 << 7 | 1 << 8,
            _ => 1 << 7,
        },
        ttbr: match random.below(12) {
            0 => [base, 0, 0, 0],
            1 => [1 << 31, 0, 0, 0],
            _ => [1 << 31 | base, 0, 0, 0],
        },
    }
}

/// The device's answer for one aligned word.
fn ours(
    dart: &mut Dart,
    memory: &GuestMemoryMmap<()>,
    id: StreamId,
    address: u64,
    access: Access,
) -> Result<u64, HwError> {
    let mut dma = dart.dma(memory, id, Circuit::TileFetch1);
    let name = |info: IoDartErrorInfo| info.error().expect("a fault has a name");
    let range = dma.range(address, 8, access).map_err(name)?.expect("eight bytes are a range");
    match access {
        Access::Read => {
            let mut word = [0; 8];
            dma.read(range, &mut word).map_err(name)?;
            Ok(u64::from_le_bytes(word))
        }
        Access::Write => dma.check(range, access).map(|()| 0).map_err(name),
    }
}

/// The name that the device gives to what the reference found; several for what the reference does not part.
fn names(cause: Cause) -> &'static [HwError] {
    match cause {
        Cause::StreamDisabled => &[HwError::StreamDisabled],
        Cause::TranslationOff => &[HwError::StreamBlocked, HwError::StreamControlInvalid],
        Cause::OutOfAperture => &[HwError::OutsideAperture],
        Cause::HighAddress => &[HwError::HighAddress],
        Cause::NoTableBase => &[HwError::NoTableBase],
        Cause::NoL2Entry => &[HwError::NoL2Entry],
        Cause::NoL3Entry => &[HwError::NoL3Entry],
        Cause::ReadError(Level::L3) => &[HwError::L3TableUnreadable],
        Cause::ReadError(_) => &[HwError::L2TableUnreadable],
        Cause::Malformed(Level::L3) => &[HwError::L3EntryMalformed],
        Cause::Malformed(_) => &[HwError::L2EntryMalformed],
        // The device looks for the page before it looks at what the leaf permits, where that is no memory.
        Cause::ReadProtection => &[HwError::ReadProtection, HwError::NoMemory],
        Cause::WriteProtection => &[HwError::WriteProtection, HwError::NoMemory],
        Cause::SubPage => &[HwError::SubPage, HwError::NoMemory],
    }
}

fn agree(format: LeafFormat, ours_format: PteFormat) {
    let mut random = Random::new(0x5eed_0100 + ours_format as u64);
    let memory = memory();
    let mut seen = BTreeSet::new();
    for round in 0..2_000 {
        fill(&mut random, &memory, format);
        let id = StreamId::new(random.below(16)).expect("below 16");
        let stream = stream(&mut random, id);
        let mut dart = Dart::new(ours_format);
        program(&mut dart, regs::ENABLED_STREAMS.offset(), if stream.enabled { 0xffff } else { 0 });
        let number = u16::from(id.number());
        program(&mut dart, regs::TCR.info.at(number).expect("16 streams"), stream.tcr);
        let ttbr = id.table_base(0).and_then(|index| regs::TTBR.info.at(index)).expect("four bases a stream");
        program(&mut dart, ttbr, stream.ttbr[0]);

        for _ in 0..24 {
            let indices =
                u64::from(random.below(USED as u32)) << 25 | u64::from(random.below(USED as u32)) << 14;
            let inside = u64::from(random.below(PAGE as u32 / 8)) * 8;
            let address = match random.below(16) {
                0 => 0xe000_0000 + inside,
                1 => (1 << 32) | indices | inside,
                2 => RAM + 8 * PAGE + inside,
                _ => indices | inside,
            };
            let access = if random.below(2) == 0 { Access::Read } else { Access::Write };
            let walk = |address| {
                page_walk::translate(&|at| word_at(&memory, at), &stream, format, address, access.is_write())
            };
            // A leaf may open a page up to the middle of the word.
            let theirs = match (walk(address), walk(address + 7)) {
                (WalkOutcome::Physical(_), fault @ WalkOutcome::Fault(_)) => fault,
                (first, _) => first,
            };
            let ours = ours(&mut dart, &memory, id, address, access);
            let place = format!("round {round}: {access:?} of {address:#x} by {id:?}, {stream:x?}");
            match theirs {
                // The device looks at the address before it looks at the stream.
                _ if address >> 32 != 0 => assert_eq!(ours, Err(HwError::HighAddress), "{place}"),
                _ if address >= 0xe000_0000 => assert_eq!(ours, Err(HwError::OutsideAperture), "{place}"),
                WalkOutcome::Physical(physical) => match word_at(&memory, physical) {
                    Some(word) if access == Access::Read => assert_eq!(ours, Ok(word), "{place}"),
                    Some(_) => assert_eq!(ours, Ok(0), "{place}"),
                    None => assert_eq!(ours, Err(HwError::NoMemory), "{place}"),
                },
                WalkOutcome::Fault(cause) => {
                    let error = ours.expect_err(&place);
                    assert!(names(cause).contains(&error), "{place}: {error}, reference says {cause:?}");
                }
            }
            seen.insert(ours.map_or_else(|error| error.name(), |_| "translated"));
        }
    }
    let expected = ["translated", "no l2 entry", "no l3 entry", "stream disabled", "l3 table unreadable"];
    assert!(expected.iter().all(|name| seen.contains(name)), "the walks came to {seen:?} only");
}

#[test]
fn random_walks_in_the_founding_format_end_where_the_reference_says() {
    agree(LeafFormat::Seed, PteFormat::Seed);
}

#[test]
fn random_walks_in_the_first_published_format_end_where_the_reference_says() {
    agree(LeafFormat::T8020, PteFormat::T8020);
}

#[test]
fn random_walks_in_the_second_published_format_end_where_the_reference_says() {
    agree(LeafFormat::T6000, PteFormat::T6000);
}

/// The page of context `k`, mapped at one address in its own tables and nowhere else.
fn page_of(context: ContextId) -> u64 {
    RAM + PAGE * (32 + u64::from(context.number()))
}

/// The device address of context `k`'s page; every context maps only its own.
fn address_of(context: ContextId) -> u64 {
    PAGE * (1 + u64::from(context.number()))
}

/// Eight contexts, each with tables of its own that map its own page at its own address.
fn contexts(memory: &GuestMemoryMmap<()>) -> Dart {
    let mut dart = Dart::new(PteFormat::Seed);
    program(&mut dart, regs::ENABLED_STREAMS.offset(), 0xffff);
    for context in ContextId::ALL {
        let (l2, l3) = (
            RAM + PAGE * 2 * u64::from(context.number()),
            RAM + PAGE * (2 * u64::from(context.number()) + 1),
        );
        memory.write_obj(l3 | 1 << 63, GuestAddress(l2)).expect("inside memory");
        let leaf = l3 + 8 * (address_of(context) / PAGE);
        memory.write_obj(page_of(context) | 1 << 63, GuestAddress(leaf)).expect("inside memory");
        let stream = context.stream();
        program(&mut dart, regs::TCR.info.at(stream.number().into()).expect("16 streams"), 1 << 7);
        let ttbr = stream.table_base(0).and_then(|index| regs::TTBR.info.at(index)).expect("four bases");
        program(&mut dart, ttbr, 1 << 31 | (l2 >> 12) as u32);
    }
    dart
}

fn blank() -> GuestMemoryMmap<()> {
    GuestMemoryMmap::from_ranges(&[(GuestAddress(RAM), (PAGES * PAGE) as usize)])
        .expect("memory can be mapped")
}

#[test]
fn context_reaches_its_own_page_and_no_other_context_s() {
    let memory = blank();
    let mut dart = contexts(&memory);
    for actor in ContextId::ALL {
        for owner in ContextId::ALL {
            let range = IovaRange::new(address_of(owner), PAGE).expect("inside the aperture");
            for access in [Access::Read, Access::Write] {
                let mut dma = dart.dma(&memory, actor.stream(), Circuit::TileSend);
                let mut page = vec![actor.number() + 1; PAGE as usize];
                let outcome = match access {
                    Access::Read => dma.read(range, &mut page),
                    Access::Write => dma.write(range, &page),
                };
                if actor == owner {
                    assert_eq!(outcome, Ok(()), "{actor:?} at home");
                    continue;
                }
                let info = outcome.expect_err("another context's page is not mapped here");
                assert_eq!(info.error(), Ok(HwError::NoL3Entry), "{actor:?} at {owner:?}");
                assert_eq!(info.stream(), Ok(actor.stream()));
                assert_eq!(info.is_write(), Ok(access.is_write()));
                assert_eq!(u64::from(info.address), address_of(owner));
                assert_eq!(
                    (u64::from(info.l2_index), u64::from(info.l3_index)),
                    (0, address_of(owner) / PAGE)
                );
            }
        }
    }
    // Every page holds what its own context wrote, whole.
    for owner in ContextId::ALL {
        let mut page = vec![0; PAGE as usize];
        memory.read_slice(&mut page, GuestAddress(page_of(owner))).expect("inside memory");
        assert!(page.iter().all(|byte| *byte == owner.number() + 1), "{owner:?} leaked");
    }
}

#[test]
fn stale_translation_of_one_context_serves_no_other_and_ends_with_its_invalidation() {
    let memory = blank();
    let mut dart = contexts(&memory);
    for actor in ContextId::ALL {
        let range = IovaRange::new(address_of(actor), 8).expect("inside the aperture");
        let mut word = [0; 8];
        let warm = dart.dma(&memory, actor.stream(), Circuit::TileFetch1).read(range, &mut word);
        assert_eq!(warm, Ok(()));
        // The driver takes the page away and forgets to invalidate: the old translation still works, for
        // its own context only.
        let leaf = RAM + PAGE * (2 * u64::from(actor.number()) + 1) + 8 * (address_of(actor) / PAGE);
        memory.write_obj(0_u64, GuestAddress(leaf)).expect("inside memory");
        for other in ContextId::ALL {
            let outcome = dart.dma(&memory, other.stream(), Circuit::TileFetch1).read(range, &mut word);
            assert_eq!(outcome.is_ok(), other == actor, "{other:?} through {actor:?}'s translation");
        }
        program(&mut dart, regs::STREAM_SELECT.offset(), actor.stream().bit().into());
        program(&mut dart, regs::STREAM_COMMAND.offset(), 1 << 20);
        let cold = dart.dma(&memory, actor.stream(), Circuit::TileFetch1).read(range, &mut word);
        let info = cold.expect_err("the translation is gone");
        assert_eq!(info.error(), Ok(HwError::NoL3Entry));
    }
}
