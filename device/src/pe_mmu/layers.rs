//! The regions of a page that has several: all in order of arrival, and the visible part of each.
//!
//! Mapping appends, and the newest region that covers an address wins. The visible parts, disjoint and in order of
//! address, are kept beside the list, so that finding an address is a binary search however many regions lie on top of
//! each other. A region that is removed uncovers the regions beneath it: only the part of the page that it covered is
//! computed again, and once for a message, however many regions of the page it removes. Until then the page is *stale*.

use std::collections::BinaryHeap;

use ane_uapi::hw::pe_mmu::MAX_REGIONS_PER_PAGE;

/// A part of a page, and where its page would begin if all of it were mapped like this part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Region {
    /// First byte in the page.
    pub(super) start: u32,
    /// The byte behind the last.
    pub(super) end: u32,
    /// Physical address of offset zero; it wraps where that would lie below zero.
    pub(super) base: u64,
}

impl Region {
    #[inline]
    pub(super) const fn covers(&self, offset: u32) -> bool {
        self.start <= offset && offset < self.end
    }

    /// True if all of it is in the range.
    pub(super) const fn lies_in(&self, start: u32, end: u32) -> bool {
        start <= self.start && self.end <= end
    }
}

/// A region with its place in the order of arrival, which comes first: it is ordered by that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Arrived {
    serial: u64,
    region: Region,
}

/// Regions that may cover each other.
#[derive(Clone, Debug, Default)]
pub(super) struct Layers {
    /// In order of arrival.
    all: Vec<Arrived>,
    /// Their visible parts: disjoint, in order of address.
    seen: Vec<Arrived>,
    next: u64,
    /// The part of the page, first byte and byte behind the last, of which `seen` is not up to date.
    stale: Option<(u32, u32)>,
}

/// The region at an offset of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spot {
    /// A region, of which this much is seen around the offset.
    Seen(Region),
    /// Nothing, up to this offset; `None` is the end of the page.
    Bare(Option<u32>),
}

