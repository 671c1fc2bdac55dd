//! The page tables as text: every page that the addresses of a stream lead to, for a person who looks for a mistake.
//!
//! Device and driver both show them: the device as its DART would walk them, the driver as it finds them in its memory.
//! Tables may hold anything. A [`scan`] reads at most as many entries as the aperture has pages, and their tables.
//!
//! Both [`report`] it in lines of text, a [`Heading`] and under it each [`Run`], which are read back the same way:
//!
//! ```text
//! dart0 stream 1 base 0x80100000
//!   0x00008000 0x0000000100008000 pages 3 rw
//!   0x00014000 0x0000000100014000 pages 1 rw open 0x0..0x4
//!   more 7
//!   malformed 1
//! ```
//!
//! A page of which the leaf opens only a part is a run of its own. The last two lines are there if there are more runs than a person reads, and if entries make no sense.

use core::fmt;
use core::str::FromStr;

use thiserror::Error;

use super::aperture::{PAGE_SHIFT, PAGE_SIZE};
use super::pte::{LeafFormat, PteFormat, Seed, T6000, T8020};
use super::regs::Window;
use super::stream::StreamId;
use super::ttbr::Ttbr;
use super::walk::{APERTURE_PAGES, WalkIndices, entry};
use crate::hw::space::{Iova, PhysAddr};
use crate::hw::usage::{Protection, ProtectionClass};

/// Pages that follow each other on both sides, under one protection; or one page that is open in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    pub iova: Iova,
    pub page: PhysAddr,
    pub pages: u32,
    pub protection: Protection,
    /// First byte of a page that is open; the same as `end` if none is.
    pub first: u16,
    /// The byte behind the last one of a page that is open.
    pub end: u16,
}

impl Run {
    /// The range of open bytes in a page that is open as a whole.
    const WHOLE: (u16, u16) = (0, PAGE_SIZE as u16);

    fn is_whole(&self) -> bool {
        (self.first, self.end) == Self::WHOLE
    }

    /// Bytes that are open.
    pub fn bytes(&self) -> u64 {
        if self.is_whole() {
            u64::from(self.pages) * u64::from(PAGE_SIZE)
        } else {
            (self.end - self.first).into()
        }
    }

    /// True if the page goes on where this ends, on both sides, and both are open as a whole.
    fn is_followed_by(&self, next: &Self) -> bool {
        self.is_whole()
            && next.is_whole()
            && u64::from(self.iova.0) + self.bytes() == next.iova.0.into()
            && self.page.0.checked_add(self.bytes()) == Some(next.page.0)
            && self.protection == next.protection
    }
}

/// A stream's tables in one window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heading {
    pub window: Window,
    pub stream: StreamId,
    /// The table base of every address in the aperture.
    pub base: Ttbr,
}

/// Runs that are told in all: with three windows for each of eight contexts some 2,000 for each, which a person may still
/// search. Tables may be such that every page is one.
pub const RUNS_REPORTED: u32 = 1 << 16;

/// Lists a stream's tables. It lists at most `room` runs, and subtracts those from `room`.
pub fn report(
    into: &mut impl fmt::Write,
    room: &mut u32,
    heading: Heading,
    format: PteFormat,
    load: impl FnMut(PhysAddr) -> Option<u64>,
) -> fmt::Result {
    writeln!(into, "{heading}")?;
    let mut more = 0_u32;
    let mut told = Ok(());
    let malformed = scan(format, heading.base, load, |run| {
        if *room == 0 {
            more += 1;
        } else {
            *room -= 1;
            told = told.and_then(|()| writeln!(into, "  {run}"));
        }
    });
    told?;
    for (name, count) in [("more", more), ("malformed", malformed)] {
        if count != 0 {
            writeln!(into, "  {name} {count}")?;
        }
    }
    Ok(())
}

/// Reads the tables at `base` through `load`, which has an entry's word where there is memory, and tells each run, by
/// rising address. What is returned counts the entries that are neither empty nor well formed, or not in memory.
pub fn scan(
    format: PteFormat,
    base: Ttbr,
    load: impl FnMut(PhysAddr) -> Option<u64>,
    found: impl FnMut(Run),
) -> u32 {
    match format {
        PteFormat::Seed => scan_as::<Seed>(base, load, found),
        PteFormat::T8020 => scan_as::<T8020>(base, load, found),
        PteFormat::T6000 => scan_as::<T6000>(base, load, found),
    }
}

