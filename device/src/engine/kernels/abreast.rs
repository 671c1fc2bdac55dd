//! Channels abreast: convolutions of each channel by itself, with a channel in each lane.
//!
//! A plane of such a pass is small, and what has to be done once for it takes longer than its products. Here as many planes as a vector has
//! lanes are one: they are interleaved, pixel by pixel, and a tap is a vector of coefficients times a vector of operands. Sums
//! are those of [`single`](super::single).
#![expect(unsafe_code, reason = "reads and writes what `Abreast::fits` has seen to be there")]

use super::lanes::{ANCHOR, Fused, LONGEST};
use super::turn::BLOCK;
use super::window::Window;
use crate::engine::numerics::bounds::Bounds;
use crate::engine::numerics::halves::SIGN;

/// Outputs that are computed together: each of them waits for its own sum. Rows of images are often a multiple of seven.
const TOGETHER: usize = 7;

/// Channels that are interleaved, as halves.
#[derive(Debug)]
pub(crate) struct Interleave<'a> {
    /// The numbers of the first lane and, so far behind each other, those of the others, which may be fewer than the unit has.
    pub(crate) channels: &'a [u16],
    pub(crate) distance: usize,
    /// Numbers of a lane.
    pub(crate) length: usize,
    /// Numbers of a row.
    pub(crate) width: usize,
    /// The place of the first number, in pixels.
    pub(crate) first: usize,
    /// Pixels from one row to the next.
    pub(crate) pitch: usize,
    /// `[pixel][lane]`; what is around the numbers becomes zero.
    pub(crate) to: &'a mut [f32],
}

/// The magnitudes of each lane, as the bits of halves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Magnitudes {
    pub(crate) largest: [u16; LONGEST],
    /// The smallest that is not zero, less one: all bits are set if there is none.
    pub(crate) smallest: [u16; LONGEST],
}

impl Magnitudes {
    /// The magnitudes of lanes that are all zero.
    pub(super) const NONE: Self = Self { largest: [0; LONGEST], smallest: [u16::MAX; LONGEST] };
}

/// The outputs of some rows of interleaved planes.
#[derive(Debug)]
pub(crate) struct Abreast<'a> {
    /// `[pixel][lane]`
    pub(crate) planes: &'a [f32],
    /// `[tap][lane]`, the last digit of each set.
    pub(crate) coefficients: &'a [f32],
    /// From which magnitude of an operand on each of them counts, or nothing if all products do.
    pub(crate) least: &'a [f32],
    /// How far behind the first operand of an output that of each tap is, in singles.
    pub(crate) offsets: &'a [usize],
    /// Taps that are added before the units are, one chunk behind the other.
    pub(crate) chunks: &'a [usize],
    /// The first value of each lane's sums.
    pub(crate) begins: &'a [i32],
    /// Rows and columns of outputs.
    pub(crate) extents: (usize, usize),
    /// Singles from the first operand of an output to that of the next one, by row and by column.
    pub(crate) steps: (usize, usize),
    pub(crate) bounds: Bounds,
    /// `[pixel][lane]`
    pub(crate) to: &'a mut [u16],
}

impl Abreast<'_> {
    /// Whether all that a kernel of so many lanes reads and writes is there.
    pub(super) fn fits(&self, lanes: usize) -> bool {
        let Self { offsets, extents: (rows, columns), steps, .. } = *self;
        let behind = |count: usize, step: usize| count.checked_sub(1)?.checked_mul(step);
        let operands = || {
            let first = behind(rows, steps.0)?.checked_add(behind(columns, steps.1)?)?;
            first.checked_add(*offsets.iter().max()?)?.checked_add(lanes)
        };
        let taps = offsets.len() * lanes;
        operands().is_some_and(|operands| operands <= self.planes.len())
            && rows.checked_mul(columns).and_then(|pixels| pixels.checked_mul(lanes)) <= Some(self.to.len())
            && self.coefficients.len() >= taps
            && (self.least.is_empty() || self.least.len() >= taps)
            && self.chunks.iter().sum::<usize>() == offsets.len()
            && self.begins.len() >= lanes
    }
}

