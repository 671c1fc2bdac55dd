//! Results of layers that the client fills, instead of the model.

use super::network::{Kind, Network, ValueId};
use super::options::Options;
use super::problem::Why;

/// The result of a layer. A lookup in a table with more rows than the engine can look up is refused, but the extents of its result are
/// known, so the result may be cut, too.
///
/// `output` is the model's name of the result.
pub(super) fn rows(
    network: &mut Network,
    options: &Options,
    output: Option<&String>,
    made: Result<Vec<ValueId>, Why>,
) -> Result<Vec<ValueId>, Why> {
    match (made, output) {
        (Err(Why::Rows { dims, .. }), Some(output)) if options.cuts.contains(output) => {
            Ok(vec![network.input(output, dims, Kind::Real)?])
        }
        (Err(Why::Rows { rows, most, name, dims, .. }), Some(output)) => {
            Err(Why::Rows { rows, most, name, result: output.clone(), dims })
        }
        (made, _) => made,
    }
}

/// A result of this name, or what the client fills in its place.
pub(super) fn result(
    network: &mut Network,
    options: &Options,
    name: &str,
    value: ValueId,
) -> Result<ValueId, Why> {
    if options.cuts.contains(name) { Ok(network.cut(name, value)?) } else { Ok(value) }
}
