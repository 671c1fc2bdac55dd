use std::collections::BTreeMap;

use ane_device::refusal::Why;
use proptest::prelude::*;

use super::*;

/// A container of which nothing is modelled above 0x1000, and 0x800 is where a dead device is found out.
#[derive(Default)]
struct Fake {
    words: BTreeMap<u32, u32>,
    strict: bool,
    checking: bool,
    dead: bool,
    resets: u32,
    accesses: u32,
    declared: Vec<(u8, u32, Option<Usage>)>,
    pe_mmu: bool,
    installed: Vec<(u64, u64, u64)>,
}

impl Fake {
    fn check(&mut self, at: EngineOffset) -> Result<(), Refusal> {
        self.accesses += 1;
        let refuse = |why| Err(Refusal::new(at, why));
        match at.0 {
            offset if offset % 4 != 0 => refuse(Why::Misaligned),
            offset if offset >= 0x200_0000 => refuse(Why::OutsideContainer),
            0x800 => refuse(Why::Dead),
            offset if offset >= 0x1000 => refuse(Why::Empty),
            _ => Ok(()),
        }
    }
}

impl Registers for Fake {
    fn read(&mut self, at: EngineOffset) -> Result<u32, Refusal> {
        self.check(at).map(|()| self.words.get(&at.0).copied().unwrap_or_default())
    }
    fn write(&mut self, at: EngineOffset, value: u32) -> Result<(), Refusal> {
        self.check(at)?;
        self.words.insert(at.0, value);
        Ok(())
    }
    fn reset(&mut self) {
        self.resets += 1;
        self.words.clear();
    }
    fn is_strict(&self) -> bool {
        self.strict
    }
    fn is_checking(&self) -> bool {
        self.checking
    }
    fn is_dead(&self) -> bool {
        self.dead
    }
    fn has_pe_mmu(&self) -> bool {
        self.pe_mmu
    }
    /// Address 13 is bad luck.
    fn install(&mut self, regions: Regions<'_>) -> Result<(), NotDone> {
        let entries: Vec<_> = match regions {
            Regions::Map(entries) => {
                entries.iter().map(|entry| (entry.va.get(), entry.pa.get(), entry.size.get())).collect()
            }
            Regions::Unmap(entries) => {
                entries.iter().map(|entry| (entry.va.get(), 0, entry.size.get())).collect()
            }
        };
        if let Some(index) = entries.iter().position(|(va, ..)| *va == 13) {
            return Err(NotDone { status: Status::Wraps, entry: Some(index as u32) });
        }
        self.installed.extend(entries);
        Ok(())
    }
    /// There is room for three.
    fn declare(&mut self, stream: StreamId, range: IovaRange, usage: Option<Usage>) -> bool {
        if self.declared.len() == 3 {
            return false;
        }
        self.declared.push((stream.number(), range.base().0, usage));
        true
    }
}

const COOKIE: u64 = 0x1122_3344_5566_7788;

fn bytes(header: Header, ops: &[Op]) -> Vec<u8> {
    [header.as_bytes(), ops.as_bytes()].concat()
}

fn batch_of(ops: &[Op]) -> Vec<u8> {
    bytes(Header::new(Kind::Batch, ops.len() as u32, COOKIE), ops)
}

fn ask(fake: &mut Fake, bytes: &[u8], room: u64) -> (Option<Response>, Vec<u32>) {
    let mut answer = vec![7; 3];
    carry_out(fake, Request { bytes, len: bytes.len() as u64, room }, &mut answer);
    assert!(answer.len() as u64 <= room, "answer fits");
    let Ok((response, values)) = Response::read_from_prefix(&answer) else {
        assert!(answer.is_empty());
        return (None, Vec::new());
    };
    (
        Some(response),
        values.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect(),
    )
}

/// Status, done, index, detail.
fn refused(fake: &mut Fake, bytes: &[u8], room: u64) -> (Status, u32, u32, u32) {
    let (response, _) = ask(fake, bytes, room);
    let response = response.expect("is answered");
    (response.status().unwrap(), response.done.get(), response.index.get(), response.detail.get())
}

#[test]
fn batch_is_carried_out_in_order_and_answered_with_what_was_read() {
    let mut fake = Fake::default();
    let ops = [Op::read(0x10), Op::write(0x10, 5), Op::read(0x10), Op::write(0x10, 6), Op::read(0x10)];
    let (response, values) = ask(&mut fake, &batch_of(&ops), 24 + 12);
    assert_eq!(response, Some(Response::done(5, COOKIE)));
    assert_eq!(values, [0, 5, 6]);
}

#[test]
fn empty_batch_is_done() {
    assert_eq!(ask(&mut Fake::default(), &batch_of(&[]), 24).0, Some(Response::done(0, COOKIE)));
}

#[test]
fn reset_resets_once() {
    let mut fake = Fake::default();
    let request = bytes(Header::new(Kind::Reset, 0, COOKIE), &[]);
    assert_eq!(ask(&mut fake, &request, 24).0, Some(Response::done(0, COOKIE)));
    assert_eq!(fake.resets, 1);
}

