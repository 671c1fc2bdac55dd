//! The result of reading a model.

use std::collections::HashSet;

use super::error::ModelError;
use super::limits::PROBLEMS_MAX;
use super::lower;
use super::network::{Fault, Network, ValueId};
use super::options::Options;
use super::problem::{Problem, Why};
use super::short::short;

/// Layers, and what could not become any.
pub(super) struct Imported {
    pub(super) network: Network,
    pub(super) problems: Vec<Problem>,
    /// Inputs that can be bound to constants.
    pub(super) inputs: Vec<String>,
    /// Extents that the model leaves open.
    pub(super) extents: Vec<String>,
    /// Results of layers, where one is to be cut.
    pub(super) results: Vec<String>,
    /// Inputs and outputs that have wider numbers in the model than the engine has.
    pub(super) wider: Vec<String>,
}

/// Has a value as an output, if the engine can make it and no other output has this name.
pub(super) fn output(
    network: &mut Network,
    outputs: &mut HashSet<String>,
    name: &str,
    value: ValueId,
) -> Result<(), Why> {
    let dims = network.dims(value);
    if dims.contains(&0) {
        return Err(Fault::Empty { dims: dims.to_vec() }.into());
    }
    if !outputs.insert(name.to_owned()) {
        return Err(Why::Twice { name: short(name).into_owned() });
    }
    let halves = network.halves_of(value).unwrap_or(value);
    network.outputs.push((name.to_owned(), halves));
    Ok(())
}

/// Surfaces that a note names; the others are counted.
const WIDER_TOLD: usize = 4;

/// The note that some surfaces have other numbers than in the model.
fn narrowed(names: &[String]) -> Option<String> {
    let told: Vec<String> = names.iter().take(WIDER_TOLD).map(|name| format!("{:?}", short(name))).collect();
    let more = match names.len().saturating_sub(WIDER_TOLD) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!names.is_empty())
        .then(|| format!("{}{more}: halves on this engine, wider numbers in the model", told.join(", ")))
}

impl Imported {
    /// Refuses options for what the model does not have: a misspelt name would be ignored.
    pub(super) fn check(self, options: &Options) -> Result<Self, ModelError> {
        let inputs = options.constants.keys().find(|&name| !self.inputs.contains(name));
        let extents = options.extents.keys().find(|&name| !self.extents.contains(name));
        let unknown = |what, name: &String, mut known: Vec<String>| {
            known.dedup();
            Err(ModelError::Unknown { what, name: name.clone(), known })
        };
        let cuts = options.cuts.iter().find(|&name| !self.results.contains(name));
        match (inputs, extents, cuts) {
            (Some(name), ..) => unknown("input", name, self.inputs),
            (None, Some(name), _) => unknown("open extent", name, self.extents),
            (None, None, Some(name)) => unknown("result", name, self.results),
            (None, None, None) => Ok(self),
        }
    }

    /// The layers of a model of which all was read.
    pub(super) fn whole(mut self) -> Result<Network, ModelError> {
        self.network.forget_unread();
        self.problems.truncate(PROBLEMS_MAX);
        self.network.notes.extend(narrowed(&self.wider));
        if self.problems.is_empty() { Ok(self.network) } else { Err(ModelError::Problems(self.problems)) }
    }

    /// The same; of a model of which not all was read, an error that has the layers too which the engine cannot do.
    pub(super) fn whole_or_all_problems(mut self) -> Result<Network, ModelError> {
        if !self.problems.is_empty() && self.problems.len() < PROBLEMS_MAX {
            self.problems.extend(lower::problems(&mut self.network));
        }
        self.whole()
    }
}
