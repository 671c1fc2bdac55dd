//! Clocks of timelines: read often while the engine works, and turned into nanoseconds when the records are taken out.
//!
//! A small task takes less than a microsecond and is worth half a dozen readings, so that a clock which asks the system
//! would be a quarter of what it shows. Where the processor has a counter that runs at one rate whatever else it does, that
//! is read instead. The system's clock is asked whenever records are taken out, and what was counted since the last time
//! is spread over the time that has passed: no rate has to be known, and no error outlives the next reading.

use std::fmt;
use std::time::Instant;

/// Nanoseconds from any beginning, never going back.
type Nanoseconds = Box<dyn Fn() -> u64 + Send>;

/// Where a timeline's time comes from.
pub struct Clock {
    nanoseconds: Nanoseconds,
    /// Where the processor's counter and the clock stood together; `None` if the clock itself is read.
    met: Option<Meeting>,
}

/// A counter and a clock, read together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Meeting {
    ticks: u64,
    nanoseconds: u64,
}

/// From readings to nanoseconds, for all of them between two meetings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    from: Meeting,
    to: Meeting,
    /// Nanoseconds of a tick, with [`Scale::FRACTION`] bits behind the point.
    rate: u128,
}

impl Clock {
    /// A clock that is read for each event.
    pub fn new(nanoseconds: impl Fn() -> u64 + Send + 'static) -> Self {
        Self { nanoseconds: Box::new(nanoseconds), met: None }
    }

    /// The host's time since `start`, by the processor's counter if it has a steady one.
    pub fn since(start: Instant) -> Self {
        let mut clock = Self::new(move || u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX));
        clock.met = counter::is_steady().then(|| clock.meeting());
        clock
    }

    /// A reading; [`Clock::scale`] says what it means.
    #[inline]
    pub(super) fn ticks(&self) -> u64 {
        match self.met {
            Some(_) => counter::read(),
            None => (self.nanoseconds)(),
        }
    }

    fn meeting(&self) -> Meeting {
        Meeting { ticks: counter::read(), nanoseconds: (self.nanoseconds)() }
    }

    /// The meaning of every reading since this was last asked.
    pub(super) fn scale(&mut self) -> Scale {
        let Some(from) = self.met else { return Scale::IDENTITY };
        let to = self.meeting();
        self.met = Some(to);
        Scale::between(from, to)
    }
}

impl Scale {
    const FRACTION: u32 = 32;

    /// Readings that are nanoseconds.
    const IDENTITY: Self = Self {
        from: Meeting { ticks: 0, nanoseconds: 0 },
        to: Meeting { ticks: u64::MAX, nanoseconds: u64::MAX },
        rate: 1 << Self::FRACTION,
    };

    fn between(from: Meeting, to: Meeting) -> Self {
        let ticks = u128::from(to.ticks.saturating_sub(from.ticks));
        let nanoseconds = u128::from(to.nanoseconds.saturating_sub(from.nanoseconds));
        Self { from, to, rate: (nanoseconds << Self::FRACTION).div_ceil(ticks.max(1)) }
    }

    /// A reading as nanoseconds; of one that is not between the two meetings, those of the nearer.
    #[inline]
    pub(super) fn nanoseconds(&self, ticks: u64) -> u64 {
        let passed = u128::from(ticks.saturating_sub(self.from.ticks));
        let passed = u64::try_from(passed.saturating_mul(self.rate) >> Self::FRACTION).unwrap_or(u64::MAX);
        self.from.nanoseconds.saturating_add(passed).min(self.to.nanoseconds)
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clock").field("met", &self.met).finish_non_exhaustive()
    }
}

/// The time-stamp counter of x86.
#[cfg(target_arch = "x86_64")]
mod counter {
    use std::arch::x86_64::{__cpuid, _rdtsc};

    /// The leaf that tells of the counter, and its bit.
    const POWER: u32 = 0x8000_0007;
    const INVARIANT: u32 = 1 << 8;

    /// True if it runs at one rate in every state of the processor, and on all processors alike.
    pub(super) fn is_steady() -> bool {
        __cpuid(0x8000_0000).eax >= POWER && __cpuid(POWER).edx & INVARIANT != 0
    }

    #[inline]
    #[expect(unsafe_code, reason = "the counter is read by an instruction of its own")]
    pub(super) fn read() -> u64 {
        // SAFETY: every x86-64 processor has the instruction, and it touches nothing but its result.
        unsafe { _rdtsc() }
    }
}

/// Elsewhere no counter is read.
#[cfg(not(target_arch = "x86_64"))]
mod counter {
    pub(super) const fn is_steady() -> bool {
        false
    }

    pub(super) const fn read() -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ticks: u64, nanoseconds: u64) -> Meeting {
        Meeting { ticks, nanoseconds }
    }

    #[test]
    fn readings_between_two_meetings_are_spread_over_the_time_that_passed() {
        let scale = Scale::between(at(1_000, 500), at(4_000, 1_500));
        assert_eq!([1_000, 2_500, 4_000].map(|ticks| scale.nanoseconds(ticks)), [500, 1_000, 1_500]);
    }

    #[test]
    fn readings_outside_of_the_meetings_are_those_of_the_nearer() {
        let scale = Scale::between(at(1_000, 500), at(4_000, 1_500));
        assert_eq!([0, 999, 4_001, u64::MAX].map(|ticks| scale.nanoseconds(ticks)), [500, 500, 1_500, 1_500]);
    }

    #[test]
    fn counter_that_stands_still_or_goes_back_shows_the_last_meeting() {
        let still = Scale::between(at(7, 500), at(7, 900));
        let back = Scale::between(at(7, 500), at(3, 900));
        assert_eq!([still, back].map(|scale| scale.nanoseconds(7)), [500, 500]);
    }

    #[test]
    fn clock_that_is_read_itself_gives_every_reading_as_it_is() {
        let mut clock = Clock::new(|| u64::MAX);
        let ticks = clock.ticks();
        assert_eq!((clock.scale().nanoseconds(ticks), clock.scale().nanoseconds(12)), (u64::MAX, 12));
    }

    #[test]
    fn host_time_lies_between_two_looks_at_its_clock() {
        let start = Instant::now();
        let mut clock = Clock::since(start);
        let before = start.elapsed();
        let ticks = clock.ticks();
        let after = start.elapsed();
        let shown = u128::from(clock.scale().nanoseconds(ticks));
        // Counter and clock are not read at the same instant.
        let slack = 1_000_000;
        assert!(before.as_nanos() <= shown + slack && shown <= after.as_nanos() + slack, "{shown}");
    }
}
