//! Why a model does not become a program. The reader of each format says it, and the compiler.

use std::io;

use thiserror::Error as ThisError;

use super::limits::{FILE_BYTES_MAX, NODES_MAX};
use super::network::Fault;
use super::problem::Problem;
use super::protobuf::Damage;

/// Why there is no program.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be read.
    #[error("{0}")]
    File(#[from] io::Error),
    /// The file is longer than any model.
    #[error("file has {bytes} bytes, of which a model has at most {FILE_BYTES_MAX}")]
    Long { bytes: u64 },
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
    /// The text is not what the language wants.
    #[error("{what} at {line}:{column}")]
    Text {
        what: String,
        line: usize,
        /// Byte of the line, from 1 on.
        column: usize,
    },
    /// A version that is not read.
    #[error("model has {what} of version {version}; {least} and later are read")]
    Version { what: &'static str, version: i64, least: i64 },
    /// More layers than a program has tasks.
    #[error("model has {count} layers, of which there may be {NODES_MAX}")]
    Nodes { count: usize },
    /// A tensor of the model that makes no sense.
    #[error("{0}")]
    Fault(#[from] Fault),
    /// What cannot be mapped, all of it.
    #[error("{}", problems(.0))]
    Problems(Vec<Problem>),
}

fn problems(problems: &[Problem]) -> String {
    let lines: Vec<String> = problems.iter().map(|problem| format!("  {problem}")).collect();
    let count = crate::count::count(problems.len(), "part");
    format!("{count} of the model cannot be mapped:\n{}", lines.join("\n"))
}
