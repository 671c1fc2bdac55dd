//! What a translation takes, and how that grows from a thousand regions to a million.
//!
//! The pages of a table are asked for in an order that no cache foresees, each when the answer before it is there. Beside
//! that stands the *floor*: one load, in the same order and with nothing to compute, from an array of as many bytes
//! as an answer of the table may come from. What is above the floor is the table's; the rest is the wait for memory,
//! which grows with the bytes and which no table saves.
//!
//! A translation must not take more than twice as long with a million regions as with a thousand, as the logarithm doubles.
//! Where the floor alone is above that, it must be within 1.3 of the floor. *In a stream* nothing waits for the
//! answer before, and the processor has several under way.

use std::hint::black_box;
use std::time::Instant;

use ane_device::pe_mmu::{Attributes, Mapping, PeMmu};
use memmap2::{Advice, MmapMut};

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
    /// Regions for which the table has sixteen bytes.
    of_16_bytes: u64,
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
    Layout { what: "whole pages", region: |n| whole(n, n), of_16_bytes: 2 },
    Layout { what: "parts of pages", region: part, of_16_bytes: 1 },
    Layout { what: "pages 64 apart", region: |n| whole(64 * n, n), of_16_bytes: 1 },
    Layout {
        what: "pages of a range",
        region: |n| Mapping { va: n * PAGE, pa: n * PAGE, size: PAGE },
        of_16_bytes: 64,
    },
];

/// A table with these regions.
pub(crate) fn table(entries: &[Mapping]) -> PeMmu {
    let mut mmu = PeMmu::new(Attributes::default());
    for message in entries.chunks(1024) {
        mmu.map(message).expect("there is room");
    }
    mmu
}

/// What was measured of a table, in nanoseconds.
#[derive(Clone, Copy)]
struct Times {
    answer: f64,
    floor: f64,
    /// The median of the rounds' ratios.
    to_floor: f64,
    in_a_stream: f64,
}

/// Nanoseconds of each of what `round` does.
fn each(round: impl Fn() -> u64) -> f64 {
    let start = Instant::now();
    black_box(round());
    start.elapsed().as_nanos() as f64 / ASKED as f64
}

/// What a translation takes in a table of so many regions, and what the floor is.
fn measure(regions: u64, layout: Layout) -> Times {
    let entries: Vec<_> = (0..regions).map(layout.region).collect();
    let mmu = table(&entries);
    let numbers: Vec<u64> = (0..ASKED).map(|n| scattered(n) % regions).collect();
    let inside = |n: u64| entries.get(n as usize).map_or(0, |entry| entry.va + n % entry.size);
    let addresses: Vec<u64> = numbers.iter().map(|&n| inside(n)).collect();
    assert!(addresses.iter().all(|&va| mmu.mmu().translate(va).is_ok()));
    let places: Vec<usize> = numbers.iter().map(|&n| (n * 16 / layout.of_16_bytes) as usize & !7).collect();
    let bytes = (regions * 16 / layout.of_16_bytes).next_multiple_of(16) as usize;
    let mut array = MmapMut::map_anon(bytes).expect("memory");
    array.advise(Advice::HugePage).expect("large pages are a wish");
    array.fill(1);
    let answer = |va| mmu.mmu().translate(va).unwrap_or(1);
    let load =
        |at: usize| array.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |&word| u64::from_ne_bytes(word));
    let none = black_box(0);
    let rounds = |()| {
        let answer_time = each(|| addresses.iter().fold(0, |last, &va| answer(va ^ (last & none))));
        let floor_time = each(|| places.iter().fold(0, |last, &at| load(at ^ (last & none) as usize)));
        (answer_time, floor_time, each(|| addresses.iter().fold(0, |sum, &va| sum ^ answer(va))))
    };
    // The first fills the caches.
    rounds(());
    let times: Vec<_> = (0..ROUNDS).map(|_| rounds(())).collect();
    let middle = |part: fn(&(f64, f64, f64)) -> f64| median(times.iter().map(part).collect());
    Times {
        answer: middle(|round| round.0),
        floor: middle(|round| round.1),
        to_floor: middle(|round| round.0 / round.1),
        in_a_stream: middle(|round| round.2),
    }
}

/// Prints what a translation takes in tables of each size and layout.
pub(crate) fn print() {
    for layout in LAYOUTS {
        let what = layout.what;
        let times = REGIONS.map(|regions| measure(regions, layout));
        let [first, .., last] = times;
        let seen = format!("{:.1} ns", first.answer);
        report::line("P1", &format!("1,000 regions, {what}"), &seen, first.answer);
        for (regions, time) in REGIONS.into_iter().zip(times).skip(1) {
            let log = (regions as f64).ln() / 1000f64.ln();
            let seen = format!("{:.1} ns / {:.1} ns", time.answer, first.answer);
            let growth = time.answer / first.answer;
            report::line("(P1)", &format!("{regions} regions, {what} / 1,000; log {log:.2}"), &seen, growth);
        }
        let seen = format!("{:.1} ns / {:.1} ns", last.in_a_stream, first.in_a_stream);
        let growth = last.in_a_stream / first.in_a_stream;
        report::line("(P1)", &format!("1000000 regions, {what} / 1,000, in a stream"), &seen, growth);
        let seen = format!("{:.1} ns / {:.1} ns", last.answer, last.floor);
        report::line("(P1)", &format!("1000000 regions, {what} / one load"), &seen, last.to_floor);
        // Twice a small table's, or 1.3 of the floor if that is more.
        let (figure, seen) = if 2.0 * first.answer > 1.3 * last.floor {
            (last.answer / first.answer / 2.0, format!("{:.1} ns / 2 * {:.1} ns", last.answer, first.answer))
        } else {
            (last.to_floor / 1.3, format!("{:.1} ns / 1.3 * {:.1} ns", last.answer, last.floor))
        };
        report::line("P1 far", &format!("1000000 regions, {what} / what it may take"), &seen, figure);
    }
}
