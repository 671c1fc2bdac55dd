//! The mover's registers, and the five windows on them.
//!
//! A driver writes the four parameters and then a command, and reads STATUS until the queue is empty and the
//! mover idle. The rest of the block has nothing to do with transfers: the packers report there how long
//! their last tile was and which parts of it were zero. Packer n has its own copies at `0x100 * n`, and each
//! of three threads has its own copy of the first two, at `0x40 * thread`.
//!
//! One register answers differently to each core that asks: `XMOV_L1_BASE_ADDR` holds a base per thread.
//! Tenstorrent's bus tells the block which core it is; the engine's bus does not, so the block appears once for
//! each core, [`CORE_STRIDE`] apart (chosen). Everything else reads and writes the same in all windows.

use super::command::CommandWord;
use super::status::Status;
use crate::hw::space::EngineOffset;
use crate::register::Show;
use crate::{codes, layout, registers};

/// Container offset of the first window (chosen: in the extension range).
pub const BASE: EngineOffset = EngineOffset(0x1f1_0000);

/// Bytes from one core's window to the next (chosen).
pub const CORE_STRIDE: u32 = 0x1000;

/// Packers; Tenstorrent's later chip has one only.
pub const PACKERS: u16 = 4;

/// Threads that have a base of their own: B, T0, T1 and T2.
pub const BASES: usize = 4;

/// The bits that CLK_GATE_EN keeps (mover 3; measured).
pub const CLK_GATE_EN_STORED: u32 = 0xffff_ff7f;

/// The bits that CLK_GATE_HYST keeps (mover 3; measured).
pub const CLK_GATE_HYST_STORED: u32 = 0x01ff_007f;

codes! {
    /// A core that can reach the registers, in the order of the windows.
    pub enum Core: u8, "mover core" {
        /// The core that boots the others.
        B = 0, "b";
        /// First thread's core.
        T0 = 1, "t0";
        /// Second thread's core.
        T1 = 2, "t1";
        /// Third thread's core.
        T2 = 3, "t2";
        /// Any other core.
        Other = 4, "other";
    }
}

impl Core {
    /// Container offset of its window.
    pub const fn window(self) -> EngineOffset {
        EngineOffset(BASE.0 + self as u32 * CORE_STRIDE)
    }

    /// The core whose window `offset` lies in, and the offset inside the window.
    pub fn at(offset: EngineOffset) -> Option<(Self, u32)> {
        let distance = offset.0.checked_sub(BASE.0)?;
        let core = u8::try_from(distance / CORE_STRIDE).ok()?;
        Some((Self::try_from(core).ok()?, distance % CORE_STRIDE))
    }

    /// Index of the base in [`BASES`] that the core reads; cores without one see that of T0 (mover 3; measured).
    pub const fn base(self) -> usize {
        match self {
            Self::B => 0,
            Self::T0 | Self::Other => 1,
            Self::T1 => 2,
            Self::T2 => 3,
        }
    }
}

layout! {
    /// An address in units of sixteen bytes.
    pub struct UnitAddress {
        /// Units.
        #[bits(32)] units: u32 => Show::Bytes(4)
    }
}

layout! {
    /// Size of a transfer.
    pub struct SizeWord {
        /// Units.
        #[bits(16)] units: u16 => Show::Bytes(4),
        /// Ignored by the engine.
        #[bits(16)] ignored: u16 => Show::Hex
    }
}

layout! {
    /// Direction of a transfer.
    pub struct DirectionWord {
        /// The direction of the transfer.
        #[bits(2)] direction: u8 => Show::Codes(super::Direction::CODES),
        /// Ignored by the engine.
        #[bits(30)] ignored: u32 => Show::Hex
    }
}

layout! {
    /// Length of a tile.
    pub struct TileSize {
        /// Length.
        #[bits(32)] size: u32
    }
}

layout! {
    /// The bytes that a packer has written since its accumulator was cleared, as the register shows them.
    pub struct PackedTotal {
        /// Accumulated size.
        #[bits(16)] size: u16,
        /// Register writes of the unpackers.
        #[bits(16)] unpacker_writes: u16
    }
}

