//! The end before its time: cancelled, closed, too late, or taken along by a reset.
//!
//! What waits ends at once. What is with the device can only be taken back with its whole queue, and if another
//! request is ahead of it there, that one would be lost for nothing: so it is doomed, and its queue is taken back as
//! soon as it is first, if it is first on the device as well when the device is told. What was behind it and had not started goes to the device again.

use std::time::Duration;

use ane_uapi::hw::tq::QueueId;
use ane_uapi::ioctl::errno::Errno;

use super::{RequestId, Stage};
use crate::bus::Bus;
use crate::clock::Time;
use crate::device::Driver;
use crate::fence::Ending;
use crate::front::FileId;
use crate::journal::Kind;

/// How long a queue that was taken back may hold on to its requests before the device is reset (Chosen: the device
/// answers at once, and a lost interrupt is found well before).
pub(crate) const ABORT_LIMIT: Duration = Duration::from_millis(250);

impl<B: Bus> Driver<B> {
    /// Ends a request with `errno`, now or as soon as the device lets go of it.
    pub(crate) fn doom(&mut self, id: RequestId, errno: Errno) {
        let Some(request) = self.requests.get_mut(id) else { return };
        match request.stage {
            Stage::Waiting | Stage::Aside { .. } => self.finish(id, Ending::unstarted(errno)),
            Stage::Running { .. } => {
                request.doom.get_or_insert(errno);
                self.has_doomed = true;
            }
        }
    }

    /// Dooms every request of a file.
    pub(crate) fn doom_file(&mut self, file: FileId, errno: Errno) {
        for id in self.requests_of(file) {
            self.doom(id, errno);
        }
    }

    /// The requests of a file that have not ended.
    pub(crate) fn requests_of(&self, file: FileId) -> Vec<RequestId> {
        self.requests.iter().filter(|(_, request)| request.file == file).map(|(id, _)| id).collect()
    }

    /// Takes back the queues whose first request is doomed.
    pub(crate) fn pursue(&mut self) {
        if !self.has_doomed || !self.is_ready() {
            return;
        }
        let doomed = |(_, request): (RequestId, &super::Request)| match (request.doom, request.stage) {
            (Some(_), Stage::Running { place, .. }) => Some(place),
            _ => None,
        };
        let places: Vec<_> = self.requests.iter().filter_map(doomed).collect();
        self.has_doomed = !places.is_empty();
        let now = self.clock.now();
        for place in places {
            if !self.hardware.is_aborting(place.queue) && self.hardware.is_first(place) {
                let taken = self.hardware.abort(&mut self.bus, place);
                match self.expect(taken) {
                    Some(true) => {}
                    // It has ended meanwhile, and its event says how.
                    Some(false) => continue,
                    None => return,
                }
                if let Some(since) = self.aborted.get_mut(place.queue.index()) {
                    *since = now;
                }
                self.ring_at(now.after(ABORT_LIMIT));
            }
        }
    }

    /// Resets the device if it does not let go of a queue that was taken back.
    pub(crate) fn watch_aborts(&mut self, now: Time) {
        let is_late = |driver: &Self, queue: QueueId| {
            let since = driver.aborted.get(queue.index()).copied().unwrap_or(Time::NEVER);
            driver.hardware.is_aborting(queue) && now >= since.after(ABORT_LIMIT)
        };
        if !QueueId::ALL.into_iter().any(|queue| is_late(self, queue)) {
            return;
        }
        self.check_hardware();
        if let Some(queue) = QueueId::ALL.into_iter().find(|&queue| is_late(self, queue)) {
            let line = || format!("{queue} does not let go of its requests; resetting the device");
            self.journal.log(Kind::Queue, now, line);
            self.reset_for(None);
        }
    }

    /// Ends the requests that the device has been at for longer than it may be. Those behind them have not begun.
    pub(crate) fn enforce_limit(&mut self, now: Time) {
        let Some(limit) = self.shares.limits().request_time else { return };
        if self.hardware.count() == 0 {
            return;
        }
        let free_since = self.shares.free_since();
        let late = QueueId::ALL.into_iter().filter_map(|queue| {
            let (id, _) = self.hardware.first(queue)?;
            let request = self.requests.get(id)?;
            let Stage::Running { since, .. } = request.stage else { return None };
            let ran = request.ran.saturating_add(now.since(since.max(free_since)));
            (ran >= limit && request.doom.is_none()).then_some(id)
        });
        for id in late.collect::<Vec<_>>() {
            let line = || format!("request of {limit:?} and more is ended");
            self.journal.log(Kind::Queue, now, line);
            self.park(id);
            self.doom(id, Errno::ETIME);
        }
    }

    /// Has the file of a request that hung wait with the next one, while others are there.
    pub(crate) fn park(&mut self, id: RequestId) {
        let Some(request) = self.requests.get(id) else { return };
        let (Stage::Running { since, .. }, file) = (request.stage, request.file) else { return };
        let now = self.clock.now();
        let parked = self.shares.hung(file, since, now);
        let process = self.files.get(&file).map_or(0, |known| known.who.process);
        let line = || {
            format!("process {process} is parked for {parked:.1?} while others are there: its request hung")
        };
        self.journal.log(Kind::Queue, now, line);
    }

    /// Ends requests whose deadline has passed.
    pub(crate) fn expire(&mut self, now: Time) {
        let late =
            |(_, request): &(RequestId, &super::Request)| request.deadline <= now && request.doom.is_none();
        let late: Vec<_> = self.requests.iter().filter(late).map(|(id, _)| id).collect();
        for id in late {
            self.doom(id, Errno::ETIME);
        }
    }
}