#[test]
fn malformed_request_is_answered_with_its_status_and_has_no_effect() {
    let good = batch_of(&[Op::write(0, 1)]);
    let mut flags = good.clone();
    flags[2] = 1;
    let mut kind = good.clone();
    kind[0] = 9;
    let count = |count: u32| {
        let mut bytes = good.clone();
        bytes[4..8].copy_from_slice(&count.to_le_bytes());
        bytes
    };
    let reset = |count| bytes(Header::new(Kind::Reset, count, COOKIE), &[]);
    let long_reset = bytes(Header::new(Kind::Reset, 0, COOKIE), &[Op::read(0)]);
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
        (bytes(Header::new(Kind::PeMmuMap, 0, COOKIE), &[]), (Status::Absent, 0)),
        (bytes(Header::new(Kind::PeMmuUnmap, 7, COOKIE), &[]), (Status::Absent, 0)),
    ];
    for (bytes, (status, detail)) in cases {
        let mut fake = Fake::default();
        assert_eq!(refused(&mut fake, &bytes, 24), (status, 0, NO_INDEX, detail), "{bytes:02x?}");
        assert_eq!((fake.accesses, fake.resets), (0, 0));
    }
}

#[test]
fn request_cut_off_in_its_header_is_too_short_at_every_length() {
    let good = batch_of(&[]);
    for len in 0..HEADER {
        let (response, _) = ask(&mut Fake::default(), &good[..len], 24);
        assert_eq!(response, Some(Response::new(Status::TooShort, 0, NO_INDEX, len as u32, 0)));
    }
}

#[test]
fn batch_without_room_for_its_values_has_no_effect() {
    let mut fake = Fake::default();
    let request = batch_of(&[Op::write(0, 1), Op::read(0), Op::read(0)]);
    assert_eq!(refused(&mut fake, &request, 31), (Status::NoRoom, 0, NO_INDEX, 32));
    assert_eq!(fake.accesses, 0);
    assert_eq!(ask(&mut fake, &request, 32).0, Some(Response::done(3, COOKIE)));
}

#[test]
fn writable_part_too_short_for_a_response_gets_none() {
    for room in 0..24 {
        let mut fake = Fake::default();
        assert_eq!(ask(&mut fake, &batch_of(&[Op::write(0, 1)]), room).0, None);
        assert_eq!(fake.accesses, 0);
    }
}

#[test]
fn refused_operation_ends_the_batch_where_it_stands() {
    let odd = Op { access: 2.into(), ..Op::read(0) };
    let reserved = Op { reserved: 1.into(), ..Op::read(0) };
    let valued = Op { value: 1.into(), ..Op::read(0) };
    let cases = [
        (odd, Status::UnknownAccess, 2),
        (reserved, Status::ReservedSet, 16 + 24 + 2),
        (valued, Status::ReservedSet, 16 + 24 + 8),
        (Op::read(6), Status::Misaligned, 6),
        (Op::write(0x200_0000, 1), Status::OutsideContainer, 0x200_0000),
        (Op::write(0x800, 1), Status::Dead, 0),
    ];
    for (op, status, detail) in cases {
        let mut fake = Fake::default();
        let request = batch_of(&[Op::write(0, 9), Op::read(0), op, Op::write(0, 10)]);
        let (response, values) = ask(&mut fake, &request, 64);
        assert_eq!(response, Some(Response::new(status, 2, 2, detail, COOKIE)));
        assert_eq!((values, fake.words[&0]), (vec![9], 9));
    }
}

#[test]
fn register_without_an_answer_reads_as_ones_unless_the_device_is_strict() {
    let request = batch_of(&[Op::read(0x1000), Op::write(0x1000, 1), Op::read(0)]);
    let mut fake = Fake::default();
    let (response, values) = ask(&mut fake, &request, 64);
    assert_eq!(response, Some(Response::done(3, COOKIE)));
    assert_eq!(values, [u32::MAX, 0]);
    fake.strict = true;
    assert_eq!(refused(&mut fake, &request, 64), (Status::Unmodelled, 0, 0, 0x1000));
}

proptest! {
    #[test]
    fn any_bytes_are_answered_within_their_room_and_touch_no_more_than_the_limit(
        bytes in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..200),
            // Mostly right: a batch with a count of its own.
            (0u32..20, prop::collection::vec(any::<[u8; 12]>(), 0..20)).prop_map(|(count, ops)| {
                [Header::new(Kind::Batch, count, 1).as_bytes(), ops.concat().as_slice()].concat()
            }),
        ],
        room in 0u64..200,
        strict: bool,
    ) {
        let mut fake = Fake { strict, ..Fake::default() };
        let (response, values) = ask(&mut fake, &bytes, room);
        prop_assert_eq!(response.is_some(), room >= 24);
        prop_assert!(fake.accesses <= BATCH_MAX.into());
        if let Some(response) = response {
            let status = response.status().unwrap();
            prop_assert!(values.len() <= response.done.get() as usize);
            prop_assert!(status != Status::Internal);
            prop_assert_eq!(response.index.get() == NO_INDEX || response.done.get() == response.index.get(), true);
        }
    }
}

