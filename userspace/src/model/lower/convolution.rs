//! Convolutions: the array's, with what it has no registers for brought into channels or left to a copy.

use half::f16;

use super::held::Held;
use super::stack::Shift;
use super::taps::{self, Along, Kernel, Work};
use super::{Lower, Why, maps, shape};
use crate::build::{self, Channels, Limit, Lines, Padding, Tail, Weights};
use crate::model::network::array::elements;
use crate::model::network::operation::{Convolution, Cut};
use crate::model::network::{Array, ValueId};
use crate::tensor::nearest_half;

/// A convolution over rows and columns, with the holes of a dilated kernel filled with zeros.
struct Flat {
    outputs: usize,
    groups: usize,
    /// Columns and rows of the kernel.
    kernel: (usize, usize),
    stride: (usize, usize),
    /// Left, right, top, bottom.
    padding: [usize; 4],
    weights: Vec<f16>,
    bias: Option<Vec<f16>>,
    tail: Tail,
}

impl Lower<'_> {
    pub(super) fn convolution(&mut self, convolution: &Convolution, inputs: &[ValueId]) -> Result<Held, Why> {
        let known = |operand: usize| {
            let value = self.network.known(inputs[operand]);
            value.ok_or_else(|| self.not_known(inputs, operand))
        };
        let weights = known(1)?.clone();
        let bias = if inputs.len() > 2 { Some(known(2)?.values().to_vec()) } else { None };
        let x = self.operand(inputs[0])?;
        let bias = bias.map(|bias| self.halves(&bias));
        match convolution.stride.len() {
            1 => self.line(x, convolution, &weights, bias),
            2 => self.planes(x, convolution, &weights, bias),
            3 => self.volume(x, convolution, &weights, bias),
            moving => Err(Why::Mode(format!(
                "kernels that move along {moving} axes: the array has two, and a third becomes channels"
            ))),
        }
    }

    /// A line is a plane of one row.
    fn line(
        &mut self,
        x: Held,
        convolution: &Convolution,
        weights: &Array,
        bias: Option<Vec<f16>>,
    ) -> Result<Held, Why> {
        let one = |list: &[usize]| [&[1], list].concat();
        let plane = Convolution {
            stride: one(&convolution.stride),
            dilation: one(&convolution.dilation),
            padding: [&[(0, 0)], convolution.padding.as_slice()].concat(),
            ..*convolution
        };
        let row = |dims: &[usize]| [&dims[..2], &[1], &dims[2..]].concat();
        let dims = row(&x.dims);
        let x = self.reshape(x, &dims)?;
        let whole = self.planes(x, &plane, &weights.reshaped(row(weights.dims()))?, bias)?;
        let [batches, channels, _, columns] = whole.dims[..] else { return Err(Why::Operation) };
        self.reshape(whole, &[batches, channels, columns])
    }

    /// A kernel that moves along rows and columns.
    pub(super) fn planes(
        &mut self,
        x: Held,
        convolution: &Convolution,
        weights: &Array,
        bias: Option<Vec<f16>>,
    ) -> Result<Held, Why> {
        let (outputs, groups) = (weights.dims()[0], convolution.groups);
        let kernel = |axis: usize| {
            let (taps, dilation) = (weights.dims()[axis + 2], convolution.dilation[axis]);
            let positions = convolution.positions(axis, x.dims[axis + 2], taps).ok_or(Why::Operation)?;
            Ok::<_, Why>(Kernel { taps, dilation, stride: convolution.stride[axis], positions })
        };
        let kernels = [kernel(0)?, kernel(1)?];
        let work = Work { outputs: outputs / groups, channels: x.dims[1], batches: x.dims[0] };
        let ways = taps::choose(kernels, work).ok_or_else(|| no_way(kernels))?;
        // Padding as wide as the kernel is no padding to the engine.
        let mut padding = [(0, 0); 2];
        let mut sides = vec![(0, 0); x.dims.len()];
        for axis in (0..2).filter(|&axis| ways[axis].is_direct()) {
            let (before, behind) = convolution.padding[axis];
            if before >= ways[axis].kernel || behind >= ways[axis].kernel {
                sides[axis + 2] = (before, behind);
            } else {
                padding[axis] = (before, behind);
            }
        }
        let mut x = if sides.iter().any(|side| *side != (0, 0)) { self.pad(x, &sides, 0.0)? } else { x };
        if !ways.iter().all(Along::is_direct) {
            let shift = |axis: usize| match ways[axis] {
                way if way.is_direct() => Shift::none(x.dims[axis + 2]),
                way => Shift::of(way, kernels[axis].positions, convolution.padding[axis].0),
            };
            let shifts = [shift(0), shift(1)];
            x = self.stacked(&x, groups, shifts)?;
        }
        let x = self.by_column(&x, Some(3))?;
        let values = rearranged(weights, kernels, ways)?;
        let [(top, bottom), (left, right)] = padding;
        let flat = Flat {
            outputs,
            groups,
            kernel: (ways[1].kernel, ways[0].kernel),
            stride: (ways[1].stride, ways[0].stride),
            padding: [left, right, top, bottom],
            weights: self.halves(&values),
            bias,
            tail: match convolution.activation {
                Some(map) => maps::tail(map).ok_or(Why::Operation)?,
                None => Tail::NONE,
            },
        };
        let whole = self.flat(&x, &flat)?;
        let mut cuts: Vec<Cut> = whole.dims.iter().map(|&extent| Cut::all(extent)).collect();
        for (cut, way) in cuts[2..].iter_mut().zip(ways) {
            *cut = Cut { start: 0, step: way.kept.cast_signed(), count: cut.count.div_ceil(way.kept) };
        }
        self.cut(whole, &cuts)
    }

    /// The mean of a window: each channel by itself, with weights of `share`.
    pub(super) fn box_mean(
        &mut self,
        x: &Held,
        kernel: (usize, usize),
        stride: (usize, usize),
        padding: [usize; 4],
        share: f64,
    ) -> Result<Held, Why> {
        let channels = x.dims[1];
        let rest = 1.0 / ((kernel.0 * kernel.1) as f64 * share);
        let flat = Flat {
            outputs: channels,
            groups: channels,
            kernel,
            stride,
            padding,
            weights: vec![nearest_half(share); channels * kernel.0 * kernel.1],
            bias: None,
            tail: Tail { post_scale: nearest_half(rest), ..Tail::NONE },
        };
        let last = x.dims.len() - 1;
        let x = self.by_column(x, Some(last))?;
        self.flat(&x, &flat)
    }

    fn flat(&mut self, x: &Held, flat: &Flat) -> Result<Held, Why> {
        let rank = x.dims.len();
        let has_rows = rank == 4;
        let extent = |axis: usize, (kernel, stride): (usize, usize), before: usize, behind: usize| {
            (x.dims[axis] + before + behind - kernel) / stride + 1
        };
        let [left, right, top, bottom] = flat.padding;
        let w = extent(rank - 1, (flat.kernel.0, flat.stride.0), left, right);
        let h = if has_rows { extent(2, (flat.kernel.1, flat.stride.1), top, bottom) } else { 1 };
        let dims =
            if has_rows { vec![x.dims[0], flat.outputs, h, w] } else { vec![x.dims[0], flat.outputs, w] };
        let result = self.fresh(&dims, Some(rank - 1))?;
        let batches = x.dims[0] as u64;
        if batches > super::TASKS_MAX {
            return Err(Why::Tasks { tasks: batches, most: super::TASKS_MAX });
        }
        let rows_in = if has_rows { x.dims[2] } else { 1 };
        let row = |held: &Held| if has_rows { held.strides[2] } else { 0 };
        let convolution = build::Convolution {
            stride: (super::extent(flat.stride.0), super::extent(flat.stride.1)),
            padding: Padding {
                left: super::extent(left),
                right: super::extent(right),
                top: super::extent(top),
                bottom: super::extent(bottom),
            },
            channels: Channels::of_groups(
                super::extent(flat.groups),
                super::extent(x.dims[1]),
                super::extent(flat.outputs),
            ),
            bias: flat.bias.as_deref(),
            tail: flat.tail,
            ..build::Convolution::new(
                super::extent(flat.outputs),
                (super::extent(flat.kernel.0), super::extent(flat.kernel.1)),
                Weights::Half(&flat.weights),
            )
        };
        for batch in 0..batches {
            let lines =
                |held: &Held| Lines { base: batch * held.strides[0], plane: held.strides[1], row: row(held) };
            let source = self.view(x, shape(x.dims[1], rows_in, x.width()), lines(x))?;
            let place = self.view(&result, shape(flat.outputs, h, w), lines(&result))?;
            self.graph.convolution_into(place, source, &convolution)?;
        }
        Ok(result)
    }
}

