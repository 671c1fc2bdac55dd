//! Where the elements of a tensor lie in memory, in the pieces in which they are moved.
//!
//! Rows that lie in packed order at one distance are a bundle. A tensor that is not interleaved has as few bundles as its
//! strides allow, all alike. In an interleaved tensor each row of each block is a bundle. A bundle may have all of 128 MiB,
//! or millions of rows, and so it is moved in parts: a transfer can stop between two parts, and go on later from the number
//! of the next piece.

use std::ops::Range;

use ane_uapi::hw::space::BadRange;

use crate::dart::Rows;
use crate::engine::plan::operand::{MemoryPlace, Shape};

/// Rows that are moved together at most.
const ROWS: u32 = 1 << 16;

/// Steps that are moved together at most, but for a single row of several.
const STEPS: u32 = 1 << 18;

/// Bytes that count as a step.
const STEP_BYTES: u32 = 16;

/// Rows of one tensor that follow each other in packed order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bundle {
    pub(super) base: u64,
    pub(super) len: u32,
    pub(super) stride: u32,
    pub(super) count: u32,
    /// Bytes of an element.
    pub(super) element: u32,
}

impl Bundle {
    /// Its rows, if they lie in what can be addressed.
    pub(super) fn rows(self) -> Result<Rows, BadRange> {
        Rows::new(self.base, self.len, self.stride, self.count)
    }

    /// Steps of a row: each, and what it moves.
    const fn row_steps(self) -> u32 {
        (self.len / STEP_BYTES).saturating_add(1)
    }

    /// Steps that moving it counts for: a transfer, and its rows.
    pub(super) const fn steps(self) -> usize {
        (self.row_steps() as usize).saturating_mul(self.count as usize).saturating_add(16)
    }

    pub(super) fn elements(self) -> usize {
        (self.len.checked_div(self.element).unwrap_or(0) as usize).saturating_mul(self.count as usize)
    }

    /// The unit of a move: bytes if there is a single row, rows if there are several.
    fn together(self) -> u32 {
        if self.count == 1 {
            STEPS.saturating_mul(STEP_BYTES)
        } else {
            STEPS.checked_div(self.row_steps()).unwrap_or(1).clamp(1, ROWS)
        }
    }

    /// How many like it can be moved together.
    fn with_others(self) -> u32 {
        let steps = u32::try_from(self.steps()).unwrap_or(u32::MAX);
        let by_steps = STEPS.checked_div(steps).unwrap_or(1);
        by_steps.min(ROWS.checked_div(self.count).unwrap_or(1)).max(1)
    }

    fn parts(self) -> u32 {
        let all = if self.count == 1 { self.len } else { self.count };
        all.div_ceil(self.together()).max(1)
    }

    fn part(self, index: u32) -> Self {
        let Self { base, len, stride, count, .. } = self;
        let together = self.together();
        let first = together.saturating_mul(index);
        if count == 1 {
            let len = len.saturating_sub(first).min(together);
            return Self { base: base.saturating_add(first.into()), len, ..self };
        }
        let before = u64::from(stride).saturating_mul(first.into());
        Self { base: base.saturating_add(before), count: count.saturating_sub(first).min(together), ..self }
    }
}

/// Bundles that are moved together: one, or several small ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) first: Bundle,
    pub(super) count: u32,
    stride: u32,
    /// The elements of all in the packed tensor.
    pub(super) elements: Range<usize>,
}

impl Piece {
    pub(super) fn bundles(&self) -> impl Iterator<Item = Bundle> {
        let Self { first, stride, .. } = *self;
        (0..self.count).map(move |index| {
            let before = u64::from(stride).saturating_mul(index.into());
            Bundle { base: first.base.saturating_add(before), ..first }
        })
    }

    /// Steps that moving it counts for.
    pub(super) const fn steps(&self) -> usize {
        self.first.steps().saturating_mul(self.count as usize)
    }
}

