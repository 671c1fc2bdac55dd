//! Singles that start at a cache line, so that no vector of a panel lies across two.

use std::ops::{Deref, DerefMut};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Singles of a line.
const LINE: usize = 16;

#[derive(Clone, Copy, Debug, Default, FromBytes, Immutable, IntoBytes, KnownLayout)]
#[repr(C, align(64))]
struct Line([f32; LINE]);

/// A row of singles.
#[derive(Debug, Default)]
pub(super) struct Lines {
    lines: Vec<Line>,
    length: usize,
}

impl Lines {
    /// Makes room for so many; what they are is anybody's guess.
    pub(super) fn resize(&mut self, length: usize) {
        self.lines.resize(length.div_ceil(LINE), Line::default());
        self.length = length;
    }
}

impl Deref for Lines {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        let all = <[f32]>::ref_from_bytes(self.lines.as_bytes()).unwrap_or_default();
        all.get(..self.length).unwrap_or_default()
    }
}

impl DerefMut for Lines {
    fn deref_mut(&mut self) -> &mut [f32] {
        let all = <[f32]>::mut_from_bytes(self.lines.as_mut_bytes()).unwrap_or_default();
        all.get_mut(..self.length).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn singles_start_at_a_line_and_are_as_many_as_asked_for() {
        let mut lines = Lines::default();
        for length in [1, 16, 17, 5] {
            lines.resize(length);
            assert_eq!(lines.len(), length);
            assert!(lines.as_ptr().addr().is_multiple_of(64));
            lines.fill(1.0);
        }
    }
}
