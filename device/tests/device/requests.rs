//! Requests of queue 0 as bytes: what the device answers, and what it does. Every front passes them through here.

use ane_device::Options;
use ane_device::inject::Injection;
use ane_device::options::FaultPolicy;
use ane_device::refusal::Why;
use ane_device::wire::request::{Request, carry_out};
use ane_uapi::hw::nid::Nid;
use ane_uapi::hw::space::EngineOffset;
use ane_uapi::hw::tm;
use ane_uapi::hw::tq::QueueId;
use ane_uapi::hw::usage::Usage;
use ane_uapi::wire::ctrl::{Header, NO_INDEX, Op, RequestKind, Response, Status};
use ane_uapi::wire::sideband::{DECLARATIONS_MAX, Declaration, MapEntry, USAGE_NONE, UnmapEntry};
use proptest::prelude::*;
use zerocopy::{FromBytes, IntoBytes};

use crate::machine::*;

const COOKIE: u64 = 0x1122_3344_5566_7788;
const RESPONSE: u64 = size_of::<Response>() as u64;

/// A register that keeps what is written.
const WORD: u32 = tm::TASK_MANAGER.base.0 + tm::REQUEST_ADDRESS.offset();

/// An offset at which there is nothing.
const NOTHING: u32 = 0x1000;

fn checking() -> Machine {
    Machine::with_options(&Options { check: true, ..Options::default() })
}

fn with_pe_mmu() -> Machine {
    Machine::with_options(&Options { pe_mmu: Some("".parse().unwrap()), ..Options::default() })
}

/// A device that declared itself dead.
fn dead() -> Machine {
    let options = Options { fault_policy: FaultPolicy::Panic, check: true, ..Options::default() };
    let mut machine = Machine::with_options(&options);
    machine.ane.inject(Injection::FaultAfter(0));
    machine.submit_chain(1);
    machine.run();
    machine
}

fn word(machine: &mut Machine) -> u32 {
    machine.read(EngineOffset(WORD))
}

fn bytes(header: Header, ops: &[Op]) -> Vec<u8> {
    [header.as_bytes(), ops.as_bytes()].concat()
}

fn batch_of(ops: &[Op]) -> Vec<u8> {
    bytes(Header::new(RequestKind::Batch, ops.len() as u32, COOKIE), ops)
}

fn ask(machine: &mut Machine, bytes: &[u8], room: u64) -> (Option<Response>, Vec<u32>) {
    // The bytes of an earlier answer.
    let mut answer = vec![7; 3];
    let request = Request { bytes, len: bytes.len() as u64, room };
    carry_out(&mut machine.ane, machine.now, request, &mut answer);
    assert!(answer.len() as u64 <= room, "answer fits");
    let Ok((response, values)) = Response::read_from_prefix(&answer) else {
        assert!(answer.is_empty());
        return (None, Vec::new());
    };
    let words = values.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap()));
    (Some(response), words.collect())
}

/// Status, done, index, detail.
fn refused(machine: &mut Machine, bytes: &[u8], room: u64) -> (Status, u32, u32, u32) {
    let (response, _) = ask(machine, bytes, room);
    let response = response.expect("is answered");
    (response.status().unwrap(), response.done.get(), response.index.get(), response.detail.get())
}

#[test]
fn batch_is_carried_out_in_order_and_answered_with_what_was_read() {
    let ops = [Op::read(WORD), Op::write(WORD, 8), Op::read(WORD), Op::write(WORD, 16), Op::read(WORD)];
    let (response, values) = ask(&mut Machine::new(), &batch_of(&ops), RESPONSE + 12);
    assert_eq!(response, Some(Response::done(5, COOKIE)));
    assert_eq!(values, [0, 8, 16]);
}

#[test]
fn empty_batch_is_done() {
    let (response, _) = ask(&mut Machine::new(), &batch_of(&[]), RESPONSE);
    assert_eq!(response, Some(Response::done(0, COOKIE)));
}

#[test]
fn reset_brings_registers_back_to_their_first_values() {
    let mut machine = Machine::new();
    machine.write(EngineOffset(WORD), 8);
    let request = bytes(Header::new(RequestKind::Reset, 0, COOKIE), &[]);
    assert_eq!(ask(&mut machine, &request, RESPONSE).0, Some(Response::done(0, COOKIE)));
    assert_eq!(word(&mut machine), 0);
}

