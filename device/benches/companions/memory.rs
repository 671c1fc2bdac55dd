//! The host's memory behind a full table, in the worst case that clients can make.

use std::process::Command;

use ane_device::pe_mmu::{Attributes, Mapping, PeMmu, Range};
use ane_uapi::hw::pe_mmu::{MAX_REGIONS, MAX_REGIONS_PER_PAGE, PageSize};

use crate::report;

/// Bytes of a page.
const PAGE: u64 = 0x1000;

/// From a page to one of another leaf, behind the window.
const FAR: u64 = 1 << 40;

/// Most bytes of memory that this process ever had.
fn most() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("this is Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a process has memory");
    let kilobytes: f64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kilobytes * 1024.0
}

fn map(mmu: &mut PeMmu, count: usize, entry: impl Fn(u64) -> Mapping) {
    let mut entries = (0..count as u64).map(entry).peekable();
    while entries.peek().is_some() {
        let message: Vec<_> = entries.by_ref().take(1024).collect();
        mmu.map(&message).expect("there is room");
    }
}

const fn part(page: u64, start: u64, size: u64) -> Mapping {
    Mapping { va: page * PAGE + start, pa: 0, size }
}

type Fill = fn(&mut PeMmu);

/// Tables whose regions are the worst of their kind.
const KINDS: [(&str, Fill); 6] = [
    ("a part of a page, 33 pages to a leaf", |mmu| {
        map(mmu, MAX_REGIONS, |n| part(n / 33 * 64 + n % 33, 1, 8))
    }),
    ("a part of a page, one page to a leaf", |mmu| map(mmu, MAX_REGIONS, |n| part(n * 64, 1, 8))),
    ("a part of a page, leaves far apart", |mmu| map(mmu, MAX_REGIONS, |n| part(FAR + n * 64, 1, 8))),
    ("two, one in the other, of a page far apart", |mmu| {
        map(mmu, MAX_REGIONS, |n| part(FAR + n / 2 * 64, 1 + n % 2, 8 - n % 2 * 2));
    }),
    ("what is left of leaves, round after round", |mmu| {
        for first in (0..8).map(|round| round << 16) {
            map(mmu, 24_000 * 33, |n| part((first + n / 33) * 64 + n % 33, 1, 8));
            for leaf in first..first + 24_000 {
                mmu.unmap(&[Range { va: (leaf * 64 + 1) * PAGE, size: 63 * PAGE }]).expect("nothing wraps");
            }
        }
    }),
    ("what is left of 64 full pages", |mmu| {
        for page in 0..64 {
            map(mmu, MAX_REGIONS_PER_PAGE, |n| part(page, n / 8, 1));
            mmu.unmap(&[Range { va: page * PAGE + 1, size: PAGE }]).expect("nothing wraps");
        }
    }),
];

/// The process that has one table: prints how much memory that took. `number` is its kind; behind the last is a table that is
/// each of them in turn.
pub(crate) fn print_one(number: usize) {
    let before = most();
    let page_size = PageSize::new(PAGE).expect("a page");
    let mut mmu = PeMmu::new(Attributes { page_size, ..Attributes::default() });
    for (_, fill) in KINDS.get(number).map_or(&KINDS[..], std::slice::from_ref) {
        mmu.unmap(&[Range { va: 0, size: u64::MAX }]).expect("nothing wraps");
        fill(&mut mmu);
    }
    println!("{}", (most() - before) / f64::from(1 << 20));
}

/// Prints what a table of each kind takes, each in a process of its own.
pub(crate) fn print() {
    let names = KINDS.iter().map(|(what, _)| *what).chain(["all of these, one after the other"]);
    for (number, what) in names.enumerate() {
        let this = std::env::current_exe().expect("a program has a name");
        let one = Command::new(this).args(["table", &number.to_string()]).output().expect("it starts");
        let took: f64 = String::from_utf8_lossy(&one.stdout).trim().parse().expect("it prints a number");
        report::line("P1 memory", &format!("table: {what}"), &format!("{took:.1} MiB"), took);
    }
}
