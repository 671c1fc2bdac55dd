//! The program descriptor: what each BAR carries, and where the tasks are.
//!
//! A thread command of flavor 1. Offsets are from the start of the load command; the words that are not named
//! here have constants of unknown meaning (td 2.1, derived).

use super::super::bytes::Reader;
use super::error::ReadError;
use super::macho::{LC_THREAD, Object};

/// Thread flavor of the program descriptor.
pub(super) const FLAVOR: u32 = 1;

/// First entry of the BAR table.
const BARS_AT: u64 = 0x10;

/// Entries of the BAR table, of which the hardware has the first 32.
const BARS: u32 = 256;

/// Link address of the task stream.
const STREAM_AT: u64 = 0x810;

/// Words of the first task, minus one.
const FIRST_TASK_AT: u64 = 0x818;

const TASKS_AT: u64 = 0x81c;

const _: () = assert!(BARS_AT + 8 * BARS as u64 == STREAM_AT);

#[derive(Clone, Debug)]
pub(super) struct ProgramDescriptor {
    /// Index and link address of the BARs in use.
    pub(super) bars: Vec<(u32, u64)>,
    /// File offset of the BAR table.
    pub(super) bars_at: u64,
    /// Link address of the task stream.
    pub(super) stream: u64,
    /// File offset of that.
    pub(super) stream_at: u64,
    /// Words of the first task; up to 2^32.
    pub(super) first_task_words: u64,
    /// File offset of that.
    pub(super) first_task_at: u64,
    pub(super) tasks: u32,
    /// File offset of that.
    pub(super) tasks_at: u64,
}

impl ProgramDescriptor {
    /// File offset of one BAR's link address.
    pub(super) const fn bar_at(&self, index: u32) -> u64 {
        self.bars_at.saturating_add(8 * index as u64)
    }

    pub(super) fn of(object: &Object<'_>) -> Result<Self, ReadError> {
        let mut found = None;
        for command in object.commands_of(LC_THREAD) {
            if command.flavor()? != FLAVOR {
                continue;
            }
            if found.is_some() {
                return Err(ReadError::SecondProgram { place: command.body.place });
            }
            found = Some(Self::read(&command.body)?);
        }
        found.ok_or(ReadError::NoProgram { commands: object.commands.len() })
    }

    fn read(body: &Reader<'_>) -> Result<Self, ReadError> {
        let mut bars = Vec::new();
        for index in 0..BARS {
            let link = body.u64(BARS_AT + 8 * u64::from(index), "BAR link address")?;
            if link != 0 {
                bars.push((index, link));
            }
        }
        Ok(Self {
            bars,
            bars_at: body.offset(BARS_AT),
            stream_at: body.offset(STREAM_AT),
            stream: body.u64(STREAM_AT, "task stream's link address")?,
            first_task_words: u64::from(body.u32(FIRST_TASK_AT, "first task's length")?) + 1,
            first_task_at: body.offset(FIRST_TASK_AT),
            tasks: body.u32(TASKS_AT, "number of tasks")?,
            tasks_at: body.offset(TASKS_AT),
        })
    }
}
