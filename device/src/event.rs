//! Events: the interrupts of the device, on their way to its owner.
//!
//! An event carries what a driver would read from the registers at that moment. The registers keep it too:
//! taking an event out of the device drains nothing that the guest sees. The queue is bounded; what a front
//! does not fetch in time is dropped, newest first, and counted.

use std::collections::VecDeque;

use ane_uapi::hw::dart::regs::Window;
use ane_uapi::hw::fault::IoDartErrorInfo;
use ane_uapi::hw::status::EngineStatus;
use ane_uapi::hw::tq::QueueId;

use crate::time::Ticks;
use crate::tm::events::{EventWords, Line};

/// Events that wait to be taken: every queue's both sets, on both lines, with room for faults.
pub const CAPACITY: usize = 256;

/// The engine's status word while a request runs.
///
/// Sources give the word of a powered and idle engine, `0xa0`, and say that any other state makes a fault
/// real; which bits change when work runs is Chosen.
pub const RUNNING: EngineStatus = EngineStatus::from_bits(0xa1);

/// A fault as the window's registers show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    pub window: Window,
    /// Error status, low and high half of the address, state of the translation buffer.
    pub words: [u32; 4],
    pub info: IoDartErrorInfo,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// The task manager put an event on a line.
    /// `waiting` counts those that waited then, this one included; `entry` is the event as its registers will show it.
    TaskManager { line: Line, waiting: u32, entry: EventWords },
    /// A window captured a fault.
    Dart(Fault),
    /// The device aborted a queue that was stuck.
    /// `errors` are the task manager's error registers.
    QueueAborted { queue: QueueId, errors: [u32; 3], nid: u8 },
    /// A fault has stopped the engine until it is reset.
    Dead(Fault),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    pub at: Ticks,
    /// The engine's status word then.
    pub engine_status: EngineStatus,
    pub what: Happening,
}

#[derive(Debug, Default)]
pub(crate) struct Waiting {
    events: VecDeque<Event>,
    lost: u64,
}

impl Waiting {
    /// Adds an event, or counts it if there is no room.
    pub(crate) fn push(&mut self, event: Event) {
        if self.events.len() < CAPACITY {
            self.events.push_back(event);
        } else {
            self.lost = self.lost.saturating_add(1);
        }
    }

    pub(crate) fn take(&mut self) -> VecDeque<Event> {
        std::mem::take(&mut self.events)
    }

    pub(crate) fn take_first(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    pub(crate) const fn lost(&self) -> u64 {
        self.lost
    }

    pub(crate) fn clear(&mut self) {
        self.events.clear();
    }
}
