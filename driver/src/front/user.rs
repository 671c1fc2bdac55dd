//! Users, and one user's part of the resources that all users share.
//!
//! Contexts, open files, requests, connections and the threads that close clients' descriptors are few, and a user may keep
//! one for ever. So a user without privileges gets one more only while holding fewer than are left: the first user gets
//! half at most, the next one half of the rest, and however many accounts a person has, something is left for one more.
//! Nothing is taken back. Users are told apart by their credentials alone, which the front has for certain.

/// The user that a file, a connection or a context belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    /// The system's number of the user.
    pub id: u32,
    /// True if the user may use the system's priorities, reset the device under others, and take all
    /// that there is.
    pub is_privileged: bool,
}

impl User {
    /// True if a user who has `held` of something may have one more of the `left` that are free.
    pub const fn may_take(self, held: usize, left: usize) -> bool {
        left > 0 && (self.is_privileged || held < left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts of `all` that users get who take as much as they can, one after the other.
    fn taken(all: usize, users: &[User]) -> Vec<usize> {
        let mut left = all;
        let take_all = |user: &User| {
            let taken = (0..all).take_while(|&held| user.may_take(held, left.saturating_sub(held))).count();
            left = left.saturating_sub(taken);
            taken
        };
        users.iter().map(take_all).collect()
    }

    #[test]
    fn users_without_privilege_get_half_of_what_is_left_and_something_stays_for_the_next() {
        let stranger = User { id: 1001, is_privileged: false };
        assert_eq!(taken(8, &[stranger; 5]), [4, 2, 1, 1, 0]);
        assert_eq!(taken(256, &[stranger; 3]), [128, 64, 32]);
    }

    #[test]
    fn privileged_user_gets_all_that_is_left() {
        let (stranger, owner) =
            (User { id: 1001, is_privileged: false }, User { id: 0, is_privileged: true });
        assert_eq!(taken(8, &[stranger, owner, owner]), [4, 4, 0]);
    }
}
