//! Rows on their way between a dense array and a surface's memory.
//!
//! Each group of rows has one length and one distance, so which loop runs is decided once for all of them (`copy`).
#![expect(unsafe_code, reason = "copies to and from memory that others may change")]

mod copy;

use crate::Memory;
use copy::{Copy, Rows};

/// The treatment of the bytes behind a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behind {
    Kept,
    /// Up to the next row they are zero.
    Cleared,
    /// They are the next row's, which is copied later; whatever is written there before is lost.
    Spilled,
}

/// Rows that follow each other in a dense array, and are evenly apart in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    /// How many; one at least.
    pub(crate) count: usize,
    /// Bytes of each, which are halves.
    pub(crate) bytes: usize,
    /// Bytes from one to the next in memory, if there is a next: as many as a row has, or more.
    pub(crate) pitch: usize,
}

impl Group {
    /// From the first byte in memory to the last.
    pub(crate) fn reach(self) -> usize {
        (self.count - 1) * self.pitch + self.bytes
    }

    /// Copies the rows that the dense array begins with to memory at `at`. Memory in pieces keeps what is behind them.
    pub(crate) fn put<M: Memory + ?Sized>(self, dense: &[u8], memory: &mut M, at: usize, behind: Behind) {
        self.check(memory.bytes(), at);
        let dense = &dense[..self.count * self.bytes];
        if let Some(start) = memory.start_mut() {
            let Self { count, bytes, pitch } = self;
            let rows = Rows { count, bytes, from: bytes, into: pitch, behind };
            // SAFETY: the slice holds the rows one behind the other; in memory they lie where was checked, and no slice does.
            unsafe { Copy::new(rows, dense.as_ptr(), start.wrapping_add(at)) }.run();
        } else {
            self.places(at).zip(dense.chunks_exact(self.bytes)).for_each(|(at, from)| memory.put(at, from));
        }
    }

    /// Copies the rows in memory at `at` to the beginning of the dense array.
    pub(crate) fn get<M: Memory + ?Sized>(self, memory: &M, at: usize, dense: &mut [u8]) {
        self.check(memory.bytes(), at);
        let dense = &mut dense[..self.count * self.bytes];
        if let Some(start) = memory.start() {
            let Self { count, bytes, pitch } = self;
            let rows = Rows { count, bytes, from: pitch, into: bytes, behind: Behind::Spilled };
            // SAFETY: the slice has room for the rows one behind the other; in memory they lie where was checked, and no
            // slice does.
            unsafe { Copy::new(rows, start.wrapping_add(at), dense.as_mut_ptr()) }.run();
        } else {
            self.places(at)
                .zip(dense.chunks_exact_mut(self.bytes))
                .for_each(|(at, into)| memory.get(at, into));
        }
    }

    fn check(self, memory: usize, at: usize) {
        assert!(at <= memory && self.reach() <= memory - at, "rows lie in memory");
    }

    fn places(self, at: usize) -> impl Iterator<Item = usize> {
        (0..self.count).map(move |row| at + row * self.pitch)
    }
}
