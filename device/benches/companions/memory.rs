//! What a full table takes of the host's memory, where clients do their worst.

use ane_device::pe_mmu::{Attributes, Mapping, PeMmu, Range};
use ane_uapi::hw::pe_mmu::{MAX_REGIONS, MAX_REGIONS_PER_PAGE, PageSize};

use crate::report;

/// Bytes of a page.
const PAGE: u64 = 0x1000;

/// From a page to one of another leaf, behind the window.
const FAR: u64 = 1 << 40;

/// Bytes of memory that this process has.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("this is Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a process has memory");
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

/// A part of a page.
const fn part(page: u64, start: u64, size: u64) -> Mapping {
    Mapping { va: page * PAGE + start, pa: 0, size }
}

/// Prints what a table of each kind takes.
pub(crate) fn print() {
    let new = || {
        PeMmu::new(Attributes { page_size: PageSize::new(PAGE).expect("a page"), ..Attributes::default() })
    };
    type Fill = fn(&mut PeMmu);
    let kinds: [(&str, Fill); 5] = [
        ("what is left of 64 full pages", |mmu| {
            for page in 0..64 {
                map(mmu, MAX_REGIONS_PER_PAGE, |n| part(page, n / 8, 1));
                mmu.unmap(&[Range { va: page * PAGE + 1, size: PAGE }]).expect("nothing wraps");
            }
        }),
        ("a part of a page, 33 pages to a leaf", |mmu| {
            map(mmu, MAX_REGIONS, |n| part(n / 33 * 64 + n % 33, 1, 8))
        }),
        ("a part of a page, one page to a leaf", |mmu| map(mmu, MAX_REGIONS, |n| part(n * 64, 1, 8))),
        ("a part of a page, leaves far apart", |mmu| map(mmu, MAX_REGIONS, |n| part(FAR + n * 64, 1, 8))),
        ("two, one in the other, of a page far apart", |mmu| {
            map(mmu, MAX_REGIONS, |n| part(FAR + n / 2 * 64, 1 + n % 2, 8 - n % 2 * 2));
        }),
    ];
    for (what, fill) in kinds {
        let before = resident();
        let mut mmu = new();
        fill(&mut mmu);
        let took = (resident() - before) / f64::from(1 << 20);
        let seen = format!("{} regions, {took:.1} MiB", mmu.mmu().regions());
        report::line("P1 memory", &format!("table: {what}"), &seen, took);
    }
}
