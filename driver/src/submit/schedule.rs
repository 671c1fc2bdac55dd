//! Which request starts next.
//!
//! Each priority has a queue of the hardware, and a ring of files that have requests for it. The turn goes round the
//! ring, one request at a time: a file that submits a hundred requests waits as long between two of them as one that
//! submits two. Where requests are long that is not fair, so those who had less of the engine's time stand before those
//! who had more, and these wait where the others are about to come (`share`). Between priorities the device itself
//! arbitrates; the two that applications do not have wait for nobody.

use ane_uapi::hw::dart::iso::ContextId;
use ane_uapi::hw::tq::QueueId;
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::request::PRIORITY_APPLICATION;
use ane_uapi::ioctl::stats::Counter;

use super::{First, RequestId, Stage};
use crate::bus::Bus;
use crate::device::Driver;
use crate::fence::{Ending, State};
use crate::front::FileId;
use crate::tm::{Job, Place};

/// What may be done with a request that is first in its file's line.
pub(super) enum Readiness {
    /// It goes to the device.
    Ready,
    /// It has to wait, and those behind it.
    Later,
    /// It ends before it has started.
    Doomed(Errno),
}

impl<B: Bus> Driver<B> {
    /// Gives the hardware as much as it takes.
    pub(crate) fn schedule(&mut self) {
        self.has_queued = false;
        if !self.is_ready() {
            return;
        }
        let now = self.clock.now();
        self.shares.settle(now);
        for queue in QueueId::ALL {
            while let Some(place) = self.hardware.vacancy(queue) {
                let Some(id) = self.next_turn(queue) else { break };
                if !self.start(id, place) {
                    return;
                }
            }
        }
        let sent = self.hardware.flush(&mut self.bus);
        self.expect(sent);
    }

    /// The request whose turn it is in a queue, taken out of its line.
    fn next_turn(&mut self, queue: QueueId) -> Option<RequestId> {
        let ring = self.turns.get_mut(queue.index())?;
        let mut files = ring.len();
        if files > 1 {
            // The sort is stable: files that had about as much keep the order of their turns.
            ring.make_contiguous().sort_by_key(|&file| self.shares.rank(file));
        }
        while files > 0 {
            let file = *self.turns.get(queue.index())?.front()?;
            let first =
                self.files.get(&file).and_then(|known| known.waiting.get(queue.index())?.front().copied());
            let is_held = first.is_some() && self.is_held(file, queue);
            match first.map(|id| (id, if is_held { Readiness::Later } else { self.readiness(id) })) {
                Some((id, Readiness::Doomed(errno))) => self.finish(id, Ending::unstarted(errno)),
                Some((id, Readiness::Ready)) => {
                    let known = self.files.get_mut(&file)?;
                    let waiting = known.waiting.get_mut(queue.index())?;
                    waiting.pop_front();
                    // To the end of the ring, or out of it: each file stands there once, or the turn would not be fair.
                    let turns = self.turns.get_mut(queue.index())?;
                    if waiting.is_empty() {
                        turns.pop_front();
                    } else {
                        turns.rotate_left(1);
                    }
                    return Some(id);
                }
                Some((_, Readiness::Later)) => {
                    self.turns.get_mut(queue.index())?.rotate_left(1);
                    files = files.saturating_sub(1);
                }
                None => {
                    self.turns.get_mut(queue.index())?.pop_front();
                    files = files.saturating_sub(1);
                }
            }
        }
        None
    }

    /// True if a file may not begin yet, because a file that had less is expected soon.
    fn is_held(&mut self, file: FileId, queue: QueueId) -> bool {
        let now = self.clock.now();
        if u32::from(queue.number()) < PRIORITY_APPLICATION {
            return false;
        }
        let Some(until) = self.shares.wait(file, now) else { return false };
        if self.hardware.count() == 0 {
            self.shares.keep_engine(file, now);
        }
        self.ring_at(until);
        true
    }

    fn readiness(&mut self, id: RequestId) -> Readiness {
        if let Some(obstacle) = self.obstacle(id) {
            return obstacle;
        }
        match self.map_request(id) {
            Ok(()) if self.requests.get(id).is_some_and(|request| request.is_mapped) => Readiness::Ready,
            Ok(()) => Readiness::Later,
            Err(errno) => Readiness::Doomed(errno),
        }
    }

