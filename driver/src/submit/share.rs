//! Shares of the engine's time.
//!
//! The engine runs one request at a time, and a request may run for seconds. So the time that each user and file had so far
//! decides which request starts next: users share the engine equally, and each user's files share the user's part. A file
//! that had less goes first; files that had about as much take turns.
//!
//! Time cannot be saved up: a user who comes after a rest starts where the others are, or where the last of them was.
//! So the time that a user had while alone does not count later. Users are told apart by their credentials, which the
//! front knows for certain, so more files or processes give no more time.
//!
//! * this file: the time of all users and files, request by request.
//! * `account`: the time that one of them had.
//! * `order`: the file that goes first, and the files that wait for another.

mod account;
mod order;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use self::account::Account;
use super::limits::Limits;
use crate::clock::Time;
use crate::front::FileId;

pub(crate) use self::order::Held;

/// How long a user's time is remembered after the last file was closed, so that reopening does not reset it.
const REMEMBERED: Duration = Duration::from_secs(60);

/// The engine's time, as each file and user had it.
#[derive(Debug, Default)]
pub(crate) struct Shares {
    users: BTreeMap<u32, Account>,
    files: BTreeMap<FileId, (u32, Account)>,
    /// The files that another one may have to wait for, and perhaps some more: those with a request on the device, and those
    /// whose last one ended a moment ago. They are few, however many files there are.
    expected: BTreeSet<FileId>,
    /// The least time of a user, among those who were there last. It never falls.
    floor: u64,
    /// When the last request left the engine.
    free_since: Time,
    work: Work,
    /// The engine waits for this file since then.
    kept: Option<(FileId, Time)>,
    limits: Limits,
}

/// The engine's time for all files together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Work {
    /// Time with at least one request on the device.
    pub(crate) busy: Duration,
    /// Requests that were on the device and ended, well or not.
    pub(crate) jobs: u64,
}

/// Since when a request runs that ends.
pub(crate) type Since = Option<Time>;

