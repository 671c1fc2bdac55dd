//! The engine at work. The thread that holds the [`Worker`] acts as the device.
//!
//! A turn of the daemon takes what the guest asks for, lets the engine run one task, and tells the guest what happened. It
//! is bounded: by requests, by the size of one, and by one task. A long task runs on the engine's thread. When that thread has
//! data to move it signals an event, and the next turn of the daemon lends it the device for some milliseconds. So an abort or
//! a reset is a request like any other: it is carried out between two turns and waits for no task.
//! When a turn ends no request is half done, no memory is held and no buffer of the guest is kept. So between two turns
//! memory may be replaced and queues stopped, and nothing can be in flight.
//!
//! * this file: the engine's life and its turns;
//! * `ranges`: accesses and lines of a platform device;
//! * `rings`: requests and events;
//! * `inspect`: what the control socket asks.

mod inspect;
mod ranges;
mod rings;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use ane_device::chip::NoSuchInstance;
use ane_device::dart::CheckReport;
use ane_device::dart::check::MAX_REPORTS;
use ane_device::engine::executor::thread::Bell;
use ane_device::platform::Platform;
use ane_device::time::{TICKS_PER_SECOND, Ticks};
use ane_device::{Ane, Options};
use ane_uapi::log_budget::LogBudget;
use ane_uapi::wire::{CTRL_QUEUE, EVENT_QUEUE};
use vm_memory::GuestMemoryMmap;

pub(crate) use self::rings::is_behind;
use self::rings::runs;
use super::chain::Chain;
use super::guard::{Guard, Lost};
use super::trace::Trace;
pub(crate) use super::vring::Vring;

/// Lines about bad chains in a second: one says what a driver does wrong, and any number more say nothing else.
const BAD_CHAINS_PER_SECOND: u32 = 1;

/// The next step after a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Turn {
    /// There is more to do at once.
    pub(crate) busy: bool,
    /// The guest was served, or the engine did something.
    pub(crate) progress: bool,
    /// The queue of requests is stopped, or cannot be read: looking again helps only after the guest did something.
    pub(crate) stalled: bool,
    /// When there will be something to do, if nothing else happens until then.
    pub(crate) at: Option<Ticks>,
    /// Memory that the frontend took away under the engine: the session is over.
    pub(crate) lost: Option<Lost>,
}

/// One engine, its clock, and what carrying out requests needs.
pub(crate) struct Worker {
    options: Options,
    trace: Trace,
    /// Calls for a turn; without one every task runs on the thread that works.
    bell: Option<Bell>,
    platform: Platform,
    ane: Ane<GuestMemoryMmap>,
    memory: GuestMemoryMmap,
    /// Has this process survive when that memory goes.
    guard: Guard,
    start: Instant,
    chain: Chain,
    bytes: Vec<u8>,
    answer: Vec<u8>,
    /// Lines about chains that a guest got wrong.
    bad_chains: LogBudget,
    /// Number of the next event.
    sequence: u64,
    /// Events dropped since the last that the guest got.
    events_dropped: u32,
    /// The last turn found the queue of requests stopped.
    rests: bool,
    /// Raised by a thread that cannot wait for the end of a task.
    call_off: Arc<AtomicBool>,
    /// The model failed in a way that it should not; only a reset helps.
    failed: bool,
    /// The findings of checking mode from before the frontend disconnected, for later questions.
    findings: Vec<CheckReport>,
    findings_lost: u64,
}

/// An engine, with a timeline if the options ask for one.
fn engine(
    options: &Options,
    memory: GuestMemoryMmap,
    trace: &Trace,
    bell: Option<&Bell>,
) -> Result<Ane<GuestMemoryMmap>, NoSuchInstance> {
    let mut ane = Ane::new(options, memory)?;
    if let Some(bell) = bell {
        ane.engine_mut().use_engine_thread(Arc::clone(bell));
    }
    ane.set_timeline(trace.timeline());
    Ok(ane)
}

fn now(start: Instant) -> Ticks {
    Ticks::from_nanoseconds(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX))
}

