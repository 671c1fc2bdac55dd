//! Checking mode: what silicon lets pass and a driver's author wants to know.
//!
//! Hardware goes by its tables and its translation buffer; it does not know what a driver meant. In checking
//! mode the device knows a little more and says so. Nothing is changed by it: each transfer does what it would
//! have done.
//!
//! Two kinds of misuse show by themselves: a translation used after its tables changed, and windows that do
//! not agree. The others need to know what a mapping is for. A driver, or whoever embeds the device, says so
//! with [`Dart::declare`](super::Dart::declare) when it maps and
//! [`Dart::forget`](super::Dart::forget) when it unmaps; where nothing is declared for a stream, nothing is
//! checked there. Which task and which register a transfer is for, and where its BAR points, comes from the
//! task manager: [`Dart::set_origin`](super::Dart::set_origin).
//!
//! The engine is the only writer of outputs and intermediates, so a page of those that it reads before it has
//! written there is never-written memory. What the processor has written cannot be seen from here; inputs are
//! not checked for it.

use std::collections::BTreeMap;
use std::fmt;

use ane_uapi::hw::dart::aperture::PAGE_SHIFT;
use ane_uapi::hw::dart::error::HwError;
use ane_uapi::hw::dart::iso::ContextId;
use ane_uapi::hw::dart::regs::Window;
use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::space::{EngineOffset, Iova, IovaRange, PhysAddr};
use ane_uapi::hw::usage::{Direction, Usage};

use super::stream::{Access, Circuit};

/// Reports kept for whoever takes them; a driver under test makes one or two at a time.
pub const MAX_REPORTS: usize = 256;

/// Mappings that can be declared for one stream; a program has nine buffers, a client some dozens of programs.
pub const MAX_MAPPINGS: usize = 16_384;

/// What a transfer is made for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Origin {
    /// Number of the task.
    pub task: Option<u32>,
    /// The register that holds the address.
    pub register: Option<EngineOffset>,
    /// The BAR that the address was made from.
    pub bar: Option<Iova>,
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Misuse {
    /// The translation buffer gave what the tables no longer say: the driver did not invalidate.
    StaleTranslation {
        /// The page that was used.
        used: PhysAddr,
        /// The page that the tables name now, or how they fail.
        now: Result<PhysAddr, HwError>,
    },
    /// A window has another control word or table base for the stream than dart0 has.
    WindowsDisagree {
        /// The window.
        window: Window,
    },
    /// The engine writes to what was mapped for reading.
    InputWritten {
        /// The mapping.
        mapping: IovaRange,
    },
    /// The engine reads a page of an output or intermediate that it has not written.
    NeverWritten {
        /// The mapping.
        mapping: IovaRange,
    },
    /// The transfer leaves the mapping that its BAR points to, or that it starts in.
    OutsideMapping {
        /// The mapping; `None` if there is none.
        mapping: Option<IovaRange>,
    },
}

/// One finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CheckReport {
    /// What is wrong.
    pub misuse: Misuse,
    /// The stream of the transfer.
    pub stream: StreamId,
    /// The circuit that transferred.
    pub circuit: Circuit,
    /// First address that is affected.
    pub address: Iova,
    /// What the transfer was for.
    pub origin: Origin,
}

impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mapping = |range: IovaRange| format!("mapping of {:#x} bytes at {}", range.len(), range.base());
        match self.misuse {
            Misuse::StaleTranslation { used, now: Ok(now) } => {
                write!(f, "stale translation used: page at {used}, where the tables now name {now}")
            }
            Misuse::StaleTranslation { used, now: Err(error) } => {
                write!(f, "stale translation used: page at {used}, where the tables now give: {error}")
            }
            Misuse::WindowsDisagree { window } => {
                write!(f, "window {window} is programmed differently from dart0")
            }
            Misuse::InputWritten { mapping: range } => write!(f, "write into the input {}", mapping(range)),
            Misuse::NeverWritten { mapping: range } => {
                write!(f, "read of memory that was never written in {}", mapping(range))
            }
            Misuse::OutsideMapping { mapping: Some(range) } => {
                write!(f, "transfer leaves {}", mapping(range))
            }
            Misuse::OutsideMapping { mapping: None } => write!(f, "transfer where nothing is mapped"),
        }?;
        write!(f, "; {} at {}", self.circuit, self.address)?;
        match ContextId::of_stream(self.stream) {
            Some(context) => write!(f, ", {context}")?,
            None => write!(f, ", {}", self.stream)?,
        }
        if let Some(task) = self.origin.task {
            write!(f, ", task {task}")?;
        }
        if let Some(register) = self.origin.register {
            write!(f, ", register at {register}")?;
        }
        Ok(())
    }
}

