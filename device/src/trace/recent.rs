//! The latest records: a ring beside the timeline, for questions afterwards.
//!
//! A timeline keeps the first events, and drops later ones while it is not drained, as a file needs it. A person who looks at
//! a machine that has run for days needs the last ones. So the thread that drains the timeline puts the records here, where the
//! oldest make room.

use std::collections::VecDeque;
use std::fmt::Write as _;

use super::{Record, Timeline};

#[derive(Debug, Default)]
pub struct Recent {
    records: VecDeque<Record>,
    /// How many records were dropped to make room, here or in the timeline.
    lost: u64,
}

impl Recent {
    /// Records that are kept: as many as a timeline holds, and some six megabytes as text.
    pub const CAPACITY: usize = Timeline::CAPACITY;

    pub fn note(&mut self, records: impl IntoIterator<Item = Record>) {
        for record in records {
            if self.records.len() >= Self::CAPACITY {
                self.records.pop_front();
                self.lost = self.lost.saturating_add(1);
            }
            self.records.push_back(record);
        }
    }

    /// Takes what a timeline has noted, and the number of what it dropped.
    pub fn take(&mut self, timeline: &mut Timeline) {
        self.note(timeline.drain());
        self.miss(timeline.take_lost());
    }

    /// So many more records were dropped before they came here.
    pub const fn miss(&mut self, lost: u64) {
        self.lost = self.lost.saturating_add(lost);
    }

    /// The ring as lines: the number of records that are gone, and each record that is kept.
    pub fn lines(&self) -> String {
        let mut text = format!("lost {}\n", self.lost);
        for record in &self.records {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{record}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use ane_uapi::hw::nid::Nid;
    use ane_uapi::hw::tq::QueueId;

    use super::super::{Clock, Event, Stamp, Task, What};
    use super::*;

    #[test]
    fn oldest_records_make_room_and_are_counted() {
        let task = Task { queue: QueueId::LINUX, nid: Nid::LINUX, index: 0 };
        let event = Event { task, what: What::RequestBegin { tasks: 1 } };
        let mut recent = Recent::default();
        let all = Recent::CAPACITY as u64 + 3;
        recent.note((0..all).map(|time| Record { start: Stamp(time), end: Stamp(time), event }));
        let lines = recent.lines();
        let mut lines = lines.lines();
        assert_eq!(lines.next(), Some("lost 3"));
        assert_eq!(lines.next(), Some("3 3 queue 4 nid 64 task 0 begin 1"));
        assert_eq!(lines.count(), Recent::CAPACITY - 1);
    }

    #[test]
    fn records_that_the_timeline_dropped_are_counted_too() {
        let task = Task { queue: QueueId::LINUX, nid: Nid::LINUX, index: 0 };
        let event = Event { task, what: What::RequestBegin { tasks: 1 } };
        let mut timeline = Timeline::on(Clock::new(|| 0), 3);
        let mut recent = Recent::default();
        (0..10).for_each(|_| timeline.mark(event));
        recent.take(&mut timeline);
        (0..4).for_each(|_| timeline.mark(event));
        recent.take(&mut timeline);
        let lines = recent.lines();
        assert_eq!((lines.lines().next(), lines.lines().count()), (Some("lost 8"), 1 + 6));
    }
}
