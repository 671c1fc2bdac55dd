//! Tensors in the on-chip buffer, and which of its bytes are unknown.
//!
//! A streamed operand passes through a window that is smaller than itself, in an order of refills that nobody has
//! seen. The bytes that it leaves there are marked as unknown, and a task that would read such bytes is refused: a
//! guess would look like a result. A write makes them known again.

use std::ops::Range;

use zerocopy::IntoBytes;

use super::plan::operand::{ChipPlace, Element, Shape};
use super::pool::Pool;
use super::tile::little_endian;
use crate::copy;
use crate::dart::Helpers;
use crate::sram::{Sram, TILE_L2_BYTES};

/// Bytes that are marked together: the smallest element, so that one that is written tells nothing of its neighbours.
const GRANULE: u32 = 1;

/// A row that is assembled on chip is padded to a multiple of this many bytes, the granule of the buffer.
const ROW_UNIT: u32 = 16;

/// Bytes of a tensor from which on several threads write it.
const LARGE: usize = 1 << 16;

/// Bytes of it that a thread writes at a time.
const STRETCH: u32 = 1 << 14;

const GRANULES: u32 = (2 << 20) / GRANULE;

const _: () = assert!(GRANULES as usize * GRANULE as usize == TILE_L2_BYTES);

/// Granules of one word of the map.
const WORD: u32 = u64::BITS;

const WORDS: usize = (GRANULES / WORD) as usize;

/// The granules that are unknown.
#[derive(Debug)]
pub(super) struct Unknown {
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
    pub(super) fn copy(&mut self, other: &Self) {
        if self.any || other.any {
            self.map.copy_from_slice(&other.map);
        }
        self.any = other.any;
    }

    /// Marks `len` bytes from `base`, as far as the buffer goes.
    pub(super) fn mark(&mut self, base: u32, len: u32) {
        if len == 0 {
            return;
        }
        self.any = true;
        self.change(base, len, |word, mask| *word |= mask);
    }

    fn clear(&mut self, base: u32, len: u32) {
        self.change(base, len, |word, mask| *word &= !mask);
    }

    /// Clears `count` rows of `len` bytes, so far apart.
    ///
    /// Rows are short and many. Where a word of the map has several of them, and all words the same ones, it is changed as a whole.
    fn clear_rows(&mut self, base: u32, len: u32, stride: u32, count: u32) {
        let row = |index: u32| base.saturating_add(stride.saturating_mul(index));
        let in_word = WORD.checked_div(stride).unwrap_or_default();
        let first = base.checked_rem(stride).unwrap_or_default();
        let is_alike =
            GRANULE == 1 && in_word > 1 && WORD.is_multiple_of(stride) && first.saturating_add(len) <= stride;
        let mut next = 0;
        if is_alike {
            while next < count && row(next) % WORD >= stride {
                self.clear(row(next), len);
                next = next.saturating_add(1);
            }
            // At most 32 bytes.
            let bits = (1_u64.wrapping_shl(len)).wrapping_sub(1).wrapping_shl(first);
            let mask = (0..in_word).fold(0, |mask, at| mask | bits.wrapping_shl(at.saturating_mul(stride)));
            let words = count.saturating_sub(next).checked_div(in_word).unwrap_or_default();
            let map = self.map.get_mut((row(next) / WORD) as usize..).unwrap_or_default();
            map.iter_mut().take(words as usize).for_each(|word| *word &= !mask);
            next = next.saturating_add(words.saturating_mul(in_word));
        }
        (next..count).for_each(|index| self.clear(row(index), len));
    }