    /// Why a request may not begin, or go on, apart from its mappings.
    pub(super) fn obstacle(&self, id: RequestId) -> Option<Readiness> {
        let Some(request) = self.requests.get(id) else { return Some(Readiness::Later) };
        if let Some(errno) = request.doom {
            return Some(Readiness::Doomed(errno));
        }
        if self.faults.is_parked(request.context) {
            return Some(Readiness::Later);
        }
        let aside = match request.stage {
            Stage::Aside { nid } => Some(nid),
            Stage::Waiting | Stage::Running { .. } => None,
        };
        if self.hardware.aside_of(request.context.stream()) != aside {
            return Some(Readiness::Later);
        }
        if request.stage != Stage::Waiting {
            return None;
        }
        let Some(file) = self.files.get(&request.file) else { return Some(Readiness::Later) };
        for &fence in request.waits() {
            match file.fences.state(fence) {
                Some(State::Queued | State::Running) => return Some(Readiness::Later),
                Some(State::Complete(Ending { result: Err(_), .. })) => {
                    return Some(Readiness::Doomed(Errno::ECANCELED));
                }
                _ => {}
            }
        }
        self.hardware.nid(request.nid).is_none().then_some(Readiness::Later)
    }

    /// Gives a request to the hardware. False if the device was lost over it.
    fn start(&mut self, id: RequestId, place: Place) -> bool {
        if !self.wake() {
            return false;
        }
        if let Err(errno) = self.stage(id, place) {
            self.finish(id, Ending::unstarted(errno));
            return self.is_ready();
        }
        let now = self.clock.now();
        self.last_work = now;
        if let Some(request) = self.requests.get_mut(id) {
            let is_back = matches!(request.stage, Stage::Aside { .. });
            request.stage = Stage::Running { place, since: now };
            if is_back {
                self.shares.started(request.file);
                return self.is_ready();
            }
            let waited = u64::try_from(now.since(request.submitted).as_nanos()).unwrap_or(u64::MAX);
            self.counters.add(Counter::QueuedNs, waited);
            self.shares.started(request.file);
            if let Some(file) = self.files.get_mut(&request.file) {
                file.fences.set_running(request.fence, true);
                file.counters.add(Counter::QueuedNs, waited);
            }
        }
        self.is_ready()
    }

    /// Writes a request into a set of the hardware.
    fn stage(&mut self, id: RequestId, place: Place) -> Result<(), Errno> {
        let request = self.requests.get_mut(id).ok_or(Errno::EINVAL)?;
        request.resolve();
        let stage = request.stage;
        let (context, first, info, wanted) = (request.context, request.first, request.info, request.nid);
        // What was unmapped since it was admitted is out of its reach: the tables have it no more, the buffer would.
        let space = self.contexts.space_mut(context).ok_or(Errno::ENODEV)?;
        let flushed = space.flush(&mut self.bus);
        self.expect(flushed).ok_or(Errno::ENODEV)?;
        if let Stage::Aside { nid } = stage {
            let pushed = self.hardware.push_back(&mut self.bus, place, nid, id);
            return self.expect(pushed).ok_or(Errno::ENODEV);
        }
        let nid = self.hardware.nid(wanted).ok_or(Errno::EBUSY)?;
        let at = match first {
            First::Copied { buffer, offset } => {
                self.copy_first(context, place, (buffer, offset), info.first_bytes(), nid)?
            }
            First::Clients => {
                let last = self.requests.get(id).and_then(|request| request.places.last());
                last.ok_or(Errno::EINVAL)?.base()
            }
        };
        let request = self.requests.get(id).ok_or(Errno::EINVAL)?;
        let job = Job { id, stream: context.stream(), bars: &request.bars, first: at, info };
        let pushed = self.hardware.push(&mut self.bus, place, nid, &job);
        self.expect(pushed).ok_or(Errno::ENODEV)
    }

    /// Requests of a context that are with the device.
    pub(crate) fn is_at_work(&self, context: ContextId) -> bool {
        self.hardware.has_stream(context.stream())
    }
}