#[test]
fn malformed_request_is_answered_with_its_status_and_has_no_effect() {
    let good = batch_of(&[Op::write(WORD, 8)]);
    let mut flags = good.clone();
    flags[2] = 1;
    let mut kind = good.clone();
    kind[0] = 9;
    let count = |count: u32| {
        let mut bytes = good.clone();
        bytes[4..8].copy_from_slice(&count.to_le_bytes());
        bytes
    };
    let reset = |count| bytes(Header::new(RequestKind::Reset, count, COOKIE), &[]);
    let long_reset = bytes(Header::new(RequestKind::Reset, 0, COOKIE), &[Op::read(WORD)]);
    let cases = [
        (kind, (Status::UnknownKind, 9)),
        (flags, (Status::ReservedSet, 2)),
        (count(0), (Status::TooLong, 28)),
        (count(2), (Status::TooShort, 28)),
        (count(1025), (Status::TooMany, 1024)),
        (count(u32::MAX), (Status::TooMany, 1024)),
        (good[..27].to_vec(), (Status::TooShort, 27)),
        (reset(1), (Status::TooMany, 0)),
        (long_reset, (Status::TooLong, 28)),
        (bytes(Header::new(RequestKind::PeMmuMap, 0, COOKIE), &[]), (Status::Absent, 0)),
        (bytes(Header::new(RequestKind::PeMmuUnmap, 7, COOKIE), &[]), (Status::Absent, 0)),
    ];
    for (bytes, (status, detail)) in cases {
        let mut machine = Machine::new();
        machine.write(EngineOffset(WORD), 4);
        assert_eq!(refused(&mut machine, &bytes, RESPONSE), (status, 0, NO_INDEX, detail), "{bytes:02x?}");
        assert_eq!(word(&mut machine), 4);
    }
}

#[test]
fn request_cut_off_in_its_header_is_too_short_at_every_length() {
    let good = batch_of(&[]);
    let mut machine = Machine::new();
    for len in 0..size_of::<Header>() {
        let (response, _) = ask(&mut machine, &good[..len], RESPONSE);
        assert_eq!(response, Some(Response::new(Status::TooShort, 0, NO_INDEX, len as u32, 0)));
    }
}

#[test]
fn batch_without_room_for_its_values_has_no_effect() {
    let mut machine = Machine::new();
    let request = batch_of(&[Op::write(WORD, 8), Op::read(WORD), Op::read(WORD)]);
    assert_eq!(refused(&mut machine, &request, 31), (Status::NoRoom, 0, NO_INDEX, 32));
    assert_eq!(word(&mut machine), 0);
    assert_eq!(ask(&mut machine, &request, 32).0, Some(Response::done(3, COOKIE)));
}

#[test]
fn writable_part_too_short_for_a_response_gets_none() {
    let mut machine = Machine::new();
    for room in 0..RESPONSE {
        assert_eq!(ask(&mut machine, &batch_of(&[Op::write(WORD, 8)]), room).0, None);
        assert_eq!(word(&mut machine), 0);
    }
}

#[test]
fn refused_operation_ends_the_batch_where_it_stands() {
    let odd = Op { access: 2.into(), ..Op::read(WORD) };
    let reserved = Op { reserved: 1.into(), ..Op::read(WORD) };
    let valued = Op { value: 1.into(), ..Op::read(WORD) };
    let cases = [
        (odd, Status::UnknownAccess, 2),
        (reserved, Status::ReservedSet, 16 + 24 + 2),
        (valued, Status::ReservedSet, 16 + 24 + 8),
        (Op::read(6), Status::Misaligned, 6),
        (Op::write(0x200_0000, 1), Status::OutsideContainer, 0x200_0000),
    ];
    for (op, status, detail) in cases {
        let mut machine = Machine::new();
        let request = batch_of(&[Op::write(WORD, 8), Op::read(WORD), op, Op::write(WORD, 16)]);
        let (response, values) = ask(&mut machine, &request, 64);
        assert_eq!(response, Some(Response::new(status, 2, 2, detail, COOKIE)));
        assert_eq!((values, word(&mut machine)), (vec![8], 8));
    }
}

#[test]
fn dead_device_ends_a_batch_at_its_first_access_and_takes_a_reset() {
    let mut machine = dead();
    let request = batch_of(&[Op::write(WORD, 8)]);
    assert_eq!(refused(&mut machine, &request, RESPONSE), (Status::Dead, 0, 0, 0));
    let reset = bytes(Header::new(RequestKind::Reset, 0, COOKIE), &[]);
    assert_eq!(ask(&mut machine, &reset, RESPONSE).0, Some(Response::done(0, COOKIE)));
    assert_eq!(ask(&mut machine, &request, RESPONSE).0, Some(Response::done(1, COOKIE)));
}

