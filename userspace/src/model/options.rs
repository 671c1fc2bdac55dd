//! The choices that a model leaves open. Its user makes them when it is compiled.

use std::collections::{BTreeMap, BTreeSet};

use super::format::Format;
use super::neighbour_files::Beside;
use super::network::Array;

/// The choices that are made before the run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Inputs that are bound to constants.
    pub constants: BTreeMap<String, Array>,
    /// Extents that the model gives names only.
    pub extents: BTreeMap<String, usize>,
    /// Results of layers that the client fills, instead of the model.
    pub cuts: BTreeSet<String>,
    /// The format of the model, where its place says it. Otherwise its first bytes do.
    pub format: Option<Format>,
    /// Where files are that the model names.
    pub beside: Beside,
}
