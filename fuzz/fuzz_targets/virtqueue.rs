//! Any bytes as what a driver does to its queues: descriptors, rings, requests, and memory that comes and goes.
//!
//! A byte says what is done, and the bytes behind it with what; `seeds` writes them out. The device takes its
//! turns in between, and neither panics, nor goes on for ever, nor writes outside what it was handed.

#![no_main]

use ane_device::Options;
use ane_uapi::wire::QUEUES;
use ane_uapi::wire::ctrl::{Header, Op, RequestKind};
use vhost_user_backend::VringT;
use vm_memory::{Bytes, GuestAddress, GuestMemoryAtomic, GuestMemoryMmap};
use zerocopy::IntoBytes;

use daemon::trace::Trace;
use daemon::worker::{Vring, Worker};
use steps::Steps;

#[path = "../src/daemon.rs"]
mod daemon;
#[path = "../src/steps.rs"]
mod steps;

/// Guest memory: two regions with a hole between them. The queues lie in the first.
const LOW: (GuestAddress, usize) = (GuestAddress(0), 0x2_0000);
const HIGH: (GuestAddress, usize) = (GuestAddress(0x4_0000), 0x1_0000);

/// Where a queue's tables lie, and from one queue to the next.
const AVAILABLE: u64 = 0x1000;
const USED: u64 = 0x2000;
const QUEUE: u64 = 0x3000;

/// Where whole requests are put, and their answers.
const REQUEST: u64 = 0x8000;
const ANSWER: u64 = 0x1_8000;

/// Steps of one input, and turns after one step.
const STEPS: usize = 512;
const TURNS: usize = 8;

struct Driver {
    low: GuestMemoryMmap,
    both: GuestMemoryMmap,
    worker: Worker,
    vrings: Vec<Vring>,
    announced: [u16; QUEUES as usize],
}

impl Driver {
    fn new(event_index: bool) -> Self {
        let low = GuestMemoryMmap::from_ranges(&[LOW]).expect("memory");
        let both = GuestMemoryMmap::from_ranges(&[LOW, HIGH]).expect("memory");
        let trace = Trace::new(None).expect("no file is made");
        // Turns are taken one behind the other here, whatever rings.
        let worker = Worker::new(&Options::default(), trace, None);
        let mut worker = worker.expect("the default chip has an engine");
        worker.replace_memory(&both);
        let vrings = (0..u64::from(QUEUES))
            .map(|queue| {
                let vring = Vring::new(GuestMemoryAtomic::new(both.clone()), 256).expect("a queue of 256");
                vring.set_queue_size(16);
                let start = QUEUE * queue;
                vring.set_queue_info(start, start + AVAILABLE, start + USED).expect("aligned");
                vring.set_queue_event_idx(event_index);
                vring.set_queue_ready(true);
                vring.set_enabled(true);
                vring
            })
            .collect();
        Self { low, both, worker, vrings, announced: [0; QUEUES as usize] }
    }

    /// Bytes that do not fit are not written: a driver has no other memory either.
    fn put(&self, at: u64, bytes: &[u8]) {
        let _ = self.both.write_slice(bytes, GuestAddress(at));
        let _ = self.low.write_slice(bytes, GuestAddress(at));
    }

    fn describe(&self, queue: u64, index: u64, at: u64, bytes: u32, flags: u16, next: u16) {
        let rest = [bytes.to_le_bytes().as_slice(), &flags.to_le_bytes(), &next.to_le_bytes()].concat();
        self.put(QUEUE * queue + 16 * index, &[at.to_le_bytes().as_slice(), &rest].concat());
    }

    fn announce(&mut self, queue: u64, head: u16) {
        let announced = &mut self.announced[queue as usize];
        let slot = u64::from(*announced % 16);
        *announced = announced.wrapping_add(1);
        let index = announced.to_le_bytes();
        self.put(QUEUE * queue + AVAILABLE + 4 + 2 * slot, &head.to_le_bytes());
        self.put(QUEUE * queue + AVAILABLE + 2, &index);
    }

    fn turns(&mut self) {
        for _ in 0..TURNS {
            let turn = self.worker.turn(&self.vrings);
            if turn.stalled || !turn.busy {
                break;
            }
        }
    }

    /// A request with a proper chain around it.
    fn ask(&mut self, request: &[u8], room: u32) {
        self.put(REQUEST, request);
        self.describe(0, 0, REQUEST, request.len() as u32, 1, 1);
        self.describe(0, 1, ANSWER, room, 2, 0);
        self.announce(0, 0);
        self.turns();
    }

    fn step(&mut self, what: u8, steps: &mut Steps<'_>) {
        match what % 9 {
            0 => {
                let (at, bytes) = (steps.number(4), steps.number(1) as usize);
                self.put(at % 0x5_0000, steps.bytes(bytes));
            }
            1 => {
                let (queue, index) = (steps.number(1) % 2, steps.number(1) % 256);
                let (at, bytes) = (steps.number(4), steps.number(4) as u32);
                let (flags, next) = (steps.number(1) as u16, steps.number(1) as u16);
                self.describe(queue, index, at, bytes, flags, next);
            }
            2 => {
                let (queue, head) = (steps.number(1) % 2, steps.number(1) as u16);
                self.announce(queue, head);
            }
            3 => self.turns(),
            4 => {
                let (count, room) = (steps.number(1), steps.number(2) as u32);
                let ops: Vec<Op> = (0..count)
                    .map(|_| match steps.number(1) % 2 {
                        0 => Op::read(steps.number(4) as u32),
                        _ => Op::write(steps.number(4) as u32, steps.number(4) as u32),
                    })
                    .collect();
                let header = Header::new(RequestKind::Batch, count as u32, 0);
                self.ask(&[header.as_bytes(), ops.as_bytes()].concat(), room);
            }
            5 => {
                let (bytes, room) = (steps.number(2) as usize, steps.number(2) as u32);
                self.ask(steps.bytes(bytes), room);
            }
            6 => {
                let memory = if steps.number(1) % 2 == 0 { &self.low } else { &self.both };
                self.worker.replace_memory(memory);
            }
            7 => match steps.number(1) % 4 {
                0 => self.worker.reset(),
                1 => self.worker.forget(),
                2 => assert!(!self.worker.dump().is_empty()),
                _ => self.vrings[0].set_queue_size(steps.number(2) as u16),
            },
            _ => {
                // The rings themselves, where the announced index is the driver's word.
                let (queue, index) = (steps.number(1) % 2, steps.number(2) as u16);
                self.announced[queue as usize] = index;
                self.put(QUEUE * queue + AVAILABLE + 2, &index.to_le_bytes());
            }
        }
    }
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let mut steps = Steps(input);
    let mut driver = Driver::new(steps.number(1) % 2 == 1);
    for _ in 0..STEPS {
        let Some(what) = steps.next() else { break };
        driver.step(what, &mut steps);
    }
    driver.turns();
});
