//! Tensors in the on-chip buffer, and which of its bytes are unknown.
//!
//! A streamed operand passes through a window that is smaller than itself, in an order of refills that nobody has
//! seen. What it leaves there is marked as unknown, and a task that would read such bytes is refused: a guess would
//! look like a result. Whatever is written to them makes them known again.

use super::plan::operand::{ChipPlace, Shape};
use crate::sram::{Sram, TILE_L2_BYTES};

/// Bytes that are marked together: the buffer's own granule.
const GRANULE: u32 = 16;

/// Granules of the buffer.
const GRANULES: u32 = (2 << 20) / GRANULE;

const _: () = assert!(GRANULES as usize * GRANULE as usize == TILE_L2_BYTES);

/// Granules of one word of the map.
const WORD: u32 = u64::BITS;

/// Words of the map.
const WORDS: usize = (GRANULES / WORD) as usize;

/// Which granules are unknown.
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
    /// Marks `len` bytes from `base`, as far as the buffer goes.
    pub(super) fn mark(&mut self, base: u32, len: u32) {
        if len == 0 {
            return;
        }
        self.any = true;
        self.change(base, len, |word, mask| *word |= mask);
    }

    fn clear(&mut self, base: u32, len: u32) {
        if self.any {
            self.change(base, len, |word, mask| *word &= !mask);
        }
    }

    fn change(&mut self, base: u32, len: u32, change: impl Fn(&mut u64, u64)) {
        for (index, mask) in masks(base, len) {
            if let Some(word) = self.map.get_mut(index) {
                change(word, mask);
            }
        }
    }

    fn touches(&self, base: u32, len: u32) -> bool {
        masks(base, len).any(|(index, mask)| self.map.get(index).is_some_and(|word| word & mask != 0))
    }
}

/// The words of the map that bytes belong to, each with the bits for them.
fn masks(base: u32, len: u32) -> impl Iterator<Item = (usize, u64)> {
    let first = base / GRANULE;
    let last = base.saturating_add(len.saturating_sub(1)) / GRANULE;
    let last = last.min(GRANULES - 1);
    (first / WORD..=last / WORD).map(move |word| {
        let start = word.saturating_mul(WORD);
        let low = first.saturating_sub(start);
        let high = last.saturating_sub(start).min(WORD - 1);
        let up_to = u64::MAX.checked_shr((WORD - 1).saturating_sub(high)).unwrap_or(0);
        (word as usize, up_to & u64::MAX.checked_shl(low).unwrap_or(0))
    })
}

/// The rows of a tensor: where each begins, in packed order.
fn rows(place: ChipPlace, shape: Shape) -> impl Iterator<Item = u32> {
    (0..shape.channels).flat_map(move |channel| {
        let base = place.base.saturating_add(place.channel_stride.saturating_mul(channel));
        (0..shape.height).map(move |y| base.saturating_add(place.row_stride.saturating_mul(y)))
    })
}

/// True if the tensor has unknown bytes.
pub(super) fn is_unknown(unknown: &Unknown, place: ChipPlace, shape: Shape) -> bool {
    unknown.any && rows(place, shape).any(|at| unknown.touches(at, shape.width.saturating_mul(2)))
}

/// Reads a tensor, which the plan has seen to lie in the buffer.
pub(super) fn read(sram: &Sram, place: ChipPlace, shape: Shape, into: &mut [u16]) {
    let width = shape.width as usize;
    for (at, row) in rows(place, shape).zip(into.chunks_exact_mut(width.max(1))) {
        let Some(bytes) = sram.bytes().get(at as usize..) else { continue };
        let (pairs, _) = bytes.as_chunks::<2>();
        row.iter_mut().zip(pairs).for_each(|(to, from)| *to = u16::from_le_bytes(*from));
    }
}

/// Writes a tensor, which the plan has seen to lie in the buffer.
pub(super) fn write(sram: &mut Sram, unknown: &mut Unknown, place: ChipPlace, shape: Shape, from: &[u16]) {
    let width = shape.width as usize;
    for (at, row) in rows(place, shape).zip(from.chunks_exact(width.max(1))) {
        unknown.clear(at, shape.width.saturating_mul(2));
        let Some(bytes) = sram.bytes_mut().get_mut(at as usize..) else { continue };
        let (pairs, _) = bytes.as_chunks_mut::<2>();
        pairs.iter_mut().zip(row).for_each(|(to, from)| *to = from.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: ChipPlace =
        ChipPlace { base: 0x40, channel_stride: 0x20, row_stride: 0x100, group_stride: 0 };
    const SHAPE: Shape = Shape { channels: 3, height: 2, width: 5 };

    #[test]
    fn tensor_is_read_as_it_was_written_and_gaps_keep_what_they_held() {
        let mut sram = Sram::tile_l2();
        sram.bytes_mut().fill(0xee);
        let tensor: Vec<u16> = (0..30).collect();
        write(&mut sram, &mut Unknown::default(), PLACE, SHAPE, &tensor);
        let mut back = vec![0; 30];
        read(&sram, PLACE, SHAPE, &mut back);
        assert_eq!(back, tensor);
        assert_eq!(sram.bytes()[0x40..0x4c], [0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 0xee, 0xee]);
        assert_eq!(sram.bytes()[0x140..0x142], [5, 0]);
    }

    #[test]
    fn bytes_are_unknown_until_something_is_written_to_them() {
        let mut unknown = Unknown::default();
        unknown.mark(0x60, 0x10);
        assert!(is_unknown(&unknown, PLACE, SHAPE));
        let elsewhere = ChipPlace { base: 0x70, channel_stride: 0x20, ..PLACE };
        assert!(!is_unknown(&unknown, elsewhere, Shape { channels: 1, height: 1, width: 8 }));
        write(&mut Sram::tile_l2(), &mut unknown, PLACE, SHAPE, &[0; 30]);
        assert!(!is_unknown(&unknown, PLACE, SHAPE));
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
}