/// Between the registers of the mover's blocks that have room between them: counted as refused, and zero.
#[test]
fn offset_without_a_register_in_the_movers_blocks_reads_as_zero() {
    let mut machine = Machine::new();
    let offsets = [0x1f1_0040, 0x1f1_8ffc];
    let (response, values) = ask(&mut machine, &batch_of(&offsets.map(Op::read)), 64);
    assert_eq!(response, Some(Response::done(2, COOKIE)));
    assert_eq!(values, [0; 2]);
    for at in offsets {
        let refusal = machine.try_read(EngineOffset(at)).unwrap_err();
        assert!(matches!(refusal.why, Why::NoRegister { .. }) && refusal.answer() == 0, "{refusal}");
    }
}

#[test]
fn register_without_an_answer_reads_as_ones_unless_the_device_is_strict() {
    let request = batch_of(&[Op::read(NOTHING), Op::write(NOTHING, 1), Op::read(WORD)]);
    let (response, values) = ask(&mut Machine::new(), &request, 64);
    assert_eq!(response, Some(Response::done(3, COOKIE)));
    assert_eq!(values, [u32::MAX, 0]);
    let mut strict = Machine::with_options(&Options { strict: true, ..Options::default() });
    assert_eq!(refused(&mut strict, &request, 64), (Status::Unmodelled, 0, 0, NOTHING));
}

proptest! {
    #[test]
    fn any_bytes_are_answered_within_their_room(
        bytes in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..200),
            // Mostly right: a batch with a count of its own.
            (0u32..20, prop::collection::vec(any::<[u8; 12]>(), 0..20)).prop_map(|(count, ops)| {
                [Header::new(RequestKind::Batch, count, 1).as_bytes(), ops.concat().as_slice()].concat()
            }),
        ],
        room in 0u64..200,
        strict: bool,
    ) {
        let mut machine = Machine::with_options(&Options { strict, ..Options::default() });
        let (response, values) = ask(&mut machine, &bytes, room);
        prop_assert_eq!(response.is_some(), room >= RESPONSE);
        if let Some(response) = response {
            prop_assert!(values.len() <= response.done.get() as usize);
            prop_assert!(response.status().unwrap() != Status::Internal);
            prop_assert!(response.index.get() == NO_INDEX || response.done.get() == response.index.get());
        }
    }
}

fn declaration(base: u64, size: u64, stream: u32, usage: u32) -> Declaration {
    Declaration { base: base.into(), size: size.into(), stream: stream.into(), usage: usage.into() }
}

fn declare_of(entries: &[Declaration]) -> Vec<u8> {
    let header = Header::new(RequestKind::Declare, entries.len() as u32, COOKIE);
    [header.as_bytes(), entries.as_bytes()].concat()
}

/// The surface that a task writes, declared as one that it only reads.
fn result_as_input() -> Declaration {
    declaration(RESULT.0.into(), PAGE.into(), 0, Usage::Input as u32)
}

/// True if checking mode objects to a task that writes [`RESULT`]: it was declared, and as an input.
fn is_declared(machine: &mut Machine) -> bool {
    machine.ane.engine_mut().copies = 16;
    machine.store_chain(1);
    machine.submit(QueueId::LINUX, TASKS, info(1), Nid::LINUX);
    machine.run();
    machine.ane.take_reports().iter().any(|report| report.address == RESULT)
}

#[test]
fn declaration_holds_until_it_is_taken_back() {
    let mut machine = checking();
    assert!(!is_declared(&mut machine));
    let declare = declare_of(&[result_as_input()]);
    assert_eq!(ask(&mut machine, &declare, RESPONSE).0, Some(Response::done(1, COOKIE)));
    assert!(is_declared(&mut machine));
    let forget = declare_of(&[declaration(RESULT.0.into(), 1, 0, USAGE_NONE)]);
    assert_eq!(ask(&mut machine, &forget, RESPONSE).0, Some(Response::done(1, COOKIE)));
    assert!(!is_declared(&mut machine));
}

#[test]
fn declarations_are_taken_in_order_until_there_is_no_room_for_more() {
    let mut machine = checking();
    // Sixteen thousand of a stream.
    for message in 0..32 {
        let entries: Vec<_> = (0..u64::from(DECLARATIONS_MAX))
            .map(|n| declaration(message * u64::from(DECLARATIONS_MAX) + n, 1, 3, 1))
            .collect();
        let (response, _) = ask(&mut machine, &declare_of(&entries), RESPONSE);
        assert_eq!(response, Some(Response::done(DECLARATIONS_MAX, COOKIE)));
    }
    // The first takes the place of one that is known.
    let two = [declaration(0, 1, 3, 9), declaration(0x8_0000, 1, 3, 1)];
    assert_eq!(refused(&mut machine, &declare_of(&two), RESPONSE), (Status::NoRegions, 1, 1, 0));
}

