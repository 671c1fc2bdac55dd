//! What it takes to map and to unmap, and what a table takes of the host's memory.

use std::time::Instant;

use ane_device::pe_mmu::Range;

use crate::report::{self, median};
use crate::translation::{LAYOUTS, Layout, table};

/// Regions of the tables.
const REGIONS: u64 = 1_000_000;

/// Rounds of each measurement; the median is what is reported.
const ROUNDS: usize = 5;

/// Bytes of memory that this process has.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("this is Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a process has memory");
    let kilobytes: f64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kilobytes * 1024.0
}

/// Nanoseconds to map a region and to unmap it, each by an entry of its own, and bytes of memory for it.
fn life(layout: Layout) -> (f64, f64, f64) {
    let before = resident();
    let start = Instant::now();
    let mut mmu = table(REGIONS, layout);
    let mapped = start.elapsed();
    let bytes = resident() - before;
    let ranges: Vec<_> =
        (0..REGIONS).map(layout.region).map(|entry| Range { va: entry.va, size: entry.size }).collect();
    let start = Instant::now();
    for message in ranges.chunks(1024) {
        mmu.unmap(message).expect("nothing wraps");
    }
    let unmapped = start.elapsed();
    assert_eq!(mmu.mmu().regions(), 0);
    let each = |time: std::time::Duration| time.as_nanos() as f64 / REGIONS as f64;
    (each(mapped), each(unmapped), bytes / REGIONS as f64)
}

/// Prints both for each layout.
pub(crate) fn print() {
    for layout in LAYOUTS {
        let lives: Vec<_> = (0..ROUNDS).map(|_| life(layout)).collect();
        let middle = |part: fn(&(f64, f64, f64)) -> f64| median(lives.iter().map(part).collect());
        let (map, unmap, bytes) = (middle(|life| life.0), middle(|life| life.1), middle(|life| life.2));
        let what = format!("{}, {REGIONS} regions: map + unmap of one", layout.what);
        report::line("(P1)", &what, &format!("{map:.0} ns + {unmap:.0} ns; {bytes:.0} bytes"), map + unmap);
    }
}
