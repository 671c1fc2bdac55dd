//! Requests that give way: they leave their sets between two tasks, the device keeps what they have, and they go on later.
//!
//! The driver asks, and the event of the request says whether it gave way. The request keeps its network id until it
//! goes on or is dropped. The device keeps one request of each stream at most.

use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::nid::Nid;
use ane_uapi::hw::tm::error::{ErrorCode, ErrorWord};
use ane_uapi::hw::tq::{self, QueueId, RequestNid};

use super::queue::Staged;
use super::{Ended, PUSH_OPERATIONS, Place, RequestId, TaskManager, Why};
use crate::bus::{Bus, BusError, Operation};

#[derive(Clone, Copy, Debug)]
pub(super) struct Aside {
    nid: Nid,
    queue: QueueId,
    stream: StreamId,
}

impl TaskManager {
    /// Asks the request in `place` to give way. False if it does not run, or the device does not put it aside; nothing happens
    /// then. Otherwise an event of it is to come, and no request goes to the queue before.
    pub(crate) fn ask_to_give_way(&mut self, bus: &mut impl Bus, place: Place) -> Result<bool, BusError> {
        self.flush(bus)?;
        let Place { queue, slot } = place;
        let Some(nid) = self.queues[queue].nid(slot) else { return Ok(false) };
        let (at, word) = (queue.register(&tq::GIVE_WAY), RequestNid::of(nid).into_bits());
        self.batch.extend([Operation::Write(at, word), Operation::Read(at)]);
        self.send(bus)?;
        let is_asked = self.values.first() == Some(&word);
        if is_asked {
            self.queues[queue].asked(slot);
        }
        Ok(is_asked)
    }

    /// True if the queue's requests are about to leave it.
    pub(crate) fn is_leaving(&self, queue: QueueId) -> bool {
        self.queues[queue].is_leaving()
    }

    /// A request has left its set because it gave way, or because it was behind one that did. So many tasks of it have ended.
    pub(super) fn gave_way(&mut self, place: Place, tasks: u16, timestamp: u64) {
        let Some(staged) = self.queues[place.queue].end(place.slot) else { return };
        let is_untouched = tasks == 0 && !staged.is_back;
        if is_untouched {
            self.nids.release(staged.nid);
        } else {
            self.keep_aside(&staged, place.queue);
        }
        let aside = (!is_untouched).then_some(staged.nid);
        let word = ErrorWord::new().with_code(ErrorCode::Aborted as u8);
        let result = Err(Why::Error { code: Some(ErrorCode::Aborted), word, value: 0, tasks });
        self.ended.push(Ended { id: staged.id, place, result, timestamp, is_untouched, aside });
    }

    pub(super) fn keep_aside(&mut self, staged: &Staged, queue: QueueId) {
        self.nids.put_aside(staged.nid);
        self.aside.push(Aside { nid: staged.nid, queue, stream: staged.stream });
    }

    /// The id of the request of this stream that gave way and has not gone on.
    pub(crate) fn aside_of(&self, stream: StreamId) -> Option<Nid> {
        self.aside.iter().find(|aside| aside.stream == stream).map(|aside| aside.nid)
    }

    /// True if the device keeps a request that gave way.
    pub(crate) const fn has_aside(&self) -> bool {
        !self.aside.is_empty()
    }

    /// Adds the writes to the batch that have a request go on which gave way.
    pub(crate) fn push_back(
        &mut self,
        bus: &mut impl Bus,
        place: Place,
        nid: Nid,
        id: RequestId,
    ) -> Result<(), BusError> {
        if self.batch.len().saturating_add(PUSH_OPERATIONS) > self.limit {
            self.flush(bus)?;
        }
        let Some(at) = self.aside.iter().position(|aside| aside.nid == nid) else { return Ok(()) };
        let Aside { stream, .. } = self.aside.swap_remove(at);
        self.age = self.age.saturating_add(1);
        self.nids.put_back(nid, place);
        self.queues[place.queue].push_back(place.slot, (id, nid, stream), self.age, &mut self.batch);
        Ok(())
    }

    /// Has the device drop a request that gave way; nothing happens if it keeps none of this id.
    pub(crate) fn drop_aside(&mut self, bus: &mut impl Bus, nid: Nid) -> Result<(), BusError> {
        let Some(at) = self.aside.iter().position(|aside| aside.nid == nid) else { return Ok(()) };
        let Aside { queue, .. } = self.aside.swap_remove(at);
        self.nids.release(nid);
        if self.batch.len() >= self.limit {
            self.flush(bus)?;
        }
        let word = RequestNid::of(nid).into_bits();
        self.batch.push(Operation::Write(queue.register(&tq::TAKE_BACK), word));
        Ok(())
    }
}
