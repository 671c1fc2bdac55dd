//! The tasks of a program as a page shows them: registers, operands, time, and what feeds what.

use ane_device::engine::plan::operand::{ChipPlace, Origin, Shape, Source};
use ane_device::engine::plan::{Pass, Plan, plan};
use ane_device::td::decode::decode;
use ane_device::td::fetch::Descriptor;
use ane_device::td::register_file::RegisterFile as DeviceRegisters;
use ane_device::timing::{Clock, Cost, Machine};
use ane_uapi::hw::chip::Soc;
use ane_uapi::hw::sram::bank::{Axis, BANKS_MAX};
use serde::Serialize;

use super::{Legend, Meaning, TASKS_MAX};
use crate::container::Program;
use crate::decode::{BarReport, BaseReport, FieldReport, RegisterFile, RegisterReport, TaskReport};
use crate::refusals::Refusal;

/// The tasks that are shown, and what they come to.
#[derive(Debug, Default, Serialize)]
pub(super) struct ShownTasks {
    tasks: Vec<ShownTask>,
    refusals: Vec<Refused>,
    /// Why the tasks cannot be followed further.
    damage: Option<String>,
    cycles: u64,
    /// Nanoseconds of a request in virtual time, of the tasks that are shown.
    nanoseconds: u64,
    /// Bytes of memory on chip.
    chip_bytes: u64,
}

#[derive(Debug, Serialize)]
struct Refused {
    #[serde(flatten)]
    refusal: Refusal,
    hint: &'static str,
}

