//! One task queue: registers that hold two sets, and the requests that were pushed from them.
//!
//! A set is *staged* when its network id is written with the valid bit. A push takes the set that was staged
//! first. If none was staged since the last push, it takes a set whose network id is still valid (Chosen: drivers write the
//! id anew for each request, but nothing says that they have to). All of a request is latched at that moment, the stream
//! too, so the registers may be filled again at once. The set itself is busy until the request has ended, and the count of
//! free sets says so.
//!
//! Size and address of a request are those of the manager's registers: what a driver puts into the queue's own
//! is kept and shown, and starts nothing.

use ane_uapi::hw::bar::{AddressWord, BarIndex, BarTable};
use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::nid::Nid;
use ane_uapi::hw::space::Iova;
use ane_uapi::hw::tm::RequestInfo;
use ane_uapi::hw::tq::{
    Pairing, QueueId, QueueStatus, RegisterId, RequestNid, RequestStream, STATUS, STREAM, STRIDE, Slot,
    TASK_QUEUE, TQINFO,
};
use ane_uapi::register::Word;

use super::error::PushError;

/// A request, as it was when it was pushed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub queue: QueueId,
    pub slot: Slot,
    pub priority: u8,
    /// The place of the request in the order of pushes.
    pub age: u64,
    pub nid: Nid,
    pub stream: StreamId,
    pub bars: BarTable,
    /// Device address of its first descriptor.
    pub address: Iova,
    /// Length of its first descriptor, and number of its tasks.
    pub info: RequestInfo,
}

/// The values that the manager adds to a set at the push.
#[derive(Clone, Copy, Debug)]
pub struct PushWords {
    pub priority: u8,
    /// Place in the order of pushes.
    pub age: u64,
    /// Device address of the first descriptor.
    pub address: Iova,
    /// Length of the first descriptor, and number of tasks.
    pub info: RequestInfo,
}

/// The state of one of the two sets.
#[derive(Clone, Debug, Default)]
struct Set {
    /// When it was staged, in the order of stagings.
    staged: Option<u64>,
    /// The request that was pushed from it and has not started.
    waiting: Option<Request>,
    /// Its request has started and has not ended.
    running: bool,
}

impl Set {
    const fn is_taken(&self) -> bool {
        self.waiting.is_some() || self.running
    }
}

/// The meaning of a write to a register of a queue for the task manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// Nothing: the queue kept the value, or dropped it.
    Kept,
    /// The driver gave up a queue that has requests.
    GaveUp,
    /// The driver takes this request back.
    TakeBack(RequestNid),
    /// The driver asks this request to give way, should it run.
    GiveWay(RequestNid),
}

const WORDS: usize = (STRIDE / 4) as usize;

#[derive(Clone, Debug)]
pub struct Queue {
    id: QueueId,
    words: [u32; WORDS],
    sets: [Set; 2],
    stagings: u64,
}

impl Queue {
    pub fn new(id: QueueId) -> Self {
        Self { id, words: [0; WORDS], sets: [Set::default(), Set::default()], stagings: 0 }
    }

    fn word(&self, offset: u32) -> u32 {
        self.words.get(offset as usize >> 2).copied().unwrap_or_default()
    }

    const fn set(&self, slot: Slot) -> &Set {
        let [first, second] = &self.sets;
        match slot {
            Slot::First => first,
            Slot::Second => second,
        }
    }

    const fn set_mut(&mut self, slot: Slot) -> &mut Set {
        let [first, second] = &mut self.sets;
        match slot {
            Slot::First => first,
            Slot::Second => second,
        }
    }

    pub fn free(&self) -> u32 {
        self.sets.iter().map(|set| u32::from(!set.is_taken())).sum()
    }

    pub fn is_in_use(&self) -> bool {
        QueueStatus::from_word(self.word(STATUS.offset())).in_use()
    }

