//! One step of work: a task from its address to its end.
//!
//! A long task may take several steps ([`Poll::Pending`]), and goes on by itself on the engine's thread between two of
//! them. It counts as the running task meanwhile, and accesses to registers are answered. An event that ends its
//! request ends the task.

use std::task::Poll;

use ane_uapi::hw::bar::{BarIndex, BarTable};
use ane_uapi::hw::td::header::Header;
use vm_memory::GuestMemory;

use super::Ane;
use crate::counters::increment;
use crate::dart::{Circuit, Origin};
use crate::engine::cancel::Cancel;
use crate::engine::plan::inferred::Inferred;
use crate::engine::{Done, Engine, EngineError, Ports, TaskContext};
use crate::options::Hang;
use crate::pe_mmu::{Note, PeMmu};
use crate::refusal::Category;
use crate::report::Kind;
use crate::td::bar;
use crate::td::decode::decode;
use crate::td::fetch::FetchError;
use crate::td::register_file::RegisterFile;
use crate::time::Ticks;
use crate::tm::error::RequestError;
use crate::tm::running::{Outcome, Running, Then};
use crate::trace::{Event, Task, What};

/// A task that goes on in another step: as it was begun.
pub(super) struct ThreadTask {
    /// Its request's place in the order of pushes.
    age: u64,
    header: Header,
    bars: BarTable,
    registers: RegisterFile,
    /// Transfers of the device before it began.
    transfers: u64,
}

impl<M: GuestMemory, E: Engine<M>> Ane<M, E> {
    /// Gives up a task that was to go on and whose request has ended.
    pub(super) fn recall(&mut self) {
        if let Some(thread_task) = &self.thread_task
            && self.tm.running().is_none_or(|running| running.request.age != thread_task.age)
        {
            self.thread_task = None;
            self.engine.give_up();
            self.drop_translations();
        }
        if self.tm.running().is_none_or(|running| !running.is_parked) {
            self.dart.drop_stalled();
        }
    }

    /// Runs the next task of the running request.
    ///
    /// A task whose transfer waits at a fault keeps its state. It goes on from there when the transfer may pass.
    ///
    /// If slow transfers are injected, the end of the task comes later, whether it succeeds or fails.
    /// Deviation: what the task wrote is in memory at once.
    pub(super) fn step(&mut self, now: Ticks, cancel: &dyn Cancel) {
        let Some(running) = self.tm.running().cloned() else { return };
        if running.begun.is_none() && self.armed.wedges() {
            if let Some(running) = self.tm.running_mut() {
                running.is_wedged = true;
            }
            return;
        }
        let traced = Task { queue: running.request.queue, nid: running.request.nid, index: running.task };
        let outcome = match running.held {
            Some(outcome) => outcome,
            None => {
                let status = self.status();
                if let Some(running) = self.tm.running_mut() {
                    running.begun = Some(running.task);
                }
                if running.begun.is_none() {
                    let what = What::RequestBegin { tasks: running.request.info.tasks() };
                    self.timeline.mark(Event { task: traced, what });
                }
                let before = self
                    .thread_task
                    .as_ref()
                    .map_or(self.dart.transfers(), |thread_task| thread_task.transfers);
                let Poll::Ready(outcome) = self.run(&running, traced, cancel) else { return };
                let parks = matches!(&outcome, Err(error) if error.is_fault()) && self.dart.is_stalled();
                self.show_translations(traced);
                if !parks {
                    self.take_wait(traced);
                }
                self.take_faults(status, now);
                if parks {
                    self.tm.park();
                    return;
                }
                let late = self.armed.delay().0.saturating_mul(self.dart.transfers().saturating_sub(before));
                if late > 0 {
                    self.tm.hold(outcome, Ticks(late));
                    return;
                }
                outcome
            }
        };
        match outcome {
            Ok((Done { cost, inferred }, next)) => {
                self.note(inferred, now);
                increment(&mut self.counters.tasks_done);
                let corrupt = || self.armed.corrupts_completion();
                match self.tm.task_done(now, cost, next, corrupt) {
                    Then::GoesOn => {}
                    Then::Ended => {
                        increment(&mut self.counters.requests_done);
                        let what = What::RequestEnd { succeeded: true };
                        self.timeline.mark(Event { task: traced, what });
                    }
                    Then::Aside => {
                        self.put_aside(running.request.stream);
                        self.timeline.mark(Event { task: traced, what: What::RequestAside });
                    }
                }
            }
            Err(RequestError::Engine(EngineError::Refused(verdict)))
                if verdict.category == Category::WouldHang && self.hang == Hang::Deadline =>
            {
                self.reporter.log(Kind::Request, now, || {
                    format!("{}, task {}: {verdict}", running.request.queue, running.task)
                });
                if let Some(running) = self.tm.running_mut() {
                    running.stuck = Some(Some((verdict.address, verdict.value)));
                }
            }
            Err(error) => {
                if let Some(failure) = self.tm.fail_running(error, now) {
                    self.failed(&failure, now);
                    let what = What::RequestEnd { succeeded: false };
                    self.timeline.mark(Event { task: traced, what });
                }
            }
        }
    }

    /// Adds the notes of PE_MMU about a task to the timeline.
    fn show_translations(&mut self, task: Task) {
        let Some(mmu) = self.dart.before_mut() else { return };
        for note in mmu.take_notes() {
            let what = match note {
                Note::Fallback { circuit, va, len } => What::Fallback { circuit, address: va, bytes: len },
                Note::Exempt { circuit } => What::Unpaid { circuit },
            };
            self.timeline.mark(Event { task, what });
        }
    }

