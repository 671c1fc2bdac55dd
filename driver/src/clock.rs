//! The driver's clock: the time that deadlines, time-outs, idle limits and the recovery park are measured in.
//!
//! The clock is handed in when the device is probed, and a test hands in a clock that it sets itself. Only what waits for
//! hardware that answers at once, or never, asks the system itself: the mover's end, an answer on the rings, and the reset
//! of a PCI function.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// A point in time: nanoseconds since some start that stays the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    pub const NEVER: Self = Self(u64::MAX);

    /// A client's point in time: what lies before the clock's start has passed, and `INT64_MAX` never comes.
    pub const fn from_client(nanoseconds: i64) -> Self {
        match nanoseconds {
            i64::MAX => Self::NEVER,
            ..0 => Self(0),
            _ => Self(nanoseconds.unsigned_abs()),
        }
    }

    pub fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// How long ago `earlier` was; nothing if it is still to come.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

pub trait Clock: Send {
    /// The time now; it never goes back.
    fn now(&self) -> Time;
}

/// The system's monotonic clock, `CLOCK_MONOTONIC`: clients on the same machine may read it themselves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Monotonic;

impl Clock for Monotonic {
    fn now(&self) -> Time {
        // The clock exists on every Linux; a system without it has no time that passes.
        let now = clock_gettime(ClockId::CLOCK_MONOTONIC).map(Duration::from).unwrap_or_default();
        Time(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX))
    }
}

/// A clock that stands still until it is wound. Clones are the same clock.
#[derive(Clone, Debug, Default)]
pub struct Manual(Arc<AtomicU64>);

impl Manual {
    pub fn advance(&self, span: Duration) {
        self.0.fetch_add(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

impl Clock for Manual {
    fn now(&self) -> Time {
        Time(self.0.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manual_clock_stands_still_until_it_is_wound() {
        let clock = Manual::default();
        let other = clock.clone();
        assert_eq!(clock.now(), Time(0));
        other.advance(Duration::from_millis(3));
        assert_eq!(clock.now(), Time(3_000_000));
    }

    #[test]
    fn time_before_the_start_of_a_span_is_no_time() {
        assert_eq!(Time(5).since(Time(7)), Duration::ZERO);
        assert_eq!(Time::NEVER.after(Duration::from_secs(1)), Time::NEVER);
    }
}
