//! Transposition: channels and columns of a result change places on its way out.
//!
//! Eight channels of eight columns are turned at a time, in registers: to interleave row `i` with row `i + 4` moves one bit
//! of an element's row number into its column number, and after three times rows are columns. What is left at the edges
//! goes one by one.

use crate::engine::plan::operand::Shape;

/// Rows and columns of a block.
const BLOCK: usize = 8;

type Block = [[u16; BLOCK]; BLOCK];

/// Puts channels and columns in each other's place; `shape` is that of `from`.
pub(super) fn transpose(from: &[u16], shape: Shape, into: &mut Vec<u16>) {
    let [channels, height, width] = [shape.channels, shape.height, shape.width].map(|extent| extent as usize);
    into.resize(from.len(), 0);
    let in_place = |pitch: usize, row: usize, y: usize, len: usize, column: usize| {
        row.saturating_mul(pitch).saturating_add(y.saturating_mul(len)).saturating_add(column)
    };
    // Element (c, y, x) of `from`, and element (x, y, c) of `into`.
    let (from_pitch, into_pitch) = (height.saturating_mul(width), height.saturating_mul(channels));
    let source = |c, y, x| in_place(from_pitch, c, y, width, x);
    let target = |c, y, x| in_place(into_pitch, x, y, channels, c);
    for y in 0..height {
        for c in (0..channels).step_by(BLOCK) {
            for x in (0..width).step_by(BLOCK) {
                let rows = channels.saturating_sub(c).min(BLOCK);
                let columns = width.saturating_sub(x).min(BLOCK);
                if rows == BLOCK && columns == BLOCK {
                    let block = load(from, source(c, y, x), from_pitch);
                    store(into, target(c, y, x), into_pitch, turned(block));
                    continue;
                }
                for c in c..c.saturating_add(rows) {
                    for x in x..x.saturating_add(columns) {
                        if let (Some(to), Some(element)) =
                            (into.get_mut(target(c, y, x)), from.get(source(c, y, x)))
                        {
                            *to = *element;
                        }
                    }
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
    use super::*;

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
        for [channels, height, width] in
            [[3, 2, 4], [8, 1, 8], [16, 3, 24], [19, 2, 37], [512, 1, 64], [1, 5, 9]]
        {
            let shape = Shape { channels, height, width };
            let from: Vec<u16> = (0..channels * height * width).map(|n| n as u16).collect();
            let (mut into, mut back) = (Vec::new(), Vec::new());
            transpose(&from, shape, &mut into);
            assert!(is_transposed(shape, &from, &into), "{shape:?}");
            transpose(&into, shape.transposed(), &mut back);
            assert_eq!(back, from);
        }
    }
}
