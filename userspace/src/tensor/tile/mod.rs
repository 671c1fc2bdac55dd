//! Tiling: from dense halves to what the engine reads, and back.
//!
//! In memory a surface is planes of rows: one plane for each channel, each row at a multiple of 64 bytes, and what lies
//! between a row's end and the next row's start belongs to nobody (td 6). Interleaved surfaces hold several channels in
//! one plane, whose elements take turns. A dense array has neither gaps nor turns.
//!
//! Rows are copied whole (`rows`), and planes or more where no gap is between their rows. What is in a gap is left as
//! it is.

mod rows;

use std::ops::Range;

use half::f16;
use thiserror::Error;
use zerocopy::IntoBytes;

use super::elements;
use crate::container::{Axes, Element, Surface};

use rows::Group;
pub(crate) use rows::Memory;

const HALF: u64 = Element::HALF_BYTES;

/// How a surface lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    shape: Axes<u32>,
    strides: Axes<u64>,
    interleave: u32,
}

/// A layout that is none, or memory and values that do not belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// Elements other than halves.
    #[error("surface has elements of {0}, only fp16 is known")]
    Element(Element),
    /// No channels side by side, or elements that overlap.
    #[error("surface puts two elements into the same bytes")]
    Overlap,
    /// More bytes than memory has addresses.
    #[error("surface reaches beyond the end of memory")]
    Beyond,
    /// The memory is too short.
    #[error("surface takes {needed:#x} bytes, there are {given:#x}")]
    Memory {
        /// Bytes of the surface.
        needed: usize,
        /// Bytes that there are.
        given: usize,
    },
    /// Another number of values.
    #[error("surface has {expected} elements, {given} values are given")]
    Values {
        /// Elements of the surface.
        expected: usize,
        /// Values that are given.
        given: usize,
    },
}

impl Layout {
    /// How `surface` lies in memory.
    ///
    /// # Errors
    ///
    /// [`Error::Element`], [`Error::Overlap`] or [`Error::Beyond`].
    pub fn of(surface: &Surface<'_>) -> Result<Self, Error> {
        if surface.element != Element::Half {
            return Err(Error::Element(surface.element));
        }
        Self::new(surface.shape, surface.strides, 1)
    }

    /// A layout by its numbers: strides in bytes, of channels from plane to plane, and how many channels share a plane.
    /// The stride of columns is that of a plane with one channel.
    ///
    /// # Errors
    ///
    /// [`Error::Overlap`] or [`Error::Beyond`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ane::container::Axes;
    /// use ane::tensor::tile::{Layout, tile};
    /// use half::f16;
    ///
    /// // Two channels of one row with three columns: a plane is one row of 64 bytes.
    /// let shape = Axes { n: 1, c: 2, h: 1, w: 3 };
    /// let layout = Layout::new(shape, Axes { n: 128, c: 64, h: 64, w: 2 }, 1)?;
    /// let mut memory = vec![0; layout.bytes()];
    /// tile(&layout, &[f16::ONE; 6], &mut memory)?;
    /// assert_eq!(memory[64..70], [0, 0x3c, 0, 0x3c, 0, 0x3c]);
    /// # Ok::<(), ane::tensor::tile::Error>(())
    /// ```
    pub fn new(shape: Axes<u32>, strides: Axes<u64>, interleave: u32) -> Result<Self, Error> {
        let interleave = interleave.max(1);
        let column = u64::from(interleave) * strides.w.max(HALF);
        let planes = shape.c.div_ceil(interleave);
        // From the fastest axis to the slowest: each has to clear all that the faster ones take. Axes of one do not move.
        let mut taken = if interleave == 1 { HALF } else { column };
        let mut reach = taken;
        for (count, stride) in
            [(shape.w, column), (shape.h, strides.h), (planes, strides.c), (shape.n, strides.n)]
        {
            if count == 0 {
                return Err(Error::Overlap);
            }
            if count > 1 {
                if stride < taken {
                    return Err(Error::Overlap);
                }
                taken = stride.checked_mul(count.into()).ok_or(Error::Beyond)?;
                reach = stride
                    .checked_mul(u64::from(count) - 1)
                    .and_then(|steps| steps.checked_add(reach))
                    .ok_or(Error::Beyond)?;
            }
        }
        usize::try_from(reach).map_err(|_| Error::Beyond)?;
        Ok(Self { shape, strides: Axes { w: column, ..strides }, interleave })
    }

