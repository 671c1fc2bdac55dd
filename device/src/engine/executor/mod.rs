//! The executor: one pass after the other, from registers to result.
//!
//! 1. The registers become a plan, or the reason why there is none.
//! 2. Operands come from memory through the DART, or from the chip, into packed staging areas.
//! 3. The neural or the planar engine computes.
//! 4. The result goes to the chip, to memory, or both.
//!
//! A task is checked before anything of it is written to memory: its plan, its sources, and every page that
//! its result will touch. What depends on what is in memory (an activation table) comes before the result too. A task that
//! is called off meanwhile ends where it is ([`cancel`](super::cancel)).
//!
//! * this file: what is kept from pass to pass, and the turn of a task;
//! * `underway`: the stages of a pass, which may take several turns;
//! * `bench`: what one pass works with, and its transfers;
//! * `operands`: sources taken, results given; `coefficients`: what the kernel fetcher brings;
//! * `compute`: the engines at work; `beside`: on a thread of their own, if that takes long.

mod bench;
pub mod beside;
mod coefficients;
mod compute;
mod operands;
mod underway;

use std::task::{Poll, ready};

use ane_uapi::hw::nid::Nid;
use ane_uapi::hw::pe_mmu::PS_PER_NS;
use ane_uapi::hw::tq::QueueId;
use ane_uapi::register::Register;
use vm_memory::GuestMemory;

use self::bench::Bench;
use self::beside::Beside;
use self::compute::{Compute, Misfit};
use self::underway::Underway;
use super::cancel::{Pace, TURN, Watch};
use super::l2::Unknown;
use super::plan::Plan;
use super::plan::cache::PlanCache;
use super::plan::operand::Shape;
use super::plan::verdict::Verdict;
use super::tile::Fault;
use super::{Done, Engine, EngineError, Ports, TaskContext};
use crate::options::Options;
use crate::refusal::Category;
use crate::td::register_file::RegisterFile;
use crate::time::Ticks;
use crate::timing::{Clock, Cost, Machine};

/// Executes tasks.
pub struct Executor {
    is_strict: bool,
    plans: PlanCache,
    clock: Option<Clock>,
    compute: Compute,
    unknown: Unknown,
    /// What will be unknown after those of several batches that were looked at.
    foreseen: Unknown,
    /// Where long passes are computed, if not here.
    beside: Option<Beside<(Compute, Result<(), Misfit>)>>,
    /// What the task before has passed on.
    passed: Option<Passed>,
    /// The pass that goes on in another turn.
    underway: Option<Box<Underway>>,
}

/// A result that goes straight to the next task of the same request.
struct Passed {
    queue: QueueId,
    nid: Nid,
    /// The task that takes it.
    index: u16,
    shape: Shape,
    values: Vec<u16>,
}

impl From<Fault> for EngineError {
    fn from(fault: Fault) -> Self {
        Self::Fault { address: fault.address.get() }
    }
}

impl From<Verdict> for EngineError {
    fn from(verdict: Verdict) -> Self {
        Self::Refused(verdict)
    }
}

impl Executor {
    /// An executor as the options want it.
    pub fn new(options: &Options) -> Self {
        let machine = options.timing.then(|| Machine::of(options.chip.chip().generation));
        Self {
            is_strict: options.strict,
            plans: machine.map_or_else(PlanCache::default, PlanCache::with_costs),
            clock: machine.map(Clock::new),
            compute: Compute::new(options),
            unknown: Unknown::default(),
            foreseen: Unknown::default(),
            beside: None,
            passed: None,
            underway: None,
        }
    }

    /// Counts what a task would have cost, and draws it.
    fn account<M: GuestMemory>(&mut self, bench: &mut Bench<'_, '_, M>, cost: &Cost) -> Ticks {
        let Some(clock) = &mut self.clock else { return Ticks::ZERO };
        let is_first = bench.task.index == 0;
        // The DART's own walks are part of what transfers were measured to take; PE_MMU's overhead is not.
        let translation = bench.ports.dart.translation_wait().div_euclid(PS_PER_NS.into());
        let spent = clock.task(cost, is_first, translation);
        if is_first {
            bench.ports.usage.dispatched(clock.dispatch_cycles());
        }
        if bench.ports.timeline.is_on() {
            bench.note_phases(clock.machine(), cost, &spent);
        }
        bench.ports.usage.add(cost, &spent);
        let dispatch = if is_first { clock.dispatch() } else { Ticks::ZERO };
        clock.ticks(cost, &spent).saturating_add(dispatch)
    }

