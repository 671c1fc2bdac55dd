//! Counters, and the performance reports that show some of them.
//!
//! Real hardware has a range of performance reports, of which one example is known, bytes read by DMA, and no
//! address. The words here are laid out by this project (Chosen): 64-bit counters from the range's start, low
//! half first.

use ane_uapi::hw::mmio_map::Region;
use ane_uapi::hw::space::EngineOffset;

use crate::refusal::Category;
use crate::timing::usage::Usage;

/// The counts since the last reset of the engine, besides bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub requests_done: u64,
    /// Requests that ended in an error, or were aborted.
    pub requests_failed: u64,
    pub tasks_done: u64,
    pub refused: [u64; Category::ALL.len()],
    /// Writes to the coprocessor's range while a request ran: Apple's driver fails on that (seed 004,
    /// note a). Here the work goes on.
    pub hazards: u64,
    /// Virtual time, and where it went.
    pub usage: Usage,
}

impl Counters {
    pub(crate) fn count_refusal(&mut self, category: Category) {
        if let Some(count) = self.refused.get_mut(category as usize) {
            increment(count);
        }
    }
}

/// Adds one, and stays at the largest number.
pub(crate) fn increment(count: &mut u64) {
    *count = count.saturating_add(1);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// Bytes that DMA read from memory.
    BytesRead,
    /// Bytes that DMA wrote to memory.
    BytesWritten,
    Tasks,
    Requests,
    /// Virtual time, in cycles of the engine's clock.
    Cycles,
    /// Cycles in which the array or the planar engine was at work.
    ComputeCycles,
    /// Cycles in which nothing but coefficients came in.
    KernelStallCycles,
    /// Cycles for which the array waited for banks.
    BankStallCycles,
    /// Turns of banks that conflicts cost.
    BankConflicts,
}

impl Report {
    /// Every report, in the order of their words.
    pub const ALL: [Self; 9] = [
        Self::BytesRead,
        Self::BytesWritten,
        Self::Tasks,
        Self::Requests,
        Self::Cycles,
        Self::ComputeCycles,
        Self::KernelStallCycles,
        Self::BankStallCycles,
        Self::BankConflicts,
    ];

    /// Where the low half is; the high half follows.
    pub const fn offset(self) -> EngineOffset {
        let index = (self as u32).saturating_mul(8);
        EngineOffset(Region::Performance.range().start.0.saturating_add(index))
    }

    /// The report whose low or high half is at `at`; true for the high half.
    pub fn at(at: EngineOffset) -> Option<(Self, bool)> {
        Self::ALL.into_iter().find_map(|report| match at.0.checked_sub(report.offset().0)? {
            0 => Some((report, false)),
            4 => Some((report, true)),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_half_of_each_report_has_a_word_of_its_own() {
        let start = Region::Performance.range().start.0;
        for (i, report) in Report::ALL.into_iter().enumerate() {
            let low = start + 8 * i as u32;
            assert_eq!(Report::at(EngineOffset(low)), Some((report, false)));
            assert_eq!(Report::at(EngineOffset(low + 4)), Some((report, true)));
        }
        assert_eq!(Report::at(EngineOffset(start + 0x48)), None);
    }
}
