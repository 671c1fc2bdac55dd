//! The time of a translation in a table of a thousand regions, and in larger ones.
//!
//! The pages of a table are asked for in an order that no cache foresees, each when the answer before it is there. The brief is
//! 20 ns with a thousand regions; the larger tables show how the time grows with the logarithm of their size.

use std::hint::black_box;
use std::time::Instant;

use ane_device::pe_mmu::{Attributes, Mapping, PeMmu};

use crate::report::{self, median};
use crate::scattered;

/// Rounds of each measurement.
const ROUNDS: usize = 21;

/// Bytes of a page of PE_MMU, as it is by default.
const PAGE: u64 = 0x20_0000;

/// Questions of one round.
const ASKED: u64 = 1 << 18;

/// Regions of the tables that are asked.
const REGIONS: [u64; 4] = [1_000, 10_000, 100_000, 1_000_000];

/// Where the regions of a table lie.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    pub(crate) what: &'static str,
    /// The region of a number, on a page of its own.
    pub(crate) region: fn(u64) -> Mapping,
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

/// The last is what a range that is mapped by one entry comes to.
pub(crate) const LAYOUTS: [Layout; 4] = [
    Layout { what: "whole pages", region: |n| whole(n, n) },
    Layout { what: "parts of pages", region: part },
    Layout { what: "pages 64 apart", region: |n| whole(64 * n, n) },
    Layout { what: "pages of a range", region: |n| Mapping { va: n * PAGE, pa: n * PAGE, size: PAGE } },
];

/// A table with these regions.
pub(crate) fn table(entries: &[Mapping]) -> PeMmu {
    let mut mmu = PeMmu::new(Attributes::default());
    for message in entries.chunks(1024) {
        mmu.map(message).expect("there is room");
    }
    mmu
}

/// Nanoseconds of each of what `round` does.
fn each(round: impl Fn() -> u64) -> f64 {
    let start = Instant::now();
    black_box(round());
    start.elapsed().as_nanos() as f64 / ASKED as f64
}

/// Nanoseconds of a translation in a table of so many regions.
fn measure(regions: u64, layout: Layout) -> f64 {
    let entries: Vec<_> = (0..regions).map(layout.region).collect();
    let mmu = table(&entries);
    let numbers: Vec<u64> = (0..ASKED).map(|n| scattered(n) % regions).collect();
    let inside = |n: u64| entries.get(n as usize).map_or(0, |entry| entry.va + n % entry.size);
    let addresses: Vec<u64> = numbers.iter().map(|&n| inside(n)).collect();
    assert!(addresses.iter().all(|&va| mmu.mmu().translate(va).is_ok()));
    let answer = |va| mmu.mmu().translate(va).unwrap_or(1);
    let none = black_box(0);
    // Each question depends on the answer before it.
    let round = || each(|| addresses.iter().fold(0, |last, &va| answer(va ^ (last & none))));
    // The first fills the caches.
    round();
    median((0..ROUNDS).map(|_| round()).collect())
}

/// Prints what a translation takes in tables of each size and layout.
pub(crate) fn print() {
    for layout in LAYOUTS {
        let what = layout.what;
        let [first, larger @ ..] = REGIONS.map(|regions| measure(regions, layout));
        report::line("P1", &format!("1,000 regions, {what}"), &format!("{first:.1} ns"), first);
        for (regions, time) in REGIONS.into_iter().skip(1).zip(larger) {
            let seen = format!("{time:.1} ns / {first:.1} ns");
            report::line("(P1)", &format!("{regions} regions, {what} / 1,000"), &seen, time / first);
        }
    }
}
