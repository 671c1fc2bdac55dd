//! Space that is given out and taken back: the on-chip buffer, and scratch memory.

use std::collections::BTreeMap;
use std::iter;
use std::ops::Range;

/// Space of a fixed size, given out first fit.
#[derive(Clone, Debug)]
pub(super) struct Arena {
    pub(super) capacity: u64,
    align: u64,
    /// The start and end of each place in use.
    used: BTreeMap<u64, u64>,
    /// What lies between them, by rising start: none is empty, and no two touch.
    holes: Vec<Range<u64>>,
    /// The end of the highest place that was ever given out.
    pub(super) peak: u64,
}

impl Arena {
    pub(super) fn new(capacity: u64, align: u64) -> Self {
        Self { capacity, align, used: BTreeMap::new(), holes: iter::once(0..capacity).collect(), peak: 0 }
    }

    /// The start of `bytes` that nobody else has; `None` if there is no such place.
    pub(super) fn take(&mut self, bytes: u64) -> Option<u64> {
        let bytes = bytes.max(1).checked_next_multiple_of(self.align)?;
        let at = self.holes.iter().position(|hole| hole.end - hole.start >= bytes)?;
        let Range { start, end } = self.holes[at];
        let taken = start..start + bytes;
        if taken.end == end {
            self.holes.remove(at);
        } else {
            self.holes[at].start = taken.end;
        }
        self.used.insert(taken.start, taken.end);
        self.peak = self.peak.max(taken.end);
        Some(taken.start)
    }

    pub(super) fn give_back(&mut self, start: u64) {
        let Some(end) = self.used.remove(&start) else { return };
        // The holes that touch the place become one with it.
        let first = self.holes.partition_point(|hole| hole.end < start);
        let last = self.holes.partition_point(|hole| hole.start <= end);
        let touching = &self.holes[first..last];
        let start = touching.first().map_or(start, |hole| hole.start.min(start));
        let end = touching.last().map_or(end, |hole| hole.end.max(end));
        self.holes.splice(first..last, iter::once(start..end));
    }

    /// Whether there is a place for so many bytes.
    pub(super) fn has_room(&self, bytes: u64) -> bool {
        self.holes.iter().any(|hole| hole.end - hole.start >= bytes)
    }

    /// Bytes that are given out.
    pub(super) fn live(&self) -> u64 {
        self.used.iter().map(|(start, end)| end - start).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_is_the_first_between_those_in_use() {
        let mut arena = Arena::new(100, 10);
        let mut used: Vec<Range<u64>> = Vec::new();
        let mut random = 1u32;
        for _ in 0..10_000 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let number = random >> 24;
            if number.is_multiple_of(2) {
                let bytes = u64::from(number % 32) + 1;
                let size = bytes.next_multiple_of(10);
                let is_free =
                    |start: u64| used.iter().all(|range| start + size <= range.start || range.end <= start);
                let expected = (0..=100 - size).step_by(10).find(|&start| is_free(start));
                assert_eq!(arena.take(bytes), expected);
                used.extend(expected.map(|start| start..start + size));
            } else if !used.is_empty() {
                let range = used.swap_remove(number as usize % used.len());
                arena.give_back(range.start);
            }
            assert_eq!(arena.live(), used.iter().map(|range| range.end - range.start).sum::<u64>());
        }
        assert_eq!(arena.peak, 100);
    }

    #[test]
    fn place_larger_than_any_number_is_not_there() {
        let mut arena = Arena::new(100, 10);
        assert_eq!(arena.take(u64::MAX), None);
        assert_eq!(arena.take(101), None);
        assert_eq!(arena.take(100), Some(0));
        assert_eq!(arena.take(0), None);
    }
}
