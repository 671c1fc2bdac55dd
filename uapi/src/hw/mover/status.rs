//! The STATUS word.
//!
//! Both layouts are made from one [`State`] of the command processor, so that they cannot contradict each
//! other: what the queue holds, how many parameter credits are left, whether the mover runs.

use super::command::{PARAMETER_CREDITS, QUEUE_DEPTH};
use super::profile::{Profile, StatusLayout};
use crate::layout;
use crate::register::Word;

layout! {
    /// STATUS by the instruction-set pages; idle, it is `0x428`.
    pub struct Status {
        /// The mover runs.
        #[bits(1)] mover_busy: bool,
        #[bits(1)] __: bool,
        /// The command queue has no free slot.
        #[bits(1)] queue_full: bool,
        /// The command queue holds nothing; a command may still be running.
        #[bits(1)] queue_empty: bool,
        /// No parameter credit is left.
        #[bits(1)] parameters_full: bool,
        /// Every parameter credit is there.
        #[bits(1)] parameters_empty: bool,
        #[bits(2)] __: u8,
        /// Free slots of the command queue; 4 when it is empty.
        #[bits(8)] free_slots: u8,
        /// The packers' register-write queue is full; never set.
        #[bits(1)] packer_writes_full: bool,
        /// The unpackers' register-write queue is full; never set.
        #[bits(1)] unpacker_writes_full: bool,
        #[bits(14)] __: u16
    }
}

layout! {
    /// STATUS by seed 002; idle, it is `0x408`.
    pub struct SeedStatus {
        /// The mover runs.
        #[bits(1)] mover_busy: bool,
        /// A second mover runs; the virtual engine has one.
        #[bits(1)] mover1_busy: bool,
        /// The command queue has no free slot.
        #[bits(1)] queue_full: bool,
        /// The command queue holds nothing; a command may still be running.
        #[bits(1)] queue_empty: bool,
        /// Something went wrong; the seed does not say what or for how long.
        #[bits(1)] error: bool,
        #[bits(3)] __: u8,
        /// Free slots of the command queue; 4 when it is empty.
        #[bits(8)] free_slots: u8,
        /// The packers' register-write queue is full; never set.
        #[bits(1)] packer_writes_full: bool,
        /// The unpackers' register-write queue is full; never set.
        #[bits(1)] unpacker_writes_full: bool,
        #[bits(14)] __: u16
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// The mover runs.
    pub busy: bool,
    /// Commands in the queue, at most [`QUEUE_DEPTH`].
    pub queued: u8,
    /// Parameter credits left, at most [`PARAMETER_CREDITS`].
    pub credits: u8,
    /// A command was refused since the last reset; only [`SeedStatus`] has a place for it (chosen).
    pub error: bool,
}

impl State {
    /// Nothing queued, nothing running.
    pub const IDLE: Self = Self { busy: false, queued: 0, credits: PARAMETER_CREDITS, error: false };

    /// The word that a read of STATUS gives.
    pub fn word(self, profile: Profile) -> u32 {
        match profile.rules().status {
            StatusLayout::Isa => self.status().word(),
            StatusLayout::Seed => self.seed_status().word(),
        }
    }

    /// STATUS by the instruction-set pages.
    pub const fn status(self) -> Status {
        Status::new()
            .with_mover_busy(self.busy)
            .with_queue_full(self.queued >= QUEUE_DEPTH)
            .with_queue_empty(self.queued == 0)
            .with_parameters_full(self.credits == 0)
            .with_parameters_empty(self.credits >= PARAMETER_CREDITS)
            .with_free_slots(QUEUE_DEPTH.saturating_sub(self.queued))
    }

    /// STATUS by seed 002.
    pub const fn seed_status(self) -> SeedStatus {
        SeedStatus::new()
            .with_mover_busy(self.busy)
            .with_queue_full(self.queued >= QUEUE_DEPTH)
            .with_queue_empty(self.queued == 0)
            .with_error(self.error)
            .with_free_slots(QUEUE_DEPTH.saturating_sub(self.queued))
    }
}

/// True if Tenstorrent's wait loop ends on this STATUS: queue empty, and none of the movers in `busy_mask`
/// running (seed 002, section 4).
///
/// It works with either layout. A loop that looks at bit 0 alone can end while a command is still queued.
pub const fn wait_is_over(status: u32, busy_mask: u32) -> bool {
    const QUEUE_EMPTY: u32 = 0x08;
    status & (busy_mask | QUEUE_EMPTY) == QUEUE_EMPTY
}
