//! The memory behind the pointers in an ioctl's argument.
//!
//! A driver in a kernel follows a client's pointers. This one never does: the front brings the bytes along, under
//! the addresses that the client used, and takes back the bytes that were changed. An address without bytes is a pointer
//! that leads nowhere.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![deny(clippy::arithmetic_side_effects, clippy::cast_possible_truncation)]

use std::ops::Range;

/// A pointer that leads nowhere, in whole or in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bad {
    /// First byte that was wanted.
    pub at: u64,
    pub bytes: usize,
}

/// Stretches of a client's memory that came with a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segments(Vec<Segment>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Segment {
    at: u64,
    bytes: Vec<u8>,
    is_changed: bool,
}

impl Segments {
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Brings bytes along under the client's address `at`.
    pub fn push(&mut self, at: u64, bytes: Vec<u8>) {
        self.0.push(Segment { at, bytes, is_changed: false });
    }

    /// The `bytes` bytes at `at`, which have to lie in one stretch.
    pub fn read(&self, at: u64, bytes: usize) -> Result<&[u8], Bad> {
        let bad = Bad { at, bytes };
        let (segment, range) = self.find(at, bytes).ok_or(bad)?;
        self.0.get(segment).and_then(|segment| segment.bytes.get(range)).ok_or(bad)
    }

    /// Writes bytes to `at`.
    ///
    /// # Errors
    ///
    /// [`Bad`] if they do not lie in one stretch; nothing is written.
    pub fn write(&mut self, at: u64, from: &[u8]) -> Result<(), Bad> {
        let bad = Bad { at, bytes: from.len() };
        let (segment, range) = self.find(at, from.len()).ok_or(bad)?;
        let segment = self.0.get_mut(segment).ok_or(bad)?;
        segment.bytes.get_mut(range).ok_or(bad)?.copy_from_slice(from);
        segment.is_changed = true;
        Ok(())
    }

    /// Each stretch: the client's address, and the bytes.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &[u8])> + Clone {
        self.0.iter().map(|segment| (segment.at, &*segment.bytes))
    }

    /// Each stretch that the driver wrote to.
    pub fn changed(&self) -> impl Iterator<Item = (u64, &[u8])> + Clone {
        self.0.iter().filter(|segment| segment.is_changed).map(|segment| (segment.at, &*segment.bytes))
    }

    /// The stretch that holds the bytes, and their place in it.
    fn find(&self, at: u64, bytes: usize) -> Option<(usize, Range<usize>)> {
        self.0.iter().enumerate().find_map(|(index, segment)| {
            let start = usize::try_from(at.checked_sub(segment.at)?).ok()?;
            let end = start.checked_add(bytes)?;
            (end <= segment.bytes.len()).then_some((index, start..end))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> Segments {
        let mut segments = Segments::new();
        segments.push(0x1000, vec![1, 2, 3, 4]);
        segments.push(u64::MAX - 1, vec![5, 6]);
        segments
    }

    #[test]
    fn bytes_outside_or_across_the_end_of_a_stretch_lead_nowhere() {
        let segments = two();
        assert_eq!(segments.read(0x1001, 3), Ok(&[2, 3, 4][..]));
        assert_eq!(segments.read(u64::MAX, 1), Ok(&[6][..]));
        for (at, bytes) in [(0xfff, 1), (0x1001, 4), (0x1005, 0), (u64::MAX, 2), (0, usize::MAX)] {
            assert_eq!(segments.read(at, bytes), Err(Bad { at, bytes }), "{at:#x} {bytes}");
        }
    }

    #[test]
    fn changed_stretches_are_those_written_to() {
        let mut segments = two();
        assert_eq!(segments.write(0x1003, &[9, 9]), Err(Bad { at: 0x1003, bytes: 2 }));
        assert_eq!(segments.changed().count(), 0);
        segments.write(0x1002, &[9, 9]).unwrap();
        assert_eq!(segments.changed().collect::<Vec<_>>(), [(0x1000, &[1, 2, 9, 9][..])]);
    }
}
