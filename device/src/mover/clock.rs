//! Modelled time: the cycle of the bus on which the doors are.
//!
//! Whoever calls says what cycle it would be if no write had ever waited. Waits come on top, and stay: a bus that
//! was held goes on later than it would have.

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

    /// The cycle at a time of the caller's.
    pub(super) const fn at(self, time: u64) -> u64 {
        time.saturating_add(self.waited)
    }

    /// Time passes up to a cycle; it never goes back.
    pub(super) const fn pass(&mut self, cycle: u64) {
        if cycle > self.now {
            self.now = cycle;
        }
    }

    /// The bus is held up to a cycle; tells for how long.
    pub(super) const fn hold(&mut self, cycle: u64) -> u64 {
        let held = cycle.saturating_sub(self.now);
        self.waited = self.waited.saturating_add(held);
        self.pass(cycle);
        held
    }
}
