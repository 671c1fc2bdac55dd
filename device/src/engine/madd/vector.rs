//! Outputs of one pixel: a matrix of coefficients times the vector of operands.
//!
//! Each coefficient is used once, so that nothing is packed: they are read where they are, and the time is that of reading
//! them. What is known of them before is nothing, and so some taps at a time are measured, while they are near, and then added.
//! If they do not fit single precision, or may come to the limit, the pass is computed as any other.

use std::ops::Range;

use super::definition::Definition;
use super::packing::{side_by_side, turned_side_by_side};
use super::shape::Shape;
use crate::engine::cancel::{Pace, VECTOR};
use crate::engine::kernels::turn::BLOCK;
use crate::engine::kernels::{Code, Stream, Tap, least};
use crate::engine::numerics::halves::{ONE, Operand};
use crate::engine::numerics::output;
use crate::engine::numerics::product::{self, UNIT};
use crate::engine::numerics::sum::{LIMIT, in_units};

/// Taps that are measured together.
const CHUNK: usize = 32;
/// Lanes of a vector of any tier.
const LANES: usize = 16;
/// Coefficients that are a thread's share at a time, about.
const MANY: usize = 1 << 16;
/// What magnitudes in single precision may add up to, less than 64 by more than all roundings.
const SINGLES: f32 = 63.0;

/// The magnitude from which on a half has an exponent field of 31, which kernels do not expect here.
const SPECIAL: f32 = 65536.0;

#[derive(Debug)]
pub(super) struct PixelPass<'a> {
    code: &'static Code,
    definition: &'a Definition<'a>,
    coefficients: &'a [u16],
    post_scale: u16,
    /// Those of each tap of each group, with the last digit set.
    operands: Vec<f32>,
    /// The taps of each chunk whose products may be dropped, the smallest operand first.
    small: Vec<Tap>,
    /// For each chunk of each group.
    chunks: Vec<Chunk>,
    /// Lanes that are computed together.
    together: usize,
}

/// The same pass with planes of whole vectors, if it is one of a pixel whose planes are narrower.
pub(super) fn widened(shape: &Shape) -> Option<Shape> {
    let fits = shape.pixels() == 1
        && shape.lanes < LANES
        && LANES.is_multiple_of(shape.lanes)
        && shape.group_outputs.is_multiple_of(LANES);
    fits.then(|| shape.with_lanes(LANES))
}

/// Puts the planes of `shape` side by side that are one of [`widened`].
#[expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "sizes are those of a checked shape"
)]
pub(super) fn put_side_by_side(from: &[u16], shape: &Shape, to: &mut [u16]) {
    let taps = shape.taps();
    if shape.lanes == 1 {
        for (planes, lane) in from.chunks_exact(BLOCK * taps).zip((0..LANES).step_by(BLOCK)) {
            turned_side_by_side((planes, taps), taps, &mut to[lane..], LANES);
        }
        return;
    }
    let planes = from.chunks_exact(taps * shape.lanes);
    for (plane, lane) in planes.zip((0..LANES).step_by(shape.lanes)) {
        side_by_side(plane, shape.lanes, &mut to[lane..], LANES);
    }
}

/// What the operands of a chunk are like, whichever coefficients they meet.
#[derive(Clone, Debug)]
struct Chunk {
    /// Their magnitudes, summed.
    sum: f32,
    /// Which of the small taps are its own.
    small: Range<usize>,
}

/// Some neighbouring outputs.
#[derive(Debug)]
pub(super) struct OutputShare<'a> {
    first: usize,
    output: &'a mut [u16],
}

#[expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "sizes are those of a checked shape"
)]
impl<'a> PixelPass<'a> {
    /// The pass, if it is one: whole vectors of outputs have their coefficients side by side.
    pub(super) fn new(code: &'static Code, definition: &'a Definition<'a>, post_scale: u16) -> Option<Self> {
        let (shape, coefficients) = (definition.shape, definition.coefficients?);
        let together = shape.lanes.min(LANES);
        let fits = shape.pixels() == 1
            && code.has_streams()
            && shape.lanes.is_multiple_of(LANES)
            && shape.group_outputs.is_multiple_of(LANES);
        if !fits {
            return None;
        }
        let operands = Self::operands(code, definition);
        let (mut small, mut chunks) = (Vec::new(), Vec::new());
        for operands in operands.chunks(shape.taps()).flat_map(|of_group| of_group.chunks(CHUNK)) {
            let first = small.len();
            small.extend(operands.iter().enumerate().filter_map(|(number, &operand)| {
                // The numbers in between are none.
                let most = f32::from_bits(least(operand).to_bits().checked_sub(1)?);
                (operand != 0.0).then_some(Tap { number, most })
            }));
            small[first..].sort_unstable_by(|a, b| b.most.total_cmp(&a.most));
            let sum = operands.iter().map(|operand| operand.abs()).sum();
            chunks.push(Chunk { sum, small: first..small.len() });
        }
        Some(Self { code, definition, coefficients, post_scale, operands, small, chunks, together })
    }

