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
    /// The words for messages, and the largest value; the smallest is 1.
    const fn row(self) -> (&'static str, u64) {
        match self {
            Self::Channels => ("number of channels", (1 << 17) - 1),
            Self::Rows => ("number of rows", (1 << 15) - 1),
            Self::Columns => ("number of columns", (1 << 15) - 1),
            Self::Kernel => ("kernel extent", 31),
            Self::Stride => ("stride", 3),
            Self::Groups => ("number of groups or batches", (1 << 13) - 1),
            Self::UnicastChannels => ("number of channels that an output reads", (1 << 16) - 1),
            Self::Engines => ("number of engines", 16),
            Self::Lanes => ("number of lanes", 32),
            Self::TransposedOutputs => ("number of transposed outputs", 128),
            Self::Interleave => ("interleave", 15),
            // The largest multiple of 64 that a register holds.
            Self::MemoryBytes => ("size in memory", (1 << 32) - 64),
            Self::CoefficientBytes => ("size of the coefficients", 16 << 20),
            Self::Tasks => ("number of tasks", 0xffff),
            Self::Surfaces => ("number of surfaces", 28),
        }
    }

    pub const fn max(self) -> u64 {
        self.row().1
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
        f.write_str(self.row().0)
    }
}

pub(super) type Result<T, E = BuildError> = std::result::Result<T, E>;

#[derive(Clone, Debug, PartialEq, Error)]
pub enum BuildError {
    #[error("{operation}: {limit} is {value}, which has to be from 1 to {max}")]
    Limit { operation: &'static str, limit: Limit, value: u64, max: u64 },
    #[error("{count} values are more than the {left} that are left of {budget}")]
    Values { count: u64, left: u64, budget: u64 },
    #[error("{operation}: {limit} is {value}, which is not a power of two")]
    NotAPowerOfTwo { operation: &'static str, limit: Limit, value: u32 },
    #[error("{operation}: operands of {first} and {second} (CxHxW) do not go together")]
    Shapes { operation: &'static str, first: Shape, second: Shape },
    #[error("{operation}: {divisor} {what} do not divide {value} channels")]
    Divides { operation: &'static str, what: &'static str, divisor: u32, value: u32 },
    #[error("{operation}: {what} have {given} values, the shape takes {expected}")]
    Length { operation: &'static str, what: &'static str, given: u64, expected: u64 },
    /// Padding that covers the whole kernel, which no source explains.
    #[error("{operation}: padding of {padding} on one side is not narrower than the kernel of {kernel}")]
    Padding { operation: &'static str, padding: u32, kernel: u32 },
    #[error("{operation}: kernel of {kernel} is larger than the padded input of {input}")]
    KernelBeyondInput { operation: &'static str, kernel: u32, input: u32 },
    #[error("{operation}: {first} together with {second} is not known to work")]
    Combination { operation: &'static str, first: &'static str, second: &'static str },
    #[error("{operation}: {axis} {start} to {end} leave the {extent} of the tensor")]
    Slice { operation: &'static str, axis: &'static str, start: u32, end: u32, extent: u32 },
    #[error(
        "lines: {shape} (CxHxW) from {base:#x} on by {plane:#x} and {row:#x} bytes leave the tensor's {bytes:#x}, or are \
         no multiples of 64",
        base = lines.base, plane = lines.plane, row = lines.row
    )]
    Lines { lines: Lines, shape: Shape, bytes: u64 },
    #[error("{operation}: a tensor that is {is} cannot be {wanted}")]
    Place { operation: &'static str, is: &'static str, wanted: &'static str },
    #[error("{operation}: channel {channel} does not start a plane of {interleave} interleaved channels")]
    InsidePlane { operation: &'static str, channel: u32, interleave: u32 },
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
    #[error("task {task} ({operation}): reads a tensor that no task before it writes")]
    NotWritten { task: usize, operation: &'static str },
    #[error("tensor {index} is not one of this graph's {count}")]
    ForeignTensor { index: usize, count: usize },
    #[error("{operation}: {why}")]
    Layer { operation: &'static str, why: String },
    #[error("the graph has no output")]
    NoOutput,
    #[error("{operation} {name:?}: {why}")]
    Name { operation: &'static str, name: String, why: NameFault },
}

/// Why a file cannot keep the name of a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NameFault {
    #[error("another input or output has this name")]
    Twice,
    #[error("name has a zero (\\0), which ends names in a file")]
    Zero,
    #[error("name has {bytes} bytes, and {left} are left for names in a file")]
    Long { bytes: usize, left: usize },
}

impl BuildError {
    /// The task that it is about, if it is about one.
    pub(crate) const fn task(&self) -> Option<usize> {
        match self {
            Self::WorkingSet { task, .. } | Self::NotWritten { task, .. } => Some(*task),
            _ => None,
        }
    }
}
