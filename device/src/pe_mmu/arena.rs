//! Where the pages of the table lie: in blocks of words, each a power of two long.
//!
//! A question about a large table waits for memory and for nothing else, so what is asked for lies as close together as
//! it can. Blocks are halves of larger ones, down from the largest, and two free halves are one again: what is
//! free serves any size, however messages come and go. A block begins at a multiple of its length, so that no
//! page's words are in two lines of the host's cache.

use std::collections::BTreeSet;

use super::memory::Memory;

/// The largest block has that many words, as a power of two: a leaf with two words a page.
const LARGEST: u32 = 7;

/// Words that there are at first.
const FIRST: usize = 512;

/// The memory of a table.
#[derive(Debug, Default)]
pub(super) struct Arena {
    memory: Memory,
    /// Words that largest blocks have been cut from.
    used: u32,
    /// Where blocks of each size are free. Those at the beginning are taken first, so that what is in use is together.
    free: [BTreeSet<u32>; LARGEST as usize + 1],
}

/// A block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// Its first word.
    pub(super) at: u32,
    /// Words, as a power of two.
    pub(super) size: u32,
}

impl Block {
    /// The other half of what this block and another are halves of.
    const fn other(self) -> u32 {
        self.at ^ 1 << self.size
    }
}

impl Arena {
    /// A word of the memory.
    #[inline]
    pub(super) fn word(&self, at: u32, index: u32) -> Option<u64> {
        self.memory.word((at as usize).wrapping_add(index as usize))
    }

    /// Two words of the memory that lie beside each other, the first of which has an even number.
    #[inline]
    pub(super) fn pair(&self, at: u32, index: u32) -> Option<[u64; 2]> {
        self.memory.pair((at as usize / 2).wrapping_add(index as usize))
    }

    /// The words of a block, to change.
    pub(super) fn words_mut(&mut self, block: Block) -> &mut [u64] {
        let rest = self.memory.words_mut().get_mut(block.at as usize..);
        rest.and_then(|rest| rest.get_mut(..1 << block.size)).unwrap_or_default()
    }

    /// A block of `1 << size` words, with anything in them; `None` if the host has no memory.
    pub(super) fn take(&mut self, size: u32) -> Option<Block> {
        self.take_free(size).or_else(|| self.cut().map(|block| self.halve(block, size)))
    }

    /// A block out of those that are free.
    fn take_free(&mut self, size: u32) -> Option<Block> {
        let is_there = |larger: &u32| self.free.get(*larger as usize).is_some_and(|free| !free.is_empty());
        let larger = (size..=LARGEST).find(is_there)?;
        let at = self.free.get_mut(larger as usize)?.pop_first()?;
        Some(self.halve(Block { at, size: larger }, size))
    }

    /// One of the largest blocks, behind all others.
    fn cut(&mut self) -> Option<Block> {
        let at = self.used;
        let used = at.checked_add(1 << LARGEST)?;
        if used as usize > self.memory.words().len() {
            self.memory = self.memory.larger((used as usize).max(FIRST))?;
        }
        self.used = used;
        Some(Block { at, size: LARGEST })
    }

    /// The beginning of a block, of `1 << size` words; the rest of it is taken back.
    fn halve(&mut self, mut block: Block, size: u32) -> Block {
        while let Some(half) = block.size.checked_sub(1).filter(|&half| half >= size) {
            block.size = half;
            self.give_back(Block { at: block.other(), size: half });
        }
        block
    }

    /// A smaller block for one, with what is in its beginning. That takes no memory.
    ///
    /// It moves to where another block was, if it can: the beginning of every block that there ever was could else keep
    /// the host's memory, as a client would like it.
    pub(super) fn smaller(&mut self, block: Block, size: u32) -> Block {
        if size >= block.size {
            return block;
        }
        match self.take_free(size) {
            Some(other) if other.at < block.at => {
                let from = block.at as usize..(block.at as usize).wrapping_add(1 << size);
                self.memory.words_mut().copy_within(from, other.at as usize);
                self.give_back(block);
                other
            }
            other => {
                other.into_iter().for_each(|other| self.give_back(other));
                self.halve(block, size)
            }
        }
    }

    /// Takes a block back.
    pub(super) fn give_back(&mut self, mut block: Block) {
        while let Some(free) = self.free.get_mut(block.size as usize) {
            if block.size == LARGEST || !free.remove(&block.other()) {
                free.insert(block.at);
                return;
            }
            block = Block { at: block.at.min(block.other()), size: block.size.saturating_add(1) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_halves_that_become_one_again() {
        let mut arena = Arena::default();
        let blocks = [0, 1, 3, 0].map(|size| arena.take(size).unwrap());
        assert_eq!(blocks.map(|block| block.at), [0, 2, 8, 1]);
        blocks.into_iter().for_each(|block| arena.give_back(block));
        assert_eq!(arena.take(LARGEST), Some(Block { at: 0, size: LARGEST }));
        assert_eq!(arena.take(0), Some(Block { at: 128, size: 0 }));
    }

    #[test]
    fn rest_of_a_block_that_becomes_smaller_is_free() {
        let mut arena = Arena::default();
        let block = arena.take(4).unwrap();
        assert_eq!(arena.smaller(block, 2), Block { at: 0, size: 2 });
        assert_eq!([2, 3].map(|size| arena.take(size).unwrap().at), [4, 8]);
    }

    #[test]
    fn blocks_that_become_smaller_are_together() {
        let mut arena = Arena::default();
        let blocks: Vec<_> = (0..4u64).map(|_| arena.take(LARGEST).unwrap()).collect();
        for (block, value) in blocks.iter().zip(0..) {
            arena.words_mut(*block).fill(value);
        }
        let smaller: Vec<_> = blocks.into_iter().map(|block| arena.smaller(block, 1)).collect();
        assert_eq!(smaller.iter().map(|block| block.at).collect::<Vec<_>>(), [0, 2, 4, 6]);
        assert!(smaller.into_iter().zip(0..).all(|(block, value)| arena.words_mut(block) == [value; 2]));
        assert_eq!(arena.take(LARGEST), Some(Block { at: 128, size: LARGEST }));
    }

    #[test]
    fn words_stay_when_the_arena_grows() {
        let mut arena = Arena::default();
        let blocks: Vec<_> = (0..100u64).map(|_| arena.take(LARGEST).unwrap()).collect();
        for (block, value) in blocks.iter().zip(0..) {
            arena.words_mut(*block).fill(value);
        }
        let last = arena.take(LARGEST).unwrap();
        arena.words_mut(last).fill(u64::MAX);
        assert!(blocks.iter().zip(0..).all(|(block, value)| arena.words_mut(*block) == [value; 128]));
        assert_eq!((arena.word(last.at, 127), arena.pair(0, 1)), (Some(u64::MAX), Some([0, 0])));
    }

    #[test]
    fn arena_without_blocks_has_no_words() {
        assert_eq!((Arena::default().word(0, 0), Arena::default().pair(0, 0)), (None, None));
    }
}
