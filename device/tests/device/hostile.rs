//! A guest that writes whatever, wherever: the device neither panics nor works without bound.

use ane_device::Options;
use ane_device::time::Ticks;
use ane_uapi::hw::mmio_map::RANGES;
use ane_uapi::hw::nid::Nid;
use ane_uapi::hw::space::EngineOffset;
use ane_uapi::hw::tm;
use ane_uapi::hw::tq::QueueId;

use crate::machine::*;

/// xorshift64*: the same numbers on every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, bound: u32) -> u32 {
        (self.next() >> 32) as u32 % bound
    }
}

/// An offset that is likely to be something: a register near the engine's front, or any of the map.
fn offset(random: &mut Random) -> u32 {
    match random.below(8) {
        0..=2 => 0x1c2_4000 + 4 * random.below(0x20),
        3..=5 => QueueId::ALL[random.below(8) as usize].base().0 + 4 * random.below(0x52),
        6 => {
            let range = &RANGES[random.below(RANGES.len() as u32) as usize];
            range.start.0 + random.below(range.len())
        }
        _ => random.next() as u32,
    }
}

fn value(random: &mut Random) -> u32 {
    match random.below(4) {
        0 => 0,
        1 => random.below(8) << 8 | random.below(32),
        2 => COPY.0 + 4 * random.below(0x800),
        _ => random.next() as u32,
    }
}

fn storm(seed: u64, options: &Options) -> Machine {
    let mut random = Random(seed);
    let mut machine = Machine::with_options(options);
    machine.store_chain(3);
    for _ in 0..30_000 {
        let at = EngineOffset(offset(&mut random));
        let value = value(&mut random);
        match random.below(10) {
            // A refused write is as good as an accepted one.
            0..=5 => _ = machine.try_write(at, value),
            6 => _ = machine.try_read(at),
            7 => _ = machine.ane.read_wide(at, random.next() as u8, machine.now),
            8 => {
                let bytes = 1 << random.below(4);
                _ = machine.ane.write_wide(at, bytes, random.next(), machine.now);
            }
            _ => {
                machine.now = Ticks(machine.now.0 + u64::from(random.below(1 << 20)));
                machine.ane.work(machine.now);
            }
        }
        if random.below(1000) == 0 {
            machine.submit(QueueId::ALL[random.below(8) as usize], COPY, info(3), Nid::LINUX);
        }
        if random.below(4000) == 0 {
            machine.ane.reset(machine.now);
            machine.probe();
        }
    }
    machine
}

#[test]
fn storm_of_accesses_leaves_a_device_that_works_after_a_reset() {
    for seed in 1..=8 {
        let options = Options { check: seed % 2 == 0, ..Options::default() };
        let mut machine = storm(0x9e37_79b9_7f4a_7c15 ^ seed, &options);
        machine.ane.dump();
        machine.ane.reset(machine.now);
        assert!(machine.events().is_empty());
        machine.probe();
        machine.submit_chain(3);
        machine.run();
        assert_eq!(machine.drain(), [done(0x40, 3)], "seed {seed}");
    }
}

#[test]
fn descriptors_of_noise_end_their_requests() {
    let mut random = Random(7);
    for _ in 0..300 {
        let mut machine = Machine::new();
        let mut words = descriptor(0, 1);
        for _ in 0..=random.below(4) {
            let at = random.below(words.len() as u32) as usize;
            words[at] = random.next() as u32;
        }
        machine.store(COPY, &words);
        machine.submit(QueueId::LINUX, COPY, info(1), Nid::LINUX);
        machine.run();
        assert!(machine.manager(&tm::STATUS).idle());
        assert_eq!(machine.drain().len(), 1);
    }
}

#[test]
fn events_that_nobody_takes_are_bounded_and_counted() {
    let mut machine = Machine::new();
    for _ in 0..1000 {
        machine.push(QueueId::LINUX);
    }
    let waiting = machine.drain().len();
    assert_eq!(waiting, ane_device::tm::events::DEPTH);
    let taken = machine.events().len();
    assert!(taken <= ane_device::event::CAPACITY);
}
