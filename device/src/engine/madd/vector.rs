//! Outputs of one pixel: a matrix of coefficients times the vector of operands.
//!
//! Each coefficient is used once, so that nothing is packed: they are read once, where they are, and the time is that of reading
//! them. Nothing is known of them before. Some taps at a time are added as if their products fitted single precision; the
//! kernel tells how large the coefficients were, and if that was too large, the sums are thrown away. Then fewer taps at a
//! time are tried. If those do not fit either, or sums may come to the limit, the pass is computed as any other.

use super::definition::Definition;
use super::packing::{side_by_side, turned_side_by_side};
use super::shape::Shape;
use super::stages::{SINGLES, SLACK};
use crate::engine::cancel::{Pace, VECTOR};
use crate::engine::kernels::turn::BLOCK;
use crate::engine::kernels::{Code, Finish, MOST_OUTPUTS, Pixels, Port, Stream, Tap, Window};
use crate::engine::numerics::halves::{INFINITY, Operand, value};
use crate::engine::numerics::product::UNIT;
use crate::engine::numerics::sum::{LIMIT, in_units};

/// Taps that are added together where many are: what is done once for them is little beside them.
const MANY: usize = 128;
/// The same where their products are large. Operands are measured by as many.
const FEW: usize = 32;
/// Lanes of planes that become whole vectors of any tier.
const LANES: usize = 16;
/// Coefficients that are a thread's share at a time, about.
const SHARE: usize = 1 << 16;

#[derive(Debug)]
pub(super) struct PixelPass<'a> {
    code: &'static Code,
    definition: &'a Definition<'a>,
    coefficients: &'a [u16],
    port: Port,
    /// The taps of each group.
    taps: Vec<Tap>,
    /// For every few taps of each group the magnitudes of their operands, summed.
    magnitudes: Vec<f32>,
    /// Lanes that are streamed together.
    together: usize,
}

/// The same pass with planes of whole vectors, if it is one of a pixel whose planes are narrower.
pub(super) fn widened(shape: &Shape) -> Option<Shape> {
    let fits = shape.pixels() == 1
        && shape.lanes < LANES
        && LANES.is_multiple_of(shape.lanes)
        && (shape.groups == 1 || shape.group_outputs.is_multiple_of(LANES));
    fits.then(|| shape.with_lanes(LANES))
}

/// Puts the planes of `shape` side by side that are one of [`widened`]; the last of these may have fewer.
#[expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "sizes are those of a checked shape"
)]
pub(super) fn put_side_by_side(from: &[u16], shape: &Shape, to: &mut [u16]) {
    let taps = shape.taps();
    if shape.lanes == 1 {
        for (planes, lane) in from.chunks(BLOCK * taps).zip((0..LANES).step_by(BLOCK)) {
            turned_side_by_side((planes, taps), taps, &mut to[lane..], LANES);
        }
        return;
    }
    let planes = from.chunks_exact(taps * shape.lanes);
    for (plane, lane) in planes.zip((0..LANES).step_by(shape.lanes)) {
        side_by_side(plane, shape.lanes, &mut to[lane..], LANES);
    }
}

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
    pub(super) fn new(code: &'static Code, definition: &'a Definition<'a>, port: Port) -> Option<Self> {
        let (shape, coefficients) = (definition.shape, definition.coefficients?);
        let together = code.streamed(|together| {
            let is_whole = shape.groups == 1 || shape.group_outputs.is_multiple_of(together);
            shape.lanes.is_multiple_of(together) && is_whole
        })?;
        if shape.pixels() != 1 {
            return None;
        }
        let operands = Self::operands(code, definition);
        let few = operands.chunks(shape.taps()).flat_map(|of_group| of_group.chunks(FEW));
        let magnitudes = few.map(|operands| operands.iter().map(|operand| operand.abs()).sum()).collect();
        let taps = operands.iter().copied().map(Tap::new).collect();
        Some(Self { code, definition, coefficients, port, taps, magnitudes, together })
    }

    /// The operands of all groups as single numbers.
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
        operands
    }

    pub(super) fn shares<'o>(
        &self,
        output: &'o mut [u16],
    ) -> impl Iterator<Item = OutputShare<'o>> + Send + use<'o> {
        let many = (SHARE / self.definition.shape.taps()).next_multiple_of(self.together).max(self.together);
        output.chunks_mut(many).enumerate().map(move |(i, output)| OutputShare { first: i * many, output })
    }

    /// Computes a share, unless its sums may leave single precision or come to the limit.
    pub(super) fn run(&self, share: OutputShare<'_>, pace: &mut Pace<'_>) -> bool {
        let OutputShare { first, output } = share;
        for (i, output) in output.chunks_mut(self.together).enumerate() {
            if pace.spend(self.definition.shape.taps() * self.together / VECTOR) {
                return true;
            }
            let first = first + i * self.together;
            let Some(sums) = self.sums(first, MANY).or_else(|| self.sums(first, FEW)) else { return false };
            self.finish(&sums[..self.together], output);
        }
        true
    }

    /// Stores the sums of neighbouring outputs.
    fn finish(&self, sums: &[i32], output: &mut [u16]) {
        let columns = output.len();
        self.code.finish(&mut Finish {
            sums: &sums[..columns],
            fates: &[],
            columns,
            port: self.port,
            channels: 0..1,
            pixels: &[Pixels { columns: 0..columns, first: 0 }],
            halves: &mut Vec::new(),
            window: &mut Window::new(output, columns),
        });
    }

    /// The sums of neighbouring outputs, so many taps at a time, unless they may not be right.
    fn sums(&self, first: usize, together: usize) -> Option<[i32; MOST_OUTPUTS]> {
        let shape = self.definition.shape;
        let (plane, lane, taps) = (first / shape.lanes, first % shape.lanes, shape.taps());
        let group = first / shape.group_outputs;
        let mut all = [0; MOST_OUTPUTS];
        let sums = &mut all[..self.together];
        let mut largest_bias = 0;
        for (lane, sum) in sums.iter_mut().enumerate() {
            let bias = self.definition.begin(first + lane);
            largest_bias = largest_bias.max(bias.abs());
            *sum = i32::try_from(bias).ok()?;
        }
        let mut reach = in_units(largest_bias);
        let coefficients = &self.coefficients[plane * taps * shape.lanes..][..taps * shape.lanes];
        let each = coefficients.chunks(together * shape.lanes);
        let each = each.zip(self.taps[group * taps..][..taps].chunks(together));
        let few = taps.div_ceil(FEW);
        let magnitudes = self.magnitudes[group * few..][..few].chunks(together / FEW);
        for ((coefficients, taps), magnitudes) in each.zip(magnitudes) {
            let coefficients = &coefficients[lane..];
            let largest =
                self.code.stream(&mut Stream { coefficients, lanes: shape.lanes, taps, sums: &mut *sums });
            let bound = magnitudes.iter().sum::<f32>() * value(largest) * SLACK + taps.len() as f32 * UNIT;
            reach += f64::from(bound);
            if largest >= INFINITY || bound >= SINGLES || reach * f64::from(SLACK) >= in_units(LIMIT) {
                return None;
            }
        }
        Some(all)
    }
}
