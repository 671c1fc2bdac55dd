//! A task of the page: registers, operands, time, and what feeds it.

use ane_device::engine::plan::operand::{ChipPlace, Origin, Shape, Source};
use ane_device::engine::plan::{Pass, Plan};
use ane_device::timing::phases::Part;
use ane_device::timing::{Cost, Machine, Spent};
use ane_uapi::hw::sram::bank::{Axis, BANKS_MAX};
use serde::Serialize;

use super::tables::{Place, Tables};
use crate::decode::{BarReport, RegisterFile, TaskReport};
use crate::task::Task;

/// The meanings of places on chip; a place has the index of one.
pub(super) const PLACES: [&str; 4] =
    ["result", "taken from the chip", "source, on its way", "result, on its way"];
const RESULT: usize = 0;
const TAKEN: usize = 1;
const SOURCE_ON_ITS_WAY: usize = 2;
const RESULT_ON_ITS_WAY: usize = 3;

/// Texts are numbers of the page's table, and so are registers.
#[derive(Debug, Default, Serialize)]
pub(super) struct ShownTask {
    pub(super) index: u32,
    offset: u32,
    bytes: u32,
    summary: usize,
    /// Operation and name of the model's layer that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    layer: Option<usize>,
    /// Operand, base address, and what the program has there.
    bases: Vec<(usize, u8, usize)>,
    /// Tasks whose results it takes from the chip.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    takes: Vec<u32>,
    /// Places on chip: what lies there, first byte, and the byte behind the last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    places: Vec<(usize, u64, u64)>,
    /// Granules by bank, of all operands together: a number, for how many banks, and so on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    heat: Vec<u64>,
    /// When it begins, in cycles of virtual time.
    pub(super) start: u64,
    pub(super) cycles: u64,
    /// By part of the chip: cycles from the end of the span before, its length, how many of these follow, and so on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    spans: Vec<Vec<i64>>,
    /// What tasks that are not shown left in registers: register and value, and so on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) left: Vec<u32>,
    /// The registers whose values it changes, likewise.
    pub(super) registers: Vec<u32>,
}

impl ShownTask {
    /// The parts of a task that do not depend on whether it is understood. Brings `file` up to date.
    pub(super) fn of(
        task: &Task<'_>,
        layer: Option<&str>,
        file: &mut RegisterFile,
        bars: &[BarReport],
        tables: &mut Tables,
    ) -> Self {
        let report = TaskReport::of(task, file, None, bars);
        let bases = report.bases.iter();
        Self {
            index: task.index,
            offset: task.offset,
            bytes: report.bytes,
            summary: tables.text(&report.summary),
            layer: layer.map(|layer| tables.text(layer)),
            bases: bases.map(|base| (tables.text(base.what), base.bar, tables.text(&base.role))).collect(),
            ..Self::default()
        }
    }

    /// Time and memory of a task that is understood. `shown` are the tasks before it.
    pub(super) fn place(
        &mut self,
        plan: &Plan,
        (cost, spent): (&Cost, &Spent),
        machine: &Machine,
        shown: &[Self],
    ) {
        self.cycles = spent.cycles;
        let mut spans = Spans::default();
        cost.spans(spent, |span| spans.add(span.part, span.start, span.end));
        self.spans = spans.runs;
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
                Origin::Chip(place) => (TAKEN, place),
                Origin::Memory { by, .. } => (SOURCE_ON_ITS_WAY, by),
                Origin::Passed => {
                    // It never lies on chip; the task right before made it.
                    self.takes.extend(self.index.checked_sub(1));
                    continue;
                }
            };
            let shape = source.stored();
            walked(place, shape);
            let (start, end) = (u64::from(place.base), place.end(shape));
            if matches!(source.origin, Origin::Chip(_)) {
                self.takes.extend(maker(shown, self.index, start, end));
            }
            self.places.push((what, start, end));
        }
        if let Some(place) = &sink.chip {
            walked(place, sink.shape);
            let what = if sink.memory.is_some() { RESULT_ON_ITS_WAY } else { RESULT };
            self.places.push((what, place.base.into(), place.end(sink.shape)));
        }
        self.heat = runs(&heat);
    }
}

/// The task that left its result in these bytes last, before task `index`. Behind a gap it may be a task that is not shown.
fn maker(shown: &[ShownTask], index: u32, start: u64, end: u64) -> Option<u32> {
    let made = |task: &&ShownTask| {
        let is_result = |what: usize| what == RESULT || what == RESULT_ON_ITS_WAY;
        task.places.iter().any(|&(what, from, to)| is_result(what) && from < end && start < to)
    };
    let without_gap =
        shown.iter().rev().zip((0..index).rev()).take_while(|(task, index)| task.index == *index);
    without_gap.map(|(task, _)| task).find(made).map(|task| task.index)
}

/// Equal numbers one behind the other as a number and how many there are.
fn runs(numbers: &[u64]) -> Vec<u64> {
    numbers
        .chunk_by(|a, b| a == b)
        .flat_map(|run| [run.first().copied().unwrap_or(0), run.len() as u64])
        .collect()
}

/// The spans of a task, by part. Tiles mostly last equally long.
#[derive(Debug, Default)]
struct Spans {
    runs: Vec<Vec<i64>>,
    ends: Vec<u64>,
}

impl Spans {
    fn add(&mut self, part: Part, start: u64, end: u64) {
        let line = Part::ALL.iter().position(|&other| other == part).unwrap_or(0);
        let lines = line.saturating_add(1).max(self.runs.len());
        self.runs.resize_with(lines, Vec::new);
        self.ends.resize(lines, 0);
        let (Some(run), Some(before)) = (self.runs.get_mut(line), self.ends.get_mut(line)) else { return };
        // A span may begin before the end of the one before it, by a cycle that was rounded.
        let (gap, length) =
            (start.wrapping_sub(*before).cast_signed(), end.wrapping_sub(start).cast_signed());
        *before = end;
        match run.as_mut_slice() {
            [.., last_gap, last_length, times] if (*last_gap, *last_length) == (gap, length) => {
                *times = times.saturating_add(1);
            }
            _ => run.extend([gap, length, 1]),
        }
    }
}

/// The words that a task writes, in their order and each once, with their last value.
pub(super) fn writes(task: &Task<'_>) -> Vec<(Place, u32)> {
    let mut order = Vec::new();
    let mut last = std::collections::BTreeMap::new();
    let mut write = |place, value| {
        if last.insert(place, value).is_none() {
            order.push(place);
        }
    };
    for (register, value) in task.header.rows() {
        write(Place::header(register.offset), value);
    }
    task.for_each_write(|address, value| write(Place::record(address), value));
    order.into_iter().filter_map(|place| Some((place, *last.get(&place)?))).collect()
}
