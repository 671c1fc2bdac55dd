//! Names of surfaces: those that a file keeps, and that tell the surfaces apart.
//!
//! A file that cannot keep one name keeps none of them, and a reader calls every surface by its place. So a name that would be
//! lost is refused where it is given. Models have their own record of names (`container::anec::Trailer`), and are not held
//! to this.

use super::error::{BuildError, NameFault, Result};
use super::graph::Graph;
use crate::container::anec::{self, NAMES_ROOM};
use crate::container::{Direction, excerpt};

impl Graph {
    /// The name of the next input or output: the one that is given, or without one the name of its place.
    ///
    /// # Errors
    ///
    /// [`BuildError::Name`].
    pub(super) fn next_name(&self, direction: Direction, given: &str) -> Result<String> {
        let of = match direction {
            Direction::Input => &self.inputs,
            Direction::Output => &self.outputs,
        };
        let name = if given.is_empty() { anec::name_of_place(direction, of.len()) } else { given.to_owned() };
        let known = || self.outputs.iter().chain(&self.inputs).map(|(name, _)| name);
        // Each name ends with a zero in the file.
        let taken: usize = known().map(|name| name.len() + 1).sum();
        let (bytes, left) = (name.len(), NAMES_ROOM.saturating_sub(taken + 1));
        let why = if name.contains('\0') {
            NameFault::Zero
        } else if known().any(|known| *known == name) {
            NameFault::Twice
        } else if bytes > left {
            NameFault::Long { bytes, left }
        } else {
            return Ok(name);
        };
        Err(BuildError::Name { operation: direction.name(), name: excerpt(&name), why })
    }
}