#[test]
fn message_with_a_declaration_of_nothing_has_no_effect() {
    let cases = [
        declaration(0, 0, 0, 1),
        declaration(0xe000_0000, 1, 0, 1),
        declaration(0xdfff_c000, 0x4001, 0, 1),
        declaration(u64::MAX, 2, 0, 1),
        declaration(0, u64::MAX, 0, 1),
        declaration(0, 1, 16, 1),
        declaration(0, 1, u32::MAX, 1),
        declaration(0, 1, 0, 3),
        declaration(0, 1, 0, u32::MAX),
    ];
    for bad in cases {
        let mut machine = checking();
        let good = result_as_input();
        let found = refused(&mut machine, &declare_of(&[good, bad, good]), RESPONSE);
        assert_eq!(found, (Status::BadEntry, 0, 1, 0), "{bad:?}");
        assert!(!is_declared(&mut machine));
    }
}

#[test]
fn declarations_to_a_device_that_does_not_check_or_is_dead_are_refused() {
    let message = declare_of(&[declaration(0, 1, 0, 1)]);
    assert_eq!(refused(&mut Machine::new(), &message, RESPONSE), (Status::Absent, 0, NO_INDEX, 0));
    assert_eq!(refused(&mut dead(), &message, RESPONSE), (Status::Dead, 0, NO_INDEX, 0));
}

#[test]
fn more_declarations_than_the_limit_are_refused_before_any_is_looked_at() {
    let mut machine = checking();
    let many = vec![declaration(0, 0, 99, 99); 513];
    assert_eq!(refused(&mut machine, &declare_of(&many), RESPONSE), (Status::TooMany, 0, NO_INDEX, 512));
    let cut = &declare_of(&many[..512])[..12_303];
    assert_eq!(refused(&mut machine, cut, RESPONSE), (Status::TooShort, 0, NO_INDEX, 12_303));
}

fn map_of(entries: &[(u64, u64, u64)]) -> Vec<u8> {
    let entries: Vec<_> = entries
        .iter()
        .map(|&(va, pa, size)| MapEntry { va: va.into(), pa: pa.into(), size: size.into() })
        .collect();
    [Header::new(RequestKind::PeMmuMap, entries.len() as u32, COOKIE).as_bytes(), entries.as_bytes()].concat()
}

fn regions(machine: &Machine) -> usize {
    machine.ane.dart().before().unwrap().mmu().regions()
}

#[test]
fn message_to_pe_mmu_is_carried_out_whole_and_counted() {
    let mut machine = with_pe_mmu();
    let entries = [(0x1000, 0x2000, 0x10), (0x3000, 0x4000, 0)];
    assert_eq!(ask(&mut machine, &map_of(&entries), RESPONSE).0, Some(Response::done(2, COOKIE)));
    assert_eq!(ask(&mut machine, &map_of(&[]), RESPONSE).0, Some(Response::done(0, COOKIE)));
    assert_eq!(regions(&machine), 1, "an entry of no bytes maps nothing");
    let range = UnmapEntry { va: 0x1000.into(), size: 0x10.into() };
    let header = Header::new(RequestKind::PeMmuUnmap, 1, COOKIE);
    let unmap = [header.as_bytes(), range.as_bytes()].concat();
    assert_eq!(ask(&mut machine, &unmap, RESPONSE).0, Some(Response::done(1, COOKIE)));
    assert_eq!(regions(&machine), 0);
}

#[test]
fn refused_message_to_pe_mmu_names_the_entry_and_has_no_effect() {
    let mut machine = with_pe_mmu();
    let bad = map_of(&[(0, 0, 1), (u64::MAX, 0, 2)]);
    assert_eq!(refused(&mut machine, &bad, RESPONSE), (Status::Wraps, 0, 1, 0));
    assert_eq!(regions(&machine), 0);
    let long = map_of(&vec![(0, 0, 1); 1025]);
    assert_eq!(refused(&mut machine, &long, RESPONSE).0, Status::TooMany);
    assert_eq!(refused(&mut Machine::new(), &bad, RESPONSE), (Status::Absent, 0, NO_INDEX, 0));
}
