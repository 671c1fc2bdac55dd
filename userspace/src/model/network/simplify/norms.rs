//! A mean, what is left of it, one over the root of its mean square, and their product become one layer.
//!
//! The planar engine takes the deviation from differences that it does not round, and applies mean and deviation in one pass.

use super::Uses;
use crate::model::network::operation::{Join, JoinKind, Normalise, Operation, Post, Reduce, ReduceKind};
use crate::model::network::{Network, ValueId};

impl Network {
    /// Makes a product of differences and of what their squares say a norm. The layers before it are read no more.
    pub(super) fn becomes_norm(&mut self, at: usize, uses: &Uses) {
        let node = &self.nodes[at];
        let Operation::Join(Join { kind: JoinKind::Multiply, relu: false }) = node.operation else { return };
        let (first, second) = (node.inputs[0], node.inputs[1]);
        let norm = self.norm(first, second, uses).or_else(|| self.norm(second, first, uses));
        if let Some((x, normalise)) = norm {
            let node = &mut self.nodes[at];
            node.operation = Operation::Normalise(normalise);
            node.inputs = vec![x];
        }
    }

    /// The operand of a norm, if `factor` is the deviation of `centred`, and `centred` is the operand less its mean.
    fn norm(&self, centred: ValueId, factor: ValueId, uses: &Uses) -> Option<(ValueId, Normalise)> {
        let of_factor = &self.nodes[uses.alone(factor)?];
        let Operation::Reduce(Reduce {
            kind: ReduceKind::Mean,
            ref axes,
            square: true,
            epsilon,
            post: Post::ReciprocalSquareRoot,
        }) = of_factor.operation
        else {
            return None;
        };
        if of_factor.inputs[0] != centred || uses.reads[centred] != 2 {
            return None;
        }
        let difference = &self.nodes[uses.made_by[centred]?];
        let Operation::Join(Join { kind: JoinKind::Subtract, relu: false }) = difference.operation else {
            return None;
        };
        let (x, mean) = (difference.inputs[0], difference.inputs[1]);
        let of_mean = &self.nodes[uses.alone(mean)?];
        let plain = Reduce {
            kind: ReduceKind::Mean,
            axes: axes.clone(),
            square: false,
            epsilon: 0.0,
            post: Post::None,
        };
        let is_norm = of_mean.operation == Operation::Reduce(plain) && of_mean.inputs[0] == x;
        is_norm.then(|| (x, Normalise { axes: axes.clone(), epsilon }))
    }
}
