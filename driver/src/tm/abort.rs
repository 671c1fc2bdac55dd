//! A queue that is taken back: what is in it ends, and what had not started may be pushed again.

use ane_uapi::hw::tm;
use ane_uapi::hw::tq::{self, QueueId, QueueStatus, RequestNid};
use ane_uapi::wire::config::FEATURE_TAKE_BACK;

use super::{Place, TaskManager, manager};
use crate::bus::{Bus, BusError, Operation};

impl TaskManager {
    /// Takes a whole queue back for the sake of the request in `place`, which is its first as far as is known. The device
    /// ends what is in it, with an event for each; what had not started is said to be untouched. No request goes to the
    /// queue before.
    ///
    /// The request may have ended since the last event, and the next one of the queue may have begun, which is another file's.
    /// If the device supports it, it takes the queue back for this request only: false if it did not take it back.
    /// The request has ended then, and its event is on the way.
    pub(crate) fn abort(&mut self, bus: &mut impl Bus, place: Place) -> Result<bool, BusError> {
        self.flush(bus)?;
        let Place { queue, slot } = place;
        let Some(nid) = self.queues[queue].nid(slot) else { return Ok(false) };
        let can_tell = bus.config().features.get() & FEATURE_TAKE_BACK != 0;
        let give_up = if can_tell {
            Operation::Write(queue.register(&tq::TAKE_BACK), RequestNid::of(nid).into_bits())
        } else {
            Operation::Write(queue.register(&tq::STATUS), 0)
        };
        // The request that was taken last is read before the queue is let go: nothing runs in between.
        self.batch.extend([
            Operation::Read(manager(&tm::COMMITTED)),
            give_up,
            Operation::Read(queue.register(&tq::STATUS)),
        ]);
        self.send(bus)?;
        let (committed, status) = match self.values.as_slice() {
            [committed, status, ..] => (*committed, QueueStatus::from_bits(*status)),
            _ => return Ok(false),
        };
        let is_taken = !status.in_use();
        if is_taken {
            self.queues[queue].aborted(tm::Committed::from_bits(committed).nid());
        }
        Ok(is_taken)
    }

    /// True while a queue that was taken back still holds requests.
    pub(crate) fn is_aborting(&self, queue: QueueId) -> bool {
        self.queues[queue].is_aborting()
    }
}
