//! Convolutions and matrix products.

use ane::build::{BuildError, Channels, Convolution, Padding, Shape, Tail, Tensor, Weights};
use half::f16;

use super::making::{GraphMaker, GraphOperand};

/// Most products of one operation: the interpreter makes each by itself.
const PRODUCTS_MAX: u32 = 60_000;

impl GraphMaker {
    /// Kernel extent, stride, and padding before and behind, along an axis.
    fn axis(&mut self, extent: u32) -> (u32, u32, u32, u32) {
        let kernel = self.between(1, 5.min(extent + 2));
        let before = self.random.below(kernel.min(4));
        let least = kernel.saturating_sub(extent + before);
        let behind = least.max(self.random.below(kernel)).min(kernel - 1);
        // A kernel that the padding on both sides does not make room for is narrower.
        let kernel = kernel.min(extent + before + behind);
        let (before, behind) = (before.min(kernel - 1), behind.min(kernel - 1));
        (kernel.min(extent + before + behind), self.between(1, 3), before, behind)
    }

    /// How outputs read the channels of an input, how many outputs there are, and how many channels each reads.
    fn channels(&mut self, inputs: u32, most: u32) -> (Channels, u32, u32) {
        let outputs = self.between(1, most);
        match self.random.below(4) {
            0 => {
                let groups = (1..=inputs).rev().filter(|groups| inputs.is_multiple_of(*groups));
                let groups: Vec<u32> = groups.collect();
                let groups = groups[self.random.below(groups.len() as u32) as usize];
                (Channels::Grouped(groups), groups * outputs.div_ceil(groups), inputs / groups)
            }
            1 => {
                let outputs = outputs.min(inputs);
                let reads = self.between(1, inputs / outputs);
                (Channels::Unicast(reads), outputs, reads)
            }
            _ => (Channels::Dense, outputs, inputs),
        }
    }
}

pub(super) fn convolution(making: &mut GraphMaker, from: GraphOperand) -> Result<Tensor, BuildError> {
    let shape = making.graph.shape(from.tensor)?;
    let (kw, sx, left, right) = making.axis(shape.w);
    let (kh, sy, top, bottom) = making.axis(shape.h);
    let positions = shape.h * shape.w * kw * kh;
    let most = (PRODUCTS_MAX / (positions * shape.c).max(1)).clamp(1, 40);
    let (channels, outputs, reads) = making.channels(shape.c, most);
    let count = reads * kw * kh * outputs;
    let bytes: Vec<u8> = (0..count).map(|_| making.random.word() as u8).collect();
    let halves = making.values.halves(&mut making.random, count.into());
    let biases = making.values.halves(&mut making.random, outputs.into());
    let are_bytes = making.once_in(4);
    let lanes = (0..6).map(|log2| 1 << log2).filter(|&lanes| outputs.is_multiple_of(lanes));
    let lanes: Vec<u32> = lanes.collect();
    let lanes = lanes[making.random.below(lanes.len() as u32) as usize];
    let engines = 1 << making.random.below(5);
    let convolution = Convolution {
        kernel: (kw, kh),
        stride: (sx, sy),
        padding: Padding { left, right, top, bottom },
        channels,
        bias: (!are_bytes && making.once_in(2)).then_some(&biases),
        tail: if !are_bytes && making.once_in(4) { making.table_behind() } else { making.tail() },
        input_relu: making.once_in(4),
        engines: making.once_in(3).then_some(engines),
        lanes: making.once_in(3).then_some(lanes),
        ..Convolution::new(
            outputs,
            (kw, kh),
            if are_bytes { Weights::Bytes(&bytes) } else { Weights::Half(&halves) },
        )
    };
    making.graph.convolution(from.tensor, &convolution)
}

pub(super) fn linear(making: &mut GraphMaker, from: GraphOperand) -> Result<Tensor, BuildError> {
    let shape = making.graph.shape(from.tensor)?;
    let most = PRODUCTS_MAX / (shape.elements() as u32).max(1);
    let outputs = making.between(1, most.clamp(1, 100));
    let weights: Vec<f16> = making.values.halves(&mut making.random, u64::from(outputs) * u64::from(shape.c));
    making.graph.linear(from.tensor, outputs, Weights::Half(&weights))
}

/// The tensor as left operand.
pub(super) fn matmul(making: &mut GraphMaker, from: GraphOperand) -> Result<Tensor, BuildError> {
    let shape = making.graph.shape(from.tensor)?;
    let most = PRODUCTS_MAX / (shape.elements() as u32).max(1);
    let columns = making.between(1, most.clamp(1, 30));
    let other = making
        .other(Shape::new(shape.w, shape.h, columns), |other| (other.c, other.h) == (shape.w, shape.h))?;
    let lanes = (0..4).map(|log2| 1 << log2).filter(|&lanes| shape.c.is_multiple_of(lanes));
    let lanes: Vec<u32> = lanes.collect();
    let lanes = lanes[making.random.below(lanes.len() as u32) as usize];
    // A transposed product has to be made by one task.
    let tail = Tail { transpose: shape.c <= 16 * lanes && making.once_in(3), ..making.tail() };
    match making.random.below(2) {
        0 if !tail.transpose => making.graph.matmul(from.tensor, other, tail),
        _ => making.graph.matmul_with_lanes(from.tensor, other, tail, lanes),
    }
}

pub(super) fn matmul_right(making: &mut GraphMaker, from: GraphOperand) -> Result<Tensor, BuildError> {
    let shape = making.graph.shape(from.tensor)?;
    let most = PRODUCTS_MAX / (shape.elements() as u32).max(1);
    let rows = making.between(1, most.clamp(1, 70));
    let other =
        making.other(Shape::new(rows, shape.h, shape.c), |other| (other.w, other.h) == (shape.c, shape.h))?;
    // A transposed product of many outputs is refused, unless one task makes them.
    let tail = Tail { transpose: false, ..making.tail() };
    making.graph.matmul(other, from.tensor, tail)
}
