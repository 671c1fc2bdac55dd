//! Task queues: eight waiting rooms, each for a request and the next one.
//!
//! A queue holds everything that a request is: its table of base addresses, its network id, and size and
//! address of its first descriptor. It has room for two such sets, so that a second request can be staged
//! while the first one runs. The firmware copies a set as one block of 35 words.
//!
//! The registers carry the names of seed 004 at its offsets, and there lies a snag: by place, the first set
//! ends in the registers called `REQ_SIZE2` and `REQ_ADDR2`, and the second in `REQ_SIZE1` and `REQ_ADDR1`.
//! The Linux driver goes by name: for its one request it fills BAR1 and `REQ_NID1`, and then `REQ_SIZE1` and
//! `REQ_ADDR1`, behind the second set. It can, because what starts a request is the pair in the [task
//! manager](super::tm). A [`Slot`] gives both views (facts F.2 and M, X-07).

use super::bar::{AddressWord, BarIndex};
use super::dart::stream::StreamId;
use super::index::index;
use super::nid::{BadNid, Nid};
use super::space::EngineOffset;
use crate::register::{Reg, Show};
use crate::{layout, registers};

index! {
    /// One of the eight task queues (seed 004).
    pub struct QueueId below 8, "task queue";
}

/// Container offset of the first queue (seed 004).
pub const BASE: EngineOffset = EngineOffset(0x1c2_5000);

/// Bytes from one queue to the next (seeds 000 and 004).
pub const STRIDE: u32 = 0x148;

/// Words of one set: 32 BARs, network id, size and address (facts F.2).
pub const SLOT_WORDS: u32 = 35;

/// The priority of each queue: what drivers write to `PRTY`, and the firmware's weights (facts F.2; derived).
pub const PRIORITIES: [u8; QueueId::COUNT as usize] = [1, 2, 3, 4, 5, 6, 0x1e, 0x1f];

impl QueueId {
    /// The queue that the Linux driver uses for everything, and m1n1 unless told otherwise (td 9).
    pub const LINUX: Self = Self(4);

    /// Where the queue's registers begin in the container.
    pub const fn base(self) -> EngineOffset {
        EngineOffset(BASE.0 + self.number() as u32 * STRIDE)
    }

    /// The priority that drivers give the queue.
    pub const fn priority(self) -> u8 {
        PRIORITIES[self.index()]
    }

    /// Container offset of a register of this queue.
    pub const fn register<T: crate::register::Word>(self, register: &Reg<T>) -> EngineOffset {
        EngineOffset(self.base().0 + register.offset())
    }

    /// The queue that `offset` lies in, and the offset from its start.
    pub const fn containing(offset: EngineOffset) -> Option<(Self, u32)> {
        match offset.0.checked_sub(BASE.0) {
            Some(inside) => match Self::new(inside / STRIDE) {
                Ok(queue) => Some((queue, inside % STRIDE)),
                Err(_) => None,
            },
            None => None,
        }
    }
}

layout! {
    /// The state of a queue.
    pub struct QueueStatus {
        /// In use; drivers set it before they fill the queue and clear it when the request is done.
        #[bits(1)] in_use: bool,
        #[bits(31)] __: u32
    }
}

layout! {
    /// Priority of a queue.
    pub struct QueuePriority {
        /// The larger number goes first.
        #[bits(8)] priority: u8 => Show::Hex; Predicted,
        #[bits(24)] __: u32
    }
}

layout! {
    /// Room for requests.
    pub struct FreeSpace {
        /// Sets that are free.
        #[bits(32)] slots: u32; Predicted
    }
}

layout! {
    /// State of a queue.
    pub struct QueueInfo {
        #[bits(32)] __: u32
    }
}

layout! {
    /// Network id of a request.
    pub struct RequestNid {
        /// The request is there.
        #[bits(1)] valid: bool,
        #[bits(7)] __: u8,
        /// The network id.
        #[bits(8)] nid: u8 => Show::Hex,
        #[bits(16)] __: u16
    }
}

impl RequestNid {
    /// The word of a request.
    pub const fn of(nid: Nid) -> Self {
        Self::new().with_valid(true).with_nid(nid.number())
    }

    pub const fn id(self) -> Result<Nid, BadNid> {
        Nid::new(self.nid() as u32)
    }
}

layout! {
    /// Length of a request's first descriptor.
    pub struct RequestSize {
        #[bits(16)] __: u16,
        /// Words of the first descriptor minus one.
        #[bits(16)] last_word: u16
    }
}

layout! {
    /// The stream of the queue's next request.
    ///
    /// This project's own register: real queues have nothing here. It is latched with each request at the
    /// push, so that one queue serves several contexts; a driver that does not know of it uses stream 0.
    pub struct RequestStream {
        /// The stream.
        #[bits(4)] stream: u8,
        #[bits(27)] __: u32,
        /// The next push starts no new request: the one that this stream has put aside, and whose network id the set holds,
        /// goes on behind its last task. Everything else of it is as it was when it was pushed first.
        #[bits(1)] goes_on: bool
    }
}

impl RequestStream {
    pub const fn stream_id(self) -> StreamId {
        StreamId::ALL[self.stream() as usize]
    }
}

