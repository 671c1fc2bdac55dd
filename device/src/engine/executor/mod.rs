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
//! * `beside`: long passes, computed on a thread of their own;
//! * `bench`: what one pass works with, and its transfers;
//! * `operands`: sources taken, results given;
//! * `neural` and `planar`: the two kinds of pass.

mod bench;
pub mod beside;
mod neural;
mod operands;
mod planar;

use std::task::Poll;

use ane_uapi::hw::pe_mmu::PS_PER_NS;
use ane_uapi::register::Register;
use vm_memory::GuestMemory;

use self::bench::Bench;
use self::beside::Beside;
use self::neural::Away;
use super::cancel::{Pace, Watch};
use super::kernel_fetcher::Coefficients;
use super::l2::Unknown;
use super::madd::Array;
use super::numerics::Numerics;
use super::plan::cache::PlanCache;
use super::plan::operand::Shape;
use super::plan::verdict::Verdict;
use super::plan::{Pass, Plan};
use super::table::Tables;
use super::tile::Fault;
use super::{Done, Engine, EngineError, Ports, TaskContext};
use crate::options::Options;
use crate::refusal::Category;
use crate::td::register_file::RegisterFile;
use crate::time::Ticks;
use crate::timing::{Clock, Cost, Machine};

/// Executes tasks.
pub struct Executor {
    numerics: Numerics,
    is_strict: bool,
    plans: PlanCache,
    clock: Option<Clock>,
    array: Array,
    tables: Tables,
    coefficients: Coefficients,
    staging: Staging,
    unknown: Unknown,
    /// Where long passes are computed, if not here.
    beside: Option<Beside>,
    /// The pass that is being computed there.
    away: Option<Box<Away>>,
}

/// Packed tensors on their way, kept for the next pass.
#[derive(Default)]
struct Staging {
    source1: Vec<u16>,
    source2: Vec<u16>,
    result: Vec<u16>,
    turned: Vec<u16>,
    row: Vec<u16>,
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
            numerics: options.numerics,
            is_strict: options.strict,
            plans: machine.map_or_else(PlanCache::default, PlanCache::with_costs),
            clock: machine.map(Clock::new),
            array: Array::new(options.numerics, options.threads),
            tables: Tables::default(),
            coefficients: Coefficients::default(),
            staging: Staging::default(),
            unknown: Unknown::default(),
            beside: None,
            away: None,
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
        if let Some(away) = self.away.take() {
            return self.come_back(task, registers, ports, away);
        }
        let plan = self.plan(task, registers)?;
        let watch = Watch::new(ports.cancel, task.queue);
        let mut bench = Bench { task, registers, ports, watch: &watch, pace: Pace::new(&watch) };
        match &plan.pass {
            Pass::Neural(pass) => std::task::ready!(self.run_neural(&mut bench, &plan, pass))?,
            Pass::Planar(pass) => self.run_planar(&mut bench, pass)?,
        }
        Poll::Ready(self.finish(&mut bench, &plan))
    }

    fn give_up(&mut self) {
        if self.away.take().is_some()
            && let Some(beside) = &self.beside
        {
            beside.give_up();
        }
    }

    /// Gives back the room that the largest tasks have taken. What is unknown on chip stays so: the chip keeps its
    /// contents.
    fn reset(&mut self) {
        self.staging = Staging::default();
        self.coefficients = Coefficients::default();
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
        executor.staging.source1.resize(1 << 20, 0);
        executor.coefficients.weights.resize(1 << 20, 0);
        executor.unknown.mark(0x40, 0x10);
        Engine::<vm_memory::GuestMemoryMmap>::reset(&mut executor);
        assert_eq!((executor.staging.source1.capacity(), executor.coefficients.weights.capacity()), (0, 0));
        let place = ChipPlace { base: 0x40, ..ChipPlace::default() };
        assert!(is_unknown(&executor.unknown, place, Shape { channels: 1, height: 1, width: 1 }));
    }
}