    /// Reads a register, which lies at `offset` in the queue; `None` from one that can only be written. `gives_way` is the
    /// running request of this queue that was asked to give way.
    pub fn read(&self, register: RegisterId, offset: u32, gives_way: Option<Nid>) -> Option<u32> {
        Some(match register {
            RegisterId::FREE_SPACE => self.free(),
            // No bit of it is known: the reset value, about which the bus remarks.
            RegisterId::TQINFO => TQINFO.info.reset,
            RegisterId::TAKE_BACK => return None,
            RegisterId::GIVE_WAY => gives_way.map_or(0, |nid| RequestNid::of(nid).word()),
            RegisterId::STATUS
            | RegisterId::PRTY
            | RegisterId::BAR1
            | RegisterId::REQ_NID1
            | RegisterId::REQ_SIZE2
            | RegisterId::REQ_ADDR2
            | RegisterId::BAR2
            | RegisterId::REQ_NID2
            | RegisterId::REQ_SIZE1
            | RegisterId::REQ_ADDR1
            | RegisterId::STREAM => self.word(offset),
        })
    }

    pub fn write(&mut self, register: RegisterId, offset: u32, value: u32) -> Written {
        match register {
            RegisterId::FREE_SPACE | RegisterId::TQINFO => {}
            RegisterId::TAKE_BACK => return Written::TakeBack(RequestNid::from_word(value)),
            RegisterId::GIVE_WAY => return Written::GiveWay(RequestNid::from_word(value)),
            RegisterId::STATUS => {
                if self.set_status(value) {
                    return Written::GaveUp;
                }
            }
            RegisterId::REQ_NID1 => self.stage(Slot::First, offset, value),
            RegisterId::REQ_NID2 => self.stage(Slot::Second, offset, value),
            RegisterId::PRTY
            | RegisterId::BAR1
            | RegisterId::REQ_SIZE2
            | RegisterId::REQ_ADDR2
            | RegisterId::BAR2
            | RegisterId::REQ_SIZE1
            | RegisterId::REQ_ADDR1
            | RegisterId::STREAM => self.store(offset, value),
        }
        Written::Kept
    }

    /// True if this gives up a queue that has requests.
    fn set_status(&mut self, value: u32) -> bool {
        self.store(STATUS.offset(), value);
        !self.is_in_use() && self.free() != 2
    }

    fn store(&mut self, offset: u32, value: u32) {
        if let Some(word) = self.words.get_mut(offset as usize >> 2) {
            *word = value;
        }
    }

    /// Stages a set, or takes it back if its network id is not valid.
    fn stage(&mut self, slot: Slot, offset: u32, value: u32) {
        self.store(offset, value);
        let order = self.stagings;
        self.stagings = order.saturating_add(1);
        self.set_mut(slot).staged = RequestNid::from_word(value).valid().then_some(order);
    }

    /// The driver gives the queue up; true if it has requests.
    pub fn give_up(&mut self) -> bool {
        self.set_status(QueueStatus::new().word())
    }

    fn pushable(&self) -> Result<Slot, PushError> {
        let staged = Slot::ALL
            .into_iter()
            .filter_map(|slot| Some((self.set(slot).staged?, slot)))
            .min_by_key(|(order, _)| *order);
        if let Some((_, slot)) = staged {
            return if self.set(slot).is_taken() { Err(PushError::SetTaken) } else { Ok(slot) };
        }
        let mut valid = Slot::ALL.into_iter().filter(|&slot| self.nid(slot).valid()).peekable();
        if valid.peek().is_none() {
            return Err(PushError::NothingStaged);
        }
        valid.find(|&slot| !self.set(slot).is_taken()).ok_or(PushError::SetTaken)
    }

    fn nid(&self, slot: Slot) -> RequestNid {
        RequestNid::from_word(self.word(slot.registers(Pairing::ByPlace).nid))
    }

