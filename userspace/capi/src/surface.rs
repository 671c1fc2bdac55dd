//! How the tensor behind a BAR lies in its buffer, and the copies there and back.
//!
//! C has tensors of 16-bit numbers without gaps, in the order N, C, H, W, whatever the engine moves. Where that is halves, a
//! number takes two bytes in the buffer. Where it is bytes, such as truth values, it takes one, the low byte of the number;
//! the high byte of a result is zero. The header does not say which: the tasks do ([`Anec`](crate::anec::Anec)).
//!
//! What lies between rows and behind the last one becomes zero up to the end of the last plane, as in the Linux driver's
//! library: clients pass memory that they have not cleared.

use ane_tiling::{Axes, Layout};

/// Bytes of a number of C's.
const NUMBER: usize = 2;

/// How a tensor lies in its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Surface {
    elements: Elements,
    /// Bytes of all planes, with what lies behind the last row of the last one.
    whole: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elements {
    Halves(Layout),
    Bytes(Rows),
}

/// Rows of bytes, none of which overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Planes of all batches, which follow each other.
    planes: usize,
    rows: usize,
    columns: usize,
    /// Bytes from plane to plane, and from row to row.
    plane: usize,
    row: usize,
    /// Up to the last element.
    bytes: usize,
}

impl Surface {
    /// The surface that six numbers make, in the order in which C has them: batches, channels, rows, columns, and bytes from
    /// plane to plane and from row to row. `None` if elements overlap, or are more than any engine addresses.
    pub fn new(numbers: [u64; 6], is_bytes: bool) -> Option<Self> {
        let elements =
            if is_bytes { Elements::Bytes(Rows::new(numbers)?) } else { Elements::Halves(halves(numbers)?) };
        let [n, c, _, _, plane, _] = numbers;
        let planes = n.checked_mul(c)?.checked_mul(plane)?;
        let whole = isize::try_from(planes).ok()?.unsigned_abs().max(elements.bytes());
        Some(Self { elements, whole })
    }

    pub const fn elements(&self) -> Elements {
        self.elements
    }

    /// From the first byte to the last one of an element.
    pub const fn bytes(&self) -> usize {
        self.elements.bytes()
    }

    /// Bytes that [`tile`](Self::tile) writes, if there are as many.
    pub const fn whole_bytes(&self) -> usize {
        self.whole
    }

    /// Bytes of C's tensor.
    pub const fn dense_bytes(&self) -> usize {
        match self.elements {
            Elements::Halves(layout) => layout.dense_bytes(),
            Elements::Bytes(rows) => rows.planes * rows.rows * rows.columns * NUMBER,
        }
    }

    /// Puts C's tensor where the engine reads it. False if it has another length, or there is too little memory.
    pub fn tile(&self, dense: &[u8], memory: &mut [u8]) -> bool {
        let end = memory.len().min(self.whole);
        let Some(memory) = memory.get_mut(..end) else { return false };
        match self.elements {
            Elements::Halves(layout) => layout.tile_clearing(dense, memory).is_ok(),
            Elements::Bytes(rows) => {
                if dense.len() != self.dense_bytes() || end < rows.bytes {
                    return false;
                }
                memory.fill(0);
                for (at, numbers) in rows.each().zip(dense.chunks_exact(rows.columns * NUMBER)) {
                    let bytes = memory.get_mut(at..).unwrap_or_default();
                    for (byte, [low, _]) in bytes.iter_mut().zip(numbers.as_chunks::<NUMBER>().0) {
                        *byte = *low;
                    }
                }
                true
            }
        }
    }

    /// Takes C's tensor from where the engine put it. False if it has another length, or there is too little memory.
    pub fn untile(&self, memory: &[u8], dense: &mut [u8]) -> bool {
        match self.elements {
            Elements::Halves(layout) => layout.untile(memory, dense).is_ok(),
            Elements::Bytes(rows) => {
                if dense.len() != self.dense_bytes() || memory.len() < rows.bytes {
                    return false;
                }
                for (at, numbers) in rows.each().zip(dense.chunks_exact_mut(rows.columns * NUMBER)) {
                    let bytes = memory.get(at..).unwrap_or_default();
                    for (byte, number) in bytes.iter().zip(numbers.as_chunks_mut::<NUMBER>().0) {
                        *number = [*byte, 0];
                    }
                }
                true
            }
        }
    }
}

impl Elements {
    const fn bytes(self) -> usize {
        match self {
            Self::Halves(layout) => layout.bytes(),
            Self::Bytes(rows) => rows.bytes,
        }
    }
}

fn halves([n, c, h, w, plane, row]: [u64; 6]) -> Option<Layout> {
    let count = |number: u64| u32::try_from(number).ok();
    let shape = Axes { n: count(n)?, c: count(c)?, h: count(h)?, w: count(w)? };
    // Planes follow each other through all batches; one batch is nowhere to step from.
    let batch = if n > 1 { c.checked_mul(plane)? } else { 0 };
    Layout::new(shape, Axes { n: batch, c: plane, h: row, w: NUMBER as u64 }).ok()
}

