//! The computation of a pass, between its operands and its result.
//!
//! By now everything is in packed form and in the device's own hands: no guest memory and no register is needed until the
//! result is given. So a pass can go on with this on another thread, without the device.

use ane_uapi::hw::td::activation::BYTES;

use crate::engine::cancel::{Pace, Watch};
use crate::engine::kernel_fetcher::Coefficients;
use crate::engine::madd::{self, Array, Convolution};
use crate::engine::numerics::Numerics;
use crate::engine::numerics::bounds::Bounds;
use crate::engine::plan::Pass;
use crate::engine::plan::neural::{NeuralPass, Nonlinearity, Operation};
use crate::engine::plan::operand::Shape;
use crate::engine::plan::planar::PlanarPass;
use crate::engine::planar::Operand;
use crate::engine::room::Room;
use crate::engine::table::{Table, Tables};
use crate::engine::transpose::transpose_under;
use crate::options::Options;

/// Steps of the array from which on a pass is long, where vectors take them: some tenths of a millisecond at least
/// (Chosen).
const LONG: u64 = 1 << 24;

/// The same, where products are computed one by one.
const LONG_ONE_BY_ONE: u64 = 1 << 18;

/// The same, of elements that are computed or moved each for itself.
pub(super) const LONG_ELEMENTS: u64 = 1 << 20;

/// The same, of bytes that are moved, and what a row counts for beside its bytes: a millisecond (Chosen).
const LONG_BYTES: u64 = 1 << 22;
const ROW_BYTES: u64 = 16;

/// The engines, and what they work on.
pub(super) struct Compute {
    pub(super) array: Array,
    pub(super) tables: Tables,
    pub(super) coefficients: Coefficients,
    pub(super) staging: Staging,
}

/// Packed tensors on their way, kept for the next pass.
#[derive(Default)]
pub(super) struct Staging {
    pub(super) source1: Room,
    pub(super) source2: Room,
    pub(super) result: Room,
    /// A tensor whose channels and columns have changed places.
    pub(super) turned: Room,
    /// The accumulator's bias, once for each output.
    biases: Room,
    pub(super) row: Vec<u16>,
}

/// A pass whose sizes an engine does not take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Misfit;

impl Compute {
    pub(super) fn new(options: &Options) -> Self {
        Self::with(Array::new(options.numerics, options.threads))
    }

    fn with(array: Array) -> Self {
        let (tables, coefficients) = (Tables::default(), Coefficients::default());
        Self { array, tables, coefficients, staging: Staging::default() }
    }

    /// Another one that has nothing yet.
    pub(super) fn another(&self) -> Self {
        Self::with(Array::with_tier(self.numerics(), self.array.threads(), self.array.tier()))
    }

    pub(super) fn numerics(&self) -> Numerics {
        self.array.numerics()
    }

    /// Gives back the room that the largest tasks have taken.
    pub(super) fn shrink(&mut self) {
        self.staging = Staging::default();
        self.coefficients = Coefficients::default();
    }

    /// Whether a pass, with all of its batches and transfers, takes longer than two wake-ups.
    pub(super) fn is_long_in_all(&self, pass: &Pass) -> bool {
        let batches = u64::from(pass.batches());
        let coefficients = match pass {
            Pass::Neural(NeuralPass { operation: Operation::Convolve(kernel), .. }) => kernel.bytes,
            _ => 0,
        };
        let operands = [Some(pass.source1()), pass.source2()].into_iter().flatten();
        let shapes = operands.map(|source| source.stored()).chain([pass.output()]);
        let moved = shapes.fold(0_u64, |sum, shape| sum.saturating_add(moved_bytes(shape)));
        self.is_long_for(pass, batches)
            || moved.saturating_mul(batches).saturating_add(coefficients) >= LONG_BYTES
    }

    /// Whether one batch of a pass takes long to compute.
    pub(super) fn is_long(&self, pass: &Pass) -> bool {
        self.is_long_for(pass, 1)
    }

    fn is_long_for(&self, pass: &Pass, batches: u64) -> bool {
        let has_long_steps = match pass {
            Pass::Neural(pass) => {
                let is_fast = madd::has_kernel(self.numerics());
                pass.steps().saturating_mul(batches) >= if is_fast { LONG } else { LONG_ONE_BY_ONE }
            }
            Pass::Planar(_) => false,
        };
        has_long_steps || elements(pass).saturating_mul(batches) >= LONG_ELEMENTS
    }

