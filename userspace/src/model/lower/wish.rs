//! Which axis the layers after a product want as columns.
//!
//! A product with a known matrix can leave its outputs as columns or as lines, at the same cost. A pass that exchanges them later is
//! saved if what reads the result has a say.

use super::held::COLUMNS_ALIGN;
use super::{Lower, arrange};
use crate::model::network::operation::{Cut, Operation};
use crate::model::network::{Node, ValueId};

/// Layers that are asked for each product. (Chosen) A block of attention has a tenth of that behind a product.
const ASKED_MAX: usize = 64;

impl Lower<'_> {
    /// Whether more layers want an axis of `value` as columns than want it as lines.
    pub(super) fn is_wanted_as_columns(&self, value: ValueId, axis: usize) -> bool {
        self.votes(value, axis, &mut ASKED_MAX.clone()) > 0
    }

    /// Layers that want it as columns, less those that want it as lines.
    fn votes(&self, value: ValueId, axis: usize, left: &mut usize) -> i64 {
        let mut votes = 0;
        for &reader in &self.readers[value] {
            if *left == 0 {
                break;
            }
            *left -= 1;
            votes += self.vote(&self.network.nodes[reader], value, axis, left);
        }
        let is_output = self.network.outputs.iter().any(|&(_, output)| output == value);
        let is_last = axis + 1 == self.network.dims(value).len();
        votes + if is_output { opinion(is_last) } else { 0 }
    }

    fn vote(&self, node: &Node, value: ValueId, axis: usize, left: &mut usize) -> i64 {
        let dims = self.network.dims(value);
        let along = |axis: usize, left: &mut usize| self.votes(node.output, axis, left).signum();
        match &node.operation {
            Operation::Map(_) | Operation::Select => along(axis, left),
            Operation::Join(_) => {
                let rank = self.network.dims(node.output).len();
                let missing = rank - dims.len();
                let other = node.inputs.iter().find(|&&other| other != value);
                match other.and_then(|&other| self.held[other].as_ref()) {
                    Some(other) if other.column.is_some() => {
                        let column = other.column.map(|column| column + rank - other.dims.len());
                        opinion(column == Some(axis + missing))
                    }
                    _ => along(axis + missing, left),
                }
            }
            Operation::Product | Operation::Linear(_) => {
                let is_known = |operand: usize| self.network.known(node.inputs[operand]).is_some();
                let summed = match (is_known(0), is_known(1)) {
                    (false, false) => return opinion(axis + 1 == dims.len()),
                    (_, true) => dims.len() - 1,
                    (true, false) => dims.len() - 2,
                };
                opinion(axis != summed)
            }
            Operation::Reduce(reduce) => opinion(reduce.axes.contains(&axis)),
            Operation::Normalise(normalise) => opinion(normalise.axes.contains(&axis)),
            Operation::Permute(order) => {
                order.iter().position(|&from| from == axis).map_or(0, |axis| along(axis, left))
            }
            Operation::Reshape(to) => match arrange::last_of(dims, to, axis) {
                Some(axis) => along(axis, left),
                None => opinion(false),
            },
            Operation::Cut(cuts) => {
                let cut = cuts[axis];
                let stays = cut == Cut::all(dims[axis])
                    || cut.step == 1 && cut.start.is_multiple_of(COLUMNS_ALIGN) && cut.count > 1;
                if stays { along(axis, left) } else { opinion(false) }
            }
            _ => 0,
        }
    }
}

const fn opinion(is_wanted: bool) -> i64 {
    if is_wanted { 1 } else { -1 }
}
