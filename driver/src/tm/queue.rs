//! One task queue: its two sets of registers, and who is in them.
//!
//! Writing a set takes some forty writes, of which most would write what the registers hold already: a client's next
//! request uses nearly the same buffers. So the driver keeps what it wrote, and leaves out what would change nothing.

use ane_uapi::hw::bar::BarIndex;
use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::nid::Nid;
use ane_uapi::hw::space::{EngineOffset, Iova};
use ane_uapi::hw::tm::{self, Push};
use ane_uapi::hw::tq::{self, Pairing, QueueId, QueueStatus, RequestNid, RequestSize, RequestStream, Slot};

use super::{Job, RequestId, manager};
use crate::bus::Operation;
use crate::per_number::PerSlot;

/// The queue of a client's priority: the one of the same number.
///
/// Existing clients are at priority 4 and in queue 4 at once, which is only so if priorities and queues are numbered
/// alike; the more urgent priority has the smaller number and the larger word. So the driver gives queue 0 the
/// largest word (Chosen: the sources' drivers use one queue, and let the words rise with the queues).
pub(crate) const fn queue_of(priority: u32) -> Option<QueueId> {
    match QueueId::new(priority) {
        Ok(queue) => Some(queue),
        Err(_) => None,
    }
}

pub(crate) fn priority_word(queue: QueueId) -> u8 {
    tq::PRIORITIES.iter().rev().nth(queue.index()).copied().unwrap_or_default()
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Staged {
    pub(super) id: RequestId,
    pub(super) nid: Nid,
    pub(super) stream: StreamId,
    /// The place of the request in the order of pushes.
    pub(super) age: u64,
    pub(super) has_started: bool,
    /// It had given way, and goes on.
    pub(super) is_back: bool,
}

#[derive(Debug)]
pub(super) struct Queue {
    id: QueueId,
    sets: PerSlot<Option<Staged>>,
    /// The values of the sets' registers for base addresses, as far as they are known.
    written: PerSlot<[Option<Iova>; BarIndex::COUNT as usize]>,
    /// The queue's status says that it is in use.
    is_in_use: bool,
    is_aborting: bool,
    /// The request of this set was asked to give way.
    gives_way: Option<Slot>,
}

const NOTHING_WRITTEN: PerSlot<[Option<Iova>; BarIndex::COUNT as usize]> =
    PerSlot([[None; BarIndex::COUNT as usize]; 2]);

impl Queue {
    pub(super) const fn new(id: QueueId) -> Self {
        Self {
            id,
            sets: PerSlot([None; 2]),
            written: NOTHING_WRITTEN,
            is_in_use: false,
            is_aborting: false,
            gives_way: None,
        }
    }

    pub(super) fn registers_lost(&mut self) {
        self.written = NOTHING_WRITTEN;
        self.is_in_use = false;
    }

    pub(super) fn count(&self) -> usize {
        self.sets.0.iter().flatten().count()
    }

    pub(super) fn take_all(&mut self) -> impl Iterator<Item = Staged> {
        self.registers_lost();
        self.is_aborting = false;
        self.gives_way = None;
        self.sets.0.iter_mut().filter_map(Option::take)
    }

    pub(super) fn has_stream(&self, stream: StreamId) -> bool {
        self.sets.0.iter().flatten().any(|staged| staged.stream == stream)
    }

    pub(super) fn vacancy(&self) -> Option<Slot> {
        // A request that comes back has to be the first again.
        if self.is_leaving() {
            return None;
        }
        Slot::ALL.into_iter().find(|&slot| self.sets[slot].is_none())
    }

    /// The network id of the request in this set.
    pub(super) fn nid(&self, slot: Slot) -> Option<Nid> {
        self.sets[slot].map(|staged| staged.nid)
    }

    /// True if no request of the queue is ahead of the one in this set.
    pub(super) fn is_first(&self, slot: Slot) -> bool {
        self.oldest().next() == Some(slot)
    }

    /// The requests in its sets, the oldest first.
    pub(super) fn oldest(&self) -> impl Iterator<Item = Slot> + use<> {
        let mut slots = Slot::ALL;
        slots.sort_unstable_by_key(|&slot| self.sets[slot].map(|staged| staged.age));
        slots.map(|slot| self.sets[slot].map(|_| slot)).into_iter().flatten()
    }

    /// The writes that put a request into a set and start it.
    pub(super) fn push(&mut self, slot: Slot, nid: Nid, job: &Job<'_>, age: u64, into: &mut Vec<Operation>) {
        let registers = slot.registers(Pairing::ByPlace);
        let base = self.id.base().0;
        let at = |offset: u32| EngineOffset(base.saturating_add(offset));
        self.use_it(into);
        for ((bar, &address), held) in BarIndex::ALL.into_iter().zip(job.bars).zip(&mut self.written[slot]) {
            if *held != Some(address) {
                into.push(Operation::Write(at(registers.bar(bar)), address.0));
                *held = Some(address);
            }
        }
        let size = RequestSize::new().with_last_word(job.info.last_word());
        let stream = RequestStream::new().with_stream(job.stream.number());
        let push = Push::new().with_priority(priority_word(self.id)).with_queue(self.id.number());
        into.extend([
            Operation::Write(self.id.register(&tq::STREAM), stream.into_bits()),
            Operation::Write(at(registers.size), size.into_bits()),
            Operation::Write(at(registers.address), job.first.0),
            Operation::Write(at(registers.nid), RequestNid::of(nid).into_bits()),
            Operation::Write(manager(&tm::REQUEST_ADDRESS), job.first.0),
            Operation::Write(manager(&tm::REQUEST_INFO), job.info.into_bits()),
            Operation::Write(manager(&tm::PUSH), push.into_bits()),
        ]);
        self.sets[slot] =
            Some(Staged { id: job.id, nid, stream: job.stream, age, has_started: false, is_back: false });
    }

    fn use_it(&mut self, into: &mut Vec<Operation>) {
        if !self.is_in_use {
            let in_use = QueueStatus::new().with_in_use(true).into_bits();
            into.push(Operation::Write(self.id.register(&tq::STATUS), in_use));
            self.is_in_use = true;
        }
    }

    /// The writes that have a request go on that gave way.
    pub(super) fn push_back(
        &mut self,
        slot: Slot,
        (id, nid, stream): (RequestId, Nid, StreamId),
        age: u64,
        into: &mut Vec<Operation>,
    ) {
        self.use_it(into);
        let registers = slot.registers(Pairing::ByPlace);
        let word = RequestStream::new().with_stream(stream.number()).with_goes_on(true);
        let push = Push::new().with_priority(priority_word(self.id)).with_queue(self.id.number());
        into.extend([
            Operation::Write(self.id.register(&tq::STREAM), word.into_bits()),
            Operation::Write(
                EngineOffset(self.id.base().0.saturating_add(registers.nid)),
                RequestNid::of(nid).into_bits(),
            ),
            Operation::Write(manager(&tm::PUSH), push.into_bits()),
        ]);
        self.sets[slot] = Some(Staged { id, nid, stream, age, has_started: false, is_back: true });
    }

    /// True if its requests are about to leave it: it was taken back, or asked to give way.
    pub(super) const fn is_leaving(&self) -> bool {
        self.is_aborting || self.gives_way.is_some()
    }

    /// The request that runs, or would run next.
    pub(super) fn first(&self) -> Option<(Slot, RequestId)> {
        let slot = self.oldest().next()?;
        Some((slot, self.sets[slot]?.id))
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = RequestId> {
        self.sets.0.iter().flatten().map(|staged| staged.id)
    }

    /// The request of this set was asked to give way.
    pub(super) const fn asked(&mut self, slot: Slot) {
        self.gives_way = Some(slot);
    }

    pub(super) fn end(&mut self, slot: Slot) -> Option<Staged> {
        let staged = self.sets[slot].take();
        if self.count() == 0 {
            self.is_aborting = false;
        }
        if self.gives_way == Some(slot) {
            self.gives_way = None;
        }
        staged
    }

    /// The queue was taken back, and this was the id of the last request that the device had started.
    pub(super) fn aborted(&mut self, committed: u8) {
        self.is_in_use = false;
        self.is_aborting = self.count() != 0;
        for staged in self.sets.0.iter_mut().flatten() {
            staged.has_started = staged.nid.number() == committed;
        }
    }

    pub(super) const fn is_aborting(&self) -> bool {
        self.is_aborting
    }
}

#[cfg(test)]
mod tests {
    use ane_uapi::hw::tm::RequestInfo;

    use super::*;

    fn push(queue: &mut Queue, bars: &[Iova; 32]) -> usize {
        let mut writes = Vec::new();
        let info = RequestInfo::of(0x274, 1).unwrap();
        let job = Job { id: RequestId(0), stream: StreamId::BASE, bars, first: Iova(0x4000), info };
        queue.push(Slot::First, Nid::LINUX, &job, 0, &mut writes);
        queue.end(Slot::First);
        writes.len()
    }

    #[test]
    fn request_writes_what_the_registers_do_not_hold_already() {
        let mut queue = Queue::new(QueueId::LINUX);
        let mut bars = [Iova(0); 32];
        assert_eq!(push(&mut queue, &bars), super::super::PUSH_OPERATIONS);
        assert_eq!(push(&mut queue, &bars), 7, "the same request once more");
        bars[5] = Iova(0x8000);
        assert_eq!(push(&mut queue, &bars), 8);
        queue.registers_lost();
        assert_eq!(push(&mut queue, &bars), super::super::PUSH_OPERATIONS);
    }

    #[test]
    fn queue_that_is_taken_back_has_no_vacancy_until_it_is_empty() {
        let mut queue = Queue::new(QueueId::LINUX);
        push(&mut queue, &[Iova(0); 32]);
        assert_eq!(queue.vacancy(), Some(Slot::First));
        let info = RequestInfo::of(0x274, 1).unwrap();
        let bars = [Iova(0); 32];
        let job = Job { id: RequestId(7), stream: StreamId::BASE, bars: &bars, first: Iova(0x4000), info };
        queue.push(Slot::Second, Nid::LINUX, &job, 1, &mut Vec::new());
        queue.aborted(0);
        assert!(queue.is_aborting() && queue.vacancy().is_none());
        assert!(queue.end(Slot::Second).is_some_and(|staged| !staged.has_started));
        assert!(!queue.is_aborting() && queue.vacancy().is_some());
    }
}
