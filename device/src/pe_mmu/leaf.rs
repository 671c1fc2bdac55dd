//! Sixty-four pages of the table that lie beside each other.
//!
//! Which of them have regions says a word of 64 bits; behind it lie those alone, in order. The place of a page is
//! the number of pages before it. As long as each page is one region from end to end, a page is one word, the address
//! that it leads to, so that a million pages lie in eight megabytes; otherwise all pages of the leaf are two words,
//! and the second says which part of the page the region is, or that there are several.

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
    /// Several, which lie elsewhere.
    Several,
}

impl Entry {
    /// As two words. No region ends at zero.
    const fn words(self) -> [u64; 2] {
        match self {
            Self::Only(Region { start, end, base }) => [base, (end as u64) << 32 | start as u64],
            Self::Several => [0; 2],
        }
    }

    #[inline]
    const fn from_words(base: u64, ends: u64) -> Self {
        match halves(ends) {
            (_, 0) => Self::Several,
            (start, end) => Self::Only(Region { start, end, base }),
        }
    }
}

/// The leaf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Leaf {
    /// A bit for each page that has regions.
    present: u64,
    /// Where their words are, with room up to a power of two; there is no block while no page has regions.
    at: u32,
    size: u32,
    /// A page has two words and not one.
    is_wide: bool,
}

/// The bit of a page.
const fn bit(page: u32) -> u64 {
    1u64.wrapping_shl(page)
}

/// The bits from one page to another.
pub(super) const fn bits(first: u32, last: u32) -> u64 {
    let (low, high) = (bit(first), bit(last));
    (high | high.wrapping_sub(1)) & !low.wrapping_sub(1)
}

/// Beside the size of a block: pages have two words.
const WIDE: u32 = 1 << 31;

impl Leaf {
    /// The leaf as two words, as the directory keeps it; a leaf without pages is zero.
    pub(super) const fn words(self) -> [u64; 2] {
        let wide = if self.is_wide { WIDE } else { 0 };
        [self.present, ((self.size | wide) as u64) << 32 | self.at as u64]
    }

    /// The leaf of two words.
    #[inline]
    pub(super) const fn from_words([present, rest]: [u64; 2]) -> Self {
        let (at, size) = halves(rest);
        Self { present, at, size: size & !WIDE, is_wide: size & WIDE != 0 }
    }

