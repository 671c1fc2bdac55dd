//! Every register with the value that it has now, for a person who wonders.

use ane_uapi::hw::lookup::{Place, quiet};
use vm_memory::GuestMemory;

use super::Ane;
use crate::engine::Engine;
use crate::time::Ticks;

impl<M: GuestMemory, E: Engine<M>> Ane<M, E> {
    /// Every register that can be read without changing anything, with its value, in the order of the container.
    pub fn registers_shown(&mut self, now: Ticks) -> Vec<(Place, u32)> {
        let has_pe_mmu = self.dart.before().is_some();
        // Only registers are read: a refusal of anything else would be counted.
        quiet(has_pe_mmu).filter_map(|place| Some((place, self.read(place.at, now).ok()?))).collect()
    }
}
