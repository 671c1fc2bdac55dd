//! The task manager: what starts work, and what reports that it is done.
//!
//! Three registers at its top take a request, the address of its first descriptor and its size, and the
//! third starts it: the value names the queue and the priority. The manager picks among the queues by
//! priority. When something happens it is counted on two event lines, each a count and four words
//! per event; the driver reads the events of both and acknowledges. A request has ended when both lines say so.

pub mod error;

use thiserror::Error;

use self::error::{ErrorPlace, ErrorValue, ErrorWord};
use super::bar::AddressWord;
use super::nid::{BadNid, Nid};
use super::space::EngineOffset;
use super::td::words::Unexplained;
use super::tq::QueueId;
use crate::register::Show;
use crate::{codes, layout, registers};

/// Event lines (facts F.2; derived). Each request ends with an event on both (contract 2; derived).
pub const LINES: u16 = 2;

/// Ticks per second of the clock that events are stamped with.
///
/// Seed 004 writes "24Hz"; the clock runs at 24 MHz (facts M, X-10).
pub const TIMESTAMP_HZ: u32 = 24_000_000;

layout! {
    /// Size of a request.
    pub struct RequestInfo {
        /// Tasks in the chain; not zero.
        #[bits(16)] tasks: u16,
        /// Words of the first descriptor minus one (contract 5.2: up to 65536 words are accepted).
        #[bits(16)] last_word: u16
    }
}

/// Most bytes of a first descriptor: what the sixteen bits of its length can say.
pub const FIRST_BYTES_MAX: u32 = 4 << 16;

/// A chain of tasks that the request register cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BadRequest {
    #[error("request of {0} tasks is not between 1 and 65535")]
    Tasks(u32),
    /// The descriptor is empty, no whole number of words, or too long.
    #[error("first descriptor of {0:#x} bytes is not between 1 and 65536 words")]
    Bytes(u32),
}

impl RequestInfo {
    /// The word for a chain of `tasks` tasks whose first descriptor has `first_bytes` bytes.
    ///
    /// # Examples
    ///
    /// ```
    /// use ane_uapi::hw::tm::RequestInfo;
    ///
    /// assert_eq!(RequestInfo::of(0x274, 1).map(RequestInfo::into_bits), Ok(0x009c_0001));
    /// ```
    pub const fn of(first_bytes: u32, tasks: u32) -> Result<Self, BadRequest> {
        if tasks == 0 || tasks > u16::MAX as u32 {
            return Err(BadRequest::Tasks(tasks));
        }
        if first_bytes == 0 || !first_bytes.is_multiple_of(4) || first_bytes > FIRST_BYTES_MAX {
            return Err(BadRequest::Bytes(first_bytes));
        }
        Ok(Self::new().with_tasks(tasks as u16).with_last_word((first_bytes / 4 - 1) as u16))
    }

    /// Bytes of the first descriptor.
    pub const fn first_bytes(self) -> u32 {
        4 * (self.last_word() as u32 + 1)
    }
}

layout! {
    /// A push: the queue to start, and its priority.
    pub struct Push {
        /// Priority; drivers write the queue's own.
        #[bits(8)] priority: u8 => Show::Hex,
        /// The queue.
        #[bits(3)] queue: u8,
        #[bits(21)] __: u32
    }
}

impl Push {
    /// The word that starts `queue` at its own priority.
    pub const fn of(queue: QueueId) -> Self {
        Self::new().with_priority(queue.priority()).with_queue(queue.number())
    }

    pub const fn queue_id(self) -> QueueId {
        QueueId::ALL[self.queue() as usize]
    }
}

layout! {
    /// Switches of the queues.
    pub struct QueueEnable {
        #[bits(12)] __: u16,
        /// The queues run; every driver sets it.
        #[bits(1)] enable: bool,
        /// Not explained by any source; m1n1 sets it, Linux does not.
        #[bits(1)] m1n1: bool,
        #[bits(18)] __: u32
    }
}