fn scan_as<F: LeafFormat>(
    base: Ttbr,
    mut load: impl FnMut(PhysAddr) -> Option<u64>,
    mut found: impl FnMut(Run),
) -> u32 {
    let Some(table) = base.table() else { return 0 };
    let mut load = |table, index| load(entry(table, index)?);
    let mut malformed = 0;
    let mut leaves = None;
    let mut open: Option<Run> = None;
    for number in 0..APERTURE_PAGES {
        let iova = Iova(number << PAGE_SHIFT);
        let indices = WalkIndices::of_iova(iova);
        // At the first page of a leaf table it is found, and kept for the pages behind.
        if indices.l3 == 0 {
            leaves = match load(table, indices.l2).map(F::decode_table) {
                Some(Ok(leaves)) => leaves,
                Some(Err(_)) | None => {
                    malformed += 1;
                    None
                }
            };
        }
        let Some(leaves) = leaves else { continue };
        let leaf = match load(leaves, indices.l3).map(F::decode) {
            Some(Ok(None)) => continue,
            Some(Ok(Some(leaf))) => leaf,
            Some(Err(_)) | None => {
                malformed += 1;
                continue;
            }
        };
        // A leaf may name a last byte in front of its first one, and opens none then.
        let (first, end) = if leaf.first <= leaf.last { (leaf.first, leaf.last + 1) } else { (0, 0) };
        let next = Run { iova, page: leaf.page, pages: 1, protection: leaf.protection, first, end };
        match &mut open {
            Some(run) if run.is_followed_by(&next) => run.pages += 1,
            _ => {
                if let Some(run) = open.replace(next) {
                    found(run);
                }
            }
        }
    }
    if let Some(run) = open {
        found(run);
    }
    malformed
}

/// A line that does not have the form of a line about tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("line does not describe a table")]
pub struct BadLine;

/// `0x…`, as a number.
fn hexadecimal(word: Option<&str>) -> Result<u64, BadLine> {
    let digits = word.and_then(|word| word.strip_prefix("0x")).ok_or(BadLine)?;
    u64::from_str_radix(digits, 16).map_err(|_| BadLine)
}

fn decimal(word: Option<&str>) -> Result<u32, BadLine> {
    word.and_then(|word| word.parse().ok()).ok_or(BadLine)
}

/// The open bytes of a page, such as `0x0..0x4`.
fn open(word: Option<&str>) -> Option<(u16, u16)> {
    let (first, end) = word?.split_once("..")?;
    let [first, end] = [first, end].map(|at| u16::try_from(hexadecimal(Some(at)).ok()?).ok());
    let (first, end) = (first?, end?);
    (first <= end && u32::from(end) <= PAGE_SIZE).then_some((first, end))
}

/// Such as `0x00008000 0x0000000100008000 pages 3 rw`, or `0x00008000 0x0000000100008000 pages 1 rw open 0x0..0x4`.
impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reads = if self.protection.device_reads() { 'r' } else { '-' };
        let writes = if self.protection.device_writes() { 'w' } else { '-' };
        write!(f, "{:#010x} {:#018x} pages {} {reads}{writes}", self.iova.0, self.page.0, self.pages)?;
        if self.is_whole() {
            return Ok(());
        }
        write!(f, " open {:#x}..{:#x}", self.first, self.end)
    }
}

impl FromStr for Run {
    type Err = BadLine;

