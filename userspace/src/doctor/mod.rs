//! Checks of each layer, with advice for each one that fails.
//!
//! Nothing is needed but the first layer: a device in this process. A layer that is absent is reported, but is no
//! failure; a layer that is there and does not work is one.
//!
//! * `layers`: the checks, from the engine in this process outwards;
//! * [`guest`]: the needs of a virtual machine's system.

pub mod guest;
mod layers;

pub use self::layers::{NoShim, cargo_build, find_shim};

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Fine,
    /// It is not there, and is needed by some ways of working only.
    Absent,
    Broken,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    pub layer: &'static str,
    pub verdict: Verdict,
    pub found: String,
    /// The advice, if something should be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

impl Check {
    pub fn fine(layer: &'static str, found: impl Into<String>) -> Self {
        Self { layer, verdict: Verdict::Fine, found: found.into(), advice: None }
    }

    pub fn absent(layer: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { layer, verdict: Verdict::Absent, found: found.into(), advice: Some(advice.into()) }
    }

    pub fn broken(layer: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { layer, verdict: Verdict::Broken, found: found.into(), advice: Some(advice.into()) }
    }
}

pub fn checks() -> Vec<Check> {
    let mut checks = layers::checks();
    if guest::is_virtual() {
        checks.extend(guest::checks());
    }
    checks
}
