//! One codec of the wire: a hostile request has the same answer, byte for byte, and the same effects, whether a virtqueue
//! of the daemon carries it or a call of a device in this process.
//!
//! Requests that start work or run in modelled time are left out: over a socket the device works between two
//! requests, and here when a caller waits.

use ane::embedded;
use ane_device::Options;
use ane_driver::bus::requests::Carrier as _;
use ane_tests::daemon::Daemon;
use ane_tests::hostile::{ANSWER, Hostile, NEXT, REQUEST, WRITE};
use ane_tests::random::Random;
use ane_uapi::hw::lookup::quiet;
use ane_uapi::hw::mmio_map::Region;
use ane_uapi::hw::tm;
use ane_uapi::wire::ctrl::{Header, Op, RequestKind, Response};
use zerocopy::IntoBytes;

/// Requests of one device.
const REQUESTS: usize = 400;

/// Bytes of the longest writable part.
const ROOM: usize = 0x1000;

/// Both ways to a device that was made in the same way.
struct Both {
    frontend: Hostile,
    here: embedded::InProcess,
    answer: Vec<u8>,
}

impl Both {
    /// Both answers, which have to be one.
    fn ask(&mut self, request: &[u8], room: usize) -> &[u8] {
        self.frontend.put(REQUEST, request);
        self.frontend.put(ANSWER, &[0; ROOM]);
        let table = [(REQUEST, request.len() as u32, NEXT, 1), (ANSWER, room as u32, WRITE, 0)];
        let written = self.frontend.submit(&table) as usize;
        let over_the_ring: [u8; ROOM] = self.frontend.get(ANSWER);
        self.here.device_mut().carry(request, room, &mut self.answer).expect("a call always arrives");
        assert_eq!(self.answer, over_the_ring[..written], "{request:02x?} with room for {room}");
        &self.answer
    }

    /// Every register that can be looked at.
    fn registers(&mut self, has_pe_mmu: bool) {
        let ops: Vec<_> = quiet(has_pe_mmu).map(|place| Op::read(place.at.0)).collect();
        for ops in ops.chunks(512) {
            let header = Header::new(RequestKind::Batch, ops.len() as u32, 1);
            let answer = self.ask(&[header.as_bytes(), ops.as_bytes()].concat(), ROOM);
            assert_eq!(answer.len(), size_of::<Response>() + 4 * ops.len(), "all of them can be read");
        }
    }
}

/// Where an operation goes: mostly to a register, of the DARTs, the task manager, its queues or PE_MMU.
fn offset(random: &mut Random, places: &[u32]) -> u32 {
    match random.below(16) {
        0 => random.word(),
        1 => random.below(0x200_0000) | 1,
        // Nothing but the ranges of the DARTs, and holes.
        2 => 0x180_0000 + (random.below(0x1_0000) & !3),
        _ => places[random.below(places.len() as u32) as usize],
    }
}

fn operation(random: &mut Random, places: &[u32]) -> Op {
    let at = offset(random, places);
    let value = match random.below(3) {
        0 => random.below(8),
        1 => 1 << random.below(32),
        _ => random.word(),
    };
    match random.below(24) {
        0 => Op { access: (random.word() as u16).into(), ..Op::write(at, value) },
        1 => Op { reserved: 1.into(), ..Op::write(at, value) },
        2 => Op { value: value.into(), ..Op::read(at) },
        3..=10 => Op::read(at),
        _ => Op::write(at, value),
    }
}

/// Entries of a message: three words of 64 bits, small or of any size.
fn entries(random: &mut Random, words: usize) -> Vec<u8> {
    let word = |random: &mut Random| match random.below(4) {
        0 => random.next(),
        1 => u64::from(random.below(20)),
        _ => u64::from(random.below(64)) << 14,
    };
    (0..words).flat_map(|_| word(random).to_le_bytes()).collect()
}

fn request(random: &mut Random, places: &[u32]) -> Vec<u8> {
    let count = random.below(12);
    let (kind, behind) = match random.below(16) {
        0 => return (0..random.below(64)).map(|_| random.word() as u8).collect(),
        1 => (RequestKind::Reset, Vec::new()),
        2 | 3 => (RequestKind::PeMmuMap, entries(random, 3 * count as usize)),
        4 => (RequestKind::PeMmuUnmap, entries(random, 2 * count as usize)),
        5 | 6 => (RequestKind::Declare, entries(random, 3 * count as usize)),
        _ => {
            let ops: Vec<_> = (0..count).map(|_| operation(random, places)).collect();
            (RequestKind::Batch, ops.as_bytes().to_vec())
        }
    };
    let count = if matches!(kind, RequestKind::Reset) { 0 } else { count };
    let mut header = Header::new(kind, count, random.next());
    match random.below(24) {
        0 => header.count.set(random.word()),
        1 => header.count.set(count + 1),
        2 => header.flags.set(1),
        _ => {}
    }
    [header.as_bytes(), &behind].concat()
}

/// Registers that a request of this test may touch.
fn places(has_pe_mmu: bool) -> Vec<u32> {
    let push = tm::TASK_MANAGER.base.0 + tm::PUSH.offset();
    quiet(has_pe_mmu)
        .filter(|place| !matches!(place.range.region, Region::MoverModel))
        .map(|place| place.at.0)
        .filter(|at| *at != push)
        .collect()
}

fn ask_both(seed: u64, arguments: &[&str], options: &Options) {
    let has_pe_mmu = options.pe_mmu.is_some();
    let places = places(has_pe_mmu);
    let daemon = Daemon::start(arguments);
    let mut both = Both {
        frontend: Hostile::new(&daemon.socket()),
        here: embedded::open(options, 1 << 20).expect("a device can be had"),
        answer: Vec::new(),
    };
    let mut random = Random::new(seed);
    for _ in 0..REQUESTS {
        let request = request(&mut random, &places);
        let room = if random.below(16) == 0 { random.below(80) as usize } else { ROOM };
        both.ask(&request, room);
    }
    both.registers(has_pe_mmu);
}

#[test]
fn hostile_request_has_one_answer_over_a_ring_and_in_process() {
    ask_both(1, &[], &Options::default());
}

#[test]
fn hostile_request_has_one_answer_where_the_device_checks_and_is_strict() {
    let options =
        Options { check: true, strict: true, pe_mmu: Some("".parse().unwrap()), ..Options::default() };
    ask_both(2, &["--check", "--strict", "--pe-mmu"], &options);
}

#[test]
fn hostile_request_has_one_answer_of_a_device_with_pe_mmu() {
    let options = Options { pe_mmu: Some("".parse().unwrap()), ..Options::default() };
    ask_both(3, &["--pe-mmu"], &options);
}
