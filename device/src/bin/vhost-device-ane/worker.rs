//! The engine at work: whoever holds the [`Worker`] is the device.
//!
//! A turn takes what the guest asks for, lets the engine run one task, and tells the guest what happened. It
//! is bounded: by requests, by the size of one, and by one task, which ends early if it is called off. The array's share
//! of a long task is no part of it: that is computed beside, from copies, until a bell calls for another turn.
//! Nothing of a turn is left over when it ends:
//! no request is half done, no memory is held, no buffer of the guest's is parked. So between two turns
//! memory may be replaced and queues stopped, and nothing can be in flight.
//!
//! Rings are read and written in the worker's memory, which was checked when it was handed over, and never by
//! what a [`Vring`] does on its own: its memory is what the transport was told last, checked or not.
//!
//! `told` is what the control socket asks.

mod told;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use ane_device::chip::NoSuchInstance;
use ane_device::dart::CheckReport;
use ane_device::dart::check::MAX_REPORTS;
use ane_device::engine::executor::beside::Bell;
use ane_device::refusal::Refusal;
use ane_device::time::Ticks;
use ane_device::wire::{self, NotDone};
use ane_device::{Ane, Options};
use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::space::{EngineOffset, IovaRange};
use ane_uapi::hw::usage::Usage;
use ane_uapi::wire::event::Event as Message;
use ane_uapi::wire::sideband::Regions;
use ane_uapi::wire::{CTRL_QUEUE, EVENT_QUEUE};
use vhost_user_backend::{VringMutex, VringT};
use virtio_queue::{QueueOwnedT, QueueT};
use vm_memory::{GuestMemoryAtomic, GuestMemoryMmap};
use zerocopy::IntoBytes;

use super::cancel::Asked;
use super::chain::{Chain, Complaints};
use super::request::{self, REQUEST_MAX, Registers, Request};
use super::trace::Trace;

/// A virtqueue as the transport hands it over.
pub(crate) type Vring = VringMutex<GuestMemoryAtomic<GuestMemoryMmap>>;

/// Requests of one turn: after these the engine gets its turn, whatever else the guest wants.
const REQUESTS_PER_TURN: usize = 64;

/// What is to be done after a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Turn {
    /// There is more to do at once.
    pub(crate) busy: bool,
    /// The guest was served, or the engine did something.
    pub(crate) progress: bool,
    /// The queue of requests cannot be read: looking again helps only after the guest did something.
    pub(crate) broken: bool,
    /// When there will be something to do, if nothing else happens until then.
    pub(crate) at: Option<Ticks>,
}

/// One engine, its clock, and what carrying out requests needs.
pub(crate) struct Worker {
    options: Options,
    trace: Trace,
    /// Calls for a turn.
    bell: Bell,
    ane: Ane<GuestMemoryMmap>,
    memory: GuestMemoryMmap,
    start: Instant,
    chain: Chain,
    bytes: Vec<u8>,
    answer: Vec<u8>,
    complaints: Complaints,
    /// Number of the next event.
    sequence: u64,
    /// Events dropped since the last that the guest got.
    lost: u32,
    /// Raised by whoever cannot wait for the end of a task.
    call_off: Arc<AtomicBool>,
    /// The model failed in a way that it should not; only a reset helps.
    failed: bool,
    /// What checking mode found before the frontend left, for whoever asks afterwards.
    findings: Vec<CheckReport>,
    findings_lost: u64,
}

/// The engine at one moment.
struct Now<'a> {
    ane: &'a mut Ane<GuestMemoryMmap>,
    now: Ticks,
    options: &'a Options,
}

impl Registers for Now<'_> {
    fn read(&mut self, at: EngineOffset) -> Result<u32, Refusal> {
        self.ane.read(at, self.now)
    }

    fn write(&mut self, at: EngineOffset, value: u32) -> Result<(), Refusal> {
        self.ane.write(at, value, self.now)
    }

    fn reset(&mut self) {
        self.ane.reset(self.now);
    }

    fn is_strict(&self) -> bool {
        self.options.strict
    }

    fn is_checking(&self) -> bool {
        self.options.check
    }

    fn is_dead(&self) -> bool {
        self.ane.dart().is_dead()
    }

    fn has_pe_mmu(&self) -> bool {
        self.options.pe_mmu.is_some()
    }

    fn install(&mut self, regions: Regions<'_>) -> Result<(), NotDone> {
        wire::install(self.ane, regions)
    }

    fn declare(&mut self, stream: StreamId, range: IovaRange, usage: Option<Usage>) -> bool {
        match usage {
            Some(usage) => self.ane.dart_mut().declare(stream, range, usage),
            None => {
                self.ane.dart_mut().forget(stream, range);
                true
            }
        }
    }
}

