//! The requests of one priority that wait for their turn: those of each file in their order, and the order of the files.

use std::collections::{BTreeMap, VecDeque};

use crate::front::FileId;
use crate::tm::RequestId;

/// The requests of one priority that wait.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// The files in the order of their turns. Each stands here once, or the turn would not be fair; one whose requests
    /// were all taken back stands here until its turn comes.
    turns: VecDeque<FileId>,
    /// The requests of each file, which keeps its room until it is closed.
    lines: BTreeMap<FileId, VecDeque<RequestId>>,
}

impl Waiting {
    /// A request waits behind those of its file.
    pub(super) fn push_back(&mut self, file: FileId, id: RequestId) {
        let line = self.lines.entry(file).or_default();
        if line.is_empty() && !self.turns.contains(&file) {
            self.turns.push_back(file);
        }
        line.push_back(id);
    }

    /// A request waits before those of its file.
    pub(super) fn push_front(&mut self, file: FileId, id: RequestId) {
        let line = self.lines.entry(file).or_default();
        if line.is_empty() && !self.turns.contains(&file) {
            self.turns.push_front(file);
        }
        line.push_front(id);
    }

    /// A request does not wait any more.
    pub(super) fn remove(&mut self, file: FileId, id: RequestId) {
        let Some(line) = self.lines.get_mut(&file) else { return };
        match line.front() {
            Some(first) if *first == id => drop(line.pop_front()),
            _ => line.retain(|other| *other != id),
        }
    }

    /// A file is gone.
    pub(super) fn remove_file(&mut self, file: FileId) {
        self.turns.retain(|other| *other != file);
        self.lines.remove(&file);
    }

    /// How many files have a turn to come.
    pub(super) fn files(&self) -> usize {
        self.turns.len()
    }

    /// Orders the files by rank. Those of one rank keep the order of their turns.
    pub(super) fn sort_by_rank(&mut self, rank: impl Fn(FileId) -> (u64, u64)) {
        if self.turns.len() > 1 {
            self.turns.make_contiguous().sort_by_key(|&file| rank(file));
        }
    }

    /// The file whose turn it is.
    pub(super) fn next(&self) -> Option<FileId> {
        self.turns.front().copied()
    }

    pub(super) fn first_of(&self, file: FileId) -> Option<RequestId> {
        self.lines.get(&file)?.front().copied()
    }

    /// The first request of each file.
    pub(super) fn firsts(&self) -> impl Iterator<Item = RequestId> {
        self.turns.iter().filter_map(|&file| self.first_of(file))
    }

    /// The first request of the file whose turn it is goes to the device, and the turn to the next file.
    pub(super) fn take_next(&mut self) {
        let Some(line) = self.turns.front().and_then(|file| self.lines.get_mut(file)) else { return };
        line.pop_front();
        if line.is_empty() {
            self.turns.pop_front();
        } else {
            self.turns.rotate_left(1);
        }
    }

    /// The file whose turn it is passes: behind the others, or out of the order if none of its requests waits.
    pub(super) fn pass(&mut self) {
        match self.next().map(|file| self.first_of(file)) {
            Some(Some(_)) => self.turns.rotate_left(1),
            Some(None) => drop(self.turns.pop_front()),
            None => {}
        }
    }

    /// A file's turn is the last.
    pub(super) fn put_last(&mut self, file: FileId) {
        self.turns.retain(|other| *other != file);
        self.turns.push_back(file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: FileId = FileId(1);
    const B: FileId = FileId(2);

    /// Takes so many requests, each in its turn.
    fn taken(waiting: &mut Waiting, count: usize) -> Vec<u32> {
        let take = |_| {
            let id = waiting.first_of(waiting.next().unwrap()).unwrap();
            waiting.take_next();
            id.0
        };
        (0..count).map(take).collect()
    }

    #[test]
    fn files_take_turns_and_a_file_s_requests_keep_their_order() {
        let mut waiting = Waiting::default();
        for (file, id) in [(A, 1), (A, 2), (A, 3), (B, 10), (B, 11)] {
            waiting.push_back(file, RequestId(id));
        }
        assert_eq!(taken(&mut waiting, 3), [1, 10, 2]);
        waiting.push_front(A, RequestId(2));
        assert_eq!(taken(&mut waiting, 3), [11, 2, 3]);
        assert_eq!((waiting.files(), waiting.next()), (0, None));
    }

    #[test]
    fn file_without_requests_loses_its_turn_when_it_comes_and_has_it_once_meanwhile() {
        let mut waiting = Waiting::default();
        waiting.push_back(A, RequestId(1));
        waiting.push_back(B, RequestId(10));
        waiting.remove(A, RequestId(1));
        assert_eq!((waiting.files(), waiting.first_of(A)), (2, None));
        waiting.push_back(A, RequestId(2));
        assert_eq!(waiting.files(), 2);
        waiting.remove(A, RequestId(2));
        waiting.pass();
        assert_eq!((waiting.files(), waiting.next()), (1, Some(B)));
    }
}
