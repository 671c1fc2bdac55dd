//! Tiling: from dense halves to what the engine reads, and back.
//!
//! In memory a surface is planes of rows: one plane for each channel, each row at a multiple of 64 bytes, and what lies
//! between a row's end and the next row's start belongs to nobody (td 6). Interleaved surfaces hold several channels in
//! one plane, whose elements take turns. A dense array has neither gaps nor turns.
//!
//! Rows are copied whole, and planes or more where no gap is between their rows. What is in a gap is left as it is.

use half::f16;
use thiserror::Error;
use zerocopy::IntoBytes;

use super::elements;
use crate::container::{Axes, Element, Surface};

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

/// Memory that a surface lies in.
///
/// Offsets were checked against its length before.
pub(crate) trait Memory {
    /// How many bytes there are.
    fn bytes(&self) -> usize;
    /// Copies bytes in.
    fn put(&mut self, at: usize, from: &[u8]);
    /// Copies bytes out.
    fn get(&self, at: usize, into: &mut [u8]);
}

impl Memory for [u8] {
    fn bytes(&self) -> usize {
        self.len()
    }

    #[inline]
    fn put(&mut self, at: usize, from: &[u8]) {
        self[at..at + from.len()].copy_from_slice(from);
    }

    #[inline]
    fn get(&self, at: usize, into: &mut [u8]) {
        into.copy_from_slice(&self[at..at + into.len()]);
    }
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

    /// Elements that lie side by side in both worlds.
    fn run(&self) -> (u64, Step) {
        let Axes { c, h, w, .. } = self.shape.map(u64::from);
        if self.strides.w != HALF && w > 1 || self.interleave > 1 {
            return (1, Step::Element);
        }
        if self.strides.h != w * HALF && h > 1 {
            return (w, Step::Row);
        }
        if self.strides.c != h * w * HALF && c > 1 {
            return (h * w, Step::Plane);
        }
        (c * h * w, Step::Batch)
    }

    /// Calls `copy` for each run: its first element in the dense order, its first byte in memory, its elements.
    #[inline]
    fn for_each_run(&self, mut copy: impl FnMut(usize, usize, usize)) {
        let Axes { n, c, h, w } = self.shape;
        let (run, step) = self.run();
        let counts = match step {
            Step::Element => [n, c, h, w],
            Step::Row => [n, c, h, 1],
            Step::Plane => [n, c, 1, 1],
            Step::Batch => [n, 1, 1, 1],
        };
        let mut element = 0;
        for n in 0..counts[0] {
            for c in 0..counts[1] {
                for h in 0..counts[2] {
                    let row = self.place(n, c, h, 0);
                    for w in 0..counts[3] {
                        let at = row + u64::from(w) * self.strides.w;
                        copy(element, at as usize, run as usize);
                        element += run as usize;
                    }
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
        self.for_each_run(|element, at, run| into.put(at, from[element..element + run].as_bytes()));
        Ok(())
    }

    pub(crate) fn untile_from<M: Memory + ?Sized>(&self, from: &M, into: &mut [f16]) -> Result<(), Error> {
        self.check(into.len(), from.bytes())?;
        self.for_each_run(|element, at, run| from.get(at, into[element..element + run].as_mut_bytes()));
        Ok(())
    }
}

/// What a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Element,
    Row,
    Plane,
    Batch,
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
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn axes<T>(n: T, c: T, h: T, w: T) -> Axes<T> {
        Axes { n, c, h, w }
    }

    fn counted(elements: usize) -> Vec<f16> {
        (0..elements).map(|value| f16::from_bits(value as u16 + 1)).collect()
    }

    #[test]
    fn surface_with_overlapping_or_endless_elements_is_refused() {
        let shape = axes(1, 2, 2, 40);
        for (strides, error) in [
            (axes(0, 128, 64, 2), Error::Overlap),
            (axes(0, 160, 0, 2), Error::Overlap),
            (axes(0, 100, 80, 2), Error::Overlap),
            (axes(0, u64::MAX - 1, 80, 2), Error::Beyond),
        ] {
            assert_eq!(Layout::new(shape, strides, 1), Err(error), "{strides:?}");
        }
        assert_eq!(Layout::new(axes(1, 0, 1, 1), axes(64, 64, 64, 2), 1), Err(Error::Overlap));
    }

    #[test]
    fn memory_and_values_of_other_sizes_are_refused() {
        let layout = Layout::new(axes(1, 2, 1, 3), axes(128, 64, 64, 2), 1).unwrap();
        assert_eq!((layout.elements(), layout.bytes()), (6, 70));
        let mut memory = [0; 70];
        assert_eq!(tile(&layout, &counted(5), &mut memory), Err(Error::Values { expected: 6, given: 5 }));
        let short = Error::Memory { needed: 70, given: 69 };
        assert_eq!(tile(&layout, &counted(6), &mut memory[..69]), Err(short));
        assert_eq!(tile(&layout, &counted(6), &mut memory), Ok(()));
    }

    #[test]
    fn gaps_between_rows_keep_what_they_hold() {
        let layout = Layout::new(axes(1, 1, 2, 3), axes(128, 128, 64, 2), 1).unwrap();
        let mut memory = [0xee; 128];
        tile(&layout, &counted(6), &mut memory).unwrap();
        assert!(memory[6..64].iter().chain(&memory[70..]).all(|&byte| byte == 0xee));
    }

    /// What td 6 says, an element at a time.
    fn by_definition(layout: &Layout, values: &[f16], memory: &mut [u8], row: u64, plane: u64, batch: u64) {
        let Axes { n: batches, c: channels, h: rows, w: columns } = layout.shape;
        let interleave = layout.interleave;
        let mut values = values.iter();
        for n in 0..batches {
            for c in 0..channels {
                for h in 0..rows {
                    for w in 0..columns {
                        let group = u64::from(c / interleave);
                        let element = u64::from(w * interleave + c % interleave);
                        let at = u64::from(n) * batch + group * plane + u64::from(h) * row + 2 * element;
                        memory[at as usize..][..2].copy_from_slice(&values.next().unwrap().to_le_bytes());
                    }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn tiling_agrees_with_the_definition_and_untiling_undoes_it(
            n in 1_u32..3, c in 1_u32..10, h in 1_u32..5, w in 1_u32..70,
            interleave in 1_u32..9, align in prop::sample::select(vec![2_u64, 16, 64]), gap in 0_u64..3,
        ) {
            let row = (2 * u64::from(w * interleave)).next_multiple_of(align);
            let plane = row * u64::from(h) + 64 * gap;
            let batch = plane * u64::from(c.div_ceil(interleave)) + 64 * gap;
            let layout = Layout::new(axes(n, c, h, w), axes(batch, plane, row, 2), interleave).unwrap();
            let values = counted(layout.elements());
            let bytes = (batch * u64::from(n)) as usize;
            let (mut memory, mut expected) = (vec![0xee; bytes], vec![0xee; bytes]);
            by_definition(&layout, &values, &mut expected, row, plane, batch);
            tile(&layout, &values, &mut memory).unwrap();
            prop_assert_eq!(&memory, &expected);
            let end = expected.iter().rposition(|&byte| byte != 0xee).unwrap() + 1;
            prop_assert!(layout.bytes() >= end && layout.bytes() <= bytes, "{} {}", layout.bytes(), end);
            let mut back = vec![f16::ZERO; values.len()];
            untile(&layout, &memory[..layout.bytes()], &mut back).unwrap();
            prop_assert_eq!(back, values);
        }
    }
}
