//! Singles, or whole numbers of as many bytes, that start at a cache line, so that no vector of them lies across two.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Numbers of a line.
const LINE: usize = 16;

#[derive(Clone, Copy, Debug, Default, FromBytes, Immutable, IntoBytes, KnownLayout)]
#[repr(C, align(64))]
struct CacheLine([u32; LINE]);

/// A row of numbers.
#[derive(Debug, Default)]
pub(super) struct Lines {
    lines: Vec<CacheLine>,
    length: usize,
}

impl Lines {
    /// Makes room for so many; what they are is anybody's guess.
    pub(super) fn resize(&mut self, length: usize) {
        let lines = length.div_ceil(LINE);
        if self.lines.len() < lines {
            self.lines.resize(lines, CacheLine::default());
        }
        self.length = length;
    }

    /// All of them as singles.
    pub(super) fn singles(&self) -> &[f32] {
        let all = <[f32]>::ref_from_bytes(self.lines.as_bytes()).unwrap_or_default();
        all.get(..self.length).unwrap_or_default()
    }

    /// The same, to be written.
    pub(super) fn singles_mut(&mut self) -> &mut [f32] {
        let all = <[f32]>::mut_from_bytes(self.lines.as_mut_bytes()).unwrap_or_default();
        all.get_mut(..self.length).unwrap_or_default()
    }

    /// All of them as whole numbers, to be written.
    pub(super) fn numbers_mut(&mut self) -> &mut [i32] {
        let all = <[i32]>::mut_from_bytes(self.lines.as_mut_bytes()).unwrap_or_default();
        all.get_mut(..self.length).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_start_at_a_line_and_are_as_many_as_asked_for() {
        let mut lines = Lines::default();
        for length in [1, 16, 17, 5] {
            lines.resize(length);
            lines.singles_mut().fill(1.0);
            assert_eq!(lines.singles(), vec![1.0; length]);
            assert!(lines.singles().as_ptr().addr().is_multiple_of(64));
            assert_eq!(lines.numbers_mut(), vec![0x3f80_0000; length]);
        }
    }
}