layout! {
    /// Events that wait on a line.
    pub struct EventCount {
        /// How many.
        #[bits(32)] events: u32
    }
}

codes! {
    /// How a request ended, as the first word of its events says.
    pub enum EventCode: u8, "task manager event" {
        /// Every task ran (contract 2; derived).
        Done = 0x05, "done";
        /// It was put aside, or came back from its set, because its queue was asked to give way (Chosen; no driver hears of it that
        /// does not ask). The word has the number of its tasks that have ended since it was pushed first; it is 0 if none ran
        /// since the last push.
        Aside = 0xfe, "put aside";
        /// The task that the word names did not (Chosen: no source has the word of a failure; a driver that waits for
        /// `Done` does not take it for one, and sees a request that never ends).
        Failed = 0xff, "failed";
    }
}

layout! {
    /// The facts of an event.
    pub struct EventInfo {
        /// Index of the task that was the last to run: tasks minus one where all of them did.
        #[bits(16)] task: u16,
        /// Network id of the request.
        #[bits(8)] nid: u8 => Show::Hex,
        /// How it ended.
        #[bits(8)] code: u8 => Show::Codes(EventCode::CODES)
    }
}

impl EventInfo {
    /// The word of a request that ended with this task.
    pub const fn of(code: EventCode, nid: u8, task: u16) -> Self {
        Self::new().with_code(code as u8).with_nid(nid).with_task(task)
    }

    /// True if every task of the request ran.
    pub const fn is_done(self) -> bool {
        self.code() == EventCode::Done as u8
    }

    /// True if the request gave way, and can go on.
    pub const fn is_aside(self) -> bool {
        self.code() == EventCode::Aside as u8
    }

    pub const fn id(self) -> Result<Nid, BadNid> {
        Nid::new(self.nid() as u32)
    }
}

layout! {
    /// When an event happened.
    pub struct EventTime {
        /// Ticks of a free-running 24 MHz clock.
        #[bits(32)] ticks: u32
    }
}

layout! {
    /// The request that was taken last.
    pub struct Committed {
        #[bits(16)] __: u16,
        /// Its network id.
        #[bits(8)] nid: u8 => Show::Hex,
        #[bits(8)] __: u8
    }
}

layout! {
    /// State of the manager.
    pub struct ManagerStatus {
        /// Nothing runs; drivers poll this.
        #[bits(1)] idle: bool,
        /// Other states; m1n1 takes `0x22222222` of the whole word for a good sign.
        #[bits(31)] other: u32 => Show::Hex
    }
}

layout! {
    /// First word of interrupt enables.
    pub struct InterruptEnable {
        #[bits(26)] __: u32,
        /// Not explained by any source; drivers set it.
        #[bits(1)] events: bool; Predicted,
        #[bits(5)] __: u8
    }
}

layout! {
    /// Acknowledgement of interrupts.
    pub struct InterruptAck {
        #[bits(1)] __: bool,
        /// The events were read.
        #[bits(1)] events: bool,
        #[bits(30)] __: u32
    }
}

layout! {
    /// Second word of interrupt enables.
    pub struct LineEnable {
        #[bits(1)] __: bool,
        /// The lines, one bit each; drivers set both.
        #[bits(2)] lines: u8 => Show::Hex; Predicted,
        #[bits(29)] __: u32
    }
}