registers! {
    /// One task queue: the registers of the first. Each further queue lies `0x148` bytes on, eight in all.
    pub block TASK_QUEUE "tq", base BASE, 0x000 + 0x148;

    /// The queue is in use, or free.
    STATUS "STATUS" @ 0x000: QueueStatus, ReadWrite, Derived, "seed 004; facts F.2";
    /// Priority of the queue.
    PRTY "PRTY" @ 0x010: QueuePriority, ReadWrite, Derived, "seed 004; facts F.2";
    /// Room for requests; both sets are free at reset (Chosen).
    FREE_SPACE "FREE_SPACE" @ 0x014: FreeSpace, ReadOnly, Derived, "seed 004" = 2;
    /// State of the queue; no bit of it is known.
    TQINFO "TQINFO" @ 0x01c: QueueInfo, ReadOnly, Derived, "seed 004";
    /// Base addresses of the first set.
    BAR1 "BAR1" @ 0x020 [32; 4]: AddressWord, ReadWrite, Derived, "seed 004";
    /// Network id of the first set.
    REQ_NID1 "REQ_NID1" @ 0x0a0: RequestNid, ReadWrite, Derived, "seed 004; td 9";
    /// First descriptor's length: of the first set by place, of the second by name.
    REQ_SIZE2 "REQ_SIZE2" @ 0x0a4: RequestSize, ReadWrite, Derived, "seed 004; td 9";
    /// First descriptor's address: of the first set by place, of the second by name.
    REQ_ADDR2 "REQ_ADDR2" @ 0x0a8: AddressWord, ReadWrite, Derived, "seed 004; td 9";
    /// Base addresses of the second set.
    BAR2 "BAR2" @ 0x0ac [32; 4]: AddressWord, ReadWrite, Derived, "seed 004";
    /// Network id of the second set.
    REQ_NID2 "REQ_NID2" @ 0x12c: RequestNid, ReadWrite, Derived, "seed 004; td 9";
    /// First descriptor's length: of the second set by place, of the first by name.
    REQ_SIZE1 "REQ_SIZE1" @ 0x130: RequestSize, ReadWrite, Derived, "seed 004; td 9";
    /// First descriptor's address: of the second set by place, of the first by name.
    REQ_ADDR1 "REQ_ADDR1" @ 0x134: AddressWord, ReadWrite, Derived, "seed 004; td 9";
    /// The stream of the queue's next request; this project's own.
    STREAM "STREAM" @ 0x138: RequestStream, ReadWrite, Chosen, "this project";
    /// Takes the queue back if the request with this network id is its first, the one that runs or would run next, and
    /// does nothing otherwise; this project's own. Clearing `STATUS` takes whatever runs by then.
    /// A request with this network id that was put aside is dropped without an event.
    TAKE_BACK "TAKE_BACK" @ 0x13c: RequestNid, Trigger, Chosen, "this project";
    /// Has the running request, if it is the one with this network id, give way after the task that it is at: it is put
    /// aside, what waits in the queue comes back, and each has an event of its own. Reads as the network id of a running request
    /// that was asked and has not ended the task; as 0 if nobody gives way. This project's own.
    GIVE_WAY "GIVE_WAY" @ 0x140: RequestNid, ReadWrite, Chosen, "this project";
}

/// One of the two sets of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Slot {
    /// BAR1 and what belongs to it.
    First,
    /// BAR2 and what belongs to it.
    Second,
}

/// The rule by which a size and an address belong to a BAR of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pairing {
    /// Those that follow in memory: the firmware's block of 35 words.
    ByPlace,
    /// Those of the same number: the Linux driver's way.
    ByName,
}

/// Offsets of a set's registers from the start of its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SlotRegisters {
    /// BAR 0; the others follow.
    pub bars: u32,
    pub nid: u32,
    /// Length of the first descriptor.
    pub size: u32,
    /// Address of the first descriptor.
    pub address: u32,
}

impl Slot {
    /// Both, in the order of their addresses.
    pub const ALL: [Self; 2] = [Self::First, Self::Second];

    /// Where the set's registers are.
    pub const fn registers(self, pairing: Pairing) -> SlotRegisters {
        let (bars, nid) = match self {
            Self::First => (BAR1.offset(), REQ_NID1.offset()),
            Self::Second => (BAR2.offset(), REQ_NID2.offset()),
        };
        let (size, address) = match (self, pairing) {
            (Self::First, Pairing::ByPlace) | (Self::Second, Pairing::ByName) => {
                (REQ_SIZE2.offset(), REQ_ADDR2.offset())
            }
            (Self::First, Pairing::ByName) | (Self::Second, Pairing::ByPlace) => {
                (REQ_SIZE1.offset(), REQ_ADDR1.offset())
            }
        };
        SlotRegisters { bars, nid, size, address }
    }
}

impl SlotRegisters {
    pub const fn bar(&self, bar: BarIndex) -> u32 {
        self.bars + 4 * bar.number() as u32
    }
}

const _: () = {
    // By place, the two sets are two runs of 35 words, and the second follows the first.
    let first = Slot::First.registers(Pairing::ByPlace);
    let second = Slot::Second.registers(Pairing::ByPlace);
    assert!(first.nid == first.bars + 4 * BarIndex::COUNT as u32);
    assert!(first.size == first.nid + 4 && first.address == first.size + 4);
    assert!(second.bars == first.bars + 4 * SLOT_WORDS);
    assert!(second.nid == first.nid + 4 * SLOT_WORDS && second.address == first.address + 4 * SLOT_WORDS);
    assert!(second.bars + 4 * SLOT_WORDS == STREAM.offset());
    assert!(TASK_QUEUE.len == STRIDE);
    // All eight lie in their part of the container, which ends at 0x1c28000.
    assert!(BASE.0 + QueueId::COUNT as u32 * STRIDE <= 0x1c2_8000);
};
