//! A square before a reduction, and an addend, a root and a reciprocal behind it, become part of it.
//!
//! The planar engine does all of that before it rounds to a half. As layers of their own, the squares of a norm overflow for
//! numbers above 256, and a sum of squares overflows for far smaller ones.

use super::Uses;
use crate::model::network::operation::{Join, JoinKind, Map, Operation, Post, Reduce, ReduceKind};
use crate::model::network::{Network, ValueId};

impl Network {
    /// Takes layer `at` into the reduction before it, or has the square before it become part of it. The layer that stays.
    pub(super) fn joins_reduction(&mut self, at: usize, uses: &Uses) -> Option<usize> {
        let node = &self.nodes[at];
        match &node.operation {
            Operation::Reduce(reduce) => {
                let reduce = reduce.clone();
                self.takes_square(reduce, uses.alone(node.inputs[0])?)
            }
            &Operation::Map(Map::Affine { scale: 1.0, offset }) => {
                self.takes_addend(uses.alone(node.inputs[0])?, offset)
            }
            Operation::Join(Join { kind: JoinKind::Add, relu: false }) => {
                let known = |input: ValueId| self.known(input).and_then(|array| array.only());
                let (first, second) = (node.inputs[0], node.inputs[1]);
                let (x, addend) = match (known(first), known(second)) {
                    (None, Some(addend)) => (first, addend),
                    (Some(addend), None) => (second, addend),
                    _ => return None,
                };
                let stays = self.dims(x) == self.dims(node.output);
                if stays { self.takes_addend(uses.alone(x)?, addend) } else { None }
            }
            Operation::Map(Map::ReciprocalSquareRoot) => {
                self.takes_post(uses.alone(node.inputs[0])?, Post::ReciprocalSquareRoot)
            }
            Operation::Map(Map::Reciprocal) => self.takes_reciprocal(node.inputs[0], uses),
            _ => None,
        }
    }

    /// A quotient by a reduction, or by the root of one, becomes a product with what the reduction makes of itself.
    pub(super) fn divides_by_reduction(&mut self, at: usize, uses: &Uses) {
        let node = &self.nodes[at];
        let Operation::Join(Join { kind: JoinKind::Divide, relu }) = node.operation else { return };
        let Some(reduction) = self.takes_reciprocal(node.inputs[1], uses) else { return };
        let factor = self.nodes[reduction].output;
        let node = &mut self.nodes[at];
        node.operation = Operation::Join(Join { kind: JoinKind::Multiply, relu });
        node.inputs[1] = factor;
    }

    /// Has the reduction that makes `value`, or whose root is `value`, make its reciprocal. The root is read no more.
    fn takes_reciprocal(&mut self, value: ValueId, uses: &Uses) -> Option<usize> {
        let producer = uses.alone(value)?;
        match self.nodes[producer].operation {
            Operation::Map(Map::SquareRoot) => {
                let reduction = uses.alone(self.nodes[producer].inputs[0])?;
                self.takes_post(reduction, Post::ReciprocalSquareRoot)
            }
            _ => self.takes_post(producer, Post::Reciprocal),
        }
    }

    fn takes_square(&mut self, reduce: Reduce, producer: usize) -> Option<usize> {
        let Reduce { kind: ReduceKind::Sum | ReduceKind::Mean, square: false, .. } = reduce else {
            return None;
        };
        let node = &mut self.nodes[producer];
        let is_square = match node.operation {
            Operation::Map(Map::Square) => true,
            Operation::Join(Join { kind: JoinKind::Multiply, relu: false }) => {
                node.inputs[0] == node.inputs[1]
            }
            _ => false,
        };
        if !is_square {
            return None;
        }
        node.inputs.truncate(1);
        node.operation = Operation::Reduce(Reduce { square: true, ..reduce });
        Some(producer)
    }

    fn takes_addend(&mut self, producer: usize, addend: f64) -> Option<usize> {
        let reduce = self.sum(producer)?;
        if reduce.epsilon != 0.0 {
            return None;
        }
        reduce.epsilon = addend;
        Some(producer)
    }

    fn takes_post(&mut self, producer: usize, post: Post) -> Option<usize> {
        self.sum(producer)?.post = post;
        Some(producer)
    }

    /// A reduction by sums behind which nothing stands yet but an addend.
    fn sum(&mut self, producer: usize) -> Option<&mut Reduce> {
        match &mut self.nodes[producer].operation {
            Operation::Reduce(
                reduce @ Reduce { kind: ReduceKind::Sum | ReduceKind::Mean, post: Post::None, .. },
            ) => Some(reduce),
            _ => None,
        }
    }
}
