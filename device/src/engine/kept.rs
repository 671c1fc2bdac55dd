//! What an engine keeps from one task to the next: what it knows of on-chip memory, and a result that is on its way.

use ane_uapi::hw::nid::Nid;
use ane_uapi::hw::tq::QueueId;

use super::l2::Unknown;
use super::plan::operand::Shape;
use crate::timing::Before;

/// What is known of on-chip memory, and what is on its way from one task to the next.
#[derive(Debug, Default)]
pub(super) struct Chip {
    pub(super) unknown: Unknown,
    /// What will be unknown after those of several batches that were checked.
    pub(super) foreseen: Unknown,
    /// What the task before has passed on.
    pub(super) passed: Option<Passed>,
}

/// A result that goes straight to the next task of the same request.
#[derive(Debug)]
pub(super) struct Passed {
    pub(super) queue: QueueId,
    pub(super) nid: Nid,
    /// The task that takes it.
    pub(super) index: u16,
    pub(super) shape: Shape,
    pub(super) values: Vec<u16>,
}

/// What a request that gives way takes along of it.
#[derive(Debug, Default)]
pub struct Kept {
    pub(super) chip: Chip,
    pub(super) before: Option<Before>,
}
