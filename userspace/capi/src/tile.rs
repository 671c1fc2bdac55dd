//! Tiling: from dense halves to the engine's rows and planes, and back.
//!
//! The engine reads planes of rows: each row begins at a multiple of the row's length in memory, 64 bytes or more, and
//! each channel has a plane. What lies between a row's end and the next row belongs to nobody; it is set to zero on the
//! way in, so that a buffer's bytes depend on the tensor only.

use crate::anec::Shape;

/// Copies a dense tensor to where the engine reads it. False, and nothing happens, if one of them is too short.
pub fn tile(dense: &[u8], memory: &mut [u8], shape: &Shape) -> bool {
    let Some((from, into)) = bytes(shape) else { return false };
    let (Some(dense), Some(memory)) = (dense.get(..from), memory.get_mut(..into)) else { return false };
    let row = shape.w * 2;
    if shape.row == SHORT && row < SHORT {
        tile_short(dense, memory, shape);
        return true;
    }
    let planes = dense.chunks_exact(row * shape.h).zip(memory.chunks_mut(shape.plane));
    if row == shape.row {
        for (dense, plane) in planes {
            put(dense, plane);
        }
    } else {
        for (dense, plane) in planes {
            for (dense, row) in dense.chunks_exact(row).zip(plane.chunks_mut(shape.row)) {
                put(dense, row);
            }
            // Behind the last row's gap.
            if let Some(gap) = plane.get_mut(shape.row * shape.h..) {
                gap.fill(0);
            }
        }
    }
    true
}

/// Copies what the engine wrote to a dense tensor. False, and nothing happens, if one of them is too short.
pub fn untile(memory: &[u8], dense: &mut [u8], shape: &Shape) -> bool {
    let Some((from, into)) = bytes(shape) else { return false };
    let (Some(dense), Some(memory)) = (dense.get_mut(..from), memory.get(..into)) else { return false };
    let row = shape.w * 2;
    if shape.row == SHORT && row < SHORT {
        untile_short(memory, dense, shape);
        return true;
    }
    let planes = dense.chunks_exact_mut(row * shape.h).zip(memory.chunks(shape.plane));
    if row == shape.row {
        for (dense, plane) in planes {
            get(plane, dense);
        }
    } else {
        for (dense, plane) in planes {
            for (dense, row) in dense.chunks_exact_mut(row).zip(plane.chunks(shape.row)) {
                get(row, dense);
            }
        }
    }
    true
}

/// The shortest rows: one cache line. A call to copy a few bytes of one takes longer than to copy all of it, so these
/// are copied whole, with what is behind them in the tensor.
const SHORT: usize = 64;

/// Tiles rows with a gap, of [`SHORT`] bytes in memory: what does not belong to a row is masked out.
fn tile_short(dense: &[u8], memory: &mut [u8], shape: &Shape) {
    let row = shape.w * 2;
    let mask = words(&std::array::from_fn(|at| if at < row { 0xff } else { 0 }));
    for (dense, plane) in planes(dense, shape).zip(memory.chunks_mut(shape.plane)) {
        let (rows, gap) = plane.split_at_mut(plane.len().min(SHORT * shape.h));
        let (whole, last) = rows.as_chunks_mut::<SHORT>();
        let mut done = 0;
        for (from, into) in dense.windows(SHORT).step_by(row).zip(&mut *whole) {
            let Some(from) = from.first_chunk() else { break };
            let from = words(from);
            let masked: [u64; SHORT / 8] = std::array::from_fn(|at| from[at] & mask[at]);
            for (into, word) in into.as_chunks_mut().0.iter_mut().zip(masked) {
                *into = word.to_ne_bytes();
            }
            done += 1;
        }
        let rest = dense.chunks(row).take(shape.h).skip(done);
        let room = whole.iter_mut().skip(done).map(<[u8; SHORT]>::as_mut_slice).chain([last]);
        rest.zip(room).for_each(|(from, into)| put(from, into));
        gap.fill(0);
    }
}

