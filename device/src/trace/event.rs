//! The events of a timeline.

use ane_uapi::hw::nid::Nid;
use ane_uapi::hw::td::common::TaskClass;
use ane_uapi::hw::tq::QueueId;

use crate::dart::Circuit;
use crate::engine::numerics::Numerics;
use crate::timing::phases::Part;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Task {
    pub queue: QueueId,
    pub nid: Nid,
    /// Index of the task in its request, from 0.
    pub index: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    pub task: Task,
    pub what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A request began, and the task's index is 0; or one that gave way goes on with this task.
    RequestBegin { tasks: u16 },
    /// A request ended; the task is the last one that was begun.
    /// It has not succeeded if it failed or was aborted.
    RequestEnd { succeeded: bool },
    /// A request gave way after this task, and is to go on.
    RequestAside,
    /// A circuit moved bytes: a descriptor, a source, coefficients or a result.
    Transfer { circuit: Circuit, bytes: u64 },
    /// The class says which engine. `shape` has channels, height and width of the result. Planar passes have an
    /// arithmetic of their own, so their `numerics` is `None`. `macs` counts multiplications with a coefficient.
    Pass { class: TaskClass, shape: [u32; 3], numerics: Option<Numerics>, macs: u64 },
    /// A part of the chip would have been busy; the stamps are virtual time since the last reset.
    /// `cycles` are of the engine's clock.
    Modelled { part: Part, cycles: u64 },
    /// `address` is the low half.
    Fault { circuit: Circuit, address: u32 },
    /// No region of PE_MMU covered an address, which was therefore used as it is.
    Fallback { circuit: Circuit, address: u64, bytes: u64 },
    /// A circuit did not pay for its translations, because PE_MMU was switched to leave it out.
    Unpaid { circuit: Circuit },
    /// A task's transfers waited for PE_MMU, in modelled time.
    TranslationWait { picoseconds: u64 },
}
