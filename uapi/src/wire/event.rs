//! Queue 1: what would be an interrupt.
//!
//! The driver leaves writable buffers of at least [`Event`]'s size; the device fills one for each event, in
//! the order in which they happened, with what the driver would have read from the interrupt registers. When
//! it has none left it drops events, counts them, and says so in the next. Registers are not changed by
//! that: a driver that reads the event lines itself still finds everything there.

use zerocopy::little_endian::{U16, U32, U64};

use crate::abi::{AbiStruct, Item, Section, abi};
use crate::codes;
use crate::hw::fault::{self, IoDartErrorInfo};
use crate::register::UnknownCode;

codes! {
    /// The type of an event.
    pub enum EventKind: u16, "event type" {
        /// The task manager. `source` is its event line; `words` are the line's registers: count, info,
        /// unknown, time, unknown.
        TaskManager = 1, "task manager";
        /// The DART. `source` is the window; `words` are error status, error address low and high,
        /// translation-buffer status, and zero; `info` is the descriptor.
        Dart = 2, "dart";
        /// The device aborted a queue that was stuck. `source` is the queue; `words` are the task manager's
        /// three error registers, the request's network id, and zero.
        QueueAborted = 3, "queue aborted";
        /// The device declared itself dead after a real fault; `words` and `info` are those of the fault.
        Dead = 4, "dead";
    }
}

abi! {
    /// One event.
    pub struct Event, "virtio_ane_event" {
        /// Type, VIRTIO_ANE_EVENT_.
        pub kind: U16,
        /// Line, window or queue.
        pub source: U16,
        /// Events that were dropped since the one before, for want of buffers.
        pub lost: U32,
        /// Number of the event; counts dropped ones too.
        pub sequence: U64,
        /// When, in ticks of the device's 24 MHz clock; its low half is what the registers show.
        pub timestamp: U64,
        /// The registers, by type.
        pub words: [U32; 5],
        /// The engine's status word at that moment; after a DART event, benign if it is 0x20 or 0xa0.
        pub engine_status: U32,
        /// The fault's descriptor; zero for other events.
        pub info: IoDartErrorInfo
    }
}

const _: () = assert!(size_of::<Event>() == 0xe0 && core::mem::offset_of!(Event, info) == 0x30);

impl Event {
    pub fn kind(&self) -> Result<EventKind, UnknownCode> {
        EventKind::try_from(self.kind.get())
    }
}

pub(super) const SECTION: Section = Section {
    title: "Queue 1: events",
    doc: "Each buffer has room for struct virtio_ane_event; the device fills one for each event. A shorter one \
          comes back with no bytes, and counts as dropped.",
    items: &[
        Item::enumeration("VIRTIO_ANE_EVENT_", "Types of events.", EventKind::CODES),
        fault::ITEMS[0],
        fault::ITEMS[1],
        fault::ITEMS[2],
        fault::ITEMS[3],
        fault::ITEMS[4],
        Item::Struct(&Event::LAYOUT),
    ],
};
