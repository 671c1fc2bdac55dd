//! The arguments of `ane compile` and `ane compare` about a model.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;

use crate::run::Assignment;

/// A model, and what is decided before its run
#[derive(Debug, Args)]
pub(crate) struct ModelArgs {
    /// The model: .onnx of opset 7 and later, .mlpackage, .mlmodelc, or the text of a MIL program
    pub(crate) model: PathBuf,
    /// Bind an input to a constant, such as a shape or the weights of a convolution: NAME=FILE, a .npy file or a tensor as .pb
    #[arg(long, value_name = "NAME=FILE")]
    pub(crate) bind: Vec<Assignment>,
    /// Set the size of an axis that the model leaves open: NAME=N, or NAME.AXIS=N for Core ML
    #[arg(long, value_name = "NAME=N")]
    pub(crate) dim: Vec<Extent>,
    /// Make the result of a layer an input, such as the embeddings of tokens that are looked up elsewhere
    #[arg(long, value_name = "NAME")]
    pub(crate) cut: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) name: String,
    pub(crate) extent: usize,
}

impl FromStr for Extent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = || "wanted is NAME=NUMBER, such as batch=1".to_owned();
        let (name, extent) = text.split_once('=').ok_or_else(wanted)?;
        let extent = extent.parse().map_err(|_| wanted())?;
        Ok(Self { name: name.to_owned(), extent })
    }
}
