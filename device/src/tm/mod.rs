//! The task manager: eight queues, one engine, and the events between it and the driver.
//!
//! A driver stages a request in a queue, writes address and size of its first descriptor to the manager, and
//! pushes. The manager latches the request, arbitrates among what waits, and walks the chain of the request
//! that has started: one task after the other, as many as it was told. How a request ends is counted on both
//! event lines.
//!
//! This file takes register accesses and says what follows from them; who fetches and executes is [`ane`](crate::ane).
//!
//! * [`queue`]: the registers of a queue, and what a push latches.
//! * [`arbiter`]: who is next.
//! * [`events`]: the lines.
//! * [`running`]: the request that runs, from start to end.
//! * `aside`: requests that gave way, and go on later.
//! * [`deadline`]: the end of what is stuck.
//! * [`error`]: why a request did not run to its end.

pub mod arbiter;
mod aside;
pub mod deadline;
pub mod error;
pub mod events;
pub mod queue;
pub mod running;

use ane_uapi::hw::bar::AddressWord;
use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::nid::Nid;
use ane_uapi::hw::tm::{
    Committed, EventCode, EventInfo, InterruptAck, InterruptEnable, LineEnable, ManagerStatus, Push,
    QueueEnable, RegisterId, RequestInfo,
};
use ane_uapi::hw::tq::{self, QueueId, RequestNid};
use ane_uapi::register::Word;

use self::arbiter::Arbiter;
use self::aside::Aside;
use self::error::{Failure, PushError, RequestError};
use self::events::{EventWords, Events, Line};
use self::queue::{PushWords, Queue, Written};
use self::running::Running;
use crate::time::Ticks;

/// The effect of a register write beyond the task manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    None,
    /// A request was taken, or could not be.
    Pushed(Result<(QueueId, Nid), Failure>),
    /// The driver took a queue back that had requests.
    GaveUp(QueueId),
    /// A request of this stream that had been put aside is no more.
    Dropped(StreamId),
}

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

    pub fn queue(&self, id: QueueId) -> Option<&Queue> {
        self.queues.get(id.index())
    }

    pub const fn events(&self) -> &Events {
        &self.events
    }

    /// The event lines, to take what they raise.
    pub(crate) const fn events_mut(&mut self) -> &mut Events {
        &mut self.events
    }

    pub const fn running(&self) -> Option<&Running> {
        self.running.as_ref()
    }

    /// The same, to put off or to hang.
    pub(crate) const fn running_mut(&mut self) -> Option<&mut Running> {
        self.running.as_mut()
    }

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

    /// Reads a register; `None` from one that can only be written.
    pub fn read(&mut self, register: RegisterId, index: u16) -> Option<u32> {
        Some(match register {
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
            RegisterId::PUSH => return None,
        })
    }

    /// Writes a register; what cannot be written keeps its state.
    pub fn write(&mut self, register: RegisterId, value: u32, now: Ticks) -> Effect {
        match register {
            RegisterId::REQUEST_ADDRESS => self.address = AddressWord::from_word(value),
            RegisterId::REQUEST_INFO => self.info = RequestInfo::from_word(value),
            RegisterId::PUSH => {
                return Effect::Pushed(self.push(Push::from_word(value), now));
            }
            RegisterId::QUEUE_ENABLE => self.enable = QueueEnable::from_word(value),
            RegisterId::INTERRUPT_ENABLE => self.events.set_enable(InterruptEnable::from_word(value)),
            RegisterId::INTERRUPT_ACK => {
                if InterruptAck::from_word(value).events() {
                    self.events.acknowledge();
                }
            }
            RegisterId::LINE_ENABLE => self.events.set_lines(LineEnable::from_word(value)),
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

    /// Reads a register of a queue; `None` from one that can only be written.
    pub fn read_queue(&self, id: QueueId, register: tq::RegisterId, offset: u32) -> Option<u32> {
        let asked = self.running.as_ref().filter(|running| running.gives_way && running.request.queue == id);
        self.queue(id)?.read(register, offset, asked.map(|running| running.request.nid))
    }

    pub fn write_queue(&mut self, id: QueueId, register: tq::RegisterId, offset: u32, value: u32) -> Effect {
        let Some(queue) = self.queue_mut(id) else { return Effect::None };
        match queue.write(register, offset, value) {
            Written::Kept => Effect::None,
            Written::GaveUp => Effect::GaveUp(id),
            Written::GiveWay(word) => {
                self.ask_to_give_way(id, word);
                Effect::None
            }
            Written::TakeBack(word) => {
                if let Some(stream) = word.id().ok().and_then(|nid| self.aside.drop(id, nid)) {
                    return Effect::Dropped(stream);
                }
                let gave_up = self.is_first(id, word) && self.queue_mut(id).is_some_and(Queue::give_up);
                if gave_up { Effect::GaveUp(id) } else { Effect::None }
            }
        }
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
        self.events.push(EventWords { info, word_1, time: now.low(), word_3 }, now);
        failure
    }
}
