//! What a reader made of a model.

use super::error::Error;
use super::limits::PROBLEMS_MAX;
use super::lower;
use super::network::Network;
use super::problem::Problem;

/// Layers, and what could not become any.
pub(super) struct Imported {
    pub(super) network: Network,
    pub(super) problems: Vec<Problem>,
}

impl Imported {
    /// The layers of a model of which all was read.
    pub(super) fn whole(self) -> Result<Network, Error> {
        if self.problems.is_empty() { Ok(self.network) } else { Err(Error::Problems(self.problems)) }
    }

    /// The same; of a model of which not all was read, an error that has the layers too which the engine cannot do.
    pub(super) fn whole_or_all_problems(mut self) -> Result<Network, Error> {
        if !self.problems.is_empty() && self.problems.len() < PROBLEMS_MAX {
            self.problems.extend(lower::problems(&mut self.network));
            self.problems.truncate(PROBLEMS_MAX);
        }
        self.whole()
    }
}