impl Shares {
    pub(crate) const fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) const fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// When the last request left the engine: what is first in its queue has been at work since, or since it came.
    pub(crate) const fn free_since(&self) -> Time {
        self.free_since
    }

    /// The work so far. `since` is when the oldest of the requests came that are on the device.
    pub(crate) fn work(&self, since: Since, now: Time) -> Work {
        let busy = since.map_or(Duration::ZERO, |since| now.since(since.max(self.free_since)));
        Work { busy: self.work.busy.saturating_add(busy), ..self.work }
    }

    pub(crate) fn opened(&mut self, file: FileId, user: u32) {
        let penalty = self.users.entry(user).or_default().penalty;
        self.files.insert(file, (user, Account { penalty, ..Account::default() }));
    }

    /// A file that is gone.
    pub(crate) fn closed(&mut self, file: FileId, now: Time) {
        self.files.remove(&file);
        self.expected.remove(&file);
        let owners: BTreeSet<u32> = self.files.values().map(|(owner, _)| *owner).collect();
        self.users.retain(|user, account| now < account.left.after(REMEMBERED) || owners.contains(user));
    }

    /// A request of so many tasks waits for its turn.
    pub(crate) fn submitted(&mut self, file: FileId, tasks: u16, now: Time) {
        let Some(&(user, _)) = self.files.get(&file) else { return };
        let siblings = self
            .files
            .iter()
            .filter(|(other, (owner, account))| **other != file && *owner == user && account.is_present(now));
        let floor = self.users.get(&user).map_or(0, |user| user.floor);
        let least = siblings.map(|(_, (_, account))| account.used).min().unwrap_or(floor);
        if let Some((_, account)) = self.files.get_mut(&file) {
            account.submitted(tasks, now, least);
        }
        let others = self.users.iter().filter(|(other, account)| **other != user && account.is_present(now));
        let least = others.map(|(_, account)| account.used).min().unwrap_or(self.floor);
        if let Some(account) = self.users.get_mut(&user) {
            account.submitted(tasks, now, least);
        }
    }

    /// A request went to the device.
    pub(crate) fn started(&mut self, file: FileId) {
        self.expected.insert(file);
        self.for_both(file, |account| account.running = account.running.saturating_add(1));
    }

    /// A request gave way after it was with the device since then. Returns its time on the engine.
    pub(crate) fn gave_way(&mut self, file: FileId, since: Time, now: Time) -> Duration {
        let ran = now.since(since.max(self.free_since));
        self.work.busy = self.work.busy.saturating_add(ran);
        self.free_since = now;
        self.for_both(file, |account| {
            account.charge(ran);
            account.quota.charge(ran, now);
            account.running = account.running.saturating_sub(1);
        });
        self.raise_floors(file, now);
        ran
    }

    /// It came back without having run.
    pub(crate) fn returned(&mut self, file: FileId) {
        self.for_both(file, |account| account.running = account.running.saturating_sub(1));
    }

    /// A request ended; it was with the device since then, behind those that were there already.
    pub(crate) fn ended(&mut self, file: FileId, tasks: u16, since: Since, now: Time) {
        let ran = since.map(|since| now.since(since.max(self.free_since)));
        if let Some(ran) = ran {
            self.work.busy = self.work.busy.saturating_add(ran);
            self.work.jobs = self.work.jobs.saturating_add(1);
            self.free_since = now;
        }
        self.for_both(file, |account| account.ended(tasks, ran, now));
        self.expected.insert(file);
        self.raise_floors(file, now);
    }

    /// Raises the floors to the least time of the users and files that are present. Later ones
    /// start there.
    fn raise_floors(&mut self, file: FileId, now: Time) {
        let there = self.users.values().filter(|account| account.is_present(now));
        let least = there.map(|account| account.used).min();
        self.floor = self.floor.max(least.unwrap_or_default());
        let Some(&(user, _)) = self.files.get(&file) else { return };
        let there = self.files.values().filter(|(owner, account)| *owner == user && account.is_present(now));
        let least = there.map(|(_, account)| account.used).min();
        if let Some(account) = self.users.get_mut(&user) {
            account.floor = account.floor.max(least.unwrap_or_default());
        }
    }

    /// A request of the file ran to its end.
    pub(crate) fn ended_well(&mut self, file: FileId) {
        self.for_both(file, |account| account.penalty.ended_well());
    }

    /// A request of the file hung, after it was with the device since then. How long its next one has to wait.
    pub(crate) fn hung(&mut self, file: FileId, since: Time, now: Time) -> Duration {
        let ran = now.since(since.max(self.free_since));
        let Some((user, account)) = self.files.get_mut(&file) else { return Duration::ZERO };
        account.penalty.hung(ran, now);
        let penalty = account.penalty;
        if let Some(user) = self.users.get_mut(user) {
            user.penalty = penalty;
        }
        penalty.until(now).map_or(Duration::ZERO, |until| until.since(now))
    }

    /// Requests of the file's user that have not ended.
    pub(crate) fn requests_of_user(&self, file: FileId) -> usize {
        let user = self.files.get(&file).and_then(|(user, _)| self.users.get(user));
        user.map_or(0, |user| usize::try_from(user.requests).unwrap_or(usize::MAX))
    }

    /// True if the file's user has as many tasks under way as the limit permits.
    pub(crate) fn has_all_tasks(&self, file: FileId) -> bool {
        let Some(limit) = self.limits.user_tasks else { return false };
        let user = self.files.get(&file).and_then(|(user, _)| self.users.get(user));
        user.is_some_and(|user| user.tasks >= u64::from(limit))
    }

    fn for_both(&mut self, file: FileId, change: impl Fn(&mut Account)) {
        let Some((user, account)) = self.files.get_mut(&file) else { return };
        change(account);
        if let Some(account) = self.users.get_mut(user) {
            change(account);
        }
    }

    /// Notes that the engine is idle because `file` waits for another file.
    pub(crate) fn keep_engine(&mut self, file: FileId, now: Time) {
        self.kept = self.kept.or_else(|| Some((self.awaited(file, now)?, now)));
    }

    /// Charges the time for which the engine was kept free to the file that it was kept for, and forgets files that none has
    /// to wait for any more.
    pub(crate) fn settle(&mut self, now: Time) {
        let files = &self.files;
        self.expected.retain(|file| files.get(file).is_some_and(|(_, account)| account.may_be_awaited(now)));
        if let Some((file, since)) = self.kept.take() {
            self.for_both(file, |account| account.charge(now.since(since)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: u64 = 1_000_000;

    /// Files of users, who all have something to do.
    fn shares(files: &[(u64, u32)]) -> Shares {
        let mut shares = Shares::default();
        for &(file, user) in files {
            shares.opened(FileId(file), user);
        }
        shares
    }

    fn at(milliseconds: u64) -> Time {
        Time(milliseconds * MILLISECOND)
    }

    /// A submitted request starts and ends.
    fn serve(shares: &mut Shares, file: u64, from: u64, to: u64) {
        shares.started(FileId(file));
        shares.ended(FileId(file), 1, Some(at(from)), at(to));
    }

    /// One request of a file from its submission to its end.
    fn run(shares: &mut Shares, file: u64, from: u64, to: u64) {
        shares.submitted(FileId(file), 1, at(from));
        serve(shares, file, from, to);
    }

    #[test]
    fn files_that_others_may_wait_for_are_those_that_just_ran_however_many_there_are() {
        let many: Vec<_> = (1..=1000).map(|file| (file, 1000)).collect();
        let mut shares = shares(&many);
        assert_eq!(shares.expected.len(), 0);
        for file in 1..=1000 {
            shares.submitted(FileId(file), 1, at(0));
        }
        serve(&mut shares, 7, 0, 1);
        shares.started(FileId(8));
        shares.settle(at(1));
        assert_eq!(shares.expected, BTreeSet::from([FileId(7), FileId(8)]));
        shares.settle(at(10));
        assert_eq!(shares.expected, BTreeSet::from([FileId(8)]));
        shares.closed(FileId(8), at(10));
        assert!(shares.expected.is_empty());
    }

    #[test]
    fn work_is_counted_once_where_requests_are_on_the_device_together() {
        let mut shares = shares(&[(1, 0), (2, 0)]);
        serve(&mut shares, 1, 0, 4);
        serve(&mut shares, 2, 1, 6);
        let work = |milliseconds, jobs| Work { busy: Duration::from_millis(milliseconds), jobs };
        assert_eq!(shares.work(None, at(9)), work(6, 2));
        assert_eq!(
            shares.work(Some(at(5)), at(9)),
            work(9, 2),
            "the one that runs counts from the end of the last"
        );
        shares.gave_way(FileId(1), at(10), at(12));
        serve(&mut shares, 1, 14, 15);
        assert_eq!(shares.work(None, at(20)), work(9, 3), "a request that gave way has not ended");
    }

    /// A request of file 2 that waits while file 1 has the engine for so long, and has run then.
    fn greedy_and_short(shares: &mut Shares, long: u64) -> u64 {
        run(shares, 2, 0, 1);
        shares.submitted(FileId(2), 1, at(1));
        run(shares, 1, 1, 1 + long);
        serve(shares, 2, 1, 2 + long);
        2 + long
    }

    #[test]
    fn who_is_ahead_waits_for_another_user_who_was_there_a_moment_ago_and_not_for_long() {
        let mut shares = shares(&[(1, 1001), (2, 1002)]);
        let now = greedy_and_short(&mut shares, 100);
        shares.submitted(FileId(1), 1, at(now));
        let until = at(now + 2);
        assert_eq!(shares.wait(FileId(1), at(now + 1)), Some(until));
        assert_eq!(shares.wait(FileId(1), until), None);
        assert_eq!(shares.wait(FileId(2), at(now + 1)), None, "who is behind waits for nobody");
    }

    #[test]
    fn engine_that_is_kept_for_somebody_is_time_that_he_had() {
        let mut shares = shares(&[(1, 1001), (2, 1002)]);
        let now = greedy_and_short(&mut shares, 20);
        shares.submitted(FileId(1), 1, at(now));
        shares.keep_engine(FileId(1), at(now + 1));
        let back = at(now + 11);
        shares.settle(back);
        shares.submitted(FileId(2), 1, back);
        shares.started(FileId(2));
        assert_eq!(shares.wait(FileId(1), back), None, "about as much by now");
    }

    #[test]
    fn more_files_are_no_more_time() {
        let mut shares = shares(&[(1, 1001), (3, 1001), (4, 1001), (2, 1002)]);
        let now = at(greedy_and_short(&mut shares, 30));
        for file in [1, 3, 4] {
            shares.submitted(FileId(file), 1, now);
            assert!(shares.wait(FileId(file), now).is_some(), "{file}");
            assert!(shares.rank(FileId(2)) < shares.rank(FileId(file)));
        }
    }

    #[test]
    fn who_comes_after_a_rest_starts_where_the_others_are() {
        let mut shares = shares(&[(1, 1001), (2, 1002)]);
        run(&mut shares, 1, 0, 500);
        shares.submitted(FileId(1), 1, at(500));
        run(&mut shares, 2, 501, 502);
        assert_eq!(shares.wait(FileId(1), at(502)), None);
    }

    #[test]
    fn what_somebody_had_while_nobody_was_there_is_not_held_against_him() {
        // A request of another user, and one of the same user.
        for user in [1002, 1001] {
            let mut shares = shares(&[(1, 1001), (2, user)]);
            run(&mut shares, 1, 0, 500);
            // The second comes when the first is away.
            run(&mut shares, 2, 1000, 1100);
            shares.submitted(FileId(2), 1, at(1100));
            shares.submitted(FileId(1), 1, at(1150));
            // The time of a file counts only among the files of its user.
            let rank = |file| {
                let (of_user, of_file) = shares.rank(FileId(file));
                if user == 1001 { (of_user, of_file) } else { (of_user, 0) }
            };
            assert_eq!(rank(1), rank(2), "{user}");
            assert!(shares.goes_before(FileId(1), FileId(2), Duration::ZERO));
        }
    }

    #[test]
    fn time_of_a_turn_is_had_by_whom_it_was_of_and_counts_once() {
        let mut shares = shares(&[(1, 1001), (2, 1002)]);
        shares.submitted(FileId(1), 9, at(0));
        shares.submitted(FileId(2), 1, at(0));
        shares.started(FileId(1));
        assert!(shares.goes_before(FileId(2), FileId(1), Duration::from_millis(5)));
        assert_eq!(shares.gave_way(FileId(1), at(0), at(5)), Duration::from_millis(5));
        serve(&mut shares, 2, 5, 8);
        shares.submitted(FileId(2), 1, at(8));
        shares.started(FileId(1));
        shares.ended(FileId(1), 9, Some(at(8)), at(10));
        let used = |shares: &Shares, file| shares.files.get(&FileId(file)).map(|(_, account)| account.used);
        let milliseconds = |time: u64| Some(time * MILLISECOND);
        assert_eq!((used(&shares, 1), used(&shares, 2)), (milliseconds(7), milliseconds(3)));
    }

    #[test]
    fn user_who_opens_a_file_anew_is_not_rid_of_what_he_had() {
        let mut shares = shares(&[(1, 1001), (2, 1002)]);
        let now = greedy_and_short(&mut shares, 100);
        shares.closed(FileId(1), at(now));
        shares.opened(FileId(3), 1001);
        // While the other one is there, and so nobody has had a rest.
        shares.submitted(FileId(3), 1, at(now + 1));
        assert!(shares.wait(FileId(3), at(now + 1)).is_some());
        shares.closed(FileId(3), at(200_000));
        assert!(!shares.users.contains_key(&1001), "forgotten after a minute");
    }

    #[test]
    fn file_whose_request_hung_has_a_penalty_while_somebody_else_is_at_work_and_a_new_one_of_its_user_too() {
        let mut shares = shares(&[(1, 1001), (2, 1002), (3, 1001)]);
        shares.submitted(FileId(1), 1, at(60_000));
        shares.started(FileId(1));
        assert_eq!(shares.hung(FileId(1), at(60_000), at(62_000)), Duration::from_secs(8));
        shares.ended(FileId(1), 1, Some(at(60_000)), at(62_000));
        assert_eq!(shares.held(FileId(1), at(62_001)), None, "nobody else is there");
        shares.submitted(FileId(2), 1, at(62_001));
        assert_eq!(shares.held(FileId(1), at(62_001)), Some((at(70_000), Held::Hung)));
        assert_eq!(shares.wait(FileId(1), at(62_001)), Some(at(70_000)));
        shares.opened(FileId(4), 1001);
        assert_eq!(shares.wait(FileId(4), at(62_001)), Some(at(70_000)), "a new file is no way round");
        for file in [2, 3] {
            assert_eq!(shares.held(FileId(file), at(62_001)), None, "file {file} did nothing");
        }
    }

    #[test]
    fn user_beyond_his_limits_waits_and_others_do_not() {
        let mut shares = shares(&[(1, 1001), (2, 1002)]);
        shares.limits.user_time = Some(Duration::from_secs(1));
        shares.limits.user_tasks = Some(4);
        run(&mut shares, 1, 60_000, 61_000);
        assert_eq!(shares.held(FileId(1), at(61_000)), Some((at(121_000), Held::Quota)));
        assert_eq!(shares.held(FileId(2), at(61_000)), None);
        shares.submitted(FileId(1), 3, at(61_000));
        assert!(!shares.has_all_tasks(FileId(1)));
        shares.submitted(FileId(1), 3, at(61_000));
        assert!(shares.has_all_tasks(FileId(1)) && !shares.has_all_tasks(FileId(2)));
    }

    #[test]
    fn request_that_waits_for_something_else_keeps_nobody_waiting() {
        let mut shares = shares(&[(1, 1001), (2, 1002)]);
        let now = at(greedy_and_short(&mut shares, 100));
        // It is queued, and not with the device: its turn comes first if it may begin, and else it is passed over.
        shares.submitted(FileId(2), 1, now);
        shares.submitted(FileId(1), 1, now);
        assert_eq!(shares.wait(FileId(1), now), None);
        assert!(shares.rank(FileId(2)) < shares.rank(FileId(1)));
    }
}