    /// Latches a request from the set that is next. `aside` is what a stream put aside, if the push is to have it go on.
    pub fn push(
        &mut self,
        words: PushWords,
        aside: impl FnOnce(StreamId, Nid) -> Option<Request>,
    ) -> Result<Nid, (Option<Nid>, PushError)> {
        if !self.is_in_use() {
            return Err((None, PushError::QueueNotInUse));
        }
        let slot = self.pushable().map_err(|error| (None, error))?;
        self.set_mut(slot).staged = None;
        let nid = self.nid(slot).id().map_err(|error| (None, PushError::Nid(error)))?;
        let stream = RequestStream::from_word(self.word(STREAM.offset()));
        if stream.goes_on() {
            let kept = aside(stream.stream_id(), nid).ok_or((Some(nid), PushError::NothingAside))?;
            let PushWords { priority, age, .. } = words;
            self.set_mut(slot).waiting = Some(Request { slot, priority, age, ..kept });
            return Ok(nid);
        }
        if words.info.tasks() == 0 {
            return Err((Some(nid), PushError::NoTasks));
        }
        let registers = slot.registers(Pairing::ByPlace);
        let mut bars = BarTable::default();
        for bar in BarIndex::ALL {
            bars.set(bar, AddressWord::from_word(self.word(registers.bar(bar))).address());
        }
        let request = Request {
            queue: self.id,
            slot,
            priority: words.priority,
            age: words.age,
            nid,
            stream: stream.stream_id(),
            bars,
            address: words.address,
            info: words.info,
        };
        self.set_mut(slot).waiting = Some(request);
        Ok(nid)
    }

    /// The request that would start next: the older one.
    pub fn next(&self) -> Option<&Request> {
        self.sets.iter().filter_map(|set| set.waiting.as_ref()).min_by_key(|request| request.age)
    }

    pub fn start(&mut self) -> Option<Request> {
        let slot = self.next()?.slot;
        let set = self.set_mut(slot);
        set.running = true;
        set.waiting.take()
    }

    pub const fn end(&mut self, slot: Slot) {
        self.set_mut(slot).running = false;
    }

    /// Takes back a request that has not started, the older one first.
    pub fn withdraw(&mut self) -> Option<Request> {
        let slot = self.next()?.slot;
        self.set_mut(slot).waiting.take()
    }
}

const _: () = assert!(TASK_QUEUE.len == STRIDE && Slot::ALL.len() == 2);

#[cfg(test)]
mod tests {
    use super::*;

    fn queue() -> Queue {
        let mut queue = Queue::new(QueueId::LINUX);
        set(&mut queue, STATUS.offset(), 1);
        queue
    }

    fn set(queue: &mut Queue, offset: u32, value: u32) -> Written {
        let (register, _) = RegisterId::find(offset).unwrap();
        queue.write(register, offset, value)
    }

    fn stage(queue: &mut Queue, slot: Slot, nid: u32) {
        set(queue, slot.registers(Pairing::ByPlace).nid, nid << 8 | 1);
    }

    fn words(age: u64) -> PushWords {
        PushWords { priority: 5, age, address: Iova(0x4000), info: RequestInfo::of(0x274, 2).unwrap() }
    }

    /// Requirement: TM-06
    #[test]
    fn request_is_everything_that_its_set_held_at_the_push() {
        let mut queue = queue();
        let registers = Slot::Second.registers(Pairing::ByPlace);
        for bar in BarIndex::ALL {
            set(&mut queue, registers.bar(bar), 0x4000 + 0x4000 * u32::from(bar.number()));
        }
        set(&mut queue, STREAM.offset(), 3);
        stage(&mut queue, Slot::Second, 0x40);
        queue.push(words(0), |_, _| None).unwrap();
        set(&mut queue, registers.bar(BarIndex::TASKS), 0xdead_c000);
        set(&mut queue, STREAM.offset(), 0);
        let request = queue.start().unwrap();
        assert_eq!(request.bars.get(BarIndex::TASKS), Iova(0x4000));
        assert_eq!(request.bars.get(BarIndex::ALL[31]), Iova(0x8_0000));
        assert_eq!((request.stream.number(), request.nid, request.priority), (3, Nid::LINUX, 5));
        assert_eq!((request.address, request.info.tasks()), (Iova(0x4000), 2));
    }

