//! The task manager from the driver's side: requests into hardware slots, and their results.
//!
//! Eight queues have two sets of registers each, so sixteen requests may be with the device at a time, of which one
//! runs. A request is staged by a run of register writes that ends with the push; many such runs go to the device as
//! one batch. The device answers with events. An event names the request by its network id alone, so an id is given
//! out when a request is pushed, goes to one request at a time, and goes round all of them before it comes again.
//!
//! Each event stands on both event lines as well, until it is read there, and a line has room for 64. So the driver
//! reads each event that has arrived from both lines, with the next batch. An event that is read from a line and did
//! not arrive was lost on the way: it counts as arrived.
//!
//! * `queue`: the sets, and the writes that fill them.
//! * `nids`: the owners of network ids.
//! * `lines`: the events that arrived, and those that were read.
//! * `aside`: requests that give way and go on later.
//! * `abort`: the abort of a queue.
//! * `check`: what the registers say, when events say too little.

mod abort;
mod aside;
mod check;
mod lines;
mod nids;
mod queue;

use ane_uapi::hw::bar::BarIndex;
use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::nid::Nid;
use ane_uapi::hw::space::{EngineOffset, Iova};
use ane_uapi::hw::tm::error::{ErrorCode, ErrorWord};
use ane_uapi::hw::tm::{self, EventInfo, InterruptEnable, LineEnable, QueueEnable, RequestInfo};
use ane_uapi::hw::tq::{self, QueueId, Slot};
use ane_uapi::register::Reg;
use ane_uapi::wire::event::{Event, EventKind};

use self::aside::Aside;
use self::lines::{Lines, Stamp};
use self::nids::Nids;
use self::queue::Queue;
use crate::bus::{Bus, BusError, Operation};
use crate::per_number::PerQueue;

pub(crate) use self::queue::{priority_word, queue_of};

/// Most operations that one request adds to a batch: in use, 32 BARs, stream, id, size, address, three that start it.
const PUSH_OPERATIONS: usize = 40;

/// The driver's name for a request that has been admitted and has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RequestId(pub u32);

/// The facts about a request that the hardware needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job<'a> {
    /// Identifies the request when it ends.
    pub id: RequestId,
    pub stream: StreamId,
    pub bars: &'a [Iova; BarIndex::COUNT as usize],
    /// Device address of its first descriptor.
    pub first: Iova,
    /// Length of its first descriptor, and number of its tasks.
    pub info: RequestInfo,
}

/// A place for a request in the hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub queue: QueueId,
    pub slot: Slot,
}

impl Place {
    /// The number of the place among all sixteen.
    pub(crate) const fn index(self) -> usize {
        self.queue.index().saturating_mul(2).saturating_add(self.slot as usize)
    }
}

/// The device's report of a request that did not run to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// An error, with its code if that has a name, and the first and the third error register as they were: the third
    /// is a register's value or the address that faulted.
    /// `tasks` of the chain had ended.
    Error { code: Option<ErrorCode>, word: ErrorWord, value: u32, tasks: u16 },
    /// It is not with the device any more, and nothing says how it ended.
    Lost,
}

/// A request has left the hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub id: RequestId,
    pub place: Place,
    pub result: Result<(), Why>,
    /// When, in ticks of the device's clock.
    pub timestamp: u64,
    /// It was taken back with its whole queue before it had started: nothing of it ran.
    pub is_untouched: bool,
    /// It gave way, and can go on: the device keeps it under this id.
    pub aside: Option<Nid>,
}

#[derive(Debug)]
pub(crate) struct TaskManager {
    queues: PerQueue<Queue>,
    nids: Nids,
    lines: Lines,
    batch: Vec<Operation>,
    values: Vec<u32>,
    /// Requests that gave way, of each stream one at most.
    aside: Vec<Aside>,
    /// Requests that left the hardware and were not reported yet.
    ended: Vec<Ended>,
    /// Operations that the bus takes at once.
    limit: usize,
    age: u64,
    /// The last time stamp that was seen, to make whole ones of the registers' halves.
    last_time: u64,
    /// Something does not add up: the registers have to be looked at.
    is_doubtful: bool,
}

/// Container offset of one of the manager's registers.
pub(crate) fn manager<T: ane_uapi::register::Word>(register: &Reg<T>) -> EngineOffset {
    EngineOffset(tm::TASK_MANAGER.base.0.saturating_add(register.offset()))
}

