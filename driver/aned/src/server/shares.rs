//! The resources that the connections of one user may hold together: open files, and pipes that signal the end of a request.
//!
//! Connections have bounds of their own, but a user may have many. So one who is not privileged gets half of the driver's
//! files that others leave ([`User`]), and a quarter of the descriptors that the daemon may have. A pipe is open until its
//! request ends, also if its connection ends before.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::Weak;

use ane_uapi::ioctl::errno::Errno;
use rustix::process::{Resource, getrlimit};

use ane_driver::front::FILES_MAX;
use ane_driver::front::User;

/// Descriptors that the daemon may have where there is no limit: what systems allow as a rule.
const UNLIMITED: u64 = 1 << 19;

#[derive(Debug)]
pub(super) struct Shares {
    users: HashMap<u32, Share>,
    /// Files of all users.
    files: usize,
    /// Pipes of one user.
    signals_max: usize,
}

#[derive(Debug, Default)]
struct Share {
    files: usize,
    /// The ends of pipes that the driver has, or had.
    signals: Vec<Weak<OwnedFd>>,
    /// Where so many are listed, those that the driver had are left out.
    sweep_at: usize,
}

/// Pipes that are listed without a look at whether they are still there.
const LISTED: usize = 256;

impl Share {
    fn is_empty(&self) -> bool {
        self.files == 0 && self.signals.iter().all(is_over)
    }
}

/// True if the request of a pipe has ended.
fn is_over(writer: &Weak<OwnedFd>) -> bool {
    writer.strong_count() == 0
}

impl Shares {
    /// The shares of a daemon, from the descriptor limit that the system has now.
    pub(super) fn new() -> Self {
        Self::of(getrlimit(Resource::Nofile).current.unwrap_or(UNLIMITED))
    }

    /// The shares of a daemon that may have this many descriptors. A pipe needs one of them once its client has the other end.
    fn of(descriptors: u64) -> Self {
        let signals_max = usize::try_from(descriptors.min(UNLIMITED) / 4).unwrap_or(usize::MAX);
        Self { users: HashMap::new(), files: 0, signals_max }
    }

    /// One more file for a user. `ENOMEM` if the user has as many as permitted.
    pub(super) fn take_file(&mut self, user: User) -> Result<(), Errno> {
        let held = self.users.get(&user.id).map_or(0, |share| share.files);
        if !user.may_take(held, FILES_MAX.saturating_sub(self.files)) {
            return Err(Errno::ENOMEM);
        }
        self.files = self.files.saturating_add(1);
        let share = self.users.entry(user.id).or_default();
        share.files = share.files.saturating_add(1);
        Ok(())
    }

    pub(super) fn give_file(&mut self, user: User) {
        self.files = self.files.saturating_sub(1);
        if let Some(share) = self.users.get_mut(&user.id) {
            share.files = share.files.saturating_sub(1);
        }
        self.tidy();
    }

    /// True if a user may have one pipe more; those whose request has ended do not count, of whichever connection they are.
    pub(super) fn has_room_for_signal(&mut self, user: User) -> bool {
        let Some(share) = self.users.get_mut(&user.id).filter(|_| !user.is_privileged) else { return true };
        if share.signals.len() >= self.signals_max {
            share.signals.retain(|writer| !is_over(writer));
        }
        share.signals.len() < self.signals_max
    }

    /// One more pipe for a user.
    pub(super) fn remember_signal(&mut self, user: User, writer: Weak<OwnedFd>) {
        // Root can have as many as there are, and is not counted.
        if user.is_privileged {
            return;
        }
        let share = self.users.entry(user.id).or_default();
        share.signals.push(writer);
        if share.signals.len() > share.sweep_at.max(LISTED) {
            share.signals.retain(|writer| !is_over(writer));
            share.sweep_at = share.signals.len().saturating_mul(2);
        }
    }

    /// Keeps nothing of users who have nothing.
    pub(super) fn tidy(&mut self) {
        self.users.retain(|_, share| !share.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use nix::sys::eventfd::EventFd;

    use super::*;
    use crate::tests::{OWNER, STRANGER};

    const OTHER: User = User { id: 1002, is_privileged: false };

    #[test]
    fn user_without_privilege_gets_half_of_the_files_and_another_the_rest() {
        let mut shares = Shares::of(1024);
        let taken = (0..10_000).take_while(|_| shares.take_file(STRANGER).is_ok()).count();
        assert_eq!(taken, FILES_MAX / 2);
        assert_eq!((shares.take_file(OTHER), shares.take_file(OWNER)), (Ok(()), Ok(())));
        shares.give_file(OTHER);
        shares.give_file(OWNER);
        shares.give_file(STRANGER);
        assert_eq!(shares.take_file(STRANGER), Ok(()));
        (0..taken).for_each(|_| shares.give_file(STRANGER));
        assert!(shares.users.is_empty() && shares.files == 0, "nothing is kept of who has nothing");
    }

    #[test]
    fn pipes_that_are_over_are_not_kept_however_many_there_may_be() {
        let mut shares = Shares::of(u64::MAX);
        let alive = open(&mut shares, STRANGER, 10);
        (0..10 * LISTED).for_each(|_| drop(open(&mut shares, STRANGER, 1)));
        let listed = &shares.users[&STRANGER.id].signals;
        assert!(listed.len() <= LISTED + 1, "{}", listed.len());
        assert_eq!(listed.iter().filter(|writer| !is_over(writer)).count(), alive.len());
    }

    /// Has a user open so many pipes.
    fn open(shares: &mut Shares, user: User, count: usize) -> Vec<Arc<OwnedFd>> {
        let pipes: Vec<_> = (0..count).map(|_| Arc::new(EventFd::new().unwrap().into())).collect();
        pipes.iter().for_each(|pipe| shares.remember_signal(user, Arc::downgrade(pipe)));
        pipes
    }

    #[test]
    fn pipes_of_a_user_without_privilege_are_a_quarter_of_the_descriptors() {
        let mut shares = Shares::of(1024);
        let mut pipes = open(&mut shares, STRANGER, 255);
        assert!(shares.has_room_for_signal(STRANGER));
        pipes.extend(open(&mut shares, STRANGER, 1));
        assert!(!shares.has_room_for_signal(STRANGER) && shares.has_room_for_signal(OTHER));
        let _of_owner = open(&mut shares, OWNER, 200);
        assert!(shares.has_room_for_signal(OWNER));
        pipes.pop();
        assert!(shares.has_room_for_signal(STRANGER), "one request has ended");
        pipes.clear();
        shares.tidy();
        assert!(shares.users.is_empty(), "nothing is kept of who has nothing");
    }
}
