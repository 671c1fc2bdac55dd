//! A pass: what one task does, before its operands have places.

use ane_uapi::hw::td::activation::ActivationTable;
use ane_uapi::hw::td::common::TaskClass;
use ane_uapi::hw::td::neural::{KernelFormat, OpMode};
use half::f16;

use super::convolution::Channels;
use super::elementwise::Element;
use super::error::{Limit, Result};
use super::graph::{Graph, Tensor, View};
use super::reduce::Reduce;
use super::shape::Shape;

#[derive(Clone, Debug)]
pub(super) struct Pass {
    pub(super) operation: &'static str,
    /// The extents of input and output, of one batch and before a transposition.
    pub(super) input: Shape,
    pub(super) output: Shape,
    /// Above 1, the task is repeated for each row of its operands.
    pub(super) batches: u32,
    pub(super) first: View,
    pub(super) second: Option<View>,
    pub(super) result: View,
    /// Where source 1 stays on chip when it has been loaded, for later tasks.
    pub(super) keep: Option<View>,
    /// Channels and columns of the result change places.
    pub(super) transpose: bool,
    pub(super) work: Work,
}

impl Pass {
    /// Groups of a convolution, for each of which the task is done.
    pub(super) const fn groups(&self) -> u32 {
        match &self.work {
            Work::Neural(neural) => neural.channels.groups(),
            Work::Planar(_) => 1,
        }
    }

    /// A planar pass that neither reduces nor repeats; `shape` is that of the operands together.
    pub(super) fn planar(
        operation: &'static str,
        class: TaskClass,
        shape: Shape,
        (first, second): (View, Option<View>),
        element: Element,
    ) -> Self {
        Self {
            operation,
            input: shape,
            output: shape,
            batches: 1,
            first,
            second,
            result: first,
            keep: None,
            transpose: element.transpose,
            work: Work::Planar(Planar { class, element, reduce: Reduce::SUM }),
        }
    }

    /// A neural pass over one source, of one batch.
    pub(super) fn neural(operation: &'static str, first: View, output: Shape, neural: Neural) -> Self {
        Self {
            operation,
            input: first.shape,
            output,
            batches: 1,
            first,
            second: None,
            result: first,
            keep: None,
            transpose: neural.tail.transpose,
            work: Work::Neural(neural),
        }
    }
}

#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one for each task, in one list")]
pub(super) enum Work {
    Planar(Planar),
    Neural(Neural),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Planar {
    pub(super) class: TaskClass,
    /// The division of a mean is in its final scale.
    pub(super) element: Element,
    pub(super) reduce: Reduce,
}

#[derive(Clone, Debug)]
pub(super) struct Neural {
    pub(super) op_mode: OpMode,
    pub(super) kernel: Kernel,
    pub(super) channels: Channels,
    pub(super) engines: u32,
    pub(super) coefficients: Coefficients,
    pub(super) tail: Tail,
    pub(super) input_relu: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Kernel {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) stride: (u32, u32),
    /// Leading padding: columns, rows.
    pub(super) padding: (u32, u32),
    pub(super) lanes: u32,
}

impl Kernel {
    /// One tap that moves by one.
    pub(super) const POINT: Self = Self { width: 1, height: 1, stride: (1, 1), padding: (0, 0), lanes: 1 };
}

#[derive(Clone, Debug)]
pub(super) enum Coefficients {
    /// None: the input is not multiplied.
    Unity,
    /// The constant section: one chunk for each engine at work.
    Packed { format: KernelFormat, bias: bool, chunks: Vec<Chunk> },
    /// None, but an activation table in the constant section, which several engines share.
    Table { base: u64, engines: u32 },
    /// A tensor in scratch memory whose interleaved planes are the chunks.
    Runtime(View),
}

impl Coefficients {
    pub(super) const fn multiply(&self) -> bool {
        matches!(self, Self::Packed { .. } | Self::Runtime(_))
    }
}

/// The transfer of one channel of kernel DMA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    /// Offset from the coefficients' BAR.
    pub(super) base: u64,
    pub(super) bytes: u64,
}

/// The steps of the neural engine behind the accumulator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tail {
    /// Multiplies the accumulator; one rounding to fp16 follows.
    pub post_scale: f16,
    /// Follows that rounding.
    pub nonlinearity: Nonlinearity,
    /// Channels and columns of the result change places.
    pub transpose: bool,
}

impl Tail {
    pub const NONE: Self = Self { post_scale: f16::ONE, nonlinearity: Nonlinearity::None, transpose: false };

    pub const RELU: Self = Self { nonlinearity: Nonlinearity::Relu, ..Self::NONE };

    pub const fn table(table: ActivationTable) -> Self {
        Self { nonlinearity: Nonlinearity::Table(table), ..Self::NONE }
    }

    /// The same with the result's channels and columns exchanged.
    pub const fn transposed(self) -> Self {
        Self { transpose: true, ..self }
    }
}

impl Default for Tail {
    fn default() -> Self {
        Self::NONE
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Nonlinearity {
    None,
    Relu,
    Table(ActivationTable),
}

impl Graph {
    pub(super) fn pass(&mut self, shape: Shape, pass: Pass) -> Result<Tensor> {
        let tensor = self.intermediate(pass.operation, shape)?;
        self.pass_into(tensor, pass)?;
        Ok(tensor)
    }

    /// Adds a pass whose result goes into `tensor`, which may be part of another.
    pub(super) fn pass_into(&mut self, tensor: Tensor, pass: Pass) -> Result<()> {
        let result = self.view(tensor)?;
        // Offsets of tables and tensors are checked where they are stored; extents here, once for all.
        pass.input.check(pass.operation)?;
        pass.output.check(pass.operation)?;
        Limit::Tasks.check(pass.operation, self.passes.len() as u64 + 1)?;
        self.passes.push(Pass { result, ..pass });
        Ok(())
    }
}

/// Engines of the hardware (td 4.1).
pub(super) const ENGINES: u32 = 16;

/// The engines for `planes` planes of output channels: the next power of two, as in every known program.
pub(super) fn engines(planes: u32) -> u32 {
    planes.next_power_of_two().min(ENGINES)
}
