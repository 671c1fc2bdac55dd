//! Early ends of requests: cancelled, closed, too late, or ended by a reset.
//!
//! A request that waits ends at once. A request that the device has can only be taken back with its whole queue, and another
//! request that is ahead of it would be lost for nothing. So it is marked as stopped, and its queue is taken back as soon as
//! it is first there, on the device as well. The requests behind it that had not started go to the device again.

use std::time::Duration;

use ane_uapi::hw::tq::QueueId;
use ane_uapi::ioctl::errno::Errno;

use super::{Scheduler, Stage};
use crate::bus::Bus;
use crate::clients::Clients;
use crate::clock::Time;
use crate::fence::Ending;
use crate::front::FileId;
use crate::hardware::Hardware;
use crate::journal::LineKind;
use crate::tm::RequestId;

/// A request that is taken back while its task has lasted as long counts as one that hung (Chosen: most tasks take
/// microseconds, and who gets a penalty for one that did not hang waits less than a second).
const HUNG: Duration = Duration::from_millis(100);

/// How long a queue that was taken back may hold on to its requests before the device is reset (Chosen: the device
/// answers at once, and a lost interrupt is found well before).
const ABORT_LIMIT: Duration = Duration::from_millis(250);

impl Scheduler {
    /// Ends a request with `errno`, now or as soon as the device lets go of it.
    pub(crate) fn stop<B: Bus>(
        &mut self,
        hardware: &mut Hardware<B>,
        clients: &mut Clients,
        id: RequestId,
        errno: Errno,
    ) {
        let Some(request) = self.requests.get(id) else { return };
        match request.stage {
            Stage::Waiting | Stage::Aside { .. } => {
                self.finish(hardware, clients, id, Ending::unstarted(errno))
            }
            Stage::Running { .. } => {
                // A request that is taken back in time had the engine for nothing, like one whose time was over.
                if self.has_hung(hardware, id) {
                    self.penalise(hardware, clients, id);
                }
                self.stop_running(id, errno);
            }
        }
    }

    fn stop_running(&mut self, id: RequestId, errno: Errno) {
        if let Some(request) = self.requests.get_mut(id) {
            request.stopped.get_or_insert(errno);
            self.has_stopped = true;
        }
    }

    /// True if the device has been at one task of a request for so long that it may never end. One that is the first of its
    /// queue may still wait for one of another queue.
    fn has_hung<B: Bus>(&self, hardware: &mut Hardware<B>, id: RequestId) -> bool {
        let Some(request) = self.requests.get(id).filter(|request| request.stopped.is_none()) else {
            return false;
        };
        let Stage::Running { since, place } = request.stage else { return false };
        let begun = since.max(self.shares.free_since());
        // One of several tasks gives way after its present one when it is asked, which it is if somebody waits.
        let asked = self.asked[place.queue];
        let task_since = if request.info.tasks() < 2 { begun } else { asked };
        task_since >= begun
            && hardware.queues().is_first(place)
            && hardware.now().since(task_since) >= HUNG
            && hardware.engaged() == Some(place)
    }

    pub(crate) fn stop_file<B: Bus>(
        &mut self,
        hardware: &mut Hardware<B>,
        clients: &mut Clients,
        file: FileId,
        errno: Errno,
    ) {
        for id in self.requests_of(file) {
            self.stop(hardware, clients, id, errno);
        }
    }

    /// The requests of a file that have not ended.
    fn requests_of(&self, file: FileId) -> Vec<RequestId> {
        self.requests.iter().filter(|(_, request)| request.file == file).map(|(id, _)| id).collect()
    }

    /// Takes back the queues whose first request is stopped.
    pub(crate) fn pursue<B: Bus>(&mut self, hardware: &mut Hardware<B>, clients: &mut Clients) {
        if !self.has_stopped || !hardware.is_ready() {
            return;
        }
        let stopped = |(_, request): (RequestId, &super::Request)| match (request.stopped, request.stage) {
            (Some(_), Stage::Running { place, .. }) => Some(place),
            _ => None,
        };
        let places: Vec<_> = self.requests.iter().filter_map(stopped).collect();
        self.has_stopped = !places.is_empty();
        let now = hardware.now();
        for place in places {
            if !hardware.queues().is_aborting(place.queue) && hardware.queues().is_first(place) {
                match hardware.drive(|queues, bus| queues.abort(bus, place)) {
                    Some(true) => {}
                    // It has ended meanwhile, and its event says how.
                    Some(false) => continue,
                    None => {
                        self.end_failed(hardware, clients);
                        return;
                    }
                }
                self.aborted[place.queue] = now;
                hardware.ring_at(now.after(ABORT_LIMIT));
            }
        }
    }

