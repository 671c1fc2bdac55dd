//! A machine around the device: guest memory with page tables in it, a driver's register sequence, and an
//! engine that does what a test tells it.

use std::collections::VecDeque;
use std::task::Poll;

use ane_device::engine::{Done, Engine, EngineError, Ports, TaskContext};
use ane_device::event::Event;
use ane_device::refusal::Refusal;
use ane_device::sram::Known;
use ane_device::td::register_file::RegisterFile;
use ane_device::time::Ticks;
use ane_device::{Ane, Options};
use ane_uapi::hw::bar::BarIndex;
use ane_uapi::hw::dart::pte::{LeafFormat, Seed};
use ane_uapi::hw::dart::regs::{self, StreamCommand, Tcr, Window};
use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::dart::ttbr::Ttbr;
use ane_uapi::hw::dart::walk::WalkIndices;
use ane_uapi::hw::nid::Nid;
use ane_uapi::hw::space::{EngineOffset, Iova, PhysAddr};
use ane_uapi::hw::td::header::{Flags, Header, Identity, Length, NextPointer, OperandBases};
use ane_uapi::hw::td::record::{FULL, RecordHeader};
use ane_uapi::hw::tm::{self, EventCode, Push, RequestInfo};
use ane_uapi::hw::tq::{self, QueueId, RequestNid, RequestSize, Slot};
use ane_uapi::hw::usage::{Protection, ProtectionClass};
use ane_uapi::register::{Reg, Word};
use vm_memory::{Bytes, GuestAddress, GuestMemoryMmap};

pub(crate) type Memory = GuestMemoryMmap<()>;

pub(crate) const PAGE: u32 = 0x4000;

/// Guest memory: far from zero, so that a device address used as a physical one hits nothing.
pub(crate) const MEMORY: u64 = 0x1_0000_0000;
const L2_TABLE: u64 = MEMORY;
const L3_TABLE: u64 = MEMORY + 0x4000;
const FRAMES: u64 = MEMORY + 0x8000;

/// Pages of the machine, at these device addresses and up.
pub(crate) const PAGES: u32 = 32;
/// Where chains of descriptors lie: BAR 0.
pub(crate) const TASKS: Iova = Iova(0x4000);
/// Where the driver keeps its copy of the first descriptor.
pub(crate) const COPY: Iova = Iova(0x8000);
pub(crate) const SOURCE: Iova = Iova(0xc000);
pub(crate) const RESULT: Iova = Iova(0x1_0000);

/// A task that the engine was asked to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) queue: u8,
    pub(crate) nid: u8,
    pub(crate) stream: u8,
    pub(crate) index: u16,
    pub(crate) tid: u16,
}

/// An engine that writes down what it runs, and then does what it was told.
#[derive(Debug, Default)]
pub(crate) struct Scripted {
    pub(crate) ran: Vec<Ran>,
    /// Outcome of the next tasks; those behind run to their ends at once.
    pub(crate) outcomes: VecDeque<Result<Done, EngineError>>,
    /// Steps after which the next tasks go on in another one.
    pub(crate) turns: u32,
    /// The time of each task.
    pub(crate) cost: Ticks,
    /// Bytes that each task copies from SOURCE to RESULT.
    pub(crate) copies: usize,
    pub(crate) on_chip: OnChip,
}

/// Which bytes on chip someone wrote, apart from tasks: from where on, and how many.
#[derive(Debug, Default)]
pub(crate) struct OnChip {
    pub(crate) written: Vec<(u32, u32)>,
}

impl Known for OnChip {
    fn written(&mut self, at: u32, len: u32) {
        self.written.push((at, len));
    }

    fn copied(&mut self, _: u32, _: u32, _: u32) {}
}

