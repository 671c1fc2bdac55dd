//! Space that is given out and taken back: the on-chip buffer, and scratch memory.

use std::ops::Range;
/// Space of a fixed size, given out first fit.
#[derive(Clone, Debug)]
pub(super) struct Arena {
    pub(super) capacity: u64,
    align: u64,
    /// The ranges in use, by rising start; none is empty.
    used: Vec<Range<u64>>,
    /// The end of the highest place that was ever given out.
    pub(super) peak: u64,
}

impl Arena {
    pub(super) const fn new(capacity: u64, align: u64) -> Self {
        Self { capacity, align, used: Vec::new(), peak: 0 }
    }

    /// The start of `bytes` that nobody else has; `None` if there is no such place.
    pub(super) fn take(&mut self, bytes: u64) -> Option<u64> {
        let bytes = bytes.max(1).checked_next_multiple_of(self.align)?;
        let mut start = 0;
        let mut at = self.used.len();
        for (index, range) in self.used.iter().enumerate() {
            if range.start - start >= bytes {
                at = index;
                break;
            }
            start = range.end;
        }
        let end = start.checked_add(bytes).filter(|&end| end <= self.capacity)?;
        self.used.insert(at, start..end);
        self.peak = self.peak.max(end);
        Some(start)
    }

    pub(super) fn give_back(&mut self, start: u64) {
        self.used.retain(|range| range.start != start);
    }

    /// Bytes that are given out.
    pub(super) fn live(&self) -> u64 {
        self.used.iter().map(|range| range.end - range.start).sum()
    }
}
