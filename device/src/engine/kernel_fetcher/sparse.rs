//! Sparse coefficients: what kernels keep that are mostly zeros, and how they become whole again.
//!
//! A stride of two makes the hardware look at a kernel as four smaller ones, one for each phase, which are zero where they
//! reach over its edge. Rather than to store zeros, a slot says which coefficients are there: behind an optional row of
//! biases come three bytes with the length of a body, and in the body a mask byte for every eight positions, each followed by
//! the halves of those that are there (delta 5.4, which gives the order of positions too).
//!
//! `[biases] [length: 24 bits] { [mask] [half].. }..`

use crate::engine::plan::coefficients::{Kernel, Sparse};

/// Bytes of the length of a body.
const LENGTH: usize = 3;

/// Positions of a mask.
const MASK: usize = 8;

/// Lanes that are taken together; most planes have a multiple of them.
const QUAD: usize = 4;

/// The fault of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bad {
    /// It ends inside its biases or its length.
    Header,
    /// The body of the slot is longer than what the channel brings.
    Body,
    /// The masks name more coefficients than the body has.
    Short,
    /// Something is behind the last mask's halves.
    Long,
    /// A position has a coefficient that belongs to none.
    Nowhere,
    /// It was left empty, and another slot of its chunk was not.
    Empty,
}

impl Bad {
    /// The same in words.
    pub(super) const fn why(self) -> &'static str {
        match self {
            Self::Header => "channel ends inside the head of a sparse slot",
            Self::Body => "sparse slot is longer than what its channel brings",
            Self::Short => "masks of a sparse slot promise more than its body has",
            Self::Long => "body of a sparse slot has more than its masks promise",
            Self::Nowhere => "sparse slot has a coefficient outside of the kernel",
            Self::Empty => "chunk has sparse slots that are empty beside others that are not",
        }
    }
}

/// The most bytes of a slot of so many lanes.
pub(super) fn largest(kernel: &Kernel, layout: &Sparse, lanes: u32) -> u64 {
    let halves = u64::from(lanes).saturating_mul(u64::from(kernel.taps).saturating_add(1));
    layout.masks().saturating_add(halves.saturating_mul(2)).saturating_add(LENGTH as u64).saturating_add(64)
}

/// A slot that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found<'a> {
    /// The bias row of the slot; empty if it has none.
    pub(super) biases: &'a [u8],
    body: &'a [u8],
    /// Bytes of the whole slot.
    pub(super) len: u64,
}

impl<'a> Found<'a> {
    /// The slot at the beginning of `bytes`, which are all that it may have and what the chunk has of them; `is_only` says that
    /// nothing but padding may be behind it.
    ///
    /// Two sources disagree on whether a row of biases is there if BiasMode is clear: one names none then (delta 5.4), an
    /// older one names no condition (td 7.2). Where the first reading finds no body, and the second one finds a row of zeros and a
    /// body that its masks account for, it is the second one's.
    pub(super) fn of(
        bytes: &'a [u8],
        has_bias: bool,
        lanes: u32,
        layout: &Sparse,
        is_only: bool,
    ) -> Result<Self, Bad> {
        let row = (lanes as usize).saturating_mul(2);
        let found = Self::at(bytes, if has_bias { row } else { 0 })?;
        if !found.body.is_empty() {
            return Ok(found);
        }
        let is_zero = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0);
        if is_zero(bytes) {
            // A chunk that was left empty has no coefficient that is not zero.
            return Ok(found);
        }
        if has_bias || !is_only || !bytes.get(..row).is_some_and(is_zero) {
            return Err(Bad::Short);
        }
        let found = Self { biases: &[], ..Self::at(bytes, row)? };
        if found.accounts(layout) { Ok(found) } else { Err(Bad::Short) }
    }

    /// Whether it is the slot of a chunk that was left empty.
    pub(super) const fn is_empty(&self) -> bool {
        self.body.is_empty()
    }

    fn at(bytes: &'a [u8], row: usize) -> Result<Self, Bad> {
        let (biases, rest) = bytes.split_at_checked(row).ok_or(Bad::Header)?;
        let (length, rest) = rest.split_first_chunk::<LENGTH>().ok_or(Bad::Header)?;
        let [low, middle, high] = *length;
        let length = u32::from_le_bytes([low, middle, high, 0]) as usize;
        let body = rest.get(..length).ok_or(Bad::Body)?;
        let len = row.saturating_add(LENGTH).saturating_add(length) as u64;
        Ok(Self { biases, body, len })
    }

    /// Whether the masks and halves take exactly the bytes of the body.
    fn accounts(&self, layout: &Sparse) -> bool {
        let mut rest = self.body;
        for _ in 0..layout.masks() {
            let Some((mask, behind)) = rest.split_first() else { return false };
            let halves = (mask.count_ones() as usize).saturating_mul(2);
            let Some(behind) = behind.get(halves..) else { return false };
            rest = behind;
        }
        rest.is_empty()
    }

    /// Writes all coefficients of the slot, as `[tap][lane]`.
    pub(super) fn expand(&self, layout: &Sparse, lanes: u32, into: &mut [u16]) -> Result<(), Bad> {
        into.fill(0);
        if self.body.is_empty() {
            return Ok(());
        }
        let order = order(layout);
        let (lanes, mask_lanes) = (lanes as usize, layout.mask_lanes as usize);
        let (width, height) = layout.kernel;
        let taps = (width as usize).saturating_mul(height as usize);
        let mut body = Body { rest: self.body, mask: 0, left: 0 };
        for channel in into.chunks_exact_mut(taps.saturating_mul(lanes).max(1)) {
            for tap in &order {
                let row = tap.and_then(|tap| {
                    let start = tap.saturating_mul(lanes);
                    channel.get_mut(start..start.saturating_add(lanes))
                });
                body.lanes(mask_lanes, row.unwrap_or_default())?;
            }
        }
        // Bits behind the last position stand for nothing.
        if body.mask != 0 {
            return Err(Bad::Nowhere);
        }
        if body.rest.is_empty() { Ok(()) } else { Err(Bad::Long) }
    }
}

