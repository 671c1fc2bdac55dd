//! Transposition: channels and columns of a result change places on its way out.
//!
//! It goes by blocks of eight by eight, and these by tiles of a cache line either way. Eight lines of what comes out are put
//! together beside it, and each is then written whole, whatever power of two they lie apart.

use super::cancel::{Pace, Watch};
use super::kernels::turn::{BLOCK, turned};
use super::plan::operand::Shape;

/// Rows and columns of a tile: the elements of a cache line.
const TILE: usize = 32;

/// Puts channels and columns in each other's place; `shape` is that of `from`.
pub fn transpose(from: &[u16], shape: Shape, into: &mut Vec<u16>) {
    into.resize(from.len(), 0);
    transpose_under(&Watch::idle(), from, shape, into);
}

/// The same for a pass that may be called off, into as much room; what is in place then is worth nothing.
pub fn transpose_under(watch: &Watch<'_>, from: &[u16], shape: Shape, into: &mut [u16]) {
    let [channels, height, width] = [shape.channels, shape.height, shape.width].map(|extent| extent as usize);
    let in_place = |pitch: usize, row: usize, y: usize, len: usize, column: usize| {
        row.saturating_mul(pitch).saturating_add(y.saturating_mul(len)).saturating_add(column)
    };
    // Element (c, y, x) of `from`, and element (x, y, c) of `into`.
    let (from_pitch, into_pitch) = (height.saturating_mul(width), height.saturating_mul(channels));
    let source = |c, y, x| in_place(from_pitch, c, y, width, x);
    let target = |c, y, x| in_place(into_pitch, x, y, channels, c);
    let mut pace = Pace::new(watch);
    for y in 0..height {
        for c in (0..channels).step_by(TILE) {
            for x in (0..width).step_by(TILE) {
                if pace.spend(TILE * TILE) {
                    return;
                }
                let from = from.get(source(c, y, x)..).unwrap_or_default();
                let into = into.get_mut(target(c, y, x)..).unwrap_or_default();
                let extents =
                    [channels.saturating_sub(c), width.saturating_sub(x)].map(|left| left.min(TILE));
                tile(extents, (from, from_pitch), (into, into_pitch));
            }
        }
    }
}

/// Turns a tile: so many rows of so many columns.
fn tile(
    [rows, columns]: [usize; 2],
    (from, from_pitch): (&[u16], usize),
    (into, into_pitch): (&mut [u16], usize),
) {
    for x in (0..columns).step_by(BLOCK) {
        let lines = lines(rows.div_ceil(BLOCK), from.get(x..).unwrap_or_default(), from_pitch);
        let into = into.get_mut(x.saturating_mul(into_pitch)..).unwrap_or_default();
        let places = into.chunks_mut(into_pitch).take(columns.saturating_sub(x));
        for (line, place) in lines.iter().zip(places) {
            match place.first_chunk_mut() {
                Some(place) if rows == TILE => *place = *line,
                _ => place.iter_mut().zip(line).take(rows).for_each(|(to, from)| *to = *from),
            }
        }
    }
}

/// Eight columns of so many blocks, as lines. Values without an element are unspecified.
fn lines(blocks: usize, from: &[u16], pitch: usize) -> [[u16; TILE]; BLOCK] {
    let mut lines = [[0; TILE]; BLOCK];
    let mut rows = from.chunks(pitch);
    for at in 0..blocks {
        let mut block = [[0; BLOCK]; BLOCK];
        for (row, from) in block.iter_mut().zip(rows.by_ref()) {
            match from.first_chunk() {
                Some(from) => *row = *from,
                None => row.iter_mut().zip(from).for_each(|(to, from)| *to = *from),
            }
        }
        for (line, row) in lines.iter_mut().zip(turned(block)) {
            if let Some(place) = line.as_chunks_mut().0.get_mut(at) {
                *place = row;
            }
        }
    }
    lines
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
        let mut into = vec![0; shape.len()];
        let flag = AtomicBool::new(true);
        let watch = Watch::new(&flag, QueueId::LINUX);
        transpose_under(&watch, &from, shape, &mut into);
        assert!(into.iter().filter(|&&element| element == 1).count() <= STRIDE);
        assert!(watch.is_over());
    }
}