    /// The operands of all groups as single numbers with the last digit set.
    fn operands(code: &Code, definition: &Definition<'_>) -> Vec<f32> {
        let shape = definition.shape;
        let mut operands = vec![0.0; shape.groups * shape.taps()];
        if definition.input.len() == operands.len() && shape.has_single_operands() {
            code.widen(definition.input, &mut operands);
        } else {
            let outputs = (0..shape.outputs()).step_by(shape.group_outputs);
            let taps = outputs.flat_map(|output| (0..shape.taps()).map(move |tap| (output, tap)));
            for (number, (output, tap)) in operands.iter_mut().zip(taps) {
                *number = Operand::new(definition.operand(output, 0, tap)).value();
            }
        }
        for number in &mut operands {
            *number = f32::from_bits(number.to_bits() | u32::from(*number != 0.0));
        }
        operands
    }

    /// Shares for threads.
    pub(super) fn shares<'o>(
        &self,
        output: &'o mut [u16],
    ) -> impl Iterator<Item = OutputShare<'o>> + Send + use<'o> {
        let many = (MANY / self.definition.shape.taps()).next_multiple_of(self.together).max(self.together);
        output.chunks_mut(many).enumerate().map(move |(i, output)| OutputShare { first: i * many, output })
    }

    /// Computes a share, unless its sums may leave single precision or come to the limit.
    pub(super) fn run(&self, share: OutputShare<'_>, pace: &mut Pace<'_>) -> bool {
        let OutputShare { first, output } = share;
        for (i, output) in output.chunks_mut(self.together).enumerate() {
            if pace.spend(self.definition.shape.taps() * self.together / VECTOR) {
                return true;
            }
            let Some(units) = self.sums(first + i * self.together) else { return false };
            for (to, units) in output.iter_mut().zip(units) {
                *to = self.rounded(units);
            }
        }
        true
    }

    /// So many units as they are stored.
    fn rounded(&self, units: i32) -> u16 {
        output::of(in_units(i64::from(units)), self.post_scale)
    }

    /// The sums of neighbouring outputs.
    fn sums(&self, first: usize) -> Option<[i32; LANES]> {
        let shape = self.definition.shape;
        let (plane, lane, taps) = (first / shape.lanes, first % shape.lanes, shape.taps());
        let group = first / shape.group_outputs;
        let mut sums = [0; LANES];
        let mut reach = 0.0f64;
        for (lane, sum) in sums.iter_mut().enumerate() {
            let bias = self.definition.bias(first + lane).map_or(0, |bias| product::of(bias, ONE));
            reach = reach.max(in_units(bias).abs());
            *sum = i32::try_from(bias).ok()?;
        }
        let all = &self.coefficients[plane * taps * shape.lanes..][..taps * shape.lanes];
        let chunks = &self.chunks[group * taps.div_ceil(CHUNK)..];
        for (tap, of_chunk) in (0..taps).step_by(CHUNK).zip(chunks) {
            let count = CHUNK.min(taps - tap);
            let chunk = &all[tap * shape.lanes..][..count * shape.lanes];
            let extent = self.code.measure(chunk);
            let operands = &self.operands[group * taps + tap..][..count];
            let bound = of_chunk.sum * extent.largest * 1.001 + count as f32 * UNIT;
            reach += f64::from(bound);
            let is_special = extent.largest >= SPECIAL;
            if is_special || bound >= SINGLES || reach * 1.001 >= in_units(LIMIT) {
                return None;
            }
            let small = &self.small[of_chunk.small.clone()];
            let dropped = small.iter().take_while(|tap| extent.smallest <= tap.most).count();
            for vector in (0..LANES).step_by(self.code.lanes) {
                self.code.stream(&mut Stream {
                    coefficients: &chunk[lane + vector..],
                    lanes: shape.lanes,
                    operands,
                    dropped: &small[..dropped],
                    sums: &mut sums[vector..],
                });
            }
        }
        Some(sums)
    }
}
