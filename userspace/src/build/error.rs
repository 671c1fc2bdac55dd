//! Why a program cannot be built: which limit, in which operation, with the numbers.

use thiserror::Error;

use super::lines::Lines;
use super::shape::Shape;

/// Something that a register, the chip or a buffer has no more room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limit {
    /// Channels of an operand: 17 bits (td 4.1).
    Channels,
    /// Rows of an operand: 15 bits (td 4.1).
    Rows,
    /// Columns of an operand: 15 bits (td 4.1).
    Columns,
    /// Kernel rows or columns: 5 bits (td 4.1).
    Kernel,
    /// Stride of a convolution: 2 bits (td 4.1).
    Stride,
    /// Groups, or batches of a planar task: 13 bits (td 4.1).
    Groups,
    /// Channels that one output channel reads: 16 bits (td 4.1).
    UnicastChannels,
    /// Engines at work: 16 (td 4.1).
    Engines,
    /// Lanes of a coefficient plane: 32 in every known program, 3 bits of logarithm (td 7.1).
    Lanes,
    /// Output channels of a transposed matrix product: what one task makes, with 8 lanes on 16 engines (td 7.3).
    TransposedOutputs,
    /// Channels side by side in one plane: 4 bits (td 4.5).
    Interleave,
    /// Bytes of a tensor in memory: an offset from a BAR has 32 bits (td 4.5).
    MemoryBytes,
    /// Bytes of a program's coefficients: what may stream through kernel memory (facts, HAL 0x210).
    CoefficientBytes,
    /// Tasks of a program: 16 bits (td 9).
    Tasks,
    /// Surfaces of a program: BARs 4 to 31 (td 5).
    Surfaces,
}

impl Limit {
    /// The largest value; the smallest is 1.
    pub const fn max(self) -> u64 {
        match self {
            Self::Channels => (1 << 17) - 1,
            Self::Rows | Self::Columns => (1 << 15) - 1,
            Self::Kernel => 31,
            Self::Stride => 3,
            Self::Groups => (1 << 13) - 1,
            Self::UnicastChannels => (1 << 16) - 1,
            Self::Engines => 16,
            Self::Lanes => 32,
            Self::TransposedOutputs => 128,
            Self::Interleave => 15,
            // The largest multiple of 64 that a register holds.
            Self::MemoryBytes => (1 << 32) - 64,
            Self::CoefficientBytes => 16 << 20,
            Self::Tasks => 0xffff,
            Self::Surfaces => 28,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Channels => "number of channels",
            Self::Rows => "number of rows",
            Self::Columns => "number of columns",
            Self::Kernel => "kernel extent",
            Self::Stride => "stride",
            Self::Groups => "number of groups or batches",
            Self::UnicastChannels => "number of channels that an output reads",
            Self::Engines => "number of engines",
            Self::Lanes => "number of lanes",
            Self::TransposedOutputs => "number of transposed outputs",
            Self::Interleave => "interleave",
            Self::MemoryBytes => "size in memory",
            Self::CoefficientBytes => "size of the coefficients",
            Self::Tasks => "number of tasks",
            Self::Surfaces => "number of surfaces",
        }
    }

    /// Refuses 0 and what is above the limit.
    pub(crate) fn check(self, operation: &'static str, value: impl Into<u64>) -> Result<(), BuildError> {
        let value = value.into();
        if (1..=self.max()).contains(&value) {
            Ok(())
        } else {
            Err(BuildError::Limit { operation, limit: self, value, max: self.max() })
        }
    }

    /// Refuses what is not a power of two as well.
    pub(super) fn check_power(self, operation: &'static str, value: u32) -> Result<(), BuildError> {
        self.check(operation, value)?;
        if value.is_power_of_two() {
            Ok(())
        } else {
            Err(BuildError::NotAPowerOfTwo { operation, limit: self, value })
        }
    }
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[derive(Clone, Debug, PartialEq, Error)]
pub enum BuildError {
    /// A number that some field, buffer or table has no room for.
    #[error("{operation}: {limit} is {value}, which has to be from 1 to {max}")]
    Limit { operation: &'static str, limit: Limit, value: u64, max: u64 },
    /// A number that the hardware knows by its logarithm.
    #[error("{operation}: {limit} is {value}, which is not a power of two")]
    NotAPowerOfTwo { operation: &'static str, limit: Limit, value: u32 },
    #[error("{operation}: operands of {first} and {second} (CxHxW) do not go together")]
    Shapes { operation: &'static str, first: Shape, second: Shape },
    #[error("{operation}: {divisor} {what} do not divide {value} channels")]
    Divides { operation: &'static str, what: &'static str, divisor: u32, value: u32 },
    /// A list of values of the wrong length.
    #[error("{operation}: {what} have {given} values, the shape takes {expected}")]
    Length { operation: &'static str, what: &'static str, given: u64, expected: u64 },
    /// Padding that covers the whole kernel, which no source explains.
    #[error("{operation}: padding of {padding} on one side is not narrower than the kernel of {kernel}")]
    Padding { operation: &'static str, padding: u32, kernel: u32 },
    /// A kernel larger than what it is to run over.
    #[error("{operation}: kernel of {kernel} is larger than the padded input of {input}")]
    KernelBeyondInput {
        operation: &'static str,
        kernel: u32,
        /// The input, with its padding.
        input: u32,
    },
    /// Two features that no source shows together.
    #[error("{operation}: {first} together with {second} is not known to work")]
    Combination { operation: &'static str, first: &'static str, second: &'static str },
    /// Part of a tensor that is not there.
    #[error("{operation}: {axis} {start} to {end} leave the {extent} of the tensor")]
    Slice { operation: &'static str, axis: &'static str, start: u32, end: u32, extent: u32 },
    /// Lines that are not the tensor's.
    #[error(
        "lines: {shape} (CxHxW) from {base:#x} on by {plane:#x} and {row:#x} bytes leave the tensor's {bytes:#x}, or are \
         no multiples of 64",
        base = lines.base, plane = lines.plane, row = lines.row
    )]
    Lines { lines: Lines, shape: Shape, bytes: u64 },
    /// A tensor that cannot lie where it has to.
    #[error("{operation}: a tensor that is {is} cannot be {wanted}")]
    Place { operation: &'static str, is: &'static str, wanted: &'static str },
    /// A channel in the middle of an interleaved plane.
    #[error("{operation}: channel {channel} does not start a plane of {interleave} interleaved channels")]
    InsidePlane { operation: &'static str, channel: u32, interleave: u32 },
    /// A task whose operands and windows do not fit on chip.
    #[error(
        "task {task} ({operation}): {what} of {bytes:#x} bytes does not fit, {live:#x} of the working set's \
         {capacity:#x} bytes are in use"
    )]
    WorkingSet {
        task: usize,
        operation: &'static str,
        what: &'static str,
        bytes: u64,
        live: u64,
        capacity: u64,
    },
    /// A tensor that is used before anything was put into it.
    #[error("task {task} ({operation}): reads a tensor that no task before it writes")]
    NotWritten { task: usize, operation: &'static str },
    #[error("tensor {index} is not one of this graph's {count}")]
    ForeignTensor { index: usize, count: usize },
    /// An operation of several passes that cannot be made.
    #[error("{operation}: {why}")]
    Layer { operation: &'static str, why: String },
    /// A graph that computes nothing that anybody could read.
    #[error("the graph has no output")]
    NoOutput,
}