    /// The end of a task that was carried out.
    #[inline]
    fn finish<M: GuestMemory>(
        &mut self,
        bench: &mut Bench<'_, '_, M>,
        plan: &Plan,
    ) -> Result<Done, EngineError> {
        // Whatever ended early has ended the task.
        bench.still_wanted()?;
        let cost = self.account(bench, &plan.cost);
        Ok(Done { cost, inferred: plan.inferred })
    }

    /// Drops what was passed on, unless this is the task that it was passed to.
    fn keep_passed(&mut self, task: &TaskContext<'_>) {
        let is_for =
            |passed: &Passed| (passed.queue, passed.nid, passed.index) == (task.queue, task.nid, task.index);
        self.passed = self.passed.take().filter(is_for);
    }

    fn plan(&mut self, task: &TaskContext<'_>, registers: &RegisterFile) -> Result<Plan, Verdict> {
        let plan = self.plans.get(task.header, registers)?;
        if self.is_strict {
            plan.established(registers)?;
        }
        Ok(plan)
    }
}

impl<M: GuestMemory> Engine<M> for Executor {
    fn run(
        &mut self,
        task: &TaskContext<'_>,
        registers: &RegisterFile,
        ports: Ports<'_, M>,
    ) -> Poll<Result<Done, EngineError>> {
        let mut underway = match self.underway.take() {
            Some(underway) => *underway,
            None => {
                self.keep_passed(task);
                Underway::new(self.plan(task, registers)?)
            }
        };
        let watch = Watch::new(ports.cancel, task.queue);
        let turn = if self.beside.is_some() { TURN } else { usize::MAX };
        let mut bench = Bench { task, registers, ports, watch: &watch, pace: Pace::with_turn(&watch, turn) };
        let ended = self.go_on(&mut bench, &mut underway);
        // A transfer that waits at its fault goes on with the same piece when it may.
        let is_stalled =
            matches!(ended, Poll::Ready(Err(EngineError::Fault { .. }))) && bench.ports.dart.is_stalled();
        if ended.is_pending() || is_stalled {
            self.underway = Some(Box::new(underway));
            return ended.map(|fault| fault.map(|()| Done::default()));
        }
        ready!(ended)?;
        Poll::Ready(self.finish(&mut bench, &underway.plan))
    }

    fn is_elsewhere(&self) -> bool {
        self.underway.as_ref().is_some_and(|underway| underway.is_away())
    }

    fn give_up(&mut self) {
        if let Some(underway) = self.underway.take()
            && underway.is_away()
            && let Some(beside) = &self.beside
        {
            beside.give_up();
        }
    }

    /// Gives back the room that the largest tasks have taken. What is unknown on chip stays so: the chip keeps its
    /// contents.
    fn reset(&mut self) {
        self.passed = None;
        self.compute.shrink();
    }
}

/// A pass that was planned and that an engine refuses: a mistake of the model, which it says and does not hide.
fn sizes(registers: &RegisterFile, register: &Register, why: &'static str) -> Verdict {
    let value = registers.written(register.offset).unwrap_or_default();
    Verdict { category: Category::Unimplemented, address: register.offset, bits: u32::MAX, value, why }
}

/// A shape as the timeline shows it.
const fn extents(shape: Shape) -> [u32; 3] {
    [shape.channels, shape.height, shape.width]
}

#[cfg(test)]
mod tests {
    use super::super::l2::is_unknown;
    use super::super::plan::operand::ChipPlace;
    use super::*;

    #[test]
    fn reset_gives_back_staging_and_knows_no_more_of_the_chip() {
        let mut executor = Executor::new(&Options::default());
        executor.compute.staging.source1.resize(1 << 20);
        executor.compute.coefficients.weights.resize(1 << 20);
        executor.unknown.mark(0x40, 0x10);
        Engine::<vm_memory::GuestMemoryMmap>::reset(&mut executor);
        let Compute { staging, coefficients, .. } = &executor.compute;
        assert_eq!((staging.source1.len(), coefficients.weights.len()), (0, 0));
        let place = ChipPlace { base: 0x40, ..ChipPlace::default() };
        assert!(is_unknown(&executor.unknown, place, Shape { channels: 1, height: 1, width: 1 }));
    }
}