    fn from_str(line: &str) -> Result<Self, BadLine> {
        let mut words = line.split_ascii_whitespace();
        let iova = Iova(u32::try_from(hexadecimal(words.next())?).map_err(|_| BadLine)?);
        let page = PhysAddr(hexadecimal(words.next())?);
        if words.next() != Some("pages") {
            return Err(BadLine);
        }
        let pages = decimal(words.next())?;
        let is_there = u64::from(iova.0 >> PAGE_SHIFT) + u64::from(pages) <= APERTURE_PAGES.into()
            && page.0.checked_add(u64::from(pages) * u64::from(PAGE_SIZE)).is_some();
        let protection = match words.next() {
            Some("rw") => Protection::of(ProtectionClass::ReadWrite),
            Some("r-") => Protection::of(ProtectionClass::ReadOnly),
            Some("-w") => Protection::of(ProtectionClass::DeviceWrite),
            Some("--") => Protection::new(),
            _ => return Err(BadLine),
        };
        let (first, end) = match words.next() {
            None => Self::WHOLE,
            Some("open") => open(words.next()).filter(|_| pages == 1).ok_or(BadLine)?,
            Some(_) => return Err(BadLine),
        };
        let run = Self { iova, page, pages, protection, first, end };
        if is_there && pages != 0 && words.next().is_none() { Ok(run) } else { Err(BadLine) }
    }
}

/// Such as `dart0 stream 1 base 0x80100000`.
impl fmt::Display for Heading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { window, stream, base } = self;
        write!(f, "{} stream {} base {:#010x}", window.name(), stream.number(), base.into_bits())
    }
}

impl FromStr for Heading {
    type Err = BadLine;