/// The other way: what comes with a row and does not belong to it is overwritten by the next one.
fn untile_short(memory: &[u8], dense: &mut [u8], shape: &Shape) {
    let row = shape.w * 2;
    let mut at = 0;
    for plane in memory.chunks(shape.plane) {
        for from in plane.chunks(SHORT).take(shape.h) {
            let into = dense.get_mut(at..).unwrap_or_default();
            match (from.first_chunk::<SHORT>(), into.first_chunk_mut::<SHORT>()) {
                (Some(from), Some(into)) => *into = *from,
                _ => get(from, into.get_mut(..row).unwrap_or_default()),
            }
            at += row;
        }
    }
}

/// The dense tensor from the first element of each plane on.
fn planes<'a>(dense: &'a [u8], shape: &Shape) -> impl Iterator<Item = &'a [u8]> {
    let bytes = shape.w * 2 * shape.h;
    (0..dense.len()).step_by(bytes).map(|at| dense.get(at..).unwrap_or_default())
}

/// Bytes of a row as words, which are masked faster.
fn words(bytes: &[u8; SHORT]) -> [u64; SHORT / 8] {
    let (words, _) = bytes.as_chunks();
    std::array::from_fn(|at| words.get(at).map_or(0, |word| u64::from_ne_bytes(*word)))
}

/// Bytes of the dense tensor and of the engine's memory.
fn bytes(shape: &Shape) -> Option<(usize, usize)> {
    let extent = shape.extent()?;
    let has_strides = shape.row > 0 && shape.plane > 0;
    shape.dense().filter(|_| has_strides).map(|dense| (dense, extent))
}

/// Copies to the front of `into` and clears the rest.
#[inline]
fn put(from: &[u8], into: &mut [u8]) {
    if let Some((front, gap)) = into.split_at_mut_checked(from.len()) {
        front.copy_from_slice(from);
        gap.fill(0);
    }
}

/// Copies from the front of `from`.
#[inline]
fn get(from: &[u8], into: &mut [u8]) {
    if let Some(front) = from.get(..into.len()) {
        into.copy_from_slice(front);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Element by element, as the layout is defined: offset n*C*P + c*P + h*R + 2*w.
    fn slow(dense: &[u8], shape: &Shape) -> Vec<u8> {
        let mut memory = vec![0; shape.extent().unwrap()];
        let mut elements = dense.chunks_exact(2);
        for plane in 0..shape.n * shape.c {
            for h in 0..shape.h {
                for w in 0..shape.w {
                    let at = plane * shape.plane + h * shape.row + w * 2;
                    memory[at..at + 2].copy_from_slice(elements.next().unwrap());
                }
            }
        }
        memory
    }

    proptest! {
        #[test]
        fn tiling_is_that_of_the_definition_and_comes_back(
            (n, c, h, w) in (1_usize..4, 1_usize..5, 1_usize..6, 1_usize..70),
            (gap, more) in (0_usize..3, 0_usize..200),
        ) {
            let row = (w * 2).next_multiple_of(64) + 64 * gap;
            let shape = Shape { n, c, h, w, plane: row * h + more, row };
            let dense: Vec<u8> = (0..shape.dense().unwrap()).map(|at| (at % 251) as u8 + 1).collect();
            let mut memory = vec![0xee; shape.extent().unwrap()];
            prop_assert!(tile(&dense, &mut memory, &shape));
            prop_assert_eq!(&memory, &slow(&dense, &shape));
            let mut back = vec![0; dense.len()];
            prop_assert!(untile(&memory, &mut back, &shape));
            prop_assert_eq!(back, dense);
        }
    }

    #[test]
    fn memory_that_is_too_short_is_left_alone() {
        let shape = Shape { n: 1, c: 2, h: 2, w: 3, plane: 0x80, row: 0x40 };
        let extent = shape.extent().unwrap();
        let mut memory = vec![9; extent - 1];
        assert!(!tile(&[1; 24], &mut memory, &shape));
        assert!(!tile(&[1; 23], &mut vec![9; extent], &shape));
        assert_eq!(memory, vec![9; extent - 1]);
        assert!(!untile(&memory, &mut [0; 24], &shape));
    }

    #[test]
    fn dense_memory_is_one_copy_with_a_row_of_any_length() {
        let shape = Shape { n: 2, c: 3, h: 1, w: 5, plane: 10, row: 10 };
        let dense: Vec<u8> = (0..60).collect();
        let mut memory = vec![0; 60];
        assert!(tile(&dense, &mut memory, &shape));
        assert_eq!(memory, dense);
    }
}