    #[inline]
    const fn block(&self) -> Block {
        Block { at: self.at, size: self.size }
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
    const fn place(&self, page: u32) -> usize {
        // At most 63.
        (self.present & bit(page).wrapping_sub(1)).count_ones() as usize
    }

    /// What is known of a page of so many bytes.
    #[inline]
    pub(super) fn get(&self, arena: &Arena, page: u32, bytes: u32) -> Option<Entry> {
        if self.present & bit(page) == 0 {
            return None;
        }
        let place = self.place(page);
        if !self.is_wide {
            return arena
                .word(self.block(), place)
                .map(|base| Entry::Only(Region { start: 0, end: bytes, base }));
        }
        let [first, second] = [place.wrapping_mul(2), place.wrapping_mul(2).wrapping_add(1)];
        Some(Entry::from_words(arena.word(self.block(), first)?, arena.word(self.block(), second)?))
    }

    /// Says something else of a page, or takes it in; `None`, and nothing else, if the host has no memory.
    pub(super) fn set(&mut self, arena: &mut Arena, page: u32, bytes: u32, entry: Entry) -> Option<()> {
        let is_whole = matches!(entry, Entry::Only(region) if region.start == 0 && region.end == bytes);
        self.fit(arena, self.present | bit(page), self.is_wide || !is_whole, bytes)?;
        let (place, width) = (self.place(page), self.width());
        let words = arena.words_mut(self.block());
        let there = place.wrapping_mul(width)..place.wrapping_add(1).wrapping_mul(width);
        words.get_mut(there)?.copy_from_slice(entry.words().get(..width)?);
        Some(())
    }

    /// Lets some pages go, a bit for each.
    pub(super) fn remove(&mut self, arena: &mut Arena, gone: u64, bytes: u32) {
        if self.present & gone == 0 {
            return;
        }
        // Without memory for a smaller block it stays in the larger one.
        if self.fit(arena, self.present & !gone, self.is_wide, bytes).is_none() {
            self.arrange(arena, self.block(), self.present & !gone, self.is_wide, bytes);
        }
    }

    /// Words of a page.
    const fn width(&self) -> usize {
        if self.is_wide { 2 } else { 1 }
    }

    /// Makes places for these pages, of that width, in a block that is no more than twice as large.
    fn fit(&mut self, arena: &mut Arena, present: u64, is_wide: bool, bytes: u32) -> Option<()> {
        if (present, is_wide) == (self.present, self.is_wide) {
            return Some(());
        }
        let old = (self.present != 0).then_some(self.block());
        if present == 0 {
            old.into_iter().for_each(|block| arena.give_back(block));
            *self = Self::default();
            return Some(());
        }
        let words = (present.count_ones() as usize).wrapping_mul(if is_wide { 2 } else { 1 });
        let size = words.next_power_of_two().trailing_zeros();
        let block = match old {
            Some(old) if old.size == size => old,
            _ => arena.take(size)?,
        };
        self.arrange(arena, block, present, is_wide, bytes);
        old.into_iter().filter(|&old| old != block).for_each(|old| arena.give_back(old));
        Some(())
    }

    /// Puts the words of pages where they belong. Those of pages that were not there are left to whoever takes them in.
    fn arrange(&mut self, arena: &mut Arena, block: Block, present: u64, is_wide: bool, bytes: u32) {
        let old = *self;
        let mut words = [0; 2 * PAGES as usize];
        if let Some(kept) = words.get_mut(..arena.words(old.block()).len()) {
            kept.copy_from_slice(arena.words(old.block()));
        }
        let to = arena.words_mut(block);
        let width = if is_wide { 2 } else { 1 };
        let mut left = present;
        for place in to.chunks_exact_mut(width) {
            if left == 0 {
                break;
            }
            let page = left.trailing_zeros();
            left &= left.wrapping_sub(1);
            let from = old.place(page).wrapping_mul(old.width());
            let there = (old.present & bit(page) != 0).then(|| words.get(from..)).flatten();
            let Some(there) = there else { continue };
            let whole = u64::from(bytes) << 32;
            let second = if old.is_wide { there.get(1).copied().unwrap_or_default() } else { whole };
            for (to, from) in place.iter_mut().zip([there.first().copied().unwrap_or_default(), second]) {
                *to = from;
            }
        }
        *self = Self { present, at: block.at, size: block.size, is_wide };
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

    fn leaf(pages: impl IntoIterator<Item = u32>) -> (Leaf, Arena) {
        let (mut leaf, mut arena) = Default::default();
        for page in pages {
            Leaf::set(&mut leaf, &mut arena, page, BYTES, whole(page.into())).unwrap();
        }
        (leaf, arena)
    }

    fn all(leaf: &Leaf, arena: &Arena) -> Vec<(u32, Entry)> {
        (0..64).filter_map(|page| Some((page, leaf.get(arena, page, BYTES)?))).collect()
    }

    #[test]
    fn pages_in_any_order_are_found_where_they_belong() {
        let (leaf, arena) = leaf([63, 0, 31, 32, 1]);
        assert_eq!(all(&leaf, &arena), [0, 1, 31, 32, 63].map(|page| (page, whole(page.into()))));
        assert_eq!(leaf.size, 3);
    }

    #[test]
    fn leaf_is_widened_by_the_first_page_that_is_not_whole() {
        let (mut leaf, mut arena) = leaf([5, 9]);
        leaf.set(&mut arena, 7, BYTES, part(1)).unwrap();
        assert_eq!(all(&leaf, &arena), [(5, whole(5)), (7, part(1)), (9, whole(9))]);
        leaf.set(&mut arena, 5, BYTES, Entry::Several).unwrap();
        assert_eq!(all(&leaf, &arena), [(5, Entry::Several), (7, part(1)), (9, whole(9))]);
        assert_eq!((leaf.is_wide, leaf.size), (true, 3));
    }

    #[test]
    fn pages_that_go_give_their_room_back() {
        let (mut leaf, mut arena) = leaf(0..64);
        leaf.remove(&mut arena, bits(1, 62) & !bits(40, 40), BYTES);
        assert_eq!(all(&leaf, &arena), [0, 40, 63].map(|page| (page, whole(page.into()))));
        assert_eq!(leaf.size, 2);
        leaf.remove(&mut arena, u64::MAX, BYTES);
        assert_eq!((leaf.present(), leaf.is_wide), (0, false));
    }

    #[test]
    fn bits_are_those_from_one_page_to_another() {
        assert_eq!([bits(0, 0), bits(63, 63), bits(0, 63), bits(4, 7)], [1, 1 << 63, u64::MAX, 0xf0]);
    }
}
