//! Tensors in the on-chip buffer, and which of its bytes are unknown.
//!
//! A streamed operand passes through a window that is smaller than itself, in an order of refills that nobody has
//! seen. The bytes that it leaves there are marked as unknown, and a task that would read such bytes is refused: a
//! guess would look like a result. A write makes them known again, whoever writes; a copy of them by the mover is as unknown.

mod unknown;

use std::ops::Range;

use zerocopy::IntoBytes;

use self::unknown::Rows;
pub(super) use self::unknown::Unknown;
use super::plan::operand::{ChipPlace, Element, Shape};
use super::pool::Pool;
use super::tile::little_endian;
use crate::copy;
use crate::dart::Helpers;
use crate::sram::Sram;

/// A row that is assembled on chip is padded to a multiple of this many bytes, the granule of the buffer.
const ROW_UNIT: u32 = 16;

/// Bytes of a tensor from which on several threads move it.
const LARGE: usize = 1 << 16;

/// Bytes of it that a thread moves at a time.
const STRETCH: u32 = 1 << 14;

/// The rows of a tensor: where each begins, in packed order.
fn rows(place: ChipPlace, shape: Shape) -> impl Iterator<Item = u32> {
    (0..shape.channels).flat_map(move |channel| {
        let base = place.base.saturating_add(place.channel_stride.saturating_mul(channel));
        (0..shape.height).map(move |y| base.saturating_add(place.row_stride.saturating_mul(y)))
    })
}