/// An engine, noting what it does if somebody wants to know.
fn engine(
    options: &Options,
    memory: GuestMemoryMmap,
    trace: &Trace,
    bell: &Bell,
) -> Result<Ane<GuestMemoryMmap>, NoSuchInstance> {
    let mut ane = Ane::new(options, memory)?;
    ane.engine_mut().compute_beside(Arc::clone(bell));
    ane.set_timeline(trace.timeline());
    Ok(ane)
}

fn now(start: Instant) -> Ticks {
    Ticks::from_nanoseconds(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX))
}

/// True if the guest lets the device use the queue.
fn runs(vring: &Vring) -> bool {
    let state = vring.get_ref();
    state.is_enabled() && state.get_queue().ready()
}

impl Worker {
    /// An engine without memory, whose timeline goes to `trace`; `bell` has to bring about another turn.
    pub(crate) fn new(options: &Options, trace: Trace, bell: Bell) -> Result<Self, NoSuchInstance> {
        let memory = GuestMemoryMmap::new();
        Ok(Self {
            ane: engine(options, memory.clone(), &trace, &bell)?,
            trace,
            bell,
            options: options.clone(),
            memory,
            start: Instant::now(),
            chain: Chain::default(),
            bytes: Vec::new(),
            answer: Vec::new(),
            complaints: Complaints::default(),
            sequence: 0,
            lost: 0,
            call_off: Arc::default(),
            failed: false,
            findings: Vec::new(),
            findings_lost: 0,
        })
    }

    /// The time as the engine knows it.
    pub(crate) fn now(&self) -> Ticks {
        now(self.start)
    }

