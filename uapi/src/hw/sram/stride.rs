//! The choice of a stride: a little room between rows, so that rows that are read together lie in different banks.
//!
//! The compiler's optimiser has a vector of 64 costs, one for each bank. It tries one stride after the other, from the
//! least that a row needs upwards in granules to the bound of HAL field `0x1f8`, looks up the cost of the bank that
//! the stride leads to, and keeps a candidate only if it costs strictly less than the best so far (seed 003, listing 21.3).
//! The first of the cheapest wins, so no room is given away for nothing.

use super::Hierarchy;
use super::bank::BANKS_MAX;

/// A cost for each bank that a stride leads to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs(pub [f32; BANKS_MAX as usize]);

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stride {
    /// Bytes, a multiple of the granule.
    pub bytes: u32,
    pub cost: f32,
}

impl Costs {
    /// The turns that `rows` rows take when they are read together, by the conflict law.
    ///
    /// (Chosen) No source says what fills the vector. This is the depth that seed 003 prints beside it.
    pub fn of_rows(hierarchy: &Hierarchy, rows: u32) -> Self {
        let mut costs = [0.0; BANKS_MAX as usize];
        for (granules, cost) in (0_u64..).zip(&mut costs) {
            // Up to 2^24 turns are exact; more are as bad.
            *cost = hierarchy.turns_of_rows(rows, granules * u64::from(hierarchy.granule)) as f32;
        }
        Self(costs)
    }

    pub fn of(&self, hierarchy: &Hierarchy, stride: u64) -> f32 {
        self.0[hierarchy.bank(stride) as usize]
    }
}

impl Hierarchy {
    /// The stride to use where a row needs `least` bytes; `None` if that is beyond the bound already.
    ///
    /// ```
    /// use ane_uapi::hw::hal::Generation;
    /// use ane_uapi::hw::sram::Hierarchy;
    /// use ane_uapi::hw::sram::stride::Costs;
    ///
    /// let m1 = Hierarchy::of(Generation::H13);
    /// let chosen = m1.choose_stride(1024, &Costs::of_rows(&m1, 64)).unwrap();
    /// assert_eq!((chosen.bytes, chosen.cost), (1040, 1.0));
    /// ```
    pub fn choose_stride(&self, least: u32, costs: &Costs) -> Option<Stride> {
        let first = least.checked_next_multiple_of(self.granule)?;
        let mut best: Option<Stride> = None;
        // Costs repeat after as many candidates as there are banks, and an equal one never wins.
        for candidate in 0..self.banks {
            let Some(bytes) = first.checked_add(candidate * self.granule).filter(|&at| at <= self.max_stride)
            else {
                break;
            };
            let cost = costs.of(self, bytes.into());
            if best.is_none_or(|best| cost < best.cost) {
                best = Some(Stride { bytes, cost });
            }
        }
        best
    }
}
