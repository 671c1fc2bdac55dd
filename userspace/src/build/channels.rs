//! Reductions over channels: the neural engine without coefficients (td 4.4).
//!
//! Multiply-accumulate with a kernel of ones is a sum over channels, and there is a maximum beside it.

use ane_uapi::hw::td::neural::OpMode;

use super::convolution::{Channels, divides};
use super::error::{Limit, Result};
use super::graph::{Graph, Tensor};
use super::pass::{Kernel, Neural, Pass, Tail, engines};
use super::shape::Shape;

/// How the channels that an output reads become one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Across {
    Sum,
    Maximum,
}

impl Graph {
    pub fn channel_sum(&mut self, input: Tensor, tail: Tail) -> Result<Tensor> {
        let reads = self.shape(input)?.c;
        self.across_channels(input, Across::Sum, reads, tail)
    }

    /// The largest of all channels.
    ///
    /// # Errors
    ///
    /// Refuses more channels than an output may read, and a transposition that registers have no room for.
    pub fn channel_maximum(&mut self, input: Tensor, tail: Tail) -> Result<Tensor> {
        let reads = self.shape(input)?.c;
        self.across_channels(input, Across::Maximum, reads, tail)
    }

    /// The sum or the maximum of every `reads` neighbouring channels.
    ///
    /// # Errors
    ///
    /// Refuses a number that does not divide the channels, and one that 16 bits do not hold.
    pub fn across_channels(
        &mut self,
        input: Tensor,
        across: Across,
        reads: u32,
        tail: Tail,
    ) -> Result<Tensor> {
        let operation = "channel reduction";
        let first = self.view(input)?;
        // As in known programs: a sum of all channels is dense, a maximum reads the channels of one output alone.
        let dense = across == Across::Sum && reads == first.shape.c;
        let channels = if dense { Channels::Dense } else { Channels::Unicast(reads) };
        if !dense {
            Limit::UnicastChannels.check(operation, reads)?;
        }
        divides(operation, "channels of an output", reads, first.shape.c)?;
        let output = Shape { c: first.shape.c / reads, ..first.shape };
        let engines = engines(output.c);
        let neural = Neural {
            op_mode: match across {
                Across::Sum => OpMode::MultiplyAccumulate,
                Across::Maximum => OpMode::Maximum,
            },
            kernel: Kernel::POINT,
            channels,
            engines,
            coefficients: self.table_of(tail, engines.min(output.c))?,
            tail,
            input_relu: false,
        };
        let pass = Pass::neural(operation, first, output, neural);
        self.pass(output.transposed_if(tail.transpose), pass)
    }
}
