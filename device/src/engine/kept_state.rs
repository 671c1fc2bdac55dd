//! The state that an engine keeps from one task to the next: which on-chip memory is known, and a result that is on its way.

use ane_uapi::hw::nid::Nid;
use ane_uapi::hw::tq::QueueId;

use super::l2::Unknown;
use super::plan::operand::Shape;
use crate::timing::Before;

/// The unknown granules of on-chip memory, and the result that goes from one task to the next.
#[derive(Debug, Default)]
pub(super) struct Chip {
    pub(super) unknown: Unknown,
    /// The granules that will be unknown after the batches that were checked.
    pub(super) foreseen: Unknown,
    /// The result that the previous task has passed on.
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

/// The part of it that a request takes along when it gives way.
#[derive(Debug, Default)]
pub struct Kept {
    pub(super) chip: Chip,
    pub(super) before: Option<Before>,
}