    /// What another thread raises to have the task that runs end at once.
    pub(crate) fn call_off(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.call_off)
    }

    /// True while a task is computed beside.
    pub(crate) const fn is_away(&self) -> bool {
        self.ane.is_away()
    }

    /// The guest's memory.
    pub(crate) const fn memory(&self) -> &GuestMemoryMmap {
        &self.memory
    }

    /// Puts other guest memory in the place of what there was.
    pub(crate) fn replace_memory(&mut self, memory: &GuestMemoryMmap) {
        self.memory = memory.clone();
        self.ane.replace_memory(memory.clone());
    }

    /// Back to the state after power-on.
    pub(crate) fn reset(&mut self) {
        if self.failed {
            self.rebuild();
        } else {
            self.ane.reset(self.now());
        }
    }

    /// Back to how it was when the program started: the frontend is gone.
    pub(crate) fn forget(&mut self) {
        self.replace_memory(&GuestMemoryMmap::new());
        self.findings = self.take_findings();
        let over = self.findings.len().saturating_sub(MAX_REPORTS);
        self.findings.truncate(MAX_REPORTS);
        self.findings_lost =
            self.take_findings_lost().saturating_add(u64::try_from(over).unwrap_or(u64::MAX));
        self.rebuild();
        self.sequence = 0;
        self.lost = 0;
    }

    fn rebuild(&mut self) {
        self.trace.take(self.ane.timeline_mut());
        // The options made an engine before, so they do again.
        if let Ok(ane) = engine(&self.options, self.memory.clone(), &self.trace, &self.bell) {
            self.ane = ane;
            self.failed = false;
        }
    }

    /// Ends the trace, if there is one.
    pub(crate) fn finish_trace(&mut self) {
        let timeline = self.ane.timeline_mut();
        self.trace.take(timeline);
        self.trace.finish(timeline.lost());
    }

    /// One turn.
    pub(crate) fn turn(&mut self, vrings: &[Vring]) -> Turn {
        let mut turn = Turn::default();
        let ctrl = vrings.get(usize::from(CTRL_QUEUE)).filter(|vring| runs(vring));
        let events = vrings.get(usize::from(EVENT_QUEUE)).filter(|vring| runs(vring));
        // A guest whose queue is stopped is paused, or gone: its engine rests.
        let Some(ctrl) = ctrl else {
            return turn;
        };
        self.requests(ctrl, &mut turn);
        if !self.failed {
            let now = self.now();
            let asked = Asked::new(&self.call_off, ctrl, &self.memory, self.ane.heeds_aborts());
            let worked = catch_unwind(AssertUnwindSafe(|| self.ane.work_unless(now, &asked)));
            let is_reset = asked.is_for_a_reset();
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
            // Without a queue to put them into they wait in the engine; and a reset that is to come drops them.
            if let Some(events) = events.filter(|_| !is_reset) {
                self.deliver(events, &mut turn);
            }
        }
        turn
    }

    /// The model is wrong: that is our mistake, and must not become the guest's end.
    fn fail(&mut self, doing: &str) {
        self.failed = true;
        log::error!(target: "ane::virtio", "engine failed while {doing}; it waits for a reset");
    }

    /// Carries out what waits in the queue of requests.
    fn requests(&mut self, vring: &Vring, turn: &mut Turn) {
        let mut served = 0;
        for n in 1..=REQUESTS_PER_TURN {
            let popped = {
                let mut state = vring.get_mut();
                match state.get_queue_mut().iter(&self.memory) {
                    Ok(mut available) => available.next(),
                    Err(why) => {
                        let why = format!("queue of requests cannot be read: {why}");
                        self.complaints.complain(self.now(), &why);
                        turn.broken = true;
                        break;
                    }
                }
            };
            let Some(chain) = popped else {
                break;
            };
            let head = chain.head_index();
            let written = match self.chain.gather(chain, &self.memory) {
                Ok(()) => self.request(),
                Err(bad) => {
                    self.complaints.complain(self.now(), &bad);
                    0
                }
            };
            if let Err(why) = self.give_back(vring, head, written) {
                let why = format!("chain {head} cannot be given back: {why}");
                self.complaints.complain(self.now(), &why);
            }
            served = n;
        }
        if served != 0 {
            turn.progress = true;
            turn.busy = served == REQUESTS_PER_TURN;
            self.notify(vring);
        }
    }

    /// Carries out the request that `self.chain` holds; the number is how many bytes were answered.
    fn request(&mut self) -> u32 {
        if !self.chain.read(&self.memory, REQUEST_MAX, &mut self.bytes) {
            return 0;
        }
        let room = self.chain.writable_bytes();
        let len = self.chain.readable_bytes();
        if self.failed && request::is_reset(&self.bytes) {
            self.rebuild();
        }
        let asked = Request { bytes: &self.bytes, len, room };
        let mut failed = self.failed;
        if !failed {
            let now = now(self.start);
            let mut engine = Now { ane: &mut self.ane, now, options: &self.options };
            let answer = &mut self.answer;
            failed =
                catch_unwind(AssertUnwindSafe(|| request::carry_out(&mut engine, asked, answer))).is_err();
        }
        if failed {
            request::internal_error(asked, &mut self.answer);
            if !self.failed {
                self.fail("carrying out a request");
            }
        }
        self.chain.write(&self.memory, &self.answer)
    }

    /// Tells the guest what happened.
    fn deliver(&mut self, vring: &Vring, turn: &mut Turn) {
        let mut delivered = false;
        for event in self.ane.take_events() {
            turn.progress = true;
            let message = wire::event(&event, self.sequence, self.lost);
            self.sequence = self.sequence.wrapping_add(1);
            let popped = {
                let mut state = vring.get_mut();
                state.get_queue_mut().iter(&self.memory).ok().and_then(|mut available| available.next())
            };
            let Some(chain) = popped else {
                self.lost = self.lost.saturating_add(1);
                continue;
            };
            let head = chain.head_index();
            let fits = self.chain.gather(chain, &self.memory).is_ok()
                && self.chain.writable_bytes() >= size_of::<Message>() as u64;
            let written = if fits { self.chain.write(&self.memory, message.as_bytes()) } else { 0 };
            self.lost = if written == 0 { self.lost.saturating_add(1) } else { 0 };
            // It fails only if the guest took the ring away; then there is nobody to tell.
            delivered |= self.give_back(vring, head, written).is_ok();
        }
        if delivered {
            self.notify(vring);
        }
    }

    /// Gives a chain back.
    fn give_back(&self, vring: &Vring, head: u16, written: u32) -> Result<(), virtio_queue::Error> {
        vring.get_mut().get_queue_mut().add_used(&self.memory, head, written)
    }

    /// Asks the guest to say when there is something new; true if there is already.
    pub(crate) fn ask_for_kicks(&self, vring: &Vring) -> bool {
        vring.get_mut().get_queue_mut().enable_notification(&self.memory).unwrap_or(false)
    }

    /// Tells the guest that it need not say so.
    pub(crate) fn ask_for_no_kicks(&self, vring: &Vring) {
        // A guest that makes its own ring unwritable goes on kicking.
        let _ = vring.get_mut().get_queue_mut().disable_notification(&self.memory);
    }

    /// Wakes the guest, if it wants to be woken.
    fn notify(&self, vring: &Vring) {
        // A guest that makes its own ring unreadable is not woken; that is its loss alone.
        let wants = vring.get_mut().get_queue_mut().needs_notification(&self.memory);
        if wants.unwrap_or(false)
            && let Err(why) = vring.signal_used_queue()
        {
            log::warn!(target: "ane::virtio", "guest cannot be woken: {why}");
        }
    }
}
