//! From an offset of the container to the register that is there, and every register that can be looked at.
//!
//! A block is described once and may lie at several places: a DART window four times, a task queue eight times, the
//! common registers of a task once more below each other block. Here the places are put back together.

use super::dart::regs::WINDOW;
use super::mmio_map::{self, RANGES, Range, Region};
use super::mover::model::MODEL;
use super::mover::regs::{Core, MOVER};
use super::mover::xmov::PORT;
use super::space::EngineOffset;
use super::td;
use super::tm::TASK_MANAGER;
use super::tq::{QueueId, TASK_QUEUE};
use super::{firmware::FIRMWARE, pe_mmu::PE_MMU};
use crate::register::{Access, Register};

#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub at: EngineOffset,
    pub range: &'static Range,
    pub register: &'static Register,
    /// Index of the instance, where a block has several of this register.
    pub index: u16,
}

/// The register at an offset of the container, if one is described there.
///
/// # Examples
///
/// ```
/// use ane_uapi::hw::lookup::register_at;
/// use ane_uapi::hw::space::EngineOffset;
///
/// // The last of eight task queues.
/// let place = register_at(EngineOffset(0x1c25000 + 7 * 0x148 + 0x138)).unwrap();
/// assert_eq!(place.register.name, "STREAM");
/// ```
pub fn register_at(at: EngineOffset) -> Option<Place> {
    let range = mmio_map::find(at)?;
    let inside = at.0 - range.start.0;
    let (register, index) = match range.region {
        Region::Dart0 | Region::Dart1 | Region::Dart2 | Region::Dart3 => WINDOW.find(inside)?,
        Region::TaskManager => TASK_MANAGER.find(inside)?,
        Region::TaskQueues => TASK_QUEUE.find(QueueId::containing(at)?.1)?,
        Region::MaddConfiguration => {
            let place = td::find(td::shown_at(at)?)?;
            (place.register, place.index)
        }
        Region::Mover => MOVER.find(Core::at(at)?.1)?,
        Region::MoverModel => MODEL.find(inside)?,
        Region::XmovPort => PORT.find(inside)?,
        Region::PeMmu => PE_MMU.find(inside)?,
        Region::Firmware => FIRMWARE.find(inside)?,
        _ => return None,
    };
    Some(Place { at, range, register, index })
}

/// The ranges whose registers are worth looking at, of every device.
const NAMED: [Region; 8] = [
    Region::Dart0,
    Region::Dart1,
    Region::Dart2,
    Region::Dart3,
    Region::TaskManager,
    Region::TaskQueues,
    Region::MaddConfiguration,
    Region::MoverModel,
];

/// Every register that can be read without changing anything, in the order of the container. Registers that a read
/// changes are left out, such as one that takes an entry of a queue, and so are words without a bit that a source
/// explains.
pub fn quiet(has_pe_mmu: bool) -> impl Iterator<Item = Place> {
    let is_named = move |region| NAMED.contains(&region) || (has_pe_mmu && region == Region::PeMmu);
    let ranges = RANGES.iter().filter(move |range| is_named(range.region));
    let words = ranges.flat_map(|range| (range.start.0..range.end.0).step_by(4).map(EngineOffset));
    words.filter_map(register_at).filter(|place| {
        let is_taken_by_reading = matches!(place.register.access, Access::Pop | Access::Trigger);
        !is_taken_by_reading && place.register.unknown != u32::MAX
    })
}