    /// Requirement: TM-20
    #[test]
    fn second_request_is_staged_in_the_second_set_while_the_first_runs() {
        let mut queue = queue();
        assert_eq!(queue.free(), 2);
        stage(&mut queue, Slot::First, 1);
        queue.push(words(0), |_, _| None).unwrap();
        let first = queue.start().unwrap();
        stage(&mut queue, Slot::Second, 2);
        queue.push(words(1), |_, _| None).unwrap();
        assert_eq!(queue.free(), 0);
        queue.end(first.slot);
        assert_eq!(queue.free(), 1);
        assert_eq!(queue.start().map(|request| request.nid.number()), Some(2));
    }

    #[test]
    fn sets_are_taken_in_the_order_in_which_they_were_staged() {
        let mut queue = queue();
        stage(&mut queue, Slot::Second, 7);
        stage(&mut queue, Slot::First, 8);
        assert_eq!(queue.push(words(0), |_, _| None).map(Nid::number), Ok(7));
        assert_eq!(queue.push(words(1), |_, _| None).map(Nid::number), Ok(8));
    }

    #[test]
    fn request_that_was_pushed_first_starts_first_in_whichever_set_it_is() {
        for [first, second] in [[Slot::First, Slot::Second], [Slot::Second, Slot::First]] {
            let mut queue = queue();
            stage(&mut queue, first, 7);
            queue.push(words(0), |_, _| None).unwrap();
            stage(&mut queue, second, 8);
            queue.push(words(1), |_, _| None).unwrap();
            let started: Vec<_> =
                std::iter::from_fn(|| queue.start()).map(|request| request.nid.number()).collect();
            assert_eq!(started, [7, 8]);
        }
    }

    #[test]
    fn set_that_was_staged_once_can_be_pushed_again_when_it_is_free() {
        let mut queue = queue();
        stage(&mut queue, Slot::First, 9);
        queue.push(words(0), |_, _| None).unwrap();
        assert_eq!(queue.push(words(1), |_, _| None), Err((None, PushError::SetTaken)));
        let request = queue.start().unwrap();
        queue.end(request.slot);
        assert_eq!(queue.push(words(2), |_, _| None).map(Nid::number), Ok(9));
    }

    #[test]
    fn push_without_a_request_is_refused_with_the_reason() {
        let mut idle = Queue::new(QueueId::LINUX);
        assert_eq!(idle.push(words(0), |_, _| None), Err((None, PushError::QueueNotInUse)));
        let mut queue = queue();
        assert_eq!(queue.push(words(0), |_, _| None), Err((None, PushError::NothingStaged)));
        stage(&mut queue, Slot::First, 0);
        assert!(matches!(queue.push(words(0), |_, _| None), Err((None, PushError::Nid(_)))));
        stage(&mut queue, Slot::First, 3);
        let none = PushWords { info: RequestInfo::new(), ..words(0) };
        assert_eq!(queue.push(none, |_, _| None), Err((Some(Nid::new(3).unwrap()), PushError::NoTasks)));
    }

    /// Requirement: TD-09
    #[test]
    fn every_network_id_from_1_to_255_is_accepted() {
        for number in 1..=255 {
            let mut queue = queue();
            stage(&mut queue, Slot::First, number);
            assert_eq!(queue.push(words(0), |_, _| None).map(|nid| u32::from(nid.number())), Ok(number));
        }
    }

    #[test]
    fn giving_up_a_queue_with_requests_is_noticed() {
        let mut queue = queue();
        assert_eq!(set(&mut queue, STATUS.offset(), 0), Written::Kept);
        set(&mut queue, STATUS.offset(), 1);
        stage(&mut queue, Slot::First, 3);
        queue.push(words(0), |_, _| None).unwrap();
        assert_eq!(set(&mut queue, STATUS.offset(), 0), Written::GaveUp);
        assert_eq!(queue.withdraw().map(|request| request.nid.number()), Some(3));
        assert_eq!((queue.withdraw(), queue.free()), (None, 2));
    }
}
