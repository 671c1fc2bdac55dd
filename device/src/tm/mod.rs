//! The task manager: eight queues, one engine, and the events between it and the driver.
//!
//! A driver stages a request in a queue, writes address and size of its first descriptor to the manager, and
//! pushes. The manager latches the request, arbitrates among what waits, and walks the chain of the request
//! that has started: one task after the other, as many as it was told. How a request ends is counted on both
//! event lines.
//!
//! This file takes register accesses and steps of work, and says what follows from them; who fetches and
//! executes is [`ane`](crate::ane).
//!
//! * [`queue`]: the registers of a queue, and what a push latches.
//! * [`arbiter`]: who is next.
//! * [`events`]: the lines.
//! * `aside`: requests that gave way, and go on later.
//! * [`deadline`]: the end of what is stuck.
//! * [`error`]: why a request did not run to its end.

pub mod arbiter;
mod aside;
pub mod deadline;
pub mod error;
pub mod events;
pub mod queue;

use ane_uapi::hw::bar::AddressWord;
use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::nid::Nid;
use ane_uapi::hw::tm::{
    Committed, EventCode, EventInfo, InterruptAck, InterruptEnable, LineEnable, ManagerStatus, Push,
    QueueEnable, RegisterId, RequestInfo,
};
use ane_uapi::hw::tq::{self, QueueId, RequestNid};
use ane_uapi::register::Word;

use self::arbiter::{Arbiter, Candidate};
use self::aside::Aside;
use self::deadline::Watch;
use self::error::{Failure, PushError, RequestError};
use self::events::{Entry, Events, Line};
use self::queue::{PushWords, Queue, Request};
use crate::engine::Done;
use crate::time::Ticks;

/// How a task ended: its cost, and address and words of the next descriptor.
pub type Outcome = Result<(Done, (u64, usize)), RequestError>;

/// A request that has started.
#[derive(Clone, Debug)]
pub struct Running {
    /// The request.
    pub request: Request,
    /// Index of the task that is next.
    pub task: u16,
    /// Device address of its descriptor, which may be beyond what the engine can address.
    pub address: u64,
    /// Words of its descriptor.
    pub words: usize,
    /// Its deadline.
    pub watch: Watch,
    /// When the end of its task shows, if that was delayed.
    pub resume: Option<Ticks>,
    /// How the task ended that is delayed.
    pub held: Option<Outcome>,
    /// It gets nowhere any more; with the register that hung the engine, if one did.
    pub stuck: Option<Option<(u32, u32)>>,
    /// A transfer of its task waits at a fault, for the driver to mend its tables.
    pub is_parked: bool,
    /// It never ends: neither its deadline nor an abort takes it away, but a cycle of the power does.
    pub is_wedged: bool,
    /// It gives way after its present task.
    pub gives_way: bool,
    /// It had given way, and the engine does not have what it kept yet.
    pub is_back: bool,
}

/// What a task's end means for its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// It has another task.
    GoesOn,
    /// That was its last task.
    Ended,
    /// It was put aside.
    Aside,
}

/// What is to be done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Nothing.
    Idle,
    /// Nothing before this time.
    Wait(Ticks),
    /// The next task of the running request.
    Task,
}

/// What follows from a register write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    None,
    /// A request was taken, or could not be.
    Pushed(Result<(QueueId, Nid), Failure>),
    /// The driver took a queue back that had requests.
    GaveUp(QueueId),
    /// A request of this stream that had been put aside is no more.
    Dropped(StreamId),
}

/// The task manager.
#[derive(Clone, Debug)]
pub struct TaskManager {
    address: AddressWord,
    info: RequestInfo,
    enable: QueueEnable,
    queues: [Queue; QueueId::COUNT as usize],
    arbiter: Arbiter,
    events: Events,
    committed: Committed,
    errors: [u32; 3],
    last: Option<Failure>,
    running: Option<Running>,
    aside: Aside,
    pushes: u64,
}

impl Default for TaskManager {
    fn default() -> Self {
        Self {
            address: AddressWord::new(),
            info: RequestInfo::new(),
            enable: QueueEnable::new(),
            queues: QueueId::ALL.map(Queue::new),
            arbiter: Arbiter::default(),
            events: Events::default(),
            committed: Committed::new(),
            errors: [0; 3],
            last: None,
            running: None,
            aside: Aside::default(),
            pushes: 0,
        }
    }
}

fn line(index: u16) -> Line {
    if index == u16::from(Line::First.number()) { Line::First } else { Line::Second }
}

impl TaskManager {
    // The number of a queue is below eight by its type, so the fallbacks below are never taken.
    fn queue_mut(&mut self, id: QueueId) -> Option<&mut Queue> {
        self.queues.get_mut(id.index())
    }

