//! Where the pages of the table lie: in blocks of words, each a power of two long.
//!
//! A question about a large table waits for memory and for nothing else, so what is asked for lies as close together as
//! it can. A block that is given back waits for the next of its size. Leaves fill their blocks more than half, so that
//! no size ever needs more than four words for each page that the table may have, however messages come and go.

use super::memory::Memory;

/// The largest block has that many words, as a power of two: a leaf with two words a page.
pub(super) const LARGEST: u32 = 7;

/// Words that there are at first.
const FIRST: usize = 512;

/// The memory of a table.
#[derive(Debug, Default)]
pub(super) struct Arena {
    memory: Memory,
    /// Words that blocks have been cut from.
    used: usize,
    /// Blocks that were given back, by size.
    free: [Vec<u32>; LARGEST as usize + 1],
}

/// A block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Block {
    /// Its first word.
    pub(super) at: u32,
    /// Words, as a power of two.
    pub(super) size: u32,
}

impl Arena {
    /// A word of a block.
    #[inline]
    pub(super) fn word(&self, block: Block, index: usize) -> Option<u64> {
        self.memory.words().get((block.at as usize).wrapping_add(index)).copied()
    }

    /// The words of a block.
    pub(super) fn words(&self, block: Block) -> &[u64] {
        self.memory
            .words()
            .get(block.at as usize..)
            .and_then(|rest| rest.get(..1 << block.size))
            .unwrap_or_default()
    }

    /// The words of a block, to change.
    pub(super) fn words_mut(&mut self, block: Block) -> &mut [u64] {
        let rest = self.memory.words_mut().get_mut(block.at as usize..);
        rest.and_then(|rest| rest.get_mut(..1 << block.size)).unwrap_or_default()
    }

    /// A block of `1 << size` words, with anything in them; `None` if the host has no memory.
    pub(super) fn take(&mut self, size: u32) -> Option<Block> {
        if let Some(at) = self.free.get_mut(size as usize).and_then(Vec::pop) {
            return Some(Block { at, size });
        }
        let at = self.used;
        let used = at.checked_add(1 << size)?;
        if used > self.memory.words().len() {
            self.memory = self.memory.larger(used.max(FIRST))?;
        }
        self.used = used;
        Some(Block { at: u32::try_from(at).ok()?, size })
    }

    /// Takes a block back.
    pub(super) fn give_back(&mut self, block: Block) {
        if let Some(free) = self.free.get_mut(block.size as usize) {
            free.push(block.at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_that_was_given_back_is_the_next_of_its_size() {
        let mut arena = Arena::default();
        let [first, other] = [3, 4].map(|size| arena.take(size).unwrap());
        arena.give_back(first);
        assert_ne!(arena.take(4), Some(other));
        assert_eq!(arena.take(3), Some(first));
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
        assert!(blocks.iter().zip(0..).all(|(block, value)| arena.words(*block) == [value; 128]));
        assert_eq!((arena.word(last, 127), arena.word(Block::default(), 0)), (Some(u64::MAX), Some(0)));
    }

    #[test]
    fn arena_without_blocks_has_no_words() {
        assert_eq!(Arena::default().word(Block::default(), 0), None);
    }
}
