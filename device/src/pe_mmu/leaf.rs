//! Sixty-four pages of the table that lie beside each other, in two words.
//!
//! Which of them have regions says the first word, a bit for each. What the second says depends on what they are:
//!
//! * a *run*: each page is one region from end to end, and all lead to addresses that follow each other, as the pages of one
//!   mapping do, and as one page alone does. The word is where the run leads;
//! * *whole* pages: each is one region from end to end, and leads anywhere. They are in a block of the arena, a word for
//!   each page that there is: the address it leads to;
//! * *parts*: any pages. They have two words each, and the second says which part of the page the region is, or
//!   that there are several.
//!
//! The place of a page in a block is the number of pages before it.

use super::arena::{Arena, Block};
use super::layers::Region;
use crate::bus::halves;

/// Pages of a leaf.
pub(super) const PAGES: u32 = 64;

/// What is known of a page that has regions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// One, which is what nearly every page has.
    Only(Region),
    /// Several, which lie elsewhere, by that number.
    Several(u32),
}

impl Entry {
    /// As two words. No region ends at zero.
    const fn words(self) -> [u64; 2] {
        match self {
            Self::Only(Region { start, end, base }) => [base, (end as u64) << 32 | start as u64],
            Self::Several(number) => [number as u64, 0],
        }
    }

    #[inline]
    const fn from_words([base, ends]: [u64; 2]) -> Self {
        match halves(ends) {
            (_, 0) => Self::Several(halves(base).0),
            (start, end) => Self::Only(Region { start, end, base }),
        }
    }

    /// Where it leads, if it is one region from end to end of a page of so many bytes.
    fn whole(self, bytes: u32) -> Option<u64> {
        match self {
            Self::Only(Region { start: 0, end, base }) if end == bytes => Some(base),
            _ => None,
        }
    }
}

/// The leaf. Without pages it is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Leaf {
    /// A bit for each page that has regions.
    present: u64,
    /// What they are: a run with [`RUN`], the place and the size of a block without.
    what: u64,
}

/// The pages are a run. The other bits are where the first page of the leaf leads, or would lead; below zero they
/// wrap. So no page of a run leads beyond them.
const RUN: u64 = 1 << 63;

/// Beside the place and the size of a block: pages have two words.
const PARTS: u64 = 1 << 62;

/// The bit of a page.
const fn bit(page: u32) -> u64 {
    1u64.wrapping_shl(page)
}

/// The bits from one page to another.
pub(super) const fn bits(first: u32, last: u32) -> u64 {
    let (low, high) = (bit(first), bit(last));
    (high | high.wrapping_sub(1)) & !low.wrapping_sub(1)
}

/// Goes over pages, a bit for each, from the first to the last.
pub(super) fn each(mut pages: u64, mut go: impl FnMut(u32)) {
    while pages != 0 {
        go(pages.trailing_zeros());
        pages &= pages.wrapping_sub(1);
    }
}

/// The run in which a page leads to `base`, if it can be in one.
const fn run(page: u32, bytes: u32, base: u64) -> Option<u64> {
    let before = (page as u64).wrapping_mul(bytes as u64);
    if base < RUN { Some(base.wrapping_sub(before) | RUN) } else { None }
}

/// The block that so many pages take, as a power of two of words.
const fn size(pages: u32, is_parts: bool) -> u32 {
    pages.next_power_of_two().trailing_zeros().wrapping_add(is_parts as u32)
}

impl Leaf {
    /// The leaf as two words, as the directory keeps it.
    pub(super) const fn words(self) -> [u64; 2] {
        [self.present, self.what]
    }

    /// The leaf of two words.
    #[inline]
    pub(super) const fn from_words([present, what]: [u64; 2]) -> Self {
        Self { present, what }
    }

    const fn is_run(&self) -> bool {
        self.what & RUN != 0
    }

    const fn is_parts(&self) -> bool {
        self.what & (RUN | PARTS) == PARTS
    }

    /// The block, if the leaf has one.
    const fn block(&self) -> Option<Block> {
        let (at, size) = halves(self.what & !PARTS);
        if self.present == 0 || self.is_run() { None } else { Some(Block { at, size }) }
    }

    /// A leaf with a block.
    const fn of_block(present: u64, Block { at, size }: Block, is_parts: bool) -> Self {
        Self { present, what: (size as u64) << 32 | at as u64 | if is_parts { PARTS } else { 0 } }
    }

    /// The pages that have regions, a bit for each.
    pub(super) const fn present(&self) -> u64 {
        self.present
    }

    /// True if no page has regions.
    pub(super) const fn is_empty(&self) -> bool {
        self.present == 0
    }

