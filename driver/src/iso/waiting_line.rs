//! The line of those that wait for a context.
//!
//! Contexts are few and a file may hold one for long, so a context that is given back goes to the file that has waited
//! longest, however often later files ask. A file of a user that already has as many contexts as permitted keeps its
//! place, and others pass it meanwhile.

use ane_uapi::hw::dart::iso::ContextId;

use super::Seeker;
use crate::front::FileId;

/// The waiters, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Line {
    waiting: Vec<Waiting>,
    last: u64,
}

#[derive(Debug)]
struct Waiting {
    ticket: u64,
    seeker: Seeker,
    /// The only one that it takes.
    wanted: Option<ContextId>,
}

impl Line {
    /// Stands in line behind all others; the number of its place.
    pub(super) fn join(&mut self, seeker: Seeker, wanted: Option<ContextId>) -> u64 {
        self.last = self.last.saturating_add(1);
        self.waiting.push(Waiting { ticket: self.last, seeker, wanted });
        self.last
    }

    pub(super) fn leave(&mut self, ticket: u64) {
        self.waiting.retain(|waiting| waiting.ticket != ticket);
    }

    /// A file that is closed waits for nothing.
    pub(super) fn leave_all(&mut self, file: FileId) {
        self.waiting.retain(|waiting| waiting.seeker.file != file);
    }

    /// The contexts among `free` that no earlier ticket takes; without a ticket all waiting files are earlier. `held`
    /// is the number of contexts that a user has.
    pub(super) fn left_for(
        &self,
        ticket: Option<u64>,
        mut free: Vec<ContextId>,
        held: impl Fn(u32) -> usize,
    ) -> Vec<ContextId> {
        // The users that take one of the free contexts.
        let mut takers: Vec<u32> = Vec::new();
        for one in self.waiting.iter().take_while(|one| ticket.is_none_or(|own| one.ticket < own)) {
            let user = one.seeker.user;
            let taken = takers.iter().filter(|&&id| id == user.id).count();
            if !user.may_take(held(user.id).saturating_add(taken), free.len()) {
                continue;
            }
            // A file that accepts any context takes the first.
            let place = free.iter().position(|&context| one.wanted.is_none_or(|wanted| wanted == context));
            if let Some(place) = place {
                free.remove(place);
                takers.push(user.id);
            }
            if free.is_empty() {
                break;
            }
        }
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front::User;

    fn left(line: &Line, ticket: Option<u64>, free: &[u32]) -> Vec<u8> {
        let free = free.iter().map(|&number| ContextId::new(number).unwrap()).collect();
        line.left_for(ticket, free, |_| 0).into_iter().map(ContextId::number).collect()
    }

    /// A file of a user who has its number, so that each is another's.
    fn seeker(file: u32) -> Seeker {
        Seeker { file: FileId(file.into()), user: User { id: file, is_privileged: false } }
    }

    #[test]
    fn who_came_first_has_the_choice_and_who_does_not_wait_has_what_is_left() {
        let mut line = Line::default();
        assert_eq!(left(&line, None, &[1, 2]), [1, 2]);
        let first = line.join(seeker(1), None);
        let second = line.join(seeker(2), ContextId::new(2).ok());
        let third = line.join(seeker(3), None);
        assert_eq!(left(&line, Some(first), &[1, 2, 3]), [1, 2, 3]);
        assert_eq!(left(&line, Some(second), &[1, 2, 3]), [2, 3], "the first takes any");
        assert_eq!(left(&line, Some(third), &[1, 2, 3]), [3]);
        assert_eq!(left(&line, None, &[1, 2, 3]), []);
        assert_eq!(left(&line, Some(third), &[2]), []);
        line.leave(first);
        line.leave_all(FileId(2));
        assert_eq!(left(&line, Some(third), &[1, 2]), [1, 2]);
        assert_eq!(left(&line, None, &[1, 2]), [2]);
    }

    #[test]
    fn who_has_his_share_is_passed_by_and_keeps_his_place() {
        let mut line = Line::default();
        let greedy = line.join(seeker(1), None);
        let modest = line.join(seeker(2), None);
        let free = [1, 2].map(|number| ContextId::new(number).unwrap()).to_vec();
        let left = |ticket, has| line.left_for(ticket, free.clone(), move |id| if id == 1 { has } else { 0 });
        assert_eq!(left(Some(modest), 2), free, "nothing of it is the first one's");
        assert_eq!(left(Some(modest), 1), free[1..], "one of it is");
        assert_eq!(left(Some(greedy), 1), free);
        assert_eq!(left(None, 2), free[1..], "who does not wait comes after the second");
    }

    #[test]
    fn one_user_in_line_many_times_is_left_his_share_and_no_more() {
        let mut line = Line::default();
        for _ in 0..100 {
            line.join(seeker(1), None);
        }
        assert_eq!(left(&line, None, &[0, 1, 2, 3, 4, 5, 6, 7]), [4, 5, 6, 7]);
    }
}
