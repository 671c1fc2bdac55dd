//! The parts of a model that cannot be mapped, and why.

use std::collections::BTreeMap;
use std::fmt;

use thiserror::Error;

use super::network::Fault;
use super::protobuf::Damage;
use crate::build::BuildError;
use crate::container::excerpt;

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
    #[error("operand {operand} ({}) has to be known before the run: bind it", quoted(.name))]
    NotKnown { operand: usize, name: String },
    /// A table with too many rows for indices that only the run knows.
    #[error(
        "indices {} are known in the run alone, and pick among {rows} rows: halves hold indices up to {most}; \
         bind them, or look the rows up yourself and make the result an input",
        quoted(.name)
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
    #[error("extent {} is not fixed: give it a number", quoted(.name))]
    Open { name: String },
    /// An operand that nothing makes before it is read: from nowhere, or in a circle.
    #[error(
        "operand {name:?} is made by no layer before this one: its name is wrong, or layers depend on each other in a circle"
    )]
    NotMade { name: String },
    /// A result that has the name of an input, a constant or another result.
    #[error("result {name:?} is there already under this name")]
    Twice { name: String },
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
    /// [`Why::NotMade`]. Nobody has to repeat the name, so a long one is not kept.
    pub(super) fn not_made(name: &str) -> Self {
        Self::NotMade { name: excerpt(name) }
    }

    /// [`Why::Twice`], likewise.
    pub(super) fn twice(name: &str) -> Self {
        Self::Twice { name: excerpt(name) }
    }

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
    /// A problem; long texts of the model are cut.
    pub(super) fn new(operation: &str, name: &str, shapes: Vec<Vec<usize>>, why: Why) -> Self {
        let why = match why {
            Why::Mode(text) => Why::Mode(sentence(text)),
            why => why,
        };
        Self { operation: excerpt(operation), name: excerpt(name), shapes, why }
    }

    /// The text behind the name: shapes, and the reason.
    fn reason(&self) -> String {
        let of = if self.shapes.is_empty() { "" } else { " of " };
        format!("{of}{}: {}", told_shapes(&self.shapes), self.why)
    }
}

/// A sentence that may have texts and lists of the model in it: nobody reads more than so many characters of them.
fn sentence(mut text: String) -> String {
    const MAX: usize = 400;
    if let Some((end, _)) = text.char_indices().nth(MAX) {
        text.truncate(end);
        text.push_str("...");
        text.shrink_to_fit();
    }
    text
}

/// Shapes of a layer that are told; the others are counted.
const SHAPES_MAX: usize = 8;

/// Shapes; more than two equal ones that follow each other are told once.
fn told_shapes(shapes: &[Vec<usize>]) -> String {
    let runs: Vec<&[Vec<usize>]> = shapes.chunk_by(|a, b| a == b).collect();
    let told = |run: &&[Vec<usize>]| match run {
        [shape] => format!("{shape:?}"),
        [shape, _] => format!("{shape:?}, {shape:?}"),
        [shape, ..] => format!("{} times {shape:?}", run.len()),
        [] => String::new(),
    };
    let text = runs.iter().take(SHAPES_MAX).map(told).collect::<Vec<_>>().join(", ");
    match runs.iter().skip(SHAPES_MAX).map(|run| run.len()).sum() {
        0_usize => text,
        more => format!("{text} and {more} more"),
    }
}

/// A name of the model in a message.
fn quoted(name: &str) -> String {
    format!("{:?}", excerpt(name))
}

/// The first of some names; the others are counted.
pub(super) fn several(names: &[impl AsRef<str>], most: usize) -> String {
    counted(names.iter().map(|name| quoted(name.as_ref())), most)
}

/// The first of some texts; the others are counted.
fn counted(texts: impl ExactSizeIterator<Item = String>, most: usize) -> String {
    let rest = texts.len().saturating_sub(most);
    let told: Vec<String> = texts.take(most).collect();
    match rest {
        0 => told.join(", "),
        more => format!("{} and {more} more", told.join(", ")),
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
        format!("{operation} {}{reason}", counted(names.iter().map(|name| format!("{name:?}")), NAMES_MAX))
    };
    groups.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_shapes_are_told_once_and_many_are_counted() {
        let (small, large) = (vec![1, 2], vec![3]);
        assert_eq!(told_shapes(&[small.clone(), large.clone()]), "[1, 2], [3]");
        assert_eq!(told_shapes(&[small.clone(), small.clone(), large.clone()]), "[1, 2], [1, 2], [3]");
        assert_eq!(told_shapes(&[small.clone(), large.clone(), large.clone(), large]), "[1, 2], 3 times [3]");
        assert_eq!(told_shapes(&vec![small; 1000]), "1000 times [1, 2]");
        let different: Vec<_> = (0..10).map(|extent| vec![extent]).collect();
        assert!(told_shapes(&different).ends_with("[7] and 2 more"), "{}", told_shapes(&different));
    }
}
