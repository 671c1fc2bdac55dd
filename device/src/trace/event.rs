//! What can happen on a timeline.

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
    /// Which task of the request, from 0.
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
    RequestEnd {
        /// False if it failed or was aborted.
        succeeded: bool,
    },
    /// A request gave way after this task, and is to go on.
    RequestAside,
    /// A circuit moved bytes: a descriptor, a source, coefficients or a result.
    Transfer {
        circuit: Circuit,
        /// Bytes that it moved.
        bytes: u64,
    },
    Pass {
        /// The task's class, which says which engine.
        class: TaskClass,
        /// Channels, height and width of the result.
        shape: [u32; 3],
        /// The array's arithmetic; `None` of planar passes, which have one of their own.
        numerics: Option<Numerics>,
        /// Multiplications with a coefficient.
        macs: u64,
    },
    /// A part of the chip would have been busy; the stamps are virtual time since the last reset.
    Modelled {
        part: Part,
        /// Cycles of the engine's clock.
        cycles: u64,
    },
    Fault {
        circuit: Circuit,
        /// Low half of the address.
        address: u32,
    },
    /// No region of PE_MMU covered an address, which was therefore used as it is.
    Fallback { circuit: Circuit, address: u64, bytes: u64 },
    /// A circuit did not pay for its translations, because PE_MMU was switched to leave it out.
    Unpaid { circuit: Circuit },
    /// A task's transfers waited for PE_MMU, in modelled time.
    TranslationWait { picoseconds: u64 },
}
