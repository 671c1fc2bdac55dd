//! Queue 0: requests, of which most are batches of register accesses.
//!
//! A request is one descriptor chain: a readable part with a [`Header`] and what belongs to it, then a
//! writable part for the [`Response`] and, after a batch, the values that were read. Requests take effect in
//! the order in which they were made available, and so do the operations of a batch; each completes without
//! waiting for work that it started. There is no operation that waits for a register to change: an event
//! tells about that.
//!
//! Lengths and counts are checked before anything is done, so a malformed request has no effect. In a
//! batch, a refused operation ends it: those before it have happened, those behind it have not, and the
//! response says where it stopped. A writable part too short even for the response gets no bytes back.

use zerocopy::little_endian::{U16, U32, U64};

use crate::abi::{AbiStruct, Item, Section, abi, constants};
use crate::codes;
use crate::register::UnknownCode;

constants! {
    CONSTANTS;
    /// Most operations of one batch: twenty submissions, or both event lines read to their ends, in one kick.
    /// A device says in config space how many it takes.
    pub const BATCH_MAX: u32 = 1024, "VIRTIO_ANE_BATCH_MAX";
    /// The least that any device takes: one submission, which writes some forty registers.
    pub const BATCH_MIN: u32 = 64, "VIRTIO_ANE_BATCH_MIN";
    /// No operation failed.
    pub const NO_INDEX: u32 = 0xffffffff, "VIRTIO_ANE_NO_INDEX";
}

codes! {
    /// The type of a request.
    pub enum RequestKind: u16, "request type" {
        /// Register accesses; `count` operations follow the header.
        Batch = 1, "batch";
        /// PE_MMU takes regions in; `count` entries follow.
        PeMmuMap = 2, "pe mmu map";
        /// PE_MMU takes regions out; `count` ranges follow.
        PeMmuUnmap = 3, "pe mmu unmap";
        /// Back to the state after power-on; nothing follows. Completes when no work of before can touch
        /// memory any more. Works also when the device is dead.
        Reset = 4, "reset";
        /// Checking mode learns what mappings are for; `count` declarations follow.
        Declare = 5, "declare";
    }
}

codes! {
    /// The type of an operation.
    pub enum Access: u16, "operation" {
        /// Reads the register; its value stands in the response.
        Read = 0, "read";
        /// Writes the register.
        Write = 1, "write";
    }
}

codes! {
    /// How a request ended.
    pub enum Status: u32, "status" {
        /// Everything was done.
        Done = 0, "done";
        /// No such type of request; `detail` is the type.
        UnknownKind = 1, "unknown kind";
        /// A flag or reserved field is not zero; `detail` is the byte where it starts.
        ReservedSet = 2, "reserved set";
        /// The readable part ends inside the header, or before what `count` announces; `detail` is its
        /// length.
        TooShort = 3, "too short";
        /// The readable part goes on behind what `count` announces; `detail` is its length.
        TooLong = 4, "too long";
        /// `count` is more than the device takes; `detail` is what it takes.
        TooMany = 5, "too many";
        /// The writable part has no room for all values; `detail` is the length it needs.
        NoRoom = 6, "no room";
        /// The operation is none; `detail` is its number.
        UnknownAccess = 7, "unknown access";
        /// The offset is no multiple of four; `detail` is the offset.
        Misaligned = 8, "misaligned";
        /// The offset lies outside the container; `detail` is the offset.
        OutsideContainer = 9, "outside container";
        /// Nothing is known to be at the offset, and the device is strict; `detail` is the offset.
        Unmodelled = 10, "unmodelled";
        /// The device declared itself dead; only reset helps.
        Dead = 11, "dead";
        /// The device does not have the block that the message is for.
        Absent = 12, "absent";
        /// An entry wraps around the end of the address space.
        Wraps = 13, "wraps";
        /// PE_MMU would have to keep more regions than it does, or checking mode more mappings.
        NoRegions = 14, "no regions";
        /// The device's own failure, not the driver's; its log says more.
        Internal = 15, "internal";
        /// A declaration names a stream, a range or a usage that does not exist.
        BadEntry = 16, "bad entry";
    }
}

