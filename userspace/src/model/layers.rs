//! Layers that the readers of both formats add to a network in the same way.

use super::network::array::is_rank;
use super::network::operation::{Join, JoinKind, Map};
use super::network::{Fault, Kind, Network, Operation, ValueId};
use super::problem::Why;

/// Adds layers to a network for one node of a model.
pub(super) trait Layers {
    /// The network that grows.
    fn network(&self) -> &Network;

    /// Adds a layer, named for the node, whose result is of `kind`.
    fn add_as(&mut self, operation: Operation, inputs: &[ValueId], kind: Kind) -> Result<ValueId, Why>;

    /// Adds a layer whose result is of its first input's kind.
    fn add(&mut self, operation: Operation, inputs: &[ValueId]) -> Result<ValueId, Why> {
        let kind = inputs.first().map_or(Kind::Real, |&input| self.kind(input));
        self.add_as(operation, inputs, kind)
    }

    fn map(&mut self, map: Map, x: ValueId) -> Result<ValueId, Why> {
        self.add(Operation::Map(map), &[x])
    }

    fn affine(&mut self, x: ValueId, scale: f64, offset: f64) -> Result<ValueId, Why> {
        self.map(Map::Affine { scale, offset }, x)
    }

    fn join(&mut self, kind: JoinKind, a: ValueId, b: ValueId) -> Result<ValueId, Why> {
        self.add(Operation::Join(Join { kind, relu: false }), &[a, b])
    }

    /// `x` where it is above `alpha`, and at it if `holds_there`; zero elsewhere.
    fn thresholded(&mut self, x: ValueId, alpha: f64, holds_there: bool) -> Result<ValueId, Why> {
        let beyond = self.affine(x, 1.0, -alpha)?;
        let mask = Map::Step { below: 0.0, zero: if holds_there { 1.0 } else { 0.0 }, above: 1.0 };
        let mask = self.map(mask, beyond)?;
        self.join(JoinKind::Multiply, x, mask)
    }

    fn reshape(&mut self, x: ValueId, dims: Vec<usize>) -> Result<ValueId, Why> {
        self.add(Operation::Reshape(dims), &[x])
    }

    fn dims(&self, value: ValueId) -> Vec<usize> {
        self.network().dims(value).to_vec()
    }

    fn kind(&self, value: ValueId) -> Kind {
        self.network().values.get(value).map_or(Kind::Real, |value| value.kind)
    }

    /// An axis, counted from the end if below zero.
    fn axis(&self, axis: i64, rank: usize) -> Result<usize, Why> {
        let counted = if axis < 0 { axis.checked_add_unsigned(rank as u64) } else { Some(axis) };
        let counted = counted.and_then(|axis| usize::try_from(axis).ok()).filter(|&axis| axis < rank);
        counted.ok_or_else(|| Fault::Wrong { what: "axis", value: axis, dims: vec![rank] }.into())
    }
}

/// A list of whole numbers as extents.
pub(super) fn extents(list: &[i64]) -> Result<Vec<usize>, Why> {
    is_rank(list.len())?;
    Ok(list.iter().copied().map(extent).collect::<Result<_, _>>()?)
}

/// An extent of a list.
pub(super) fn extent(value: i64) -> Result<usize, Fault> {
    usize::try_from(value).map_err(|_| Fault::Wrong { what: "extent", value, dims: Vec::new() })
}