/// Interleaves channels, and measures them.
///
/// # Safety
///
/// The processor has the unit.
#[inline(always)]
pub(super) unsafe fn interleave<V: Fused>(interleave: &mut Interleave<'_>) -> Magnitudes {
    let Interleave { channels, distance, length, width, first, pitch, ref mut to } = *interleave;
    let mut magnitudes = Magnitudes::NONE;
    let (mut place, mut column) = (first * V::COUNT, 0);
    to[..place].fill(0.0);
    let mut pixels = [0; BLOCK * LONGEST];
    for at in (0..length).step_by(BLOCK) {
        let last = (V::COUNT - 1) * distance + at;
        if at + BLOCK <= length && last + BLOCK <= channels.len() {
            // SAFETY: each row has so many halves, and pixels have room for those of every tier; the rest as the caller says.
            unsafe { V::interleave(channels.as_ptr().wrapping_add(at), distance, pixels.as_mut_ptr()) };
        } else {
            let mut few = [0; LONGEST * BLOCK];
            let rows = channels.chunks(distance).map(|channel| &channel[at..length.min(at + BLOCK)]);
            rows.zip(few.chunks_exact_mut(BLOCK))
                .for_each(|(from, to)| to[..from.len()].copy_from_slice(from));
            // SAFETY: as above.
            unsafe { V::interleave(few.as_ptr(), BLOCK, pixels.as_mut_ptr()) };
        }
        for pixel in pixels.chunks_exact(V::COUNT).take(BLOCK.min(length - at)) {
            for ((half, largest), smallest) in
                pixel.iter().zip(&mut magnitudes.largest).zip(&mut magnitudes.smallest)
            {
                let magnitude = half & !SIGN;
                *largest = magnitude.max(*largest);
                // One less makes zero the largest.
                *smallest = magnitude.wrapping_sub(1).min(*smallest);
            }
            let to = &mut to[place..];
            let (to, behind) = to.split_at_mut(V::COUNT);
            // SAFETY: a pixel has halves of a vector; the rest as the caller says.
            let numbers = unsafe { V::load_halves(pixel.as_ptr()) };
            // SAFETY: there is room for a vector.
            unsafe { numbers.store(to.as_mut_ptr()) };
            (place, column) = (place + V::COUNT, column + 1);
            if column == width {
                let gap = ((pitch - width) * V::COUNT).min(behind.len());
                behind[..gap].fill(0.0);
                (place, column) = (place + gap, 0);
            }
        }
    }
    to[place..].fill(0.0);
    magnitudes
}

/// Takes interleaved channels apart, into the rows of a window: each has as many numbers as there are pixels.
///
/// # Safety
///
/// The processor has the unit.
#[inline(always)]
pub(super) unsafe fn separate<V: Fused>(interleaved: &[u16], mut window: Window<'_>) {
    for pixels in interleaved.chunks(BLOCK * V::COUNT) {
        let mut block = window.take_columns(BLOCK);
        if pixels.len() == BLOCK * V::COUNT && block.extents() == (V::COUNT, BLOCK) {
            let (first, distance) = block.place();
            // SAFETY: there are halves of a block, and room for them; the rest as the caller says.
            unsafe { V::separate(pixels.as_ptr(), first, distance) };
            continue;
        }
        let (mut all, mut few) = ([0; BLOCK * LONGEST], [0; LONGEST * BLOCK]);
        all[..pixels.len()].copy_from_slice(pixels);
        // SAFETY: as above.
        unsafe { V::separate(all.as_ptr(), few.as_mut_ptr(), BLOCK) };
        for (row, few) in block.into_rows().zip(few.chunks_exact(BLOCK)) {
            row.copy_from_slice(&few[..row.len()]);
        }
    }
}

