//! The order of turns: which file goes before which, and which has to wait although the engine could take its request.
//!
//! A client that submits and waits has nothing queued when its request ends, and submits the next one some ten
//! microseconds later. A file with seconds of queued work would begin it in every such gap, and the client would wait
//! for seconds between any two of its requests. So a file that had the engine for more than [`LEAD`] longer than another
//! file waits while that one's request runs, and for a moment after it ([`BACK_SOON`]). That moment counts as time of the
//! other file, so a client that comes seldom does not keep the engine for itself either: each of two gets half.

use std::time::Duration;

use super::Shares;
use super::account::{Account, BACK_SOON, nanoseconds};
use crate::clock::Time;
use crate::front::FileId;

/// A file may be ahead of another one by this much before it waits for that one (Chosen: a hundred usual requests).
const LEAD: Duration = Duration::from_millis(10);

/// A file that hung has to wait for the sake of files that had a request within this time (Chosen: a person would say that
/// such a client is at work).
const AT_WORK: Duration = Duration::from_secs(10);

/// Why a file does not begin although the engine could take its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// Requests of it hung.
    Hung,
    /// The file's user has used up the engine's time for this minute.
    Quota,
}

impl Shares {
    /// The order of turns: a file that had less of the engine's time goes first. Differences below [`LEAD`] do not count.
    pub(crate) fn rank(&self, file: FileId) -> (u64, u64) {
        let steps = |used: u64| used.checked_div(nanoseconds(LEAD)).unwrap_or_default();
        let Some((user, account)) = self.files.get(&file) else { return (0, 0) };
        let user = self.users.get(user).map_or(0, |account| account.used);
        (steps(user), steps(account.used))
    }

    /// The time until which a file may not begin, because a file that had less is expected soon. `None`: it may begin now.
    pub(crate) fn wait(&self, file: FileId, now: Time) -> Option<Time> {
        if let Some((until, _)) = self.held(file, now) {
            return Some(until);
        }
        self.awaited(file, now).map(|awaited| match self.files.get(&awaited) {
            Some((_, account)) if account.running == 0 => account.left.after(BACK_SOON),
            // The end of its request says so.
            _ => Time::NEVER,
        })
    }

    /// The file that this file has to wait for.
    pub(super) fn awaited(&self, file: FileId, now: Time) -> Option<FileId> {
        let &(user, account) = self.files.get(&file)?;
        let total = self.users.get(&user)?.used;
        let is_behind = |other: u64, own: u64| other.saturating_add(nanoseconds(LEAD)) < own;
        let mut others = self.expected.iter().copied().filter(|&other| other != file);
        others.find(|other| {
            let Some((owner, other)) = self.files.get(other) else { return false };
            other.is_awaited(now)
                && if *owner == user {
                    is_behind(other.used, account.used)
                } else {
                    self.users.get(owner).is_some_and(|other| is_behind(other.used, total))
                }
        })
    }

    /// True if a file that waits goes before one whose request has had the engine for so long in this turn: its user had no
    /// more so far, or, if the user is the same, the file had no more.
    pub(crate) fn goes_before(&self, file: FileId, holder: FileId, ran: Duration) -> bool {
        let (Some((user, own)), Some((other, others))) = (self.files.get(&file), self.files.get(&holder))
        else {
            return false;
        };
        let had = |user: &u32| self.users.get(user).map_or(0, |account| account.used);
        let (own, others) = if user == other { (own.used, others.used) } else { (had(user), had(other)) };
        own <= others.saturating_add(nanoseconds(ran))
    }

    /// Until when a file is held back whatever the engine does, and why.
    pub(crate) fn held(&self, file: FileId, now: Time) -> Option<(Time, Held)> {
        let (user, account) = self.files.get(&file)?;
        let is_at_work = |other: &Account| other.requests > 0 || now < other.left.after(AT_WORK);
        let has_others = || self.files.iter().any(|(other, (_, had))| *other != file && is_at_work(had));
        let penalty = account.penalty.until(now).filter(|_| has_others()).map(|until| (until, Held::Hung));
        let quota = self.users.get(user).and_then(|user| user.quota.wait(self.limits.user_time, now));
        penalty.into_iter().chain(quota.map(|until| (until, Held::Quota))).max_by_key(|(until, _)| *until)
    }
}