/// A transfer that is about to happen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    pub(super) stream: StreamId,
    pub(super) circuit: Circuit,
    pub(super) access: Access,
    pub(super) span: IovaRange,
}

/// A mapping as the driver described it.
#[derive(Clone, Debug)]
struct Mapping {
    range: IovaRange,
    usage: Usage,
    /// One bit for each page that the engine has written to.
    written: Vec<u64>,
}

impl Mapping {
    fn new(range: IovaRange, usage: Usage) -> Self {
        let mut mapping = Self { range, usage, written: Vec::new() };
        let bits = mapping.bit(range.end().0.saturating_sub(1)).saturating_add(1);
        mapping.written = vec![0; bits.div_ceil(64)];
        mapping
    }

    /// The number of the page of `address` in the mapping.
    fn bit(&self, address: u32) -> usize {
        let first = self.range.base().0 >> PAGE_SHIFT;
        (address >> PAGE_SHIFT).saturating_sub(first) as usize
    }

    /// The pages of `span` that are in the mapping.
    fn bits(&self, span: IovaRange) -> impl Iterator<Item = usize> + use<> {
        let first = self.bit(span.base().0.max(self.range.base().0));
        let last = self.bit(span.end().0.min(self.range.end().0).saturating_sub(1));
        first..=last
    }

    fn mark(&mut self, span: IovaRange) {
        for bit in self.bits(span) {
            if let Some(word) = self.written.get_mut(bit / 64) {
                *word |= 1 << (bit % 64);
            }
        }
    }

    /// The first page of `span` that was not written to.
    fn never_written(&self, span: IovaRange) -> Option<usize> {
        self.bits(span)
            .find(|bit| self.written.get(bit / 64).is_some_and(|word| word & (1 << (bit % 64)) == 0))
    }

    /// True if only the engine writes here.
    fn is_the_engines(&self) -> bool {
        matches!(self.usage, Usage::Output | Usage::Intermediate)
    }
}

/// What checking mode knows and has found.
#[derive(Debug, Default)]
pub(super) struct Checker {
    is_on: bool,
    origin: Origin,
    /// Mappings of each stream by their first address; they do not overlap.
    mappings: [BTreeMap<u32, Mapping>; StreamId::COUNT as usize],
    reports: Vec<CheckReport>,
    lost: u64,
}

impl Checker {
    #[inline]
    pub(super) const fn is_on(&self) -> bool {
        self.is_on
    }

    pub(super) fn set(&mut self, is_on: bool) {
        self.is_on = is_on;
    }

    pub(super) fn set_origin(&mut self, origin: Origin) {
        self.origin = origin;
    }

    /// Forgets the mappings, not the findings.
    pub(super) fn reset(&mut self) {
        self.origin = Origin::default();
        self.mappings.iter_mut().for_each(BTreeMap::clear);
    }

    pub(super) fn take(&mut self) -> Vec<CheckReport> {
        std::mem::take(&mut self.reports)
    }

    pub(super) fn take_lost(&mut self) -> u64 {
        std::mem::take(&mut self.lost)
    }

    fn of(&mut self, stream: StreamId) -> Option<&mut BTreeMap<u32, Mapping>> {
        self.mappings.get_mut(stream.index())
    }

    /// Takes note of a mapping, in place of all that it overlaps; false if there are too many.
    pub(super) fn declare(&mut self, stream: StreamId, range: IovaRange, usage: Usage) -> bool {
        self.forget(stream, range);
        match self.of(stream) {
            Some(mappings) if mappings.len() < MAX_MAPPINGS => {
                mappings.insert(range.base().0, Mapping::new(range, usage));
                true
            }
            _ => false,
        }
    }

    /// Forgets every mapping that shares a byte with `range`.
    pub(super) fn forget(&mut self, stream: StreamId, range: IovaRange) {
        let Some(mappings) = self.of(stream) else { return };
        // They do not overlap each other, so those in question are the last ones that begin below the end.
        while let Some((&base, mapping)) = mappings.range(..range.end().0).next_back()
            && mapping.range.overlaps(range)
        {
            mappings.remove(&base);
        }
    }

    fn report(&mut self, misuse: Misuse, stream: StreamId, circuit: Circuit, address: Iova) {
        if self.reports.len() < MAX_REPORTS {
            self.reports.push(CheckReport { misuse, stream, circuit, address, origin: self.origin });
        } else {
            self.lost = self.lost.saturating_add(1);
        }
    }

    pub(super) fn stale(
        &mut self,
        stream: StreamId,
        circuit: Circuit,
        address: Iova,
        used: PhysAddr,
        now: Result<PhysAddr, HwError>,
    ) {
        self.report(Misuse::StaleTranslation { used, now }, stream, circuit, address);
    }

