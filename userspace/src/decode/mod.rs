//! The decoder: a compiled program as a report that names every word.
//!
//! [`Report::of`] takes a program apart; [`text::write`] prints the report for people, and `serde` serialises
//! the very same value for other programs. A damaged chain of tasks does not lose what came before it: the
//! report holds the tasks up to there, and says what stopped it. [`TaskReports`] and [`Streamed`] tell the same of a program of
//! any length, one task after the other.

mod legend;
mod program;
mod registers;
mod stream;
mod summary;
mod task;
pub mod text;
mod value;

use std::collections::BTreeMap;

use serde::Serialize;
use thiserror::Error;

pub use legend::{Entry, FieldEntry};
pub use program::{BarReport, ConstantsReport, ProgramReport, SurfaceReport, is_upsetting, printable};
pub use registers::RegisterFile;
pub use stream::{Streamed, TaskReports};
pub use task::{BaseReport, BlockReport, FieldReport, RegisterReport, TaskReport};
pub(crate) use value::shown;
pub use value::{Address, Word};

use crate::container::{LaterGeneration, Program};
use crate::task::{ChainError, Task};

#[derive(Debug, Serialize)]
pub struct Report {
    /// The container and what it says about the program as a whole.
    pub program: ProgramReport,
    /// The tasks, up to the first that is damaged.
    pub tasks: Vec<TaskReport>,
    #[serde(serialize_with = "as_text", skip_serializing_if = "Option::is_none")]
    pub damage: Option<Damage>,
    pub legend: BTreeMap<&'static str, Entry>,
}

/// Why the tasks could not be followed to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Damage {
    #[error(transparent)]
    Chain(#[from] ChainError),
    #[error(transparent)]
    Generation(#[from] LaterGeneration),
    #[error(
        "program has more than {TASKS_MAX} tasks, and a report holds no more: go along them with `TaskReports`"
    )]
    Long,
}

impl Damage {
    /// Why the tasks of `program` cannot be followed to their end, if they cannot.
    pub fn of(program: &Program<'_>) -> Option<Self> {
        match program.tasks() {
            Ok(mut tasks) => Some(tasks.find_map(Result::err)?.into()),
            Err(later) => Some(later.into()),
        }
    }
}

/// Tasks that one [`Report`] holds: each takes some 290 KB (Chosen: 300 MB for the longest).
pub const TASKS_MAX: usize = 1024;

fn as_text<S: serde::Serializer>(damage: &Option<Damage>, serializer: S) -> Result<S::Ok, S::Error> {
    match damage {
        Some(damage) => serializer.collect_str(damage),
        None => serializer.serialize_none(),
    }
}

impl Report {
    /// Takes `program` apart, up to [`TASKS_MAX`] tasks of it.
    pub fn of(program: &Program<'_>) -> Self {
        let mut file = RegisterFile::default();
        let mut tasks = Vec::new();
        let whole = ProgramReport::of(program);
        let damage = report_tasks(program, &whole.bars, &mut file, &mut tasks).err();
        let mut legend = BTreeMap::new();
        tasks.iter().for_each(|task| legend::add(&mut legend, task));
        Self { program: whole, tasks, damage, legend }
    }
}

fn report_tasks(
    program: &Program<'_>,
    bars: &[BarReport],
    file: &mut RegisterFile,
    tasks: &mut Vec<TaskReport>,
) -> Result<(), Damage> {
    for task in program.tasks()? {
        let task: Task<'_> = task?;
        if tasks.len() >= TASKS_MAX {
            return Err(Damage::Long);
        }
        let report = TaskReport::of(&task, file, tasks.last(), bars);
        tasks.push(report);
    }
    Ok(())
}
