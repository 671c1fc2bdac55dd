//! The loops that copy rows.
//!
//! Rows are often short: a vector of channels is rows of one half, 64 bytes apart. To call a function for two bytes takes ten
//! times as long as to copy them, and what moves 64 bytes at once moves fewer of them in the same time. So
//!
//! * where nothing may be written behind a row, it is lines of 64 bytes, and of the last one the greatest power of two of bytes
//!   from its front and as many from its end, which meet or overlap in between;
//! * where something may, the last line is as whole as the others, masked if what is behind the row has to be zero;
//! * longer ones are the C library's business.
//!
//! The loops are compiled for each kind of vector unit, which decides in how many steps a line is copied.

use std::ops::Range;
use std::ptr;

use super::Behind;

/// Bytes of a line, the widest that any vector unit moves.
const LINE: usize = 64;

/// A line, in words.
type Line = [u64; LINE / 8];

/// The longest rows of which a few bytes are copied faster than a line.
const FEW: usize = 32;

/// The longest rows that are copied without a call.
const MANY: usize = 4 * LINE;

/// Rows to copy, evenly apart on both sides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    /// How many; one at least.
    pub(super) count: usize,
    /// Bytes of each, an even number; two at least.
    pub(super) bytes: usize,
    /// From one row to the next where they come from, if there is a next: as many bytes as a row has, or more.
    pub(super) from: usize,
    /// The same where they go.
    pub(super) into: usize,
    /// The treatment of the bytes behind each row but the last, in the destination.
    pub(super) behind: Behind,
}

/// Rows, and where the first of them lies. Nothing in front of it or behind the last one is read or written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copy {
    rows: Rows,
    from: *const u8,
    into: *mut u8,
}

impl Copy {
    /// A copy to be run.
    ///
    /// # Safety
    ///
    /// The rows are as their fields say. From the first byte of the first one to the last of the last, there are bytes to read
    /// and bytes to write, which do not overlap, until the copy was run.
    pub(super) unsafe fn new(rows: Rows, from: *const u8, into: *mut u8) -> Self {
        debug_assert!(rows.count > 0 && rows.bytes > 0 && rows.bytes.is_multiple_of(2), "{rows:?}");
        Self { rows, from, into }
    }

    /// Copies the rows in ascending order.
    pub(super) fn run(self) {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") {
                // SAFETY: the processor has what it is compiled for.
                return unsafe { self.run_on_avx512() };
            }
            if is_x86_feature_detected!("avx2") {
                // SAFETY: as above.
                return unsafe { self.run_on_avx2() };
            }
        }
        self.run_on_any();
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    fn run_on_avx512(self) {
        self.run_on_any();
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn run_on_avx2(self) {
        self.run_on_any();
    }

    #[inline(always)]
    fn run_on_any(self) {
        let Rows { count, bytes, into, behind, .. } = self.rows;
        let lines = match behind {
            _ if count == 1 => usize::MAX,
            Behind::Kept if bytes <= MANY => 0,
            Behind::Kept => usize::MAX,
            Behind::Cleared => into.div_ceil(LINE),
            Behind::Spilled if bytes <= FEW => 0,
            Behind::Spilled => bytes.div_ceil(LINE),
        };
        match (lines, self.rest()) {
            (1, _) => self.lines::<1>(),
            (2, _) => self.lines::<2>(),
            (3, _) => self.lines::<3>(),
            (4, _) => self.lines::<4>(),
            (0, ..=4) => self.few::<2>(),
            (0, ..=8) => self.few::<4>(),
            (0, ..=16) => self.few::<8>(),
            (0, ..=32) => self.few::<16>(),
            (0, _) => self.few::<32>(),
            _ => self.each(0),
        }
    }

    /// Bytes of a row in its last line: two to all of them.
    #[inline(always)]
    fn rest(self) -> usize {
        (self.rows.bytes - 1) % LINE + 1
    }

    /// Copies rows that have `K` to `2 * K` bytes in their last line.
    #[inline(always)]
    fn few<const K: usize>(self) {
        let rest = self.rows.bytes - self.rest();
        let end = self.rows.bytes - K;
        for (from, into) in self.places(0..self.rows.count) {
            for line in (0..rest).step_by(LINE) {
                // SAFETY: the row has this line and some bytes of another, on both sides.
                unsafe {
                    copy_unaligned::<Line>(from.wrapping_add(line), into.wrapping_add(line), |line| line)
                };
            }
            for at in [rest, end] {
                // SAFETY: that many bytes follow until the row's end.
                unsafe { copy_unaligned::<[u8; K]>(from.wrapping_add(at), into.wrapping_add(at), |few| few) };
            }
        }
    }

    /// Copies rows of up to `N` lines, as that many.
    #[inline(always)]
    fn lines<const N: usize>(self) {
        let Rows { count, bytes, from, into, behind } = self.rows;
        // A line may reach beyond its row, but not beyond the last row.
        let inside = |step: usize| {
            let reach = (count - 1) * step + bytes;
            reach.checked_sub(N * LINE).map_or(0, |more| more / step + 1)
        };
        let whole = inside(from).min(inside(into));
        let masks: [Line; N] = std::array::from_fn(|line| {
            std::array::from_fn(|word| {
                let at = line * LINE + word * 8;
                let is_kept = |byte| behind != Behind::Cleared || at + byte < bytes;
                u64::from_ne_bytes(std::array::from_fn(|byte| if is_kept(byte) { 0xff } else { 0 }))
            })
        });
        for (from, into) in self.places(0..whole) {
            for (line, mask) in masks.iter().enumerate() {
                let (from, into) = (from.wrapping_add(line * LINE), into.wrapping_add(line * LINE));
                let masked = |line: Line| std::array::from_fn(|word| line[word] & mask[word]);
                // SAFETY: the lines of this row end before the last row does, on both sides.
                unsafe { copy_unaligned::<Line>(from, into, masked) };
            }
        }
        self.each(whole);
    }

    /// Copies the rows from a certain one on, by a call for each.
    #[inline(always)]
    fn each(self, first: usize) {
        let Rows { count, bytes, into: step, behind, .. } = self.rows;
        for (row, (from, into)) in (first..count).zip(self.places(first..count)) {
            // SAFETY: the row lies there on both sides.
            unsafe { ptr::copy_nonoverlapping(from, into, bytes) };
            if behind == Behind::Cleared && row + 1 < count {
                // SAFETY: the next row begins behind the gap.
                unsafe { ptr::write_bytes(into.wrapping_add(bytes), 0, step - bytes) };
            }
        }
    }

    #[inline(always)]
    fn places(self, rows: Range<usize>) -> impl Iterator<Item = (*const u8, *mut u8)> {
        let Rows { from, into, .. } = self.rows;
        let first = |step: usize| rows.start.wrapping_mul(step);
        let mut next = (self.from.wrapping_add(first(from)), self.into.wrapping_add(first(into)));
        rows.map(move |_| {
            let following = (next.0.wrapping_add(from), next.1.wrapping_add(into));
            std::mem::replace(&mut next, following)
        })
    }
}

/// Copies a value that may lie anywhere, changed on its way.
#[inline(always)]
unsafe fn copy_unaligned<T>(from: *const u8, into: *mut u8, change: impl FnOnce(T) -> T) {
    // SAFETY: the caller has one there to read.
    let value = unsafe { from.cast::<T>().read_unaligned() };
    // SAFETY: the caller has room for one there.
    unsafe { into.cast::<T>().write_unaligned(change(value)) };
}

#[cfg(test)]
mod tests;