impl Layers {
    /// A region, and another on top.
    pub(super) fn of(first: Region, second: Region) -> Self {
        // Most pages with several have two.
        let mut layers = Self { all: Vec::with_capacity(2), ..Self::default() };
        for region in [first, second] {
            // There is room for two.
            _ = layers.push(region);
        }
        layers
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The region, if it is the only one that is left.
    pub(super) const fn only(&self) -> Option<Region> {
        match self.all.as_slice() {
            [only] => Some(only.region),
            _ => None,
        }
    }

    pub(super) fn at(&self, offset: u32) -> Spot {
        let next = self.seen.partition_point(|seen| seen.region.end <= offset);
        match self.seen.get(next) {
            Some(seen) if seen.region.covers(offset) => Spot::Seen(seen.region),
            other => Spot::Bare(other.map(|seen| seen.region.start)),
        }
    }

    /// Puts a region on top; false if there is no room for more.
    pub(super) fn push(&mut self, region: Region) -> bool {
        if self.all.len() >= MAX_REGIONS_PER_PAGE {
            return false;
        }
        let arrived = Arrived { serial: self.next, region };
        self.next = self.next.wrapping_add(1);
        self.all.push(arrived);
        self.show(region.start, region.end, &[arrived]);
        true
    }

    /// Takes the newest region out; what is seen is found out in [`refresh`](Self::refresh).
    pub(super) fn pop(&mut self) {
        if let Some(Arrived { region, .. }) = self.all.pop() {
            self.mark_stale(region.start, region.end);
        }
    }

    /// Takes out the regions that lie in the range from end to end; the number is how many. What is seen is found out in
    /// [`refresh`](Self::refresh).
    pub(super) fn remove(&mut self, start: u32, end: u32) -> usize {
        let before = self.all.len();
        let (mut low, mut high) = (u32::MAX, 0);
        self.all.retain(|Arrived { region, .. }| {
            let goes = region.lies_in(start, end);
            if goes {
                low = low.min(region.start);
                high = high.max(region.end);
            }
            !goes
        });
        if low < high {
            self.mark_stale(low, high);
        }
        before.saturating_sub(self.all.len())
    }

    pub(super) const fn is_stale(&self) -> bool {
        self.stale.is_some()
    }

    fn mark_stale(&mut self, start: u32, end: u32) {
        let (low, high) = self.stale.unwrap_or((start, end));
        self.stale = Some((low.min(start), high.max(end)));
    }

    /// Brings what is seen up to date after regions were taken out.
    pub(super) fn refresh(&mut self) {
        let Some((start, end)) = self.stale.take() else { return };
        self.look_again(start, end);
        // Clients could keep one region of a page that had many, and have the host keep the room of all.
        for list in [&mut self.all, &mut self.seen] {
            if list.len() < list.capacity() / 4 {
                list.shrink_to_fit();
            }
        }
    }

    /// Finds out once more what is seen in a range.
    fn look_again(&mut self, start: u32, end: u32) {
        let there = self.all.iter().filter_map(|&Arrived { serial, region }| {
            let region = Region { start: region.start.max(start), end: region.end.min(end), ..region };
            (region.start < region.end).then_some(Arrived { serial, region })
        });
        let seen = newest(there.collect());
        self.show(start, end, &seen);
    }

    /// Puts `parts` in the place of whatever is seen in a range.
    fn show(&mut self, start: u32, end: u32, parts: &[Arrived]) {
        // With the neighbours that touch it, which a part may belong to.
        let first = self.seen.partition_point(|seen| seen.region.end < start);
        let behind = self.seen.partition_point(|seen| seen.region.start <= end);
        let left = self.seen.get(first).filter(|seen| seen.region.start < start).map(|&seen| {
            let region = Region { end: seen.region.end.min(start), ..seen.region };
            Arrived { region, ..seen }
        });
        let right = behind.checked_sub(1).and_then(|last| self.seen.get(last));
        let right = right.filter(|seen| seen.region.end > end).map(|&seen| {
            let region = Region { start: seen.region.start.max(end), ..seen.region };
            Arrived { region, ..seen }
        });
        let parts = left.into_iter().chain(parts.iter().copied()).chain(right);
        self.seen.splice(first..behind.max(first), joined(parts));
    }
}

/// Parts in order of address, with what belongs together in one.
fn joined(parts: impl Iterator<Item = Arrived>) -> Vec<Arrived> {
    let mut list: Vec<Arrived> = Vec::with_capacity(parts.size_hint().0);
    for part in parts {
        match list.last_mut() {
            Some(last) if last.serial == part.serial && last.region.end == part.region.start => {
                last.region.end = part.region.end;
            }
            _ => list.push(part),
        }
    }
    list
}

/// The newest of the regions at each address, in ascending order.
fn newest(mut regions: Vec<Arrived>) -> Vec<Arrived> {
    regions.sort_unstable_by_key(|arrived| arrived.region.start);
    let mut ahead = regions.into_iter().peekable();
    let mut open: BinaryHeap<Arrived> = BinaryHeap::new();
    let mut seen = Vec::new();
    let mut at = 0;
    loop {
        while let Some(arrived) = ahead.next_if(|arrived| arrived.region.start <= at) {
            open.push(arrived);
        }
        while open.peek().is_some_and(|arrived| arrived.region.end <= at) {
            open.pop();
        }
        match (open.peek(), ahead.peek()) {
            (None, None) => return joined(seen.into_iter()),
            (None, Some(next)) => at = next.region.start,
            (Some(&top), next) => {
                let end = next.map_or(top.region.end, |next| next.region.start.min(top.region.end));
                seen.push(Arrived { region: Region { start: at, end, ..top.region }, ..top });
                at = end;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn region(start: u32, end: u32, base: u64) -> Region {
        Region { start, end, base }
    }

    fn page(regions: &[Region]) -> Layers {
        let mut page = Layers::default();
        assert!(regions.iter().all(|&region| page.push(region)));
        page
    }

    #[test]
    fn region_that_is_uncovered_is_one_piece_again() {
        let mut page = page(&[region(0, 0x1000, 1), region(0x400, 0x600, 2)]);
        assert_eq!(page.at(0x3ff), Spot::Seen(region(0, 0x400, 1)));
        assert_eq!(page.remove(0x400, 0x600), 1);
        page.refresh();
        assert_eq!(page.at(0x3ff), Spot::Seen(region(0, 0x1000, 1)));
    }

    #[test]
    fn bare_part_ends_where_the_next_region_begins() {
        let page = page(&[region(0x100, 0x200, 1), region(0x400, 0x600, 2)]);
        assert_eq!(page.at(0), Spot::Bare(Some(0x100)));
        assert_eq!(page.at(0x200), Spot::Bare(Some(0x400)));
        assert_eq!(page.at(0x600), Spot::Bare(None));
    }

    #[test]
    fn page_takes_as_many_regions_as_shards_need_and_no_more() {
        let mut page = page(&[region(0, 128, 0)]);
        let shard = |n: u32| region(128 * n, 128 * (n + 1), 0);
        assert!((1..MAX_REGIONS_PER_PAGE).zip(1..).all(|(_, n)| page.push(shard(n))));
        assert!(!page.push(shard(0)));
        assert_eq!(page.all.len(), MAX_REGIONS_PER_PAGE);
    }

    #[test]
    fn room_of_regions_that_are_gone_goes_with_them() {
        let mut page = page(&[region(0, 1, 0)]);
        (1..MAX_REGIONS_PER_PAGE).for_each(|_| assert!(page.push(region(1, 2, 0))));
        assert_eq!(page.remove(1, 2), MAX_REGIONS_PER_PAGE - 1);
        page.refresh();
        assert_eq!((page.only(), page.all.capacity()), (Some(region(0, 1, 0)), 1));
    }

    #[test]
    fn regions_that_are_removed_one_by_one_are_looked_behind_once() {
        let mut page = page(&[region(0, 32, 1), region(2, 4, 2), region(8, 16, 3), region(20, 24, 4)]);
        assert_eq!((page.remove(8, 16), page.remove(2, 4)), (1, 1));
        assert_eq!(page.stale, Some((2, 16)));
        page.refresh();
        assert_eq!(page.stale, None);
        assert_eq!(page.at(8), Spot::Seen(region(0, 20, 1)));
        assert_eq!(page.at(20), Spot::Seen(region(20, 24, 4)));
    }

    #[test]
    fn pop_takes_back_the_newest_region_alone() {
        let mut page = page(&[region(0, 16, 1), region(4, 8, 2), region(2, 12, 3)]);
        page.pop();
        page.refresh();
        assert_eq!(page.at(4), Spot::Seen(region(4, 8, 2)));
        assert_eq!(page.at(2), Spot::Seen(region(0, 4, 1)));
        page.pop();
        assert_eq!(page.only(), Some(region(0, 16, 1)));
        page.pop();
        page.refresh();
        assert_eq!((page.is_empty(), page.at(4)), (true, Spot::Bare(None)));
    }
}