    /// Makes the result of the sources, as it is stored. Once more gives the same, even if it was called off.
    #[inline]
    pub(super) fn run(
        &mut self,
        pass: &Pass,
        table: Option<&[u8; BYTES]>,
        watch: &Watch<'_>,
    ) -> Result<(), Misfit> {
        let output = pass.output();
        self.staging.result.resize(output.len());
        match pass {
            Pass::Neural(pass) => self.neural(pass, table, watch)?,
            Pass::Planar(pass) => self.planar(pass, watch)?,
        }
        if pass.sink().is_transposed {
            let Staging { result, turned, .. } = &mut self.staging;
            turned.resize(output.len());
            transpose_under(watch, result, output, turned);
            std::mem::swap(result, turned);
        }
        Ok(())
    }

    #[inline]
    fn neural(
        &mut self,
        pass: &NeuralPass,
        table: Option<&[u8; BYTES]>,
        watch: &Watch<'_>,
    ) -> Result<(), Misfit> {
        let Staging { source1: input, result, turned, biases, .. } = &mut self.staging;
        if pass.input_relu {
            self.array.pool().stretches(watch, input, |_, input, pace| {
                pace.strides(input, |input| input.iter_mut().for_each(|half| *half = input_relu(*half)));
            });
        }
        // A table was understood when it came.
        let table = match (pass.nonlinearity, table) {
            (Nonlinearity::Table, Some(bytes)) => Some(self.tables.get(bytes).map_err(|_| Misfit)?),
            _ => None,
        };
        let table = table.map(|table| {
            table.prepare(result.len());
            &*table
        });
        // A nonlinearity that only keeps results within bounds is applied with the sums.
        let bounds = match (pass.operation, pass.nonlinearity, table) {
            (Operation::Maximum | Operation::PassThrough, ..) => None,
            (_, Nonlinearity::Relu, _) => Some(Bounds::RELU),
            (.., table) => table.and_then(Table::bounds),
        };
        let array = self.array.under(watch).within(bounds.unwrap_or(Bounds::NONE));
        let (convolution, scale) = (&pass.convolution, pass.post_scale);
        let steps = pass.output_step > 1;
        if steps {
            turned.resize(usize::try_from(pass.made()).unwrap_or(0));
        }
        let made: &mut [u16] = if steps { turned } else { result };
        // It is added where a bias row is.
        biases.resize(if pass.acc_bias == 0 { 0 } else { convolution.outputs as usize });
        biases.fill(pass.acc_bias);
        let acc_bias = (pass.acc_bias != 0).then_some(&**biases);
        match pass.operation {
            Operation::Convolve(kernel) => {
                let Coefficients { weights, biases, .. } = &self.coefficients;
                // Channels behind those that any output reads are left out.
                let Convolution { channels, height, width, .. } = *convolution;
                let read = Shape { channels, height, width }.len().min(input.len());
                let input = input.get(..read).unwrap_or_default();
                let weights = madd::Coefficients::Halves(weights);
                let biases = if kernel.has_bias { Some(&**biases) } else { acc_bias };
                array.convolve(convolution, input, weights, biases, scale, made)
            }
            Operation::Sum => {
                array.convolve(convolution, input, madd::Coefficients::Unity, acc_bias, scale, made)
            }
            Operation::Maximum => array.maximum(convolution, input, scale, made),
            Operation::PassThrough => {
                let passed = Shape { channels: pass.source.shape.channels, ..pass.output };
                keep(input, pass.source.shape, passed, &mut Pace::new(watch));
                array.scale(input, scale, made);
                Ok(())
            }
        }
        .map_err(|_| Misfit)?;
        let mut pace = Pace::new(watch);
        if steps {
            side_by_side(pass, turned, result, &mut pace);
        }
        match (table, pass.nonlinearity) {
            _ if bounds.is_some() => {}
            (Some(table), _) => self.array.pool().stretches(watch, result, |_, result, pace| {
                pace.strides(result, |result| table.replace(result));
            }),
            (None, Nonlinearity::Relu) => self.array.pool().stretches(watch, result, |_, result, pace| {
                pace.strides(result, |result| {
                    result.iter_mut().for_each(|half| *half = Bounds::RELU.of(*half))
                });
            }),
            (None, _) => {}
        }
        Ok(())
    }

