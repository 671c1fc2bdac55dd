//! Shares of the thread that serves, by user.
//!
//! The engine's time is shared by the driver. But one thread serves all calls, and a call takes between some
//! microseconds and some hundred of them: a buffer that is mapped, a connection that is accepted and closed. So each
//! call's time is charged to the user of the connection, and a user that is ahead of another one by more than [`LEAD`]
//! is *held*: the thread reads none of that user's connections until the other one had as much time, or is gone.
//!
//! A client that calls and waits for the answer has no message in between. So a user counts as present for
//! [`BACK_SOON`] after the last message. If the thread sleeps meanwhile although another user is held, that time is
//! charged to the user that it waits for: a user with a call now and then does not keep the thread, and each of two has
//! half of it at least.
//!
//! To accept a client costs time before its user is known. That time is charged to the user later, and to
//! [`Party::Accept`] as well, which is held like a user and for which no user is held.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ane_driver::front::User;

/// A user may be ahead of another one by this much (Chosen: some fifty calls; waiting and going on again cost less than one).
const LEAD: Duration = Duration::from_micros(500);

/// How long after its last call a client is expected with the next (Chosen: several times what a wake-up takes).
const BACK_SOON: Duration = Duration::from_micros(500);

/// How long a user's time is remembered, so that connecting anew does not reset it.
const REMEMBERED: Duration = Duration::from_secs(60);

/// A party that the thread's time is charged to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Party {
    /// A client that is about to be accepted.
    Accept,
    /// A user that has connected.
    User(u32),
}

impl Party {
    pub(super) const fn of(user: User) -> Self {
        Self::User(user.id)
    }
}

#[derive(Clone, Copy, Debug)]
struct Account {
    used: Duration,
    /// When the thread last worked for it.
    heard: Instant,
    is_held: bool,
}

impl Account {
    /// When it is not expected to ask again soon.
    fn gone(&self) -> Instant {
        self.heard.checked_add(BACK_SOON).unwrap_or(self.heard)
    }

    fn is_present(&self, now: Instant) -> bool {
        now < self.gone()
    }
}

/// The changes since it was asked last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Change {
    /// A party is held no more.
    pub(super) is_released: bool,
    /// When to ask again, if a party is held.
    pub(super) again: Option<Instant>,
}

#[derive(Debug, Default)]
pub(super) struct ThreadShares {
    accounts: BTreeMap<Party, Account>,
    /// The least time of a present user. It never falls.
    floor: Duration,
    /// The party for which others are held.
    awaited: Option<Party>,
}

impl ThreadShares {
    /// Charges a party for a call that took this long.
    pub(super) fn charge(&mut self, party: Party, from: Instant, until: Instant) {
        let spent = until.saturating_duration_since(from);
        let mut least = None;
        for (other, account) in &mut self.accounts {
            if *other == party || !account.is_present(from) {
                continue;
            }
            if *other != Party::Accept {
                least = Some(least.map_or(account.used, |least: Duration| least.min(account.used)));
            }
            // The thread could not read its messages meanwhile, so that time does not make it
            // absent.
            account.heard = account.heard.checked_add(spent).unwrap_or(until);
        }
        let least = least.unwrap_or(self.floor);
        if !self.accounts.contains_key(&party) {
            self.accounts.retain(|_, old| from.saturating_duration_since(old.heard) < REMEMBERED);
        }
        let account =
            self.accounts.entry(party).or_insert(Account { used: least, heard: from, is_held: false });
        // An absent user does not save time up.
        if !account.is_present(from) && !account.is_held {
            account.used = account.used.max(least);
        }
        account.used = account.used.saturating_add(spent);
        account.heard = until;
        let own = account.used;
        if party != Party::Accept {
            self.floor = self.floor.max(own.min(least));
        }
        // The hold begins now, and not after a round of all connections: the user may have a hundred of
        // them.
        if let Some((awaited, least)) = self.least(until)
            && least.used.saturating_add(LEAD) < own
        {
            self.awaited = Some(awaited);
            self.accounts.entry(party).and_modify(|account| account.is_held = true);
        }
    }

    /// The user who had least of those who are there.
    fn least(&self, now: Instant) -> Option<(Party, Account)> {
        let users = self.accounts.iter().filter(|(party, _)| **party != Party::Accept);
        let there = users.filter(|(_, account)| account.is_present(now));
        there.min_by_key(|(_, account)| account.used).map(|(&party, &account)| (party, account))
    }

    /// Charges time that the thread slept while a user was held to the user who was waited for.
    pub(super) fn slept(&mut self, from: Instant, until: Instant) {
        let Some(account) = self.awaited.and_then(|awaited| self.accounts.get_mut(&awaited)) else { return };
        account.used = account.used.saturating_add(until.saturating_duration_since(from));
    }

    /// True if this party is not to be heard now.
    pub(super) fn is_held(&self, party: Party) -> bool {
        self.awaited.is_some() && self.accounts.get(&party).is_some_and(|account| account.is_held)
    }

    /// True if it has to be asked again who is held.
    pub(super) const fn has_held(&self) -> bool {
        self.awaited.is_some()
    }