    /// Pages before one.
    #[inline]
    const fn place(&self, page: u32) -> u32 {
        // Most leaves of a large table are full, and not every processor that this is compiled for can count.
        if self.present == u64::MAX { page } else { (self.present & bit(page).wrapping_sub(1)).count_ones() }
    }

    /// What is known of a page of so many bytes.
    #[inline]
    pub(super) fn get(&self, arena: &Arena, page: u32, bytes: u32) -> Option<Entry> {
        if self.present & bit(page) == 0 {
            return None;
        }
        let whole = |base| Entry::Only(Region { start: 0, end: bytes, base });
        if self.is_run() {
            let before = u64::from(page).wrapping_mul(bytes.into());
            return Some(whole(self.what.wrapping_add(before) & !RUN));
        }
        let ((at, _), place) = (halves(self.what), self.place(page));
        if self.is_parts() {
            arena.pair(at, place).map(Entry::from_words)
        } else {
            arena.word(at, place).map(whole)
        }
    }

    /// Says something else of a page, or takes it in; `None`, and nothing else, if the host has no memory.
    pub(super) fn set(&mut self, arena: &mut Arena, page: u32, bytes: u32, entry: Entry) -> Option<()> {
        let base = entry.whole(bytes);
        let run = base.and_then(|base| run(page, bytes, base));
        let is_alone = self.present & !bit(page) == 0;
        let present = self.present | bit(page);
        if let Some(run) = run.filter(|&run| is_alone || run == self.what) {
            self.block().into_iter().for_each(|block| arena.give_back(block));
            *self = Self { present, what: run };
            return Some(());
        }
        let is_parts = self.is_parts() || base.is_none();
        let size = size(present.count_ones(), is_parts);
        let block = match self.block() {
            Some(block) if (block.size, self.is_parts()) == (size, is_parts) => {
                if self.present != present {
                    self.open(arena, block, page);
                }
                block
            }
            old => {
                let block = arena.take(size)?;
                let new = Self::of_block(present, block, is_parts);
                each(self.present & !bit(page), |page| {
                    self.get(arena, page, bytes).into_iter().for_each(|entry| new.put(arena, page, entry));
                });
                old.into_iter().for_each(|block| arena.give_back(block));
                block
            }
        };
        *self = Self::of_block(present, block, is_parts);
        self.put(arena, page, entry);
        Some(())
    }

    /// Writes the words of a page into the block.
    fn put(&self, arena: &mut Arena, page: u32, entry: Entry) {
        let (Some(block), place) = (self.block(), self.place(page) as usize) else { return };
        let words = arena.words_mut(block);
        match entry.words() {
            pair if self.is_parts() => {
                let (pairs, _) = words.as_chunks_mut();
                pairs.get_mut(place).into_iter().for_each(|to| *to = pair);
            }
            [base, _] => words.get_mut(place).into_iter().for_each(|to| *to = base),
        }
    }

    /// Words of a page in the block.
    const fn width(&self) -> usize {
        if self.is_parts() { 2 } else { 1 }
    }

    /// Makes a place for a page in a block that has room, before those of the pages behind it.
    fn open(&self, arena: &mut Arena, block: Block, page: u32) {
        let from = (self.place(page) as usize).wrapping_mul(self.width());
        let words = arena.words_mut(block);
        if let Some(end) = words.len().checked_sub(self.width()).filter(|&end| from < end) {
            words.copy_within(from..end, from.wrapping_add(self.width()));
        }
    }

    /// Moves the places of the pages behind one over its own.
    fn close(&mut self, arena: &mut Arena, block: Block, page: u32) {
        let to = (self.place(page) as usize).wrapping_mul(self.width());
        let from = to.wrapping_add(self.width());
        let words = arena.words_mut(block);
        if from < words.len() {
            words.copy_within(from.., to);
        }
        self.present &= !bit(page);
    }