impl TaskManager {
    /// The manager of a device that was just reset.
    pub(crate) fn new(bus: &impl Bus) -> Self {
        Self {
            queues: PerQueue(QueueId::ALL.map(Queue::new)),
            nids: Nids::default(),
            lines: Lines::default(),
            batch: Vec::with_capacity(1024),
            values: vec![0; 1024],
            aside: Vec::new(),
            ended: Vec::with_capacity(16),
            limit: usize::from(bus.config().batch_max.get()).clamp(64, 1024),
            age: 0,
            last_time: 0,
            is_doubtful: false,
        }
    }

    /// The writes that let queues run and events come: after probe, resume and reset.
    pub(crate) fn enable(into: &mut Vec<Operation>) {
        for queue in QueueId::ALL {
            into.push(Operation::Write(queue.register(&tq::PRTY), u32::from(priority_word(queue))));
        }
        into.extend([
            Operation::Write(manager(&tm::QUEUE_ENABLE), QueueEnable::new().with_enable(true).into_bits()),
            Operation::Write(
                manager(&tm::INTERRUPT_ENABLE),
                InterruptEnable::new().with_events(true).into_bits(),
            ),
            Operation::Write(manager(&tm::LINE_ENABLE), LineEnable::new().with_lines(0b01).into_bits()),
        ]);
    }

    /// The writes that stop queues and events: before suspend and removal.
    pub(crate) fn disable(into: &mut Vec<Operation>) {
        for queue in QueueId::ALL {
            into.push(Operation::Write(queue.register(&tq::STATUS), 0));
        }
        into.extend([
            Operation::Write(manager(&tm::LINE_ENABLE), 0),
            Operation::Write(manager(&tm::INTERRUPT_ENABLE), 0),
            Operation::Write(manager(&tm::QUEUE_ENABLE), 0),
        ]);
    }

    /// Forgets what the registers hold: they were reset, or lost their power.
    pub(crate) fn registers_lost(&mut self) {
        self.queues.0.iter_mut().for_each(Queue::registers_lost);
    }

    /// Forgets everything that was with the device: who was there, the oldest first, and whether it had started, as
    /// far as that can be told from the network id of the request that was started last.
    pub(crate) fn take_all(
        &mut self,
        committed: Option<u8>,
    ) -> impl Iterator<Item = (RequestId, bool)> + use<> {
        let mut all = Vec::new();
        for queue in &mut self.queues.0 {
            all.extend(queue.take_all());
        }
        all.sort_unstable_by_key(|staged| staged.age);
        self.nids.clear();
        self.aside.clear();
        self.lines = Lines::default();
        self.batch.clear();
        self.ended.clear();
        self.is_doubtful = false;
        all.into_iter().map(move |staged| {
            let has_started = committed.is_none_or(|committed| committed == staged.nid.number());
            (staged.id, has_started || staged.is_back)
        })
    }

    pub(crate) fn count(&self) -> usize {
        self.queues.0.iter().map(Queue::count).sum()
    }

    /// A free set of the queue; none while the queue is being taken back.
    pub(crate) fn vacancy(&self, queue: QueueId) -> Option<Place> {
        self.queues[queue].vacancy().map(|slot| Place { queue, slot })
    }

    /// A network id for a request: the one that it wants, or the next. `None` if another request has the one it wants.
    pub(crate) fn nid(&self, wanted: Option<Nid>) -> Option<Nid> {
        self.nids.choose(wanted)
    }

    /// Adds the writes of a request to the batch, the push last.
    pub(crate) fn push(
        &mut self,
        bus: &mut impl Bus,
        place: Place,
        nid: Nid,
        job: &Job<'_>,
    ) -> Result<(), BusError> {
        if self.batch.len().saturating_add(PUSH_OPERATIONS) > self.limit {
            self.flush(bus)?;
        }
        self.age = self.age.saturating_add(1);
        self.nids.take(nid, place);
        self.queues[place.queue].push(place.slot, nid, job, self.age, &mut self.batch);
        Ok(())
    }

