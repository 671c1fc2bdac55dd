//! Room: which tensors leave the chip for scratch memory when a task does not fit.
//!
//! A tensor that waits goes before one that the task touches: of those the one whose next use is farthest, and of these the
//! largest. A tensor that is moved lies in memory from its first task on, and the tasks before this one need windows for it. So
//! the program is placed again from its first task. What is moved stays moved, so this comes to an end.

use std::cmp::Reverse;

use super::{Lowering, Place, touched};
use crate::build::graph::{Home, Placement, ValueId};
use crate::build::pass::Pass;
use crate::build::shape::OnChip;

impl Lowering<'_> {
    /// Moves one tensor to scratch memory; false if there is none to move.
    pub(super) fn make_room(&mut self, task: usize, pass: &Pass) -> bool {
        let not_placed = touched(pass).filter(|&id| self.places[id].is_none() && self.may_move(id));
        let candidates = self.movable.iter().copied().chain(not_placed);
        let Some(id) = candidates.max_by_key(|&id| (self.next_use(id, task), self.size(id), Reverse(id)))
        else {
            return false;
        };
        if let Some(Place::Chip { base, .. }) = self.places[id] {
            let Ok(place) = self.take_scratch(task, pass, id) else { return false };
            self.chip.give_back(base);
            self.movable.retain(|&other| other != id);
            self.places[id] = Some(place);
        }
        self.in_scratch[id] = true;
        self.moved = true;
        true
    }

    /// True if the tensor would lie on chip, and nobody wishes that it does.
    fn may_move(&self, id: ValueId) -> bool {
        let value = self.graph.values[id];
        value.home == Home::Intermediate && value.placement == Placement::Auto && !self.in_scratch[id]
    }

    /// The first pass from this one on that touches a tensor.
    fn next_use(&self, id: ValueId, task: usize) -> usize {
        let uses = &self.uses[id];
        uses.get(uses.partition_point(|&at| at < task)).copied().unwrap_or(task)
    }

    /// Bytes of a tensor on chip.
    fn size(&self, id: ValueId) -> u64 {
        OnChip::dense(self.graph.values[id].shape).bytes
    }
}