impl Rows {
    fn new([n, c, h, w, plane, row]: [u64; 6]) -> Option<Self> {
        let planes = n.checked_mul(c)?;
        let between = |count: u64, stride: u64| count.checked_sub(1)?.checked_mul(stride);
        // The stride of an axis of one is not looked at.
        let row = if h == 1 { w } else { row };
        let in_plane = between(h, row)?.checked_add(w)?;
        let plane = if planes == 1 { in_plane } else { plane };
        let bytes = between(planes, plane)?.checked_add(in_plane)?;
        let is_apart = w > 0 && row >= w && plane >= in_plane;
        // C's tensor has two bytes for each that the elements take.
        isize::try_from(bytes.checked_mul(NUMBER as u64)?).ok().filter(|_| is_apart)?;
        // No number is larger than the bytes of all of them.
        let [planes, rows, columns, plane, row, bytes] =
            [planes, h, w, plane, row, bytes].map(|number| number as usize);
        Some(Self { planes, rows, columns, plane, row, bytes })
    }

    /// Where each row begins.
    fn each(self) -> impl Iterator<Item = usize> {
        let Self { planes, rows, plane, row, .. } = self;
        (0..planes).flat_map(move |at| (0..rows).map(move |down| at * plane + down * row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_that_overlap_make_no_surface() {
        let numbers = [1, 2, 3, 4, 0x100, 0x40];
        assert_eq!(Surface::new(numbers, false).unwrap().bytes(), 0x100 + 0x80 + 8);
        assert_eq!(Surface::new(numbers, true).unwrap().bytes(), 0x100 + 0x80 + 4);
        for (at, number) in [(5, 3), (4, 0x83), (3, 0), (2, u64::MAX), (1, 1 << 62), (4, u64::MAX)] {
            let mut overlapping = numbers;
            overlapping[at] = number;
            assert_eq!(Surface::new(overlapping, false), None, "{overlapping:?}");
            assert_eq!(Surface::new(overlapping, true), None, "{overlapping:?}");
        }
        for (at, number) in [(5, 7), (4, 0x87), (1, 1 << 32)] {
            let mut overlapping = numbers;
            overlapping[at] = number;
            assert_eq!(Surface::new(overlapping, false), None, "{overlapping:?}");
        }
        assert!(Surface::new([1, 2, 3, 7, 0x15, 7], true).is_some(), "bytes without gaps");
    }

    #[test]
    fn planes_of_all_batches_are_evenly_apart() {
        for (is_bytes, last) in [(false, 2), (true, 1)] {
            let by_batches = Surface::new([2, 3, 1, 1, 0x40, 0x40], is_bytes).unwrap();
            assert_eq!((by_batches.bytes(), by_batches.whole_bytes()), (5 * 0x40 + last, 6 * 0x40));
            assert_eq!(Surface::new([2, u32::MAX.into(), 1, 1, 1 << 40, 0x40], is_bytes), None);
        }
    }

    #[test]
    fn byte_of_an_element_is_the_low_byte_of_its_number() {
        let surface = Surface::new([1, 2, 2, 3, 16, 4], true).unwrap();
        assert_eq!((surface.dense_bytes(), surface.bytes(), surface.whole_bytes()), (24, 23, 32));
        let numbers: Vec<u8> = (1..=12).flat_map(|low| [low, 0xff]).collect();
        let mut memory = [0xee; 40];
        assert!(surface.tile(&numbers, &mut memory));
        let mut expected = [0; 40];
        for (at, row) in [(0, [1, 2, 3]), (4, [4, 5, 6]), (16, [7, 8, 9]), (20, [10, 11, 12])] {
            expected[at..at + 3].copy_from_slice(&row);
        }
        expected[32..].fill(0xee);
        assert_eq!(memory, expected, "zeros up to the end of the last plane");
        let mut back = [0xff; 24];
        assert!(surface.untile(&memory, &mut back));
        assert!(back.iter().eq((1..=12).flat_map(|low| [low, 0]).collect::<Vec<u8>>().iter()));
        assert!(!surface.tile(&numbers[..22], &mut memory) && !surface.tile(&numbers, &mut memory[..22]));
        assert!(!surface.untile(&memory[..22], &mut back) && !surface.untile(&memory, &mut back[..22]));
    }

    #[test]
    fn halves_are_tiled_with_zeros_to_the_end_of_the_last_plane_or_of_the_memory() {
        let surface = Surface::new([1, 1, 2, 1, 16, 4], false).unwrap();
        for (room, cleared) in [(20, 16), (12, 12)] {
            let mut memory = vec![0xee; room];
            assert!(surface.tile(&[1, 2, 3, 4], &mut memory));
            assert_eq!(memory[..8], [1, 2, 0, 0, 3, 4, 0, 0]);
            assert!(memory[8..cleared].iter().all(|byte| *byte == 0));
            assert!(memory[cleared..].iter().all(|byte| *byte == 0xee));
        }
    }
}