fn no_way(kernels: [Kernel; 2]) -> Why {
    let list = |of: fn(&Kernel) -> usize| kernels.iter().map(of).collect::<Vec<_>>();
    let (taps, dilation) = (list(|kernel| kernel.taps), list(|kernel| kernel.dilation));
    let stride = list(|kernel| kernel.stride);
    Why::Mode(format!(
        "a kernel of {taps:?} taps that lie {dilation:?} apart, with a stride of {stride:?}, is longer than {} elements, \
         and its taps as channels are more than {} channels or 2^26 elements",
        Limit::Kernel.max(),
        Limit::Channels.max()
    ))
}

/// The coefficients as the copies of the operand lie: for each output those of columns' copies, of rows' copies, of channels.
fn rearranged(weights: &Array, kernels: [Kernel; 2], ways: [Along; 2]) -> Result<Vec<f64>, Why> {
    let &[outputs, reads, high, wide] = weights.dims() else { return Err(Why::Operation) };
    let [rows, columns] = ways;
    let dims = [outputs, columns.copies, rows.copies, reads, rows.kernel, columns.kernel];
    let mut values = vec![0.0; elements(&dims)?];
    for (at, &weight) in weights.values().iter().enumerate() {
        let (plane, tap) = (at / (high * wide), at % (high * wide));
        let (output, read) = (plane / reads, plane % reads);
        let (copy_y, y) = rows.place(tap / wide * kernels[0].dilation);
        let (copy_x, x) = columns.place(tap % wide * kernels[1].dilation);
        let channel = ((output * columns.copies + copy_x) * rows.copies + copy_y) * reads + read;
        values[(channel * rows.kernel + y) * columns.kernel + x] = weight;
    }
    Ok(values)
}
