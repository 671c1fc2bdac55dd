//! The line of those that wait for a context.
//!
//! Contexts are few and may be held for long, so the one that is given back goes to who has waited longest for it, and
//! to nobody who comes later, however often he asks.

use ane_uapi::hw::dart::iso::ContextId;

use crate::front::FileId;

/// Those that wait, the first first.
#[derive(Debug, Default)]
pub(super) struct Line {
    waiting: Vec<Waiting>,
    last: u64,
}

#[derive(Debug)]
struct Waiting {
    ticket: u64,
    file: FileId,
    /// The only one that it takes.
    wanted: Option<ContextId>,
}

impl Line {
    /// Stands in line behind all others; the number of its place.
    pub(super) fn join(&mut self, file: FileId, wanted: Option<ContextId>) -> u64 {
        self.last = self.last.saturating_add(1);
        self.waiting.push(Waiting { ticket: self.last, file, wanted });
        self.last
    }

    /// Waits no more.
    pub(super) fn leave(&mut self, ticket: u64) {
        self.waiting.retain(|waiting| waiting.ticket != ticket);
    }

    /// A file that is closed waits for nothing.
    pub(super) fn leave_all(&mut self, file: FileId) {
        self.waiting.retain(|waiting| waiting.file != file);
    }

    /// The contexts among `free` that nobody with an earlier ticket is to have; without a ticket all are earlier.
    pub(super) fn left_for(
        &self,
        ticket: Option<u64>,
        free: impl Iterator<Item = ContextId>,
    ) -> impl Iterator<Item = ContextId> {
        let earlier =
            move || self.waiting.iter().filter(move |one| ticket.is_none_or(|own| one.ticket < own));
        let unnamed = earlier().filter(|one| one.wanted.is_none()).count();
        let named = move |context| earlier().any(|one| one.wanted == Some(context));
        // Whoever takes any takes the first.
        free.filter(move |&context| !named(context)).skip(unnamed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(line: &Line, ticket: Option<u64>, free: &[u32]) -> Vec<u8> {
        let free = free.iter().map(|&number| ContextId::new(number).unwrap());
        line.left_for(ticket, free).map(ContextId::number).collect()
    }

    #[test]
    fn who_came_first_has_the_choice_and_who_does_not_wait_has_what_is_left() {
        let mut line = Line::default();
        assert_eq!(left(&line, None, &[1, 2]), [1, 2]);
        let first = line.join(FileId(1), None);
        let second = line.join(FileId(2), ContextId::new(2).ok());
        let third = line.join(FileId(3), None);
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
}
