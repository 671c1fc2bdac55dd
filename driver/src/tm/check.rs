//! Looking at the registers, when events say too little.
//!
//! An interrupt may be lost, a completion may name a request that does not exist, a buffer for an event may be
//! missing. The registers still have the events that wait on the lines, and the number of free sets of each queue. A request
//! whose set is free has ended. If no line says how, its result is lost.

use ane_uapi::hw::space::EngineOffset;
use ane_uapi::hw::tm;
use ane_uapi::hw::tq::{self, QueueId, Slot};

use super::lines::Lines;
use super::{Place, TaskManager, Why};
use crate::bus::{Bus, BusError, Operation};

impl TaskManager {
    /// Reads both lines to their ends and compares the queues with what is known: afterwards every end is known.
    pub(crate) fn check(&mut self, bus: &mut impl Bus) -> Result<(), BusError> {
        self.flush(bus)?;
        self.is_doubtful = false;
        let counts = [0, 1].map(|line| tm::EVENT_COUNT.info.at(line).unwrap_or_default());
        let at = |offset: u32| EngineOffset(tm::TASK_MANAGER.base.0.saturating_add(offset));
        self.batch.extend(counts.map(|offset| Operation::Read(at(offset))));
        self.batch.extend(QueueId::ALL.map(|queue| Operation::Read(queue.register(&tq::FREE_SPACE))));
        self.send(bus)?;
        let mut values = self.values.iter().copied();
        let mut left = [values.next().unwrap_or_default(), values.next().unwrap_or_default()]
            .map(|count| usize::try_from(count).unwrap_or(0).min(LINE_MAX));
        let free: [u32; QueueId::ALL.len()] = QueueId::ALL.map(|_| values.next().unwrap_or_default());
        while left != [0, 0] {
            let reads = Lines::add(&mut self.batch, self.limit, left);
            self.send(bus)?;
            self.take_reads(reads);
            let [first, second] = left;
            let [done_first, done_second] = reads;
            left = [first.saturating_sub(done_first), second.saturating_sub(done_second)];
        }
        for (queue, free) in QueueId::ALL.into_iter().zip(free) {
            self.compare(queue, free);
        }
        // Events of the lines that belong to no known request are explained now, or never will be.
        self.is_doubtful = false;
        Ok(())
    }

    /// Ends the requests of a queue that are not with the device any more, the oldest first.
    fn compare(&mut self, queue: QueueId, free: u32) {
        let sets = Slot::ALL.len();
        let there = sets.saturating_sub(usize::try_from(free).unwrap_or(sets).min(sets));
        while self.queues[queue].count() > there
            && let Some(slot) = self.queues[queue].oldest().next()
        {
            self.end(Place { queue, slot }, Err(Why::Lost), self.last_time);
        }
    }
}

/// More events than a line ever holds: what a count beyond it says is not believed.
const LINE_MAX: usize = 256;
