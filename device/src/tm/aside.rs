//! Requests that gave way: between two tasks the engine goes to another request, and comes back later.
//!
//! No source says that silicon does this: there a request runs to its end, or is aborted. A driver whose clients do not
//! trust each other cannot let one of them have the engine for seconds, so it may ask the running request to give way
//! after its present task ([`GIVE_WAY`]). The request is *put aside* with all the state that it needs to go on, its
//! sets are free, and another push with its network id resumes it ([`RequestStream::goes_on`]). [`ane`](crate::ane)
//! keeps its part of the engine, such as registers and on-chip memory.
//!
//! Each stream has one place, so what is kept is bounded. A request whose stream has none left does not give way.
//!
//! [`GIVE_WAY`]: ane_uapi::hw::tq::GIVE_WAY
//! [`RequestStream::goes_on`]: ane_uapi::hw::tq::RequestStream::goes_on

use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::nid::Nid;
use ane_uapi::hw::tq::QueueId;

use super::queue::Request;
use super::running::Running;

/// One request that gave way.
#[derive(Clone, Debug)]
struct AsideRequest {
    running: Running,
    /// It was pushed again, and waits in a set.
    is_pushed: bool,
}

/// The requests that gave way, of each stream one at most.
#[derive(Clone, Debug, Default)]
pub(super) struct Aside(Vec<AsideRequest>);

impl Aside {
    /// True if a request of the stream was put aside and has not gone on.
    pub(super) fn has(&self, stream: StreamId) -> bool {
        self.0.iter().any(|kept| kept.running.request.stream == stream)
    }

    fn find(&mut self, queue: QueueId, stream: StreamId, nid: Nid) -> Option<&mut AsideRequest> {
        self.0.iter_mut().find(|AsideRequest { running: Running { request, .. }, .. }| {
            (request.queue, request.stream, request.nid) == (queue, stream, nid)
        })
    }

    /// Puts a request aside. Its stream has no other one there.
    pub(super) fn put(&mut self, running: Running) {
        self.0.push(AsideRequest { running, is_pushed: false });
    }

    /// The request that a push resumes, as it was pushed first; it waits in a set from now on.
    pub(super) fn push(&mut self, queue: QueueId, stream: StreamId, nid: Nid) -> Option<Request> {
        let kept = self.find(queue, stream, nid).filter(|kept| !kept.is_pushed)?;
        kept.is_pushed = true;
        Some(kept.running.request.clone())
    }

    /// Notes that a pushed request was taken out of its set before it went on; false if it is not
    /// one of these.
    pub(super) fn withdraw(&mut self, request: &Request) -> bool {
        let kept = self.find(request.queue, request.stream, request.nid).filter(|kept| kept.is_pushed);
        kept.is_some_and(|kept| std::mem::take(&mut kept.is_pushed))
    }

    /// Such a request goes on: how far it was. `None` of a request that is new.
    pub(super) fn go_on(&mut self, request: &Request) -> Option<Running> {
        let is_it = |kept: &AsideRequest| {
            let own = &kept.running.request;
            kept.is_pushed && (own.queue, own.stream, own.nid) == (request.queue, request.stream, request.nid)
        };
        let at = self.0.iter().position(is_it)?;
        Some(self.0.swap_remove(at).running)
    }

    /// Drops the request of this name, unless it waits in a set; its stream if there was one.
    pub(super) fn drop(&mut self, queue: QueueId, nid: Nid) -> Option<StreamId> {
        let is_it = |kept: &AsideRequest| {
            let own = &kept.running.request;
            !kept.is_pushed && (own.queue, own.nid) == (queue, nid)
        };
        let at = self.0.iter().position(is_it)?;
        Some(self.0.swap_remove(at).running.request.stream)
    }
}