impl Engine<Memory> for Scripted {
    fn run(
        &mut self,
        task: &TaskContext<'_>,
        _: &RegisterFile,
        ports: Ports<'_, Memory>,
    ) -> Poll<Result<Done, EngineError>> {
        use ane_device::dart::{Circuit, Origin};
        use ane_uapi::hw::space::IovaRange;
        if let Some(left) = self.turns.checked_sub(1) {
            self.turns = left;
            return Poll::Pending;
        }
        self.ran.push(Ran {
            queue: task.queue.number(),
            nid: task.nid.number(),
            stream: task.stream.number(),
            index: task.index,
            tid: task.header.identity.tid(),
        });
        if self.copies > 0 {
            let fault = |info: ane_uapi::hw::fault::IoDartErrorInfo| EngineError::Fault {
                address: info.address.get(),
            };
            let range = |at: Iova| IovaRange::new(at.0.into(), self.copies as u64).unwrap();
            let origin = |bar| Origin { task: Some(task.index.into()), register: None, bar: Some(bar) };
            let mut bytes = vec![0; self.copies];
            ports.dart.set_origin(origin(SOURCE));
            let mut fetch = ports.dart.dma(ports.memory, task.stream, Circuit::TileFetch1);
            fetch.read(range(SOURCE), &mut bytes).map_err(fault)?;
            ports.dart.set_origin(origin(RESULT));
            let mut send = ports.dart.dma(ports.memory, task.stream, Circuit::TileSend);
            send.write(range(RESULT), &bytes).map_err(fault)?;
        }
        Poll::Ready(self.outcomes.pop_front().unwrap_or(Ok(Done { cost: self.cost, ..Done::default() })))
    }

    fn is_elsewhere(&self) -> bool {
        false
    }

    fn known(&mut self) -> Option<&mut dyn Known> {
        Some(&mut self.on_chip)
    }
}

/// The device, its memory and the time.
pub(crate) struct Machine<E = Scripted> {
    pub(crate) ane: Ane<Memory, E>,
    pub(crate) now: Ticks,
    /// Registers written by the driver's sequences, but for the 32 BARs.
    pub(crate) writes: u32,
}

/// Physical page of a device page: scattered, so that contiguity is never assumed.
pub(crate) fn frame(page: u32) -> PhysAddr {
    PhysAddr(FRAMES + u64::from(page * 13 % PAGES) * u64::from(PAGE))
}

pub(crate) fn memory() -> Memory {
    let bytes = 0x8000 + PAGES as usize * PAGE as usize;
    let memory = Memory::from_ranges(&[(GuestAddress(MEMORY), bytes)]).unwrap();
    memory.write_obj(Seed::encode_table(PhysAddr(L3_TABLE)).unwrap(), GuestAddress(L2_TABLE)).unwrap();
    for page in 1..PAGES {
        map(&memory, page, true);
    }
    memory
}

/// Maps or unmaps a page.
pub(crate) fn map(memory: &Memory, page: u32, is_mapped: bool) {
    let protection = Protection::of(ProtectionClass::ReadWrite);
    let leaf = if is_mapped { Seed::encode(frame(page), protection).unwrap() } else { 0 };
    let entry = L3_TABLE + 8 * u64::from(WalkIndices::of_iova(Iova(page * PAGE)).l3);
    memory.write_obj(leaf, GuestAddress(entry)).unwrap();
}

impl Machine<Scripted> {
    pub(crate) fn new() -> Self {
        Self::with(&Options::default(), Scripted::default())
    }

    pub(crate) fn with_options(options: &Options) -> Self {
        Self::with(options, Scripted::default())
    }
}

impl<E: Engine<Memory>> Machine<E> {
    pub(crate) fn with(options: &Options, engine: E) -> Self {
        let ane = Ane::with_engine(options, memory(), engine).ok().unwrap();
        let mut machine = Self { ane, now: Ticks(1_000), writes: 0 };
        machine.probe();
        machine
    }

    /// The steps that a driver takes once: DART tables in every window, queues on, interrupts on.
    pub(crate) fn probe(&mut self) {
        for window in Window::CARRYING_DMA {
            self.program_window(window, StreamId::BASE);
        }
        self.set(tm::TASK_MANAGER.base, &tm::QUEUE_ENABLE, 0x1000);
        self.set(tm::TASK_MANAGER.base, &tm::INTERRUPT_ENABLE, 0x400_0000);
        self.set(tm::TASK_MANAGER.base, &tm::LINE_ENABLE, 0x2);
        for queue in QueueId::ALL {
            self.set(queue.base(), &tq::PRTY, queue.priority().into());
        }
        self.writes = 0;
    }

