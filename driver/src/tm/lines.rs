//! The two event lines: what arrived as an event, and what was read from the registers.
//!
//! Both tell the same story in the same order, and neither alone is enough: an interrupt may be lost, and what is not
//! read fills the line up. So whatever is known from one side waits here until the other side has said it too.

use std::collections::VecDeque;

use ane_uapi::hw::space::EngineOffset;
use ane_uapi::hw::tm;

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

/// Both lines.
#[derive(Debug, Default)]
pub(super) struct Lines([Line; tm::LINES as usize]);

/// The registers that show the next event of a line, in the order in which they have to be read.
fn registers(line: u16) -> impl Iterator<Item = EngineOffset> {
    [&tm::EVENT_INFO.info, &tm::EVENT_WORD_1.info, &tm::EVENT_TIME.info, &tm::EVENT_WORD_3.info]
        .into_iter()
        .filter_map(move |register| register.at(line))
        .map(|offset| EngineOffset(tm::TASK_MANAGER.base.0.saturating_add(offset)))
}

/// Events that are kept as read and not arrived: as many as a line holds.
const EARLY_MAX: usize = 64;

impl Lines {
    /// An event has arrived. False if it was known from the registers already.
    pub(super) fn arrived(&mut self, line: usize, stamp: Stamp) -> bool {
        let Some(line) = self.0.get_mut(line) else { return false };
        if let Some(at) = line.early.iter().position(|early| *early == stamp) {
            line.early.remove(at);
            return false;
        }
        line.owed.push_back(stamp);
        true
    }

    /// Reads that are owed.
    pub(super) fn owed(&self) -> usize {
        self.0.iter().map(|line| line.owed.len()).sum()
    }

    /// Adds the reads that are owed to a batch, as far as it has room; says how many events of each line.
    pub(super) fn add_reads(&self, batch: &mut Vec<Operation>, limit: usize) -> [usize; tm::LINES as usize] {
        let counts = [0, 1].map(|line: usize| self.0.get(line).map_or(0, |line| line.owed.len()));
        Self::add(batch, limit, counts)
    }

    /// Adds reads of so many events of each line to a batch, as far as it has room.
    pub(super) fn add(
        batch: &mut Vec<Operation>,
        limit: usize,
        counts: [usize; tm::LINES as usize],
    ) -> [usize; tm::LINES as usize] {
        let mut line_number = 0;
        counts.map(|count| {
            let room = limit.saturating_sub(batch.len()) / WORDS;
            let count = count.min(room);
            for _ in 0..count {
                batch.extend(registers(line_number).map(Operation::Read));
            }
            line_number = 1;
            count
        })
    }

    /// Takes what such reads gave, and says which of it had not arrived as an event.
    pub(super) fn take_reads(
        &mut self,
        counts: [usize; tm::LINES as usize],
        values: &[u32],
        missed: &mut Vec<(usize, Stamp)>,
    ) {
        let mut words = values.chunks_exact(WORDS);
        for ((number, line), count) in self.0.iter_mut().enumerate().zip(counts) {
            for _ in 0..count {
                let Some(&[info, word_1, time, word_3]) = words.next() else { return };
                let stamp = Stamp { info, word_1, time, word_3 };
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
                    missed.push((number, stamp));
                }
            }
        }
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

    fn read(lines: &mut Lines, counts: [usize; 2], stamps: &[Stamp]) -> Vec<(usize, Stamp)> {
        let mut missed = Vec::new();
        lines.take_reads(counts, &words(stamps), &mut missed);
        missed
    }

    #[test]
    fn event_that_arrived_is_owed_one_read_and_news_once() {
        let mut lines = Lines::default();
        assert!(lines.arrived(0, A));
        let mut batch = Vec::new();
        assert_eq!((lines.owed(), lines.add_reads(&mut batch, 64)), (1, [1, 0]));
        assert_eq!(batch.len(), 4);
        assert_eq!(read(&mut lines, [1, 0], &[A]), []);
        assert_eq!(lines.owed(), 0);
    }

    #[test]
    fn event_whose_interrupt_was_lost_is_found_by_the_read_that_another_was_owed() {
        let mut lines = Lines::default();
        assert!(lines.arrived(0, B));
        assert_eq!(read(&mut lines, [1, 0], &[A]), [(0, A)]);
        assert_eq!(lines.owed(), 1);
    }

    #[test]
    fn event_that_arrives_after_it_was_read_is_no_news() {
        let mut lines = Lines::default();
        assert_eq!(read(&mut lines, [0, 1], &[A]), [(1, A)]);
        assert!(!lines.arrived(1, A));
        assert!(lines.arrived(1, A), "the next one of the same looks is another");
    }

    #[test]
    fn reads_stop_where_the_batch_is_full_and_go_on_with_the_next() {
        let mut lines = Lines::default();
        (0..20).for_each(|time| assert!(lines.arrived(0, Stamp { time, ..A })));
        let mut batch = vec![Operation::Read(EngineOffset(0)); 30];
        assert_eq!(lines.add_reads(&mut batch, 64), [8, 0]);
        assert_eq!(batch.len(), 62);
    }

    #[test]
    fn reads_of_an_empty_line_owe_nothing_any_more() {
        let mut lines = Lines::default();
        assert!(lines.arrived(0, A));
        assert_eq!(read(&mut lines, [1, 0], &[Stamp::default()]), []);
        assert_eq!(lines.owed(), 0);
    }
}
