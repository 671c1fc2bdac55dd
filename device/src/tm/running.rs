//! The request that runs: it starts, goes on task by task, gives way, and ends.
//!
//! One request runs at a time. It ends with its last task, by an error, by its deadline, or because the driver takes its queue
//! back.

use ane_uapi::hw::tm::{Committed, EventCode, EventInfo};
use ane_uapi::hw::tq::QueueId;

use super::TaskManager;
use super::arbiter::Candidate;
use super::deadline::Watch;
use super::error::{Failure, RequestError};
use super::events::EventWords;
use super::queue::{Queue, Request};
use crate::engine::Done;
use crate::time::Ticks;

/// How a task ended: its cost, and address and words of the next descriptor.
pub type Outcome = Result<(Done, (u64, usize)), RequestError>;

/// A request that has started.
#[derive(Clone, Debug)]
pub struct Running {
    pub request: Request,
    /// Index of the task that is next.
    pub task: u16,
    /// Index of the task that was begun last; `None` of a request that has not begun.
    pub begun: Option<u16>,
    /// Device address of its descriptor, which may be beyond what the engine can address.
    pub address: u64,
    /// Words of its descriptor.
    pub words: usize,
    pub watch: Watch,
    /// How the task ended that is delayed.
    pub held: Option<Outcome>,
    /// By how much, until the delay begins. The time of the step in which a task ends is that of its begin, so the delay is
    /// timed from the next step on.
    pub delay: Option<Ticks>,
    /// When the end of that task shows.
    pub resume: Option<Ticks>,
    /// It gets nowhere any more; with the register that hung the engine, if one did.
    pub stuck: Option<Option<(u32, u32)>>,
    /// A transfer of its task waits at a fault, for the driver to mend its tables.
    pub is_parked: bool,
    /// It was parked in this step, whose time is that of its begin: the wait is timed from the next step on.
    pub is_newly_parked: bool,
    /// It never ends: neither its deadline nor an abort takes it away, but a cycle of the power does.
    pub is_wedged: bool,
    /// It gives way after its present task.
    pub gives_way: bool,
    /// It had given way, and the engine does not have what it kept yet.
    pub is_back: bool,
}

/// The meaning of a task's end for its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    GoesOn,
    Ended,
    Aside,
}

/// The next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    Idle,
    /// Nothing before this time.
    Wait(Ticks),
    /// Nothing but the time to look at, at once.
    Look,
    Task,
}

impl TaskManager {
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
            // Requests that gave way stay aside.
            self.aside.withdraw(&request);
            let error = RequestError::Aborted;
            failures.push(self.fail(Failure { queue: id, nid: Some(request.nid), task: 0, error }, now));
        }
        failures
    }

    /// Aborts the running request if its deadline has passed.
    pub fn expire(&mut self, now: Ticks) -> Option<Failure> {
        let running = self.running.as_mut()?;
        if std::mem::take(&mut running.is_newly_parked) {
            // The model may have computed for long before the transfer that waits.
            running.watch.resume(now);
        }
        if let Some(delay) = running.delay.take() {
            // So it may have before the task ended.
            running.watch.resume(now);
            running.resume = Some(now.saturating_add(delay));
        }
        // A task that may go on makes progress: time that has passed all the same was the model's, at an
        // earlier task.
        let end = running.watch.expires();
        let is_nowhere =
            running.stuck.is_some() || running.is_parked || running.resume.is_some_and(|resume| resume > end);
        if running.is_wedged {
            return None;
        }
        let error = if is_nowhere && running.watch.is_late(now) {
            RequestError::Deadline { hung: running.stuck.flatten() }
        } else if running.watch.is_spent() {
            RequestError::TooLong
        } else {
            return None;
        };
        self.fail_running(error, now)
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
            Some(running) if running.is_newly_parked || running.delay.is_some() => Turn::Look,
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
            begun: None,
            address: request.address.0.into(),
            words: usize::from(request.info.last_word()).saturating_add(1),
            watch: Watch::start(now),
            held: None,
            delay: None,
            resume: None,
            stuck,
            is_parked: false,
            is_newly_parked: false,
            is_wedged: false,
            gives_way: false,
            is_back: false,
            request,
        })
    }

    /// A transfer of the running request waits at a fault.
    pub(crate) const fn park(&mut self) {
        if let Some(running) = &mut self.running {
            (running.is_parked, running.is_newly_parked) = (true, true);
        }
    }

    /// The driver can help a transfer that waits from now on only.
    pub(crate) fn give_time(&mut self, now: Ticks) {
        if let Some(running) = self.running.as_mut().filter(|running| running.is_parked) {
            running.watch.resume(now);
        }
    }

    /// The transfer that waited may go on.
    pub(crate) fn unpark(&mut self, now: Ticks) {
        if let Some(running) = &mut self.running {
            (running.is_parked, running.is_newly_parked) = (false, false);
            running.watch.resume(now);
        }
    }

    /// The running request's task has ended, and that shows only after `delay`.
    pub(crate) fn hold(&mut self, outcome: Outcome, delay: Ticks) {
        if let Some(running) = &mut self.running {
            (running.held, running.delay) = (Some(outcome), Some(delay));
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
        self.events.push(EventWords { info, word_1, time: now.low(), word_3: 0 }, now);
        Then::Ended
    }

    /// Puts the running request aside. The requests that wait in its queue are returned before it: a driver that puts
    /// each at the head of its line has them in their order again.
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
            self.events.push(EventWords { info, word_1, time: now.low(), word_3: 0 }, now);
        }
        if let Some(queue) = self.queue_mut(queue) {
            queue.end(slot);
        }
        self.aside.put(running);
        Then::Aside
    }
}
