//! Requests on their way from a client to the device and back.
//!
//! A request is *admitted* once every word of it has been checked, waits for its *turn*, is *with the device*, and
//! *ends*; it ends exactly once, whatever happens to client, device or connection in between.
//!
//! ```text
//!            admit           schedule                  event, deadline, fault, reset
//!  ioctl  ----------> waiting ----------> with the device ----------> ended: fence, pools, credit
//!                        ^                      |
//!                        +--- not started, and the queue was taken back for another's sake
//!                        +--- aside, because its turn was over
//! ```
//!
//! The [`Scheduler`] is above the hardware and the clients: it is handed both when it acts, and neither knows it.
//!
//! Requests of one file and priority start in the order of their submission. Between files of a priority the turn
//! goes round, and a file that had more of the engine than others waits for them. A request may not start yet if it waits for
//! others or its context is parked. It then holds up only the requests of its own file and priority.
//!
//! * `admit`: from a client's words to a request; `legacy`: from those of an existing client.
//! * `schedule`: which request starts next; `share`: how much of the engine each file had; [`limits`]: how much is too much.
//! * `waiting`: the lines of those that wait, and whose turn it is.
//! * `turns`: long requests give way between two tasks.
//! * `finish`: the end, and what it sets free.
//! * `abort`: the end before its time; `reset`: what becomes of requests when the device starts anew or fails.

mod abort;
mod admit;
mod finish;
mod legacy;
pub mod limits;
mod reset;
mod schedule;
mod share;
mod turns;
mod waiting;

use std::collections::BTreeSet;
use std::time::Duration;

use ane_uapi::hw::bar::BarIndex;
use ane_uapi::hw::dart::iso::ContextId;
use ane_uapi::hw::nid::Nid;
use ane_uapi::hw::space::{Iova, IovaRange};
use ane_uapi::hw::tm::RequestInfo;
use ane_uapi::hw::tq::QueueId;
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::param::{IN_FENCES_MAX, IN_FLIGHT_MAX};

use crate::bo::{BufferId, Use};
use crate::clock::Time;
use crate::front::FileId;
use crate::per_number::PerQueue;
use crate::program::ProgramId;
use crate::tm::{Place, RequestId};

pub(crate) use admit::{Submission, may_insist};
pub(crate) use share::Held;

use limits::Limits;
use share::{Shares, Work};
use waiting::Waiting;

/// Requests and chains that are in flight as one: so many of its requests have not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct GroupId(u32);

/// Where the device finds a request's first descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum First {
    /// In a copy that the driver makes, with the network id in it, of these bytes of a buffer.
    Copied {
        /// The buffer with the task stream.
        buffer: BufferId,
        /// First byte of the descriptor.
        offset: u64,
    },
    /// Where the client has put it: at the start of the last buffer that the request uses.
    Clients,
}

/// One base address: so many bytes behind where a mapping lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bound {
    bar: BarIndex,
    /// Index among the request's uses.
    mapping: usize,
    /// Bytes behind its start.
    offset: u32,
}

/// How far a request has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It waits for its turn.
    Waiting,
    /// Some of its tasks have run, and it waits for its next turn. The device keeps it under its network id.
    Aside { nid: Nid },
    /// It is with the device since then.
    Running { place: Place, since: Time },
}

/// One request. Its lists keep their room when it ends, for the next one in its place.
#[derive(Debug)]
struct Request {
    file: FileId,
    fence: u64,
    context: ContextId,
    queue: QueueId,
    /// The network id that the client insists on.
    nid: Option<Nid>,
    program: Option<ProgramId>,
    first: First,
    info: RequestInfo,
    /// Base addresses that are known from the start: a program's.
    bars: [Iova; BarIndex::COUNT as usize],
    /// Base addresses that follow from where the mappings lie.
    bound: Vec<Bound>,
    uses: Vec<Use>,
    /// Where they lie, while `is_mapped`.
    places: Vec<IovaRange>,
    /// The mappings are in use, and so stay where they are.
    is_mapped: bool,
    /// Its context had no room for its mappings when [`Space::chances`](crate::bo::Space::chances) was this.
    no_room: Option<u64>,
    /// Fences of its file that have to complete first.
    waits: [u64; IN_FENCES_MAX as usize + 1],
    waits_count: usize,
    /// Buffers of pools that it uses, by handle: pool and buffer.
    pooled: Vec<(u32, u32)>,
    recycles: bool,
    deadline: Time,
    group: GroupId,
    stage: Stage,
    /// Its time on the engine in the turns that are over.
    ran: Duration,
    /// It is to end with this as soon as it can.
    stopped: Option<Errno>,
    submitted: Time,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            file: FileId(0),
            fence: 0,
            context: ContextId::BASE,
            queue: QueueId::LINUX,
            nid: None,
            program: None,
            first: First::Clients,
            info: RequestInfo::new(),
            bars: [Iova(0); BarIndex::COUNT as usize],
            bound: Vec::new(),
            uses: Vec::new(),
            places: Vec::new(),
            is_mapped: false,
            no_room: None,
            waits: [0; IN_FENCES_MAX as usize + 1],
            waits_count: 0,
            pooled: Vec::new(),
            recycles: false,
            deadline: Time::NEVER,
            group: GroupId(0),
            stage: Stage::Waiting,
            ran: Duration::ZERO,
            stopped: None,
            submitted: Time(0),
        }
    }
}

