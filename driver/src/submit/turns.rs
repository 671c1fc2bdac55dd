//! Turns by task: a long request gives way to others between two of its tasks.
//!
//! A request may have 65535 tasks, and the engine runs one request at a time. So when a request has had the engine for a
//! [`TURN`] and a request of another context waits that is no less urgent, and whose user had no more than this one's, the
//! device is asked to put the running one aside after its present task. It goes back to the head of its file's line, and
//! goes on when it is its turn again by the same rules by which requests begin (`schedule`).
//!
//! A request of one task, a request that ends within a turn, and a request that no other one waits for never give way. On a
//! device that puts no requests aside (`FEATURE_GIVE_WAY`), none gives way. Each context has at most one request aside, and
//! its other requests wait for that one: they may be meant to run after it, and the device's memory for them is bounded.

use std::time::Duration;

use ane_uapi::hw::dart::iso::ContextId;
use ane_uapi::hw::nid::Nid;
use ane_uapi::hw::tq::QueueId;
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::request::PRIORITY_APPLICATION;
use ane_uapi::wire::config::FEATURE_GIVE_WAY;

use super::{Scheduler, Stage};
use crate::bus::Bus;
use crate::clients::Clients;
use crate::clock::Time;
use crate::front::FileId;
use crate::hardware::Hardware;
use crate::tm::{Place, RequestId};

/// How long a request has the engine before it gives way (Chosen: an exchange costs some 0.1 ms, so a fiftieth of it is lost,
/// and a client that waits notices no more of a neighbour than of a busy machine).
const TURN: Duration = Duration::from_millis(5);

/// A running request as one that may have to give way.
#[derive(Clone, Copy)]
struct RunningRequest {
    file: FileId,
    context: ContextId,
    queue: QueueId,
    /// Its time on the engine in this turn.
    ran: Duration,
}

impl Scheduler {
    /// Asks requests to give way whose turn is over, and notes when the next one's is.
    pub(crate) fn end_turns<B: Bus>(&mut self, hardware: &mut Hardware<B>, clients: &Clients, now: Time) {
        self.turn_ends = Time::NEVER;
        let can_give_way = hardware.bus().config().features.get() & FEATURE_GIVE_WAY != 0;
        if !can_give_way || !hardware.is_ready() || hardware.queues().count() == 0 {
            return;
        }
        for queue in QueueId::ALL {
            let Some((id, place)) = hardware.queues().first(queue) else { continue };
            let Some(request) = self.requests.get(id) else { continue };
            let Stage::Running { since, .. } = request.stage else { continue };
            if request.info.tasks() < 2
                || request.stopped.is_some()
                || !is_application(queue)
                || hardware.queues().is_leaving(queue)
            {
                continue;
            }
            let begun = since.max(self.shares.free_since());
            let over = begun.max(self.asked[queue]).after(TURN);
            if now < over {
                self.turn_ends = self.turn_ends.min(over);
                continue;
            }
            let ran = now.since(begun);
            let holder = RunningRequest { file: request.file, context: request.context, queue, ran };
            if self.has_rival(hardware, clients, holder, now) && !self.ask(hardware, place, now) {
                return;
            }
        }
    }

    /// Asks for one request. False if the device was lost over it.
    fn ask<B: Bus>(&mut self, hardware: &mut Hardware<B>, place: Place, now: Time) -> bool {
        // If the device says no, because another queue's request runs, it is asked again a turn later.
        self.asked[place.queue] = now;
        self.turn_ends = self.turn_ends.min(now.after(TURN));
        hardware.drive(|queues, bus| queues.ask_to_give_way(bus, place)).is_some()
    }

    /// True if a request waits to which the running one has to give way.
    fn has_rival<B: Bus>(
        &self,
        hardware: &Hardware<B>,
        clients: &Clients,
        holder: RunningRequest,
        now: Time,
    ) -> bool {
        let urgent = QueueId::ALL.into_iter().filter(|queue| queue.number() <= holder.queue.number());
        let mut waiting = urgent.flat_map(|queue| {
            self.waiting[queue].firsts().chain(hardware.queues().ids(queue)).map(move |id| (id, queue))
        });
        waiting.any(|(id, queue)| self.is_rival(hardware, clients, id, queue, holder, now))
    }

    fn is_rival<B: Bus>(
        &self,
        hardware: &Hardware<B>,
        clients: &Clients,
        id: RequestId,
        queue: QueueId,
        holder: RunningRequest,
        now: Time,
    ) -> bool {
        let Some(request) = self.requests.get(id) else { return false };
        let (file, context) = (request.file, request.context);
        file != holder.file
            && context != holder.context
            && self.obstacle(hardware, clients, id).is_none()
            && self.shares.held(file, now).is_none()
            && (!is_application(queue) || self.shares.goes_before(file, holder.file, holder.ran))
    }

    /// A request has given way, or was taken back before it went on again: it is the first of its line, and its file's turn is the
    /// last among those who had as much.
    pub(super) fn put_aside<B: Bus>(
        &mut self,
        hardware: &mut Hardware<B>,
        clients: &mut Clients,
        id: RequestId,
        nid: Nid,
        stopped: Option<Errno>,
    ) {
        let now = hardware.now();
        let Some(request) = self.requests.get_mut(id) else { return };
        let Stage::Running { since, .. } = request.stage else { return };
        let (file, queue) = (request.file, request.queue);
        let ran = self.shares.gave_way(file, since, now);
        request.ran = request.ran.saturating_add(ran);
        request.stage = Stage::Aside { nid };
        match stopped {
            Some(errno) => self.stop(hardware, clients, id, errno),
            None => {
                self.waiting[queue].push_front(file, id);
                self.waiting[queue].put_last(file);
            }
        }
    }

    /// Has the device drop a request that it keeps aside.
    pub(super) fn drop_aside<B: Bus>(&mut self, hardware: &mut Hardware<B>, id: RequestId) {
        let Some(request) = self.requests.get_mut(id) else { return };
        let Stage::Aside { nid } = request.stage else { return };
        request.stage = Stage::Waiting;
        hardware.drive(|queues, bus| queues.drop_aside(bus, nid));
    }
}

fn is_application(queue: QueueId) -> bool {
    u32::from(queue.number()) >= PRIORITY_APPLICATION
}
