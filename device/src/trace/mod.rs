//! The timeline: what the engine did, when, and for how long.
//!
//! A driver's author who wonders where a request's time went wants to see it: which descriptor was fetched, which
//! circuit moved how many bytes, which pass computed meanwhile. The device notes spans of time as it works, a sink takes
//! them out now and then, and [`chrome`] writes them in a form that trace viewers open.
//!
//! A timeline is off unless somebody turns it on, and then costs one branch for each event. It asks a clock that it was
//! handed; nothing in here knows what time it is. Its buffer is bounded: if it is not drained, every later event is
//! dropped and counted.
//!
//! A task does one thing after the other, and the timeline shows that: each event lasts from the end of the one
//! before. Steps too short to be worth an event (the plan of a task, the look at the pages of its result) are part of what
//! follows them.
//!
//! * [`Timeline`]: the buffer.
//! * [`clock`]: where the time comes from.
//! * [`event`]: what can be noted.
//! * [`chrome`]: the file.
//! * [`text_line`] and [`recent`]: what happened last, told to another process.

pub mod chrome;
pub mod clock;
pub mod event;
pub mod recent;
pub mod text_line;

pub use self::clock::Clock;
pub use self::event::{Event, Task, What};
pub use self::recent::Recent;

/// A point in time, in nanoseconds of the timeline's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp(pub u64);

/// An event with the time that it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    pub start: Stamp,
    /// When it ended; the same for what takes no time.
    pub end: Stamp,
    pub event: Event,
}

const _: () = assert!(Timeline::CAPACITY * size_of::<Record>() <= 4 << 20);

/// The events with their times, if the timeline is on.
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

#[derive(Debug)]
struct Recording {
    clock: Clock,
    /// The records. Stamps are readings of the clock until they are drained, but for those of the timing model.
    records: Vec<Record>,
    capacity: usize,
    lost: u64,
    /// When the event ended that was noted last.
    latest: Stamp,
    /// Where the time of the timing model began at the last reset.
    model_begin: Stamp,
    /// The latest end of what was noted in that time.
    model_end: Stamp,
}

impl Timeline {
    /// Records that a timeline holds unless told otherwise: a hundred requests of a hundred tasks, in four megabytes.
    pub const CAPACITY: usize = 1 << 16;

    pub const fn off() -> Self {
        Self { recording: None }
    }

    /// A timeline that is on, and holds `capacity` records until they are drained.
    pub fn on(clock: Clock, capacity: usize) -> Self {
        let latest = Stamp(clock.ticks());
        let (records, lost) = (Vec::new(), 0);
        let (model_begin, model_end) = (Stamp(0), Stamp(0));
        let recording = Recording { clock, records, capacity, lost, latest, model_begin, model_end };
        Self { recording: Some(Box::new(recording)) }
    }

    /// The same timeline with the time of the timing model beginning at `begin`: behind what an earlier one has in a file.
    #[must_use]
    pub fn with_model_from(mut self, begin: Stamp) -> Self {
        if let Some(recording) = &mut self.recording {
            (recording.model_begin, recording.model_end) = (begin, begin);
        }
        self
    }

    /// The device was reset: the timing model counts from zero again, and is shown behind what there is of it.
    pub(crate) fn restart_model(&mut self) {
        if let Some(recording) = &mut self.recording {
            recording.model_begin = recording.model_end;
        }
    }

    pub const fn is_on(&self) -> bool {
        self.recording.is_some()
    }

    /// True if it is half full, so that it should be drained.
    pub fn is_filling_up(&self) -> bool {
        self.recording.as_ref().is_some_and(|recording| recording.records.len() >= recording.capacity / 2)
    }

    /// Something begins now; the next span lasts from here.
    #[inline]
    pub fn begin(&mut self) {
        if let Some(recording) = &mut self.recording {
            recording.read();
        }
    }

    /// Notes an event that ends now, and began where the one before ended.
    #[inline]
    pub fn span(&mut self, event: Event) {
        if let Some(recording) = &mut self.recording {
            let start = recording.latest;
            let end = recording.read();
            recording.push(Record { start, end, event });
        }
    }

    /// Notes an event that happens now and takes no time.
    #[inline]
    pub fn mark(&mut self, event: Event) {
        if let Some(recording) = &mut self.recording {
            let now = recording.read();
            recording.push(Record { start: now, end: now, event });
        }
    }

    /// Notes an event in the time of the timing model since the last reset, which is no reading of the clock.
    #[inline]
    pub fn place(&mut self, start: Stamp, end: Stamp, event: Event) {
        if let Some(recording) = &mut self.recording {
            let begin = recording.model_begin.0;
            let [start, end] = [start, end].map(|at| Stamp(begin.saturating_add(at.0)));
            recording.model_end = recording.model_end.max(end);
            recording.push(Record { start, end, event });
        }
    }