    /// One of the queues.
    pub fn queue(&self, id: QueueId) -> Option<&Queue> {
        self.queues.get(id.index())
    }

    /// The event lines.
    pub const fn events(&self) -> &Events {
        &self.events
    }

    /// The event lines, to take what they raise.
    pub(crate) const fn events_mut(&mut self) -> &mut Events {
        &mut self.events
    }

    /// The request that has started.
    pub const fn running(&self) -> Option<&Running> {
        self.running.as_ref()
    }

    /// The same, to put off or to hang.
    pub(crate) const fn running_mut(&mut self) -> Option<&mut Running> {
        self.running.as_mut()
    }

    /// The three error registers.
    pub const fn errors(&self) -> [u32; 3] {
        self.errors
    }

    /// The last request that did not run to its end.
    pub const fn last_failure(&self) -> Option<&Failure> {
        self.last.as_ref()
    }

    /// True if no request runs or waits.
    pub fn is_idle(&self) -> bool {
        self.running.is_none() && self.queues.iter().all(|queue| queue.next().is_none())
    }

    /// Reads a register; what only triggers reads as 0.
    pub fn read(&mut self, register: RegisterId, index: u16) -> u32 {
        match register {
            RegisterId::REQUEST_ADDRESS => self.address.word(),
            RegisterId::REQUEST_INFO => self.info.word(),
            RegisterId::QUEUE_ENABLE => self.enable.word(),
            RegisterId::EVENT_COUNT => self.events.waiting(line(index)),
            RegisterId::EVENT_INFO => self.events.pop(line(index)).word(),
            RegisterId::EVENT_WORD_1 => self.events.shown(line(index)).word_1,
            RegisterId::EVENT_TIME => self.events.shown(line(index)).time,
            RegisterId::EVENT_WORD_3 => self.events.shown(line(index)).word_3,
            RegisterId::COMMITTED => self.committed.word(),
            RegisterId::STATUS => ManagerStatus::new().with_idle(self.is_idle()).word(),
            RegisterId::ERROR => self.errors[0],
            RegisterId::ERROR_PLACE => self.errors[1],
            RegisterId::ERROR_VALUE => self.errors[2],
            RegisterId::INTERRUPT_ENABLE => self.events.enable().word(),
            RegisterId::INTERRUPT_ACK => {
                InterruptAck::new().with_events(self.events.is_unacknowledged()).word()
            }
            RegisterId::LINE_ENABLE => self.events.lines().word(),
            RegisterId::PUSH => 0,
        }
    }

    /// Writes a register; what cannot be written keeps its state.
    pub fn write(&mut self, register: RegisterId, value: u32, now: Ticks) -> Effect {
        match register {
            RegisterId::REQUEST_ADDRESS => {
                self.address = AddressWord::from_word(value);
            }
            RegisterId::REQUEST_INFO => {
                self.info = RequestInfo::from_word(value);
            }
            RegisterId::PUSH => {
                return Effect::Pushed(self.push(Push::from_word(value), now));
            }
            RegisterId::QUEUE_ENABLE => {
                self.enable = QueueEnable::from_word(value);
            }
            RegisterId::INTERRUPT_ENABLE => {
                self.events.set_enable(InterruptEnable::from_word(value));
            }
            RegisterId::INTERRUPT_ACK => {
                if InterruptAck::from_word(value).events() {
                    self.events.acknowledge();
                }
            }
            RegisterId::LINE_ENABLE => {
                self.events.set_lines(LineEnable::from_word(value));
            }
            RegisterId::EVENT_COUNT
            | RegisterId::EVENT_INFO
            | RegisterId::EVENT_WORD_1
            | RegisterId::EVENT_TIME
            | RegisterId::EVENT_WORD_3
            | RegisterId::COMMITTED
            | RegisterId::STATUS
            | RegisterId::ERROR
            | RegisterId::ERROR_PLACE
            | RegisterId::ERROR_VALUE => {}
        }
        Effect::None
    }

    /// Reads a register of a queue.
    pub fn read_queue(&self, id: QueueId, register: tq::RegisterId, offset: u32) -> u32 {
        if register == tq::RegisterId::GIVE_WAY {
            let asked =
                self.running.as_ref().filter(|running| running.gives_way && running.request.queue == id);
            return asked.map_or(0, |running| RequestNid::of(running.request.nid).word());
        }
        self.queue(id).map_or(register.register().reset, |queue| queue.read(register, offset))
    }

