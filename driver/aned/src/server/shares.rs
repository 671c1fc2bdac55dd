//! The resources that the connections of one user may hold together: open files, and pipes that signal the end of a request.
//!
//! Connections have bounds of their own, but a user may have many. So one who is not privileged gets half of the driver's
//! files that others leave ([`User`]), and a quarter of the descriptors that the daemon may have.

use std::collections::HashMap;

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

#[derive(Clone, Copy, Debug, Default)]
struct Share {
    files: usize,
    signals: usize,
}

impl Shares {
    /// The shares of a daemon, from the descriptor limit that the system has now.
    pub(super) fn new() -> Self {
        Self::of(getrlimit(Resource::Nofile).current.unwrap_or(UNLIMITED))
    }

    /// The shares of a daemon that may have this many descriptors. A pipe needs two of them.
    fn of(descriptors: u64) -> Self {
        let signals_max = usize::try_from(descriptors / 8).unwrap_or(usize::MAX);
        Self { users: HashMap::new(), files: 0, signals_max }
    }

    /// One more file for a user. `ENOMEM` if the user has as many as permitted.
    pub(super) fn take_file(&mut self, user: User) -> Result<(), Errno> {
        let held = self.users.get(&user.id).map_or(0, |share| share.files);
        if !user.may_take(held, FILES_MAX.saturating_sub(self.files)) {
            return Err(Errno::ENOMEM);
        }
        self.files = self.files.saturating_add(1);
        self.change(user, |share| share.files = share.files.saturating_add(1));
        Ok(())
    }

    pub(super) fn give_file(&mut self, user: User) {
        self.files = self.files.saturating_sub(1);
        self.change(user, |share| share.files = share.files.saturating_sub(1));
    }

    pub(super) fn has_signal(&self, user: User) -> bool {
        user.is_privileged || self.users.get(&user.id).is_none_or(|share| share.signals < self.signals_max)
    }

    /// A connection of a user had so many pipes, and has so many now.
    pub(super) fn note_signals(&mut self, user: User, before: usize, after: usize) {
        self.change(user, |share| share.signals = share.signals.saturating_sub(before).saturating_add(after));
    }

    fn change(&mut self, user: User, change: impl FnOnce(&mut Share)) {
        let share = self.users.entry(user.id).or_default();
        change(share);
        if share.files == 0 && share.signals == 0 {
            self.users.remove(&user.id);
        }
    }
}

#[cfg(test)]
mod tests {
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
    fn pipes_of_a_user_without_privilege_are_a_quarter_of_the_descriptors() {
        let mut shares = Shares::of(1024);
        shares.note_signals(STRANGER, 0, 127);
        assert!(shares.has_signal(STRANGER));
        shares.note_signals(STRANGER, 127, 128);
        assert!(!shares.has_signal(STRANGER) && shares.has_signal(OTHER));
        shares.note_signals(OWNER, 0, 900);
        assert!(shares.has_signal(OWNER));
        shares.note_signals(STRANGER, 128, 0);
        assert!(shares.has_signal(STRANGER));
    }
}
