//! One transfer: all of its bytes at once, or none.

use ane_uapi::hw::mover::profile::Unmapped;
use ane_uapi::hw::mover::transfer::Contention;
use ane_uapi::hw::mover::{Destination, Direction, Transfer};

use super::Mover;
use super::memories::{Memories, Outside};
use super::outcome::{Note, Reason, Unit};

/// True if a copy inside scratch reads what it writes.
const fn overlaps(transfer: Transfer) -> bool {
    let (from, to) = (transfer.source.byte_address(), transfer.destination.byte_address());
    matches!(transfer.direction, Direction::L1ToL1) && from.abs_diff(to) < transfer.bytes()
}

impl Mover {
    /// Starts a transfer in this cycle, when the mover is idle.
    pub(super) fn start(&mut self, transfer: Transfer, unit: Unit, memories: &mut Memories<'_>) {
        let cycles = match self.carry_out(transfer, memories) {
            Ok(cycles) => cycles,
            Err(reason) => return self.refuse(unit, reason),
        };
        if self.settings.check && overlaps(transfer) {
            self.log.note(Note::Overlap(transfer));
        }
        self.counters.transfers = self.counters.transfers.wrapping_add(1);
        self.counters.last_cycles = cycles;
        self.counters.busy_cycles = self.counters.busy_cycles.saturating_add(cycles.into());
        if cycles > 0 {
            let now = self.clock.now();
            // If it becomes idle and busy in one cycle, no register read sees it idle.
            if let Some(before) = now.checked_sub(1) {
                self.release_waiting(before);
            }
            self.busy_until = now.saturating_add(cycles.into());
        }
    }

    /// Moves the bytes; tells for how many cycles the mover is busy with them.
    fn carry_out(&self, transfer: Transfer, memories: &mut Memories<'_>) -> Result<u32, Reason> {
        let contention = if self.control.contended() { Contention::Contended } else { Contention::Ideal };
        let cycles = transfer.cycles(contention);
        let bytes = transfer.bytes();
        let (source, target) = (transfer.source.byte_address(), transfer.target(self.settings.profile));
        if bytes == 0 {
            return Ok(0);
        }
        if target == Destination::Nowhere && self.settings.profile.rules().unmapped == Unmapped::Returns {
            return Ok(0);
        }
        let outside_scratch = |Outside| Reason::OutsideScratch(transfer);
        match (transfer.direction, target) {
            (Direction::L1ToL1, Destination::Scratch { at }) => {
                memories.copy_in_scratch(source, at, bytes).map_err(outside_scratch)?;
            }
            (Direction::L1ToL0 | Direction::L1ToL1, _) => {
                if !memories.has_scratch(source, bytes) {
                    return Err(Reason::OutsideScratch(transfer));
                }
                let outside_window = |Outside| Reason::OutsideWindow(transfer);
                memories.copy_out(source, target, bytes).map_err(outside_window)?;
            }
            (Direction::L0ToL1, _) => memories.fill(target, bytes).map_err(outside_scratch)?,
            (Direction::L0ToL0, _) => {
                memories.fill(target, bytes).map_err(|Outside| Reason::OutsideWindow(transfer))?;
            }
        }
        Ok(cycles)
    }
}
