//! The timeline: what the engine did, when, and for how long.
//!
//! A driver's author who wonders where a request's time went wants to see it: which descriptor was fetched, which
//! circuit moved how many bytes, which pass computed meanwhile. The device notes spans of time as it works, a sink takes
//! them out now and then, and [`chrome`] writes them in a form that trace viewers open.
//!
//! A timeline is off unless somebody turns it on, and then costs one branch for each event. It asks a clock that it was
//! handed; nothing in here knows what time it is. Its buffer is bounded: if nobody drains it, what comes next is
//! dropped and counted.
//!
//! * [`Timeline`]: the buffer.
//! * [`event`]: what can be noted.
//! * [`chrome`]: the file.
//! * [`line`] and [`recent`]: what happened last, told to another process.

pub mod chrome;
pub mod event;
pub mod line;
pub mod recent;

use std::collections::VecDeque;
use std::fmt;

pub use self::event::{Event, Task, What};
pub use self::recent::Recent;

/// Where the time comes from: nanoseconds from any beginning, never going back.
pub type Clock = Box<dyn Fn() -> u64 + Send>;

/// A point in time, in nanoseconds of the timeline's clock; 0 while the timeline is off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp(pub u64);

/// An event with the time that it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When it began.
    pub start: Stamp,
    /// When it ended; the same for what takes no time.
    pub end: Stamp,
    /// What it was.
    pub event: Event,
}

const _: () = assert!(Timeline::CAPACITY * size_of::<Record>() <= 4 << 20);

/// What happened when, if anybody wants to know.
///
/// # Examples
///
/// ```
/// use ane_device::trace::Timeline;
///
/// let timeline = Timeline::default();
/// assert!(!timeline.is_on());
/// ```
#[derive(Debug, Default)]
pub struct Timeline {
    recording: Option<Box<Recording>>,
}

struct Recording {
    clock: Clock,
    records: VecDeque<Record>,
    capacity: usize,
    lost: u64,
}

impl Timeline {
    /// Records that a timeline holds unless told otherwise: a hundred requests of a hundred tasks, in four megabytes.
    pub const CAPACITY: usize = 1 << 16;

    /// A timeline that is off.
    pub const fn off() -> Self {
        Self { recording: None }
    }

    /// A timeline that is on, and holds `capacity` records until they are drained.
    pub fn on(clock: Clock, capacity: usize) -> Self {
        Self { recording: Some(Box::new(Recording { clock, records: VecDeque::new(), capacity, lost: 0 })) }
    }

    /// True if events are kept.
    pub const fn is_on(&self) -> bool {
        self.recording.is_some()
    }

    /// True if it is half full: somebody had better drain it.
    pub fn is_filling_up(&self) -> bool {
        self.recording.as_ref().is_some_and(|recording| recording.records.len() >= recording.capacity / 2)
    }

    /// The time, for the start of a span.
    #[inline]
    pub fn now(&self) -> Stamp {
        match &self.recording {
            Some(recording) => recording.now(),
            None => Stamp(0),
        }
    }

    /// Notes an event that began at `start` and ends now.
    #[inline]
    pub fn span(&mut self, start: Stamp, event: Event) {
        if let Some(recording) = &mut self.recording {
            recording.keep(Some(start), event);
        }
    }

    /// Notes an event that takes no time.
    #[inline]
    pub fn mark(&mut self, event: Event) {
        if let Some(recording) = &mut self.recording {
            recording.keep(None, event);
        }
    }

    /// Notes an event at times that are no reading of the clock: those of the timing model.
    #[inline]
    pub fn place(&mut self, start: Stamp, end: Stamp, event: Event) {
        if let Some(recording) = &mut self.recording {
            recording.push(Record { start, end, event });
        }
    }

    /// Takes out what was noted, in the order in which it ended.
    pub fn drain(&mut self) -> impl Iterator<Item = Record> {
        self.recording.as_mut().into_iter().flat_map(|recording| recording.records.drain(..))
    }

    /// How many events were dropped because nobody drained the buffer.
    pub fn lost(&self) -> u64 {
        self.recording.as_ref().map_or(0, |recording| recording.lost)
    }
}

impl Recording {
    fn now(&self) -> Stamp {
        Stamp((self.clock)())
    }

    fn keep(&mut self, start: Option<Stamp>, event: Event) {
        let end = self.now();
        self.push(Record { start: start.unwrap_or(end).min(end), end, event });
    }

    fn push(&mut self, record: Record) {
        if self.records.len() >= self.capacity {
            self.lost = self.lost.saturating_add(1);
            return;
        }
        self.records.push_back(record);
    }
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { clock: _, records, capacity, lost } = self;
        f.debug_struct("Recording")
            .field("records", &records.len())
            .field("capacity", capacity)
            .field("lost", lost)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use ane_uapi::hw::nid::Nid;
    use ane_uapi::hw::tq::QueueId;

    use super::*;
    use crate::dart::Circuit;

    fn fetch(bytes: u64) -> Event {
        let task = Task { queue: QueueId::LINUX, nid: Nid::LINUX, index: 0 };
        Event { task, what: What::Transfer { circuit: Circuit::TdFetch, bytes } }
    }

    /// A clock that somebody else moves.
    fn clock() -> (Arc<AtomicU64>, Clock) {
        let time = Arc::new(AtomicU64::new(0));
        let shown = Arc::clone(&time);
        (time, Box::new(move || shown.load(Ordering::Relaxed)))
    }

    #[test]
    fn timeline_that_is_off_keeps_nothing_and_shows_no_time() {
        let mut timeline = Timeline::off();
        timeline.span(timeline.now(), fetch(1));
        timeline.mark(fetch(2));
        assert_eq!((timeline.now(), timeline.drain().count(), timeline.lost()), (Stamp(0), 0, 0));
    }

    #[test]
    fn span_lasts_from_its_stamp_to_the_moment_it_is_noted() {
        let (time, clock) = clock();
        let mut timeline = Timeline::on(clock, 8);
        time.store(70, Ordering::Relaxed);
        let start = timeline.now();
        time.store(95, Ordering::Relaxed);
        timeline.span(start, fetch(1));
        let records: Vec<_> = timeline.drain().collect();
        assert_eq!(records, [Record { start: Stamp(70), end: Stamp(95), event: fetch(1) }]);
        assert_eq!(timeline.drain().count(), 0, "taken out once");
    }

    #[test]
    fn full_buffer_keeps_the_first_events_and_counts_the_others() {
        let (_, clock) = clock();
        let mut timeline = Timeline::on(clock, 3);
        (0..10).for_each(|bytes| timeline.mark(fetch(bytes)));
        assert_eq!(timeline.lost(), 7);
        let kept: Vec<_> = timeline.drain().map(|record| record.event).collect();
        assert_eq!(kept, [fetch(0), fetch(1), fetch(2)]);
        timeline.mark(fetch(10));
        assert_eq!((timeline.drain().count(), timeline.lost()), (1, 7), "there is room again");
    }

    #[test]
    fn stamp_from_the_future_makes_a_span_without_length() {
        let (_, clock) = clock();
        let mut timeline = Timeline::on(clock, 1);
        timeline.span(Stamp(500), fetch(1));
        assert_eq!(
            timeline.drain().next().map(|record| (record.start, record.end)),
            Some((Stamp(0), Stamp(0)))
        );
    }
}
