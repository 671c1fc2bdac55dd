//! The use of the chip's memory by a program, and its cost: bank heat, residency, virtual time.
//!
//! An [`Occupancy`] is read off the program alone: each task is decoded and planned as the device would, nothing is executed. It
//! says of each operand where it lies and why, of each bank how many granules it gives, of each task how long it would
//! take by the timing model.
//!
//! * this file: the report.
//! * [`stream`]: the same of programs of very many tasks, which are not all in memory.
//! * [`text`] and [`svg`]: two ways to look at it; `serde` gives a third.

pub mod stream;
pub mod svg;
pub mod text;

use ane_device::engine::plan::operand::{ChipPlace, Element, MemoryPlace, Origin, Shape, Sink, Source};
use ane_device::engine::plan::{Pass, Plan};
use ane_device::timing::{Clock, Cost, Machine};
use ane_uapi::hw::chip::Soc;
use ane_uapi::hw::hal::Generation;
use ane_uapi::hw::sram::bank::{Axis, BANKS_MAX};
use ane_uapi::hw::sram::residency::{GateReading, KernelStore, OutputBuffer, Residency};
use ane_uapi::hw::sram::{Crossing, Hierarchy};
use serde::Serialize;

use self::stream::Walk;
use crate::container::Program;
use crate::count::count;

/// Granules that each bank gives.
pub type Heat = [u64; BANKS_MAX as usize];

#[derive(Clone, Debug, Serialize)]
pub struct Level {
    pub name: &'static str,
    pub value: u32,
    pub unit: &'static str,
    /// The field of the HAL table, in hexadecimal; `None` of what is derived.
    pub field: Option<String>,
    pub grade: &'static str,
    pub role: &'static str,
}

#[derive(Clone, Debug, Serialize)]
pub struct Operand {
    pub name: &'static str,
    /// Bytes of its elements.
    pub bytes: u64,
    pub place: &'static str,
    /// Where it goes, and why.
    pub why: String,
    /// Granules that each bank gives in one walk over it; `None` of what never is in the pool.
    #[serde(serialize_with = "heat")]
    pub heat: Option<Heat>,
}

#[derive(Clone, Debug, Serialize)]
pub struct TaskOccupancy {
    pub index: u32,
    pub class: &'static str,
    pub operands: Vec<Operand>,
    /// Where a result is put together.
    pub output_buffer: &'static str,
    /// Walks over the input.
    pub passes: u64,
    /// Groups of granules that are fetched or stored.
    pub groups: u64,
    /// Turns of banks beyond the least.
    pub conflicts: u64,
    /// Cycles for which the array waits for banks.
    pub stalls: u64,
    /// Cycles: coefficients come in.
    pub fill: u64,
    /// Cycles: activations come in.
    pub read: u64,
    /// Cycles: the array, its waits included.
    pub array: u64,
    /// Cycles: the result goes out.
    pub write: u64,
    /// Cycles of the task, behind the one before it.
    pub cycles: u64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Occupancy {
    /// The chip, if it is one that there is a device of.
    pub chip: Option<&'static str>,
    /// The compiler's target that the numbers are of.
    pub generation: &'static str,
    pub levels: Vec<Level>,
    /// The tasks, up to the first that is not understood.
    pub tasks: Vec<TaskOccupancy>,
    /// Granules that each bank gives in one walk over each operand.
    #[serde(serialize_with = "heat_of_all")]
    pub heat: Heat,
    pub cycles: u64,
    /// Nanoseconds of a request, from call to return.
    pub nanoseconds: u64,
    pub damage: Option<String>,
}

fn heat<S: serde::Serializer>(heat: &Option<Heat>, to: S) -> Result<S::Ok, S::Error> {
    heat.as_ref().map(|heat| heat.as_slice()).serialize(to)
}

fn heat_of_all<S: serde::Serializer>(heat: &Heat, to: S) -> Result<S::Ok, S::Error> {
    heat.as_slice().serialize(to)
}

impl Occupancy {
    /// The report of a chip without a program.
    pub fn of_chip(soc: Soc) -> Self {
        Self { chip: Some(soc.name()), ..Self::of_target(soc.chip().generation) }
    }

