//! The bytes on chip that nobody knows: a map with a bit for each byte.

use std::ops::Range;

use crate::sram::{Known, TILE_L2_BYTES};

/// Bytes that are marked together: the smallest element, so that one that is written tells nothing of its neighbours.
const GRANULE: u32 = 1;

const GRANULES: u32 = (2 << 20) / GRANULE;

const _: () = assert!(GRANULES as usize * GRANULE as usize == TILE_L2_BYTES);

/// Granules of one word of the map.
const WORD: u32 = u64::BITS;

const WORDS: usize = (GRANULES / WORD) as usize;

/// The granules that are unknown.
#[derive(Debug)]
pub(in crate::engine) struct Unknown {
    map: Box<[u64]>,
    /// False if no bit is set, which is so in most programs.
    any: bool,
}

impl Default for Unknown {
    fn default() -> Self {
        Self { map: vec![0; WORDS].into_boxed_slice(), any: false }
    }
}

impl Unknown {
    /// Becomes like another one.
    pub(in crate::engine) fn copy(&mut self, other: &Self) {
        if self.any || other.any {
            self.map.copy_from_slice(&other.map);
        }
        self.any = other.any;
    }

    /// False if every byte is known.
    pub(super) const fn any(&self) -> bool {
        self.any
    }

    /// Marks `len` bytes from `base`, as far as the buffer goes.
    pub(in crate::engine) fn mark(&mut self, base: u32, len: u32) {
        if len == 0 {
            return;
        }
        self.any = true;
        self.change(base, len, |word, mask| *word |= mask);
    }

    fn clear(&mut self, base: u32, len: u32) {
        self.change(base, len, |word, mask| *word &= !mask);
    }

    pub(super) fn clear_rows(&mut self, rows: Rows) {
        let Alike { before, words, mask, after } = rows.alike();
        (0..before).chain(after..rows.count).for_each(|index| self.clear(rows.row(index), rows.len));
        let end = words.end.min(self.map.len());
        self.map.get_mut(words.start..end).unwrap_or_default().iter_mut().for_each(|word| *word &= !mask);
    }

    pub(super) fn touches_rows(&self, rows: Rows) -> bool {
        let Alike { before, words, mask, after } = rows.alike();
        let end = words.end.min(self.map.len());
        self.map.get(words.start..end).unwrap_or_default().iter().any(|word| word & mask != 0)
            || (0..before).chain(after..rows.count).any(|index| self.touches(rows.row(index), rows.len))
    }

    #[inline]
    fn change(&mut self, base: u32, len: u32, change: impl Fn(&mut u64, u64)) {
        // Most rows of a tensor are short, and there are many.
        let bit = base % WORD;
        if GRANULE == 1 && len < WORD && bit.saturating_add(len) <= WORD {
            if let Some(word) = self.map.get_mut((base / WORD) as usize) {
                change(word, (1_u64.wrapping_shl(len)).wrapping_sub(1).wrapping_shl(bit));
            }
            return;
        }
        let Some(MapWords { words, head, tail }) = MapWords::of(base, len) else { return };
        match self.map.get_mut(words).unwrap_or_default() {
            [] => {}
            [only] => change(only, head & tail),
            [first, between @ .., last] => {
                change(first, head);
                between.iter_mut().for_each(|word| change(word, u64::MAX));
                change(last, tail);
            }
        }
    }

    /// The bits of the 64 bytes from `base` on.
    fn word_from(&self, base: u32) -> u64 {
        let (index, bit) = ((base / WORD) as usize, base % WORD);
        let word = |index| self.map.get(index).copied().unwrap_or_default();
        let high = word(index.saturating_add(1)).checked_shl(WORD.saturating_sub(bit)).unwrap_or(0);
        word(index).wrapping_shr(bit) | high
    }

