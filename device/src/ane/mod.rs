//! One engine: every block of it, wired together.
//!
//! Blocks take an access and say what follows from it; this file carries that out. An access goes to one
//! block, found by [`bus`](crate::bus). Work goes on when [`Ane::work`] is called: one task at a time, so that
//! the caller decides how much is done in one go, and answers register accesses in between.
//!
//! * this file: the blocks, reset, and the turn of work;
//! * `events`: what leaves it;
//! * `access`: register accesses;
//! * `task`: one step of work;
//! * `aside`: what a request that gives way takes along;
//! * `power`: islands, their words, and what forgets when they go off;
//! * [`companions`]: messages to PE_MMU, and the mover's memories;
//! * `dump`: the state in words; `registers`: every register with its value.

mod access;
mod aside;
pub mod companions;
mod dump;
mod events;
mod power;
mod registers;
mod task;

use std::convert::Infallible;

use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::status::EngineStatus;
use vm_memory::GuestMemory;

use crate::chip::{Identity, NoSuchInstance};
use crate::counters::{Counters, Report};
use crate::dart::{CheckReport, Dart};
use crate::engine::cancel::{Cancel, Never};
use crate::engine::plan::inferred::Inferred;
use crate::engine::{Engine, Executor};
use crate::event::{Fault, Happening, RUNNING, Waiting};
use crate::firmware::Firmware;
use crate::inject::{Armed, Injection, Trap};
use crate::kernel_memory::KernelMemory;
use crate::mover::{self, Mover};
use crate::options::{Hang, Options};
use crate::pe_mmu::{Node, PeMmu};
use crate::power::Power;
use crate::report::Reporter;
use crate::sram::Sram;
use crate::stored_words::Stored;
use crate::td::fetch::Descriptor;
use crate::td::register_file::RegisterFile;
use crate::time::Ticks;
use crate::tm::TaskManager;
use crate::tm::running::Turn;
use crate::trace::Timeline;

use self::aside::Chip;
use self::task::ThreadTask;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// There is more to do now: call again.
    pub pending: bool,
    /// When there will be, if nothing else happens until then: a deadline, or the end of a delay.
    pub at: Option<Ticks>,
}

pub struct Ane<M, E = Executor<M>> {
    identity: Identity,
    hang: Hang,
    strict: bool,
    check: bool,
    memory: M,
    dart: Dart,
    tm: TaskManager,
    /// The descriptor that was fetched last.
    descriptor: Descriptor,
    registers: RegisterFile,
    engine: E,
    /// The task that the engine has begun and that goes on in another turn.
    thread_task: Option<Box<ThreadTask>>,
    l2: Sram,
    kernel: KernelMemory,
    /// The state of the requests that gave way, at most one for each stream.
    aside: Vec<(StreamId, Chip)>,
    stored: Stored,
    counters: Counters,
    armed: Armed,
    events: Waiting,
    reporter: Reporter,
    findings: Vec<CheckReport>,
    findings_lost: u64,
    inferred: Inferred,
    timeline: Timeline,
    last_fault: Option<Fault>,
    announced_dead: bool,
    power: Power,
    firmware: Firmware,
    mover: Mover,
    /// The memory to which the mover copies, and from which XMOV takes its parameters.
    mover_configuration: Sram,
    /// The inbox of PE_MMU; nothing lies behind it on this fabric.
    fabric: Node<Infallible>,
    /// The fabric's own time since the last reset, in picoseconds: it passes while messages travel.
    fabric_ps: u64,
}

impl<M: GuestMemory + Clone + Send + 'static> Ane<M> {
    pub fn new(options: &Options, memory: M) -> Result<Self, NoSuchInstance> {
        Self::with_engine(options, memory, Executor::new(options))
    }
}

impl<M: GuestMemory, E: Engine<M>> Ane<M, E> {
    pub fn with_engine(options: &Options, memory: M, engine: E) -> Result<Self, NoSuchInstance> {
        let mut dart = Dart::new(options.pte_format);
        dart.set_policy(options.fault_policy);
        dart.set_check(options.check);
        if let Some(attributes) = options.pe_mmu {
            dart.set_before(PeMmu::new(attributes));
        }
        let mut ane = Self {
            identity: Identity::of(options)?,
            hang: options.hang,
            strict: options.strict,
            check: options.check,
            memory,
            dart,
            tm: TaskManager::default(),
            descriptor: Descriptor::default(),
            registers: RegisterFile::default(),
            engine,
            thread_task: None,
            l2: Sram::tile_l2(),
            kernel: KernelMemory::default(),
            aside: Vec::new(),
            stored: Stored::default(),
            counters: Counters::default(),
            armed: Armed::default(),
            events: Waiting::default(),
            reporter: Reporter::default(),
            findings: Vec::new(),
            findings_lost: 0,
            inferred: Inferred::NONE,
            timeline: Timeline::off(),
            last_fault: None,
            announced_dead: false,
            power: Power::default(),
            firmware: Firmware::default(),
            mover: Mover::new(mover::Settings { check: options.check, ..options.mover }),
            mover_configuration: Sram::new(mover::memories::CONFIGURATION_BYTES),
            fabric: Node::new(options.pe_mmu.map_or(0, |attributes| attributes.fabric_ps)),
            fabric_ps: 0,
        };
        for &injection in &options.inject {
            ane.inject(injection);
        }
        Ok(ane)
    }

    pub const fn identity(&self) -> &Identity {
        &self.identity
    }

    /// True if an access to something that is not modelled ends its batch (`--strict`).
    pub const fn is_strict(&self) -> bool {
        self.strict
    }

