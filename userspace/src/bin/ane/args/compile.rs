//! `ane compile`.

use std::path::PathBuf;

use clap::Args;

use super::model::Model;

/// Compile a model to a program
///
/// Constants are folded, layers that the engine does in one pass are joined, tensors laid out, and numbers cast to
/// halves. What cannot be mapped is named, all of it: operation, name, shapes and reason.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane compile network.onnx -o network.anec && ane run network.anec
  ane compile network.mlpackage -o packaged.anec
  ane compile network.onnx -o network.anec --dim batch=1 --report
  ane compile node.onnx -o node.anec --bind shape=shape.npy")]
pub(crate) struct Compile {
    #[command(flatten)]
    pub(crate) model: Model,
    /// The .anec file to write; one that exists is not overwritten
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Overwrite a file that exists
    #[arg(long)]
    pub(crate) force: bool,
    /// Print each layer with its tasks
    #[arg(long)]
    pub(crate) report: bool,
}
