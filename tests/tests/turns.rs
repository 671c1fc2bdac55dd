//! Turns by task: random programs that take turns on one device leave the bytes that each leaves alone.
//!
//! Each program has a stream, tables and memory of its own, at the same device addresses as the others. The programs are walks over
//! one crowded memory, whose tasks keep much on chip and in registers that no descriptor writes again: what one would find of
//! another one shows in its result. They are asked to give way at random places, and go on in random order.

use std::time::Duration;

use ane::embedded::{self, InProcess};
use ane_device::Options;
use ane_device::options::{Hang, Numerics};
use ane_driver::bus::{Bus, Operation};
use ane_tests::differential::walk::case;
use ane_tests::differential::{Case, programs};
use ane_tests::random::Random;
use ane_uapi::hw::dart::aperture::PAGE_SIZE;
use ane_uapi::hw::dart::pte::{LeafFormat, Seed};
use ane_uapi::hw::dart::regs::{self, Streams, Tcr, Window};
use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::dart::ttbr::Ttbr;
use ane_uapi::hw::dart::walk::{self, WalkIndices};
use ane_uapi::hw::nid::Nid;
use ane_uapi::hw::space::{EngineOffset, Iova, PhysAddr};
use ane_uapi::hw::tm::{
    self, EventCode, EventInfo, InterruptEnable, LineEnable, Push, QueueEnable, RequestInfo,
};
use ane_uapi::hw::tq::{self, Pairing, QueueId, QueueStatus, RequestNid, RequestStream, Slot};
use ane_uapi::hw::usage::Protection;
use ane_uapi::register::Reg;
use ane_uapi::wire::event::EventKind;

/// Groups of programs that every run compares.
const GROUPS: u64 = 500;

const PAGE: usize = PAGE_SIZE as usize;
const QUEUE: QueueId = QueueId::LINUX;

/// The network id of all: the stream tells whose request it is that goes on.
const NID: Nid = Nid::LINUX;

/// How a request ended: the words of its event but for the time, and the three error registers if it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RequestEnd {
    code: u8,
    task: u16,
    words: [u32; 2],
    errors: [u32; 3],
}

/// A program on the device.
struct RunningProgram {
    case: Case,
    stream: StreamId,
    pages: Vec<PhysAddr>,
    has_begun: bool,
    end: Option<RequestEnd>,
    /// How often it gave way.
    turns: u32,
}

/// A device and programs in its memory.
struct Engine {
    bus: InProcess,
    next: u64,
    programs: Vec<RunningProgram>,
}

fn manager<T: ane_uapi::register::Word>(register: &Reg<T>) -> EngineOffset {
    EngineOffset(tm::TASK_MANAGER.base.0 + register.offset())
}

fn streams() -> impl Iterator<Item = StreamId> {
    StreamId::ALL.into_iter()
}

impl Engine {
    fn new(cases: &[Case], numerics: Numerics) -> Self {
        let bytes: usize = cases.iter().map(|case| case.memory_bytes() + 2 * PAGE).sum();
        let options = Options { hang: Hang::Report, numerics, ..Options::default() };
        let bus = embedded::open(&options, bytes).expect("a device can be had");
        let mut engine = Self { bus, next: 0, programs: Vec::new() };
        for (case, stream) in cases.iter().zip(streams()) {
            engine.load(case, stream);
        }
        let on = [
            (manager(&tm::QUEUE_ENABLE), QueueEnable::new().with_enable(true).into_bits()),
            (manager(&tm::INTERRUPT_ENABLE), InterruptEnable::new().with_events(true).into_bits()),
            (manager(&tm::LINE_ENABLE), LineEnable::new().with_lines(1).into_bits()),
            (QUEUE.register(&tq::STATUS), QueueStatus::new().with_in_use(true).into_bits()),
        ];
        engine.write(&on);
        engine
    }

    fn write(&mut self, writes: &[(EngineOffset, u32)]) {
        let writes: Vec<_> = writes.iter().map(|&(at, value)| Operation::Write(at, value)).collect();
        self.bus.batch(&writes, &mut []).expect("registers can be written");
    }

    fn read(&mut self, at: EngineOffset) -> u32 {
        let mut value = [0];
        self.bus.batch(&[Operation::Read(at)], &mut value).expect("register can be read");
        value[0]
    }

