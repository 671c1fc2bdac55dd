//! What of a model cannot be mapped, and why.

use std::fmt;

use thiserror::Error;

use super::network::Fault;
use super::protobuf::Damage;
use crate::build::BuildError;

/// Why a layer cannot be mapped.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Why {
    /// An operation that is not known.
    #[error("the operation is not mapped to this engine")]
    Operation,
    /// An attribute or a mode that is not mapped.
    #[error("{0}")]
    Mode(String),
    /// It makes no sense.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// An operand has to be known before the run.
    #[error("operand {operand} ({name:?}) has to be known before the run: bind it, --bind '{name}=FILE.npy'")]
    NotKnown { operand: usize, name: String },
    /// An operand that nothing makes before it is read: from nowhere, or in a circle.
    #[error("operand {name:?} is made by no layer before this one")]
    NotMade { name: String },
    /// An operand is missing.
    #[error("operand {operand} is missing")]
    Missing { operand: usize },
    /// The message is damaged.
    #[error(transparent)]
    Damage(#[from] Damage),
    /// The builder refuses it.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// It would take too many tasks.
    #[error("it would take {tasks} tasks; one layer has at most {most}")]
    Tasks {
        tasks: u64,
        /// How many there may be.
        most: u64,
    },
}

/// A layer that cannot be mapped.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// What the model calls the operation.
    pub operation: String,
    /// What it calls the layer, or its result.
    pub name: String,
    /// Extents of its operands, as far as they are known.
    pub shapes: Vec<Vec<usize>>,
    pub why: Why,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.operation, self.name)?;
        for (index, shape) in self.shapes.iter().enumerate() {
            f.write_str(if index == 0 { " of " } else { ", " })?;
            write!(f, "{shape:?}")?;
        }
        write!(f, ": {}", self.why)
    }
}
