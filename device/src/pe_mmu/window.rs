//! The leaves of low pages, by number.
//!
//! It is an array that grows to the highest of them. Beside it a bit for each leaf says whether there is one, and a bit for
//! each word of those bits whether one is set, so that a wide range finds what lies in it without looking at every leaf.

use super::leaf::Leaf;
use super::memory::Memory;

/// Leaves that it may have (Chosen): of pages of 64 bytes and more, all that a device's address of 32 bits may lie in.
/// There is no more of them than regions, so all of it is 16 MiB.
pub(super) const LEAVES: u64 = 1 << 20;

/// The window.
#[derive(Debug, Default)]
pub(super) struct Window {
    /// Two words for each leaf.
    leaves: Memory,
    /// A bit for each leaf.
    there: Vec<u64>,
    /// A bit for each word of those.
    words: Vec<u64>,
}

impl Window {
    /// A leaf; `None` behind those that there ever were.
    #[inline]
    pub(super) fn leaf(&self, number: u64) -> Option<Leaf> {
        self.leaves.pair(usize::try_from(number).ok()?).map(Leaf::from_words)
    }

    /// Makes room for a leaf; `None` if the host has no memory.
    pub(super) fn reach(&mut self, number: u64) -> Option<()> {
        let words = usize::try_from(number).ok()?.checked_add(1)?.checked_mul(2)?;
        if words > self.leaves.words().len() {
            self.leaves = self.leaves.larger(words)?;
            self.there.resize(self.leaves.words().len().div_ceil(2 * 64), 0);
            self.words.resize(self.there.len().div_ceil(64), 0);
        }
        Some(())
    }

    /// Keeps a leaf that there is room for.
    pub(super) fn keep(&mut self, number: u64, leaf: Leaf) {
        let Ok(number) = usize::try_from(number) else { return };
        let (pairs, _) = self.leaves.words_mut().as_chunks_mut();
        let (Some(pair), Some(there)) = (pairs.get_mut(number), self.there.get_mut(number / 64)) else {
            return;
        };
        *pair = leaf.words();
        put(there, number, !leaf.is_empty());
        let is_any = *there != 0;
        self.words.get_mut(number / (64 * 64)).into_iter().for_each(|word| put(word, number / 64, is_any));
    }

    /// The first leaf that is not empty, from one to another.
    pub(super) fn first(&self, from: u64, last: u64) -> Option<u64> {
        let from = usize::try_from(from).ok()?;
        let next_word = (from / 64).saturating_add(1);
        let number = next(self.there.get(..next_word)?, from)
            .or_else(|| next(&self.there, next(&self.words, next_word)?.saturating_mul(64)))?;
        Some(number as u64).filter(|&number| number <= last)
    }
}

/// Sets the bit of a number in its word, or clears it.
const fn put(word: &mut u64, number: usize, is_set: bool) {
    let bit = 1 << (number % 64);
    *word = if is_set { *word | bit } else { *word & !bit };
}

/// The first number whose bit is set, from one on.
fn next(words: &[u64], from: usize) -> Option<usize> {
    let first = words.get(from / 64)? & u64::MAX << (from % 64);
    let mut behind = words.iter().copied().enumerate().skip(from / 64).skip(1);
    let (word, bits) = if first != 0 { (from / 64, first) } else { behind.find(|&(_, bits)| bits != 0)? };
    Some(word << 6 | bits.trailing_zeros() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAF: [u64; 2] = [1, 1 << 63];

    fn window(numbers: &[u64]) -> Window {
        let mut window = Window::default();
        for &number in numbers {
            window.reach(number).unwrap();
            window.keep(number, Leaf::from_words(LEAF));
        }
        window
    }

    #[test]
    fn leaf_is_found_when_the_window_has_grown() {
        let window = window(&[3, 70, 5000]);
        assert_eq!([3, 70, 5000].map(|number| window.leaf(number).unwrap().words()), [LEAF; 3]);
        assert_eq!(window.leaf(4), Some(Leaf::default()));
        assert_eq!(window.leaf(LEAVES), None);
    }

    #[test]
    fn first_leaf_of_a_range_is_found_from_each_side_of_it() {
        let mut window = window(&[3, 63, 64, 5000, 300_000]);
        let first = |window: &Window, from, last| window.first(from, last);
        assert_eq!(
            [0, 3, 4, 64, 65].map(|from| first(&window, from, u64::MAX)),
            [3, 3, 63, 64, 5000].map(Some)
        );
        assert_eq!(
            [first(&window, 4, 62), first(&window, 65, 4999), first(&window, 5001, 299_999)],
            [None; 3]
        );
        window.keep(64, Leaf::default());
        assert_eq!(first(&window, 64, u64::MAX), Some(5000));
    }
}
