//! An address, in each of the four spaces: what it would be if it were one of theirs.
//!
//! A bare number does not say which space it is of, and a wrong guess is the usual reason why it makes no sense. So each
//! space tells what it has there (facts and seed 004): physical memory and the chip's own map, device addresses, the
//! engine's registers, the firmware's aperture; and the addresses that records of a task descriptor use.

use ane_uapi::hw::chip::Soc;
use ane_uapi::hw::dart::aperture;
use ane_uapi::hw::dart::walk::WalkIndices;
use ane_uapi::hw::lookup::{Place, register_at};
use ane_uapi::hw::mmio_map;
use ane_uapi::hw::space::{EngineOffset, Iova, PhysAddr};
use ane_uapi::hw::td;
use serde::Serialize;

use super::Tables;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Meaning {
    pub space: &'static str,
    pub is_something: bool,
    pub what: Vec<String>,
}

/// The meaning of `address` in each space, on a chip, with the mappings of a device if one is looked at.
///
/// # Examples
///
/// ```
/// use ane::inspect::explain::explain;
/// use ane_uapi::hw::chip::Soc;
///
/// let meanings = explain(0x1c25000, Soc::T8103, None);
/// let engine = meanings.iter().find(|meaning| meaning.space == "B: engine registers").unwrap();
/// assert!(engine.what[0].contains("task queue"));
/// ```
pub fn explain(address: u64, soc: Soc, tables: Option<&Tables>) -> Vec<Meaning> {
    vec![
        physical(address, soc, tables),
        device(address, tables),
        engine(address),
        record(address),
        firmware(address, tables),
    ]
}

fn meaning(space: &'static str, what: Vec<String>, otherwise: String) -> Meaning {
    let is_something = !what.is_empty();
    Meaning { space, is_something, what: if is_something { what } else { vec![otherwise] } }
}

/// The chip's bus: memory, and each circuit's container.
fn physical(address: u64, soc: Soc, tables: Option<&Tables>) -> Meaning {
    let mut what = Vec::new();
    for instance in soc.chip().instances {
        if let Some(offset) = instance.circuit.offset(PhysAddr(address)) {
            what.push(format!(
                "offset {:#x} of the registers of {} on {}",
                offset.0,
                instance.node,
                soc.name()
            ));
            what.extend(register(offset));
        }
    }
    for context in tables.into_iter().flat_map(|tables| &tables.contexts) {
        let runs = context.translations.first().into_iter().flat_map(|window| &window.runs);
        for run in runs {
            if let Some(inside) = address.checked_sub(run.physical).filter(|&inside| inside < run.bytes) {
                let iova = u64::from(run.address) + inside;
                what.push(format!("memory, mapped at device address {iova:#x} in context {}", context.name));
            }
        }
    }
    let otherwise = match tables {
        Some(_) => format!("no register of {}, and not mapped", soc.name()),
        None => format!("no register of {}; it may be memory", soc.name()),
    };
    meaning("physical", what, otherwise)
}

/// A: what the engine's DMA speaks.
fn device(address: u64, tables: Option<&Tables>) -> Meaning {
    const SPACE: &str = "A: device addresses";
    let end = aperture::BASE + aperture::SIZE;
    let Some(iova) = u32::try_from(address).ok().filter(|&iova| u64::from(iova) < end) else {
        return meaning(SPACE, Vec::new(), format!("outside: device addresses end at {end:#x}"));
    };
    let indices = WalkIndices::of_iova(Iova(iova));
    let mut what = vec![format!(
        "byte {:#x} of the page at {:#x}: entry {} of the first table, entry {} of the second",
        indices.offset,
        iova & !(aperture::PAGE_SIZE - 1),
        indices.l2,
        indices.l3
    )];
    for context in tables.into_iter().flat_map(|tables| &tables.contexts) {
        let inside =
            |start: u32, bytes: u64| iova.checked_sub(start).map(u64::from).filter(|&inside| inside < bytes);
        for mapping in &context.mappings {
            if let Some(inside) = inside(mapping.address, mapping.bytes.into()) {
                what.push(format!(
                    "context {}: byte {inside:#x} of {} at {:#x}, {:#x} bytes",
                    context.name, mapping.usage, mapping.address, mapping.bytes
                ));
            }
        }
        let runs = context.translations.first().into_iter().flat_map(|window| &window.runs);
        for run in runs {
            if let Some(inside) = inside(run.address, run.bytes) {
                let physical = run.physical + inside;
                what.push(format!("context {}: leads to physical address {physical:#x}", context.name));
            }
        }
    }
    if tables.is_some() && what.len() == 1 {
        what.push("not mapped in any context".to_owned());
    }
    Meaning { space: SPACE, is_something: tables.is_none() || what.len() > 1, what }
}

/// B: the engine's container.
fn engine(address: u64) -> Meaning {
    const SPACE: &str = "B: engine registers";
    let offset = u32::try_from(address).ok().filter(|&offset| offset < EngineOffset::CONTAINER);
    match offset {
        Some(offset) => {
            meaning(SPACE, register(EngineOffset(offset)), "a hole: nothing answers there".to_owned())
        }
        None => {
            let end = EngineOffset::CONTAINER;
            meaning(SPACE, Vec::new(), format!("outside: the container ends at {end:#x}"))
        }
    }
}

/// The range and the register at an offset of the container.
fn register(offset: EngineOffset) -> Vec<String> {
    let Some(range) = mmio_map::find(offset) else { return Vec::new() };
    let mut what = vec![format!("{}, {:#x} to {:#x}: {}", range.name, range.start.0, range.end.0, range.doc)];
    if let Some(Place { register, index, .. }) = register_at(offset) {
        let index = if register.count > 1 { format!("[{index}]") } else { String::new() };
        what.push(format!(
            "register {}{index} ({}): {} ({}; {})",
            register.name,
            register.access.name(),
            register.doc.trim().trim_end_matches('.'),
            register.grade.name(),
            register.source
        ));
    }
    what
}

/// The numbering that records of a task descriptor use.
fn record(address: u64) -> Meaning {
    const SPACE: &str = "record addresses of task descriptors";
    let found = u32::try_from(address).ok().and_then(td::find);
    let what = found.map(|found| {
        let register = found.register;
        format!(
            "register {} of {}: {}",
            register.name,
            found.block.name,
            register.doc.trim().trim_end_matches('.')
        )
    });
    meaning(SPACE, what.into_iter().collect(), "no register that a task writes".to_owned())
}

/// C: where the firmware has the regions of programs.
fn firmware(address: u64, tables: Option<&Tables>) -> Meaning {
    let mut what = Vec::new();
    for region in tables.into_iter().flat_map(|tables| &tables.regions) {
        if let Some(inside) = address.checked_sub(region.mapped_base).filter(|&inside| inside < region.bytes)
        {
            let iova = region.dva_base + inside;
            what.push(format!("device address {iova:#x}, of the program's region at {:#x}", region.dva_base));
        }
        if let Some(inside) = address.checked_sub(region.dva_base).filter(|&inside| inside < region.bytes) {
            let mapped = region.mapped_base + inside;
            what.push(format!("taken for a device address, it is {mapped:#x} in the aperture"));
        }
    }
    let otherwise = match tables {
        Some(tables) if !tables.has_owners => "known to the driver alone: ask its daemon".to_owned(),
        Some(tables) if tables.regions.is_empty() => "no program is loaded".to_owned(),
        Some(_) => "outside every program's region".to_owned(),
        None => "moves with every program: name a MODEL or a device to look".to_owned(),
    };
    meaning("C: firmware aperture", what, otherwise)
}
