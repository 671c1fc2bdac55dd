//! The use of the chip's memory, task by task: a program may have tens of thousands of tasks, each with a report of some kilobytes.

use std::cell::RefCell;

use ane_device::engine::plan::plan;
use ane_device::td::decode::decode;
use ane_device::td::fetch::Descriptor;
use ane_device::td::register_file::RegisterFile;
use ane_device::timing::{Clock, Machine};
use ane_uapi::hw::hal::Generation;
use serde::ser::{Error as _, SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

use super::{Occupancy, TaskOccupancy, describe};
use crate::container::Program;
use crate::task::{Task, Tasks};

/// The reports of tasks, up to the first that is not understood.
#[derive(Debug)]
pub struct Walk<'a> {
    machine: Machine,
    clock: Clock,
    registers: RegisterFile,
    tasks: Option<Tasks<'a>>,
    /// The report without tasks, as far as the walk is.
    whole: Occupancy,
}

impl<'a> Walk<'a> {
    /// `whole` is the report of the chip or target without a program.
    pub fn of(program: &Program<'a>, whole: Occupancy, generation: Generation) -> Self {
        let machine = Machine::of(generation);
        let mut walk = Self {
            machine,
            clock: Clock::new(machine),
            registers: RegisterFile::default(),
            tasks: None,
            whole,
        };
        match program.tasks() {
            Ok(tasks) => walk.tasks = Some(tasks),
            Err(error) => walk.whole.damage = Some(error.to_string()),
        }
        walk
    }

    /// The report as far as the walk is, without tasks.
    pub const fn whole(&self) -> &Occupancy {
        &self.whole
    }

    /// The report of the whole program, but for its tasks, once the walk has ended.
    pub fn end(mut self) -> Occupancy {
        let cycles = self.machine.nanoseconds(self.whole.cycles);
        self.whole.nanoseconds = self.whole.nanoseconds.saturating_add(cycles);
        self.whole
    }

    fn task(&mut self, task: &Task<'_>) -> Result<TaskOccupancy, String> {
        let wrong = |error: &dyn std::fmt::Display| format!("task {}: {error}", task.index);
        let descriptor = Descriptor::of(task.words.iter().map(|word| word.get()));
        let (header, after) = decode(&descriptor, &self.registers).map_err(|error| wrong(&error))?;
        self.registers = after;
        let plan = plan(&header, &self.registers).map_err(|verdict| wrong(&verdict))?;
        Ok(describe(&self.machine, &mut self.clock, task.index, &plan))
    }
}

impl Iterator for Walk<'_> {
    type Item = TaskOccupancy;

    fn next(&mut self) -> Option<TaskOccupancy> {
        let task = self.tasks.as_mut()?.next()?;
        let task = task.map_err(|error| error.to_string()).and_then(|task| self.task(&task));
        match task {
            Ok(task) => {
                let whole = &mut self.whole;
                whole.cycles = whole.cycles.saturating_add(task.cycles);
                for heat in task.operands.iter().filter_map(|operand| operand.heat) {
                    whole.heat.iter_mut().zip(heat).for_each(|(sum, more)| *sum = sum.saturating_add(more));
                }
                Some(task)
            }
            Err(damage) => {
                (self.tasks, self.whole.damage) = (None, Some(damage));
                None
            }
        }
    }
}

/// A walk to be serialised as [`Occupancy`] is. It is gone through once.
pub struct Streamed<'a> {
    walk: RefCell<Option<Walk<'a>>>,
}

impl<'a> Streamed<'a> {
    pub const fn of(walk: Walk<'a>) -> Self {
        Self { walk: RefCell::new(Some(walk)) }
    }
}

impl Serialize for Streamed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut walk = self.walk.take().ok_or_else(|| S::Error::custom("the walk has ended"))?;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("chip", &walk.whole.chip)?;
        map.serialize_entry("generation", walk.whole.generation)?;
        map.serialize_entry("levels", &walk.whole.levels)?;
        map.serialize_entry("tasks", &TaskList(RefCell::new(&mut walk)))?;
        let whole = walk.end();
        map.serialize_entry("heat", whole.heat.as_slice())?;
        map.serialize_entry("cycles", &whole.cycles)?;
        map.serialize_entry("nanoseconds", &whole.nanoseconds)?;
        map.serialize_entry("damage", &whole.damage)?;
        map.end()
    }
}

struct TaskList<'w, 'a>(RefCell<&'w mut Walk<'a>>);

impl Serialize for TaskList<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut walk = self.0.try_borrow_mut().map_err(S::Error::custom)?;
        let mut list = serializer.serialize_seq(None)?;
        walk.try_for_each(|task| list.serialize_element(&task))?;
        list.end()
    }
}
