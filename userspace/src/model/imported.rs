//! The result of reading a model.

use std::collections::HashSet;

use super::error::ModelError;
use super::limits::PROBLEMS_MAX;
use super::lower;
use super::network::{Fault, Network, ValueId};
use super::options::Options;
use super::problem::{Problem, Why, several};

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
    /// Tensors that have wider numbers in the model than the engine has, by name; a note tells which of them are surfaces.
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
        return Err(Why::twice(name));
    }
    let halves = network.halves_of(value).unwrap_or(value);
    network.outputs.push((name.to_owned(), halves));
    Ok(())
}

/// Surfaces that a note names; the others are counted.
const WIDER_TOLD: usize = 4;

impl Imported {
    /// Refuses options for what the model does not have: a misspelt name would be ignored.
    pub(super) fn check(self, options: &Options) -> Result<Self, ModelError> {
        let inputs = options.constants.keys().find(|&name| !self.inputs.contains(name));
        let extents = options.extents.keys().find(|&name| !self.extents.contains(name));
        let unknown = |what, name: &String, mut known: Vec<String>| {
            known.dedup();
            Err(ModelError::unknown(what, name, &known))
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
        self.say_wider();
        if self.problems.is_empty() { Ok(self.network) } else { Err(ModelError::Problems(self.problems)) }
    }

    /// Notes the surfaces that have other numbers than in the model.
    fn say_wider(&mut self) {
        let surfaces = self.network.inputs.iter().chain(&self.network.outputs);
        let mut left: HashSet<&String> = surfaces.map(|(name, _)| name).collect();
        self.wider.retain(|name| left.remove(name));
        if !self.wider.is_empty() {
            let told = several(&self.wider, WIDER_TOLD);
            self.network.notes.push(format!("{told}: halves on this engine, wider numbers in the model"));
        }
    }

    /// The same; of a model of which not all was read, an error that has the layers too which the engine cannot do.
    pub(super) fn whole_or_all_problems(mut self) -> Result<Network, ModelError> {
        if !self.problems.is_empty() && self.problems.len() < PROBLEMS_MAX {
            self.problems.extend(lower::problems(&mut self.network));
        }
        self.whole()
    }
}
