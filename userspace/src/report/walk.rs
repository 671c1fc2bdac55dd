//! The way along the tasks of a program: which of them a page shows, and what all of them come to.
//!
//! Every task is decoded and planned, so that no refusal is missed. The first tasks are shown, and behind them those that are
//! refused or that ended a run, as far as there is room.

use std::collections::BTreeMap;

use ane_device::engine::plan::{Plan, plan};
use ane_device::td::decode::decode;
use ane_device::td::fetch::Descriptor;
use ane_device::td::register_file::RegisterFile as DeviceRegisters;
use ane_device::timing::{Clock, Cost, Machine};
use ane_uapi::hw::chip::Soc;
use serde::Serialize;

use super::tables::{Place, Tables};
use super::task::{self, ShownTask};
use super::{FIRST_BYTES_MAX, LATER_BYTES_MAX, LATER_MAX, TASKS_MAX, short};
use crate::container::Program;
use crate::decode::{BarReport, RegisterFile};
use crate::refusals::Refusal;
use crate::task::Task;

/// The tasks that are shown, and what all tasks come to.
#[derive(Debug, Default, Serialize)]
pub(super) struct Walk {
    tasks: Vec<ShownTask>,
    /// The tasks that are shown from the first on without a gap.
    first: u32,
    /// Of the tasks that are shown.
    refusals: Vec<Refused>,
    /// Refused tasks in the whole program.
    refused: u32,
    /// The task whose descriptor is not understood. The registers of those behind it are unknown, and they are not planned.
    not_understood: Option<u32>,
    /// Why the tasks cannot be followed further.
    damage: Option<String>,
    cycles: u64,
    /// Nanoseconds of a request in virtual time.
    nanoseconds: u64,
    /// Bytes of memory on chip.
    chip_bytes: u64,
}

/// A refusal, with numbers of the page's texts.
#[derive(Debug, Serialize)]
struct Refused {
    task: u32,
    register: Option<&'static str>,
    field: Option<&'static str>,
    address: u32,
    bits: u32,
    value: u32,
    category: &'static str,
    why: usize,
    hint: usize,
}

impl Refused {
    fn of(refusal: &Refusal, tables: &mut Tables) -> Self {
        let &Refusal { task, register, field, address, bits, value, category, ref why } = refusal;
        let (why, hint) = (tables.text(why), tables.text(refusal.advice()));
        Self { task, register, field, address, bits, value, category, why, hint }
    }
}

/// What a task is to the engine.
enum Understood {
    Planned(Box<Plan>, Cost, ane_device::timing::Spent),
    Refused(Refusal),
    /// A descriptor before it is not understood, so its registers are unknown.
    Unknown,
}

/// Words of descriptors, with their values.
type Words = Vec<(Place, u32)>;

/// The registers on the way: what the engine has, and what the page says so far.
#[derive(Default)]
struct Registers {
    device: DeviceRegisters,
    file: RegisterFile,
    held: BTreeMap<Place, u32>,
    told: BTreeMap<Place, u32>,
}

/// Room in the page.
struct Room {
    tasks: usize,
    bytes: usize,
}

impl Room {
    /// Takes room for a task of that many bytes. If there is too little, none is left for those behind it either.
    fn take(&mut self, bytes: usize) -> bool {
        let left = self.tasks.checked_sub(1).zip(self.bytes.checked_sub(bytes));
        (self.tasks, self.bytes) = left.unwrap_or((0, 0));
        left.is_some()
    }
}

/// The way itself, with what it needs at every task.
struct Way<'w> {
    program: &'w Program<'w>,
    bars: &'w [BarReport],
    machine: Machine,
    /// The task that ended a run.
    ended: Option<u32>,
    clock: Clock,
    registers: Registers,
    first: Room,
    later: Room,
    understood: bool,
}

impl Walk {
    /// `ended` is the task that ended a run.
    pub(super) fn of(
        program: &Program<'_>,
        bars: &[BarReport],
        ended: Option<u32>,
        soc: Soc,
        tables: &mut Tables,
    ) -> Self {
        let machine = Machine::of(soc.chip().generation);
        let mut walk = Self { chip_bytes: machine.hierarchy.operand_bytes.into(), ..Self::default() };
        let mut way = Way {
            program,
            bars,
            ended,
            clock: Clock::new(machine),
            machine,
            registers: Registers::default(),
            first: Room { tasks: TASKS_MAX, bytes: FIRST_BYTES_MAX },
            later: Room { tasks: LATER_MAX, bytes: LATER_BYTES_MAX },
            understood: true,
        };
        walk.damage = walk.follow(&mut way, tables).err();
        walk.nanoseconds = machine.dispatch_nanoseconds.saturating_add(machine.nanoseconds(walk.cycles));
        walk
    }