    fn planar(&mut self, pass: &PlanarPass, watch: &Watch<'_>) -> Result<(), Misfit> {
        let Self { array, staging: Staging { source1, source2, result, .. }, .. } = self;
        let operand = |shape: Shape, values| Operand {
            values,
            channels: shape.channels,
            height: shape.height,
            width: shape.width,
        };
        let a = operand(pass.source1.shape, &**source1);
        let b = pass.source2.map(|source| operand(source.shape, &**source2));
        pass.planar.run_under(watch, array.pool(), pass.shape, (a, b), result).map_err(|_| Misfit)
    }
}

/// Moves the first rows and columns of each channel together, and drops the others.
fn keep(tensor: &mut [u16], stored: Shape, kept: Shape, pace: &mut Pace<'_>) {
    if (stored.height, stored.width) == (kept.height, kept.width) {
        return;
    }
    let (height, width) = (kept.height as usize, kept.width as usize);
    let mut to = 0_usize;
    for channel in 0..stored.channels as usize {
        for y in 0..height {
            if pace.spend(width) {
                return;
            }
            let line = channel.saturating_mul(stored.height as usize).saturating_add(y);
            let from = line.saturating_mul(stored.width as usize);
            let end = from.saturating_add(width);
            // A row only ever moves towards the front.
            if to <= from && end <= tensor.len() {
                tensor.copy_within(from..end, to);
            }
            to = to.saturating_add(width);
        }
    }
}

/// Puts the columns of an output step side by side: output `o * step + p` of what the array made has columns
/// `x * step + p` of output `o`.
fn side_by_side(pass: &NeuralPass, made: &[u16], result: &mut [u16], pace: &mut Pace<'_>) {
    let step = pass.output_step.max(1) as usize;
    let (rows, columns) = (pass.output.height.max(1) as usize, pass.output.width.max(1) as usize);
    let across = pass.convolution.out_width.max(1) as usize;
    for (index, row) in result.chunks_exact_mut(columns).enumerate() {
        if pace.spend(columns) {
            return;
        }
        let (output, y) = (index.checked_div(rows).unwrap_or(0), index.checked_rem(rows).unwrap_or(0));
        for (x, to) in row.iter_mut().enumerate() {
            let lane = output.saturating_mul(step).saturating_add(x.checked_rem(step).unwrap_or(0));
            let line = lane.saturating_mul(rows).saturating_add(y);
            let at = line.saturating_mul(across).saturating_add(x.checked_div(step).unwrap_or(0));
            *to = made.get(at).copied().unwrap_or_default();
        }
    }
}

/// The cost of moving a tensor, if each of its rows is by itself.
const fn moved_bytes(shape: Shape) -> u64 {
    let Shape { channels, height, width } = shape;
    let row = (width as u64).saturating_mul(2).saturating_add(ROW_BYTES);
    (channels as u64).saturating_mul(height as u64).saturating_mul(row)
}

/// Elements that a pass goes over, each for itself.
pub(super) fn elements(pass: &Pass) -> u64 {
    pass.source1().shape.elements().max(pass.output().elements())
}

/// A half as InputReLU passes it on.
fn input_relu(half: u16) -> u16 {
    const INFINITY: u16 = 0x7c00;
    if half & 0x7fff > INFINITY { INFINITY } else { Bounds::RELU.of(half) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_columns_that_are_kept_lie_together() {
        let mut tensor: Vec<u16> = (0..24).collect();
        let stored = Shape { channels: 2, height: 3, width: 4 };
        keep(&mut tensor, stored, Shape { height: 2, width: 3, ..stored }, &mut Pace::new(&Watch::idle()));
        assert_eq!(tensor[..12], [0, 1, 2, 4, 5, 6, 12, 13, 14, 16, 17, 18]);
    }

    #[test]
    fn relu_on_the_input_takes_what_is_no_number_for_infinity() {
        assert_eq!([0xfe00, 0x7e01, 0x8000, 0xbc00, 0x3c00].map(input_relu), [0x7c00, 0x7c00, 0, 0, 0x3c00]);
    }
}