/// The rows of a tensor that is not interleaved, in as few bundles as its strides allow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bundles {
    first: Bundle,
    count: u32,
    /// From one to the next.
    stride: u32,
    /// How many are one piece; one where each has several parts.
    together: u32,
    parts: u32,
}

impl Bundles {
    pub(super) fn new(place: &MemoryPlace, base: u64, shape: Shape) -> Self {
        let MemoryPlace { row_stride, plane_stride, .. } = *place;
        let Shape { channels, height, width } = shape;
        let element = place.element.bytes();
        let len = width.saturating_mul(element);
        let rows_meet = u64::from(plane_stride) == u64::from(row_stride).saturating_mul(height.into());
        // One stride leads through all rows, or each channel has rows of its own.
        let (bundles, count, stride) = if height == 1 {
            (1, channels, plane_stride)
        } else if channels == 1 || rows_meet {
            (1, channels.saturating_mul(height), row_stride)
        } else {
            (channels, height, row_stride)
        };
        let first = if stride == len {
            Bundle { base, len: len.saturating_mul(count), stride: 0, count: 1, element }
        } else {
            Bundle { base, len, stride, count, element }
        };
        let parts = first.parts();
        let together = if parts == 1 { first.with_others() } else { 1 };
        Self { first, count: bundles, stride: plane_stride, together, parts }
    }

    pub(super) const fn pieces(&self) -> u32 {
        self.count.div_ceil(self.together).saturating_mul(self.parts)
    }

    /// The first bundle of a piece, and its part.
    fn place(&self, piece: u32) -> (u32, u32) {
        let before = piece.checked_div(self.parts).unwrap_or_default();
        let part = piece.saturating_sub(before.saturating_mul(self.parts));
        (before.saturating_mul(self.together), part)
    }

    fn bundle(&self, index: u32) -> Bundle {
        let before = u64::from(self.stride).saturating_mul(index.into());
        Bundle { base: self.first.base.saturating_add(before), ..self.first }
    }

    /// The addresses that a piece moves, and its elements in the packed tensor.
    pub(super) fn piece(&self, index: u32) -> Piece {
        let (bundle, part) = self.place(index);
        let before = self.first.elements().saturating_mul(bundle as usize);
        let inside = self.first.part(0).elements().saturating_mul(part as usize);
        let first = self.bundle(bundle).part(part);
        let count = self.count.saturating_sub(bundle).min(self.together);
        let start = before.saturating_add(inside);
        let end = start.saturating_add(first.elements().saturating_mul(count as usize));
        Piece { first, count, stride: self.stride, elements: start..end }
    }

    /// The bundle of which a piece is the first of several.
    pub(super) fn begun_by(&self, piece: u32) -> Option<Bundle> {
        let (bundle, part) = self.place(piece);
        (self.parts > 1 && part == 0).then(|| self.bundle(bundle))
    }
}

/// The rows of an interleaved tensor: each holds all columns of up to `I` channels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocks {
    place: MemoryPlace,
    base: u64,
    shape: Shape,
}

impl Blocks {
    pub(super) const fn new(place: &MemoryPlace, base: u64, shape: Shape) -> Self {
        Self { place: *place, base, shape }
    }

    pub(super) fn rows(&self) -> u32 {
        self.shape.channels.div_ceil(self.place.interleave.max(1)).saturating_mul(self.shape.height)
    }

    pub(super) fn row(&self, index: u32) -> InterleavedRow {
        let MemoryPlace { row_stride, plane_stride, interleave, .. } = self.place;
        let Shape { channels, height, width } = self.shape;
        let block = index.checked_div(height).unwrap_or_default();
        let y = index.saturating_sub(block.saturating_mul(height));
        let first = block.saturating_mul(interleave);
        let before = |stride: u32, count: u32| u64::from(stride).saturating_mul(count.into());
        let base = self.base.saturating_add(before(plane_stride, block));
        InterleavedRow {
            base: base.saturating_add(before(row_stride, y)),
            first,
            y,
            channels: channels.saturating_sub(first).min(interleave),
            interleave,
            width,
        }
    }
}