/// Computes the outputs.
///
/// # Safety
///
/// The processor has the unit, and everything fits `V::COUNT` lanes.
#[inline(always)]
pub(super) unsafe fn run<V: Fused>(abreast: &mut Abreast<'_>) {
    if abreast.least.is_empty() {
        // SAFETY: as the caller says.
        unsafe { rows::<V, false>(abreast) }
    } else {
        // SAFETY: as the caller says.
        unsafe { rows::<V, true>(abreast) }
    }
}

/// # Safety
///
/// As for [`run`].
#[inline(always)]
unsafe fn rows<V: Fused, const DROPS: bool>(abreast: &mut Abreast<'_>) {
    let (rows, columns) = abreast.extents;
    for row in 0..rows {
        if columns < TOGETHER {
            for column in 0..columns {
                // SAFETY: as the caller says.
                unsafe { pixels::<V, 1, DROPS>(abreast, row, column) };
            }
            continue;
        }
        for column in (0..columns).step_by(TOGETHER) {
            // Where fewer are left, some are computed once more.
            let column = column.min(columns - TOGETHER);
            // SAFETY: as the caller says.
            unsafe { pixels::<V, TOGETHER, DROPS>(abreast, row, column) };
        }
    }
}

/// Computes neighbouring outputs of a row.
///
/// # Safety
///
/// As for [`run`], and there are so many outputs from this one on.
#[inline(always)]
unsafe fn pixels<V: Fused, const COUNT: usize, const DROPS: bool>(
    abreast: &mut Abreast<'_>,
    row: usize,
    column: usize,
) {
    let Abreast { offsets, steps, chunks, bounds, .. } = *abreast;
    let first = abreast.planes.as_ptr().wrapping_add(row * steps.0 + column * steps.1);
    let mut units = [[0; LONGEST]; COUNT];
    for units in &mut units {
        units[..V::COUNT].copy_from_slice(&abreast.begins[..V::COUNT]);
    }
    let (mut coefficients, mut least) = (abreast.coefficients.as_ptr(), abreast.least.as_ptr());
    let mut rest = offsets;
    for &length in chunks {
        let (chunk, behind) = rest.split_at(length);
        rest = behind;
        // SAFETY: as the caller says.
        let mut sums = [unsafe { V::splat(ANCHOR) }; COUNT];
        for &offset in chunk {
            // SAFETY: each tap has a coefficient for each lane.
            let coefficient = unsafe { V::load(coefficients) };
            let mut operands = first.wrapping_add(offset);
            // SAFETY: the same, where they are asked for.
            let kept_from = if DROPS { unsafe { V::load(least) } } else { coefficient };
            for sum in &mut sums {
                // SAFETY: there are operands of each tap of each output.
                let operand = unsafe { V::load(operands) };
                *sum = if DROPS {
                    sum.plus_kept(operand, coefficient, operand.magnitude(), kept_from)
                } else {
                    sum.plus_product(coefficient, operand)
                };
                operands = operands.wrapping_add(steps.1);
            }
            coefficients = coefficients.wrapping_add(V::COUNT);
            least = least.wrapping_add(if DROPS { V::COUNT } else { 0 });
        }
        for (sum, units) in sums.iter().zip(&mut units) {
            // SAFETY: there are units of the longest vector.
            unsafe { sum.add_units(units.as_mut_ptr()) };
        }
    }
    let pixel = row * abreast.extents.1 + column;
    let to = abreast.to[pixel * V::COUNT..][..COUNT * V::COUNT].chunks_exact_mut(V::COUNT);
    for (to, units) in to.zip(&units) {
        // SAFETY: there is room for a vector; the rest as the caller says.
        unsafe { V::narrow(units.as_ptr(), bounds, to.as_mut_ptr()) };
    }
}