    /// N, C, H, W.
    pub const fn shape(&self) -> Axes<u32> {
        self.shape
    }

    /// Elements of the surface.
    pub fn elements(&self) -> usize {
        // All of them have bytes of their own below 2^64.
        elements(self.shape) as usize
    }

    /// From the first byte of the surface to the last one of an element.
    pub fn bytes(&self) -> usize {
        let Axes { n, c, h, w } = self.shape;
        // The last plane may hold fewer channels than the one before it, which cannot reach further than its end.
        let last = self.place(n - 1, c - 1, h - 1, w - 1);
        (last + HALF) as usize
    }

    /// Offset of an element in memory.
    fn place(&self, n: u32, c: u32, h: u32, w: u32) -> u64 {
        u64::from(n) * self.strides.n
            + u64::from(c / self.interleave) * self.strides.c
            + u64::from(c % self.interleave) * HALF
            + u64::from(h) * self.strides.h
            + u64::from(w) * self.strides.w
    }

    /// Calls `copy` for each group of rows: their elements in the dense order, and where they lie in memory.
    ///
    /// A row is as many elements as lie side by side in both worlds: one, a row of the surface, a plane or a batch.
    fn for_each_group(&self, mut copy: impl FnMut(Range<usize>, Group)) {
        let Axes { n, c, h, w } = self.shape;
        let columns = u64::from(w) * HALF;
        let plane = columns * u64::from(h);
        // How many groups there are of each axis, how many rows a group has, and how far apart.
        let ([batches, channels, lines], rows, pitch, row) =
            if self.strides.w != HALF && w > 1 || self.interleave > 1 {
                ([n, c, h], w, self.strides.w, HALF)
            } else if self.strides.h != columns && h > 1 {
                ([n, c, 1], h, self.strides.h, columns)
            } else if self.strides.c != plane && c > 1 {
                ([n, 1, 1], c, self.strides.c, plane)
            } else {
                ([1, 1, 1], n, self.strides.n, plane * u64::from(c))
            };
        let elements = (u64::from(rows) * row / HALF) as usize;
        let mut element = 0;
        for n in 0..batches {
            for c in 0..channels {
                for h in 0..lines {
                    let at = self.place(n, c, h, 0) as usize;
                    copy(element..element + elements, Group { at, pitch: pitch as usize, row: row as usize });
                    element += elements;
                }
            }
        }
    }

    fn check(&self, values: usize, memory: usize) -> Result<(), Error> {
        let (expected, needed) = (self.elements(), self.bytes());
        if values != expected {
            return Err(Error::Values { expected, given: values });
        }
        if memory < needed { Err(Error::Memory { needed, given: memory }) } else { Ok(()) }
    }

    pub(crate) fn tile_into<M: Memory + ?Sized>(&self, from: &[f16], into: &mut M) -> Result<(), Error> {
        self.check(from.len(), into.bytes())?;
        self.for_each_group(|dense, rows| rows.put(from[dense].as_bytes(), into));
        Ok(())
    }

    pub(crate) fn untile_from<M: Memory + ?Sized>(&self, from: &M, into: &mut [f16]) -> Result<(), Error> {
        self.check(into.len(), from.bytes())?;
        self.for_each_group(|dense, rows| rows.get(from, into[dense].as_mut_bytes()));
        Ok(())
    }
}

/// Puts dense values, in the order N, C, H, W, where the engine looks for them.
///
/// # Errors
///
/// [`Error::Values`] or [`Error::Memory`].
pub fn tile(layout: &Layout, from: &[f16], into: &mut [u8]) -> Result<(), Error> {
    layout.tile_into(from, into)
}

/// Takes values from where the engine put them.
///
/// # Errors
///
/// [`Error::Values`] or [`Error::Memory`].
pub fn untile(layout: &Layout, from: &[u8], into: &mut [f16]) -> Result<(), Error> {
    layout.untile_from(from, into)
}

#[cfg(test)]
mod tests;