    fn follow(&mut self, way: &mut Way<'_>, tables: &mut Tables) -> Result<(), String> {
        for task in way.program.tasks().map_err(|why| why.to_string())? {
            let task = task.map_err(|why| why.to_string())?;
            let understood = way.understand(&task);
            if !way.understood {
                self.not_understood.get_or_insert(task.index);
            }
            let start = self.cycles;
            match &understood {
                Understood::Planned(.., spent) => self.cycles = self.cycles.saturating_add(spent.cycles),
                Understood::Refused(_) => self.refused = self.refused.saturating_add(1),
                Understood::Unknown => {}
            }
            let is_first = way.first.tasks > 0;
            let is_wrong = matches!(understood, Understood::Refused(_)) || way.ended == Some(task.index);
            if is_first || (is_wrong && way.later.tasks > 0) {
                self.show(way, &task, &understood, start, tables);
            } else if way.understood {
                way.registers.pass(&task);
            }
        }
        Ok(())
    }

    /// Adds a task, if there is room for it.
    fn show(
        &mut self,
        way: &mut Way<'_>,
        task: &Task<'_>,
        understood: &Understood,
        start: u64,
        tables: &mut Tables,
    ) {
        let before = tables.bytes();
        let (left, changed) = way.registers.go_on(task);
        let layer = way.program.layer_of(task.index);
        let layer =
            layer.map(|layer| format!("{} {}", short::cut(&layer.operation), short::cut(&layer.name)));
        let mut shown = ShownTask::of(task, layer.as_deref(), &mut way.registers.file, way.bars, tables);
        shown.start = start;
        let mut slots = |words: &Words| -> Vec<u32> {
            words.iter().flat_map(|&(place, value)| [tables.slot(place) as u32, value]).collect()
        };
        (shown.left, shown.registers) = (slots(&left), slots(&changed));
        let mut refused = None;
        match understood {
            Understood::Planned(plan, cost, spent) => {
                shown.place(plan, (cost, spent), &way.machine, &self.tasks);
            }
            Understood::Refused(refusal) => refused = Some(Refused::of(refusal, tables)),
            Understood::Unknown => {}
        }
        let bytes = short::json_bytes(&(&shown, &refused));
        let bytes = bytes.saturating_add(tables.bytes().saturating_sub(before));
        let is_first = way.first.take(bytes);
        let is_wrong = refused.is_some() || way.ended == Some(task.index);
        if is_first || (is_wrong && way.later.take(bytes)) {
            self.first = self.first.saturating_add(is_first.into());
            self.tasks.push(shown);
            self.refusals.extend(refused);
            way.registers.told.extend(left.into_iter().chain(changed));
        }
    }
}

impl Way<'_> {
    /// Decodes and plans a task as the device does.
    fn understand(&mut self, task: &Task<'_>) -> Understood {
        if !self.understood {
            return Understood::Unknown;
        }
        let descriptor = Descriptor::of(task.words.iter().map(|word| word.get()));
        let header = match decode(&descriptor, &self.registers.device) {
            Ok((header, after)) => {
                self.registers.device = after;
                header
            }
            Err(error) => {
                self.understood = false;
                return Understood::Refused(Refusal::of_descriptor(task.index, &error));
            }
        };
        match plan(&header, &self.registers.device) {
            Ok(plan) => {
                let cost = Cost::of(&self.machine, &plan.pass);
                let spent = self.clock.task(&cost, task.index == 0, 0);
                Understood::Planned(Box::new(plan), cost, spent)
            }
            Err(verdict) => Understood::Refused(Refusal::of_verdict(task.index, &verdict)),
        }
    }
}

impl Registers {
    /// Goes past a task that is not shown. It is understood, so it writes known registers only.
    fn pass(&mut self, task: &Task<'_>) {
        for (place, value) in task::writes(task) {
            self.held.insert(place, value);
        }
        task.for_each_write(|address, value| {
            self.file.write(address, value);
        });
    }

    /// Goes on to a task that may be shown: what tasks before it left that the page does not say so far, and what it changes.
    /// The first task sets everything; what a later one writes is told where it changes something.
    fn go_on(&mut self, task: &Task<'_>) -> (Words, Words) {
        let is_new = |(place, value): &(&Place, &u32)| self.told.get(place).copied().unwrap_or(0) != **value;
        let left = self.held.iter().filter(is_new).map(|(&place, &value)| (place, value)).collect();
        let mut changed = task::writes(task);
        changed.retain(|&(place, value)| {
            self.held.insert(place, value).unwrap_or(0) != value || task.index == 0
        });
        (left, changed)
    }
}