    /// Adds to the timeline how long the transfers of a task waited for PE_MMU, all together: a task that parks is to be
    /// charged for those before the fault too. They are part of the task's virtual time already.
    fn take_wait(&mut self, task: Task) {
        if let Some(picoseconds) = self.dart.before_mut().and_then(PeMmu::take_wait) {
            self.timeline.mark(Event { task, what: What::TranslationWait { picoseconds } });
        }
    }

    /// What PE_MMU translated for a task that is given up is no other task's to wait for.
    pub(super) fn drop_translations(&mut self) {
        if let Some(mmu) = self.dart.before_mut() {
            mmu.take_notes();
            mmu.take_wait();
        }
    }

    /// Notes what was executed without being established; the log has each kind once.
    fn note(&mut self, inferred: Inferred, now: Ticks) {
        let new = inferred.without(self.inferred);
        if !new.is_none() {
            self.inferred = self.inferred.with(new);
            self.reporter.log(Kind::Request, now, || {
                format!("tasks use behaviour that is inferred, not established: {new}")
            });
        }
    }

    /// Fetches, decodes and executes one task, or goes on with the one that was begun; returns what became of it, and
    /// address and words of the next descriptor.
    fn run(&mut self, running: &Running, traced: Task, cancel: &dyn Cancel) -> Poll<Outcome> {
        if let Some(thread_task) = self.thread_task.take() {
            return self.go_on(running, thread_task, cancel);
        }
        let bars = self.firmware.bars(running.request.queue, &running.request.bars);
        let transfers = self.dart.transfers();
        self.timeline.begin();
        let programmed = self.program(running, &bars);
        let circuit = Circuit::TdFetch;
        let fetched = match programmed {
            Err(RequestError::Fetch(FetchError::Misaligned { .. })) => None,
            Err(RequestError::Fetch(FetchError::Fault { address })) => Some(What::Fault { circuit, address }),
            _ => Some(What::Transfer { circuit, bytes: (running.words as u64).saturating_mul(4) }),
        };
        if let Some(what) = fetched {
            self.timeline.span(Event { task: traced, what });
        }
        let header = programmed?;
        let ran = self.execute(running, &header, &bars, None, cancel);
        if self.goes_on(&ran) {
            let registers = self.registers.clone();
            let age = running.request.age;
            self.thread_task = Some(Box::new(ThreadTask { age, header, bars, registers, transfers }));
        }
        ran
    }

    /// True if the task goes on in another step: it had its turn, or a transfer of it waits at a fault.
    fn goes_on(&self, ran: &Poll<Outcome>) -> bool {
        match ran {
            Poll::Pending => true,
            Poll::Ready(Err(error)) => error.is_fault() && self.dart.is_stalled(),
            Poll::Ready(Ok(_)) => false,
        }
    }

    /// Goes on with the task that was begun.
    #[cold]
    fn go_on(
        &mut self,
        running: &Running,
        thread_task: Box<ThreadTask>,
        cancel: &dyn Cancel,
    ) -> Poll<Outcome> {
        let ThreadTask { header, bars, registers, .. } = &*thread_task;
        let ran = self.execute(running, header, bars, Some(registers), cancel);
        if self.goes_on(&ran) {
            self.thread_task = Some(thread_task);
        }
        ran
    }

    /// Has the engine run a task by these registers, or by those that there are.
    #[inline]
    fn execute(
        &mut self,
        running: &Running,
        header: &Header,
        bars: &BarTable,
        registers: Option<&RegisterFile>,
        cancel: &dyn Cancel,
    ) -> Poll<Outcome> {
        let Running { request, task: index, .. } = running;
        let task = TaskContext {
            header,
            queue: request.queue,
            nid: request.nid,
            stream: request.stream,
            index: *index,
            tasks: request.info.tasks(),
            bars,
        };
        let ports = Ports {
            memory: &self.memory,
            dart: &mut self.dart,
            l2: &mut self.l2,
            kernel: &mut self.kernel,
            timeline: &mut self.timeline,
            usage: &mut self.counters.usage,
            cancel,
        };
        let ran = self.engine.run(&task, registers.unwrap_or(&self.registers), ports);
        ran.map(|ended| Ok((ended.map_err(RequestError::Engine)?, bar::next_descriptor(header, bars))))
    }

    /// Fetches a descriptor and programs the registers with it; a descriptor that is refused changes none.
    fn program(&mut self, running: &Running, bars: &BarTable) -> Result<Header, RequestError> {
        let Running { request, task: index, .. } = running;
        self.dart.set_origin(Origin {
            task: Some(u32::from(*index)),
            register: None,
            bar: Some(bars.get(BarIndex::TASKS)),
        });
        let mut dma = self.dart.dma(&self.memory, request.stream, Circuit::TdFetch);
        self.descriptor.fetch(&mut dma, running.address, running.words).map_err(RequestError::Fetch)?;
        let (header, mut registers) =
            decode(&self.descriptor, &self.registers).map_err(RequestError::Descriptor)?;
        let identity = header.identity;
        if !identity.lnid() && identity.nid() != request.nid.number() {
            return Err(RequestError::WrongNid { found: identity.nid(), expected: request.nid });
        }
        let tasks = request.info.tasks();
        let is_last = index.saturating_add(1) >= tasks;
        if !is_last && (identity.eon() || header.next.offset() == 0) {
            return Err(RequestError::ChainEnds { tasks });
        }
        bar::substitute(&mut registers, &header, bars).map_err(RequestError::Bar)?;
        self.registers = registers;
        Ok(header)
    }
}
