//! Usage: virtual time since the last reset, and where it went.

use super::cost::{Cost, Spent};
use super::machine::LAYER_OVERHEAD;

/// Counts of virtual time, in cycles of the engine's clock unless they say otherwise.
///
/// Names in brackets are those of the counters that the hardware has for the same (facts K); it has no registers for
/// them that are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// All of it, requests' dispatch included.
    pub cycles: u64,
    /// The array or the planar engine was at work (`NE_COMPUTE_CYCLES`, `L2PE_COMPUTE_CYCLES`).
    pub compute: u64,
    /// Nothing but coefficients came in (`NE_KERNEL_STALL_CYCLES`).
    pub kernel_stalls: u64,
    /// The array waited for banks of the pool (`L2_READ_STALL_CYCLES`).
    pub bank_stalls: u64,
    /// Turns of banks beyond those that the same granules take if nothing is in the way; a number.
    pub bank_conflicts: u64,
    /// Groups of granules that were fetched or stored; a number.
    pub bank_groups: u64,
    /// Bytes of activations and coefficients that came in and went out (`DMA_READWRITE_BYTES`).
    pub moved_bytes: u64,
}

impl Usage {
    pub const fn dispatched(&mut self, cycles: u64) {
        self.cycles = self.cycles.saturating_add(cycles);
    }

    pub const fn add(&mut self, cost: &Cost, spent: &Spent) {
        let work = &cost.work;
        self.cycles = self.cycles.saturating_add(spent.cycles);
        self.compute = self.compute.saturating_add(work.cycles);
        let besides = cost.body.saturating_add(LAYER_OVERHEAD).saturating_add(spent.translation);
        let stalls = spent.cycles.saturating_sub(besides);
        self.kernel_stalls =
            self.kernel_stalls.saturating_add(if stalls < cost.fill { stalls } else { cost.fill });
        self.bank_stalls = self.bank_stalls.saturating_add(work.banks.stalls);
        self.bank_conflicts = self.bank_conflicts.saturating_add(work.banks.conflicts);
        self.bank_groups = self.bank_groups.saturating_add(work.banks.groups);
        let moved = work.kernel_bytes.saturating_add(work.read_bytes).saturating_add(work.write_bytes);
        self.moved_bytes = self.moved_bytes.saturating_add(moved);
    }
}
