//! Time as the device knows it: ticks of one free-running 24 MHz clock.
//!
//! Every event carries a stamp of this clock, four words of the coprocessor's range show it, and deadlines are
//! measured in it. The library never asks what time it is: the caller passes it, from a monotonic clock in a
//! daemon and from a counter in a test.

use std::time::Duration;

use ane_uapi::hw::tm;

use crate::halves::halves;

/// Ticks in one second (facts M, X-10: the "24Hz" of seed 004 is 24 MHz).
pub const TICKS_PER_SECOND: u64 = 24_000_000;

const _: () = assert!(TICKS_PER_SECOND == tm::TIMESTAMP_HZ as u64);

const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;

/// A point in time, or a span of it, in ticks since the device was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticks(pub u64);

impl Ticks {
    pub const ZERO: Self = Self(0);

    /// A time that is never reached.
    pub const NEVER: Self = Self(u64::MAX);

    /// The whole ticks in `nanoseconds`.
    ///
    /// # Examples
    ///
    /// ```
    /// use ane_device::time::Ticks;
    ///
    /// assert_eq!(Ticks::from_nanoseconds(1_000), Ticks(24));
    /// ```
    pub const fn from_nanoseconds(nanoseconds: u64) -> Self {
        // Split, so that each product stays below 2^64 for every argument: nothing here ever saturates.
        let seconds = nanoseconds / NANOSECONDS_PER_SECOND;
        let rest = nanoseconds % NANOSECONDS_PER_SECOND;
        let whole = seconds.saturating_mul(TICKS_PER_SECOND);
        Self(whole.saturating_add(rest.saturating_mul(TICKS_PER_SECOND) / NANOSECONDS_PER_SECOND))
    }

    /// The ticks in `milliseconds`; the end of time if there are too many.
    pub const fn from_milliseconds(milliseconds: u64) -> Self {
        Self(milliseconds.saturating_mul(TICKS_PER_SECOND / 1_000))
    }

    /// The span as the system knows it, rounded up. More than a day is a day: longer than any deadline, and far from what does not fit.
    pub const fn to_duration(self) -> Duration {
        const DAY: u64 = 86_400 * TICKS_PER_SECOND;
        // Three ticks are 125 nanoseconds.
        const { assert!(TICKS_PER_SECOND * 125 == 3 * NANOSECONDS_PER_SECOND) };
        let span = if self.0 < DAY { self.0 } else { DAY };
        Duration::from_nanos(span.saturating_mul(125).div_ceil(3))
    }

    /// This much later, or the end of time.
    #[must_use]
    pub const fn saturating_add(self, span: Self) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// The span since `earlier`; nothing if that is later.
    #[must_use]
    pub const fn saturating_sub(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }

    pub const fn low(self) -> u32 {
        halves(self.0).0
    }

    pub const fn high(self) -> u32 {
        halves(self.0).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn span_is_rounded_up_and_is_a_day_at_most() {
        let nanoseconds = |ticks| Ticks(ticks).to_duration().as_nanos();
        assert_eq!([0, 1, 2, 3].map(nanoseconds), [0, 42, 84, 125]);
        assert_eq!(nanoseconds(u64::MAX), 86_400_000_000_000);
    }

    #[test]
    fn conversion_of_any_number_of_nanoseconds_neither_wraps_nor_rounds_up() {
        for nanoseconds in [0, 41, 42, 999_999_999, 1_000_000_000, u64::MAX] {
            let exact = u128::from(nanoseconds) * u128::from(TICKS_PER_SECOND) / 1_000_000_000;
            assert_eq!(u128::from(Ticks::from_nanoseconds(nanoseconds).0), exact, "{nanoseconds} ns");
        }
    }

    #[test]
    fn sum_beyond_the_end_of_time_stays_there() {
        assert_eq!(Ticks(u64::MAX - 1).saturating_add(Ticks(5)), Ticks::NEVER);
    }

    #[test]
    fn words_of_a_time_are_its_halves() {
        let time = Ticks(0x0123_4567_89ab_cdef);
        assert_eq!((time.high(), time.low()), (0x0123_4567, 0x89ab_cdef));
    }
}