registers! {
    /// The task manager.
    pub block TASK_MANAGER "tm", base EngineOffset(0x1c2_4000), 0x000 + 0x1000;

    /// Device address of the request's first descriptor.
    REQUEST_ADDRESS "RequestAddress" @ 0x000: AddressWord, ReadWrite, Derived, "facts F.2; td 9";
    /// Size of the request.
    REQUEST_INFO "RequestInfo" @ 0x004: RequestInfo, ReadWrite, Derived, "facts F.2; td 9";
    /// Starts the request.
    PUSH "Push" @ 0x008: Push, Trigger, Derived, "facts F.2; td 9";
    /// Switches the queues on.
    QUEUE_ENABLE "QueueEnable" @ 0x00c: QueueEnable, ReadWrite, Derived, "facts F.2; td 9";
    /// Events that wait, one register for each line.
    EVENT_COUNT "EventCount" @ 0x014 [2; 0x14]: EventCount, ReadOnly, Derived, "facts F.2; td 9";
    /// Takes the next event of the line; the three registers behind it then show the rest of the same event
    /// (Chosen: drivers read all four once for each event, and any of them could be the one that counts).
    EVENT_INFO "EventInfo" @ 0x018 [2; 0x14]: EventInfo, Pop, Derived, "facts F.2; contract 2";
    /// A word of the event that no source explains. For a request that is done it holds the modelled time on the chip,
    /// in ticks of 24 MHz; for one that failed, the value of `Error` at that moment (Chosen).
    EVENT_WORD_1 "EventWord1" @ 0x01c [2; 0x14]: Unexplained, ReadOnly, Derived, "facts F.2; td 9";
    /// When the event happened.
    EVENT_TIME "EventTime" @ 0x020 [2; 0x14]: EventTime, ReadOnly, Derived, "facts F.2; td 9";
    /// A word of the event that no source explains. For a request that failed it holds the value of `ErrorValue` at
    /// that moment (Chosen).
    EVENT_WORD_3 "EventWord3" @ 0x024 [2; 0x14]: Unexplained, ReadOnly, Derived, "facts F.2; td 9";
    /// The request that was taken last.
    COMMITTED "Committed" @ 0x044: Committed, ReadOnly, Derived, "facts F.2; td 9";
    /// State of the manager; idle at reset (Chosen).
    STATUS "Status" @ 0x054: ManagerStatus, ReadOnly, Derived, "facts F.2; td 9" = 1;
    /// The first of three error registers, of which no source explains a bit: why the last request that failed did, until
    /// the next one or a reset. That and how they say so is Chosen.
    ERROR "Error" @ 0x058: ErrorWord, ReadOnly, Derived, "facts F.2; td 9";
    /// The task and the register of the error.
    ERROR_PLACE "ErrorPlace" @ 0x05c: ErrorPlace, ReadOnly, Derived, "facts F.2; td 9";
    /// The register's value, or the address that faulted.
    ERROR_VALUE "ErrorValue" @ 0x060: ErrorValue, ReadOnly, Derived, "facts F.2; td 9";
    /// First word of interrupt enables; drivers write `0x4000000`.
    INTERRUPT_ENABLE "InterruptEnable" @ 0x068: InterruptEnable, ReadWrite, Derived, "facts F.2; td 9";
    /// Acknowledges interrupts; reads show what is to be acknowledged (Chosen).
    INTERRUPT_ACK "InterruptAck" @ 0x06c: InterruptAck, WriteOneToClear, Derived, "facts F.2; td 9";
    /// Second word of interrupt enables; drivers write `0x6`.
    LINE_ENABLE "LineEnable" @ 0x070: LineEnable, ReadWrite, Derived, "facts F.2; td 9";
}

const _: () = {
    assert!(EVENT_COUNT.info.count == LINES);
    assert!(EventInfo::of(EventCode::Done, 0x40, 2).into_bits() == 0x0540_0002);
    assert!(QueueEnable::new().with_enable(true).into_bits() == 0x1000);
    assert!(QueueEnable::new().with_enable(true).with_m1n1(true).into_bits() == 0x3000);
    assert!(InterruptEnable::new().with_events(true).into_bits() == 0x400_0000);
    assert!(InterruptAck::new().with_events(true).into_bits() == 2);
    assert!(LineEnable::new().with_lines(0b11).into_bits() == 6);
};