fn declaration(base: u64, size: u64, stream: u32, usage: u32) -> Declaration {
    Declaration { base: base.into(), size: size.into(), stream: stream.into(), usage: usage.into() }
}

fn declare_of(entries: &[Declaration]) -> Vec<u8> {
    let header = Header::new(Kind::Declare, entries.len() as u32, COOKIE);
    [header.as_bytes(), entries.as_bytes()].concat()
}

#[test]
fn declarations_are_taken_in_order_until_there_is_no_room_for_more() {
    let mut fake = Fake { checking: true, ..Fake::default() };
    let two = [declaration(0x4000, 0x4000, 3, 1), declaration(0x4000, 1, 3, sideband::USAGE_NONE)];
    let (response, _) = ask(&mut fake, &declare_of(&two), 24);
    assert_eq!(response, Some(Response::done(2, COOKIE)));
    assert_eq!(fake.declared, [(3, 0x4000, Some(Usage::Input)), (3, 0x4000, None)]);
    assert_eq!(refused(&mut fake, &declare_of(&two), 24), (Status::NoRegions, 1, 1, 0));
}

#[test]
fn message_with_a_declaration_of_nothing_has_no_effect() {
    let good = declaration(0, 0x4000, 0, 9);
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
        let mut fake = Fake { checking: true, ..Fake::default() };
        let found = refused(&mut fake, &declare_of(&[good, bad, good]), 24);
        assert_eq!(found, (Status::BadEntry, 0, 1, 0), "{bad:?}");
        assert_eq!(fake.declared, []);
    }
}

#[test]
fn declarations_to_a_device_that_does_not_check_or_is_dead_are_refused() {
    let message = declare_of(&[declaration(0, 1, 0, 1)]);
    let mut fake = Fake::default();
    assert_eq!(refused(&mut fake, &message, 24), (Status::Absent, 0, NO_INDEX, 0));
    fake = Fake { checking: true, dead: true, ..Fake::default() };
    assert_eq!(refused(&mut fake, &message, 24), (Status::Dead, 0, NO_INDEX, 0));
    assert_eq!(fake.declared, []);
}

#[test]
fn more_declarations_than_the_limit_are_refused_before_any_is_looked_at() {
    let mut fake = Fake { checking: true, ..Fake::default() };
    let many = vec![declaration(0, 0, 99, 99); 513];
    assert_eq!(refused(&mut fake, &declare_of(&many), 24), (Status::TooMany, 0, NO_INDEX, 512));
    let cut = &declare_of(&many[..512])[..12_303];
    assert_eq!(refused(&mut fake, cut, 24), (Status::TooShort, 0, NO_INDEX, 12_303));
}

fn map(entries: &[(u64, u64, u64)]) -> Vec<u8> {
    let entries: Vec<_> = entries
        .iter()
        .map(|&(va, pa, size)| MapEntry { va: va.into(), pa: pa.into(), size: size.into() })
        .collect();
    [Header::new(Kind::PeMmuMap, entries.len() as u32, COOKIE).as_bytes(), entries.as_bytes()].concat()
}

#[test]
fn message_to_pe_mmu_is_carried_out_whole_and_counted() {
    let mut fake = Fake { pe_mmu: true, ..Fake::default() };
    let entries = [(0x1000, 0x2000, 0x10), (0x3000, 0x4000, 0)];
    assert_eq!(ask(&mut fake, &map(&entries), 24).0, Some(Response::done(2, COOKIE)));
    assert_eq!(ask(&mut fake, &map(&[]), 24).0, Some(Response::done(0, COOKIE)));
    let range = UnmapEntry { va: 0x1000.into(), size: 0x10.into() };
    let header = Header::new(Kind::PeMmuUnmap, 1, COOKIE);
    let unmap = [header.as_bytes(), range.as_bytes()].concat();
    assert_eq!(ask(&mut fake, &unmap, 24).0, Some(Response::done(1, COOKIE)));
    assert_eq!(fake.installed, [entries[0], entries[1], (0x1000, 0, 0x10)]);
}

#[test]
fn refused_message_to_pe_mmu_names_the_entry() {
    let mut fake = Fake { pe_mmu: true, ..Fake::default() };
    let bad = map(&[(0, 0, 1), (13, 0, 1)]);
    assert_eq!(refused(&mut fake, &bad, 24), (Status::Wraps, 0, 1, 0));
    assert_eq!(fake.installed, []);
    let long = map(&vec![(0, 0, 1); 1025]);
    assert_eq!(refused(&mut fake, &long, 24).0, Status::TooMany);
    let absent = refused(&mut Fake::default(), &bad, 24);
    assert_eq!(absent, (Status::Absent, 0, NO_INDEX, 0));
}