abi! {
    /// The beginning of every request.
    pub struct Header, "virtio_ane_request" {
        /// Type, VIRTIO_ANE_REQUEST_.
        pub kind: U16,
        /// Must be zero: none is defined.
        pub flags: U16,
        /// Number of operations or entries that follow.
        pub count: U32,
        /// Comes back in the response.
        pub cookie: U64
    }
}

abi! {
    /// One register access.
    pub struct Op, "virtio_ane_op" {
        /// VIRTIO_ANE_READ or VIRTIO_ANE_WRITE.
        pub access: U16,
        /// Must be zero.
        pub reserved: U16,
        /// Offset in the engine's container, a multiple of four.
        pub offset: U32,
        /// The value to write. Must be zero for a read.
        pub value: U32
    }
}

abi! {
    /// The answer of the device. After a batch the values follow, one le32 for each read that was done.
    pub struct Response, "virtio_ane_response" {
        /// How it ended, VIRTIO_ANE_STATUS_.
        pub status: U32,
        /// Operations that were done, or entries that took effect.
        pub done: U32,
        /// Index of the operation or entry that was refused, or VIRTIO_ANE_NO_INDEX.
        pub index: U32,
        /// More about the status, see there; otherwise zero.
        pub detail: U32,
        /// That of the request; zero if its header was cut off.
        pub cookie: U64
    }
}

const _: () = {
    assert!(size_of::<Header>() == 16 && size_of::<Op>() == 12 && size_of::<Response>() == 24);
    assert!(BATCH_MAX <= u16::MAX as u32 && BATCH_MIN <= BATCH_MAX);
};

impl Header {
    pub const fn new(kind: RequestKind, count: u32, cookie: u64) -> Self {
        Self {
            kind: U16::new(kind as u16),
            flags: U16::ZERO,
            count: U32::new(count),
            cookie: U64::new(cookie),
        }
    }

    pub fn kind(&self) -> Result<RequestKind, UnknownCode> {
        RequestKind::try_from(self.kind.get())
    }
}

impl Op {
    pub const fn read(offset: u32) -> Self {
        Self {
            access: U16::new(Access::Read as u16),
            reserved: U16::ZERO,
            offset: U32::new(offset),
            value: U32::ZERO,
        }
    }

    pub const fn write(offset: u32, value: u32) -> Self {
        Self {
            access: U16::new(Access::Write as u16),
            reserved: U16::ZERO,
            offset: U32::new(offset),
            value: U32::new(value),
        }
    }

    pub fn access(&self) -> Result<Access, UnknownCode> {
        Access::try_from(self.access.get())
    }
}

impl Response {
    /// The answer to a request of which everything, `done` things, was done.
    pub const fn done(done: u32, cookie: u64) -> Self {
        Self::new(Status::Done, done, NO_INDEX, 0, cookie)
    }

    /// The answer to a request that ended with `status` at `index`, after `done` things.
    pub const fn new(status: Status, done: u32, index: u32, detail: u32, cookie: u64) -> Self {
        Self {
            status: U32::new(status as u32),
            done: U32::new(done),
            index: U32::new(index),
            detail: U32::new(detail),
            cookie: U64::new(cookie),
        }
    }

    /// How the request ended.
    pub fn status(&self) -> Result<Status, UnknownCode> {
        Status::try_from(self.status.get())
    }
}

pub(super) const SECTION: Section = Section {
    title: "Queue 0: requests",
    doc: "One descriptor chain for each: a readable part with struct virtio_ane_request and what follows it, \
          a writable part for struct virtio_ane_response and the values read.",
    items: &[
        Item::Constants(CONSTANTS),
        Item::enumeration("VIRTIO_ANE_REQUEST_", "Types of requests.", RequestKind::CODES),
        Item::enumeration("VIRTIO_ANE_", "Operations of a batch.", Access::CODES),
        Item::enumeration("VIRTIO_ANE_STATUS_", "How a request ended.", Status::CODES),
        Item::Struct(&Header::LAYOUT),
        Item::Struct(&Op::LAYOUT),
        Item::Struct(&Response::LAYOUT),
    ],
};