    /// True if it reports programming mistakes that silicon lets pass (`--check`).
    pub const fn is_checking(&self) -> bool {
        self.check
    }

    /// The counts since the last reset.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Notes what happens on `timeline` from now on.
    pub fn set_timeline(&mut self, timeline: Timeline) {
        self.timeline = timeline;
    }

    /// The timeline, to be drained.
    pub const fn timeline_mut(&mut self) -> &mut Timeline {
        &mut self.timeline
    }

    /// The inferred behaviour that the tasks since the last reset relied on.
    pub const fn inferred(&self) -> Inferred {
        self.inferred
    }

    /// The same, and begins anew: what tasks need from here on.
    pub const fn take_inferred(&mut self) -> Inferred {
        std::mem::replace(&mut self.inferred, Inferred::NONE)
    }

    pub const fn dart(&self) -> &Dart {
        &self.dart
    }

    /// The DART, to tell it of mappings that checking mode is to hold transfers against.
    pub const fn dart_mut(&mut self) -> &mut Dart {
        &mut self.dart
    }

    pub const fn task_manager(&self) -> &TaskManager {
        &self.tm
    }

    /// The registers that descriptors write.
    pub const fn registers(&self) -> &RegisterFile {
        &self.registers
    }

    pub const fn engine_mut(&mut self) -> &mut E {
        &mut self.engine
    }

    pub fn inject(&mut self, injection: Injection) {
        self.armed.arm(injection, &mut self.dart.trap);
    }

    pub fn injections(&self) -> Vec<Injection> {
        self.armed.list(&self.dart.trap)
    }

    pub fn clear_injections(&mut self) {
        self.armed = Armed::default();
        self.dart.trap = Trap::default();
    }

    /// True while a task that was begun goes on in another turn.
    pub const fn is_on_thread(&self) -> bool {
        self.thread_task.is_some()
    }

    /// Puts other guest memory in the place of what there was.
    ///
    /// Nothing is in flight between two calls of this type's methods, so none of the old memory is used after.
    pub fn replace_memory(&mut self, memory: M) {
        self.memory = memory;
    }

    pub const fn memory(&self) -> &M {
        &self.memory
    }

    pub fn status(&self) -> EngineStatus {
        if self.tm.is_idle() { EngineStatus::POWERED_IDLE } else { RUNNING }
    }

    /// Back to the state after power-on.
    ///
    /// On-chip memory keeps its contents, and so do the tunables, the clocks, and faults that are armed.
    pub fn reset(&mut self, now: Ticks) {
        self.dart.reset();
        self.forget_engine();
        self.power = Power::default();
        self.counters = Counters::default();
        self.fabric_ps = 0;
        self.timeline.restart_model();
        self.inferred = Inferred::NONE;
        self.last_fault = None;
        self.announced_dead = false;
        log::debug!(target: "ane", "{} reset at {}", self.identity, now.0);
    }

    /// Runs at most one task of one queue, and whatever the time has brought. A long task may take several calls
    /// ([`Executor::use_engine_thread`]), and is the running one until the call that finds its end.
    pub fn work(&mut self, now: Ticks) -> Work {
        self.work_unless(now, &Never)
    }

    /// The same, for a front that may learn meanwhile that the task is no longer wanted: it ends as aborted then.
    pub fn work_unless(&mut self, now: Ticks, cancel: &dyn Cancel) -> Work {
        if self.dart.is_dead() {
            return Work { pending: false, at: None };
        }
        self.advance_mover(now);
        self.recall();
        if !self.power.runs() {
            self.flush(now);
            return Work { pending: false, at: self.next_of_mover(now) };
        }
        let begun = self.begun();
        if let Some(failure) = self.tm.expire(now) {
            self.failed(&failure, now);
            self.end_early(begun);
            let nid = failure.nid.map_or(0, |nid| nid.number());
            self.happen(
                now,
                RUNNING,
                Happening::QueueAborted { queue: failure.queue, errors: self.tm.errors(), nid },
            );
        } else {
            let turn = self.tm.turn(now, |queue| self.armed.sticks(queue));
            self.take_up();
            if turn == Turn::Task {
                self.step(now, cancel);
            }
        }
        self.flush(now);
        let mover = self.next_of_mover(now);
        match self.tm.peek(now) {
            _ if self.dart.is_dead() => Work { pending: false, at: None },
            Turn::Idle => Work { pending: false, at: mover },
            // The thread that computes it rings the bell.
            Turn::Task if self.thread_task.is_some() && self.engine.is_elsewhere() => {
                Work { pending: false, at: mover }
            }
            Turn::Wait(at) => Work { pending: false, at: Some(mover.map_or(at, |due| due.min(at))) },
            Turn::Task | Turn::Look => Work { pending: true, at: None },
        }
    }

    /// The guest was at rest until now, as a guest that is paused: it could not help a transfer that waits at a fault.
    pub fn has_rested(&mut self, now: Ticks) {
        self.tm.give_time(now);
    }

    pub fn report(&self, report: Report) -> u64 {
        match report {
            Report::BytesRead => self.dart.bytes_read(),
            Report::BytesWritten => self.dart.bytes_written(),
            Report::Tasks => self.counters.tasks_done,
            Report::Requests => self.counters.requests_done,
            Report::Cycles => self.counters.usage.cycles,
            Report::ComputeCycles => self.counters.usage.compute,
            Report::KernelStallCycles => self.counters.usage.kernel_stalls,
            Report::BankStallCycles => self.counters.usage.bank_stalls,
            Report::BankConflicts => self.counters.usage.bank_conflicts,
        }
    }
}