    /// Sets the alarms of queues that were taken back once more.
    fn watch_again<B: Bus>(&self, hardware: &mut Hardware<B>) {
        for queue in QueueId::ALL {
            if hardware.queues().is_aborting(queue) {
                hardware.ring_at(self.aborted[queue].after(ABORT_LIMIT));
            }
        }
    }

    /// Resets the device if it does not let go of a queue that was taken back.
    pub(crate) fn watch_aborts<B: Bus>(
        &mut self,
        hardware: &mut Hardware<B>,
        clients: &mut Clients,
        now: Time,
    ) {
        if self.late_abort(hardware, now).is_none() {
            return;
        }
        self.check_hardware(hardware, clients);
        if let Some(queue) = self.late_abort(hardware, now) {
            let line = || format!("{queue} does not let go of its requests; resetting the device");
            hardware.log(LineKind::Queue, line);
            self.reset(hardware, clients, None);
        }
    }

    /// A queue that was taken back and holds on to its requests for too long.
    fn late_abort<B: Bus>(&self, hardware: &Hardware<B>, now: Time) -> Option<QueueId> {
        let is_late = |since: Time| now >= since.after(ABORT_LIMIT);
        let mut queues = QueueId::ALL.into_iter();
        queues.find(|&queue| hardware.queues().is_aborting(queue) && is_late(self.aborted[queue]))
    }

    /// Ends the request that the device has been at for longer than it may be. Those behind it, and the first ones of other
    /// queues, have not begun.
    pub(crate) fn enforce_limit<B: Bus>(
        &mut self,
        hardware: &mut Hardware<B>,
        clients: &mut Clients,
        now: Time,
    ) {
        let Some(limit) = self.shares.limits().request_time else { return };
        if hardware.queues().count() == 0 {
            return;
        }
        let free_since = self.shares.free_since();
        let late = QueueId::ALL.into_iter().filter_map(|queue| {
            let (id, place) = hardware.queues().first(queue)?;
            let request = self.requests.get(id)?;
            let Stage::Running { since, .. } = request.stage else { return None };
            let ran = request.ran.saturating_add(now.since(since.max(free_since)));
            (ran >= limit && request.stopped.is_none()).then_some((id, place))
        });
        let late: Vec<_> = late.collect();
        // The device is asked only once one may be late.
        let engaged = if late.is_empty() { None } else { hardware.engaged() };
        if let Some((id, _)) = late.into_iter().find(|&(_, place)| Some(place) == engaged) {
            let line = || format!("request of {limit:?} and more is ended");
            hardware.log(LineKind::Queue, line);
            self.penalise(hardware, clients, id);
            self.stop_running(id, Errno::ETIME);
        }
    }

    /// Has the file of a request that hung wait with the next one, while others are there.
    pub(super) fn penalise<B: Bus>(&mut self, hardware: &mut Hardware<B>, clients: &Clients, id: RequestId) {
        let Some(request) = self.requests.get(id) else { return };
        let (Stage::Running { since, .. }, file) = (request.stage, request.file) else { return };
        let now = hardware.now();
        let penalty = self.shares.hung(file, since, now);
        let process = clients.file(file).map_or(0, |known| known.process());
        let line = || {
            format!("process {process} has to wait {penalty:.1?} while others are there: its request hung")
        };
        hardware.log(LineKind::Queue, line);
    }

    /// Ends requests whose deadline has passed. The next one's alarm may not have been kept, and is set again.
    pub(crate) fn expire<B: Bus>(&mut self, hardware: &mut Hardware<B>, clients: &mut Clients, now: Time) {
        let late = |(_, request): &(RequestId, &super::Request)| {
            request.deadline <= now && request.stopped.is_none()
        };
        let late: Vec<_> = self.requests.iter().filter(late).map(|(id, _)| id).collect();
        for id in late {
            self.stop(hardware, clients, id, Errno::ETIME);
        }
        let left = self.requests.iter().filter(|(_, request)| request.stopped.is_none());
        hardware.ring_at(left.map(|(_, request)| request.deadline).min().unwrap_or(Time::NEVER));
        self.watch_again(hardware);
    }
}
