//! The machine: registers that persist from task to task, memory, the on-chip buffer, and the walk along a chain.

use std::collections::BTreeMap;

use super::super::task_descriptor::{self, Refusal};
use super::memory::{Chip, Memory};
use super::operands::OperandValues;
use super::task::{Class, EngineTask};
use super::{Mode, Stop, TaskOutcome, hangs, neural, planar, refusals, stop_if};

/// Stands for the task's header where an outcome names a register; the byte offset of the word is added.
pub const HEADER: u32 = 0x8000_0000;

/// One engine with the memory it sees.
#[derive(Debug, Clone)]
pub struct ReferenceMachine {
    /// The client's memory.
    pub memory: Memory,
    /// The on-chip buffer, with the bytes that nobody knows.
    pub chip: Chip,
    /// The registers by record address; one that was never written holds 0.
    pub registers: BTreeMap<u32, u32>,
    /// How reductions are computed.
    pub mode: Mode,
    /// Whether inferred behaviour is refused.
    pub strict: bool,
    /// The result that the task before passed straight on (delta 14, types 3).
    pub(super) passed: Option<OperandValues>,
}

impl ReferenceMachine {
    /// A machine with nothing mapped.
    pub fn new(mode: Mode) -> Self {
        Self {
            memory: Memory::default(),
            chip: Chip::default(),
            registers: BTreeMap::new(),
            mode,
            strict: false,
            passed: None,
        }
    }

    /// Runs one descriptor. Its registers stay; memory and chip change only if it is done.
    pub fn run_task(&mut self, words: &[u32], bars: &[u32; 32]) -> TaskOutcome {
        self.passed = None;
        self.run_next(words, bars, true)
    }

    /// The same behind another task, whose result may have been passed on, and before another one unless it is the last.
    fn run_next(&mut self, words: &[u32], bars: &[u32; 32], is_last: bool) -> TaskOutcome {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let tasks = task_descriptor::decode_program(&bytes, bytes.len() as u32, 1);
        let task = match tasks.as_deref() {
            Ok([task]) => task,
            Ok(_) => unreachable!("one task was asked for"),
            Err(why) => return undecodable(why).into(),
        };
        self.registers.extend(task.writes.iter().map(|write| (write.address, write.value)));
        let registers = self.registers.clone();
        let (memory, chip) = (self.memory.clone(), self.chip.clone());
        match self.execute(&EngineTask { registers: &registers, header: &task.header, bars }, is_last) {
            Ok(inferred) => TaskOutcome::Done { inferred },
            Err(stop) => {
                // Reading: a fault leaves nothing behind either; what silicon has written by then is not said.
                (self.memory, self.chip) = (memory, chip);
                stop.into()
            }
        }
    }

    /// Runs `count` tasks, the first of `words` words at `first`, each next one where its predecessor points.
    pub fn run_chain(&mut self, first: u32, words: usize, count: u16, bars: &[u32; 32]) -> TaskOutcome {
        self.passed = None;
        let (mut address, mut length) = (u64::from(first), words);
        let mut inferred = Vec::new();
        for left in (0..count).rev() {
            let task = match self.fetch(address, length) {
                Ok(task) => task,
                Err(stop) => return stop.into(),
            };
            match self.run_next(&task, bars, left == 0) {
                TaskOutcome::Done { inferred: more } => inferred.extend(more),
                outcome => return outcome,
            }
            if left == 0 {
                break;
            }
            let next = task[7];
            if next == 0 {
                return Stop::refused(HEADER + 28, format!("chain ends, {left} tasks are left")).into();
            }
            // Reading: the pointer counts from the base that the header names, BAR 0 without an enable.
            let base = if task[8] >> 23 & 1 == 1 { task[8] >> 18 & 0x1F } else { 0 };
            address = u64::from(bars[base as usize]) + u64::from(next);
            length = (task[1] >> 16 & 0x1FF) as usize + 1;
        }
        inferred.sort_unstable();
        inferred.dedup();
        TaskOutcome::Done { inferred }
    }

    fn fetch(&self, address: u64, words: usize) -> Result<Vec<u32>, Stop> {
        stop_if(!address.is_multiple_of(4), || Stop::refused(HEADER + 28, "next task is not aligned"))?;
        (0..words as u64).map(|index| self.memory.word(address + 4 * index)).collect()
    }

    fn execute(&mut self, task: &EngineTask<'_>, is_last: bool) -> Result<Vec<&'static str>, Stop> {
        let was_passed = self.passed.is_some();
        let inferred = self.carry_out(task)?;
        // Reading: what is passed on has a taker.
        stop_if(was_passed && task.source_type() != 3, || {
            Stop::refused(0x4804, "the result that was passed on is not taken")
        })?;
        stop_if(is_last && task.result_type() == 3, || {
            Stop::refused(0x4830, "nobody takes what is passed on")
        })?;
        Ok(inferred)
    }

    fn carry_out(&mut self, task: &EngineTask<'_>) -> Result<Vec<&'static str>, Stop> {
        hangs::check(task)?;
        let class = refusals::common(task)?;
        if task.source_type() != 3 {
            self.passed = None;
        }
        if class != Class::Neural {
            planar::run(self, task, class)?;
            return Ok(Vec::new());
        }
        let inferred = neural::check(task)?;
        if let Some(&(register, name)) = inferred.first().filter(|_| self.strict) {
            return Err(Stop::refused(register, format!("{name} is inferred")));
        }
        neural::run(self, task)?;
        Ok(inferred.into_iter().map(|(_, name)| name).collect())
    }
}

/// A descriptor that cannot be taken apart.
fn undecodable(why: &Refusal) -> Stop {
    Stop::refused(HEADER, why.to_string())
}