    fn page(&mut self) -> PhysAddr {
        let page = PhysAddr(self.bus.memory().base().0 + self.next);
        self.next += PAGE as u64;
        self.bus.memory().write(page, &[0; PAGE]).expect("there is a page left");
        page
    }

    /// Puts a case into memory, and its tables into the windows.
    fn load(&mut self, case: &Case, stream: StreamId) {
        let table = self.page();
        let mut pages = Vec::new();
        for (base, bytes) in &case.regions {
            for (at, piece) in (*base..).step_by(PAGE).zip(bytes.chunks(PAGE)) {
                let page = self.page();
                self.map(table, Iova(at), page);
                self.bus.memory().write(page, piece).expect("page is memory");
                pages.push(page);
            }
        }
        let base = Ttbr::of(table).expect("table can be named").into_bits();
        let tcr = Tcr::new().with_translate(true).into_bits();
        let slot = u16::from(stream.number());
        let first = slot * (regs::TTBR.info.count / regs::TCR.info.count);
        let ttbr = regs::TTBR.info.at(first).expect("each stream has one");
        let control = regs::TCR.info.at(slot).expect("each stream has one");
        let enabled = Streams::new().with_mask(0xff).into_bits();
        for window in Window::CARRYING_DMA {
            let at = |register: u32| EngineOffset(window.base().0 + register);
            let enable = at(regs::ENABLED_STREAMS.offset());
            self.write(&[(enable, enabled), (at(ttbr), base), (at(control), tcr)]);
        }
        let case = case.clone();
        self.programs.push(RunningProgram { case, stream, pages, has_begun: false, end: None, turns: 0 });
    }

    fn map(&mut self, table: PhysAddr, at: Iova, page: PhysAddr) {
        let indices = WalkIndices::of_iova(at);
        let entry = walk::entry(table, indices.l2).expect("entry lies in its table");
        let word = self.bus.memory().load_u64(entry).expect("table is memory");
        let leaves = match Seed::decode_table(word).expect("entry is well formed") {
            Some(leaves) => leaves,
            None => {
                let leaves = self.page();
                let word = Seed::encode_table(leaves).expect("table can be named");
                self.bus.memory().store_u64(entry, word).expect("table is memory");
                leaves
            }
        };
        let entry = walk::entry(leaves, indices.l3).expect("entry lies in its table");
        let protection = Protection::new().with_device_reads(true).with_device_writes(true);
        let leaf = Seed::encode(page, protection).expect("page can be mapped");
        self.bus.memory().store_u64(entry, leaf).expect("table is memory");
    }

    /// Has a program begin, or go on.
    fn start(&mut self, index: usize) {
        let RunningProgram { case, stream, has_begun, .. } = &mut self.programs[index];
        let goes_on = std::mem::replace(has_begun, true);
        let slot = Slot::First.registers(Pairing::ByPlace);
        let stream = RequestStream::new().with_stream(stream.number()).with_goes_on(goes_on);
        let mut writes = vec![(QUEUE.register(&tq::STREAM), stream.into_bits())];
        if !goes_on {
            let bars = (0..).zip(case.bars);
            writes
                .extend(bars.map(|(bar, value)| (EngineOffset(QUEUE.base().0 + slot.bars + 4 * bar), value)));
            let info = RequestInfo::of(4 * case.first_words, case.tasks.into()).expect("it has a length");
            writes.push((manager(&tm::REQUEST_ADDRESS), case.regions[0].0));
            writes.push((manager(&tm::REQUEST_INFO), info.into_bits()));
        }
        writes.push((EngineOffset(QUEUE.base().0 + slot.nid), RequestNid::of(NID).into_bits()));
        writes.push((manager(&tm::PUSH), Push::of(QUEUE).into_bits()));
        self.write(&writes);
    }

    /// Lets the device run a task, or take the next one up; how the request left it, if it did.
    fn step(&mut self) -> Option<(EventInfo, [u32; 2])> {
        loop {
            let event = self.bus.event(Duration::ZERO).expect("bus is sound")?;
            // A fault comes before the end of the request that it ends.
            if event.kind() == Ok(EventKind::TaskManager) {
                let [_, info, word_1, _, word_3] = event.words.map(|word| word.get());
                // Events on the lines are not asked for again.
                for line in 0..tm::LINES {
                    let at = tm::EVENT_INFO.info.at(line).expect("each line has one");
                    self.read(EngineOffset(tm::TASK_MANAGER.base.0 + at));
                }
                return Some((EventInfo::from_bits(info), [word_1, word_3]));
            }
        }
    }

