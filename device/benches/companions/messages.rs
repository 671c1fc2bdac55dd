//! The time to map and to unmap, each region by an entry of its own, 1,024 to a message.

use std::time::Instant;

use ane_device::pe_mmu::Range;

use crate::report::{self, median};
use crate::translation::{LAYOUTS, Layout, table};

/// Regions of the tables.
const REGIONS: u64 = 1_000_000;

/// Rounds of each measurement; the median is what is reported.
const ROUNDS: usize = 5;

/// Nanoseconds to map a region, and to unmap it.
fn life(layout: Layout) -> (f64, f64) {
    let entries: Vec<_> = (0..REGIONS).map(layout.region).collect();
    let ranges: Vec<_> = entries.iter().map(|entry| Range { va: entry.va, size: entry.size }).collect();
    let each = |start: Instant| start.elapsed().as_nanos() as f64 / REGIONS as f64;
    let start = Instant::now();
    let mut mmu = table(&entries);
    let mapped = each(start);
    let start = Instant::now();
    for message in ranges.chunks(1024) {
        mmu.unmap(message).expect("nothing wraps");
    }
    let unmapped = each(start);
    assert_eq!(mmu.mmu().regions(), 0);
    (mapped, unmapped)
}

/// Prints both for each layout.
pub(crate) fn print() {
    for layout in LAYOUTS {
        let lives: Vec<_> = (0..ROUNDS).map(|_| life(layout)).collect();
        let map = median(lives.iter().map(|life| life.0).collect());
        let unmap = median(lives.iter().map(|life| life.1).collect());
        let what = format!("{}: a region mapped and unmapped, ns", layout.what);
        report::line("(P1)", &what, &format!("{map:.0} ns and {unmap:.0} ns"), map + unmap);
    }
}