    pub(super) fn disagree(&mut self, window: Window, stream: StreamId, circuit: Circuit, address: Iova) {
        self.report(Misuse::WindowsDisagree { window }, stream, circuit, address);
    }

    /// Holds a transfer against what was declared.
    pub(super) fn observe(&mut self, transfer: Transfer) {
        let Transfer { stream, circuit, access, span } = transfer;
        let bar = self.origin.bar;
        let is_first = circuit == Circuit::TdFetch && self.origin.task == Some(0);
        let Some(mappings) = self.of(stream).filter(|mappings| !mappings.is_empty()) else { return };
        let is_program = |at: Iova| {
            let mapping = mappings.range(..=at.0).next_back().map(|(_, mapping)| mapping);
            mapping.is_some_and(|mapping| mapping.usage == Usage::Program && mapping.range.contains(at))
        };
        // Drivers submit a copy of the first descriptor, which has the request's network id and a mapping of its own.
        let bar = bar.filter(|&bar| !(is_first && is_program(bar) && is_program(span.base())));
        let start = bar.unwrap_or(span.base());
        let mapping = mappings
            .range_mut(..=start.0)
            .next_back()
            .map(|(_, mapping)| mapping)
            .filter(|mapping| mapping.range.contains(start));
        let Some(mapping) = mapping else {
            self.report(Misuse::OutsideMapping { mapping: None }, stream, circuit, start);
            return;
        };

        let range = mapping.range;
        let outside = (!range.covers(span)).then(|| {
            let is_base_inside = range.contains(span.base());
            if is_base_inside { range.end() } else { span.base() }
        });
        let mut written = None;
        let mut unwritten = None;
        if range.overlaps(span) {
            match access {
                Access::Write => {
                    mapping.mark(span);
                    written = (mapping.usage.direction() == Direction::DeviceReads).then_some(span.base());
                }
                Access::Read if mapping.is_the_engines() => {
                    unwritten = mapping.never_written(span).map(|bit| {
                        let page =
                            (range.base().0 >> PAGE_SHIFT).saturating_add(u32::try_from(bit).unwrap_or(0));
                        Iova(page.wrapping_shl(PAGE_SHIFT).max(span.base().0))
                    });
                }
                Access::Read => {}
            }
        }

        if let Some(address) = outside {
            self.report(Misuse::OutsideMapping { mapping: Some(range) }, stream, circuit, address);
        }
        if let Some(address) = written {
            self.report(Misuse::InputWritten { mapping: range }, stream, circuit, address);
        }
        if let Some(address) = unwritten {
            self.report(Misuse::NeverWritten { mapping: range }, stream, circuit, address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: StreamId = StreamId::ALL[3];

    fn range(base: u64, len: u64) -> IovaRange {
        IovaRange::new(base, len).unwrap()
    }

    fn checker(mappings: &[(u64, u64, Usage)]) -> Checker {
        let mut checker = Checker::default();
        for &(base, len, usage) in mappings {
            assert!(checker.declare(STREAM, range(base, len), usage));
        }
        checker
    }

    fn found(checker: &mut Checker, access: Access, span: IovaRange) -> Vec<(Misuse, u32)> {
        checker.observe(Transfer { stream: STREAM, circuit: Circuit::TileSend, access, span });
        checker.take().into_iter().map(|report| (report.misuse, report.address.0)).collect()
    }

    #[test]
    fn transfer_inside_its_mapping_is_silent() {
        let mut checker = checker(&[(0x4000, 0x8000, Usage::Input)]);
        assert_eq!(found(&mut checker, Access::Read, range(0x4000, 0x8000)), []);
    }

    #[test]
    fn write_into_an_input_is_reported() {
        let mut checker = checker(&[(0x4000, 0x8000, Usage::Input)]);
        let mapping = range(0x4000, 0x8000);
        assert_eq!(
            found(&mut checker, Access::Write, range(0x5000, 16)),
            [(Misuse::InputWritten { mapping }, 0x5000)]
        );
    }

    #[test]
    fn page_read_before_it_was_written_is_reported_and_then_no_more() {
        let mut checker = checker(&[(0x4000, 0xc000, Usage::Intermediate)]);
        let mapping = range(0x4000, 0xc000);
        assert_eq!(found(&mut checker, Access::Write, range(0x4000, 0x4000)), []);
        assert_eq!(
            found(&mut checker, Access::Read, range(0x6000, 0x4000)),
            [(Misuse::NeverWritten { mapping }, 0x8000)]
        );
        assert_eq!(found(&mut checker, Access::Write, range(0x8000, 1)), []);
        assert_eq!(found(&mut checker, Access::Read, range(0x6000, 0x4000)), []);
    }

    #[test]
    fn transfer_that_leaves_its_mapping_is_reported_at_the_first_byte_outside() {
        let mut checker = checker(&[(0x4000, 0x100, Usage::Output), (0x8000, 0x4000, Usage::Output)]);
        let mapping = range(0x4000, 0x100);
        assert_eq!(
            found(&mut checker, Access::Write, range(0x40f0, 0x20)),
            [(Misuse::OutsideMapping { mapping: Some(mapping) }, 0x4100)]
        );
        assert_eq!(
            found(&mut checker, Access::Write, range(0x4100, 1)),
            [(Misuse::OutsideMapping { mapping: None }, 0x4100)]
        );
    }

    #[test]
    fn transfer_into_a_neighbour_of_its_bars_mapping_is_reported() {
        let mut checker = checker(&[(0x4000, 0x4000, Usage::Output), (0x8000, 0x4000, Usage::Output)]);
        checker.set_origin(Origin { bar: Some(Iova(0x4000)), task: Some(7), ..Origin::default() });
        let mapping = Some(range(0x4000, 0x4000));
        assert_eq!(
            found(&mut checker, Access::Write, range(0x8000, 16)),
            [(Misuse::OutsideMapping { mapping }, 0x8000)]
        );
    }

    #[test]
    fn stream_of_which_nothing_is_known_is_not_checked() {
        let mut checker = checker(&[(0x4000, 0x4000, Usage::Input)]);
        checker.forget(STREAM, range(0x7fff, 1));
        assert_eq!(found(&mut checker, Access::Write, range(0x4000, 16)), []);
    }

    #[test]
    fn mapping_replaces_all_that_it_overlaps() {
        let mut checker = checker(&[
            (0x4000, 0x100, Usage::Input),
            (0x4800, 0x100, Usage::Input),
            (0x4080, 0x1000, Usage::Output),
        ]);
        assert_eq!(found(&mut checker, Access::Write, range(0x4800, 0x100)), []);
        assert_eq!(
            found(&mut checker, Access::Write, range(0x4000, 1)),
            [(Misuse::OutsideMapping { mapping: None }, 0x4000)]
        );
    }

    #[test]
    fn reports_beyond_the_limit_are_counted_and_not_kept() {
        let mut checker = checker(&[(0x4000, 0x4000, Usage::Input)]);
        let transfer = Transfer {
            stream: STREAM,
            circuit: Circuit::TileSend,
            access: Access::Write,
            span: range(0x4000, 1),
        };
        for _ in 0..MAX_REPORTS + 3 {
            checker.observe(transfer);
        }
        assert_eq!((checker.take().len(), checker.take_lost(), checker.take_lost()), (MAX_REPORTS, 3, 0));
    }

    #[test]
    fn copy_of_the_first_descriptor_may_have_a_mapping_of_its_own() {
        let mut checker = checker(&[
            (0x4000, 0x4000, Usage::Program),
            (0x8000, 0x300, Usage::Program),
            (0xc000, 64, Usage::Output),
        ]);
        let fetch = |checker: &mut Checker, task, bar, at| {
            checker.set_origin(Origin { task: Some(task), register: None, bar: Some(Iova(bar)) });
            let (circuit, access, span) = (Circuit::TdFetch, Access::Read, range(at, 0x274));
            checker.observe(Transfer { stream: STREAM, circuit, access, span });
            checker.take().len()
        };
        assert_eq!(fetch(&mut checker, 0, 0x4000, 0x8000), 0);
        assert_eq!(fetch(&mut checker, 1, 0x4000, 0x8000), 1, "the others lie in the stream");
        assert_eq!(fetch(&mut checker, 0, 0xc000, 0x8000), 1, "the BAR is not that of a stream");
        assert_eq!(fetch(&mut checker, 0, 0x4000, 0x8100), 1, "the copy ends before");
    }

    #[test]
    fn report_reads_as_a_sentence() {
        let mut checker = checker(&[(0x4000, 0x4000, Usage::Input)]);
        let register = Some(EngineOffset(0x1c1_3000));
        checker.set_origin(Origin { task: Some(7), register, bar: None });
        let (access, span) = (Access::Write, range(0x5000, 16));
        checker.observe(Transfer { stream: STREAM, circuit: Circuit::TileSend, access, span });
        assert_eq!(
            checker.take()[0].to_string(),
            "write into the input mapping of 0x4000 bytes at iova 0x4000; tile send at iova 0x5000, \
             iso context 3, task 7, register at engine 0x1c13000"
        );
    }
}
