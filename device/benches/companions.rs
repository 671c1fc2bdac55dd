//! What PE_MMU and the mover cost their callers.
//!
//! `cargo bench -p ane-device --bench companions`. PE_MMU is asked over tables of a thousand to a million regions on pages
//! of their own, mostly in an order that no cache foresees. The time of the smallest has a goal; the others are given
//! by how much slower they are than it, beside how much the logarithm has grown, and beside the least that memory
//! allows: one access to an array of the same size, in the same order.

mod report;

use std::hint::black_box;
use std::time::Instant;

use ane_device::mover::{Memories, Mover, Settings};
use ane_device::pe_mmu::{Attributes, Mapping, PeMmu};
use ane_uapi::hw::mover::regs::{Core, MOVER};
use memmap2::{Advice, MmapMut};
use report::median;

/// Rounds of each measurement; the median is what is reported.
const ROUNDS: usize = 21;

/// Bytes of a page of PE_MMU, as it is by default.
const PAGE: u64 = 0x20_0000;

/// Questions of one round.
const ASKED: usize = 1 << 18;

/// Regions of the tables that are asked. The first has a goal.
const REGIONS: [u64; 4] = [1_000, 10_000, 100_000, 1_000_000];

/// A table with regions on pages of their own.
struct Shape {
    what: &'static str,
    /// Bytes of each region.
    bytes: u64,
    /// From page to page.
    apart: u64,
    /// From one that is asked for to the next; 0 is at random.
    step: u64,
}

const SHAPES: [Shape; 4] = [
    Shape { what: "whole pages, at random", bytes: PAGE, apart: 1, step: 0 },
    Shape { what: "whole pages, one after the other", bytes: PAGE, apart: 1, step: 1 },
    Shape { what: "parts of pages, at random", bytes: 0x1000, apart: 1, step: 0 },
    Shape { what: "whole pages, 64 apart, at random", bytes: PAGE, apart: 64, step: 0 },
];

/// Numbers below a bound, by turns or at random.
fn numbers(below: u64, step: u64) -> Vec<u64> {
    let mut state = 1u64;
    (0..ASKED as u64)
        .map(|n| match step {
            0 => {
                state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                (state >> 33) % below
            }
            step => n * step % below,
        })
        .collect()
}

/// Nanoseconds of one of as many questions as `asked` has, as `answer` answers them.
fn each(asked: &[u64], answer: impl Fn(u64) -> u64) -> f64 {
    let round = || {
        let start = Instant::now();
        let mut sum = 0;
        for &what in asked {
            sum ^= answer(black_box(what));
        }
        black_box(sum);
        start.elapsed().as_nanos() as f64 / asked.len() as f64
    };
    round();
    median((0..ROUNDS).map(|_| round()).collect())
}

/// Nanoseconds of a translation, and of one access in the same order to an array with as many bytes for each region as
/// the table has, in large pages like it.
fn translation(regions: u64, shape: &Shape) -> (f64, f64) {
    let Shape { bytes, apart, step, .. } = *shape;
    let mut mmu = PeMmu::new(Attributes::default());
    let entries: Vec<_> =
        (0..regions).map(|n| Mapping { va: n * apart * PAGE, pa: n << 12, size: bytes }).collect();
    for message in entries.chunks(1024) {
        mmu.map(message).expect("there is room");
    }
    let numbers = numbers(regions, step);
    let addresses: Vec<_> = numbers.iter().map(|n| n * apart * PAGE + n % 0x1000).collect();
    let place = if bytes == PAGE { 8 } else { 16 };
    let mut array = MmapMut::map_anon((regions as usize * place).next_power_of_two()).expect("memory");
    array.advise(Advice::HugePage).expect("large pages are a wish");
    array.fill(1);
    let access = |n| array.get(n as usize * place..).and_then(<[u8]>::first_chunk).copied();
    let ours = each(&addresses, |va| mmu.mmu().translate(va).unwrap_or(1));
    (ours, each(&numbers, |n| access(n).map_or(0, u64::from_le_bytes)))
}

/// Prints what a translation costs in tables of each size, how it grows, and how the logarithm does.
fn translations() {
    let mut first_of_all = None;
    for shape in SHAPES {
        let times = REGIONS.map(|regions| (regions, translation(regions, &shape)));
        let [(few, (first, _)), ..] = times;
        if first_of_all.replace(first).is_none() {
            report::line(
                "P1",
                "translation, 1,000 regions on pages of their own",
                &format!("{first:.1} ns"),
                first,
            );
        }
        for (regions, (time, access)) in times {
            let grown = (regions as f64).log2() / (few as f64).log2();
            let what = format!("{regions} regions, {}, to 1,000", shape.what);
            let seen = format!("{time:.1} ns; array {access:.1} ns; log {grown:.2}");
            report::line("(P1)", &what, &seen, time / first);
        }
    }
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
    translations();
}
