//! Room: which tensors leave the chip for scratch memory when a task does not fit.
//!
//! First goes the tensor whose next use is farthest; among several with the same next use, the largest. A tensor that the task
//! itself touches is used now, so it goes last. A tensor that is moved lies in memory from its first task on, and the tasks
//! before this one need windows for it. So the program is placed again from its first task. What is moved stays moved, so
//! this comes to an end.

use std::cmp::Reverse;

use super::{Lowering, Place, touched};
use crate::build::graph::{Home, Placement, ValueId};
use crate::build::pass::Pass;
use crate::build::shape::OnChip;

/// Which tensor is moved first: the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    next_use: usize,
    bytes: u64,
    id: Reverse<ValueId>,
}

impl Lowering<'_> {
    /// Moves one tensor to scratch memory; false if there is none to move.
    pub(super) fn make_room(&mut self, task: usize, pass: &Pass) -> bool {
        let not_placed = touched(pass).filter(|&id| self.places[id].is_none() && self.may_move(id));
        let not_placed = not_placed.map(|id| self.rank(id, task));
        let Some(rank) = self.movable.last().copied().into_iter().chain(not_placed).max() else {
            return false;
        };
        let Reverse(id) = rank.id;
        if let Some(Place::Chip { base, .. }) = self.places[id] {
            let Ok(place) = self.take_scratch(task, pass, id) else { return false };
            self.chip.give_back(base);
            self.movable.remove(&rank);
            self.places[id] = Some(place);
        }
        self.in_scratch[id] = true;
        self.moved = true;
        true
    }

    /// True if the tensor would lie on chip, and nobody wishes that it does.
    fn may_move(&self, id: ValueId) -> bool {
        let value = self.graph.values[id];
        value.home == Home::Intermediate && value.placement() == Placement::Auto && !self.in_scratch[id]
    }

    /// The rank of a tensor in the eyes of a pass that is not done yet.
    pub(super) fn rank(&self, id: ValueId, task: usize) -> Rank {
        let uses = &self.uses[id];
        let next_use = uses.get(uses.partition_point(|&at| at < task)).copied().unwrap_or(task);
        let bytes = OnChip::dense(self.graph.values[id].shape).bytes;
        Rank { next_use, bytes, id: Reverse(id) }
    }
}