    /// A turn of a program: so many tasks, and then it is asked to give way; to its end, if it is not asked.
    fn turn(&mut self, index: usize, tasks: Option<u32>) {
        self.start(index);
        let mut left = None;
        for _ in 0..tasks.unwrap_or(0) {
            left = self.step();
            if left.is_some() {
                break;
            }
        }
        if left.is_none() && tasks.is_some() {
            let word = RequestNid::of(NID).into_bits();
            self.write(&[(QUEUE.register(&tq::GIVE_WAY), word)]);
            assert_eq!(self.read(QUEUE.register(&tq::GIVE_WAY)), word, "it runs");
        }
        let (info, words) = (0..10_000).find_map(|_| left.take().or_else(|| self.step())).expect("it leaves");
        assert_eq!(info.nid(), NID.number());
        if info.is_aside() {
            self.programs[index].turns += 1;
            return;
        }
        let mut errors = [0; 3];
        if info.code() == EventCode::Failed as u8 {
            let registers = [tm::ERROR.offset(), tm::ERROR_PLACE.offset(), tm::ERROR_VALUE.offset()];
            errors = registers.map(|at| self.read(EngineOffset(tm::TASK_MANAGER.base.0 + at)));
        }
        self.programs[index].end = Some(RequestEnd { code: info.code(), task: info.task(), words, errors });
    }

    /// The memory of a program.
    fn bytes(&self, index: usize) -> Vec<u8> {
        let mut all = Vec::new();
        for page in &self.programs[index].pages {
            let mut bytes = vec![0; PAGE];
            self.bus.memory().read(*page, &mut bytes).expect("page is memory");
            all.extend(bytes);
        }
        all
    }
}

/// Has a group of programs take turns, and compares each with itself alone. How often they gave way, and how many ended well.
fn compare(seed: u64) -> (u32, u32) {
    let mut random = Random::new(seed ^ 0x0be1_57a7);
    let mut group: Vec<Case> = Vec::new();
    let mut number = seed * 1000;
    let numerics = [Numerics::M1, Numerics::Exact][random.below(2) as usize];
    let wanted = 2 + random.below(3) as usize;
    while group.len() < wanted {
        let case = Case { numerics, ..case(number) };
        number += 1;
        if case.tasks > 2 {
            group.push(case);
        }
    }
    let mut engine = Engine::new(&group, numerics);
    let mut live: Vec<usize> = (0..group.len()).collect();
    // A program that begins on a chip where another request came to its end finds the bytes of that one, turns
    // or not. So each begins on a chip that is fresh, or that another request gave way on.
    let mut is_fresh = true;
    while !live.is_empty() {
        let at = random.below(live.len() as u32) as usize;
        let index = live[at];
        if !engine.programs[index].has_begun && !is_fresh {
            if live.iter().all(|&index| !engine.programs[index].has_begun) {
                break;
            }
            continue;
        }
        let tasks = (random.below(8) != 0).then(|| 1 + random.below(3));
        engine.turn(index, tasks);
        is_fresh = engine.programs[index].end.is_none();
        if !is_fresh {
            live.remove(at);
        }
    }
    let (mut turns, mut well) = (0, 0);
    for index in 0..group.len() {
        let Some(end) = engine.programs[index].end else { continue };
        let mut alone = Engine::new(&group[index..=index], numerics);
        alone.turn(0, None);
        assert_eq!(Some(end), alone.programs[0].end, "program {index} of group {seed}");
        assert!(engine.bytes(index) == alone.bytes(0), "bytes of program {index} of group {seed} differ");
        turns += engine.programs[index].turns;
        well += u32::from(end.code == EventCode::Done as u8);
    }
    (turns, well)
}

#[test]
fn programs_that_take_turns_leave_what_each_leaves_alone() {
    let sums = programs(GROUPS).map(compare);
    let (turns, well) = sums.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    println!("{turns} turns were given away, {well} programs ended well");
    assert!(turns > 100 && well > 100, "{turns} turns, {well} programs");
}