    pub(super) fn touches(&self, base: u32, len: u32) -> bool {
        let Some(MapWords { words, head, tail }) = MapWords::of(base, len) else { return false };
        match self.map.get(words).unwrap_or_default() {
            [] => false,
            [only] => only & head & tail != 0,
            [first, between @ .., last] => {
                first & head != 0 || last & tail != 0 || between.iter().any(|&word| word != 0)
            }
        }
    }
}

impl Known for Unknown {
    fn written(&mut self, at: u32, len: u32) {
        if self.any {
            self.clear(at, len);
        }
    }

    fn copied(&mut self, from: u32, to: u32, len: u32) {
        if !self.any {
            return;
        }
        // What is copied as it was before, since both may overlap.
        let steps = || (0..len).step_by(WORD as usize);
        let copied: Vec<u64> = if self.touches(from, len) {
            steps().map(|at| self.word_from(from.saturating_add(at))).collect()
        } else {
            Vec::new()
        };
        self.clear(to, len);
        for (at, mut word) in steps().zip(copied) {
            let left = len.saturating_sub(at);
            if left < WORD {
                word &= 1_u64.wrapping_shl(left).wrapping_sub(1);
            }
            while word != 0 {
                let first = word.trailing_zeros();
                let run = word.wrapping_shr(first).trailing_ones();
                self.mark(to.saturating_add(at).saturating_add(first), run);
                word &= u64::MAX.checked_shl(first.saturating_add(run)).unwrap_or(0);
            }
        }
    }
}

/// Rows of a tensor that are equally far apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    pub(super) base: u32,
    /// Bytes of a row.
    pub(super) len: u32,
    pub(super) stride: u32,
    pub(super) count: u32,
}

/// Rows in the map. They are short and many: where a word has several of them, and all words the same ones, words are looked at
/// as a whole.
struct Alike {
    /// Rows in front of these words.
    before: u32,
    words: Range<usize>,
    /// The bits of the rows of a word.
    mask: u64,
    /// The first row behind these words.
    after: u32,
}

impl Rows {
    const fn row(self, index: u32) -> u32 {
        self.base.saturating_add(self.stride.saturating_mul(index))
    }

    fn alike(self) -> Alike {
        let Self { base, len, stride, count } = self;
        let in_word = WORD.checked_div(stride).unwrap_or_default();
        let first = base.checked_rem(stride).unwrap_or_default();
        let is_alike =
            GRANULE == 1 && in_word > 1 && WORD.is_multiple_of(stride) && first.saturating_add(len) <= stride;
        if !is_alike {
            return Alike { before: 0, words: 0..0, mask: 0, after: 0 };
        }
        let before = (0..count).take_while(|&index| self.row(index) % WORD >= stride).count();
        let before = u32::try_from(before).unwrap_or(u32::MAX);
        // At most 32 bytes.
        let bits = (1_u64.wrapping_shl(len)).wrapping_sub(1).wrapping_shl(first);
        let mask = (0..in_word).fold(0, |mask, at| mask | bits.wrapping_shl(at.saturating_mul(stride)));
        let words = count.saturating_sub(before).checked_div(in_word).unwrap_or_default();
        let start = (self.row(before) / WORD) as usize;
        let after = before.saturating_add(words.saturating_mul(in_word));
        Alike { before, words: start..start.saturating_add(words as usize), mask, after }
    }
}

/// The words of the map that some bytes belong to, as far as the buffer goes.
struct MapWords {
    words: Range<usize>,
    /// The bits of the first word.
    head: u64,
    /// The bits of the last word. If it is also the first word, both masks hold.
    tail: u64,
}

