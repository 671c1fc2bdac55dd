//! The leaves of low pages, by number.
//!
//! It is an array that grows to the highest of them, and beside it a bit for each that says whether there is one, by which
//! a wide range finds what lies in it without looking at every leaf.

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
    /// A bit for each.
    there: Vec<u64>,
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
        let bit = 1 << (number % 64);
        *there = if leaf.is_empty() { *there & !bit } else { *there | bit };
    }

    /// The first leaf that is not empty, from one to another.
    pub(super) fn first(&self, from: u64, last: u64) -> Option<u64> {
        let from_bit = usize::try_from(from).ok()?;
        let not_before = u64::MAX << (from_bit % 64);
        let there = self.there.get(from_bit / 64..)?;
        let masks = std::iter::once(not_before).chain(std::iter::repeat(u64::MAX));
        let words = (from / 64..=last / 64).zip(there.iter().zip(masks));
        let (word, bits) =
            words.map(|(word, (bits, mask))| (word, bits & mask)).find(|&(_, bits)| bits != 0)?;
        Some(word << 6 | u64::from(bits.trailing_zeros())).filter(|&number| number <= last)
    }
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
        let mut window = window(&[3, 63, 64, 5000]);
        let first = |window: &Window, from, last| window.first(from, last);
        assert_eq!(
            [0, 3, 4, 64, 65].map(|from| first(&window, from, u64::MAX)),
            [3, 3, 63, 64, 5000].map(Some)
        );
        assert_eq!(
            [first(&window, 4, 62), first(&window, 65, 4999), first(&window, 5001, u64::MAX)],
            [None; 3]
        );
        window.keep(64, Leaf::default());
        assert_eq!(first(&window, 64, u64::MAX), Some(5000));
    }
}
