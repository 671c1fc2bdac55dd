//! A guest that floods the mover with commands that point everywhere.

use std::time::{Duration, Instant};

use ane_uapi::hw::mover::regs::Core;
use proptest::prelude::*;

use crate::rig::{Rig, isa};

/// More than any of these tests takes, in a build without optimization, on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// Requirement: MOVER-35
#[test]
fn flood_of_the_longest_transfers_neither_stalls_the_device_nor_loses_its_time() {
    let start = Instant::now();
    let mut rig = Rig::new("isa,contended,wait-for-credit");
    for n in 0..2_000 {
        rig.command([n, 0x1_0000, 0xffff, 0], 0x40);
    }
    assert!(start.elapsed() < LONG);
    assert!(rig.mover.cycle() > 1_990 * 3 * 0xffff);
    assert!(rig.mover.take_refused().is_empty());
    rig.rest();
    assert_eq!(rig.status(), 0x428);
}

#[test]
fn flood_of_refusals_is_counted_and_kept_within_bounds() {
    let mut rig = isa();
    for _ in 0..100_000 {
        rig.set(0x10, 0x8000_0011);
    }
    rig.rest();
    assert_eq!(rig.mover.counters().refused, 100_000);
    assert!(rig.mover.take_refused().len() <= 64);
}

#[test]
fn end_of_time_stops_nothing() {
    let mut rig = isa();
    rig.time = u64::MAX - 5;
    for _ in 0..20 {
        rig.command([0, 0x1_0000, 0xffff, 0], 0x40);
        rig.issue(0, 0x4000_0000);
        rig.stallwait(0, 0x10, 0x200);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_sequence_of_accesses_panics_or_writes_outside(
        settings in prop::sample::select(vec!["seed", "isa", "isa,contended,wait-for-credit", "wormhole"]),
        accesses in prop::collection::vec((0u32..0x500, any::<u32>(), 0u8..6, 0u64..100_000), 1..60),
    ) {
        let mut rig = Rig::new(settings);
        for (offset, value, kind, gap) in accesses {
            rig.time += gap;
            let offset = offset & !3;
            let known = ane_uapi::hw::mover::regs::MOVER.find(offset).is_some();
            match kind {
                0 | 1 if known => rig.poke(Core::ALL[(value % 5) as usize], offset, value),
                2 if known => { rig.peek(Core::T1, offset); }
                3 => rig.issue(value % 3, 0x4000_0000 | (value & 0xff)),
                4 => rig.stallwait(value % 3, value >> 16, value & 0xffff),
                _ => rig.set(0x10, value),
            }
        }
        rig.rest();
    }
}
