//! Convolutions: the array's, with what it has no registers for brought into the kernel or left to a copy.

use half::f16;

use super::held::Held;
use super::{Lower, Why, shape};
use crate::build::{self, Channels, Limit, Lines, Padding, Tail, Weights};
use crate::model::network::ValueId;
use crate::model::network::operation::{Convolution, Cut};

/// A convolution over rows and columns, with the holes of a dilated kernel filled with zeros.
struct Flat {
    outputs: usize,
    /// Channels that an output reads.
    reads: usize,
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
        let not_known = |operand: usize| Why::NotKnown {
            operand,
            name: self.network.values[inputs[operand]].name.clone(),
        };
        let weights = self.network.known(inputs[1]).ok_or_else(|| not_known(1))?.clone();
        let bias = match inputs.get(2) {
            Some(&bias) => Some(self.network.known(bias).ok_or_else(|| not_known(2))?.values().to_vec()),
            None => None,
        };
        let moving = convolution.stride.len();
        if moving > 2 {
            return Err(Why::Mode(format!("kernels that move along {moving} axes: the array has two")));
        }
        let mut x = self.operand(inputs[0])?;
        let taps = &weights.dims()[2..];
        let kernel = covered(taps, &convolution.dilation);
        // Before holes are filled: a kernel for which the array has no room may have more of them than fit into memory.
        for &extent in &kernel {
            Limit::Kernel.check("convolution", extent as u64)?;
        }
        let values = without_holes(taps, &convolution.dilation, &kernel, weights.values());
        // Padding as wide as the kernel is no padding to the engine, and more than a stride of 3 is none to it.
        let mut padding = convolution.padding.clone();
        let mut sides = vec![(0, 0); x.dims.len()];
        let mut stride = convolution.stride.clone();
        let mut left_out = vec![1; moving];
        for axis in 0..moving {
            let (before, behind) = padding[axis];
            if before >= kernel[axis] || behind >= kernel[axis] {
                sides[axis + 2] = padding[axis];
                padding[axis] = (0, 0);
            }
            if stride[axis] as u64 > Limit::Stride.max() {
                left_out[axis] = std::mem::replace(&mut stride[axis], 1);
            }
        }
        if sides.iter().any(|side| *side != (0, 0)) {
            x = self.pad(x, &sides, 0.0)?;
        }
        let last = x.dims.len() - 1;
        let x = self.by_column(&x, Some(last))?;
        let halves = self.halves(&values);
        let bias = bias.map(|bias| self.halves(&bias));
        let rows = |list: &[usize]| if moving == 2 { list[0] } else { 1 };
        let (top, bottom) = if moving == 2 { padding[0] } else { (0, 0) };
        let (left, right) = padding[moving - 1];
        let flat = Flat {
            outputs: weights.dims()[0],
            reads: weights.dims()[1],
            groups: convolution.groups,
            kernel: (kernel[moving - 1], rows(&kernel)),
            stride: (stride[moving - 1], rows(&stride)),
            padding: [left, right, top, bottom],
            weights: halves,
            bias,
            tail: if convolution.relu { Tail::RELU } else { Tail::NONE },
        };
        let whole = self.flat(&x, &flat)?;
        let mut cuts: Vec<Cut> = whole.dims.iter().map(|&extent| Cut::all(extent)).collect();
        for axis in 0..moving {
            let extent = whole.dims[axis + 2];
            let step = left_out[axis];
            cuts[axis + 2] = Cut { start: 0, step: step.cast_signed(), count: extent.div_ceil(step) };
        }
        self.cut(whole, &cuts)
    }

    /// The mean of a window: each channel by itself, with ones as weights.
    pub(super) fn box_sum(
        &mut self,
        x: &Held,
        kernel: (usize, usize),
        stride: (usize, usize),
        padding: [usize; 4],
        scale: f64,
    ) -> Result<Held, Why> {
        let channels = x.dims[1];
        let flat = Flat {
            outputs: channels,
            reads: 1,
            groups: channels,
            kernel,
            stride,
            padding,
            weights: vec![f16::ONE; channels * kernel.0 * kernel.1],
            bias: None,
            tail: Tail { post_scale: f16::from_f64(scale), ..Tail::NONE },
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
            channels: match flat.groups {
                1 => Channels::Dense,
                groups if flat.reads == 1 && flat.outputs == groups => Channels::Unicast(1),
                groups => Channels::Grouped(super::extent(groups)),
            },
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

/// What a kernel covers whose taps lie apart.
fn covered(taps: &[usize], dilation: &[usize]) -> Vec<usize> {
    let along =
        |(&taps, &apart): (&usize, &usize)| taps.saturating_sub(1).saturating_mul(apart).saturating_add(1);
    taps.iter().zip(dilation).map(along).collect()
}

/// A kernel that covers `wide`, with zeros between its taps.
fn without_holes(kernel: &[usize], dilation: &[usize], wide: &[usize], weights: &[f64]) -> Vec<f64> {
    if wide == kernel {
        return weights.to_vec();
    }
    let (taps, wide_taps): (usize, usize) = (kernel.iter().product(), wide.iter().product());
    let mut filled = vec![0.0; weights.len() / taps * wide_taps];
    for (at, &weight) in weights.iter().enumerate() {
        let (plane, mut tap) = (at / taps, at % taps);
        let (mut place, mut stride) = (0, 1);
        for axis in (0..kernel.len()).rev() {
            place += tap % kernel[axis] * dilation[axis] * stride;
            tap /= kernel[axis];
            stride *= wide[axis];
        }
        filled[plane * wide_taps + place] = weight;
    }
    filled
}
