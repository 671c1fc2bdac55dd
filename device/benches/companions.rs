//! What PE_MMU and the mover cost their callers.
//!
//! `cargo bench -p ane-device --bench companions`. PE_MMU is asked in an order that no cache foresees, over tables of a
//! thousand to a million regions on pages of their own: the time of the smallest has a goal, the others are given by
//! how much slower they are than it.

mod report;

use std::hint::black_box;
use std::time::Instant;

use ane_device::mover::{Memories, Mover, Settings};
use ane_device::pe_mmu::{Attributes, Mapping, PeMmu};
use ane_uapi::hw::mover::regs::{Core, MOVER};
use report::median;

/// Rounds of each measurement; the median is what is reported.
const ROUNDS: usize = 21;

/// Bytes of a page of PE_MMU, as it is by default.
const PAGE: u64 = 0x20_0000;

/// Translations of one round.
const ASKED: usize = 1 << 18;

/// A table of that many regions, each on a page of its own, and addresses in them.
fn table(regions: u64) -> (PeMmu, Vec<u64>) {
    let mut mmu = PeMmu::new(Attributes::default());
    let entries: Vec<_> = (0..regions).map(|n| Mapping { va: n * PAGE, pa: n << 12, size: 0x1000 }).collect();
    for message in entries.chunks(1024) {
        mmu.map(message).expect("there is room");
    }
    let mut state = 1u64;
    let addresses = (0..ASKED)
        .map(|_| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            ((state >> 33) % regions) * PAGE + (state >> 20) % 0x1000
        })
        .collect();
    (mmu, addresses)
}

/// Nanoseconds of a translation.
fn translation(regions: u64) -> f64 {
    let (mmu, addresses) = table(regions);
    let round = || {
        let start = Instant::now();
        let mut sum = 0;
        for &va in &addresses {
            sum ^= mmu.mmu().translate(black_box(va)).unwrap_or(1);
        }
        black_box(sum);
        start.elapsed().as_nanos() as f64 / ASKED as f64
    };
    round();
    median((0..ROUNDS).map(|_| round()).collect())
}

/// Bytes of a copy by the mover.
const COPY: usize = 64 << 10;

/// How fast the mover copies 64 KB in scratch, its registers and all, to what memcpy makes of the same bytes.
fn copy() -> (f64, f64, f64) {
    let mut scratch: Vec<u8> = (0..2usize << 20).map(|n| (n * 31 + n / 251) as u8).collect();
    let (mut configuration, mut instruction_ram) = (vec![0; 0x1_0000], vec![0; 0x1_0000]);
    let mut mover = Mover::new(Settings::default());
    let row = |offset| MOVER.find(offset).expect("a register").0;
    let registers = [0x00, 0x04, 0x08, 0x0c, 0x10].map(row);
    let mut time = 0;
    let mut by_mover = |scratch: &mut [u8]| {
        let mut memories =
            Memories { scratch, configuration: &mut configuration, instruction_ram: &mut instruction_ram };
        let units = COPY as u32 / 16;
        for (row, value) in registers.into_iter().zip([0, 0x1_0000, units, 3, 0x40]) {
            mover.write(Core::B, row, 0, value, time, &mut memories);
        }
        time += 10_000;
    };
    let mut by_memcpy = |scratch: &mut [u8]| {
        let (from, to) = scratch.split_at_mut(0x10_0000);
        black_box(to)[..COPY].copy_from_slice(&black_box(from)[..COPY]);
    };
    let mut run = |work: &mut dyn FnMut(&mut [u8])| {
        let start = Instant::now();
        for _ in 0..200 {
            work(&mut scratch);
            black_box(&scratch);
        }
        start.elapsed().as_nanos() as f64 / 200.0
    };
    let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (x, y) = (run(&mut by_mover), run(&mut by_memcpy));
        ours.push(x);
        theirs.push(y);
        ratios.push(y / x);
    }
    (median(ours), median(theirs), median(ratios))
}

fn main() {
    let (ours, theirs, ratio) = copy();
    report::line(
        "P2",
        "copy of 64 KB by the mover / memcpy",
        &format!("{ours:.0} ns / {theirs:.0} ns"),
        ratio,
    );
    let first = translation(1_000);
    report::line("P1", "translation, 1,000 regions on pages of their own", &format!("{first:.1} ns"), first);
    for regions in [10_000, 100_000, 1_000_000] {
        let time = translation(regions);
        let what = format!("the same, {regions} regions, to the time of 1,000");
        report::line("(P1)", &what, &format!("{time:.1} ns"), time / first);
    }
}