    /// True if there may be unknown bytes where the tensor lies, its gaps included.
    fn is_near(&self, place: ChipPlace, shape: Shape) -> bool {
        let len = place.end(shape).saturating_sub(place.base.into());
        self.any && self.touches(place.base, u32::try_from(len).unwrap_or(u32::MAX))
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

    fn touches(&self, base: u32, len: u32) -> bool {
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

/// The rows of a tensor: where each begins, in packed order.
fn rows(place: ChipPlace, shape: Shape) -> impl Iterator<Item = u32> {
    (0..shape.channels).flat_map(move |channel| {
        let base = place.base.saturating_add(place.channel_stride.saturating_mul(channel));
        (0..shape.height).map(move |y| base.saturating_add(place.row_stride.saturating_mul(y)))
    })
}

/// The same bytes in as few rows as there are, if each takes so many: rows without a gap between them are one, and so are
/// channels.
fn merged(place: ChipPlace, shape: Shape, row: u32) -> Shape {
    let Shape { channels, height, .. } = shape;
    let element = place.element.bytes();
    let width = row.checked_div(element).unwrap_or_default();
    if height != 1 && place.row_stride != row {
        return Shape { channels, height, width };
    }
    let width = width.saturating_mul(height);
    if channels != 1 && place.channel_stride != row.saturating_mul(height) {
        return Shape { channels, height: 1, width };
    }
    Shape { channels: 1, height: 1, width: width.saturating_mul(channels) }
}

const fn row_bytes(place: ChipPlace, shape: Shape) -> u32 {
    shape.width.saturating_mul(place.element.bytes())
}

/// True if the tensor has unknown bytes.
pub(super) fn is_unknown(unknown: &Unknown, place: ChipPlace, shape: Shape) -> bool {
    unknown.is_near(place, shape) && rows(place, shape).any(|at| unknown.touches(at, row_bytes(place, shape)))
}

pub(super) fn forget(unknown: &mut Unknown, place: ChipPlace, shape: Shape) {
    let shape = merged(place, shape, row_bytes(place, shape).next_multiple_of(ROW_UNIT));
    rows(place, shape).for_each(|at| unknown.mark(at, row_bytes(place, shape)));
}

/// Reads a tensor, which the plan has seen to lie in the buffer.
pub(super) fn read(sram: &Sram, place: ChipPlace, shape: Shape, into: &mut [u16]) {
    let shape = merged(place, shape, row_bytes(place, shape));
    let width = shape.width as usize;
    for (at, row) in rows(place, shape).zip(into.chunks_exact_mut(width.max(1))) {
        let Some(bytes) = sram.bytes().get(at as usize..) else { continue };
        if place.element == Element::Half {
            copy::row(bytes, row.as_mut_bytes());
            little_endian(row);
        } else {
            row.iter_mut().zip(bytes).for_each(|(to, from)| *to = place.element.half(*from));
        }
    }
}

/// Marks a tensor as known, as it is once it is written.
pub(super) fn know(unknown: &mut Unknown, place: ChipPlace, shape: Shape) {
    if unknown.is_near(place, shape) {
        let shape = merged(place, shape, row_bytes(place, shape));
        let (len, channels) = (row_bytes(place, shape), Shape { height: 1, ..shape });
        rows(place, channels).for_each(|base| unknown.clear_rows(base, len, place.row_stride, shape.height));
    }
}

/// Writes a tensor, which the plan has seen to lie in the buffer. Several threads write a large one.
pub(super) fn write(sram: &mut Sram, place: ChipPlace, shape: Shape, from: &[u16], pool: &mut Pool) {
    let bytes = sram.bytes_mut().get_mut(place.base as usize..).unwrap_or_default();
    let place = ChipPlace { base: 0, ..place };
    // One row is as many channels of an element.
    let (place, shape) = match merged(place, shape, row_bytes(place, shape)) {
        Shape { channels: 1, height: 1, width } => (
            ChipPlace { channel_stride: place.element.bytes(), ..place },
            Shape { channels: width, height: 1, width: 1 },
        ),
        shape => (place, shape),
    };
    let (len, channel) = (size_of_val(from), Shape { channels: 1, ..shape });
    if len < LARGE || !are_apart(place, shape) {
        return write_rows(bytes, place, shape, from);
    }
    let channels = (STRETCH.checked_div(place.channel_stride).unwrap_or(0) as usize).max(1);
    let distance = (place.channel_stride as usize).saturating_mul(channels);
    let elements = channel.len().max(1);
    let lots = bytes.chunks_mut(distance).zip(from.chunks(elements.saturating_mul(channels)));
    pool.together(len, lots, |(bytes, from)| {
        let channels = u32::try_from(from.len().div_ceil(elements)).unwrap_or(0);
        write_rows(bytes, place, Shape { channels, ..shape }, from);
    });
}

/// True if each channel ends before the next one begins, and rows do.
fn are_apart(place: ChipPlace, shape: Shape) -> bool {
    let row = row_bytes(place, shape);
    let last = place.row_stride.saturating_mul(shape.height.saturating_sub(1));
    (shape.height == 1 || row <= place.row_stride) && last.saturating_add(row) <= place.channel_stride
}

fn write_rows(bytes: &mut [u8], place: ChipPlace, shape: Shape, from: &[u16]) {
    let shape = merged(place, shape, row_bytes(place, shape));
    let width = shape.width as usize;
    for (at, row) in rows(place, shape).zip(from.chunks_exact(width.max(1))) {
        let Some(bytes) = bytes.get_mut(at as usize..) else { continue };
        if place.element != Element::Half {
            bytes.iter_mut().zip(row).for_each(|(to, from)| *to = place.element.byte(*from));
        } else if cfg!(target_endian = "little") {
            copy::row(row.as_bytes(), bytes);
        } else {
            let (pairs, _) = bytes.as_chunks_mut::<2>();
            pairs.iter_mut().zip(row).for_each(|(to, from)| *to = from.to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(threads: usize) -> Pool {
        Pool::new(threads.try_into().unwrap())
    }

    const PLACE: ChipPlace = ChipPlace {
        base: 0x40,
        channel_stride: 0x20,
        row_stride: 0x100,
        group_stride: 0,
        depth_stride: 0,
        depths: 1,
        element: Element::Half,
    };
    const SHAPE: Shape = Shape { channels: 3, height: 2, width: 5 };

    #[test]
    fn tensor_is_read_as_it_was_written_and_gaps_keep_what_they_held() {
        let mut sram = Sram::tile_l2();
        sram.bytes_mut().fill(0xee);
        let tensor: Vec<u16> = (0..30).collect();
        write(&mut sram, PLACE, SHAPE, &tensor, &mut pool(1));
        let mut back = vec![0; 30];
        read(&sram, PLACE, SHAPE, &mut back);
        assert_eq!(back, tensor);
        assert_eq!(sram.bytes()[0x40..0x4c], [0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 0xee, 0xee]);
        assert_eq!(sram.bytes()[0x140..0x142], [5, 0]);
    }

    #[test]
    fn large_tensor_is_written_as_one_thread_writes_it() {
        let halves: Vec<u16> = (0..1 << 18).map(|at: u32| (at * 31 + at / 77) as u16).collect();
        let place = |channel_stride, row_stride, element| ChipPlace {
            base: 0x40,
            channel_stride,
            row_stride,
            element,
            ..ChipPlace::default()
        };
        let shape = |channels, height, width| Shape { channels, height, width };
        for (place, shape) in [
            (place(0x800, 0x80, Element::Half), shape(200, 14, 57)),
            (place(0x600, 0x60, Element::Half), shape(150, 16, 48)),
            (place(0x100, 0x8000, Element::Half), shape(100, 20, 100)),
            (place(0x700, 0x80, Element::Half), shape(200, 14, 66)),
            (place(0x80_000, 0x1000, Element::Half), shape(3, 100, 800)),
            (place(0x40, 0x40, Element::Half), shape(1, 1, 150_001)),
            (place(0x400, 0x40, Element::Signed), shape(200, 16, 40)),
        ] {
            let from = &halves[..shape.len()];
            let (mut together, mut alone) = (Sram::tile_l2(), Sram::tile_l2());
            write(&mut together, place, shape, from, &mut pool(2));
            write_rows(&mut alone.bytes_mut()[0x40..], ChipPlace { base: 0, ..place }, shape, from);
            assert!(together.bytes() == alone.bytes(), "{place:?} {shape:?}");
        }
    }

    #[test]
    fn bytes_are_unknown_until_something_is_written_to_them() {
        let mut unknown = Unknown::default();
        unknown.mark(0x60, 0x10);
        assert!(is_unknown(&unknown, PLACE, SHAPE));
        let elsewhere = ChipPlace { base: 0x70, channel_stride: 0x20, ..PLACE };
        assert!(!is_unknown(&unknown, elsewhere, Shape { channels: 1, height: 1, width: 8 }));
        know(&mut unknown, PLACE, SHAPE);
        assert!(!is_unknown(&unknown, PLACE, SHAPE));
    }

    #[test]
    fn bytes_take_a_byte_each_and_come_back_as_halves() {
        let mut sram = Sram::tile_l2();
        let place = ChipPlace { element: Element::Signed, ..PLACE };
        write(&mut sram, place, SHAPE, &[0x3c00; 30], &mut pool(1));
        assert_eq!(sram.bytes()[0x40..0x46], [1, 1, 1, 1, 1, 0]);
        let mut back = vec![0; 30];
        read(&sram, place, SHAPE, &mut back);
        assert_eq!(back, [0x3c00; 30]);
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
    fn element_that_is_written_leaves_its_neighbours_unknown() {
        let mut unknown = Unknown::default();
        let row = |width| Shape { channels: 1, height: 1, width };
        forget(&mut unknown, PLACE, row(8));
        know(&mut unknown, PLACE, row(3));
        assert!(!is_unknown(&unknown, PLACE, row(3)));
        assert!(is_unknown(&unknown, PLACE, row(4)));
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
            together.clear_rows(base, len, stride, count);
            (0..count).for_each(|row| each.clear(base + row * stride, len));
            assert!(together.map == each.map, "{base} {len} {stride} {count}");
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

    /// Rows of `width` columns, one for each channel, a stride apart.
    fn put(sram: &mut Sram, base: u32, channel_stride: u32, channels: u32, row: &[u16]) {
        let place = ChipPlace { base, channel_stride, ..ChipPlace::default() };
        let shape = Shape { channels, height: 1, width: row.len() as u32 };
        write(sram, place, shape, &row.repeat(channels as usize), &mut pool(1));
    }

    /// The 32 bytes of a line of a dump.
    fn line(sram: &Sram, at: usize) -> Vec<u16> {
        sram.bytes()[at..at + 32].as_chunks::<2>().0.iter().map(|half| u16::from_le_bytes(*half)).collect()
    }

    /// The dump of seed 004, line by line, from what its addresses show: an input that fills the buffer; results of
    /// sixteen columns, 64 bytes from channel to channel, of two batches side by side, with the second one under way; and
    /// a smaller pass over it, whose input has four columns and four zeros in each row.
    ///
    /// The source does not say which operations made 0x3e8b. One of its lines has a word too many, and is taken
    /// to begin with eight halves of 0x3e8b, as wide as the others. The test itself, and not a task, puts
    /// values and strides in: the registers of the dump are not given. So this test holds the layout of rows
    /// and the bytes that they leave, and does not show ENG-08.
    #[test]
    fn rows_at_the_strides_of_the_dump_leave_its_lines() {
        const IN: u16 = 0x2222;
        const OUT: u16 = 0x3e8b;
        let mut sram = Sram::tile_l2();
        put(&mut sram, 0, 0x40, 0x20, &[IN; 32]);
        put(&mut sram, 0x420, 0x40, 6, &[OUT; 16]);
        put(&mut sram, 0x400, 0x40, 3, &[OUT; 16]);
        for at in [0x3a0, 0x3c0, 0x3e0, 0x4c0, 0x500, 0x540, 0x580] {
            assert_eq!(line(&sram, at), [IN; 16], "{at:#x}");
        }
        for at in [0x400, 0x420, 0x440, 0x460, 0x480, 0x4a0, 0x4e0, 0x520, 0x560] {
            assert_eq!(line(&sram, at), [OUT; 16], "{at:#x}");
        }

        let input = [0x4500, 0x4500, 0x4500, 0x4500, 0, 0, 0, 0];
        put(&mut sram, 0x150, 0x100, 4, &input);
        put(&mut sram, 0x120, 0x40, 5, &[0x5500; 16]);
        put(&mut sram, 0x100, 0x40, 1, &[0x5500; 16]);
        for at in [0x100, 0x120, 0x160, 0x1a0, 0x1e0, 0x220] {
            assert_eq!(line(&sram, at), [0x5500; 16], "{at:#x}");
        }
        for (at, left) in [(0x140, IN), (0x240, IN), (0x340, IN), (0x440, OUT)] {
            assert_eq!(line(&sram, at), [[left; 8], input].concat(), "{at:#x}");
        }
    }
}
