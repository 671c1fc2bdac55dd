//! The two event lines: what arrived as an event, and what was read from the registers.
//!
//! The device puts every event on both lines. The driver has the first one interrupt, reads each of its events whole, and
//! takes as many off the second, of which the first of the four registers is enough: reading that is what takes it off.
//!
//! Interrupt and registers tell the same story in the same order, and neither alone is enough: an interrupt may be lost, and
//! what is not read fills the line up. So whatever is known from one side waits here until the other side has said it too.

use std::collections::VecDeque;

use ane_uapi::hw::space::EngineOffset;
use ane_uapi::hw::tm;
use ane_uapi::register::Register;

use crate::bus::Operation;

/// Reads that may be owed to both lines before they are worth a batch of their own: half of what one line holds.
pub(super) const OWED_MAX: usize = 32;

/// Registers that show one event.
const WORDS: usize = 4;

/// An event as the registers of its line show it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) info: u32,
    pub(super) word_1: u32,
    pub(super) time: u32,
    pub(super) word_3: u32,
}

#[derive(Debug, Default)]
struct Line {
    /// Arrived, and not read yet.
    owed: VecDeque<Stamp>,
    /// Read, and not arrived: it may still come, or never will.
    early: VecDeque<Stamp>,
}

#[derive(Debug, Default)]
pub(super) struct Lines {
    first: Line,
    /// Events that are known and not yet taken off the second line.
    second: usize,
}

/// The registers that show the next event of the first line, in the order in which they have to be read.
const WHOLE: [&Register; WORDS] =
    [&tm::EVENT_INFO.info, &tm::EVENT_WORD_1.info, &tm::EVENT_TIME.info, &tm::EVENT_WORD_3.info];

fn read(register: &Register, line: u16) -> Operation {
    let offset = register.at(line).unwrap_or(register.offset);
    Operation::Read(EngineOffset(tm::TASK_MANAGER.base.0.saturating_add(offset)))
}

/// Events that are kept as read and not arrived: as many as a line holds.
const EARLY_MAX: usize = 64;

impl Lines {
    /// An event of the first line has arrived. False if it was known from the registers already.
    pub(super) fn arrived(&mut self, stamp: Stamp) -> bool {
        if let Some(at) = self.first.early.iter().position(|early| *early == stamp) {
            self.first.early.remove(at);
            return false;
        }
        self.first.owed.push_back(stamp);
        self.second = self.second.saturating_add(1);
        true
    }

    /// Events that are owed their reads, of the line that is owed more.
    pub(super) fn owed(&self) -> usize {
        self.first.owed.len().max(self.second)
    }

    /// Adds the reads that are owed to a batch, as far as it has room; says how many events of each line.
    pub(super) fn add_reads(&self, batch: &mut Vec<Operation>, limit: usize) -> [usize; tm::LINES as usize] {
        Self::add(batch, limit, [self.first.owed.len(), self.second])
    }

    /// Adds reads of so many events of each line to a batch, as far as it has room.
    pub(super) fn add(
        batch: &mut Vec<Operation>,
        limit: usize,
        [first, second]: [usize; tm::LINES as usize],
    ) -> [usize; tm::LINES as usize] {
        let first = first.min(limit.saturating_sub(batch.len()) / WORDS);
        for _ in 0..first {
            batch.extend(WHOLE.map(|register| read(register, 0)));
        }
        let second = second.min(limit.saturating_sub(batch.len()));
        batch.extend((0..second).map(|_| read(&tm::EVENT_INFO.info, 1)));
        [first, second]
    }

    /// Takes what such reads gave, and says which of it had not arrived as an event.
    pub(super) fn take_reads(
        &mut self,
        [first, second]: [usize; tm::LINES as usize],
        values: &[u32],
        missed: &mut Vec<Stamp>,
    ) {
        for words in values.chunks_exact(WORDS).take(first) {
            let &[info, word_1, time, word_3] = words else { return };
            let stamp = Stamp { info, word_1, time, word_3 };
            let line = &mut self.first;
            if stamp == Stamp::default() {
                // The line was empty: a reset took what was owed.
                line.owed.pop_front();
            } else if let Some(at) = line.owed.iter().position(|owed| *owed == stamp) {
                line.owed.remove(at);
            } else {
                if line.early.len() == EARLY_MAX {
                    line.early.pop_front();
                }
                line.early.push_back(stamp);
                missed.push(stamp);
                self.second = self.second.saturating_add(1);
            }
        }
        // The second line has the same event as the first.
        self.second = self.second.saturating_sub(second);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Stamp = Stamp { info: 1 << 16, word_1: 0, time: 5, word_3: 0 };
    const B: Stamp = Stamp { info: 2 << 16, word_1: 0, time: 6, word_3: 0 };

    fn words(stamps: &[Stamp]) -> Vec<u32> {
        stamps.iter().flat_map(|s| [s.info, s.word_1, s.time, s.word_3]).collect()
    }

    fn take(lines: &mut Lines, counts: [usize; 2], stamps: &[Stamp]) -> Vec<Stamp> {
        let mut missed = Vec::new();
        lines.take_reads(counts, &words(stamps), &mut missed);
        missed
    }

    #[test]
    fn event_that_arrived_is_owed_a_read_of_each_line_and_news_once() {
        let mut lines = Lines::default();
        assert!(lines.arrived(A));
        let mut batch = Vec::new();
        assert_eq!((lines.owed(), lines.add_reads(&mut batch, 64)), (1, [1, 1]));
        let at = |offset| Operation::Read(EngineOffset(tm::TASK_MANAGER.base.0 + offset));
        assert_eq!(batch, [0x18, 0x1c, 0x20, 0x24, 0x2c].map(at));
        assert_eq!(take(&mut lines, [1, 1], &[A]), []);
        assert_eq!(lines.owed(), 0);
    }

    #[test]
    fn event_whose_interrupt_was_lost_is_found_by_the_read_that_another_was_owed() {
        let mut lines = Lines::default();
        assert!(lines.arrived(B));
        assert_eq!(take(&mut lines, [1, 1], &[A]), [A]);
        assert_eq!(lines.add_reads(&mut Vec::new(), 64), [1, 1]);
    }

    #[test]
    fn event_that_arrives_after_it_was_read_is_no_news() {
        let mut lines = Lines::default();
        assert_eq!(take(&mut lines, [1, 0], &[A]), [A]);
        assert!(!lines.arrived(A));
        assert!(lines.arrived(A), "the next one of the same looks is another");
    }

    #[test]
    fn reads_stop_where_the_batch_is_full_and_go_on_with_the_next() {
        let mut lines = Lines::default();
        (0..20).for_each(|time| assert!(lines.arrived(Stamp { time, ..A })));
        let mut batch = vec![Operation::Read(EngineOffset(0)); 30];
        assert_eq!(lines.add_reads(&mut batch, 64), [8, 2]);
        assert_eq!(batch.len(), 64);
    }

    #[test]
    fn reads_of_an_empty_line_owe_nothing_any_more() {
        let mut lines = Lines::default();
        assert!(lines.arrived(A));
        assert_eq!(take(&mut lines, [1, 1], &[Stamp::default()]), []);
        assert_eq!(lines.owed(), 0);
    }
}
