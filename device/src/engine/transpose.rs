//! Transposition: channels and columns of a result change places on its way out.
//!
//! Eight channels of eight columns are turned at a time, in registers: to interleave row `i` with row `i + 4` moves one bit
//! of an element's row number into its column number, and after three times rows are columns. Blocks are walked over in
//! tiles of whole cache lines either way. A line is written while it is near, and few are under way at a time, whatever
//! power of two they lie apart. What is left at the edges goes one by one.

use super::cancel::{Pace, Watch};
use super::plan::operand::Shape;

/// Rows and columns of a block.
const BLOCK: usize = 8;
/// Rows and columns of a tile: the elements of a cache line.
const TILE: usize = 32;

type Block = [[u16; BLOCK]; BLOCK];

/// Puts channels and columns in each other's place; `shape` is that of `from`.
pub fn transpose(from: &[u16], shape: Shape, into: &mut Vec<u16>) {
    transpose_under(&Watch::idle(), from, shape, into);
}

/// The same for a pass that may be called off; what is in place then is worth nothing.
pub fn transpose_under(watch: &Watch<'_>, from: &[u16], shape: Shape, into: &mut Vec<u16>) {
    into.resize(from.len(), 0);
    let turn = Turn::new(shape);
    let mut pace = Pace::new(watch);
    for y in 0..turn.height {
        for c in (0..turn.channels).step_by(TILE) {
            for x in (0..turn.width).step_by(TILE) {
                if pace.spend(TILE * TILE) {
                    return;
                }
                turn.tile([c, y, x], from, into);
            }
        }
    }
}

/// Where elements come from and where they go.
struct Turn {
    channels: usize,
    height: usize,
    width: usize,
}

impl Turn {
    fn new(shape: Shape) -> Self {
        let [channels, height, width] =
            [shape.channels, shape.height, shape.width].map(|extent| extent as usize);
        Self { channels, height, width }
    }

    /// From one channel of the source to the next.
    const fn source_pitch(&self) -> usize {
        self.height.saturating_mul(self.width)
    }

    /// From one channel of what becomes of it to the next.
    const fn target_pitch(&self) -> usize {
        self.height.saturating_mul(self.channels)
    }

    /// The place of an element in the source.
    fn source(&self, [c, y, x]: [usize; 3]) -> usize {
        c.saturating_mul(self.source_pitch()).saturating_add(y.saturating_mul(self.width)).saturating_add(x)
    }

    /// Its place in what becomes of it.
    fn target(&self, [c, y, x]: [usize; 3]) -> usize {
        x.saturating_mul(self.target_pitch())
            .saturating_add(y.saturating_mul(self.channels))
            .saturating_add(c)
    }

    /// A tile, eight lines of the target after the other.
    fn tile(&self, [first, y, start]: [usize; 3], from: &[u16], into: &mut [u16]) {
        let channels = first..self.channels.min(first.saturating_add(TILE));
        let columns = start..self.width.min(start.saturating_add(TILE));
        for x in columns.step_by(BLOCK) {
            for c in channels.clone().step_by(BLOCK) {
                self.block([c, y, x], from, into);
            }
        }
    }

    fn block(&self, at: [usize; 3], from: &[u16], into: &mut [u16]) {
        let [first, y, start] = at;
        let channels = first..self.channels.min(first.saturating_add(BLOCK));
        let columns = start..self.width.min(start.saturating_add(BLOCK));
        if [channels.len(), columns.len()] == [BLOCK; 2] {
            let block = load(from, self.source(at), self.source_pitch());
            store(into, self.target(at), self.target_pitch(), turned(block));
            return;
        }
        for c in channels {
            for x in columns.clone() {
                let place = into.get_mut(self.target([c, y, x]));
                if let (Some(to), Some(element)) = (place, from.get(self.source([c, y, x]))) {
                    *to = *element;
                }
            }
        }
    }
}

/// The eight elements from `start` on, and those of the rows behind.
#[inline]
fn load(from: &[u16], start: usize, pitch: usize) -> Block {
    let row =
        |row: usize| from.get(start.saturating_add(row.saturating_mul(pitch))..)?.first_chunk().copied();
    std::array::from_fn(|index| row(index).unwrap_or_default())
}

#[inline]
fn store(into: &mut [u16], start: usize, pitch: usize, block: Block) {
    for (index, row) in block.iter().enumerate() {
        let rest = into.get_mut(start.saturating_add(index.saturating_mul(pitch))..).unwrap_or_default();
        if let Some(place) = rest.first_chunk_mut() {
            *place = *row;
        }
    }
}

/// Rows become columns.
#[inline]
fn turned(block: Block) -> Block {
    interleaved(interleaved(interleaved(block)))
}

/// Row `i` and row `i + 4`, element by element, in two rows.
#[inline]
fn interleaved([a, b, c, d, e, f, g, h]: Block) -> Block {
    let ([a, b], [c, d], [e, f], [g, h]) = (zipped(a, e), zipped(b, f), zipped(c, g), zipped(d, h));
    [a, b, c, d, e, f, g, h]
}

#[inline]
const fn zipped(a: [u16; BLOCK], b: [u16; BLOCK]) -> [[u16; BLOCK]; 2] {
    let ([a0, a1, a2, a3, a4, a5, a6, a7], [b0, b1, b2, b3, b4, b5, b6, b7]) = (a, b);
    [[a0, b0, a1, b1, a2, b2, a3, b3], [a4, b4, a5, b5, a6, b6, a7, b7]]
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use ane_uapi::hw::tq::QueueId;

    use super::*;
    use crate::engine::cancel::STRIDE;

    fn is_transposed(shape: Shape, from: &[u16], into: &[u16]) -> bool {
        let [channels, height, width] =
            [shape.channels, shape.height, shape.width].map(|extent| extent as usize);
        let all =
            (0..channels).flat_map(|c| (0..height).flat_map(move |y| (0..width).map(move |x| (c, y, x))));
        all.into_iter()
            .all(|(c, y, x)| into[(x * height + y) * channels + c] == from[(c * height + y) * width + x])
    }

    #[test]
    fn transposed_element_lies_where_channel_and_column_have_changed_places() {
        for [channels, height, width] in [
            [3, 2, 4],
            [8, 1, 8],
            [16, 3, 24],
            [19, 2, 37],
            [40, 1, 33],
            [71, 3, 65],
            [512, 1, 64],
            [1, 5, 9],
        ] {
            let shape = Shape { channels, height, width };
            let from: Vec<u16> = (0..channels * height * width).map(|n| n as u16).collect();
            let (mut into, mut back) = (Vec::new(), Vec::new());
            transpose(&from, shape, &mut into);
            assert!(is_transposed(shape, &from, &into), "{shape:?}");
            transpose(&into, shape.transposed(), &mut back);
            assert_eq!(back, from);
        }
    }

    #[test]
    fn transposition_that_is_called_off_ends_within_a_stride() {
        let shape = Shape { channels: 256, height: 3, width: 256 };
        let from = vec![1; shape.len()];
        let mut into = Vec::new();
        let flag = AtomicBool::new(true);
        let watch = Watch::new(&flag, QueueId::LINUX);
        transpose_under(&watch, &from, shape, &mut into);
        assert!(into.iter().filter(|&&element| element == 1).count() <= STRIDE);
        assert!(watch.is_over());
    }
}
