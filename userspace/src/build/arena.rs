//! Space that is given out and taken back: the on-chip buffer, and scratch memory.

/// Space of a fixed size, given out first fit.
#[derive(Clone, Debug)]
pub(super) struct Arena {
    capacity: u64,
    align: u64,
    /// What is given out, by rising start; none is empty.
    used: Vec<Range>,
    peak: u64,
}

#[derive(Clone, Copy, Debug)]
struct Range {
    start: u64,
    end: u64,
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
        self.used.insert(at, Range { start, end });
        self.peak = self.peak.max(end);
        Some(start)
    }

    /// Takes back what starts at `start`.
    pub(super) fn give_back(&mut self, start: u64) {
        self.used.retain(|range| range.start != start);
    }

    /// Bytes that are given out.
    pub(super) fn live(&self) -> u64 {
        self.used.iter().map(|range| range.end - range.start).sum()
    }

    pub(super) const fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The end of the highest place that was ever given out.
    pub(super) const fn peak(&self) -> u64 {
        self.peak
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_that_was_given_back_is_given_out_again() {
        let mut arena = Arena::new(0x100, 0x10);
        assert_eq!([0x11, 0x20, 0x10].map(|bytes| arena.take(bytes)), [Some(0), Some(0x20), Some(0x40)]);
        arena.give_back(0x20);
        assert_eq!(arena.take(0x30), Some(0x50));
        assert_eq!(arena.take(0x20), Some(0x20));
        assert_eq!((arena.live(), arena.peak()), (0x80, 0x80));
    }

    #[test]
    fn arena_without_room_gives_nothing() {
        let mut arena = Arena::new(0x40, 0x10);
        assert_eq!(arena.take(0x40), Some(0));
        assert_eq!(arena.take(1), None);
        assert_eq!(arena.take(u64::MAX), None);
    }
}