    pub(crate) fn program_window(&mut self, window: Window, stream: StreamId) {
        let word =
            |register: u32, instance: u16| EngineOffset(window.base().0 + register + 4 * u32::from(instance));
        let enabled = self.read(word(regs::ENABLED_STREAMS.offset(), 0)) | u32::from(stream.bit());
        self.write(word(regs::ENABLED_STREAMS.offset(), 0), enabled);
        let tcr = Tcr::new().with_translate(true).into_bits();
        self.write(word(regs::TCR.offset(), stream.number().into()), tcr);
        let base = Ttbr::of(PhysAddr(L2_TABLE)).unwrap().into_bits();
        self.write(word(regs::TTBR.offset(), stream.table_base(0).unwrap()), base);
    }

    /// Drops every translation of the base stream.
    pub(crate) fn invalidate(&mut self) {
        for window in Window::CARRYING_DMA {
            let word = |register: u32| EngineOffset(window.base().0 + register);
            self.write(word(regs::STREAM_SELECT.offset()), 1);
            let command = StreamCommand::new().with_invalidate(true).into_bits();
            self.write(word(regs::STREAM_COMMAND.offset()), command);
        }
    }

    pub(crate) fn try_read(&mut self, at: EngineOffset) -> Result<u32, Refusal> {
        self.ane.read(at, self.now)
    }

    pub(crate) fn read(&mut self, at: EngineOffset) -> u32 {
        self.try_read(at).unwrap()
    }

    pub(crate) fn try_write(&mut self, at: EngineOffset, value: u32) -> Result<(), Refusal> {
        self.ane.write(at, value, self.now)
    }

    pub(crate) fn write(&mut self, at: EngineOffset, value: u32) {
        self.writes += 1;
        self.try_write(at, value).unwrap();
    }

    pub(crate) fn get<T: Word>(&mut self, base: EngineOffset, register: &Reg<T>) -> T {
        T::from_word(self.read(EngineOffset(base.0 + register.offset())))
    }

    pub(crate) fn set<T: Word>(&mut self, base: EngineOffset, register: &Reg<T>, value: u32) {
        self.write(EngineOffset(base.0 + register.offset()), value);
    }

    pub(crate) fn manager<T: Word>(&mut self, register: &Reg<T>) -> T {
        self.get(tm::TASK_MANAGER.base, register)
    }

    /// Writes words to device addresses, as a driver with the pages mapped would.
    pub(crate) fn store(&mut self, at: Iova, words: &[u32]) {
        for (i, word) in words.iter().enumerate() {
            let at = at.0 + 4 * i as u32;
            let physical = frame(at / PAGE).0 + u64::from(at % PAGE);
            self.ane.memory().write_obj(*word, GuestAddress(physical)).unwrap();
        }
    }

    pub(crate) fn load(&mut self, at: Iova) -> u32 {
        let physical = frame(at.0 / PAGE).0 + u64::from(at.0 % PAGE);
        self.ane.memory().read_obj(GuestAddress(physical)).unwrap()
    }

    /// The Linux driver's sequence up to the push, for a request whose first descriptor is at `address`.
    pub(crate) fn stage(&mut self, queue: QueueId, address: Iova, info: RequestInfo, nid: Nid) {
        let base = queue.base();
        self.set(base, &tq::STATUS, 1);
        for bar in BarIndex::ALL {
            let value = match bar.number() {
                0 => TASKS.0,
                4 => RESULT.0,
                5 => SOURCE.0,
                _ => 0,
            };
            let at = Slot::First.registers(tq::Pairing::ByName).bar(bar);
            self.try_write(EngineOffset(base.0 + at), value).unwrap();
        }
        let size = RequestSize::new().with_last_word(info.last_word()).into_bits();
        self.set(base, &tq::REQ_SIZE1, size);
        self.set(base, &tq::REQ_ADDR1, address.0);
        self.set(base, &tq::REQ_NID1, RequestNid::of(nid).into_bits());
        self.set(tm::TASK_MANAGER.base, &tm::REQUEST_ADDRESS, address.0);
        self.set(tm::TASK_MANAGER.base, &tm::REQUEST_INFO, info.into_bits());
    }

    pub(crate) fn push(&mut self, queue: QueueId) {
        self.set(tm::TASK_MANAGER.base, &tm::PUSH, Push::of(queue).into_bits());
    }

    pub(crate) fn submit(&mut self, queue: QueueId, address: Iova, info: RequestInfo, nid: Nid) {
        self.stage(queue, address, info, nid);
        self.push(queue);
    }

