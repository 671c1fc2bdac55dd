//! Pass-through: the neural engine without coefficients, each channel alone.
//!
//! It is how compilers do ReLU, activation tables, transpositions and concatenations: operand, times post-scale, then
//! the nonlinearity (td 4.4, 8.1).

use std::ops::Range;

use ane_uapi::hw::td::neural::OpMode;

use super::convolution::Channels;
use super::error::Result;
use super::graph::{Graph, Tensor};
use super::parts::{NEURAL_TILE, parts, turned_parts};
use super::pass::{Coefficients, Kernel, Neural, Nonlinearity, Pass, Tail, engines};

impl Graph {
    pub fn pass_through(&mut self, input: Tensor, tail: Tail) -> Result<Tensor> {
        let shape = self.shape(input)?;
        let result = shape.transposed_if(tail.transpose);
        let tensor = self.intermediate("pass-through", result)?;
        self.pass_through_into(tensor, input, tail)?;
        Ok(tensor)
    }

    pub fn relu(&mut self, input: Tensor) -> Result<Tensor> {
        self.pass_through(input, Tail::RELU)
    }

    pub fn transpose(&mut self, input: Tensor) -> Result<Tensor> {
        self.pass_through(input, Tail::NONE.transposed())
    }

    /// The same into a tensor that is there already, or a part of it.
    pub(crate) fn pass_through_into(&mut self, tensor: Tensor, input: Tensor, tail: Tail) -> Result<()> {
        let first = self.view(input)?;
        if tail.transpose {
            let (channels, columns) = turned_parts(first.shape);
            if channels.len() * columns.len() > 1 {
                return self.turn_parts(tensor, input, tail, &channels, &columns);
            }
        }
        let channels = parts(&[first.shape, first.shape], NEURAL_TILE);
        if channels.len() > 1 && !tail.transpose {
            return self.each_part(&channels, [tensor, input], |graph, [tensor, input]| {
                graph.pass_through_into(tensor, input, tail)
            });
        }
        let engines = engines(first.shape.c);
        let neural = Neural {
            op_mode: OpMode::PassThrough,
            kernel: Kernel::POINT,
            channels: Channels::Unicast(1),
            engines,
            coefficients: self.table_of(tail, engines.min(first.shape.c))?,
            tail,
            input_relu: false,
        };
        let pass = Pass::neural("pass-through", first, first.shape, neural);
        self.pass_into(tensor, pass)
    }

    /// Exchanges channels and columns part by part.
    fn turn_parts(
        &mut self,
        tensor: Tensor,
        input: Tensor,
        tail: Tail,
        channels: &[Range<u32>],
        columns: &[Range<u32>],
    ) -> Result<()> {
        for channels in channels {
            for columns in columns {
                let input = self.block(input, channels, columns)?;
                let place = self.block(tensor, columns, channels)?;
                self.pass_through_into(place, input, tail)?;
            }
        }
        Ok(())
    }

    /// The load of kernel DMA for a task without coefficients: nothing, or a table for each engine that has work.
    pub(super) fn table_of(&mut self, tail: Tail, engines: u32) -> Result<Coefficients> {
        match tail.nonlinearity {
            Nonlinearity::Table(table) => {
                Ok(Coefficients::Table { base: self.store_table(&table)?, engines })
            }
            Nonlinearity::None | Nonlinearity::Relu => Ok(Coefficients::Unity),
        }
    }
}