impl Worker {
    /// An engine without memory, whose timeline goes to `trace`; `bell` has to bring about another turn.
    pub(crate) fn new(options: &Options, trace: Trace, bell: Option<Bell>) -> Result<Self, NoSuchInstance> {
        let memory = GuestMemoryMmap::new();
        Ok(Self {
            ane: engine(options, memory.clone(), &trace, bell.as_ref())?,
            platform: Platform::default(),
            trace,
            bell,
            options: options.clone(),
            memory,
            guard: Guard::default(),
            start: Instant::now(),
            chain: Chain::default(),
            bytes: Vec::new(),
            answer: Vec::new(),
            bad_chains: LogBudget::new(BAD_CHAINS_PER_SECOND, TICKS_PER_SECOND),
            sequence: 0,
            events_dropped: 0,
            rests: false,
            call_off: Arc::default(),
            failed: false,
            findings: Vec::new(),
            findings_lost: 0,
        })
    }

    pub(crate) fn now(&self) -> Ticks {
        now(self.start)
    }

    /// The flag that another thread raises to end the running task at once.
    pub(crate) fn call_off(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.call_off)
    }

    /// True while a task that was begun goes on in another turn.
    pub(crate) const fn is_on_thread(&self) -> bool {
        self.ane.is_on_thread()
    }

    pub(crate) const fn memory(&self) -> &GuestMemoryMmap {
        &self.memory
    }

    /// The same, for a thread that does not hold the engine.
    pub(crate) const fn guard(&self) -> &Guard {
        &self.guard
    }

    /// A region of the guest's memory whose file was cut short. Nothing that happened since is to be told the guest.
    pub(crate) fn lost(&self) -> Option<Lost> {
        self.guard.lost()
    }

    /// Puts other guest memory in the place of what there was; false if it has too many regions, and then there is none.
    pub(crate) fn replace_memory(&mut self, memory: &GuestMemoryMmap) -> bool {
        let guard = Guard::over(memory, &self.guard);
        let is_taken = guard.is_some();
        let guard = guard.unwrap_or_default();
        self.memory = guard.memory().clone();
        self.ane.replace_memory(self.memory.clone());
        // The memory that was guarded before is no longer used.
        self.guard = guard;
        is_taken
    }

    pub(crate) fn reset(&mut self) {
        if self.failed {
            self.rebuild();
        } else {
            self.ane.reset(self.now());
            self.platform = Platform::default();
        }
    }

    /// Back to how it was when the program started: the frontend is gone.
    pub(crate) fn forget(&mut self) {
        let _ = self.replace_memory(&GuestMemoryMmap::new());
        self.findings = self.take_findings();
        let over = self.findings.len().saturating_sub(MAX_REPORTS);
        self.findings.truncate(MAX_REPORTS);
        self.findings_lost =
            self.take_findings_lost().saturating_add(u64::try_from(over).unwrap_or(u64::MAX));
        self.rebuild();
        self.sequence = 0;
        self.events_dropped = 0;
    }

    fn rebuild(&mut self) {
        if !self.failed {
            // The request that runs ends on the timeline.
            self.ane.reset(self.now());
        }
        self.trace.take(self.ane.timeline_mut());
        // The options made an engine before, so they do again.
        if let Ok(ane) = engine(&self.options, self.memory.clone(), &self.trace, self.bell.as_ref()) {
            self.ane = ane;
            self.platform = Platform::default();
            self.failed = false;
        }
    }

    pub(crate) fn finish_trace(&mut self) {
        self.trace.take(self.ane.timeline_mut());
        self.trace.finish();
    }

    pub(crate) fn turn(&mut self, vrings: &[Vring]) -> Turn {
        let mut turn = Turn::default();
        let ctrl = vrings.get(usize::from(CTRL_QUEUE)).filter(|vring| runs(vring));
        let events = vrings.get(usize::from(EVENT_QUEUE));
        // A guest whose queue is stopped is paused, or gone: its engine rests.
        let Some(ctrl) = ctrl else {
            self.rests = true;
            return Turn { stalled: true, ..turn };
        };
        if std::mem::take(&mut self.rests) {
            self.ane.has_rested(self.now());
        }
        if self.lost().is_none() {
            self.requests(ctrl, &mut turn);
        }
        if !self.failed && self.lost().is_none() {
            let now = self.now();
            let Self { ane, call_off, .. } = self;
            let worked = catch_unwind(AssertUnwindSafe(|| ane.work_unless(now, &**call_off)));
            match worked {
                Ok(work) => {
                    turn.busy |= work.pending;
                    turn.at = work.at;
                    if !work.pending || self.ane.timeline_mut().is_filling_up() {
                        self.trace.take(self.ane.timeline_mut());
                    }
                }
                Err(_) => self.fail("running a task"),
            }
            if let Some(lost) = self.lost() {
                // The bytes that were read may not have been the guest's, so no end of a request is reported.
                return Turn { lost: Some(lost), ..Turn::default() };
            }
            if let Some(events) = events {
                self.deliver(events, &mut turn);
            }
        }
        if let Some(lost) = self.lost() {
            return Turn { lost: Some(lost), ..Turn::default() };
        }
        turn
    }

    /// The model is wrong: that is our mistake, and must not become the guest's end.
    fn fail(&mut self, doing: &str) {
        self.failed = true;
        log::error!(target: "ane::virtio", "engine failed while {doing}; it waits for a reset");
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ane_device::options::FaultPolicy;
    use ane_uapi::hw::space::EngineOffset;
    use ane_uapi::hw::tm;
    use ane_uapi::hw::tq::{self, QueueId};
    use vhost_user_backend::VringT as _;
    use vm_memory::GuestMemoryAtomic;

    use super::*;

    /// An engine with a request whose descriptor is mapped nowhere.
    fn faulting(fault_policy: FaultPolicy) -> Worker {
        let options = Options { fault_policy, check: true, ..Options::default() };
        let mut worker = Worker::new(&options, Trace::new(None).unwrap(), None).unwrap();
        let manager = |offset| EngineOffset(tm::TASK_MANAGER.base.0 + offset);
        let queue = |offset| EngineOffset(QueueId::LINUX.base().0 + offset);
        for (at, value) in [
            (queue(tq::STATUS.offset()), 1),
            (queue(tq::REQ_SIZE1.offset()), 0x9d << 16),
            (queue(tq::REQ_ADDR1.offset()), 0x4000),
            (queue(tq::REQ_NID1.offset()), 0x4001),
            (manager(tm::REQUEST_ADDRESS.offset()), 0x4000),
            (manager(tm::REQUEST_INFO.offset()), 0x9d << 16 | 1),
            (manager(tm::QUEUE_ENABLE.offset()), 0x1000),
            (manager(tm::PUSH.offset()), 0x405),
        ] {
            worker.ane.write(at, value, Ticks::ZERO).unwrap();
        }
        worker
    }

    fn vring() -> Vring {
        let vring = Vring::new(GuestMemoryAtomic::new(GuestMemoryMmap::new()), 16).unwrap();
        vring.set_enabled(true);
        vring
    }

    #[test]
    fn questions_about_a_device_that_a_fault_has_stopped_show_the_fault_and_count_nothing() {
        let mut worker = faulting(FaultPolicy::Panic);
        let vrings = [vring()];
        vrings[0].set_queue_ready(true);
        worker.turn(&vrings);
        let counts = worker.counts();
        let faults = worker.faults();
        assert!(faults.starts_with("fault latched\n"), "{faults}");
        assert!(worker.registers().lines().count() > 100);
        assert_eq!(worker.counts(), counts);
    }

    #[test]
    fn request_that_waits_at_a_fault_does_not_end_while_its_guest_is_paused() {
        let mut worker = faulting(FaultPolicy::Stall);
        let vrings = [vring()];
        let mut turn = |is_running| {
            vrings[0].set_queue_ready(is_running);
            while worker.turn(&vrings).busy {}
            worker.start -= Duration::from_secs(3);
            let manager = worker.ane.task_manager();
            (manager.running().is_some_and(|running| running.is_parked), manager.last_failure().is_some())
        };
        assert_eq!(turn(true), (true, false));
        assert_eq!(turn(false), (true, false));
        assert_eq!(turn(true), (true, false), "it was paused");
        assert_eq!(turn(true), (false, true), "it had three seconds");
    }
}
