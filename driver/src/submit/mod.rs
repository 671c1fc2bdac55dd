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
//! Requests of one file and priority start in the order of their submission. Between files of a priority the turn
//! goes round, and a file that had more of the engine than others waits for them. A request that may not start yet, because it waits for others or its context is parked, holds up its
//! own file's requests of that priority and nobody else's.
//!
//! * `admit`: from a client's words to a request.
//! * `schedule`: which request starts next; `share`: how much of the engine each file had; [`limits`]: how much is too much.
//! * `turns`: long requests give way between two tasks.
//! * `finish`: the end, and what it sets free.
//! * `abort`: the end before its time.
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

mod abort;
mod admit;
mod finish;
pub mod limits;
mod schedule;
mod share;
mod turns;

use std::time::Duration;

use ane_uapi::hw::bar::BarIndex;
use ane_uapi::hw::dart::iso::ContextId;
use ane_uapi::hw::nid::Nid;
use ane_uapi::hw::space::{Iova, IovaRange};
use ane_uapi::hw::tm::RequestInfo;
use ane_uapi::hw::tq::QueueId;
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::param::IN_FENCES_MAX;

use crate::bo::{BufferId, Use};
use crate::clock::Time;
use crate::front::FileId;
use crate::program::ProgramId;
use crate::tm::Place;

pub(crate) use admit::Submission;
pub(crate) use share::{Held, Shares};

/// A request that has been admitted and has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RequestId(pub u32);

/// Requests and chains that are in flight as one: so many of its requests have not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupId(u32);

/// Where the device finds a request's first descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum First {
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
pub(crate) struct Bound {
    /// The BAR.
    pub(crate) bar: BarIndex,
    /// Which of the request's uses.
    pub(crate) mapping: usize,
    /// Bytes behind its start.
    pub(crate) offset: u32,
}

/// How far a request has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It waits for its turn.
    Waiting,
    /// Some of its tasks have run, and it waits for its next turn. The device keeps it under this id.
    Aside {
        /// Its network id, which stays its own.
        nid: Nid,
    },
    /// It is with the device since then.
    Running {
        /// Where.
        place: Place,
        /// Since when.
        since: Time,
    },
}

/// One request. Its lists keep their room when it ends, for the next one in its place.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) file: FileId,
    pub(crate) fence: u64,
    pub(crate) context: ContextId,
    pub(crate) queue: QueueId,
    /// The network id that the client insists on.
    pub(crate) nid: Option<Nid>,
    pub(crate) program: Option<ProgramId>,
    pub(crate) first: First,
    pub(crate) info: RequestInfo,
    /// Base addresses that are known from the start: a program's.
    pub(crate) bars: [Iova; BarIndex::COUNT as usize],
    /// Base addresses that follow from where the mappings lie.
    pub(crate) bound: Vec<Bound>,
    /// The mappings that it uses.
    pub(crate) uses: Vec<Use>,
    /// Where they lie, while `is_mapped`.
    pub(crate) places: Vec<IovaRange>,
    /// The mappings are in use, and so stay where they are.
    pub(crate) is_mapped: bool,
    /// Fences of its file that have to complete first.
    pub(crate) waits: [u64; IN_FENCES_MAX as usize + 1],
    pub(crate) waits_count: usize,
    /// Buffers of pools that it uses, by handle: pool and buffer.
    pub(crate) pooled: Vec<(u32, u32)>,
    pub(crate) recycles: bool,
    pub(crate) deadline: Time,
    pub(crate) group: GroupId,
    pub(crate) stage: Stage,
    /// What it had of the engine in the turns that are over.
    pub(crate) ran: Duration,
    /// It is to end with this as soon as it can.
    pub(crate) doom: Option<Errno>,
    pub(crate) submitted: Time,
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
            waits: [0; IN_FENCES_MAX as usize + 1],
            waits_count: 0,
            pooled: Vec::new(),
            recycles: false,
            deadline: Time::NEVER,
            group: GroupId(0),
            stage: Stage::Waiting,
            ran: Duration::ZERO,
            doom: None,
            submitted: Time(0),
        }
    }
}

impl Request {
    /// The fences that have to complete first.
    pub(crate) fn waits(&self) -> &[u64] {
        self.waits.get(..self.waits_count).unwrap_or_default()
    }

    /// Adds a fence that has to complete first; there is room for all that a client may name, and for a chain's.
    pub(crate) fn wait_for(&mut self, fence: u64) {
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

/// All requests that have not ended, and their groups. Places are used again, with the room they have.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    places: Vec<(bool, Request)>,
    free: Vec<RequestId>,
    groups: Vec<u32>,
    free_groups: Vec<GroupId>,
}

impl Requests {
    /// A new request, empty; its group has one request more.
    pub(crate) fn create(&mut self, group: GroupId) -> RequestId {
        let id = self.free.pop().unwrap_or_else(|| {
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

    /// A group without requests.
    pub(crate) fn create_group(&mut self) -> GroupId {
        self.free_groups.pop().unwrap_or_else(|| {
            let id = GroupId(u32::try_from(self.groups.len()).unwrap_or(u32::MAX));
            self.groups.push(0);
            id
        })
    }

    /// A group that got no requests is not used.
    pub(crate) fn drop_group(&mut self, group: GroupId) {
        self.free_groups.push(group);
    }

    pub(crate) fn get(&self, id: RequestId) -> Option<&Request> {
        self.places.get(id.0 as usize).filter(|(is_there, _)| *is_there).map(|(_, request)| request)
    }

    pub(crate) fn get_mut(&mut self, id: RequestId) -> Option<&mut Request> {
        self.places.get_mut(id.0 as usize).filter(|(is_there, _)| *is_there).map(|(_, request)| request)
    }

    /// The request is no more; true if its group has no other left.
    pub(crate) fn remove(&mut self, id: RequestId) -> bool {
        let Some((is_there, request)) = self.places.get_mut(id.0 as usize).filter(|(is_there, _)| *is_there)
        else {
            return false;
        };
        *is_there = false;
        self.free.push(id);
        let group = request.group;
        let Some(left) = self.groups.get_mut(group.0 as usize) else { return false };
        *left = left.saturating_sub(1);
        if *left == 0 {
            self.free_groups.push(group);
        }
        *left == 0
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.places.len().saturating_sub(self.free.len())
    }

    /// Every request, with its name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (RequestId, &Request)> {
        let named = self.places.iter().enumerate();
        named
            .filter(|(_, (is_there, _))| *is_there)
            .map(|(index, (_, request))| (RequestId(u32::try_from(index).unwrap_or(u32::MAX)), request))
    }
}