    /// Decides which parties are held from now on.
    pub(super) fn settle(&mut self, now: Instant) -> Change {
        let least = self.least(now);
        let mut change = Change::default();
        for account in self.accounts.values_mut() {
            let lead = if account.is_held { Duration::ZERO } else { LEAD };
            let is_ahead = least.is_some_and(|(_, other)| other.used.saturating_add(lead) < account.used);
            change.is_released |= account.is_held && !is_ahead;
            account.is_held = is_ahead;
            if is_ahead {
                change.again = least.map(|(_, other)| other.gone());
            }
        }
        self.awaited = change.again.and(least).map(|(party, _)| party);
        change
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GREEDY: Party = Party::User(1);
    const OTHER: Party = Party::User(2);

    /// A clock that starts now and is told how many microseconds have passed.
    struct Clock(Instant);

    impl Clock {
        fn at(&self, microseconds: u64) -> Instant {
            self.0 + Duration::from_micros(microseconds)
        }
    }

    fn clock() -> Clock {
        Clock(Instant::now())
    }

    /// The time of two users after one second. The first always has a call of `long` microseconds. The second
    /// has calls of `short` microseconds, and pauses after each.
    fn second(long: u64, short: u64, pause: u64) -> (u64, u64) {
        let (clock, mut shares, mut now) = (clock(), ThreadShares::default(), 0);
        let (mut had, mut next) = ((0, 0), 0);
        while now < 1_000_000 {
            let change = shares.settle(clock.at(now));
            let begun = now;
            if next <= now {
                now += short;
                shares.charge(OTHER, clock.at(begun), clock.at(now));
                had.1 += short;
                next = now + pause;
            } else if !shares.is_held(GREEDY) {
                now += long;
                shares.charge(GREEDY, clock.at(begun), clock.at(now));
                had.0 += long;
            } else {
                let again = change.again.expect("he is held").saturating_duration_since(clock.0);
                now = next.min(u64::try_from(again.as_micros()).unwrap()).max(now + 1);
                shares.slept(clock.at(begun), clock.at(now));
            }
        }
        had
    }

    #[test]
    fn user_with_long_calls_leaves_one_with_short_ones_half_of_the_thread() {
        for long in [50, 300, 3_000] {
            // Alone, the second would have two thirds of it.
            let (greedy, other) = second(long, 20, 10);
            assert!(other > 320_000 && greedy > 320_000, "{long}: {greedy} and {other}");
        }
    }

    #[test]
    fn user_who_calls_seldom_keeps_the_thread_from_nobody() {
        let (greedy, other) = second(300, 20, 400);
        assert!(greedy > 400_000 && other > 20_000, "{greedy} and {other}");
        let (greedy, _) = second(300, 20, 5_000);
        assert!(greedy > 850_000, "{greedy}");
    }

    #[test]
    fn user_who_comes_late_starts_where_the_others_are() {
        let (clock, mut shares) = (clock(), ThreadShares::default());
        shares.charge(GREEDY, clock.at(0), clock.at(900_000));
        shares.charge(OTHER, clock.at(900_000), clock.at(900_010));
        assert_eq!(shares.settle(clock.at(900_010)), Change::default());
        assert!(!shares.is_held(GREEDY));
    }

    #[test]
    fn user_who_is_ahead_is_held_until_the_other_had_as_much_or_is_gone() {
        let (clock, mut shares) = (clock(), ThreadShares::default());
        shares.charge(GREEDY, clock.at(0), clock.at(10));
        shares.charge(OTHER, clock.at(10), clock.at(20));
        shares.charge(GREEDY, clock.at(20), clock.at(600));
        assert!(shares.is_held(GREEDY), "at once");
        let held = shares.settle(clock.at(610));
        // The other one could not be heard for most of the time.
        assert_eq!(held, Change { is_released: false, again: Some(clock.at(1100)) });
        assert!(shares.is_held(GREEDY) && !shares.is_held(OTHER));
        shares.slept(clock.at(610), clock.at(700));
        assert_eq!(shares.settle(clock.at(700)).again, Some(clock.at(1100)), "not yet as much");
        assert_eq!(shares.settle(clock.at(1100)), Change { is_released: true, again: None });
        assert!(!shares.is_held(GREEDY));
    }

    #[test]
    fn accept_waits_like_a_user_and_no_user_waits_for_it() {
        let (clock, mut shares) = (clock(), ThreadShares::default());
        shares.charge(OTHER, clock.at(0), clock.at(10));
        shares.charge(Party::Accept, clock.at(10), clock.at(20));
        shares.charge(OTHER, clock.at(20), clock.at(800));
        assert_eq!(shares.settle(clock.at(800)).again, None);
        shares.charge(Party::Accept, clock.at(800), clock.at(2400));
        shares.charge(OTHER, clock.at(2400), clock.at(2410));
        assert!(shares.settle(clock.at(2410)).again.is_some() && shares.is_held(Party::Accept));
    }

    #[test]
    fn user_who_was_away_for_long_is_forgotten_when_another_comes() {
        let (clock, mut shares) = (clock(), ThreadShares::default());
        shares.charge(GREEDY, clock.at(0), clock.at(10));
        shares.charge(OTHER, clock.at(61_000_000), clock.at(61_000_010));
        assert_eq!(shares.accounts.keys().copied().collect::<Vec<_>>(), [OTHER]);
    }
}
