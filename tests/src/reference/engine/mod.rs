//! A second engine, written from the text alone: slow, plain, element by element.
//!
//! It shares no line with the product's and imports nothing from the workspace, so that a slip in one of the two is
//! seen as a difference between them. A task is carried out in the order of td 8.1: the records reach the registers
//! ([`machine`]), what silicon hangs on is looked for (`hangs`), then what nobody knows the meaning of (`refusals`);
//! operands are read and left on chip (`operands`, [`memory`]), and one of two engines computes (`neural` with
//! `coefficients`, [`mod@array`] and [`tables`]; `planar`). All of it stands on the numbers of [`numbers`].
//!
//! Where the text can be read in two ways, the line that had to choose says "Reading:".

pub mod array;
mod coefficients;
mod hangs;
pub mod machine;
pub mod memory;
mod neural;
pub mod numbers;
mod operands;
mod planar;
mod refusals;
mod sparse;
pub mod tables;
mod task;

pub use machine::ReferenceMachine;
pub use memory::Memory;

/// How the multiply-accumulate array computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// As the M1 was seen to: in whole units of 2^-16.
    M1,
    /// Double precision.
    Exact,
}

/// How a task, or a chain of them, ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskOutcome {
    /// It ran to its end.
    Done {
        /// The inferred behaviour it used: such as `stride 3`, each once.
        inferred: Vec<&'static str>,
    },
    /// Silicon was seen to hang on this.
    Hangs {
        /// The register that says so.
        register: u32,
        /// The reason, in words.
        why: String,
    },
    /// Nobody knows what silicon does with this.
    Refused {
        /// The register that asks for it; [`machine::HEADER`] and the byte offset for a header word.
        register: u32,
        /// The reason, in words.
        why: String,
    },
    /// A transfer met a page that is not mapped.
    Fault {
        /// The first byte that was not there.
        address: u32,
    },
}

/// Why a task stopped short; an [`TaskOutcome`] without the good end.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Stop {
    Hangs { register: u32, why: String },
    Refused { register: u32, why: String },
    Fault { address: u32 },
}

impl Stop {
    fn hangs(register: u32, why: impl Into<String>) -> Self {
        Self::Hangs { register, why: why.into() }
    }

    fn refused(register: u32, why: impl Into<String>) -> Self {
        Self::Refused { register, why: why.into() }
    }
}

/// Stops a task with `stop` if `condition` holds: the rules read as a list.
fn stop_if(condition: bool, stop: impl FnOnce() -> Stop) -> Result<(), Stop> {
    if condition { Err(stop()) } else { Ok(()) }
}

impl From<Stop> for TaskOutcome {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Hangs { register, why } => Self::Hangs { register, why },
            Stop::Refused { register, why } => Self::Refused { register, why },
            Stop::Fault { address } => Self::Fault { address },
        }
    }
}