/// The rest of a body.
struct Body<'a> {
    rest: &'a [u8],
    /// The mask's bits that were not looked at, and how many positions they are.
    mask: u8,
    left: usize,
}

impl Body<'_> {
    /// Takes the positions of one tap: so many lanes, of which the first ones go into `row`.
    #[inline]
    fn lanes(&mut self, lanes: usize, row: &mut [u16]) -> Result<(), Bad> {
        let mut lane = 0usize;
        while lane < lanes {
            if self.left == 0 {
                let (mask, rest) = self.rest.split_first().ok_or(Bad::Short)?;
                (self.mask, self.rest, self.left) = (*mask, rest, MASK);
            }
            if self.left.is_multiple_of(QUAD) && lanes.saturating_sub(lane) >= QUAD {
                let bits = self.mask & 0xf;
                let place = row.get_mut(lane..).and_then(|row| row.first_chunk_mut::<QUAD>());
                match (bits, place) {
                    (0, _) => {}
                    (_, Some(place)) => *place = self.quad(bits)?,
                    // The lanes that a plane has may end inside of four, and those behind them are never there.
                    (_, None) => {
                        for bit in 0..QUAD {
                            if bits >> bit & 1 == 1 {
                                let place = row.get_mut(lane.saturating_add(bit)).ok_or(Bad::Nowhere)?;
                                *place = self.half()?;
                            }
                        }
                    }
                }
                self.mask >>= QUAD;
                self.left = self.left.saturating_sub(QUAD);
                lane = lane.saturating_add(QUAD);
                continue;
            }
            if self.mask & 1 == 1 {
                *row.get_mut(lane).ok_or(Bad::Nowhere)? = self.half()?;
            }
            self.mask >>= 1;
            self.left = self.left.saturating_sub(1);
            lane = lane.saturating_add(1);
        }
        Ok(())
    }

    /// The halves of four positions, of which bits say whether they are there; zeros elsewhere.
    #[inline]
    fn quad(&mut self, bits: u8) -> Result<[u16; QUAD], Bad> {
        let length = (bits.count_ones() as usize).saturating_mul(2);
        let (halves, rest) = self.rest.split_at_checked(length).ok_or(Bad::Short)?;
        let mut bytes = [0; 2 * QUAD];
        match self.rest.first_chunk() {
            Some(eight) => bytes = *eight,
            None => bytes.iter_mut().zip(halves).for_each(|(to, from)| *to = *from),
        }
        self.rest = rest;
        // Which of them are there is hard to guess for a processor, so there is no branch.
        let mut next = u64::from_le_bytes(bytes);
        Ok(std::array::from_fn(|position| {
            let is_there = bits >> position & 1;
            let [low, high, ..] = next.to_le_bytes();
            next = next.wrapping_shr(u32::from(is_there) << 4);
            u16::from_le_bytes([low, high]) & u16::from(is_there).wrapping_neg()
        }))
    }

    fn half(&mut self) -> Result<u16, Bad> {
        let (half, rest) = self.rest.split_first_chunk::<2>().ok_or(Bad::Short)?;
        self.rest = rest;
        Ok(u16::from_le_bytes(*half))
    }
}

