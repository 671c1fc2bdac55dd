//! Modelled time: the cycle of the bus that carries commands and instructions.
//!
//! The caller gives the cycle as if no write had ever waited. The cycles that writes did wait are added to it for good: a
//! bus that was held goes on that much later.

/// The bus's cycle.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BusClock {
    now: u64,
    waited: u64,
}

impl BusClock {
    pub(super) const fn now(self) -> u64 {
        self.now
    }

    /// The bus's cycle at a cycle of the caller.
    pub(super) const fn at(self, time: u64) -> u64 {
        time.saturating_add(self.waited)
    }

    /// Time passes up to a cycle; it never goes back.
    pub(super) const fn pass(&mut self, cycle: u64) {
        if cycle > self.now {
            self.now = cycle;
        }
    }

    /// Holds the bus up to a cycle. Returns the number of cycles that this takes.
    pub(super) const fn hold(&mut self, cycle: u64) -> u64 {
        let held = cycle.saturating_sub(self.now);
        self.waited = self.waited.saturating_add(held);
        self.pass(cycle);
        held
    }
}