#[derive(Debug, Serialize)]
struct ShownTask {
    index: u32,
    offset: u64,
    bytes: u32,
    summary: String,
    /// Operation and name of the model's layer that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    layer: Option<String>,
    bases: Vec<BaseReport>,
    /// Tasks whose results it takes from the chip.
    takes: Vec<u32>,
    /// Places on chip: what lies there, first byte, and the byte behind the last.
    places: Vec<(&'static str, u64, u64)>,
    /// Granules by bank, of all operands together.
    heat: Vec<u64>,
    /// When it begins, in cycles of virtual time.
    start: u64,
    cycles: u64,
    /// Part, and from when to when, in cycles from the beginning of the task.
    spans: Vec<(&'static str, u64, u64)>,
    /// The registers whose values it changes.
    registers: Vec<Written>,
}

/// A register write: the name that the legend has, value, what was there, and the fields that are not zero.
#[derive(Debug, Serialize)]
struct Written(String, u32, Option<u32>, Vec<(&'static str, String)>);

impl ShownTasks {
    pub(super) fn of(program: &Program<'_>, bars: &[BarReport], soc: Soc, legend: &mut Legend) -> Self {
        let machine = Machine::of(soc.chip().generation);
        let mut walk = Self { chip_bytes: machine.hierarchy.operand_bytes.into(), ..Self::default() };
        walk.damage = walk.follow(program, bars, machine, legend).err();
        walk.nanoseconds = machine.dispatch_nanoseconds.saturating_add(machine.nanoseconds(walk.cycles));
        walk
    }

    fn follow(
        &mut self,
        program: &Program<'_>,
        bars: &[BarReport],
        machine: Machine,
        legend: &mut Legend,
    ) -> Result<(), String> {
        let mut clock = Clock::new(machine);
        let mut registers = DeviceRegisters::default();
        let mut file = RegisterFile::default();
        let mut previous: Option<TaskReport> = None;
        let mut understood = true;
        for task in program.tasks().map_err(|why| why.to_string())?.take(TASKS_MAX) {
            let task = task.map_err(|why| why.to_string())?;
            let report = TaskReport::of(&task, &mut file, previous.as_ref(), bars);
            let mut shown = ShownTask::of(&report, legend);
            shown.layer =
                program.layer_of(task.index).map(|layer| format!("{} {}", layer.operation, layer.name));
            // The registers of tasks behind a descriptor that is not understood are unknown.
            if understood {
                let descriptor = Descriptor::of(task.words.iter().map(|word| word.get()));
                let planned = match decode(&descriptor, &registers) {
                    Ok((header, after)) => {
                        registers = after;
                        plan(&header, &registers).map_err(|verdict| Refusal::of_verdict(task.index, &verdict))
                    }
                    Err(error) => {
                        understood = false;
                        Err(Refusal::of_descriptor(task.index, &error))
                    }
                };
                match planned {
                    Ok(plan) => self.place(&mut shown, &plan, &machine, &mut clock),
                    Err(refusal) => self.refusals.push(Refused { hint: refusal.advice(), refusal }),
                }
            }
            self.tasks.push(shown);
            previous = Some(report);
        }
        Ok(())
    }

    /// Time and memory of a task that is understood.
    fn place(&mut self, task: &mut ShownTask, plan: &Plan, machine: &Machine, clock: &mut Clock) {
        let cost = Cost::of(machine, &plan.pass);
        let spent = clock.task(&cost, task.index == 0, 0);
        task.start = self.cycles;
        task.cycles = spent.cycles;
        self.cycles = self.cycles.saturating_add(spent.cycles);
        cost.spans(&spent, |span| task.spans.push((span.part.name(), span.start, span.end)));
        let mut heat = [0_u64; BANKS_MAX as usize];
        let mut walked = |place: &ChipPlace, shape: Shape| {
            let hierarchy = &machine.hierarchy;
            let loads = hierarchy.loads(
                place.base.into(),
                [
                    Axis::new(place.channel_stride.into(), shape.channels),
                    Axis::new(place.row_stride.into(), shape.height),
                    Axis::new(hierarchy.granule.into(), hierarchy.granules(shape.width)),
                ],
            );
            heat.iter_mut().zip(loads).for_each(|(sum, more)| *sum = sum.saturating_add(more));
        };
        let (sources, sink): (Vec<&Source>, _) = match &plan.pass {
            Pass::Neural(pass) => (vec![&pass.source], &pass.sink),
            Pass::Planar(pass) => ([&pass.source1].into_iter().chain(&pass.source2).collect(), &pass.sink),
        };
        for source in sources {
            let (what, place) = match &source.origin {
                Origin::Chip(place) => ("taken from the chip", place),
                Origin::Memory { by, .. } => ("source, on its way", by),
                Origin::Passed => {
                    // It never lies on chip; the task right before made it.
                    task.takes.extend(task.index.checked_sub(1));
                    continue;
                }
            };
            walked(place, source.shape);
            let (start, end) = (u64::from(place.base), place.end(source.shape));
            if matches!(source.origin, Origin::Chip(_)) {
                task.takes.extend(self.maker(start, end));
            }
            task.places.push((what, start, end));
        }
        if let Some(place) = &sink.chip {
            walked(place, sink.shape);
            let what = if sink.memory.is_some() { "result, on its way" } else { "result" };
            task.places.push((what, place.base.into(), place.end(sink.shape)));
        }
        task.heat = heat.to_vec();
    }

    /// The task that left its result in these bytes last.
    fn maker(&self, start: u64, end: u64) -> Option<u32> {
        let made = |task: &&ShownTask| {
            let results = task.places.iter().filter(|(what, ..)| what.starts_with("result"));
            results.into_iter().any(|(_, from, to)| *from < end && start < *to)
        };
        self.tasks.iter().rev().find(made).map(|task| task.index)
    }
}

impl ShownTask {
    fn of(report: &TaskReport, legend: &mut Legend) -> Self {
        let header = report.header.iter().map(|word| ("header", word));
        let blocks =
            report.blocks.iter().flat_map(|block| block.registers.iter().map(|word| (block.name, word)));
        // The first task sets everything; what a later one writes is told where it changes something.
        let is_first = report.changed.is_none();
        let told = header.chain(blocks).filter(|(_, word)| is_first || word.was.is_some());
        Self {
            index: report.index,
            offset: report.offset.0,
            bytes: report.bytes,
            summary: report.summary.clone(),
            layer: None,
            bases: report.bases.clone(),
            takes: Vec::new(),
            places: Vec::new(),
            heat: Vec::new(),
            start: 0,
            cycles: 0,
            spans: Vec::new(),
            registers: told.map(|(block, word)| Written::of(block, word, legend)).collect(),
        }
    }
}

impl Written {
    fn of(block: &'static str, word: &RegisterReport, legend: &mut Legend) -> Self {
        let known = word.name.map_or_else(|| format!("unknown at {}", word.address), str::to_owned);
        let entry = || Meaning {
            block,
            meaning: word.meaning,
            grade: word.grade,
            source: word.source,
            fields: word
                .fields
                .iter()
                .map(|field| (field.name, (field.bits.clone(), field.meaning, field.grade)))
                .collect(),
        };
        legend.entry(known.clone()).or_insert_with(entry);
        let name = word.index.map_or_else(|| known.clone(), |index| format!("{known}[{index}]"));
        let said = |field: &&FieldReport| field.value != 0 || field.enumerated;
        let fields = word.fields.iter().filter(said).map(|field| (field.name, field.shown.clone()));
        let unknown = word.unknown_bits.map(|bits| ("bits that no source explains", bits.to_string()));
        Self(name, word.value.0, word.was.map(|was| was.0), fields.chain(unknown).collect())
    }
}