    /// Takes out what was noted, in the order in which it ended.
    pub fn drain(&mut self) -> impl Iterator<Item = Record> {
        self.recording.as_mut().into_iter().flat_map(|recording| {
            let scale = recording.clock.scale();
            recording.records.drain(..).map(move |record| match record.event.what {
                What::Modelled { .. } => record,
                _ => {
                    let [start, end] = [record.start, record.end].map(|at| Stamp(scale.nanoseconds(at.0)));
                    Record { start, end, ..record }
                }
            })
        })
    }

    /// The number of events that were dropped since this was last asked, because the buffer was not drained.
    pub fn take_lost(&mut self) -> u64 {
        self.recording.as_mut().map_or(0, |recording| std::mem::take(&mut recording.lost))
    }
}

impl Recording {
    /// The time, which never goes back.
    #[inline]
    fn read(&mut self) -> Stamp {
        self.latest = self.latest.max(Stamp(self.clock.ticks()));
        self.latest
    }

    #[inline]
    fn push(&mut self, record: Record) {
        if self.records.len() >= self.capacity {
            self.lost = self.lost.saturating_add(1);
            return;
        }
        self.records.push(record);
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
        (time, Clock::new(move || shown.load(Ordering::Relaxed)))
    }

    #[test]
    fn timeline_that_is_off_keeps_nothing() {
        let mut timeline = Timeline::off();
        timeline.begin();
        timeline.span(fetch(1));
        timeline.mark(fetch(2));
        assert_eq!((timeline.is_on(), timeline.drain().count(), timeline.take_lost()), (false, 0, 0));
    }

    #[test]
    fn span_lasts_from_the_end_of_the_one_before_to_the_moment_it_is_noted() {
        let (time, clock) = clock();
        let mut timeline = Timeline::on(clock, 8);
        time.store(70, Ordering::Relaxed);
        timeline.begin();
        time.store(95, Ordering::Relaxed);
        timeline.span(fetch(1));
        time.store(99, Ordering::Relaxed);
        timeline.span(fetch(2));
        let records: Vec<_> = timeline.drain().collect();
        let of = |start, end, bytes| Record { start: Stamp(start), end: Stamp(end), event: fetch(bytes) };
        assert_eq!(records, [of(70, 95, 1), of(95, 99, 2)]);
        assert_eq!(timeline.drain().count(), 0, "taken out once");
    }

    #[test]
    fn full_buffer_keeps_the_first_events_and_counts_the_others() {
        let (_, clock) = clock();
        let mut timeline = Timeline::on(clock, 3);
        (0..10).for_each(|bytes| timeline.mark(fetch(bytes)));
        assert_eq!((timeline.take_lost(), timeline.take_lost()), (7, 0), "told once");
        let kept: Vec<_> = timeline.drain().map(|record| record.event).collect();
        assert_eq!(kept, [fetch(0), fetch(1), fetch(2)]);
        timeline.mark(fetch(10));
        assert_eq!((timeline.drain().count(), timeline.take_lost()), (1, 0), "there is room again");
    }

    #[test]
    fn clock_that_goes_back_makes_a_span_without_length() {
        let (time, clock) = clock();
        let mut timeline = Timeline::on(clock, 1);
        time.store(500, Ordering::Relaxed);
        timeline.begin();
        time.store(0, Ordering::Relaxed);
        timeline.span(fetch(1));
        assert_eq!(
            timeline.drain().next().map(|record| (record.start, record.end)),
            Some((Stamp(500), Stamp(500)))
        );
    }

    #[test]
    fn model_goes_on_behind_what_it_noted_before_a_reset() {
        let what = What::Modelled { part: crate::timing::phases::Part::Array, cycles: 1 };
        let mut timeline = Timeline::on(Clock::new(|| 0), 8).with_model_from(Stamp(1000));
        let place = |timeline: &mut Timeline, start, end| {
            timeline.place(Stamp(start), Stamp(end), Event { what, ..fetch(0) });
        };
        place(&mut timeline, 0, 70);
        place(&mut timeline, 20, 50);
        timeline.restart_model();
        place(&mut timeline, 0, 30);
        let placed: Vec<_> = timeline.drain().map(|record| (record.start.0, record.end.0)).collect();
        assert_eq!(placed, [(1000, 1070), (1020, 1050), (1070, 1100)]);
    }

    #[test]
    fn time_of_the_model_is_no_reading_of_the_clock() {
        let mut timeline = Timeline::on(Clock::since(std::time::Instant::now()), 1);
        let what = What::Modelled { part: crate::timing::phases::Part::Array, cycles: 1 };
        timeline.place(Stamp(1 << 60), Stamp(1 << 61), Event { what, ..fetch(0) });
        let placed = timeline.drain().next().map(|record| (record.start, record.end));
        assert_eq!(placed, Some((Stamp(1 << 60), Stamp(1 << 61))));
    }
}
