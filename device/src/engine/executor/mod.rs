//! The executor: one pass after the other, from registers to result.
//!
//! The registers become a plan, or the reason why there is none; then `pass` carries the plan out. A short pass runs here, on the
//! thread that has the device. One that takes long and one whose transfers may wait at a fault run on the engine's thread,
//! and are lent the device for their transfers.
//!
//! Three things carry this, and nothing else does:
//!
//! * a pass asks at bounded distances whether it is still wanted ([`cancel`](super::cancel));
//! * `thread` is the engine's thread, which has a long pass from its beginning to its end;
//! * `reach` is what a pass reaches of the device, lent (`lend`) in turns of some milliseconds.
//!
//! The other files: `operands` takes sources and gives results, `coefficients` brings what the kernel fetcher brings, and
//! `compute` has the engines. This file has what is kept from pass to pass.

mod coefficients;
mod compute;
mod lend;
mod operands;
mod pass;
mod reach;
pub mod thread;

use std::task::{Poll, ready};

use ane_uapi::hw::pe_mmu::PS_PER_NS;
use vm_memory::GuestMemory;

use self::compute::Compute;
use self::lend::Parts;
use self::pass::{Begun, Left};
use self::reach::Reach;
use self::thread::{Bell, EngineThread, ThreadPass};
use super::cancel::Watch;
use super::kept_state::{Chip, Kept, Passed};
use super::plan::Pass;
use super::plan::cache::{Costed, PlanCache};
use super::plan::verdict::Verdict;
use super::tile::Fault;
use super::{Done, Engine, EngineError, Ports, Result, TaskContext};
use crate::dart::FaultPolicy;
use crate::options::Options;
use crate::sram::Known;
use crate::td::register_file::RegisterFile;
use crate::time::Ticks;
use crate::timing::phases::Span;
use crate::timing::{Clock, Cost, Machine, Spent};
use crate::trace::{self, Event, Stamp, Timeline, What};

pub struct Executor<M> {
    is_strict: bool,
    plans: PlanCache,
    clock: Option<Clock>,
    compute: Compute,
    chip: Chip,
    /// Wakes the device's thread; without one that thread waits for every pass.
    bell: Option<Bell>,
    thread: Option<EngineThread>,
    /// Parts that stand in for those of the device while it is lent.
    spare: Option<Box<Parts>>,
    /// The pass on the engine's thread.
    thread_pass: Option<ThreadPass<M>>,
}

impl From<Fault> for EngineError {
    fn from(fault: Fault) -> Self {
        Self::Fault { address: fault.address.get() }
    }
}

impl<M> Executor<M> {
    pub fn new(options: &Options) -> Self {
        let machine = options.timing.then(|| Machine::of(options.chip.chip().generation));
        Self {
            is_strict: options.strict,
            plans: machine.map_or_else(PlanCache::default, PlanCache::with_costs),
            clock: machine.map(Clock::new),
            compute: Compute::new(options),
            chip: Chip::default(),
            bell: None,
            thread: None,
            spare: None,
            thread_pass: None,
        }
    }

