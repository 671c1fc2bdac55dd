//! Softmax: chains of five tasks (td 8.1, 8.3).

use ane_uapi::hw::td::planar::PostFunction;
use half::f16;

use super::activation::{self, LOG2_E};
use super::elementwise::Element;
use super::error::{Limit, Result};
use super::graph::{Graph, Tensor};
use super::pass::Tail;
use super::reduce::{Over, Reduce};

/// `(a - b) * log2(e)`: the exponent of two of what was to be an exponent of `e`.
const BELOW_MAXIMUM: Element = Element::SUBTRACT.then(f16::ZERO, LOG2_E);

impl Graph {
    /// Softmax over the channels.
    ///
    /// Maximum over a unicast group; `(x - max) * log2(e)`; exponential by table; channel sum with the reciprocal as
    /// its table; product. A tensor of channels alone goes through the table transposed, as compilers have it, if the channels
    /// are not more than a tensor may have columns.
    ///
    /// # Errors
    ///
    /// Refuses more channels than an output may read.
    pub fn softmax(&mut self, x: Tensor) -> Result<Tensor> {
        let shape = self.shape(x)?;
        // Transposed, channels are columns, of which there may be fewer.
        let alone = shape.h == 1 && shape.w == 1 && u64::from(shape.c) <= Limit::Columns.max();
        let (below, exponential) = (BELOW_MAXIMUM, Tail::table(activation::exp2()));
        let maximum = self.channel_maximum(x, Tail::NONE)?;
        let powers = if alone {
            let below = self.binary(x, maximum, below.transposed())?;
            self.pass_through(below, exponential.transposed())?
        } else {
            let below = self.binary(x, maximum, below)?;
            self.pass_through(below, exponential)?
        };
        let sum = self.channel_sum(powers, Tail::table(activation::reciprocal()))?;
        self.binary(powers, sum, Element::MULTIPLY)
    }

    /// Softmax over the columns, each row of each channel for itself.
    ///
    /// Maximum by batches; `(x - max) * log2(e)` with one column; exponential by table; sum by batches and its
    /// reciprocal; product.
    pub fn softmax_columns(&mut self, x: Tensor) -> Result<Tensor> {
        let maximum = self.reduce(x, Element::COPY, Reduce::MAXIMUM, Over::Columns)?;
        let below = self.binary(x, maximum, BELOW_MAXIMUM)?;
        let powers = self.activation(below, activation::exp2())?;
        let reciprocal = Reduce::SUM.then(f16::ZERO, PostFunction::Reciprocal);
        let sum = self.reduce(powers, Element::COPY, reciprocal, Over::Columns)?;
        self.binary(powers, sum, Element::MULTIPLY)
    }
}