    /// Writes a register of a queue.
    pub fn write_queue(&mut self, id: QueueId, register: tq::RegisterId, offset: u32, value: u32) -> Effect {
        let gave_up = match register {
            tq::RegisterId::TAKE_BACK => {
                let word = RequestNid::from_word(value);
                if let Some(stream) = word.id().ok().and_then(|nid| self.aside.drop(id, nid)) {
                    return Effect::Dropped(stream);
                }
                self.is_first(id, word) && self.queue_mut(id).is_some_and(Queue::give_up)
            }
            tq::RegisterId::GIVE_WAY => {
                self.ask_to_give_way(id, RequestNid::from_word(value));
                false
            }
            _ => self.queue_mut(id).is_some_and(|queue| queue.write(register, offset, value)),
        };
        if gave_up { Effect::GaveUp(id) } else { Effect::None }
    }

    /// Notes that the running request is to give way, if it is this one and its stream has a place for it.
    fn ask_to_give_way(&mut self, id: QueueId, word: RequestNid) {
        let Self { running: Some(running), aside, .. } = self else { return };
        let Running { request, .. } = running;
        if request.queue == id && word.id() == Ok(request.nid) && !aside.has(request.stream) {
            running.gives_way = true;
        }
    }

    /// True if the queue's first request, the one that runs or would run next, has this network id.
    fn is_first(&self, id: QueueId, word: RequestNid) -> bool {
        let running = self.running.as_ref().map(|running| &running.request);
        let first =
            running.filter(|request| request.queue == id).or_else(|| self.queue(id).and_then(Queue::next));
        first.is_some_and(|request| word.id() == Ok(request.nid))
    }

    fn push(&mut self, push: Push, now: Ticks) -> Result<(QueueId, Nid), Failure> {
        let queue = push.queue_id();
        let age = self.pushes;
        self.pushes = age.saturating_add(1);
        let words =
            PushWords { priority: push.priority(), age, address: self.address.address(), info: self.info };
        let Self { queues, aside, .. } = self;
        let taken = match queues.get_mut(queue.index()) {
            Some(known) => known.push(words, |stream, nid| aside.push(queue, stream, nid)),
            None => Err((None, PushError::QueueNotInUse)),
        };
        taken.map(|nid| (queue, nid)).map_err(|(nid, error)| {
            self.fail(Failure { queue, nid, task: 0, error: RequestError::Push(error) }, now)
        })
    }

    /// Records a failure: error registers, and an event whose word is not that of a request that is done.
    fn fail(&mut self, failure: Failure, now: Ticks) -> Failure {
        self.errors = failure.registers();
        self.last = Some(failure);
        let [word_1, _, word_3] = self.errors;
        let nid = failure.nid.map_or(0, Nid::number);
        let info = EventInfo::of(EventCode::Failed, nid, failure.task);
        self.events.push(Entry { info, word_1, time: now.low(), word_3 }, now);
        failure
    }

    /// Ends the running request with an error.
    pub fn fail_running(&mut self, error: RequestError, now: Ticks) -> Option<Failure> {
        let Running { request, task, .. } = self.running.take()?;
        if let Some(queue) = self.queue_mut(request.queue) {
            queue.end(request.slot);
        }
        Some(self.fail(Failure { queue: request.queue, nid: Some(request.nid), task, error }, now))
    }

    /// Ends every request of a queue that the driver took back.
    pub fn abort(&mut self, id: QueueId, now: Ticks) -> Vec<Failure> {
        let mut failures = Vec::new();
        if self.running.as_ref().is_some_and(|running| running.request.queue == id && !running.is_wedged) {
            failures.extend(self.fail_running(RequestError::Aborted, now));
        }
        while let Some(request) = self.queue_mut(id).and_then(Queue::withdraw) {
            // What had given way stays aside.
            self.aside.withdraw(&request);
            let error = RequestError::Aborted;
            failures.push(self.fail(Failure { queue: id, nid: Some(request.nid), task: 0, error }, now));
        }
        failures
    }

    /// Aborts the running request if its deadline has passed.
    pub fn expire(&mut self, now: Ticks) -> Option<Failure> {
        let running = self.running.as_ref()?;
        // What may go on gets somewhere: time that has passed all the same was the model's, at an earlier task.
        let end = running.watch.expires();
        let is_nowhere =
            running.stuck.is_some() || running.is_parked || running.resume.is_some_and(|resume| resume > end);
        if running.is_wedged {
            return None;
        }
        if !(running.watch.is_spent() || is_nowhere && running.watch.is_late(now)) {
            return None;
        }
        let hung = running.stuck.flatten();
        self.fail_running(RequestError::Deadline { hung }, now)
    }

    /// Says what is next; starts a request if none runs and one may. `sticks` says whether one that starts on
    /// a queue is to get nowhere.
    pub fn turn(&mut self, now: Ticks, sticks: impl FnOnce(QueueId) -> bool) -> Turn {
        if self.running.is_none() && self.enable.enable() {
            self.running = self.start(now, sticks);
        }
        self.peek(now)
    }

