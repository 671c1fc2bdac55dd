//! The deadline: a queue that gets nowhere is aborted.
//!
//! Firmware aborts a stuck queue after about two seconds; the hardware itself watches nothing (facts E.5).
//! Here the device does it, in the time that it is handed. Two clocks run for a request, and either ends it:
//! the time since a task of it last ended, and the time that its tasks would have taken on the chip. The first
//! catches what is stuck, the second a chain that loops, and with it a request that would have taken as long on the chip.
//! How long the model takes to compute counts for neither, so a slow host aborts no program. The second clock is virtual time ([`crate::timing`]); with the timing model off it
//! stands still, and a chain that loops ends with the request's count of tasks, at most 65535.

use crate::time::{TICKS_PER_SECOND, Ticks};

/// How long a queue may get nowhere: two seconds.
pub const DEADLINE: Ticks = Ticks(2 * TICKS_PER_SECOND);

/// The two clocks of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch {
    progress: Ticks,
    spent: Ticks,
}

impl Watch {
    pub const fn start(now: Ticks) -> Self {
        Self { progress: now, spent: Ticks::ZERO }
    }

    /// A task has ended, and would have taken `cost` on the chip.
    pub const fn advance(&mut self, now: Ticks, cost: Ticks) {
        self.progress = now;
        self.spent = self.spent.saturating_add(cost);
    }

    /// It goes on after it waited for the driver.
    pub const fn resume(&mut self, now: Ticks) {
        self.progress = now;
    }

    /// The time that its tasks would have taken on the chip so far.
    pub const fn spent(&self) -> Ticks {
        self.spent
    }

    /// When the request is aborted if nothing happens until then.
    pub const fn expires(&self) -> Ticks {
        self.progress.saturating_add(DEADLINE)
    }

    /// True if no task has ended for too long.
    pub fn is_late(&self, now: Ticks) -> bool {
        now >= self.expires()
    }

    /// True if its tasks would have taken too long on the chip.
    pub fn is_spent(&self) -> bool {
        self.spent >= DEADLINE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_without_progress_is_late_after_two_seconds_and_not_before() {
        let watch = Watch::start(Ticks(100));
        assert!(!watch.is_late(Ticks(48_000_099)));
        assert!(watch.is_late(Ticks(48_000_100)));
    }

    #[test]
    fn progress_starts_the_first_clock_anew_and_adds_to_the_second() {
        let mut watch = Watch::start(Ticks(0));
        watch.advance(Ticks(47_000_000), Ticks(DEADLINE.0 / 2));
        assert!(!watch.is_late(Ticks(48_000_000)) && !watch.is_spent());
        watch.advance(Ticks(47_000_001), Ticks(DEADLINE.0 / 2));
        assert!(watch.is_spent());
    }
}
