//! The choice of the request that starts next.
//!
//! Each priority has a queue of the hardware, and a ring of files that have requests for it. The turn goes round the
//! ring, one request at a time: a file that submits a hundred requests waits as long between two of them as one that
//! submits two. That is not fair if requests are long. So a file that had less of the engine's time goes before one that
//! had more, and the latter also waits if the former is expected to submit soon (`share`). Between priorities the device
//! itself arbitrates; requests of the two priorities that applications do not have wait for no file.

use ane_uapi::hw::tq::QueueId;
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::request::PRIORITY_APPLICATION;

use super::{First, Scheduler, Stage};
use crate::bus::Bus;
use crate::clients::Clients;
use crate::fence::{Ending, State};
use crate::front::FileId;
use crate::hardware::Hardware;
use crate::tm::{Job, Place, RequestId, TaskManager};

/// The readiness of a request that is first in its file's line.
pub(super) enum Readiness {
    Ready,
    /// It has to wait, and so have those behind it.
    Later,
    /// It ends before it has started.
    Ended(Errno),
}

impl Scheduler {
    /// Gives the hardware as much as it takes.
    pub(crate) fn schedule<B: Bus>(&mut self, hardware: &mut Hardware<B>, clients: &mut Clients) {
        self.has_queued = false;
        if !hardware.is_ready() {
            return;
        }
        let now = hardware.now();
        self.shares.settle(now);
        for queue in QueueId::ALL {
            while let Some(place) = hardware.queues().vacancy(queue) {
                let Some(id) = self.next_turn(hardware, clients, queue) else { break };
                if !self.start(hardware, clients, id, place) {
                    self.end_failed(hardware, clients);
                    return;
                }
            }
        }
        hardware.drive(TaskManager::flush);
        self.end_failed(hardware, clients);
    }

    /// The request whose turn it is in a queue, taken out of its line.
    fn next_turn<B: Bus>(
        &mut self,
        hardware: &mut Hardware<B>,
        clients: &mut Clients,
        queue: QueueId,
    ) -> Option<RequestId> {
        let waiting = &mut self.waiting[queue];
        waiting.sort_by_rank(|file| self.shares.rank(file));
        let mut files = waiting.files();
        while files > 0 {
            let file = self.waiting[queue].next()?;
            let first = self.waiting[queue].first_of(file);
            let is_held = first.is_some() && self.is_held(hardware, file, queue);
            let readiness = match first {
                Some(id) if !is_held => self.readiness(hardware, clients, id),
                _ => Readiness::Later,
            };
            match (first, readiness) {
                (Some(id), Readiness::Ended(errno)) => {
                    self.finish(hardware, clients, id, Ending::unstarted(errno));
                }
                (Some(id), Readiness::Ready) => {
                    self.waiting[queue].take_next();
                    return Some(id);
                }
                _ => {
                    self.waiting[queue].pass();
                    files = files.saturating_sub(1);
                }
            }
        }
        None
    }

    /// True if a file may not begin yet, because a file that had less is expected soon.
    fn is_held<B: Bus>(&mut self, hardware: &mut Hardware<B>, file: FileId, queue: QueueId) -> bool {
        let now = hardware.now();
        if u32::from(queue.number()) < PRIORITY_APPLICATION {
            return false;
        }
        let Some(until) = self.shares.wait(file, now) else { return false };
        if hardware.queues().count() == 0 {
            self.shares.keep_engine(file, now);
        }
        hardware.ring_at(until);
        true
    }

    fn readiness<B: Bus>(
        &mut self,
        hardware: &mut Hardware<B>,
        clients: &Clients,
        id: RequestId,
    ) -> Readiness {
        if let Some(obstacle) = self.obstacle(hardware, clients, id) {
            return obstacle;
        }
        match self.map_request(hardware, id) {
            Ok(()) if self.requests.get(id).is_some_and(|request| request.is_mapped) => Readiness::Ready,
            Ok(()) => Readiness::Later,
            Err(errno) => Readiness::Ended(errno),
        }
    }