layout! {
    /// The same register as it is written: clears accumulators.
    pub struct InitialPack {
        /// Output offset of the packers selected.
        #[bits(16)] offset: u16 => Show::Hex,
        /// One bit for each packer whose three accumulators are cleared.
        #[bits(4)] packers: u8 => Show::Hex,
        #[bits(12)] __: u16
    }
}

layout! {
    /// One bit for each part of a tile that is all zeros.
    pub struct ZeroMask {
        /// Parts.
        #[bits(32)] parts: u32 => Show::Hex
    }
}

layout! {
    /// Clock gating, and the address of unpacker register writes.
    ///
    /// A write keeps the bits of [`CLK_GATE_EN_STORED`].
    pub struct ClockGates {
        /// Clock gates; firmware sets the low six.
        #[bits(7)] gates: u8 => Show::Hex,
        /// Not stored.
        #[bits(1)] dropped: bool,
        /// Address of unpacker register writes.
        #[bits(24)] unpacker_address: u32 => Show::Hex; Predicted
    }
}

layout! {
    /// Hysteresis of clock gating, and the fourth scaler.
    ///
    /// A write keeps the bits of [`CLK_GATE_HYST_STORED`].
    pub struct ClockHysteresis {
        /// Hysteresis.
        #[bits(7)] hysteresis: u8,
        #[bits(9)] __: u16,
        /// Scaler 3.
        #[bits(9)] scaler3: u16,
        #[bits(7)] __: u8
    }
}

layout! {
    /// How full the packers' queues of tiles are; a write sets the address of pack register writes.
    pub struct TileQueues {
        /// Packer 0 has none.
        #[bits(1)] empty0: bool,
        /// Packer 0 can take no more.
        #[bits(1)] full0: bool,
        /// Packer 1 has none.
        #[bits(1)] empty1: bool,
        /// Packer 1 can take no more.
        #[bits(1)] full1: bool,
        /// Packer 2 has none.
        #[bits(1)] empty2: bool,
        /// Packer 2 can take no more.
        #[bits(1)] full2: bool,
        /// Packer 3 has none.
        #[bits(1)] empty3: bool,
        /// Packer 3 can take no more.
        #[bits(1)] full3: bool,
        /// Address of pack register writes.
        #[bits(24)] pack_address: u32 => Show::Hex
    }
}

layout! {
    /// Scalers 0 to 2, and flags that tell which is busy.
    pub struct Scalers {
        /// Scaler 0.
        #[bits(9)] scaler0: u16; Predicted,
        /// Scaler 1.
        #[bits(9)] scaler1: u16; Predicted,
        /// Scaler 2.
        #[bits(9)] scaler2: u16; Predicted,
        #[bits(5)] __: u8
    }
}