/// Bytes of an element of an interleaved tensor, which is a half.
const HALF: u32 = 2;

/// A row of up to `I` channels of an interleaved tensor.
#[derive(Clone, Copy, Debug)]
pub(super) struct InterleavedRow {
    base: u64,
    first: u32,
    y: u32,
    pub(super) channels: u32,
    pub(super) interleave: u32,
    pub(super) width: u32,
}

impl InterleavedRow {
    /// Every column, as far as its last element.
    pub(super) fn whole(&self) -> Bundle {
        let last = self.width.saturating_sub(1).saturating_mul(self.interleave);
        let len = last.saturating_add(self.channels).saturating_mul(HALF);
        Bundle { base: self.base, len, stride: 0, count: 1, element: HALF }
    }

    /// The elements, column by column.
    pub(super) fn columns(&self) -> Bundle {
        if self.channels == self.interleave {
            return self.whole();
        }
        let stride = self.interleave.saturating_mul(HALF);
        let len = self.channels.saturating_mul(HALF);
        Bundle { base: self.base, len, stride, count: self.width, element: HALF }
    }

    /// Where one of its channels is in the packed tensor.
    pub(super) fn packed(&self, shape: Shape, channel: u32) -> Range<usize> {
        let channel = self.first.saturating_add(channel) as usize;
        let row = channel.saturating_mul(shape.height as usize).saturating_add(self.y as usize);
        let start = row.saturating_mul(shape.width as usize);
        start..start.saturating_add(shape.width as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(row_stride: u32, plane_stride: u32, interleave: u32) -> MemoryPlace {
        MemoryPlace { row_stride, plane_stride, interleave, ..MemoryPlace::default() }
    }

    const fn shape(channels: u32, height: u32, width: u32) -> Shape {
        Shape { channels, height, width }
    }

    fn bundles(place: &MemoryPlace, shape: Shape) -> Bundles {
        Bundles::new(place, 0x4000, shape)
    }

    /// Every bundle of every piece, with its elements.
    fn all(bundles: Bundles) -> Vec<(Bundle, Range<usize>)> {
        let pieces = (0..bundles.pieces()).map(|piece| bundles.piece(piece));
        let each = |piece: Piece| {
            let starts = piece.elements.clone().step_by(piece.first.elements());
            assert_eq!(starts.len(), piece.count as usize);
            let bundles: Vec<_> = piece.bundles().zip(starts).collect();
            bundles.into_iter().map(|(bundle, start)| (bundle, start..start + bundle.elements()))
        };
        pieces.flat_map(each).collect()
    }

    #[test]
    fn tensor_without_gaps_is_one_stretch() {
        let bundle = Bundle { base: 0x4000, len: 3 * 4 * 64, stride: 0, count: 1, element: 2 };
        assert_eq!(all(bundles(&place(64, 256, 1), shape(3, 4, 32))), [(bundle, 0..3 * 4 * 32)]);
    }

    #[test]
    fn planes_that_meet_are_one_bundle_of_rows() {
        let bundle = Bundle { base: 0x4000, len: 14, stride: 64, count: 12, element: 2 };
        assert_eq!(all(bundles(&place(64, 256, 1), shape(3, 4, 7))), [(bundle, 0..84)]);
    }

    #[test]
    fn single_rows_go_from_plane_to_plane() {
        let bundle = Bundle { base: 0x4000, len: 2, stride: 64, count: 512, element: 2 };
        assert_eq!(all(bundles(&place(4096, 64, 1), shape(512, 1, 1))), [(bundle, 0..512)]);
    }

    #[test]
    fn planes_that_do_not_meet_are_a_bundle_each() {
        let pieces = all(bundles(&place(64, 320, 1), shape(2, 4, 7)));
        let places: Vec<_> = pieces.into_iter().map(|(bundle, at)| (bundle.base, at)).collect();
        assert_eq!(places, [(0x4000, 0..28), (0x4140, 28..56)]);
    }

    #[test]
    fn small_planes_are_moved_together_and_large_ones_each_for_itself() {
        let pieces = |place, shape| {
            let bundles = bundles(&place, shape);
            let counts = (0..bundles.pieces()).map(|piece| bundles.piece(piece).count);
            counts.collect::<Vec<_>>()
        };
        assert_eq!(pieces(place(64, 320, 1), shape(2, 4, 7)), [2]);
        // 16 steps, and 31 rows of two.
        let together = STEPS / (16 + 31 * 2);
        let planes = place(64, 4096, 1);
        assert!(together * 31 > ROWS);
        assert_eq!(pieces(planes, shape(ROWS / 31 + 3, 31, 14)), [ROWS / 31, 3]);
        assert_eq!(pieces(place(1 << 11, 1 << 23, 1), shape(5, 1000, 1024)), [2, 2, 1]);
        assert_eq!(pieces(place(1 << 11, 1 << 24, 1), shape(3, 4000, 1024)), [1; 6]);
    }

    #[test]
    fn parts_of_a_bundle_are_its_rows_in_their_order() {
        let bundles = bundles(&place(4096, 64, 1), shape(2 * ROWS + 5, 1, 1));
        let pieces = all(bundles);
        let counts: Vec<_> = pieces.iter().map(|(bundle, _)| bundle.count).collect();
        assert_eq!(counts, [ROWS, ROWS, 5]);
        let third =
            Bundle { base: 0x4000 + 2 * 64 * u64::from(ROWS), len: 2, stride: 64, count: 5, element: 2 };
        assert_eq!(pieces[2], (third, 2 * ROWS as usize..2 * ROWS as usize + 5));
        assert_eq!(
            [0, 1, 2].map(|piece| bundles.begun_by(piece).map(|whole| whole.count)),
            [Some(2 * ROWS + 5), None, None]
        );
    }

    #[test]
    fn parts_of_planes_cover_every_element_once_and_none_is_long() {
        // Stretches of eleven megabytes, and rows of a kilobyte, each in planes that do not meet.
        for (place, shape) in [
            (place(2 << 10, 20 << 20, 1), shape(3, 5600, 1024)),
            (place(4 << 10, 20 << 20, 1), shape(3, 1100, 512)),
        ] {
            let mut next = 0;
            for (bundle, at) in all(bundles(&place, shape)) {
                assert_eq!(at.start, next);
                assert!(bundle.steps() <= STEPS as usize + 32, "{bundle:?}");
                let plane = next / (shape.len() / 3);
                let inside = next % (shape.len() / 3);
                let row = inside / shape.width as usize * place.row_stride as usize;
                let at_base = 0x4000 + plane * place.plane_stride as usize + row;
                assert_eq!(bundle.base, (at_base + inside % shape.width as usize * 2) as u64);
                next = at.end;
            }
            assert_eq!(next, shape.len());
        }
    }

    #[test]
    fn last_block_of_an_interleaved_tensor_leaves_gaps_where_it_has_no_channels() {
        let shape = shape(6, 2, 5);
        let blocks = Blocks::new(&place(128, 256, 4), 0, shape);
        assert_eq!(blocks.rows(), 4);
        let whole = Bundle { base: 128, len: 40, stride: 0, count: 1, element: 2 };
        assert_eq!(blocks.row(1).columns(), whole);
        assert_eq!(blocks.row(3).columns(), Bundle { base: 384, len: 4, stride: 8, count: 5, element: 2 });
        assert_eq!(blocks.row(3).whole(), Bundle { base: 384, len: 36, stride: 0, count: 1, element: 2 });
        assert_eq!(blocks.row(3).packed(shape, 1), 55..60);
    }
}
