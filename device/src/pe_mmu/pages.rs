//! The pages of the table, by number, and the regions of each.
//!
//! A page number has up to 64 bits and clients choose which ones are in use. A translation has to find one page, and quickly: so
//! pages are found by a hash, which is seeded, so that no choice of numbers makes it slow. Unmapping a range has to visit the
//! pages in it that have regions, and no others: so their numbers are kept in order beside it. Nearly every page has one
//! region; one with several keeps them in [`Layers`].
//!
//! Regions go in two steps: a message takes all out that it has to, and [`Pages::settle`] then finds out once for each page what
//! is seen of those that are left.

use std::collections::{BTreeSet, HashMap};

use foldhash::quality::RandomState;

use super::layers::{Layers, Region, Spot};

/// A map with less than this part of its room in use gives some of it back.
const SHRINK: usize = 8;

/// The page has as many regions as it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Full;

/// The regions of a page; at least one.
#[derive(Debug)]
enum Page {
    One(Region),
    Several(Box<Layers>),
}

impl Page {
    fn at(&self, offset: u32) -> Spot {
        match self {
            Self::One(region) if region.covers(offset) => Spot::Seen(*region),
            Self::One(region) => Spot::Bare((offset < region.start).then_some(region.start)),
            Self::Several(layers) => layers.at(offset),
        }
    }

    fn push(&mut self, region: Region) -> Result<(), Full> {
        match self {
            Self::One(first) => *self = Self::Several(Box::new(Layers::of(*first, region))),
            Self::Several(layers) => return layers.push(region).then_some(()).ok_or(Full),
        }
        Ok(())
    }

    /// Takes the newest region out; false if none is left.
    fn pop(&mut self) -> bool {
        let Self::Several(layers) = self else { return false };
        layers.pop();
        !layers.is_empty()
    }

    /// Takes out the regions that lie in the range; how many, and whether any is left.
    fn remove(&mut self, start: u32, end: u32) -> (usize, bool) {
        match self {
            Self::One(region) if region.lies_in(start, end) => (1, false),
            Self::One(_) => (0, true),
            Self::Several(layers) => (layers.remove(start, end), !layers.is_empty()),
        }
    }

    const fn is_stale(&self) -> bool {
        match self {
            Self::One(_) => false,
            Self::Several(layers) => layers.is_stale(),
        }
    }

    /// Finds out what is seen after regions were taken out.
    fn settle(&mut self) {
        let Self::Several(layers) = self else { return };
        match layers.only() {
            Some(only) => *self = Self::One(only),
            None => layers.refresh(),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Pages {
    by_number: HashMap<u64, Page, RandomState>,
    numbers: BTreeSet<u64>,
    /// The pages that lost regions since [`settle`](Self::settle); some may be gone.
    stale: Vec<u64>,
}

impl Pages {
    /// The region at an offset of a page.
    #[inline]
    pub(super) fn at(&self, page: u64, offset: u32) -> Spot {
        self.by_number.get(&page).map_or(Spot::Bare(None), |page| page.at(offset))
    }

    /// Puts a region on top of a page's.
    pub(super) fn push(&mut self, page: u64, region: Region) -> Result<(), Full> {
        match self.by_number.get_mut(&page) {
            Some(page) => page.push(region),
            None => {
                self.by_number.insert(page, Page::One(region));
                self.numbers.insert(page);
                Ok(())
            }
        }
    }

    /// Takes the newest region of a page out. [`settle`](Self::settle) has to follow.
    pub(super) fn pop(&mut self, number: u64) {
        let Some(page) = self.by_number.get_mut(&number) else { return };
        let was_stale = page.is_stale();
        if !page.pop() {
            self.forget(number);
        } else if !was_stale {
            self.stale.push(number);
        }
    }

    /// Takes out the regions that lie in the part of a page that `part` gives, for each page of a range; how many.
    /// [`settle`](Self::settle) has to follow.
    pub(super) fn remove(&mut self, first: u64, last: u64, part: impl Fn(u64) -> (u32, u32)) -> usize {
        let mut removed = 0usize;
        let mut next = Some(first);
        // The pages that go are looked for one by one, since a set cannot change while it is visited.
        while let Some(number) = next.and_then(|next| self.numbers.range(next..=last).next().copied()) {
            let (start, end) = part(number);
            if let Some(page) = self.by_number.get_mut(&number) {
                let was_stale = page.is_stale();
                let (gone, has_more) = page.remove(start, end);
                removed = removed.saturating_add(gone);
                if !has_more {
                    self.forget(number);
                } else if page.is_stale() && !was_stale {
                    self.stale.push(number);
                }
            }
            next = number.checked_add(1).filter(|&next| next <= last);
        }
        removed
    }

    /// Finds out what is seen in the pages that lost regions. Before, nothing may be asked or put on top.
    pub(super) fn settle(&mut self) {
        for number in std::mem::take(&mut self.stale) {
            if let Some(page) = self.by_number.get_mut(&number) {
                page.settle();
            }
        }
    }

    fn forget(&mut self, page: u64) {
        self.by_number.remove(&page);
        self.numbers.remove(&page);
        // A table that was large once does not keep its room.
        if self.by_number.len() < self.by_number.capacity() / SHRINK {
            self.by_number.shrink_to(self.by_number.len().saturating_mul(2));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn region(start: u32, end: u32, base: u64) -> Region {
        Region { start, end, base }
    }

    #[test]
    fn page_that_loses_its_last_region_is_forgotten() {
        let mut pages = Pages::default();
        pages.push(7, region(0, 16, 1)).unwrap();
        pages.push(7, region(4, 8, 2)).unwrap();
        pages.pop(7);
        pages.settle();
        assert_eq!(pages.at(7, 4), Spot::Seen(region(0, 16, 1)));
        pages.pop(7);
        assert!(pages.by_number.is_empty() && pages.numbers.is_empty());
    }

    #[test]
    fn removal_visits_the_pages_of_the_range_and_no_others() {
        let mut pages = Pages::default();
        for page in [0, 1, u64::MAX - 1, u64::MAX] {
            pages.push(page, region(0, 16, page)).unwrap();
        }
        assert_eq!(pages.remove(1, u64::MAX, |page| if page == u64::MAX { (0, 8) } else { (0, 16) }), 2);
        assert_eq!(pages.numbers.iter().copied().collect::<Vec<_>>(), [0, u64::MAX]);
        assert_eq!(pages.by_number.len(), 2);
    }

    #[test]
    fn layers_with_one_region_left_become_that_region() {
        let mut pages = Pages::default();
        pages.push(3, region(0, 16, 1)).unwrap();
        pages.push(3, region(4, 8, 2)).unwrap();
        assert_eq!(pages.remove(3, 3, |_| (4, 8)), 1);
        pages.settle();
        assert!(matches!(pages.by_number.get(&3), Some(Page::One(_))));
    }
}
