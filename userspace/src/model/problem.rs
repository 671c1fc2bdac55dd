//! The parts of a model that cannot be mapped, and why.

use std::collections::BTreeMap;
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
    #[error("operand {operand} ({name:?}) has to be known before the run: bind it")]
    NotKnown { operand: usize, name: String },
    /// A table with too many rows for indices that only the run knows.
    #[error(
        "indices {name:?} are known in the run alone, and pick among {rows} rows: halves hold indices up to {most}; \
         bind them, or look the rows up yourself and make the result an input"
    )]
    Rows {
        rows: usize,
        /// How many there may be.
        most: usize,
        /// The indices.
        name: String,
        /// The tensor of the rows that are picked, and its extents.
        result: String,
        dims: Vec<usize>,
    },
    /// An extent of an input that the model leaves open.
    #[error("extent {name:?} is not fixed: give it a number")]
    Open { name: String },
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

/// The choices of a user that make a layer possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy<'a> {
    /// A value for this input, or tensor that an input decides.
    Bind(&'a str),
    /// A number for this extent.
    Extent(&'a str),
    /// This result as an input.
    Cut(&'a str),
}

impl Why {
    pub fn remedy(&self) -> Option<Remedy<'_>> {
        match self {
            Self::Rows { result, .. } => Some(Remedy::Cut(result)),
            Self::NotKnown { name, .. } => Some(Remedy::Bind(name)),
            Self::Open { name } => Some(Remedy::Extent(name)),
            _ => None,
        }
    }
}

/// A layer that cannot be mapped.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// The model's name of the operation.
    pub operation: String,
    /// The model's name of the layer, or of its result.
    pub name: String,
    /// Extents of its operands, as far as they are known.
    pub shapes: Vec<Vec<usize>>,
    pub why: Why,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}{}", self.operation, self.name, self.reason())
    }
}

impl Problem {
    /// The text behind the name: shapes, and the reason.
    fn reason(&self) -> String {
        let shapes: Vec<String> = self.shapes.iter().map(|shape| format!("{shape:?}")).collect();
        let of = if shapes.is_empty() { "" } else { " of " };
        format!("{of}{}: {}", shapes.join(", "), self.why)
    }
}

/// Names of a group that are told; the others are counted.
const NAMES_MAX: usize = 3;

/// The problems as lines. Those that differ in the name alone are one line; `advice` says how to apply a remedy.
///
/// # Examples
///
/// ```
/// use ane::model::{Problem, Why, grouped};
/// let of = |name: &str| Problem {
///     operation: "Erf".to_owned(),
///     name: name.to_owned(),
///     shapes: vec![vec![2, 3]],
///     why: Why::Operation,
/// };
/// let lines = grouped(&["a", "b", "c", "d", "e"].map(of), |_| String::new());
/// assert_eq!(lines, [r#"Erf "a", "b", "c" and 2 more of [2, 3]: the operation is not mapped to this engine"#]);
/// ```
pub fn grouped(problems: &[Problem], advice: impl Fn(Remedy<'_>) -> String) -> Vec<String> {
    let mut places = BTreeMap::new();
    let mut groups: Vec<(&str, String, Vec<&str>)> = Vec::new();
    for problem in problems {
        let reason = problem.reason() + &problem.why.remedy().map_or_else(String::new, &advice);
        let place = *places.entry((&problem.operation, reason.clone())).or_insert_with(|| {
            groups.push((&problem.operation, reason, Vec::new()));
            groups.len() - 1
        });
        groups[place].2.push(&problem.name);
    }
    let line = |(operation, reason, names): (&str, String, Vec<&str>)| {
        let told: Vec<String> = names.iter().take(NAMES_MAX).map(|name| format!("{name:?}")).collect();
        let more = match names.len().saturating_sub(NAMES_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("{operation} {}{more}{reason}", told.join(", "))
    };
    groups.into_iter().map(line).collect()
}
