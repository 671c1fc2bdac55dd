//! Why a model does not become a program. The reader of each format says it, and the compiler.

use std::io;

use thiserror::Error;

use super::limits::{NODES_MAX, PROBLEMS_MAX};
use super::network::Fault;
use super::problem::{Problem, grouped, several};
use super::protobuf::Damage;
use crate::container::excerpt;
use crate::count::count;

/// Why there is no program.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The file cannot be read.
    #[error("{0}")]
    File(#[from] io::Error),
    /// The file is longer than any model.
    #[error("file has more than {most} bytes, the most that are read")]
    Long { most: u64 },
    /// The file is none of the formats.
    #[error("file is no model that is read here: ONNX, .mlpackage and MIL text are")]
    Format,
    /// The file is damaged.
    #[error("model is damaged: {0}")]
    Damage(#[from] Damage),
    /// A model without a graph.
    #[error("model has no graph")]
    NoGraph,
    /// A model of Core ML that is none of its programs.
    #[error("model is of an older form of Core ML; those with an mlProgram are read")]
    NoProgram,
    /// The text does not follow the grammar.
    #[error("{what} at {line}:{column}")]
    Text {
        what: String,
        line: usize,
        /// Byte of the line, from 1 on.
        column: usize,
    },
    /// A version that is not read.
    #[error("model has {what} of version {version}; {least} and later are read{advice}")]
    Version {
        what: &'static str,
        version: i64,
        least: i64,
        /// Advice, behind a semicolon.
        advice: &'static str,
    },
    /// More layers than a program has tasks.
    #[error("model has {count} layers, more than the {NODES_MAX} that a program may have")]
    Nodes { count: usize },
    /// A tensor of the model that is not valid.
    #[error("{0}")]
    Fault(#[from] Fault),
    /// A value for something that the model does not have.
    #[error("{missing}; {advice}")]
    Unknown {
        /// The message up to the advice.
        missing: String,
        /// The names that it has.
        advice: String,
    },
    /// All layers that cannot be mapped.
    #[error("{}", problems(.0))]
    Problems(Vec<Problem>),
}

impl ModelError {
    /// The error about a name that is none of the `known`.
    pub(super) fn unknown(what: &str, name: &str, known: &[String]) -> Self {
        Self::Unknown {
            missing: format!("model has no {what} {:?}", excerpt(name)),
            advice: listed(what, known),
        }
    }
}

/// Names that are told; a model may have very many.
const NAMES_MAX: usize = 16;

/// The things of this kind that a model has.
fn listed(what: &str, names: &[String]) -> String {
    if names.is_empty() {
        return format!("it has no {what}");
    }
    format!("its {what}s are {}", several(names, NAMES_MAX))
}

/// How many parts of a model cannot be mapped, behind its name.
pub fn counted(problems: &[Problem]) -> String {
    if problems.len() < PROBLEMS_MAX {
        return format!("{} of the model cannot be mapped", count(problems.len(), "part"));
    }
    format!("{PROBLEMS_MAX} parts of the model, or more, cannot be mapped")
}

fn problems(problems: &[Problem]) -> String {
    let lines = grouped(problems, |_| String::new());
    let lines: Vec<String> = lines.iter().map(|line| format!("  {line}")).collect();
    format!("{}:\n{}", counted(problems), lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_name_is_told_apart_from_the_advice() {
        let why = ModelError::unknown("input", "x; y", &["z".to_owned()]);
        assert_eq!(why.to_string(), "model has no input \"x; y\"; its inputs are \"z\"");
        let ModelError::Unknown { missing, advice } = why else { panic!("{why}") };
        assert_eq!(missing, "model has no input \"x; y\"");
        assert_eq!(advice, "its inputs are \"z\"");
    }
}
