//! The neural engine without coefficients, and what is not an operation of its own.

use ane::build::{Across, Axis, BuildError, Shape, Tail, Tensor, activation};
use ane_uapi::hw::td::activation::ActivationTable;
use half::f16;

use super::making::{GraphMaker, GraphOperand};

impl GraphMaker {
    fn table(&mut self) -> ActivationTable {
        const TABLES: [fn() -> ActivationTable; 10] = [
            activation::sigmoid,
            activation::silu,
            activation::gelu,
            activation::tanh,
            activation::exp2,
            activation::log2,
            activation::sqrt,
            activation::rsqrt,
            activation::reciprocal,
            activation::relu,
        ];
        match self.random.below(12) {
            0 => {
                let mut bound = || f16::from_f32(self.random.below(257) as f32 / 16.0 - 8.0);
                let (a, b) = (bound(), bound());
                activation::clamp(a.min(b), a.max(b))
            }
            1 => activation::leaky_relu(f16::from_f32(self.random.below(65) as f32 / 32.0)),
            _ => TABLES[self.random.below(10) as usize](),
        }
    }

    /// The last step of the neural engine, with a table.
    pub(super) fn table_behind(&mut self) -> Tail {
        let tail = self.tail();
        Tail { nonlinearity: Tail::table(self.table()).nonlinearity, ..tail }
    }
}

pub(super) fn pass_through(making: &mut GraphMaker, from: GraphOperand) -> Result<Tensor, BuildError> {
    let tail = making.tail();
    making.graph.pass_through(from.tensor, tail)
}

pub(super) fn activation(making: &mut GraphMaker, from: GraphOperand) -> Result<Tensor, BuildError> {
    let tail = making.table_behind();
    making.graph.pass_through(from.tensor, tail)
}

pub(super) fn exponential(making: &mut GraphMaker, from: GraphOperand) -> Result<Tensor, BuildError> {
    making.graph.exp(from.tensor)
}

pub(super) fn logarithm(making: &mut GraphMaker, from: GraphOperand) -> Result<Tensor, BuildError> {
    making.graph.ln(from.tensor)
}

pub(super) fn across_channels(making: &mut GraphMaker, from: GraphOperand) -> Result<Tensor, BuildError> {
    let channels = making.graph.shape(from.tensor)?.c;
    let tail = if making.once_in(3) { making.table_behind() } else { making.tail() };
    let reads: Vec<u32> = (1..=channels).filter(|reads| channels.is_multiple_of(*reads)).collect();
    let reads = reads[making.random.below(reads.len() as u32) as usize];
    match making.random.below(4) {
        0 => making.graph.channel_sum(from.tensor, tail),
        1 => making.graph.channel_maximum(from.tensor, tail),
        2 => making.graph.across_channels(from.tensor, Across::Sum, reads, tail),
        _ => making.graph.across_channels(from.tensor, Across::Maximum, reads, tail),
    }
}

pub(super) fn concat(making: &mut GraphMaker, from: GraphOperand) -> Result<Tensor, BuildError> {
    let shape = making.graph.shape(from.tensor)?;
    let axis = if making.once_in(2) { Axis::Channels } else { Axis::Rows };
    let mut parts = vec![from.tensor];
    for _ in 0..making.between(1, 2) {
        let extent = making.between(1, 6);
        let (wanted, fits): (Shape, &dyn Fn(Shape) -> bool) = match axis {
            Axis::Channels => {
                (Shape { c: extent, ..shape }, &|other| (other.h, other.w) == (shape.h, shape.w))
            }
            Axis::Rows => (Shape { h: extent, ..shape }, &|other| (other.c, other.w) == (shape.c, shape.w)),
            Axis::Columns => {
                (Shape { w: extent, ..shape }, &|other| (other.c, other.h) == (shape.c, shape.h))
            }
        };
        let part = making.other(wanted, fits)?;
        parts.insert(making.random.below(parts.len() as u32 + 1) as usize, part);
    }
    making.graph.concat(&parts, axis)
}

pub(super) fn slice(making: &mut GraphMaker, from: GraphOperand) -> Result<Tensor, BuildError> {
    let shape = making.graph.shape(from.tensor)?;
    let planes = shape.c.div_ceil(from.interleave);
    let first = making.random.below(planes) * from.interleave;
    let channels = first..making.between(first + 1, shape.c);
    let first = making.random.below(shape.h);
    let rows = first..making.between(first + 1, shape.h);
    making.graph.slice(from.tensor, channels, rows)
}

pub(super) fn fold(making: &mut GraphMaker, from: GraphOperand) -> Result<Tensor, BuildError> {
    making.graph.fold(from.tensor)
}