impl MapWords {
    /// None if there are no bytes.
    fn of(base: u32, len: u32) -> Option<Self> {
        let first = base / GRANULE;
        let last = (base.saturating_add(len.checked_sub(1)?) / GRANULE).min(GRANULES - 1);
        if first > last {
            return None;
        }
        let end = (last / WORD).saturating_add(1);
        Some(Self {
            words: (first / WORD) as usize..end as usize,
            head: u64::MAX.wrapping_shl(first % WORD),
            tail: u64::MAX.wrapping_shr((WORD - 1).saturating_sub(last % WORD)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_copied_take_along_what_is_unknown_of_them() {
        let mut unknown = Unknown::default();
        unknown.copied(0, 0x100, 0x100);
        assert!(!unknown.any());
        unknown.mark(0x30, 0x31);
        unknown.mark(0x100, 0x1000);
        // Not by a multiple of a word.
        unknown.copied(0x10, 0x150, 0x90);
        let is_unknown = |unknown: &Unknown, at| unknown.touches(at, 1);
        let copied: Vec<u32> = (0x150..0x1e0).filter(|&at| is_unknown(&unknown, at)).collect();
        assert_eq!(copied, (0x170..0x1a1).collect::<Vec<_>>());
        assert!(is_unknown(&unknown, 0x14f) && is_unknown(&unknown, 0x1e0));
        // Both overlap.
        unknown.copied(0x20, 0x30, 0x50);
        let copied: Vec<u32> = (0..0x100).filter(|&at| is_unknown(&unknown, at)).collect();
        assert_eq!(copied, (0x40..0x71).collect::<Vec<_>>());
        unknown.copied(0x80, 0, 0x80);
        assert!(!unknown.touches(0, 0x80), "all that was copied is known");
        unknown.written(0x170, 0x30);
        assert!(!is_unknown(&unknown, 0x19f) && is_unknown(&unknown, 0x1a0));
    }

    #[test]
    fn copy_is_as_unknown_as_the_other_and_no_longer_what_it_was() {
        let (mut copy, mut other) = (Unknown::default(), Unknown::default());
        copy.mark(0x100, 2);
        other.mark(0x200, 2);
        copy.copy(&other);
        assert!(copy.touches(0x200, 2) && !copy.touches(0x100, 2));
        copy.copy(&Unknown::default());
        assert!(!copy.touches(0, u32::MAX));
    }

    #[test]
    fn rows_that_are_cleared_together_are_those_that_are_cleared_one_by_one() {
        let strides = [1, 2, 4, 8, 16, 24, 32, 48, 64, 96];
        for (i, &stride) in (0_u32..).zip(strides.iter().cycle().take(400)) {
            let (base, len, count) = (i * 37 % 200, i * 7 % (stride + 2), i * 5 % 23);
            let base = if i % 9 == 0 { TILE_L2_BYTES as u32 - base } else { base };
            let (mut together, mut each) = (Unknown::default(), Unknown::default());
            for unknown in [&mut together, &mut each] {
                unknown.mark(0, u32::MAX);
            }
            let rows = Rows { base, len, stride, count };
            together.clear_rows(rows);
            (0..count).for_each(|row| each.clear(base + row * stride, len));
            assert!(together.map == each.map, "{base} {len} {stride} {count}");
            assert!(!together.touches_rows(rows), "{base} {len} {stride} {count}");
            for row in (0..count).filter(|row| len > 0 && base + row * stride < TILE_L2_BYTES as u32) {
                let mut one = Unknown::default();
                one.mark(base + row * stride + (i + row) % len, 1);
                let is_inside = one.map.iter().any(|&word| word != 0);
                assert_eq!(one.touches_rows(rows), is_inside, "{base} {len} {stride} {count} {row}");
            }
        }
    }

    #[test]
    fn mark_reaches_over_words_and_ends_with_the_buffer() {
        let mut unknown = Unknown::default();
        unknown.mark(0x3f0, 0x820);
        assert!(unknown.touches(0x3f0, 1) && unknown.touches(0xc0f, 1) && unknown.touches(0x800, 1));
        assert!(!unknown.touches(0x3ef, 1) && !unknown.touches(0xc10, 1));
        unknown.mark(TILE_L2_BYTES as u32 - 16, u32::MAX);
        assert!(unknown.touches(TILE_L2_BYTES as u32 - 1, 1));
    }
}
