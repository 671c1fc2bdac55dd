//! The firmware's share: what the coprocessor of a real engine does for a driver when programs are loaded.
//!
//! It keeps the aperture configuration of [`super::program`], moves buffers into its aperture, asserts that their
//! device addresses have no high half, writes what comes out to the BARs of a queue or, for BARs that are flagged wide,
//! to a table in software, establishes mappings before they are needed, and keeps pools of output buffers that are
//! recycled over chained calls. The arithmetic is in [`super::rebase`].
//!
//! The virtual engine runs no firmware. These registers stand for it, so that a driver may leave its share to the
//! device; one that does it itself, as the public Linux drivers have to, never touches them. Only the three fields of the
//! aperture configuration have known places, in an object that the block stands for; everything else is chosen.

use super::program::APERTURE_CONFIG_OFFSET;
use super::space::EngineOffset;
use crate::register::Show;
use crate::{codes, layout, registers};

/// Buffers that the firmware keeps at a time (chosen: far more than one process chains).
pub const BUFFERS: usize = 1024;

/// Pools that it keeps at a time (chosen).
pub const POOLS: usize = 64;

/// Requests in flight at a time (seed 000; measured).
pub const IN_FLIGHT_MAX: u32 = 127;

codes! {
    /// An order to the firmware.
    pub enum Order: u8, "firmware order" {
        /// Rebases the buffer at ADDRESS and SIZE, and binds it to a BAR of a queue.
        Bind = 1, "bind";
        /// Rebases the buffer at ADDRESS and SIZE ahead of its use, and puts it into a pool; gives its number.
        Premap = 2, "premap";
        /// Makes a pool; gives its number.
        PoolCreate = 3, "pool create";
        /// Ends a pool whose buffers are all available, and forgets them.
        PoolDestroy = 4, "pool destroy";
        /// Takes an available buffer of a pool into execution; gives its number and where it lies.
        Take = 5, "take";
        /// The execution of buffer ID is over, and its reader has it.
        Return = 6, "return";
        /// The reader of buffer ID is done with it.
        Recycle = 7, "recycle";
        /// A request begins.
        Begin = 8, "begin";
        /// A request has ended.
        End = 9, "end";
    }
}

codes! {
    /// The firmware's answer to an order.
    pub enum Answer: u8, "firmware answer" {
        /// It was carried out.
        Done = 0, "done";
        /// There is no such order, or no such kind of buffer.
        Unknown = 1, "unknown";
        /// The device address has bits above 31.
        HighAddress = 2, "high address";
        /// No region is mapped yet.
        NotMapped = 3, "not mapped";
        /// The buffer does not lie in the region from end to end.
        OutsideRegion = 4, "outside region";
        /// The region does not fit into the address space.
        Wraps = 5, "wraps";
        /// The rebased address has bits above 31, and the BAR is not flagged wide.
        NeedsWideBar = 6, "needs a wide bar";
        /// There is no such pool, or no such buffer.
        Nobody = 7, "nobody";
        /// There is no room for more.
        Full = 8, "full";
        /// The buffer, or one of the pool's, is in another state than the order needs.
        WrongState = 9, "wrong state";
    }
}

layout! {
    /// An order.
    pub struct OrderWord {
        /// The order.
        #[bits(8)] order: u8 => Show::Codes(Order::CODES),
        /// The kind of buffer.
        #[bits(3)] buffer: u8 => Show::Codes(super::rebase::ClampedBuffer::CODES),
        /// The BAR takes wide addresses: its own go to the table in software.
        #[bits(1)] wide: bool,
        /// The queue.
        #[bits(3)] queue: u8,
        /// The BAR.
        #[bits(5)] bar: u8,
        #[bits(12)] __: u16
    }
}

layout! {
    /// Half of a number of 64 bits.
    pub struct Half {
        /// Bits of the number.
        #[bits(32)] half: u32 => Show::Hex
    }
}

layout! {
    /// The number of a pool or a buffer.
    pub struct Number {
        /// The number.
        #[bits(32)] number: u32
    }
}

layout! {
    /// The answer to the last order.
    pub struct AnswerWord {
        /// It.
        #[bits(8)] answer: u8 => Show::Codes(Answer::CODES),
        #[bits(24)] __: u32
    }
}

registers! {
    /// The firmware's share. Numbers of 64 bits are two words, low half first.
    pub block FIRMWARE "firmware", base EngineOffset(0x1f5_0000), 0x000 + 0x1000;

    /// Carries an order out; reads as 0.
    ORDER "ORDER" @ 0x00: OrderWord, Trigger, Chosen, "seed 000, firmware rebase arithmetic";
    /// The answer to the last order.
    ANSWER "ANSWER" @ 0x04: AnswerWord, ReadOnly, Chosen, "seed 000, firmware rebase arithmetic";
    /// Device address of a buffer.
    ADDRESS "ADDRESS" @ 0x08 [2; 4]: Half, ReadWrite, Chosen, "seed 000, firmware rebase arithmetic";
    /// Its bytes.
    SIZE "SIZE" @ 0x10 [2; 4]: Half, ReadWrite, Chosen, "seed 000, firmware rebase arithmetic";
    /// The pool that an order is about, or that one made.
    POOL "POOL" @ 0x18: Number, ReadWrite, Chosen, "seed 000, buffer pools";
    /// The buffer that an order is about, or that one found.
    ID "ID" @ 0x1c: Number, ReadWrite, Chosen, "seed 000, buffer pools";
    /// Where the buffer lies after the rebase.
    VALUE "VALUE" @ 0x20 [2; 4]: Half, ReadOnly, Chosen, "seed 000, firmware rebase arithmetic";
    /// Requests in flight.
    IN_FLIGHT "IN_FLIGHT" @ 0x28: Number, ReadOnly, Chosen, "seed 000, buffer pools";
    /// dvaBase: first device address of the mapped region.
    DVA_BASE "dvaBase" @ 0xb98 [2; 4]: Half, ReadWrite, Derived, "seed 000, table 28.8";
    /// regionSize: bytes of the region; 0 before it is mapped.
    REGION_SIZE "regionSize" @ 0xba0 [2; 4]: Half, ReadWrite, Derived, "seed 000, table 28.8";
    /// mappedBase: where the region begins in the firmware's aperture.
    MAPPED_BASE "mappedBase" @ 0xba8 [2; 4]: Half, ReadWrite, Derived, "seed 000, table 28.8";
}

const _: () = {
    assert!(DVA_BASE.info.offset == APERTURE_CONFIG_OFFSET);
    assert!(REGION_SIZE.info.offset == APERTURE_CONFIG_OFFSET + 8);
    assert!(MAPPED_BASE.info.offset == APERTURE_CONFIG_OFFSET + 16);
};
