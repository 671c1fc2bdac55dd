//! The output of an engine: events for the guest, findings of checking mode, and failures.
//!
//! Blocks say what follows from an access or a step; here it becomes what others hear of. Faults that windows have latched
//! come first, then the lines of the task manager, and nothing is raised twice.

use ane_uapi::hw::dart::regs;
use ane_uapi::hw::status::EngineStatus;
use ane_uapi::hw::tq::QueueId;
use vm_memory::GuestMemory;

use super::Ane;
use crate::counters::increment;
use crate::dart::CheckReport;
use crate::dart::check::MAX_REPORTS;
use crate::engine::Engine;
use crate::event::{Event, Fault, Happening};
use crate::report::Kind;
use crate::time::Ticks;
use crate::tm::Effect;
use crate::tm::error::Failure;
use crate::tm::running::Running;
use crate::trace::{self, Task, What};

impl<M: GuestMemory, E: Engine<M>> Ane<M, E> {
    pub fn take_events(&mut self) -> impl Iterator<Item = Event> + use<M, E> {
        self.events.take().into_iter()
    }

    /// The event that has waited longest; the others wait on.
    pub fn take_event(&mut self) -> Option<Event> {
        self.events.take_first()
    }

    /// The number of events that were dropped because they were not taken.
    pub const fn events_lost(&self) -> u64 {
        self.events.lost()
    }

    /// The findings of checking mode since last asked; each was logged as well.
    ///
    /// At most [`MAX_REPORTS`] are kept: what comes when there are as many is logged only, and
    /// [counted](Self::take_reports_lost).
    pub fn take_reports(&mut self) -> Vec<CheckReport> {
        std::mem::take(&mut self.findings)
    }

    /// The number of findings that were dropped since this was last asked, because earlier ones were not taken.
    pub fn take_reports_lost(&mut self) -> u64 {
        std::mem::take(&mut self.findings_lost)
    }

    pub(super) fn follow(&mut self, effect: Effect, now: Ticks) {
        match effect {
            Effect::None | Effect::Pushed(Ok(_)) => {}
            Effect::Pushed(Err(failure)) => self.failed(&failure, now),
            Effect::GaveUp(queue) => self.abort(queue, now),
            Effect::Dropped(stream) => self.drop_aside(stream),
        }
        self.flush(now);
    }

    fn abort(&mut self, queue: QueueId, now: Ticks) {
        if self.armed.ignores_abort() {
            return;
        }
        let begun = self.begun();
        for failure in self.tm.abort(queue, now) {
            self.failed(&failure, now);
        }
        if self.tm.running().is_none() {
            self.end_early(begun);
        }
    }

    /// The task of the running request that was begun last.
    pub(super) fn begun(&self) -> Option<Task> {
        let Running { request, begun, .. } = self.tm.running()?;
        begun.map(|index| Task { queue: request.queue, nid: request.nid, index })
    }

    /// Ends a request on the timeline that ended between two steps, and whose last task this was.
    pub(super) fn end_early(&mut self, begun: Option<Task>) {
        if let Some(task) = begun {
            self.timeline.mark(trace::Event { task, what: What::RequestEnd { succeeded: false } });
        }
    }

    pub(super) fn failed(&mut self, failure: &Failure, now: Ticks) {
        increment(&mut self.counters.requests_failed);
        self.reporter.log(Kind::Request, now, || failure.to_string());
    }

    /// Turns what the windows have latched into events.
    pub(super) fn take_faults(&mut self, status: EngineStatus, now: Ticks) {
        let latched: Vec<_> = self.dart.take_faults().collect();
        for (window, info) in latched {
            let words = [
                regs::ERROR_STATUS.offset(),
                regs::ERROR_ADDRESS_LOW.offset(),
                regs::ERROR_ADDRESS_HIGH.offset(),
                regs::BUFFER_STATUS.offset(),
            ]
            .map(|offset| self.dart.read(window, offset).unwrap_or_default());
            let fault = Fault { window, words, info };
            self.last_fault = Some(fault);
            self.happen(now, status, Happening::Dart(fault));
            if self.dart.is_dead() && !self.announced_dead {
                self.announced_dead = true;
                self.happen(now, status, Happening::Dead(fault));
            }
        }
    }

    pub(super) fn happen(&mut self, at: Ticks, engine_status: EngineStatus, what: Happening) {
        self.events.push(Event { at, engine_status, what });
    }

    /// Raises the event lines, and takes faults that something other than a task caused.
    pub(super) fn flush(&mut self, now: Ticks) {
        let status = self.status();
        self.take_faults(status, now);
        self.say_findings(now);
        for raised in self.tm.events_mut().raise() {
            if self.armed.loses_interrupt() {
                continue;
            }
            let what =
                Happening::TaskManager { line: raised.line, waiting: raised.waiting, entry: raised.entry };
            self.happen(raised.at, status, what);
        }
    }

    /// Logs the findings of checking mode, and keeps them until they are asked for.
    fn say_findings(&mut self, now: Ticks) {
        for finding in self.dart.take_reports() {
            self.reporter.log(Kind::Check, now, || format!("check: {finding}"));
            if self.findings.len() < MAX_REPORTS {
                self.findings.push(finding);
            } else {
                self.findings_lost = self.findings_lost.saturating_add(1);
            }
        }
        self.findings_lost = self.findings_lost.saturating_add(self.dart.take_reports_lost());
    }
}