    /// Lets some pages go, a bit for each. That takes no memory.
    pub(super) fn remove(&mut self, arena: &mut Arena, gone: u64, bytes: u32) {
        let old = *self;
        let left = old.present & !gone;
        let Some(block) = old.block().filter(|_| left != 0) else {
            old.block().into_iter().for_each(|block| arena.give_back(block));
            *self = Self { present: left, what: if left == 0 { 0 } else { old.what } };
            return;
        };
        each(gone & old.present, |page| self.close(arena, block, page));
        let size = size(left.count_ones(), old.is_parts());
        *self = Self::of_block(left, arena.smaller(block, size), old.is_parts());
        if left.is_power_of_two() {
            let page = left.trailing_zeros();
            // A page alone may be a run.
            self.get(arena, page, bytes).and_then(|entry| self.set(arena, page, bytes, entry));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: u32 = 0x1000;

    fn whole(base: u64) -> Entry {
        Entry::Only(Region { start: 0, end: BYTES, base })
    }

    fn part(base: u64) -> Entry {
        Entry::Only(Region { start: 16, end: 32, base })
    }

    fn leaf(pages: impl IntoIterator<Item = (u32, Entry)>) -> (Leaf, Arena) {
        let (mut leaf, mut arena) = Default::default();
        for (page, entry) in pages {
            Leaf::set(&mut leaf, &mut arena, page, BYTES, entry).unwrap();
        }
        (leaf, arena)
    }

    fn all(leaf: &Leaf, arena: &Arena) -> Vec<(u32, Entry)> {
        (0..64).filter_map(|page| Some((page, leaf.get(arena, page, BYTES)?))).collect()
    }

    #[test]
    fn pages_in_any_order_are_found_where_they_belong() {
        let (leaf, arena) = leaf([63, 0, 31, 32, 1].map(|page| (page, whole(page.into()))));
        assert_eq!(all(&leaf, &arena), [0, 1, 31, 32, 63].map(|page| (page, whole(page.into()))));
        assert_eq!(leaf.block().map(|block| block.size), Some(3));
    }

    #[test]
    fn pages_that_lead_to_addresses_in_a_row_take_no_block() {
        let in_a_row = |page: u32| whole(u64::from(page) * 0x1000 - 0x5000);
        let (mut run, mut arena) = leaf([9, 5, 63].map(|page| (page, in_a_row(page))));
        assert_eq!(all(&run, &arena), [5, 9, 63].map(|page| (page, in_a_row(page))));
        assert_eq!(run.block(), None);
        run.remove(&mut arena, bits(6, 63), BYTES);
        assert_eq!(all(&run, &arena), [(5, whole(0))]);
    }

    #[test]
    fn page_that_leads_elsewhere_ends_the_run_and_is_one_when_it_is_alone() {
        let (mut leaf, mut arena) = leaf([(5, whole(0)), (6, whole(BYTES.into())), (7, whole(RUN))]);
        assert_eq!(all(&leaf, &arena), [(5, whole(0)), (6, whole(BYTES.into())), (7, whole(RUN))]);
        leaf.remove(&mut arena, bits(7, 63) | bits(5, 5), BYTES);
        assert_eq!(all(&leaf, &arena), [(6, whole(BYTES.into()))]);
        assert_eq!(leaf.block(), None);
    }

    #[test]
    fn page_that_leads_beyond_the_addresses_of_a_run_is_in_none() {
        let (leaf, arena) = leaf([(3, whole(RUN | 0x3000)), (4, whole(u64::MAX))]);
        assert_eq!(all(&leaf, &arena), [(3, whole(RUN | 0x3000)), (4, whole(u64::MAX))]);
    }

    #[test]
    fn leaf_has_two_words_a_page_from_the_first_that_is_not_whole() {
        let (mut leaf, mut arena) = leaf([(5, whole(5)), (9, whole(9))]);
        leaf.set(&mut arena, 7, BYTES, part(1)).unwrap();
        assert_eq!(all(&leaf, &arena), [(5, whole(5)), (7, part(1)), (9, whole(9))]);
        leaf.set(&mut arena, 5, BYTES, Entry::Several(4)).unwrap();
        assert_eq!(all(&leaf, &arena), [(5, Entry::Several(4)), (7, part(1)), (9, whole(9))]);
        assert_eq!(leaf.block().map(|block| block.size), Some(3));
    }

    #[test]
    fn pages_that_go_give_their_room_back() {
        let (mut leaf, mut arena) = leaf((0..64).map(|page| (page, part(page.into()))));
        leaf.remove(&mut arena, bits(1, 62) & !bits(40, 40), BYTES);
        assert_eq!(all(&leaf, &arena), [0, 40, 63].map(|page| (page, part(page.into()))));
        assert_eq!(leaf.block().map(|block| block.size), Some(3));
        leaf.remove(&mut arena, u64::MAX, BYTES);
        assert_eq!(leaf, Leaf::default());
        // All of it is one block again.
        assert_eq!(arena.take(7), Some(Block { at: 0, size: 7 }));
    }

    #[test]
    fn bits_are_those_from_one_page_to_another() {
        assert_eq!([bits(0, 0), bits(63, 63), bits(0, 63), bits(4, 7)], [1, 1 << 63, u64::MAX, 0xf0]);
    }
}