    /// Carries a pass out on the device's thread.
    #[inline]
    fn here(
        &mut self,
        task: (&TaskContext<'_>, &RegisterFile),
        ports: &mut Ports<'_, M>,
        pass: &Pass,
        begun: Option<&Begun>,
        others_wait: bool,
    ) -> Result<(), Left>
    where
        M: GuestMemory,
    {
        let watch = Watch::new(ports.cancel, task.0.queue);
        let mut reach = Reach::owned(task, &watch, ports.again(), &mut self.chip, others_wait);
        self.compute.carry_out(&mut reach, pass, begun)
    }

    /// The end of a task that was carried out: counts what it would have cost, and draws it.
    #[inline]
    fn finish(&mut self, task: &TaskContext<'_>, ports: &mut Ports<'_, M>, costed: &Costed) -> Done {
        let Costed { cost, plan } = costed;
        let inferred = &plan.inferred;
        let Some(clock) = &mut self.clock else { return Done { cost: Ticks::ZERO, inferred: *inferred } };
        let is_first = task.index == 0;
        // The DART's own walks are part of what transfers were measured to take; PE_MMU's overhead is not.
        let translation = ports.dart.translation_wait().div_euclid(PS_PER_NS.into());
        let spent = clock.task(cost, is_first, translation);
        if is_first {
            ports.usage.dispatched(clock.dispatch_cycles());
        }
        if ports.timeline.is_on() {
            note_phases(task, ports.timeline, ports.usage.cycles, clock.machine(), (cost, &spent));
        }
        ports.usage.add(cost, &spent);
        let dispatch = if is_first { clock.dispatch() } else { Ticks::ZERO };
        Done { cost: clock.ticks(cost, &spent).saturating_add(dispatch), inferred: *inferred }
    }

    /// Drops what was passed on, unless this is the task that it was passed to.
    fn keep_passed(&mut self, task: &TaskContext<'_>) {
        let is_for =
            |passed: &Passed| (passed.queue, passed.nid, passed.index) == (task.queue, task.nid, task.index);
        self.chip.passed = self.chip.passed.take().filter(is_for);
    }

    fn plan(&mut self, task: &TaskContext<'_>, registers: &RegisterFile) -> Result<Costed, Verdict> {
        let costed = self.plans.get(task.header, registers)?;
        if self.is_strict {
            costed.plan.established(registers)?;
        }
        Ok(costed)
    }
}

/// Notes where a task's virtual time went, from cycle `beginning` on.
fn note_phases(
    task: &TaskContext<'_>,
    timeline: &mut Timeline,
    beginning: u64,
    machine: &Machine,
    (cost, spent): (&Cost, &Spent),
) {
    let &TaskContext { queue, nid, index, .. } = task;
    let task = trace::Task { queue, nid, index };
    let at = |cycles: u64| Stamp(machine.nanoseconds(beginning.saturating_add(cycles)));
    cost.spans(spent, |Span { part, start, end }| {
        let what = What::Modelled { part, cycles: end.saturating_sub(start) };
        timeline.place(at(start), at(end), Event { task, what });
    });
}

impl<M: GuestMemory + Clone + Send + 'static> Engine<M> for Executor<M> {
    fn run(
        &mut self,
        task: &TaskContext<'_>,
        registers: &RegisterFile,
        mut ports: Ports<'_, M>,
    ) -> Poll<Result<Done>> {
        if self.thread_pass.is_none() {
            self.keep_passed(task);
            let costed = self.plan(task, registers)?;
            let pass = &costed.plan.pass;
            let is_last = task.index.saturating_add(1) >= task.tasks;
            pass.check_handover(registers, self.chip.passed.is_some(), is_last)?;
            let others_wait = self.bell.is_some();
            let is_long = others_wait && self.compute.is_long_in_all(pass);
            let mut begun = None;
            if !is_long && ports.dart.policy() != FaultPolicy::Stall {
                match self.here((task, registers), &mut ports, pass, None, others_wait) {
                    Err(Left::TooLong(left)) => begun = Some(left),
                    Err(Left::Failed(error)) => return Poll::Ready(Err(error)),
                    Ok(()) => return Poll::Ready(Ok(self.finish(task, &mut ports, &costed))),
                }
            }
            if !self.send_to_thread((task, registers), costed, begun.as_deref().copied()) {
                let ended = self.here((task, registers), &mut ports, pass, begun.as_deref(), false);
                // A transfer that waits is not kept.
                ports.dart.drop_stalled();
                return Poll::Ready(match ended {
                    Ok(()) => Ok(self.finish(task, &mut ports, &costed)),
                    Err(Left::Failed(error)) => Err(error),
                    Err(Left::TooLong(_)) => Err(EngineError::Cancelled),
                });
            }
        }
        let Some(pass) = self.thread_pass.take() else { return Poll::Ready(Err(EngineError::Cancelled)) };
        let costed = ready!(self.go_on(pass, &mut ports, task))?;
        Poll::Ready(Ok(self.finish(task, &mut ports, &costed)))
    }

    fn is_elsewhere(&self) -> bool {
        self.thread_pass.as_ref().is_some_and(ThreadPass::computes)
    }

    fn known(&mut self) -> Option<&mut dyn Known> {
        Some(&mut self.chip.unknown)
    }

    fn give_up(&mut self) {
        self.thread_pass = None;
    }

    /// Gives back the room that the largest tasks took. Bytes on chip that are unknown stay unknown: the chip keeps
    /// its contents.
    fn reset(&mut self) {
        self.chip.passed = None;
        self.compute.shrink();
    }

    fn put_aside(&mut self) -> Kept {
        let before = self.clock.as_mut().and_then(Clock::take_before);
        Kept { chip: std::mem::take(&mut self.chip), before }
    }

    fn take_up(&mut self, Kept { chip, before }: Kept) {
        self.chip = chip;
        if let Some(clock) = &mut self.clock {
            clock.put_before(before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::l2::is_unknown;
    use super::super::plan::operand::{ChipPlace, Shape};
    use super::*;

    #[test]
    fn reset_gives_back_staging_and_knows_no_more_of_the_chip() {
        let mut executor = Executor::<vm_memory::GuestMemoryMmap>::new(&Options::default());
        executor.compute.staging.source1.resize(1 << 20);
        executor.compute.coefficients.weights.resize(1 << 20);
        executor.chip.unknown.mark(0x40, 0x10);
        executor.reset();
        let Compute { staging, coefficients, .. } = &executor.compute;
        assert_eq!((staging.source1.len(), coefficients.weights.len()), (0, 0));
        let place = ChipPlace { base: 0x40, ..ChipPlace::default() };
        assert!(is_unknown(&executor.chip.unknown, place, Shape { channels: 1, height: 1, width: 1 }));
    }
}