    /// Why a request may not begin, or go on, apart from its mappings.
    pub(super) fn obstacle<B: Bus>(
        &self,
        hardware: &Hardware<B>,
        clients: &Clients,
        id: RequestId,
    ) -> Option<Readiness> {
        let Some(request) = self.requests.get(id) else { return Some(Readiness::Later) };
        if let Some(errno) = request.stopped {
            return Some(Readiness::Ended(errno));
        }
        if clients.is_parked(request.context) {
            return Some(Readiness::Later);
        }
        let aside = match request.stage {
            Stage::Aside { nid } => Some(nid),
            Stage::Waiting | Stage::Running { .. } => None,
        };
        if hardware.queues().aside_of(request.context.stream()) != aside {
            return Some(Readiness::Later);
        }
        if request.stage != Stage::Waiting {
            return None;
        }
        let Ok(file) = clients.file(request.file) else { return Some(Readiness::Later) };
        for &fence in request.waits() {
            match file.fences().state(fence) {
                Some(State::Queued | State::Running) => return Some(Readiness::Later),
                Some(State::Complete(Ending { result: Err(_), .. })) => {
                    return Some(Readiness::Ended(Errno::ECANCELED));
                }
                _ => {}
            }
        }
        hardware.queues().nid(request.nid).is_none().then_some(Readiness::Later)
    }

    /// Gives a request to the hardware. False if the device was lost over it.
    fn start<B: Bus>(
        &mut self,
        hardware: &mut Hardware<B>,
        clients: &mut Clients,
        id: RequestId,
        place: Place,
    ) -> bool {
        if !hardware.wake() {
            return false;
        }
        if let Err(errno) = self.stage(hardware, id, place) {
            self.finish(hardware, clients, id, Ending::unstarted(errno));
            return hardware.is_ready();
        }
        hardware.note_work();
        let now = hardware.now();
        if let Some(request) = self.requests.get_mut(id) {
            let is_back = matches!(request.stage, Stage::Aside { .. });
            request.stage = Stage::Running { place, since: now };
            self.shares.started(request.file);
            if !is_back {
                let waited = u64::try_from(now.since(request.submitted).as_nanos()).unwrap_or(u64::MAX);
                clients.started(request.file, request.fence, waited);
            }
        }
        hardware.is_ready()
    }

    /// Writes a request into a set of the hardware.
    fn stage<B: Bus>(
        &mut self,
        hardware: &mut Hardware<B>,
        id: RequestId,
        place: Place,
    ) -> Result<(), Errno> {
        let request = self.requests.get_mut(id).ok_or(Errno::EINVAL)?;
        request.resolve();
        let stage = request.stage;
        let (context, first, info, wanted) = (request.context, request.first, request.info, request.nid);
        // Mappings that ended since the request was admitted have to be out of its reach. The tables no longer have them, but
        // the translation buffer still would.
        let (bus, space) = hardware.reach(context).ok_or(Errno::ENODEV)?;
        let flushed = space.flush(bus);
        hardware.note(flushed).ok_or(Errno::ENODEV)?;
        if let Stage::Aside { nid } = stage {
            let pushed = hardware.drive(|queues, bus| queues.push_back(bus, place, nid, id));
            return pushed.ok_or(Errno::ENODEV);
        }
        let nid = hardware.queues().nid(wanted).ok_or(Errno::EBUSY)?;
        let at = match first {
            First::Copied { buffer, offset } => {
                hardware.copy_first(context, place, (buffer, offset), info.first_bytes(), nid)?
            }
            First::Clients => {
                let last = self.requests.get(id).and_then(|request| request.places.last());
                last.ok_or(Errno::EINVAL)?.base()
            }
        };
        let request = self.requests.get(id).ok_or(Errno::EINVAL)?;
        let job = Job { id, stream: context.stream(), bars: &request.bars, first: at, info };
        hardware.drive(|queues, bus| queues.push(bus, place, nid, &job)).ok_or(Errno::ENODEV)
    }
}
