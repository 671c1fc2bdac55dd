//! Where each element of a surface lies.

use thiserror::Error;

use crate::rows::{Behind, Group};
use crate::{Axes, Memory};

/// Bytes of an element.
const HALF: usize = 2;

/// How a surface of halves lies in memory: no two elements share a byte, and all have addresses. Equal ones put each element
/// into the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    shape: Axes<u32>,
    strides: Axes<u64>,
    elements: usize,
    bytes: usize,
}

/// A layout that is none, or memory and values that do not belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    #[error("surface puts two elements into the same bytes")]
    Overlap,
    #[error("surface reaches beyond the end of memory")]
    Beyond,
    #[error("surface takes {needed:#x} bytes, there are {given:#x}")]
    Memory { needed: usize, given: usize },
    #[error("surface has {expected} elements, {given} values are given")]
    Values { expected: usize, given: usize },
}

impl Layout {
    /// A layout by its numbers: elements along each axis, and bytes from one to the next. The stride of an axis of one is
    /// not looked at.
    ///
    /// # Examples
    ///
    /// ```
    /// use ane_tiling::{Axes, Layout};
    ///
    /// // Two channels of one row with three columns: a plane is one row of 64 bytes.
    /// let shape = Axes { n: 1, c: 2, h: 1, w: 3 };
    /// let layout = Layout::new(shape, Axes { n: 128, c: 64, h: 64, w: 2 })?;
    /// let mut memory = vec![0; layout.bytes()];
    /// layout.tile(&[7; 12], &mut memory[..])?;
    /// assert_eq!(memory[62..], [0, 0, 7, 7, 7, 7, 7, 7]);
    /// # Ok::<(), ane_tiling::Error>(())
    /// ```
    pub fn new(shape: Axes<u32>, strides: Axes<u64>) -> Result<Self, Error> {
        // From the fastest axis to the slowest: each has to clear all that the faster ones reach.
        let mut reach = HALF as u64;
        let mut elements: u64 = 1;
        let mut step = |count: u32, stride: u64| {
            let steps = u64::from(count).checked_sub(1).ok_or(Error::Overlap)?;
            // An axis of one does not move.
            let stride = if steps == 0 { 0 } else { stride };
            if steps > 0 && stride < reach {
                return Err(Error::Overlap);
            }
            let moved = stride.checked_mul(steps).ok_or(Error::Beyond)?;
            reach = reach.checked_add(moved).ok_or(Error::Beyond)?;
            elements = elements.checked_mul(count.into()).ok_or(Error::Beyond)?;
            Ok(stride)
        };
        let w = step(shape.w, strides.w)?;
        let h = step(shape.h, strides.h)?;
        let c = step(shape.c, strides.c)?;
        let strides = Axes { n: step(shape.n, strides.n)?, c, h, w };
        // A slice can be no longer than this; the dense array is no longer, as each element has two of the bytes.
        let bytes = isize::try_from(reach).map_err(|_| Error::Beyond)?.unsigned_abs();
        Ok(Self { shape, strides, elements: elements as usize, bytes })
    }

    pub const fn shape(&self) -> Axes<u32> {
        self.shape
    }

    pub const fn elements(&self) -> usize {
        self.elements
    }

    pub const fn dense_bytes(&self) -> usize {
        self.elements * HALF
    }

    /// From the first byte of the surface to the last one of an element.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Puts a dense array where the engine reads it. The bytes in the gaps stay.
    ///
    /// # Errors
    ///
    /// [`Error::Values`] or [`Error::Memory`]; nothing was copied then.
    pub fn tile<M: Memory + ?Sized>(&self, dense: &[u8], memory: &mut M) -> Result<(), Error> {
        self.check(dense.len(), memory.bytes())?;
        self.for_each_group(|first, at, rows| rows.put(&dense[first..], memory, at, Behind::Kept));
        Ok(())
    }

    /// The same, with zeros in the gaps and behind the last element: all of the memory depends on the array only.
    pub fn tile_clearing(&self, dense: &[u8], memory: &mut [u8]) -> Result<(), Error> {
        self.check(dense.len(), memory.len())?;
        let mut end = 0;
        self.for_each_group(|first, at, rows| {
            memory[end..at].fill(0);
            rows.put(&dense[first..], memory, at, Behind::Cleared);
            end = at + rows.reach();
        });
        memory[end..].fill(0);
        Ok(())
    }

    /// Takes a dense array from where the engine put it.
    ///
    /// # Errors
    ///
    /// [`Error::Values`] or [`Error::Memory`]; nothing was copied then.
    pub fn untile<M: Memory + ?Sized>(&self, memory: &M, dense: &mut [u8]) -> Result<(), Error> {
        self.check(dense.len(), memory.bytes())?;
        self.for_each_group(|first, at, rows| rows.get(memory, at, &mut dense[first..]));
        Ok(())
    }

    fn check(&self, dense: usize, memory: usize) -> Result<(), Error> {
        if dense != self.dense_bytes() {
            Err(Error::Values { expected: self.elements, given: dense.div_ceil(HALF) })
        } else if memory < self.bytes {
            Err(Error::Memory { needed: self.bytes, given: memory })
        } else {
            Ok(())
        }
    }

    /// Calls `copy` for each group of rows that are evenly apart, in the order of addresses: where it begins in the dense
    /// array, and where in memory.
    ///
    /// A row is as many elements as lie side by side in both worlds: one, a row of the surface, a plane or more.
    fn for_each_group(&self, mut copy: impl FnMut(usize, usize, Group)) {
        let Axes { n, c, h, w } = self.shape;
        let strides = self.strides;
        let mut row = HALF;
        // The moves: their number, and their distance. Everything did fit into an address.
        let mut moves = [(1_usize, 0_usize); 4];
        let mut found = 0_usize;
        for (count, stride) in [(w, strides.w), (h, strides.h), (c, strides.c), (n, strides.n)] {
            let (count, stride) = (count as usize, stride as usize);
            let inner = found.checked_sub(1).map(|inner| moves[inner]);
            match inner {
                _ if count == 1 => {}
                None if stride == row => row *= count,
                Some((few, pitch)) if pitch.checked_mul(few) == Some(stride) => {
                    moves[found - 1] = (few * count, pitch);
                }
                _ => {
                    moves[found] = (count, stride);
                    found += 1;
                }
            }
        }
        let [(count, pitch), near, middle, far] = moves;
        let rows = Group { count, bytes: row, pitch };
        let mut dense = 0;
        for far in (0..far.0).map(|step| step * far.1) {
            for middle in (0..middle.0).map(|step| far + step * middle.1) {
                for at in (0..near.0).map(|step| middle + step * near.1) {
                    copy(dense, at, rows);
                    dense += count * row;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
