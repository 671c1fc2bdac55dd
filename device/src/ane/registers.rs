//! Every register with the value that it has now, for a person who wonders.

use ane_uapi::hw::lookup::{Place, quiet};
use vm_memory::GuestMemory;

use super::Ane;
use crate::bus::Target;
use crate::engine::Engine;
use crate::time::Ticks;

impl<M: GuestMemory, E: Engine<M>> Ane<M, E> {
    /// Every register that can be read without changing anything, with its value, in the order of the container. A person asks
    /// and no driver, so nothing is refused or counted, and a device that is dead is shown too.
    pub fn registers_shown(&mut self, now: Ticks) -> Vec<(Place, u32)> {
        let has_pe_mmu = self.dart.before().is_some();
        let mut look = |at| {
            let target = self.powered(Target::find(at).ok()?, at).ok()?;
            self.read_target(target, at, now).ok()
        };
        quiet(has_pe_mmu).filter_map(|place| Some((place, look(place.at)?))).collect()
    }
}