registers! {
    /// The mover: parameters, command queue, status, and the packers' metadata.
    pub block MOVER "mover", base BASE, 0x000 + 0x400;

    /// Source of the next parameterised command; reads as 0.
    XMOV_SRC_ADDR "XMOV_SRC_ADDR" @ 0x00: UnitAddress, Trigger, Measured, "seed 002, section 3; mover 3";
    /// Destination of the next parameterised command; reads as 0.
    XMOV_DST_ADDR "XMOV_DST_ADDR" @ 0x04: UnitAddress, Trigger, Measured, "seed 002, section 3; mover 3";
    /// Size of the next parameterised command; reads as 0.
    XMOV_SIZE "XMOV_SIZE" @ 0x08: SizeWord, Trigger, Measured, "seed 002, section 3; mover 3, 4";
    /// Direction of the next parameterised command; reads as 0.
    XMOV_DIRECTION "XMOV_DIRECTION" @ 0x0c:
        DirectionWord, Trigger, Measured, "seed 002, section 3; mover 3, 4";
    /// Enqueues a command, and waits while the queue is full; reads as 0.
    COMMAND_ADDR "COMMAND_ADDR" @ 0x10: CommandWord, Trigger, Measured, "seed 002, section 3; mover 4";
    /// The state of the queue and the mover; the seed's profile reads bits 1, 4 and 5 differently.
    STATUS "STATUS" @ 0x14: Status, ReadOnly, Measured, "mover 3; seed 002, section 3" = 0x428;
    /// Each packer's last tile of thread 0; 0 if another thread packed last.
    PACKED_SIZE "PACKED_SIZE" @ 0x18 [4; 0x100]: TileSize, ReadOnly, Measured, "seed 002, section 5; mover 3";
    /// Each packer's accumulated size, thread 0; a write clears accumulators, see [`InitialPack`].
    ACC_PACKED_SIZE "ACC_PACKED_SIZE" @ 0x1c [4; 0x100]:
        PackedTotal, Trigger, Measured, "seed 002, section 5; mover 3";
    /// The zero parts of each packer's tile.
    ALL_ZERO_FLAGS "ALL_ZERO_FLAGS" @ 0x20 [4; 0x100]: ZeroMask, ReadOnly, Measured, "mover 3";
    /// Clock gating: stored, and without effect on the mover.
    CLK_GATE_EN "CLK_GATE_EN" @ 0x24: ClockGates, ReadWrite, Measured, "mover 3; seed 002, section 7";
    /// Hysteresis of clock gating, and scaler 3.
    CLK_GATE_HYST "CLK_GATE_HYST" @ 0x28: ClockHysteresis, ReadWrite, Measured, "mover 3";
    /// Added to the source of compact commands; one for each thread, see [`Core`].
    XMOV_L1_BASE_ADDR "XMOV_L1_BASE_ADDR" @ 0x2c:
        UnitAddress, ReadWrite, Measured, "seed 002, section 3; mover 3";
    /// Length of the oldest tile in each packer's queue, which stays there.
    FIFO_PACKED_TILE_SIZE "FIFO_PACKED_TILE_SIZE" @ 0x30 [4; 0x100]:
        TileSize, ReadOnly, Measured, "seed 002, section 5; mover 3";
    /// Zero mask of the oldest tile in each packer's queue; reading and writing both take the tile out.
    FIFO_PACKED_TILE_ZEROMASK "FIFO_PACKED_TILE_ZEROMASK" @ 0x34 [4; 0x100]:
        ZeroMask, Pop, Measured, "seed 002, section 5; mover 3";
    /// How full the packers' queues are.
    FIFO_PACKED_TILE_STATUS "FIFO_PACKED_TILE_STATUS" @ 0x38:
        TileQueues, ReadWrite, Measured, "seed 002, section 5; mover 3" = 0x55;
    /// Scalers of the packers; what they scale is not known.
    SCALERS "SCALERS" @ 0x3c: Scalers, ReadWrite, Measured, "mover 3";
    /// Each packer's last tile of thread 1; 0 if another thread packed last.
    PACKED_SIZE_1 "PACKED_SIZE_1" @ 0x58 [4; 0x100]: TileSize, ReadOnly, Measured, "mover 3";
    /// Each packer's accumulated size, thread 1; a write clears accumulators.
    ACC_PACKED_SIZE_1 "ACC_PACKED_SIZE_1" @ 0x5c [4; 0x100]: PackedTotal, Trigger, Measured, "mover 3";
    /// Each packer's last tile of thread 2; 0 if another thread packed last.
    PACKED_SIZE_2 "PACKED_SIZE_2" @ 0x98 [4; 0x100]: TileSize, ReadOnly, Measured, "mover 3";
    /// Each packer's accumulated size, thread 2; a write clears accumulators.
    ACC_PACKED_SIZE_2 "ACC_PACKED_SIZE_2" @ 0x9c [4; 0x100]: PackedTotal, Trigger, Measured, "mover 3";
}

const _: () = {
    assert!(PACKED_SIZE.info.count == PACKERS && FIFO_PACKED_TILE_ZEROMASK.info.count == PACKERS);
    assert!(super::Profile::Isa.rules().idle_status == STATUS.info.reset);
    assert!(MOVER.len <= CORE_STRIDE);
};
