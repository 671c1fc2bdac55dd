//! The engine's time of one user or one file, and whether it is present.

use std::time::Duration;

use crate::clock::Time;
use crate::submit::limits::{Penalty, Quota};

/// How long after the end of its last request a client is expected with the next (Chosen: it takes a few wake-ups, on a
/// machine that is busy).
pub(super) const BACK_SOON: Duration = Duration::from_millis(2);

/// The requests of one user or one file, and the time that they had.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Account {
    /// Nanoseconds of the engine's time.
    pub(super) used: u64,
    /// Requests that have not ended.
    pub(super) requests: u32,
    /// Requests that are with the device.
    pub(super) running: u32,
    pub(super) tasks: u64,
    /// When the last one ended.
    pub(super) left: Time,
    /// For a user: the smallest time of a present file. It never falls.
    pub(super) floor: u64,
    /// For a user: the time in this minute.
    pub(super) quota: Quota,
    /// For a file: how long it has to wait because its requests hung. For a user: the value for the next file.
    pub(super) penalty: Penalty,
}

impl Account {
    /// True while it has something to do, or is expected to.
    pub(super) fn is_present(&self, now: Time) -> bool {
        self.requests > 0 || now < self.left.after(BACK_SOON)
    }

    /// True if it will soon have something for the engine that is not queued yet. A file that is ahead waits for that.
    pub(super) fn is_awaited(&self, now: Time) -> bool {
        self.running > 0 || self.requests == 0 && now < self.left.after(BACK_SOON)
    }

    /// True if it is awaited, or may be without another request of it that starts or ends.
    pub(super) fn may_be_awaited(&self, now: Time) -> bool {
        self.running > 0 || now < self.left.after(BACK_SOON)
    }

    pub(super) fn charge(&mut self, time: Duration) {
        self.used = self.used.saturating_add(nanoseconds(time));
    }

    /// Counts one more request of so many tasks. After a rest the account starts at the time that the others had.
    pub(super) fn submitted(&mut self, tasks: u16, now: Time, others: u64) {
        if !self.is_present(now) {
            self.used = self.used.max(others);
        }
        self.requests = self.requests.saturating_add(1);
        self.tasks = self.tasks.saturating_add(tasks.into());
    }

    pub(super) fn ended(&mut self, tasks: u16, ran: Option<Duration>, now: Time) {
        if let Some(ran) = ran {
            self.charge(ran);
            self.quota.charge(ran, now);
            self.running = self.running.saturating_sub(1);
        }
        self.requests = self.requests.saturating_sub(1);
        self.tasks = self.tasks.saturating_sub(tasks.into());
        self.left = now;
    }
}

pub(super) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