/// The rows of a tensor, those that are nearest to each other together.
fn near_rows(place: ChipPlace, shape: Shape) -> impl Iterator<Item = Rows> {
    let len = row_bytes(place, shape);
    let (channels, lines) = ((shape.channels, place.channel_stride), (shape.height, place.row_stride));
    let (far, near) = if channels.1 < lines.1 { (lines, channels) } else { (channels, lines) };
    let base = move |index| place.base.saturating_add(far.1.saturating_mul(index));
    (0..far.0).map(move |index| Rows { base: base(index), len, stride: near.1, count: near.0 })
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

/// True if there may be unknown bytes where the tensor lies, its gaps included.
fn is_near(unknown: &Unknown, place: ChipPlace, shape: Shape) -> bool {
    let len = place.end(shape).saturating_sub(place.base.into());
    unknown.any() && unknown.touches(place.base, u32::try_from(len).unwrap_or(u32::MAX))
}

/// True if the tensor has unknown bytes.
pub(super) fn is_unknown(unknown: &Unknown, place: ChipPlace, shape: Shape) -> bool {
    let rows = || near_rows(place, merged(place, shape, row_bytes(place, shape)));
    is_near(unknown, place, shape) && rows().any(|rows| unknown.touches_rows(rows))
}

pub(super) fn forget(unknown: &mut Unknown, place: ChipPlace, shape: Shape) {
    let shape = merged(place, shape, row_bytes(place, shape).next_multiple_of(ROW_UNIT));
    rows(place, shape).for_each(|at| unknown.mark(at, row_bytes(place, shape)));
}

/// Reads a tensor, which the plan has seen to lie in the buffer. Several threads read a large one.
pub(super) fn read(sram: &Sram, place: ChipPlace, shape: Shape, into: &mut [u16], pool: &mut Pool) {
    let (place, shape) = in_channels(place, shape);
    let len = size_of_val(into);
    if len < LARGE {
        return read_rows(sram.bytes(), place, shape, into);
    }
    let elements = Shape { channels: 1, ..shape }.len().max(1);
    // Halves of a stretch.
    let channels = (STRETCH / 2).div_ceil(u32::try_from(elements).unwrap_or(u32::MAX));
    let distance = place.channel_stride.saturating_mul(channels);
    let lots = into.chunks_mut(elements.saturating_mul(channels as usize)).zip(0_u32..);
    pool.together(len, lots, |(into, lot)| {
        let base = place.base.saturating_add(distance.saturating_mul(lot));
        let channels = u32::try_from(into.len().div_ceil(elements)).unwrap_or(0);
        read_rows(sram.bytes(), ChipPlace { base, ..place }, Shape { channels, ..shape }, into);
    });
}

fn read_rows(bytes: &[u8], place: ChipPlace, shape: Shape, into: &mut [u16]) {
    let shape = merged(place, shape, row_bytes(place, shape));
    let width = shape.width as usize;
    for (at, row) in rows(place, shape).zip(into.chunks_exact_mut(width.max(1))) {
        let Some(bytes) = bytes.get(at as usize..) else { continue };
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
    if is_near(unknown, place, shape) {
        let shape = merged(place, shape, row_bytes(place, shape));
        near_rows(place, shape).for_each(|rows| unknown.clear_rows(rows));
    }
}

/// Writes a tensor, which the plan has seen to lie in the buffer. Several threads write a large one.
pub(super) fn write(sram: &mut Sram, place: ChipPlace, shape: Shape, from: &[u16], pool: &mut Pool) {
    let bytes = sram.bytes_mut().get_mut(place.base as usize..).unwrap_or_default();
    let (place, shape) = in_channels(ChipPlace { base: 0, ..place }, shape);
    let len = size_of_val(from);
    if len < LARGE {
        return write_rows(bytes, place, shape, from);
    }
    let row = row_bytes(place, shape);
    let (channels, rows) = ((shape.channels, place.channel_stride), (shape.height, place.row_stride));
    if is_apart(row, rows, channels.1) {
        let many = in_stretch(channels.1);
        let elements = Shape { channels: many, ..shape }.len().max(1);
        let lots = bytes.chunks_mut(distance(channels.1, many)).zip(from.chunks(elements));
        pool.together(len, lots, |(bytes, from)| {
            let channels = u32::try_from(from.len())
                .unwrap_or(0)
                .div_ceil(shape.height.saturating_mul(shape.width).max(1));
            write_rows(bytes, place, Shape { channels, ..shape }, from);
        });
    } else if is_apart(row, channels, rows.1) {
        // As many rows as there are, for each channel's to lie side by side where they come from.
        let lots = u32::try_from(pool.threads().get()).unwrap_or(1).saturating_mul(2);
        let many = in_stretch(rows.1).max(shape.height.div_ceil(lots));
        let lots = bytes.chunks_mut(distance(rows.1, many)).zip((0..shape.height).step_by(many as usize));
        pool.together(len, lots, |(bytes, first)| {
            let rows = first..shape.height.min(first.saturating_add(many));
            write_some_rows(bytes, place, (shape, rows), from);
        });
    } else {
        write_rows(bytes, place, shape, from);
    }
}

/// True if so many rows, so far apart, do not overlap, and end before the next ones begin.
const fn is_apart(row: u32, (count, stride): (u32, u32), next: u32) -> bool {
    let last = stride.saturating_mul(count.saturating_sub(1));
    (count == 1 || row <= stride) && last.saturating_add(row) <= next
}

/// How many that are so far apart are a stretch.
fn in_stretch(stride: u32) -> u32 {
    STRETCH.checked_div(stride).unwrap_or(0).max(1)
}

const fn distance(stride: u32, many: u32) -> usize {
    (stride as usize).saturating_mul(many as usize)
}

/// Writes some rows of each channel, where the first of them begins with the first byte.
fn write_some_rows(bytes: &mut [u8], place: ChipPlace, (shape, rows): (Shape, Range<u32>), from: &[u16]) {
    let width = shape.width as usize;
    for channel in 0..shape.channels {
        let first = place.channel_stride.saturating_mul(channel) as usize;
        let line = channel.saturating_mul(shape.height).saturating_add(rows.start) as usize;
        let from = from.get(line.saturating_mul(width)..).unwrap_or_default().chunks_exact(width.max(1));
        let bases = (first..).step_by(place.row_stride.max(1) as usize);
        for ((_, at), row) in rows.clone().zip(bases).zip(from) {
            write_row(bytes.get_mut(at..).unwrap_or_default(), place.element, row);
        }
    }
}

fn write_rows(bytes: &mut [u8], place: ChipPlace, shape: Shape, from: &[u16]) {
    let shape = merged(place, shape, row_bytes(place, shape));
    let width = shape.width as usize;
    for (at, row) in rows(place, shape).zip(from.chunks_exact(width.max(1))) {
        write_row(bytes.get_mut(at as usize..).unwrap_or_default(), place.element, row);
    }
}

fn write_row(bytes: &mut [u8], element: Element, row: &[u16]) {
    if element != Element::Half {
        bytes.iter_mut().zip(row).for_each(|(to, from)| *to = element.byte(*from));
    } else if cfg!(target_endian = "little") {
        copy::row(row.as_bytes(), bytes);
    } else {
        let (pairs, _) = bytes.as_chunks_mut::<2>();
        pairs.iter_mut().zip(row).for_each(|(to, from)| *to = from.to_le_bytes());
    }
}

/// The same bytes as channels that can be shared out: one row is as many channels of an element.
fn in_channels(place: ChipPlace, shape: Shape) -> (ChipPlace, Shape) {
    match merged(place, shape, row_bytes(place, shape)) {
        Shape { channels: 1, height: 1, width } => (
            ChipPlace { channel_stride: place.element.bytes(), ..place },
            Shape { channels: width, height: 1, width: 1 },
        ),
        shape => (place, shape),
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
        read(&sram, PLACE, SHAPE, &mut back, &mut pool(1));
        assert_eq!(back, tensor);
        assert_eq!(sram.bytes()[0x40..0x4c], [0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 0xee, 0xee]);
        assert_eq!(sram.bytes()[0x140..0x142], [5, 0]);
    }

    #[test]
    fn large_tensor_is_written_and_read_as_by_one_thread() {
        let halves: Vec<u16> = (0..1 << 19).map(|at: u32| (at * 31 + at / 77) as u16).collect();
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
            // Rows lie further apart than channels.
            (place(0x10, 0x3c40, Element::Half), shape(960, 7, 7)),
            (place(0xe0, 0x1c00, Element::Half), shape(32, 112, 112)),
            (place(0x40, 0x1000, Element::Signed), shape(60, 100, 51)),
            (place(0xe0, 0xe2, Element::Half), shape(3, 400, 112)),
        ] {
            let from = &halves[..shape.len()];
            let (mut together, mut alone) = (Sram::tile_l2(), Sram::tile_l2());
            write(&mut together, place, shape, from, &mut pool(2));
            write_rows(&mut alone.bytes_mut()[0x40..], ChipPlace { base: 0, ..place }, shape, from);
            assert!(together.bytes() == alone.bytes(), "{place:?} {shape:?}");
            let (mut back, mut by_one) = (vec![1; shape.len()], vec![2; shape.len()]);
            read(&together, place, shape, &mut back, &mut pool(2));
            read_rows(alone.bytes(), place, shape, &mut by_one);
            assert!(back == by_one, "{place:?} {shape:?}");
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
        read(&sram, place, SHAPE, &mut back, &mut pool(1));
        assert_eq!(back, [0x3c00; 30]);
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
