//! Tasks as reports one after the other.
//!
//! A task's report takes a thousand times the room of its descriptor, and a program may have tens of thousands of tasks. So
//! commands go along the chain with one report in hand, and the one before it, which tells what changed.

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde::ser::{Error as _, SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

use super::legend::{self, Entry};
use super::{BarReport, Damage, ProgramReport, RegisterFile, TaskReport};
use crate::container::Program;
use crate::task::Tasks;

/// The tasks of a program, up to the first that is damaged.
#[derive(Debug)]
pub struct TaskReports<'a> {
    tasks: Option<Tasks<'a>>,
    file: RegisterFile,
    last: Option<TaskReport>,
    damage: Option<Damage>,
}

impl<'a> TaskReports<'a> {
    pub fn of(program: &Program<'a>) -> Self {
        let (tasks, damage) = match program.tasks() {
            Ok(tasks) => (Some(tasks), None),
            Err(later) => (None, Some(later.into())),
        };
        Self { tasks, file: RegisterFile::default(), last: None, damage }
    }

    /// The next task, by the base addresses of its program.
    pub fn next(&mut self, bars: &[BarReport]) -> Option<&TaskReport> {
        match self.tasks.as_mut()?.next()? {
            Ok(task) => {
                let report = TaskReport::of(&task, &mut self.file, self.last.as_ref(), bars);
                Some(self.last.insert(report))
            }
            Err(broken) => {
                (self.tasks, self.damage) = (None, Some(broken.into()));
                None
            }
        }
    }

    /// The damage that ended the walk, if it has ended so.
    pub const fn damage(&self) -> Option<Damage> {
        self.damage
    }
}

/// A program to be serialised as [`Report`](super::Report) is, task by task.
#[derive(Debug)]
pub struct Streamed<'p, 'a>(pub &'p Program<'a>);

impl Serialize for Streamed<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let whole = ProgramReport::of(self.0);
        let walk =
            TaskList { bars: &whole.bars, state: RefCell::new((TaskReports::of(self.0), BTreeMap::new())) };
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("program", &whole)?;
        map.serialize_entry("tasks", &walk)?;
        let (tasks, legend) = walk.state.into_inner();
        if let Some(damage) = tasks.damage() {
            map.serialize_entry("damage", &damage.to_string())?;
        }
        map.serialize_entry("legend", &legend)?;
        map.end()
    }
}

/// The list of tasks. It is gone through once, and leaves behind what was met on the way.
struct TaskList<'p, 'a> {
    bars: &'p [BarReport],
    state: RefCell<(TaskReports<'a>, BTreeMap<&'static str, Entry>)>,
}

impl Serialize for TaskList<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut state = self.state.try_borrow_mut().map_err(S::Error::custom)?;
        let (tasks, legend) = &mut *state;
        let mut list = serializer.serialize_seq(None)?;
        while let Some(task) = tasks.next(self.bars) {
            legend::add(legend, task);
            list.serialize_element(task)?;
        }
        list.end()
    }
}