/// The taps of one input channel in the order of positions; nothing where a position is outside of the kernel.
fn order(layout: &Sparse) -> Vec<Option<usize>> {
    let ((width, height), (across, down)) = (layout.kernel, layout.stride);
    let (across, down) = (across.max(1), down.max(1));
    let phases = (0..down).flat_map(|y| (0..across).map(move |x| (y, x)));
    let taps = phases.flat_map(|(y, x)| {
        let rows = 0..height.div_ceil(down);
        rows.flat_map(move |row| (0..width.div_ceil(across)).map(move |column| (y, x, row, column)))
    });
    taps.map(|(y, x, row, column)| {
        let ky = row.saturating_mul(down).saturating_add(y);
        let kx = column.saturating_mul(across).saturating_add(x);
        (ky < height && kx < width).then(|| ky.saturating_mul(width).saturating_add(kx) as usize)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(mask_lanes: u32, channels: u32, kernel: u32) -> Sparse {
        let (kernel, stride) = ((kernel, kernel), (2, 2));
        Sparse { mask_lanes, channels, kernel, stride, is_inferred: false }
    }

    /// A slot of these bytes behind its length.
    fn slot(body: &[u8]) -> Vec<u8> {
        [&(body.len() as u32).to_le_bytes()[..LENGTH], body].concat()
    }

    fn expanded(bytes: &[u8], lanes: u32, layout: &Sparse, len: usize) -> Result<Vec<u16>, Bad> {
        let found = Found::of(bytes, false, lanes, layout, true)?;
        let mut weights = vec![7; len];
        found.expand(layout, lanes, &mut weights).map(|()| weights)
    }

    /// The masks of a depthwise 3x3 kernel are those that were published: 55 11 05 01.
    #[test]
    fn taps_of_a_stride_of_two_come_by_phase() {
        let halves = |taps: &[u16]| taps.iter().flat_map(|tap| tap.to_le_bytes()).collect::<Vec<u8>>();
        let body = [
            &[0x55][..],
            &halves(&[10, 12, 16, 18]),
            &[0x11],
            &halves(&[11, 17]),
            &[0x05],
            &halves(&[13, 15]),
            &[0x01],
            &halves(&[14]),
        ]
        .concat();
        assert_eq!(body.len(), 0x16);
        let nine = expanded(&slot(&body), 1, &layout(2, 1, 3), 9);
        assert_eq!(nine, Ok(vec![10, 11, 12, 13, 14, 15, 16, 17, 18]));
    }

    #[test]
    fn lanes_of_a_point_kernel_are_four_of_the_first_mask_and_the_second_is_empty() {
        // Two channels of four lanes, of which the second has one coefficient.
        let body = [0x0f, 1, 0, 2, 0, 3, 0, 4, 0, 0, 0x04, 9, 0, 0];
        let weights = expanded(&slot(&body), 4, &layout(4, 2, 1), 8);
        assert_eq!(weights, Ok(vec![1, 2, 3, 4, 0, 0, 9, 0]));
    }

    #[test]
    fn masks_and_body_that_do_not_agree_are_refused() {
        let point = layout(4, 1, 1);
        let of = |bytes: &[u8]| expanded(bytes, 4, &point, 4);
        assert_eq!(of(&[2, 0]), Err(Bad::Header));
        assert_eq!(of(&[9, 0, 0, 0]), Err(Bad::Body));
        assert_eq!(of(&slot(&[0x03, 1, 0])), Err(Bad::Short));
        assert_eq!(of(&slot(&[0x00])), Err(Bad::Short));
        assert_eq!(of(&slot(&[0x01, 1, 0, 0, 0])), Err(Bad::Long));
        assert_eq!(of(&slot(&[0x10, 1, 0, 0])), Err(Bad::Nowhere));
        assert_eq!(of(&[0, 0, 0, 1, 2, 3]), Err(Bad::Short), "no body, and something behind it");
    }

    #[test]
    fn chunk_of_zeros_has_no_coefficient_that_is_not_zero() {
        assert_eq!(expanded(&[0; 64], 4, &layout(4, 1, 1), 4), Ok(vec![0; 4]));
    }

    #[test]
    fn row_of_zeros_that_bias_mode_does_not_name_is_passed_over_if_a_whole_body_follows() {
        let bytes = [&[0; 8][..], &slot(&[0x01, 5, 0, 0])].concat();
        assert_eq!(expanded(&bytes, 4, &layout(4, 1, 1), 4), Ok(vec![5, 0, 0, 0]));
        let torn = [&[0; 8][..], &slot(&[0x01, 5])].concat();
        assert_eq!(expanded(&torn, 4, &layout(4, 1, 1), 4), Err(Bad::Short));
    }
}