    fn from_str(line: &str) -> Result<Self, BadLine> {
        let mut words = line.split_ascii_whitespace();
        let name = words.next().ok_or(BadLine)?;
        let window = Window::ALL.iter().find(|window| window.name() == name).copied().ok_or(BadLine)?;
        let mut after = |word| (words.next() == Some(word)).then(|| words.next()).flatten();
        let stream = StreamId::new(decimal(after("stream"))?).map_err(|_| BadLine)?;
        let base = u32::try_from(hexadecimal(after("base"))?).map_err(|_| BadLine)?;
        let heading = Self { window, stream, base: Ttbr::from_bits(base) };
        if words.next().is_none() { Ok(heading) } else { Err(BadLine) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: Protection = Protection::of(ProtectionClass::ReadOnly);

    fn run(iova: u32, page: u64, pages: u32) -> Run {
        let (first, end) = Run::WHOLE;
        Run { iova: Iova(iova), page: PhysAddr(page), pages, protection: READ, first, end }
    }

    #[test]
    fn page_that_is_open_in_part_is_a_run_of_its_own() {
        let leaf = |page| T8020::encode(PhysAddr(page), READ).unwrap_or_default();
        let (open, whole) = (0xff_ffff << 40, 1 << 1);
        let words = [
            (0x8000, T8020::encode_table(PhysAddr(0xc000)).unwrap_or_default()),
            (0xc000 + 8, leaf(0x10_0000)),
            // Units 0 to 0, which are four bytes.
            (0xc000 + 16, leaf(0x10_4000) & !(open | whole)),
            (0xc000 + 24, leaf(0x10_8000)),
            // Units 5 to 3, which are none.
            (0xc000 + 32, leaf(0x10_c000) & !(open | whole) | 5 << 52 | 3 << 40),
        ];
        let load = |at: PhysAddr| Some(words.iter().find(|word| word.0 == at.0).map_or(0, |word| word.1));
        let mut found = [run(0, 0, 0); 5];
        let mut count = 0;
        let base = Ttbr::of(PhysAddr(0x8000)).unwrap_or_default();
        let malformed = scan(PteFormat::T8020, base, load, |run| {
            found[count] = run;
            count += 1;
        });
        assert_eq!((count, malformed), (4, 0));
        let open: [_; 4] = core::array::from_fn(|n| (found[n].iova.0, found[n].first, found[n].bytes()));
        assert_eq!(open, [(0x4000, 0, 0x4000), (0x8000, 0, 4), (0xc000, 0, 0x4000), (0x1_0000, 0, 0)]);
    }

    #[test]
    fn pages_that_follow_each_other_on_both_sides_are_one_run() {
        let leaf = |page| Seed::encode(PhysAddr(page), READ).unwrap_or_default();
        let table = |page| Seed::encode_table(PhysAddr(page)).unwrap_or_default();
        let words = [
            (0x8000, table(0xc000)),
            (0x8000 + 8 * 2, 1 << 63 | 1),
            (0x8000 + 8 * 3, table(0x7_0000)),
            (0xc000 + 8, leaf(0x10_0000)),
            (0xc000 + 16, leaf(0x10_4000)),
            (0xc000 + 24, leaf(0x20_0000)),
            (0xc000 + 32, 1 << 63 | 1 << 58),
        ];
        // Where nothing is said memory holds zeros, but for the table that is not in memory.
        let load = |at: PhysAddr| match words.iter().find(|word| word.0 == at.0) {
            Some(&(_, word)) => Some(word),
            None => (at.0 < 0x7_0000).then_some(0),
        };
        let mut found = [run(0, 0, 0); 4];
        let mut count = 0;
        let malformed = scan(PteFormat::Seed, Ttbr::of(PhysAddr(0x8000)).unwrap_or_default(), load, |run| {
            found[count] = run;
            count += 1;
        });
        assert_eq!(count, 2);
        assert_eq!(
            malformed,
            1 + 1 + 2048,
            "a leaf, an entry of the first table, and a table that is not there"
        );
        let places: [_; 2] = core::array::from_fn(|n| (found[n].iova.0, found[n].page.0, found[n].pages));
        assert_eq!(places, [(0x4000, 0x10_0000, 2), (0xc000, 0x20_0000, 1)]);
    }

    #[test]
    fn runs_beyond_those_that_are_told_are_counted() {
        extern crate std;
        // Every page of the first table leads to the same one, so that each is a run of its own.
        let leaf = Seed::encode(PhysAddr(0x10_0000), READ).unwrap_or_default();
        let table = Seed::encode_table(PhysAddr(0xc000)).unwrap_or_default();
        let load = |at: PhysAddr| match at.0 {
            0x8000 => Some(table),
            0xc000..0x1_0000 => Some(leaf),
            _ => Some(0),
        };
        let base = Ttbr::of(PhysAddr(0x8000)).unwrap_or_default();
        let heading = Heading { window: Window::Dart0, stream: StreamId::BASE, base };
        let (mut text, mut room) = (std::string::String::new(), 2);
        assert_eq!(report(&mut text, &mut room, heading, PteFormat::Seed, load), Ok(()));
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("dart0 stream 0 base 0x80000008"));
        assert_eq!(lines.nth(1), Some("  0x00004000 0x0000000000100000 pages 1 rw"));
        assert_eq!(lines.next(), Some("  more 2046"));
        assert_eq!((lines.next(), room), (None, 0));
    }

    #[test]
    fn lines_are_read_back_as_they_are_written() {
        extern crate std;
        use std::string::ToString;
        let shown = run(0x8000, 0x1_0000_8000, 3);
        assert_eq!(shown.to_string(), "0x00008000 0x0000000100008000 pages 3 r-");
        assert_eq!(shown.to_string().parse(), Ok(shown));
        let part = Run { first: 0x10, end: 0x20, ..run(0x8000, 0x1_0000_8000, 1) };
        assert_eq!(part.to_string(), "0x00008000 0x0000000100008000 pages 1 r- open 0x10..0x20");
        assert_eq!(part.to_string().parse(), Ok(part));
        let base = Ttbr::of(PhysAddr(0x8000)).unwrap_or_default();
        let heading = Heading { window: Window::Dart2, stream: StreamId::BASE, base };
        assert_eq!(heading.to_string().parse(), Ok(heading));
    }

    #[test]
    fn line_that_tells_of_no_tables_is_refused() {
        for line in [
            "",
            "0x8000",
            "0x8000 0x0 pages 0 rw",
            "0x8000 0x0 pages 1 rx",
            "0x8000 0x0 pages 1 rw more",
            "0xdfffc000 0x0 pages 2 rw",
            "0x100000000 0x0 pages 1 rw",
            "0x8000 0xffffffffffffc000 pages 1 rw",
            "0x8000 0x0 pages 2 rw open 0x0..0x4",
            "0x8000 0x0 pages 1 rw open 0x4..0x0",
            "0x8000 0x0 pages 1 rw open 0x0..0x4001",
            "0x8000 0x0 pages 1 rw open 0x0..0x4 more",
        ] {
            assert_eq!(line.parse::<Run>(), Err(BadLine), "{line}");
        }
        for line in
            ["dart0", "dart9 stream 0 base 0x0", "dart0 stream 16 base 0x0", "dart0 stream 0 base 0x0 1"]
        {
            assert_eq!(line.parse::<Heading>(), Err(BadLine), "{line}");
        }
    }
}
