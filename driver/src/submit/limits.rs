//! Limits of the engine's time for a request and for a user.
//!
//! Shares (`share`) divide the engine's time and refuse nothing. The operator of a daemon may also set limits, for one
//! request and for one user. A file whose request hung kept the engine until the end of that request's time for nothing,
//! so it gets a *penalty*: while other files are there, its next request waits several times as long.

use std::time::Duration;

use crate::clock::Time;

/// The limits of a request and of a user. `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// How long the device may be at one request, which ends with `ETIME` then, a quarter of a second late at most.
    pub request_time: Option<Duration>,
    /// Tasks of one request; one that has more is refused with `E2BIG`.
    pub request_tasks: Option<u32>,
    /// The engine's time that a user has in each [`WINDOW`]; later requests wait for the next window.
    pub user_time: Option<Duration>,
    /// Tasks of a user that wait or run; while there are as many, no further request of the user is
    /// accepted.
    pub user_tasks: Option<u32>,
}

/// How long a user's time is counted together: the limit is so much of each minute.
pub const WINDOW: Duration = Duration::from_secs(60);

/// A file whose request hung waits this many times as long as that request was with the device (Chosen: a file
/// whose requests all hang then has a fifth of the engine at most), and twice as long after each that follows.
const PENALTY_FACTOR: u32 = 4;

/// The longest penalty of a file (Chosen: as long as a user's time is remembered).
const PENALTY_MAX: Duration = Duration::from_secs(60);

/// A user's time in the current window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Quota {
    began: Time,
    used: Duration,
}

impl Quota {
    /// The engine was at a request of the user for so long.
    pub(super) fn charge(&mut self, ran: Duration, now: Time) {
        if now >= self.began.after(WINDOW) {
            *self = Self { began: now, used: Duration::ZERO };
        }
        self.used = self.used.saturating_add(ran);
    }

    /// The end of the user's wait, if there is such a limit and it is exceeded.
    pub(super) fn wait(&self, limit: Option<Duration>, now: Time) -> Option<Time> {
        let end = self.began.after(WINDOW);
        (limit.is_some_and(|limit| self.used >= limit) && now < end).then_some(end)
    }
}

/// The penalty of a file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Penalty {
    /// Requests that hung one after the other.
    hangs: u32,
    until: Time,
}

impl Penalty {
    /// A request hung, after it was with the device for so long.
    pub(super) fn hung(&mut self, ran: Duration, now: Time) {
        let factor = PENALTY_FACTOR.saturating_mul(1_u32.checked_shl(self.hangs).unwrap_or(u32::MAX));
        self.hangs = self.hangs.saturating_add(1);
        self.until = now.after(ran.saturating_mul(factor).min(PENALTY_MAX));
    }

    /// A request ran to its end.
    pub(super) const fn ended_well(&mut self) {
        self.hangs = 0;
    }

    /// Until when, if that is to come.
    pub(super) fn until(&self, now: Time) -> Option<Time> {
        (now < self.until).then_some(self.until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn at(seconds: u64) -> Time {
        Time(seconds * 1_000_000_000)
    }

    #[test]
    fn penalty_doubles_with_each_hang_until_a_request_ends_well() {
        let mut penalty = Penalty::default();
        assert_eq!(penalty.until(at(0)), None);
        penalty.hung(SECOND, at(0));
        assert_eq!((penalty.until(at(3)), penalty.until(at(4))), (Some(at(4)), None));
        penalty.hung(SECOND, at(4));
        assert_eq!(penalty.until(at(5)), Some(at(12)));
        penalty.ended_well();
        penalty.hung(SECOND, at(12));
        assert_eq!(penalty.until(at(12)), Some(at(16)));
        for _ in 0..40 {
            penalty.hung(SECOND * 1000, at(20));
        }
        assert_eq!(penalty.until(at(20)), Some(at(80)), "no file waits for ever");
    }

    #[test]
    fn user_who_had_his_time_waits_for_the_next_window() {
        let mut quota = Quota::default();
        quota.charge(SECOND, at(100));
        assert_eq!((quota.wait(None, at(101)), quota.wait(Some(2 * SECOND), at(101))), (None, None));
        quota.charge(SECOND, at(110));
        assert_eq!(quota.wait(Some(2 * SECOND), at(111)), Some(at(160)));
        assert_eq!(quota.wait(Some(2 * SECOND), at(160)), None);
        quota.charge(SECOND, at(161));
        assert_eq!(quota.wait(Some(2 * SECOND), at(162)), None, "a new window begins empty");
    }
}