    /// The same of any target of the compiler.
    pub fn of_target(generation: Generation) -> Self {
        let machine = Machine::of(generation);
        Self {
            chip: None,
            generation: generation.name(),
            levels: levels(&machine.hierarchy),
            tasks: Vec::new(),
            heat: [0; BANKS_MAX as usize],
            cycles: 0,
            nanoseconds: machine.dispatch_nanoseconds,
            damage: None,
        }
    }

    pub fn of(program: &Program<'_>, soc: Soc) -> Self {
        Self { chip: Some(soc.name()), ..Self::on_target(program, soc.chip().generation) }
    }

    /// The report of a program with the numbers of any target of the compiler.
    pub fn on_target(program: &Program<'_>, generation: Generation) -> Self {
        let mut walk = Walk::of(program, Self::of_target(generation), generation);
        let tasks = walk.by_ref().collect();
        Self { tasks, ..walk.end() }
    }
}

fn levels(hierarchy: &Hierarchy) -> Vec<Level> {
    let level = |level: ane_uapi::hw::sram::level::Level| Level {
        name: level.name,
        value: level.number,
        unit: level.unit,
        field: level.field.map(|field| format!("{:#x}", field.0)),
        grade: level.grade.name(),
        role: level.role,
    };
    hierarchy.levels().into_iter().map(level).collect()
}

fn describe(machine: &Machine, clock: &mut Clock, index: u32, plan: &Plan) -> TaskOccupancy {
    let cost = Cost::of(machine, &plan.pass);
    let spent = clock.task(&cost, index == 0, 0);
    let mut operands = Vec::new();
    let (class, sink, groups) = match &plan.pass {
        Pass::Neural(pass) => {
            operands.push(source(machine, "source 1", &pass.source, pass.groups));
            if cost.work.kernel_bytes > 0 {
                operands.push(coefficients(&machine.hierarchy, cost.work.kernel_bytes));
            }
            ("neural", &pass.sink, pass.groups)
        }
        Pass::Planar(pass) => {
            operands.push(source(machine, "source 1", &pass.source1, pass.batches));
            let second = pass.source2.as_ref();
            operands.extend(second.map(|second| source(machine, "source 2", second, pass.batches)));
            (pass.planar.class.task_class().name(), &pass.sink, pass.batches)
        }
    };
    operands.push(result(machine, sink, groups));
    let slots = sink.shape.channels;
    TaskOccupancy {
        index,
        class,
        operands,
        output_buffer: match machine.hierarchy.output_buffer(slots, GateReading::Listing) {
            OutputBuffer::Default => "default",
            OutputBuffer::Dedicated => "dedicated",
        },
        passes: cost.work.passes,
        groups: cost.work.banks.groups,
        conflicts: cost.work.banks.conflicts,
        stalls: cost.work.banks.stalls,
        fill: cost.fill,
        read: cost.read,
        array: cost.array,
        write: cost.write,
        cycles: spent.cycles,
    }
}

/// Bytes of the elements of all groups; groups that are no bytes apart are the same elements.
fn bytes_of(shape: Shape, element: Element, groups: u32, apart: u32) -> u64 {
    let groups = if apart == 0 { 1 } else { groups.max(1) };
    shape.elements().saturating_mul(element.bytes().into()).saturating_mul(groups.into())
}

fn source(machine: &Machine, name: &'static str, source: &Source, groups: u32) -> Operand {
    let bytes = match &source.origin {
        Origin::Chip(place) => bytes_of(source.shape, place.element, groups, place.group_stride),
        Origin::Memory { from, .. } => bytes_of(source.shape, from.element, groups, from.group_stride),
        Origin::Passed => bytes_of(source.shape, Element::Half, 1, 0),
    };
    match &source.origin {
        Origin::Chip(place) => Operand {
            name,
            bytes,
            place: "pool",
            why: "a task before left it there".to_owned(),
            heat: Some(walked(machine, place, source.stored())),
        },
        Origin::Memory { from, by, .. } => Operand {
            name,
            bytes,
            place: "DRAM, through the pool",
            why: moved(machine, from, source.stored(), groups),
            heat: Some(walked(machine, by, source.stored())),
        },
        Origin::Passed => Operand {
            name,
            bytes,
            place: "from the task before",
            why: "the task before passes it straight on".to_owned(),
            heat: None,
        },
    }
}

fn result(machine: &Machine, sink: &Sink, groups: u32) -> Operand {
    let name = "result";
    let bytes = match (sink.memory, sink.chip) {
        (Some(memory), _) => bytes_of(sink.shape, memory.element, groups, memory.group_stride),
        (None, Some(chip)) => bytes_of(sink.shape, chip.element, groups, chip.group_stride),
        (None, None) => bytes_of(sink.shape, Element::Half, 1, 0),
    };
    match (&sink.memory, &sink.chip) {
        _ if sink.is_passed_on => Operand {
            name,
            bytes,
            place: "to the next task",
            why: "passed straight on".to_owned(),
            heat: None,
        },
        (Some(memory), chip) => Operand {
            name,
            bytes,
            place: "DRAM, through the pool",
            why: moved(machine, memory, sink.shape, groups),
            heat: chip.map(|chip| walked(machine, &chip, sink.shape)),
        },
        (None, chip) => Operand {
            name,
            bytes,
            place: "pool",
            why: "a later task takes it there".to_owned(),
            heat: chip.map(|chip| walked(machine, &chip, sink.shape)),
        },
    }
}

fn coefficients(hierarchy: &Hierarchy, bytes: u64) -> Operand {
    let store = match hierarchy.kernel_store(bytes) {
        KernelStore::Dense => {
            format!("all of it fits the kernel store of {:#x}", hierarchy.kernel_store_bytes())
        }
        KernelStore::Streamed => {
            format!("streams through the kernel store of {:#x}", hierarchy.kernel_store_bytes())
        }
        KernelStore::TooLarge => {
            format!("above the cap of {:#x} of one task", hierarchy.streamed_kernel_bytes)
        }
    };
    let split = hierarchy.split_bytes();
    let why = match hierarchy.crossing {
        Crossing::Smooth => format!(
            "{store}; tiled at every size, by passes over the outputs: tiles fill while the array works"
        ),
        Crossing::Step if bytes < split.into() => {
            format!("{store}; below the split of {split:#x}: filled before the array starts")
        }
        Crossing::Step => {
            format!("{store}; at the split of {split:#x} or above: tiles fill while the array works")
        }
    };
    Operand { name: "coefficients", bytes, place: "DRAM, through the kernel store", why, heat: None }
}

/// Where an operand in DRAM goes, by the size of the tensor that it is a part of.
fn moved(machine: &Machine, place: &MemoryPlace, shape: Shape, groups: u32) -> String {
    let hierarchy = &machine.hierarchy;
    let (rows, whole) = (place.whole_rows(shape), place.whole_bytes(shape, groups));
    let bound = hierarchy.operand_bytes;
    let part = if rows > shape.height {
        format!("{} of {rows} rows of {whole:#x} bytes, ", shape.height)
    } else {
        String::new()
    };
    match hierarchy.residency(whole) {
        Residency::Resident => format!("{part}{whole:#x} is below the bound of {bound:#x}: resident"),
        Residency::Streamed { tiles } => {
            format!(
                "{part}{whole:#x} is at the bound of {bound:#x} or above: streamed, {}",
                count(tiles, "tile")
            )
        }
    }
}

/// Granules that each bank gives in one walk over a tensor.
fn walked(machine: &Machine, place: &ChipPlace, shape: Shape) -> Heat {
    let hierarchy = &machine.hierarchy;
    let row = hierarchy.granules(shape.width);
    // Channels, rows and granules of a row are the three axes of the access.
    hierarchy.loads(
        place.base.into(),
        [
            Axis::new(place.channel_stride.into(), shape.channels),
            Axis::new(place.row_stride.into(), shape.height),
            Axis::new(hierarchy.granule.into(), row),
        ],
    )
}
