//! Every register with the value that it has now, for a person who wonders.
//!
//! What reading would change is left out, as the entry of a queue would be taken by it, and words of which no source
//! explains a bit.

use ane_uapi::hw::dart::regs::WINDOW;
use ane_uapi::hw::mmio_map::{RANGES, Region};
use ane_uapi::hw::space::EngineOffset;
use ane_uapi::register::{Access, Register};
use vm_memory::GuestMemory;

use super::Ane;
use crate::bus::Target;
use crate::engine::Engine;
use crate::time::Ticks;

/// A register and its value.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    /// Where it is.
    pub at: EngineOffset,
    /// The range of the container that it is in.
    pub range: &'static str,
    /// What it is.
    pub register: &'static Register,
    /// What it holds.
    pub value: u32,
}

/// The ranges whose words are registers with names.
const NAMED: [Region; 9] = [
    Region::Dart0,
    Region::Dart1,
    Region::Dart2,
    Region::Dart3,
    Region::TaskManager,
    Region::TaskQueues,
    Region::MaddConfiguration,
    Region::MoverModel,
    Region::PeMmu,
];

impl<M: GuestMemory, E: Engine<M>> Ane<M, E> {
    /// Every register that can be read without changing anything, in the order of the container.
    pub fn registers_shown(&mut self, now: Ticks) -> Vec<Shown> {
        let mut shown = Vec::new();
        let has_pe_mmu = self.dart.before().is_some();
        let is_there = |region| NAMED.contains(&region) && (region != Region::PeMmu || has_pe_mmu);
        for range in RANGES.iter().filter(|range| is_there(range.region)) {
            let words = (range.start.0..range.end.0).step_by(4).map(EngineOffset);
            for at in words {
                // What is no register is not asked for: to be refused would count.
                let Ok(target) = Target::find(at) else { continue };
                let register = match target {
                    Target::Dart(_, offset) => WINDOW.find(offset).map(|(register, _)| register),
                    _ => target.row(),
                };
                let is_quiet = |register: &&Register| {
                    !matches!(register.access, Access::Pop | Access::Trigger) && register.unknown != u32::MAX
                };
                let Some(register) = register.filter(is_quiet) else { continue };
                if let Ok(value) = self.read(at, now) {
                    shown.push(Shown { at, range: range.name, register, value });
                }
            }
        }
        shown
    }
}