    /// Sends the batch, and with it as many of the reads that are owed as it has room for.
    pub(crate) fn flush(&mut self, bus: &mut impl Bus) -> Result<(), BusError> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let reads = self.lines.add_reads(&mut self.batch, self.limit);
        self.send(bus)?;
        self.take_reads(reads);
        Ok(())
    }

    /// Reads what is owed if much is, or all of it.
    pub(crate) fn settle(&mut self, bus: &mut impl Bus, all: bool) -> Result<(), BusError> {
        while self.lines.owed() > if all { 0 } else { lines::OWED_MAX } {
            let reads = self.lines.add_reads(&mut self.batch, self.limit);
            self.send(bus)?;
            self.take_reads(reads);
        }
        Ok(())
    }

    fn send(&mut self, bus: &mut impl Bus) -> Result<(), BusError> {
        let outcome = bus.batch(&self.batch, &mut self.values);
        self.batch.clear();
        outcome.map(|_| ())
    }

    /// Looks at what was read from the lines.
    fn take_reads(&mut self, reads: [usize; tm::LINES as usize]) {
        let mut missed = Vec::new();
        self.lines.take_reads(reads, &self.values, &mut missed);
        for stamp in missed {
            self.line_event(stamp, None);
        }
    }

    /// Takes note of an event; [`TaskManager::take_ended`] has what followed.
    pub(crate) fn event(&mut self, event: &Event) {
        if event.lost.get() != 0 {
            self.is_doubtful = true;
        }
        let [_, info, word_1, time, word_3] = event.words.map(|word| word.get());
        if event.kind() == Ok(EventKind::TaskManager) {
            let stamp = Stamp { info, word_1, time, word_3 };
            // The second line says what the first does, and is not asked to interrupt.
            if event.source.get() == 0 && self.lines.arrived(stamp) {
                self.line_event(stamp, Some(event.timestamp.get()));
            }
        }
    }

    /// A request has ended, say the lines.
    fn line_event(&mut self, stamp: Stamp, timestamp: Option<u64>) {
        let timestamp = timestamp.unwrap_or_else(|| self.whole_time(stamp.time));
        self.last_time = self.last_time.max(timestamp);
        let info = EventInfo::from_bits(stamp.info);
        let error = ErrorWord::from_bits(stamp.word_1);
        let Some(place) = info.id().ok().and_then(|nid| self.nids.place(nid)) else {
            // The event of a request that nobody knows: the one that it was meant for is still waited for.
            self.is_doubtful = true;
            return;
        };
        if info.is_aside() {
            self.gave_way(place, info.task(), timestamp);
            return;
        }
        let result = if info.is_done() {
            Ok(())
        } else {
            Err(Why::Error { code: error.error(), word: error, value: stamp.word_3, tasks: info.task() })
        };
        self.end(place, result, timestamp);
    }

    /// The whole of a time of which the registers show the low half.
    const fn whole_time(&self, low: u32) -> u64 {
        let high = self.last_time >> 32 << 32;
        let whole = high | low as u64;
        // The low half went round since.
        if whole.saturating_add(1 << 31) < self.last_time { whole.saturating_add(1 << 32) } else { whole }
    }

    /// Takes a request out of its set.
    fn end(&mut self, place: Place, result: Result<(), Why>, timestamp: u64) {
        let Some(staged) = self.queues[place.queue].end(place.slot) else { return };
        self.nids.release(staged.nid);
        let is_aborted = matches!(result, Err(Why::Error { code: Some(ErrorCode::Aborted), tasks: 0, .. }));
        let aside = (is_aborted && staged.is_back).then_some(staged.nid);
        if aside.is_some() {
            // It was in its set again and had not gone on.
            self.keep_aside(&staged, place.queue);
        }
        let is_untouched = is_aborted && !staged.has_started && aside.is_none();
        self.ended.push(Ended { id: staged.id, place, result, timestamp, is_untouched, aside });
    }

    /// The next request that has left the hardware.
    pub(crate) fn take_ended(&mut self) -> Option<Ended> {
        if self.ended.is_empty() { None } else { Some(self.ended.remove(0)) }
    }

    /// The request of the queue that runs, or would run next.
    pub(crate) fn first(&self, queue: QueueId) -> Option<(RequestId, Place)> {
        let (slot, id) = self.queues[queue].first()?;
        Some((id, Place { queue, slot }))
    }

    pub(crate) fn ids(&self, queue: QueueId) -> impl Iterator<Item = RequestId> {
        self.queues[queue].ids()
    }

    /// Where the request of a network id is, if it is in a set.
    pub(crate) fn place_of(&self, nid: Nid) -> Option<Place> {
        self.nids.place(nid)
    }

    /// True if a set holds a request of the stream.
    pub(crate) fn has_stream(&self, stream: StreamId) -> bool {
        self.queues.0.iter().any(|queue| queue.has_stream(stream))
    }

    /// True if the request is the one of its queue that runs, or would run next.
    pub(crate) fn is_first(&self, place: Place) -> bool {
        self.queues[place.queue].is_first(place.slot)
    }

    /// True if events and picture do not agree, so that the registers have to be looked at.
    pub(crate) const fn is_doubtful(&self) -> bool {
        self.is_doubtful
    }
}
