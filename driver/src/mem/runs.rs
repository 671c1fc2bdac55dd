//! Free runs of pages: the allocator under frames and under device addresses.
//!
//! Runs are kept by where they begin, to join neighbours, and by how long they are, to find the one that fits
//! best. Among equals the lowest goes first, so a client that only allocates gets ascending pages without
//! gaps. Clients of the existing driver rely on that. Every operation costs the logarithm of the number
//! of runs.

use std::collections::{BTreeMap, BTreeSet};

/// Pages that follow each other; never none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Run {
    pub first: u32,
    pub pages: u32,
}

impl Run {
    /// A run; `None` if it is empty or leaves the numbers there are.
    pub const fn new(first: u32, pages: u32) -> Option<Self> {
        if pages == 0 || first.checked_add(pages).is_none() { None } else { Some(Self { first, pages }) }
    }

    /// The number behind the last.
    pub const fn end(self) -> u32 {
        self.first.saturating_add(self.pages)
    }

    /// The part from `skip` pages in, of at most `pages` pages.
    pub const fn part(self, skip: u32, pages: u32) -> Option<Self> {
        match self.pages.checked_sub(skip) {
            Some(left) => Self::new(self.first.saturating_add(skip), if left < pages { left } else { pages }),
            None => None,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct FreeRuns {
    /// First page to number of pages. No two runs touch.
    by_place: BTreeMap<u32, u32>,
    /// Number of pages, and first page, of the same runs.
    by_length: BTreeSet<(u32, u32)>,
    pages: u32,
}

impl FreeRuns {
    /// Everything of `run` is free.
    pub fn new(run: Run) -> Self {
        let mut free = Self::default();
        free.insert(run);
        free
    }

    pub const fn pages(&self) -> u32 {
        self.pages
    }

    pub fn longest(&self) -> u32 {
        self.by_length.last().map_or(0, |&(pages, _)| pages)
    }

    /// Takes pages that follow each other: from the shortest run that has them, its lowest.
    pub fn take(&mut self, pages: u32) -> Option<Run> {
        let wanted = Run::new(0, pages)?;
        let &(length, first) = self.by_length.range((wanted.pages, 0)..).next()?;
        self.remove(Run { first, pages: length });
        let taken = Run { first, pages };
        self.insert_if(Run { first, pages: length }.part(pages, u32::MAX));
        Some(taken)
    }

    /// Takes at most `pages` pages that follow each other, from the shortest run there is.
    pub fn take_some(&mut self, pages: u32) -> Option<Run> {
        let &(length, _) = self.by_length.first()?;
        self.take(length.min(pages))
    }

    /// Takes these pages; false, and nothing is taken, if one is not free.
    pub fn take_at(&mut self, run: Run) -> bool {
        let Some((&first, &pages)) = self.by_place.range(..=run.first).next_back() else { return false };
        let around = Run { first, pages };
        if around.end() < run.end() {
            return false;
        }
        self.remove(around);
        self.insert_if(around.part(0, run.first.saturating_sub(first)));
        self.insert_if(around.part(run.end().saturating_sub(first), u32::MAX));
        true
    }

    /// Makes pages free that were taken.
    pub fn give(&mut self, run: Run) {
        let mut joined = run;
        if let Some((&first, &pages)) = self.by_place.range(..run.first).next_back() {
            let before = Run { first, pages };
            debug_assert!(before.end() <= run.first, "pages {run:?} were taken, {before:?} is free");
            if before.end() == run.first {
                self.remove(before);
                joined = Run { first, pages: pages.saturating_add(joined.pages) };
            }
        }
        if let Some((&first, &pages)) = self.by_place.range(run.first..).next() {
            debug_assert!(run.end() <= first, "pages {run:?} were taken, one from {first} on is free");
            if first == run.end() {
                self.remove(Run { first, pages });
                joined.pages = joined.pages.saturating_add(pages);
            }
        }
        self.insert(joined);
    }

    fn insert_if(&mut self, run: Option<Run>) {
        if let Some(run) = run {
            self.insert(run);
        }
    }

    fn insert(&mut self, run: Run) {
        self.by_place.insert(run.first, run.pages);
        self.by_length.insert((run.pages, run.first));
        self.pages = self.pages.saturating_add(run.pages);
    }

    fn remove(&mut self, run: Run) {
        self.by_place.remove(&run.first);
        self.by_length.remove(&(run.pages, run.first));
        self.pages = self.pages.saturating_sub(run.pages);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn run(first: u32, pages: u32) -> Run {
        Run::new(first, pages).unwrap()
    }

    #[test]
    fn pages_of_whoever_only_takes_ascend_with_nothing_between() {
        let mut free = FreeRuns::new(run(1, 100));
        assert_eq!([3, 1, 7].map(|pages| free.take(pages)), [run(1, 3), run(4, 1), run(5, 7)].map(Some));
    }

    #[test]
    fn run_that_fits_best_is_taken() {
        let mut free = FreeRuns::new(run(0, 100));
        assert!(free.take_at(run(10, 5)) && free.take_at(run(18, 50)));
        assert_eq!(free.take(3), Some(run(15, 3)));
        assert_eq!(free.take(10), Some(run(0, 10)));
        assert_eq!(free.take(33), None);
        assert_eq!((free.longest(), free.pages()), (32, 32));
    }

    #[test]
    fn run_that_is_empty_or_leaves_the_numbers_is_none() {
        for (first, pages) in [(0, 0), (u32::MAX, 0), (u32::MAX, 1), (1, u32::MAX)] {
            assert_eq!(Run::new(first, pages), None);
        }
        assert_eq!(FreeRuns::new(run(0, 4)).take(0), None);
    }

    /// One step of a random user: where, how many, and what to do.
    fn steps() -> impl Strategy<Value = Vec<(u8, u32, u32)>> {
        proptest::collection::vec((0..4u8, 0..64u32, 1..12u32), 1..300)
    }

    proptest! {
        #[test]
        fn runs_agree_with_a_map_of_pages(steps in steps()) {
            let mut free = FreeRuns::new(run(0, 64));
            let mut is_free = [true; 64];
            let mut taken = Vec::new();
            for (what, at, pages) in steps {
                let got = match what {
                    0 => free.take(pages),
                    1 => free.take_some(pages),
                    2 => Some(run(at, pages)).filter(|&wanted| {
                        let can = wanted.end() <= 64
                            && is_free[at as usize..wanted.end() as usize].iter().all(|&free| free);
                        assert_eq!(free.take_at(wanted), can);
                        can
                    }),
                    _ => {
                        if let Some(which) = (at as usize).checked_rem(taken.len()) {
                            let back: Run = taken.swap_remove(which);
                            is_free[back.first as usize..back.end() as usize].fill(true);
                            free.give(back);
                        }
                        None
                    }
                };
                let is_there = is_free.chunk_by(|a, b| a == b).any(|run| run[0] && run.len() >= pages as usize);
                prop_assert!(what != 0 || got.is_some() == is_there);
                if let Some(got) = got {
                    prop_assert!(is_free[got.first as usize..got.end() as usize].iter().all(|&free| free));
                    is_free[got.first as usize..got.end() as usize].fill(false);
                    taken.push(got);
                }
                prop_assert_eq!(free.pages() as usize, is_free.iter().filter(|&&free| free).count());
                let longest = is_free.chunk_by(|a, b| a == b).filter(|run| run[0]).map(<[bool]>::len).max();
                prop_assert_eq!(free.longest() as usize, longest.unwrap_or(0));
            }
        }
    }
}