impl Request {
    /// The fences that have to complete first.
    fn waits(&self) -> &[u64] {
        self.waits.get(..self.waits_count).unwrap_or_default()
    }

    /// Adds a fence that has to complete first; there is room for all that a client may name, and for a chain's.
    fn wait_for(&mut self, fence: u64) {
        if let Some(place) = self.waits.get_mut(self.waits_count) {
            *place = fence;
            self.waits_count = self.waits_count.saturating_add(1);
        }
    }

    /// Makes it a new request, which waits.
    fn clear(&mut self) {
        let old = std::mem::take(self);
        *self = Self {
            bound: old.bound,
            uses: old.uses,
            places: old.places,
            pooled: old.pooled,
            ..Self::default()
        };
        self.bound.clear();
        self.uses.clear();
        self.places.clear();
        self.pooled.clear();
    }
}

/// The requests of all clients, from admission to end.
#[derive(Debug)]
pub(crate) struct Scheduler {
    requests: Requests,
    /// The engine's time of each file.
    shares: Shares,
    waiting: PerQueue<Waiting>,
    /// When the turn of a request is over that others may wait for.
    turn_ends: Time,
    /// When a request of each queue was last asked to give way.
    asked: PerQueue<Time>,
    /// When each queue was taken back.
    aborted: PerQueue<Time>,
    /// A request that is with the device is to end.
    has_stopped: bool,
    /// Requests were submitted that the scheduler has not tried to start yet, or may start now that they waited.
    has_queued: bool,
}

impl Default for Scheduler {
    fn default() -> Self {
        Self {
            requests: Requests::default(),
            shares: Shares::default(),
            waiting: PerQueue::default(),
            turn_ends: Time::NEVER,
            asked: PerQueue::default(),
            aborted: PerQueue::default(),
            has_stopped: false,
            has_queued: false,
        }
    }
}

impl Scheduler {
    /// The limits of a request and of a user.
    pub(crate) const fn limit(&mut self, limits: Limits) {
        self.shares.set_limits(limits);
    }

    pub(crate) fn opened(&mut self, file: FileId, user: u32) {
        self.shares.opened(file, user);
    }

    pub(crate) fn work(&self, now: Time) -> Work {
        let since = |request: &Request| match request.stage {
            Stage::Running { since, .. } => Some(since),
            Stage::Waiting | Stage::Aside { .. } => None,
        };
        self.shares.work(self.requests.iter().filter_map(|(_, request)| since(request)).min(), now)
    }

    /// Until when a file is held back although the engine could take its request, and why.
    pub(crate) fn held(&self, file: FileId, now: Time) -> Option<(Time, Held)> {
        self.shares.held(file, now)
    }

    /// True if a request was submitted that the scheduler has not tried to start yet, or one may start now that waited.
    pub(crate) const fn has_queued(&self) -> bool {
        self.has_queued
    }

    /// A file is gone that others may have waited for.
    pub(crate) const fn note_room(&mut self) {
        self.has_queued = true;
    }

    /// When the turn of a request is over that others may wait for.
    pub(crate) const fn turn_ends(&self) -> Time {
        self.turn_ends
    }

    pub(crate) fn request_of(&self, file: FileId, fence: u64) -> Option<RequestId> {
        let is_it = |(_, request): &(RequestId, &Request)| request.file == file && request.fence == fence;
        self.requests.iter().find(is_it).map(|(id, _)| id)
    }

    /// True if a request of a context that has not ended names a mapping.
    pub(crate) fn is_in_flight(&self, context: ContextId, named: Use) -> bool {
        self.requests.iter().any(|(_, request)| request.context == context && request.uses.contains(&named))
    }
}

/// Places that stay when no request is in them (Chosen: as many as one file may have in flight, alone or in chains of two).
const PLACES_KEPT: usize = 2 * IN_FLIGHT_MAX as usize;