    /// A chain of `tasks` full descriptors at BAR 0, the first copied, submitted to the Linux driver's queue.
    pub(crate) fn submit_chain(&mut self, tasks: u16) {
        self.store_chain(tasks);
        self.submit(QueueId::LINUX, COPY, info(tasks), Nid::LINUX);
    }

    pub(crate) fn store_chain(&mut self, tasks: u16) {
        for index in 0..tasks {
            let words = descriptor(index, tasks);
            self.store(Iova(TASKS.0 + 0x300 * u32::from(index)), &words);
            if index == 0 {
                self.store(COPY, &words);
            }
        }
    }

    /// Works until there is nothing left to do now.
    pub(crate) fn run(&mut self) {
        for _ in 0..100_000 {
            if !self.ane.work(self.now).pending {
                return;
            }
        }
        panic!("device does not come to rest");
    }

    pub(crate) fn events(&mut self) -> Vec<Event> {
        self.ane.take_events().collect()
    }

    /// Reads both lines to their ends, which have to say the same: each event's code, network id and last task.
    pub(crate) fn drain(&mut self) -> Vec<(u8, u8, u16)> {
        let [first, second] = [0, 1].map(|line| {
            let word = |register: u32| EngineOffset(tm::TASK_MANAGER.base.0 + register + 0x14 * line);
            let waiting = self.read(word(tm::EVENT_COUNT.offset()));
            let info = |_| tm::EventInfo::from_bits(self.read(word(tm::EVENT_INFO.offset())));
            (0..waiting).map(info).collect::<Vec<_>>()
        });
        assert_eq!(first, second);
        first.into_iter().map(|info| (info.code(), info.nid(), info.task())).collect()
    }

    /// The three error registers.
    pub(crate) fn errors(&mut self) -> [u32; 3] {
        [0, 4, 8].map(|n| self.read(EngineOffset(tm::TASK_MANAGER.base.0 + tm::ERROR.offset() + n)))
    }

    /// The code in the first error register; 0 if none is held.
    pub(crate) fn error_code(&mut self) -> u32 {
        self.errors()[0] & 0xff
    }
}

/// The event of a request whose tasks all ran.
pub(crate) fn done(nid: u8, tasks: u16) -> (u8, u8, u16) {
    (EventCode::Done as u8, nid, tasks - 1)
}

/// The event of a request that failed at this task.
pub(crate) fn failed(nid: u8, task: u16) -> (u8, u8, u16) {
    (EventCode::Failed as u8, nid, task)
}

pub(crate) fn info(tasks: u16) -> RequestInfo {
    RequestInfo::of(0x274, tasks.into()).unwrap()
}

/// Header of task `index` of a chain that lies 0x300 bytes apart at BAR 0.
pub(crate) fn header(index: u16, tasks: u16) -> Header {
    let is_last = index + 1 == tasks;
    let next = if is_last { 0 } else { 0x300 * (u32::from(index) + 1) };
    Header {
        identity: Identity::new()
            .with_tid(index)
            .with_nid(if index == 0 { Nid::LINUX.number() } else { 0 })
            .with_lnid(index != 0)
            .with_eon(is_last),
        length: Length::new().with_next_size(if is_last { 0 } else { 156 }),
        flags: Flags::new().with_src_loc(true).with_dst_loc(true),
        next: NextPointer::from_bits(next),
        operands: OperandBases::new()
            .with_rbase0(5)
            .with_rbe0(true)
            .with_wbase(4)
            .with_wbe(true)
            .with_tbe(!is_last),
        ..Header::default()
    }
}

/// A full descriptor of zeroes.
pub(crate) fn descriptor(index: u16, tasks: u16) -> Vec<u32> {
    words(&header(index, tasks), &[])
}

/// A full descriptor of zeroes but for some registers.
pub(crate) fn words(header: &Header, values: &[(u32, u32)]) -> Vec<u32> {
    let mut words = header.encode()[..header.words()].to_vec();
    for record in FULL {
        words.push(record);
        let record = RecordHeader::from_bits(record);
        for i in 0..record.count() {
            let address = record.address() + 4 * i;
            let value = values.iter().find(|(known, _)| *known == address).map_or(0, |(_, value)| *value);
            words.push(value);
        }
    }
    words
}
