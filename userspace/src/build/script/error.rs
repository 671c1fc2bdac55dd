//! The faults of a script.

use super::super::BuildError;
use super::LINES_MAX;
use crate::tensor::Unfit;

#[derive(Debug, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct Error {
    /// Counted from 1; the one behind the last if something is missing.
    pub line: usize,
    pub why: Why,
}

#[derive(Debug, thiserror::Error)]
pub enum Why {
    #[error("has another form than {wanted:?}")]
    Form { wanted: &'static str },
    #[error("there is no tensor {name:?} before it")]
    NoTensor { name: String },
    #[error("there is a tensor {name:?} already")]
    Twice { name: String },
    #[error("{name:?} is no operation")]
    NoOperation { name: String },
    #[error("{operation} knows no {key:?}")]
    Key { operation: String, key: String },
    #[error("{operation} has {key:?} twice")]
    KeyTwice { operation: String, key: String },
    #[error("{operation} needs {key}=")]
    Missing { operation: String, key: &'static str },
    #[error("{key}={value} is not {wanted}")]
    Value { key: String, value: String, wanted: &'static str },
    #[error("{key}={value} {why}")]
    Unfit { key: String, value: String, why: Unfit },
    #[error("{operation} takes {wanted} operands, here are {given}")]
    Operands { operation: String, wanted: usize, given: usize },
    #[error("{count} values are more than the {left} that are left of the script's {budget}")]
    TooMany { count: u64, left: u64, budget: u64 },
    #[error("a script has at most {LINES_MAX} lines")]
    TooLong,
    #[error("{name}: {why}")]
    Array { name: String, why: String },
    #[error(transparent)]
    Build(BuildError),
}

impl From<BuildError> for Why {
    fn from(why: BuildError) -> Self {
        match why {
            BuildError::Values { count, left, budget } => Self::TooMany { count, left, budget },
            why => Self::Build(why),
        }
    }
}