/// All requests that have not ended, and their groups. Places are used again, with the room they have. Those behind the last
/// request go, so a client that had very many does not make it longer for all others to look through them.
#[derive(Debug, Default)]
struct Requests {
    places: Vec<(bool, Request)>,
    free: BTreeSet<RequestId>,
    groups: Vec<u32>,
    free_groups: Vec<GroupId>,
}

impl Requests {
    /// A new request, empty, in a group of its own or in one that has requests.
    fn create(&mut self, group: Option<GroupId>) -> RequestId {
        let group = group.unwrap_or_else(|| self.create_group());
        let id = self.free.pop_first().unwrap_or_else(|| {
            // No client has more than 127 chains of 128 requests, and there are not 2^18 clients.
            let id = RequestId(u32::try_from(self.places.len()).unwrap_or(u32::MAX));
            self.places.push((false, Request::default()));
            id
        });
        if let Some((is_there, request)) = self.places.get_mut(id.0 as usize) {
            *is_there = true;
            request.clear();
            request.group = group;
        }
        if let Some(left) = self.groups.get_mut(group.0 as usize) {
            *left = left.saturating_add(1);
        }
        id
    }

    /// A group without requests, which goes with the last that it gets.
    fn create_group(&mut self) -> GroupId {
        self.free_groups.pop().unwrap_or_else(|| {
            let id = GroupId(u32::try_from(self.groups.len()).unwrap_or(u32::MAX));
            self.groups.push(0);
            id
        })
    }

    fn get(&self, id: RequestId) -> Option<&Request> {
        self.places.get(id.0 as usize).filter(|(is_there, _)| *is_there).map(|(_, request)| request)
    }

    fn get_mut(&mut self, id: RequestId) -> Option<&mut Request> {
        self.places.get_mut(id.0 as usize).filter(|(is_there, _)| *is_there).map(|(_, request)| request)
    }

    /// The request is no more; true if its group has no other left.
    fn remove(&mut self, id: RequestId) -> bool {
        let Some((is_there, request)) = self.places.get_mut(id.0 as usize).filter(|(is_there, _)| *is_there)
        else {
            return false;
        };
        *is_there = false;
        self.free.insert(id);
        let group = request.group;
        self.shrink();
        let Some(left) = self.groups.get_mut(group.0 as usize) else { return false };
        *left = left.saturating_sub(1);
        if *left == 0 {
            self.free_groups.push(group);
        }
        *left == 0
    }

    /// Drops the places behind the last request.
    fn shrink(&mut self) {
        while self.places.len() > PLACES_KEPT && self.places.last().is_some_and(|(is_there, _)| !is_there) {
            self.places.pop();
            self.free.pop_last();
        }
    }

    fn count(&self) -> usize {
        self.places.len().saturating_sub(self.free.len())
    }

    fn iter(&self) -> impl Iterator<Item = (RequestId, &Request)> {
        let named = self.places.iter().enumerate();
        named
            .filter(|(_, (is_there, _))| *is_there)
            .map(|(index, (_, request))| (RequestId(u32::try_from(index).unwrap_or(u32::MAX)), request))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_behind_the_last_request_go_and_no_place_is_given_out_twice() {
        let mut requests = Requests::default();
        let ids: Vec<_> = (0..4 * PLACES_KEPT).map(|_| requests.create(None)).collect();
        let (first, last) = ids.split_at(3 * PLACES_KEPT);
        let (kept, middle) = first.split_at(1);
        middle.iter().for_each(|&id| assert!(requests.remove(id)));
        assert_eq!(requests.places.len(), 4 * PLACES_KEPT, "one behind them is there still");
        last.iter().for_each(|&id| assert!(requests.remove(id)));
        assert_eq!((requests.places.len(), requests.count()), (PLACES_KEPT, 1));
        let mut again: Vec<_> = (0..2 * PLACES_KEPT).map(|_| requests.create(None)).collect();
        again.extend_from_slice(kept);
        again.sort_unstable();
        again.dedup();
        assert_eq!((again.len(), requests.count()), (2 * PLACES_KEPT + 1, 2 * PLACES_KEPT + 1));
    }

    #[test]
    fn group_of_a_request_that_was_discarded_is_given_out_to_one_other() {
        let mut requests = Requests::default();
        let refused = requests.create(None);
        assert!(requests.remove(refused));
        let ids = [requests.create(None), requests.create(None)];
        let [first, second] = ids.map(|id| requests.get(id).unwrap().group);
        assert_ne!(first, second);
        let of_first = requests.create(Some(first));
        assert_eq!([ids[0], of_first, ids[1]].map(|id| requests.remove(id)), [false, true, true]);
    }
}