    /// Says what is next, without starting anything: a request that may start counts as a task.
    pub fn peek(&self, now: Ticks) -> Turn {
        match &self.running {
            None if self.enable.enable() && !self.is_idle() => Turn::Task,
            None => Turn::Idle,
            Some(running) if running.is_wedged => Turn::Idle,
            Some(running) if running.stuck.is_some() || running.is_parked => {
                Turn::Wait(running.watch.expires())
            }
            Some(Running { resume: Some(resume), watch, .. }) if *resume > now => {
                Turn::Wait(watch.expires().min(*resume))
            }
            Some(_) => Turn::Task,
        }
    }

    fn start(&mut self, now: Ticks, sticks: impl FnOnce(QueueId) -> bool) -> Option<Running> {
        let waiting = self.queues.iter().filter_map(Queue::next).map(|request| Candidate {
            queue: request.queue,
            priority: request.priority,
            age: request.age,
        });
        let chosen = self.arbiter.choose(waiting)?;
        let request = self.queue_mut(chosen.queue)?.start()?;
        self.committed = Committed::new().with_nid(request.nid.number());
        let stuck = sticks(request.queue).then_some(None);
        if let Some(mut running) = self.aside.go_on(&request) {
            running.watch.resume(now);
            return Some(Running { request, stuck, gives_way: false, is_back: true, ..running });
        }
        Some(Running {
            task: 0,
            address: request.address.0.into(),
            words: usize::from(request.info.last_word()).saturating_add(1),
            watch: Watch::start(now),
            resume: None,
            held: None,
            stuck,
            is_parked: false,
            is_wedged: false,
            gives_way: false,
            is_back: false,
            request,
        })
    }

    /// The transfer that waited may go on.
    pub(crate) fn unpark(&mut self, now: Ticks) {
        if let Some(running) = &mut self.running {
            running.is_parked = false;
            running.watch.resume(now);
        }
    }

    /// The running request's task has ended, and that shows only at `resume`.
    pub(crate) fn hold(&mut self, outcome: Outcome, resume: Ticks) {
        if let Some(running) = &mut self.running {
            (running.held, running.resume) = (Some(outcome), Some(resume));
        }
    }

    /// The running request's task has ended, and the next one's descriptor is at `address`. Says what that means for the
    /// request.
    ///
    /// `corrupt` has the completion name another request.
    pub fn task_done(
        &mut self,
        now: Ticks,
        cost: Ticks,
        (address, words): (u64, usize),
        corrupt: impl FnOnce() -> bool,
    ) -> Then {
        let Some(running) = &mut self.running else { return Then::GoesOn };
        running.task = running.task.saturating_add(1);
        running.watch.advance(now, cost);
        (running.held, running.resume) = (None, None);
        (running.address, running.words) = (address, words);
        if running.task < running.request.info.tasks() {
            return if running.gives_way { self.put_aside(now) } else { Then::GoesOn };
        }
        let (request, tasks) = (running.request.clone(), running.task);
        // (Chosen) A done event's first word is what the request would have taken on the chip, in ticks.
        let word_1 = running.watch.spent().low();
        self.running = None;
        if let Some(queue) = self.queue_mut(request.queue) {
            queue.end(request.slot);
        }
        let info = EventInfo::of(EventCode::Done, request.nid.number(), tasks.saturating_sub(1));
        let info = if corrupt() { info.with_nid(!info.nid()) } else { info };
        self.events.push(Entry { info, word_1, time: now.low(), word_3: 0 }, now);
        Then::Ended
    }

    /// Puts the running request aside. What waits in its queue comes back before: a driver that puts each to the head of a line
    /// has them in their order again.
    fn put_aside(&mut self, now: Ticks) -> Then {
        let Some(running) = self.running.take() else { return Then::GoesOn };
        let Request { queue, slot, nid, .. } = running.request;
        let mut gone = Vec::new();
        while let Some(request) = self.queue_mut(queue).and_then(Queue::withdraw) {
            self.aside.withdraw(&request);
            gone.push((request.nid, 0, 0));
        }
        gone.reverse();
        gone.push((nid, running.task, running.watch.spent().low()));
        for (nid, tasks, word_1) in gone {
            let info = EventInfo::of(EventCode::Aside, nid.number(), tasks);
            self.events.push(Entry { info, word_1, time: now.low(), word_3: 0 }, now);
        }
        if let Some(queue) = self.queue_mut(queue) {
            queue.end(slot);
        }
        self.aside.put(running);
        Then::Aside
    }
}
