//! Checking mode: what silicon lets pass and a driver's author wants to know.
//!
//! Hardware goes by its tables and its translation buffer; it does not know what a driver meant. In checking
//! mode the device knows a little more and says so. Nothing is changed by it: each transfer does what it would
//! have done.
//!
//! Two kinds of misuse show by themselves: a translation used after its tables changed, and windows that do
//! not agree. The others need to know what a mapping is for. A driver, or the program that embeds the device, says so
//! with [`Dart::declare`](super::Dart::declare) when it maps and
//! [`Dart::forget`](super::Dart::forget) when it unmaps; where nothing is declared for a stream, nothing is
//! checked there. Which task and which register a transfer is for, and where its BAR points, comes from the
//! task manager: [`Dart::set_origin`](super::Dart::set_origin).
//!
//! The engine is the only writer of outputs and intermediates, so a page of those that it reads before it has
//! written there is never-written memory. Writes of the processor cannot be seen from here; inputs are not
//! checked for them.
//!
//! * `mapping`: a mapping as the driver described it, and what the engine wrote there;
//! * `report`: the findings, and their text.

mod mapping;
mod report;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use ane_uapi::hw::dart::aperture::PAGE_SHIFT;
use ane_uapi::hw::dart::error::HwError;
use ane_uapi::hw::dart::regs::Window;
use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::space::{Iova, IovaRange, PhysAddr};
use ane_uapi::hw::usage::{Direction, Usage};

use self::mapping::Mapping;
pub use self::report::{CheckReport, Misuse, Origin};
use super::stream::{Access, Circuit};

/// The number of reports that are kept until they are taken; a driver under test makes one or two at a time.
pub const MAX_REPORTS: usize = 256;

/// Mappings that can be declared for one stream; a program has nine buffers, a client some dozens of programs.
pub const MAX_MAPPINGS: usize = 16_384;

#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    pub(super) stream: StreamId,
    pub(super) circuit: Circuit,
    pub(super) access: Access,
    pub(super) span: IovaRange,
}

/// The state of checking mode, and its findings.
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

    pub(super) fn absorbed(&mut self, stream: StreamId, circuit: Circuit, address: Iova, error: HwError) {
        if self.is_on {
            self.report(Misuse::Absorbed { error }, stream, circuit, address);
        }
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
