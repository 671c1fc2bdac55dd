//! The result of reading a model.

use super::error::ModelError;
use super::limits::PROBLEMS_MAX;
use super::lower;
use super::network::Network;
use super::options::Options;
use super::problem::Problem;

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
        if self.problems.is_empty() { Ok(self.network) } else { Err(ModelError::Problems(self.problems)) }
    }

    /// The same; of a model of which not all was read, an error that has the layers too which the engine cannot do.
    pub(super) fn whole_or_all_problems(mut self) -> Result<Network, ModelError> {
        if !self.problems.is_empty() && self.problems.len() < PROBLEMS_MAX {
            self.problems.extend(lower::problems(&mut self.network));
            self.problems.truncate(PROBLEMS_MAX);
        }
        self.whole()
    }
}
