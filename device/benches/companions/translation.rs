//! What a translation takes, and how that grows from a thousand regions to a million.
//!
//! The pages of each table are asked for in an order that no cache foresees, in two ways: *one by one*, each when the answer
//! before it is there, and *in a stream*, where the processor has several under way. Beside each stands the *floor*:
//! the same number of loads, in the same way, from an array with as many bytes for each region as the table has and
//! nothing to compute. What the table adds to it is the table's; the rest is the wait for memory, which no table saves.
//!
//! The figure is how much slower an answer is than with a thousand regions of the same layout in the same run. The
//! logarithm of the number of regions doubles.

use std::hint::black_box;
use std::time::Instant;

use ane_device::pe_mmu::{Attributes, Mapping, PeMmu};
use memmap2::{Advice, MmapMut};

use crate::report::{self, median};
use crate::scattered;

/// Rounds of each measurement; the median is what is reported.
const ROUNDS: usize = 15;

/// Bytes of a page of PE_MMU, as it is by default.
pub(crate) const PAGE: u64 = 0x20_0000;

/// Questions of one round.
const ASKED: u64 = 1 << 18;

/// Regions of the tables that are asked. The first has a goal.
const REGIONS: [u64; 4] = [1_000, 10_000, 100_000, 1_000_000];

/// Where the regions of a table lie.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    pub(crate) what: &'static str,
    /// The region of a number, on a page of its own.
    pub(crate) region: fn(u64) -> Mapping,
    /// Bytes that the table has for each, as a power of two.
    place: u32,
}

/// A page that leads to any of the host's.
fn whole(page: u64, number: u64) -> Mapping {
    Mapping { va: page * PAGE, pa: scattered(number) % (1 << 20) * 0x1000, size: PAGE }
}

/// A part of a page, from any byte to any other.
fn part(number: u64) -> Mapping {
    let start = scattered(number) % (PAGE - 1);
    let size = 1 + scattered(!number) % (PAGE - start);
    Mapping { va: number * PAGE + start, pa: scattered(number) % (1 << 32), size }
}

pub(crate) const LAYOUTS: [Layout; 4] = [
    Layout { what: "whole pages", region: |n| whole(n, n), place: 3 },
    Layout { what: "parts of pages", region: part, place: 4 },
    Layout { what: "pages 64 apart", region: |n| whole(64 * n, n), place: 4 },
    Layout { what: "one range", region: |n| Mapping { va: n * PAGE, pa: n * PAGE, size: PAGE }, place: 3 },
];

/// A table of so many regions.
pub(crate) fn table(regions: u64, layout: Layout) -> PeMmu {
    let mut mmu = PeMmu::new(Attributes::default());
    let entries: Vec<_> = (0..regions).map(layout.region).collect();
    for message in entries.chunks(1024) {
        mmu.map(message).expect("there is room");
    }
    mmu
}

/// Nanoseconds of an answer.
#[derive(Clone, Copy)]
struct Times {
    one_by_one: f64,
    in_a_stream: f64,
}

impl Times {
    /// Those of `answer` to what is asked.
    fn of(asked: &[u64], answer: impl Fn(u64) -> u64) -> Self {
        let time = |round: &dyn Fn() -> u64| {
            let start = Instant::now();
            black_box(round());
            start.elapsed().as_nanos() as f64 / asked.len() as f64
        };
        let all = |round: &dyn Fn() -> u64| median((0..ROUNDS).map(|_| time(round)).collect());
        let none = black_box(0);
        // The first round fills the caches.
        Self {
            one_by_one: all(&|| asked.iter().fold(0, |last, &what| answer(what ^ last & none))),
            in_a_stream: all(&|| asked.iter().fold(0, |sum, &what| sum ^ answer(what))),
        }
    }
}

/// What a translation takes in a table of so many regions, and what the floor is.
fn translation(regions: u64, layout: Layout) -> (Times, Times) {
    let mmu = table(regions, layout);
    let numbers: Vec<u64> = (0..ASKED).map(|n| scattered(n) % regions).collect();
    let addresses: Vec<u64> = numbers
        .iter()
        .map(|&n| {
            let Mapping { va, size, .. } = (layout.region)(n);
            va + n % size
        })
        .collect();
    assert!(addresses.iter().all(|&va| mmu.mmu().translate(va).is_ok()));
    let mut array =
        MmapMut::map_anon((regions << layout.place).next_power_of_two() as usize).expect("memory");
    array.advise(Advice::HugePage).expect("large pages are a wish");
    array.fill(1);
    let load = |n: u64| array.get((n << layout.place) as usize..).and_then(<[u8]>::first_chunk).copied();
    let ours = Times::of(&addresses, |va| mmu.mmu().translate(va).unwrap_or(1));
    (ours, Times::of(&numbers, |n| load(n).map_or(0, u64::from_le_bytes)))
}

/// Prints what a translation takes in tables of each size and layout.
pub(crate) fn print() {
    for (nth, layout) in LAYOUTS.into_iter().enumerate() {
        let times = REGIONS.map(|regions| (regions, translation(regions, layout)));
        let [(_, (first, _)), ..] = times;
        if nth == 0 {
            let seen = format!("{:.1} ns in a stream", first.in_a_stream);
            report::line("P1", "translation, 1,000 regions on pages of their own", &seen, first.one_by_one);
        }
        for (regions, (ours, floor)) in times {
            let what = |way| format!("{}, {regions} regions, {way}; floor", layout.what);
            for (way, ours, floor, first) in [
                ("one by one", ours.one_by_one, floor.one_by_one, first.one_by_one),
                ("in a stream", ours.in_a_stream, floor.in_a_stream, first.in_a_stream),
            ] {
                report::line("(P1)", &what(way), &format!("{ours:.1} ns / {floor:.1} ns"), ours / first);
            }
        }
    }
}
