//! Faults: what the DART caught, who is told, and going on afterwards.
//!
//! The DART's core makes a descriptor of each fault, [`IoDartErrorInfo`], and hands it to everyone who registered.
//! The driver's own part then reads the engine's status word. If the engine was idle the fault is *benign*: it is
//! kept for its file and nothing else happens. A real one sets a latch, dumps what is mapped and what the device is
//! doing, once, and parks its context for 250 ms, for somebody to recover it; if nobody does, its work goes on
//! without the request that faulted. Other contexts keep running all the while: on an M1 the whole machine would have
//! stopped before (seed 000). A device whose policy is to panic is dead until it is reset.
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::time::Duration;

use ane_uapi::hw::dart::error::FaultAddress;
use ane_uapi::hw::dart::iso::ContextId;
use ane_uapi::hw::dart::regs::{self, ErrorStatus, Window};
use ane_uapi::hw::fault::{IoDartErrorInfo, RECOVERY_PARK_MS};
use ane_uapi::hw::space::EngineOffset;
use ane_uapi::hw::status::EngineStatus;
use ane_uapi::hw::tm;
use ane_uapi::hw::tq::{self, QueueId};
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::fault::{FAULT_BENIGN, FAULT_LOST};
use ane_uapi::ioctl::param::FAULTS_MAX;
use ane_uapi::ioctl::stats::Counter;
use ane_uapi::wire::event::Event;

use crate::bus::{Bus, Operation};
use crate::clock::Time;
use crate::device::Driver;
use crate::fence::Ending;
use crate::front::FileId;
use crate::journal::Kind;
use crate::submit::RequestId;
use crate::tm::manager;

/// How long a context is parked after a real fault.
const PARK: Duration = Duration::from_millis(RECOVERY_PARK_MS as u64);

/// How long a fault waits for the request that it belongs to (Chosen: the end of the request follows at once).
const SETTLE: Duration = Duration::from_millis(50);

/// Faults that wait for their request: more than the device has windows.
const OPEN_MAX: usize = 16;

/// Whoever wants to see every fault's descriptor.
pub type Consumer = Box<dyn FnMut(&IoDartErrorInfo) + Send>;

/// A fault, as it is kept for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// Its number; counts all faults of the device.
    pub sequence: u64,
    /// Fence of the request that faulted, zero if that is not known or not the file's.
    pub fence: u64,
    /// When, in ticks of the device's clock.
    pub timestamp: u64,
    /// `ANE_FAULT_` flags.
    pub flags: u32,
    /// The context.
    pub context: ContextId,
    /// The window that caught it.
    pub window: u16,
    /// The engine's status word at that moment.
    pub engine_status: EngineStatus,
    /// The descriptor.
    pub info: IoDartErrorInfo,
}

/// A context that is parked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Park {
    /// Until then, unless somebody recovers it.
    pub(crate) until: Time,
    /// Whose request it was, once that is known.
    pub(crate) file: Option<FileId>,
}

/// What is known of faults.
#[derive(Default)]
pub(crate) struct Faults {
    sequence: u64,
    /// A real fault happened and was not recovered from.
    is_latched: bool,
    parked: [Option<Park>; ContextId::COUNT as usize],
    /// Faults whose request has not been heard of, and since when.
    open: VecDeque<(Time, Record)>,
    consumers: Vec<Consumer>,
    /// What was dumped when the latch was set last.
    dump: Option<String>,
}

impl std::fmt::Debug for Faults {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Faults").field("latched", &self.is_latched).field("parked", &self.parked).finish()
    }
}

impl Faults {
    /// True while a context waits for recovery.
    pub(crate) fn is_parked(&self, context: ContextId) -> bool {
        self.park(context).is_some()
    }

    pub(crate) fn park(&self, context: ContextId) -> Option<Park> {
        self.parked.get(context.index()).copied().flatten()
    }

    /// Lets a context's work go on. The latch goes with the last.
    pub(crate) fn unpark(&mut self, context: ContextId) {
        if let Some(park) = self.parked.get_mut(context.index()) {
            *park = None;
        }
        self.is_latched = self.parked.iter().any(Option::is_some);
    }

    /// Everything is as before the first fault, but for what was recorded.
    pub(crate) fn clear(&mut self) {
        self.is_latched = false;
        self.parked = [None; ContextId::COUNT as usize];
    }

    /// The contexts whose time is over.
    fn due(&self, now: Time) -> impl Iterator<Item = ContextId> + use<> {
        let parked = self.parked;
        ContextId::ALL
            .into_iter()
            .zip(parked)
            .filter_map(move |(context, park)| (park?.until <= now).then_some(context))
    }
}

impl<B: Bus> Driver<B> {
    /// Hands every fault's descriptor to `consumer` from now on, benign or not, as it was captured.
    pub fn on_fault(&mut self, consumer: Consumer) {
        self.faults.consumers.push(consumer);
    }

    /// What was mapped and what the device was doing when a real fault was latched last.
    pub fn last_dump(&self) -> Option<&str> {
        self.faults.dump.as_deref()
    }

    /// True from a real fault until recovery.
    pub const fn is_latched(&self) -> bool {
        self.faults.is_latched
    }

    /// A window has caught a fault, says an event.
    pub(crate) fn fault_event(&mut self, event: &Event) {
        let [status, ..] = event.words.map(|word| word.get());
        let source = event.source.get();
        if let Some(window) = Window::ALL.iter().copied().find(|&window| window as u16 == source) {
            // One fault is held at a time: the next is caught once this one is cleared.
            let at = EngineOffset(window.base().0.saturating_add(regs::ERROR_STATUS.offset()));
            let cleared = self.bus.batch(&[Operation::Write(at, status)], &mut []);
            // A dead device takes no writes, and says so itself.
            let is_dead = matches!(
                cleared,
                Err(crate::bus::BusError::Refused { status: ane_uapi::wire::ctrl::Status::Dead, .. })
            );
            if !is_dead {
                self.expect(cleared);
            }
        }
        let engine_status = EngineStatus::from_bits(event.engine_status.get());
        self.fault(source, event.timestamp.get(), engine_status, event.info);
    }

    /// Looks for faults in the windows that no event told of.
    pub(crate) fn find_faults(&mut self) {
        for window in Window::CARRYING_DMA {
            let at = |offset: u32| EngineOffset(window.base().0.saturating_add(offset));
            let registers = [
                at(regs::ERROR_STATUS.offset()),
                at(regs::ERROR_ADDRESS_LOW.offset()),
                at(regs::ERROR_ADDRESS_HIGH.offset()),
            ];
            let mut values = [0; 3];
            let read = self.bus.batch(&registers.map(Operation::Read), &mut values);
            if self.expect(read).is_none() {
                return;
            }
            let [status, low, high] = values;
            let status = ErrorStatus::from_bits(status);
            if !status.fault() {
                continue;
            }
            let cleared = self.bus.batch(&[Operation::Write(registers[0], status.into_bits())], &mut []);
            self.expect(cleared);
            let address = FaultAddress::from_halves(low, high);
            // Which master it was stood in the event only. The engine was at work: a request ended of it.
            let info = IoDartErrorInfo::new(status, address, [0; 4]);
            self.fault(window as u16, 0, crate::power::AT_WORK, info);
        }
    }

    /// A fault has happened.
    fn fault(&mut self, window: u16, timestamp: u64, engine_status: EngineStatus, info: IoDartErrorInfo) {
        for consumer in &mut self.faults.consumers {
            consumer(&info);
        }
        self.faults.sequence = self.faults.sequence.saturating_add(1);
        let Some(context) = info.stream().ok().and_then(ContextId::of_stream) else {
            let line = || format!("fault of a stream that is no context's:\n{info}");
            self.journal.log(Kind::Stray, self.clock.now(), line);
            return;
        };
        let sequence = self.faults.sequence;
        let flags = if engine_status.is_benign() { FAULT_BENIGN } else { 0 };
        let record = Record { sequence, fence: 0, timestamp, flags, context, window, engine_status, info };
        if engine_status.is_benign() {
            self.counters.add(Counter::BenignFaults, 1);
            self.deliver_to_context(record, Counter::BenignFaults);
            return;
        }
        self.counters.add(Counter::Faults, 1);
        let now = self.clock.now();
        let until = now.after(PARK);
        if let Some(park) = self.faults.parked.get_mut(context.index()) {
            // A second fault of a context that is parked already does not park it for longer.
            park.get_or_insert(Park { until, file: None });
        }
        self.ring_at(until);
        if !self.faults.is_latched {
            self.faults.is_latched = true;
            let dump = self.dump(&record);
            self.journal.log(Kind::Dump, now, || dump.clone());
            self.faults.dump = Some(dump);
        }
        if self.faults.open.len() >= OPEN_MAX
            && let Some((_, oldest)) = self.faults.open.pop_front()
        {
            self.deliver_to_context(oldest, Counter::Faults);
        }
        self.faults.open.push_back((now, record));
        self.ring_at(now.after(SETTLE));
    }

    /// A request of a context ended with a fault: the oldest fault of the context that waits for its request is its.
    /// Its number, or zero if there is none.
    pub(crate) fn attribute(&mut self, context: ContextId, file: FileId, fence: u64) -> u64 {
        let of_context =
            |faults: &Faults| faults.open.iter().position(|(_, record)| record.context == context);
        if of_context(&self.faults).is_none() {
            self.find_faults();
        }
        let Some((_, mut record)) = of_context(&self.faults).and_then(|at| self.faults.open.remove(at))
        else {
            return 0;
        };
        record.fence = fence;
        if let Some(Some(park)) = self.faults.parked.get_mut(context.index()) {
            park.file.get_or_insert(file);
        }
        self.deliver(file, record, Counter::Faults);
        record.sequence
    }

    /// Gives a fault to a file.
    fn deliver(&mut self, file: FileId, record: Record, counter: Counter) {
        let Some(known) = self.files.get_mut(&file) else { return };
        known.counters.add(counter, 1);
        if known.faults.len() >= FAULTS_MAX as usize {
            known.faults.pop_front();
            known.has_lost_faults = true;
        }
        known.faults.push_back(record);
        if std::mem::take(&mut known.has_lost_faults)
            && let Some(oldest) = known.faults.front_mut()
        {
            oldest.flags |= FAULT_LOST;
        }
        known.is_readable = true;
        self.news = self.news.wrapping_add(1);
    }

    /// Gives a fault to every file of its context: nobody knows whose it was.
    fn deliver_to_context(&mut self, record: Record, counter: Counter) {
        for file in self.files_of(record.context) {
            self.deliver(file, record, counter);
        }
    }

    /// Ends parks whose time is over, and gives up on requests that faults wait for.
    pub(crate) fn tend_faults(&mut self, now: Time) {
        for context in self.faults.due(now) {
            let line = || format!("nobody recovered {}; its work goes on", context.label());
            self.journal.log(Kind::Unrecovered, now, line);
            self.faults.unpark(context);
            self.news = self.news.wrapping_add(1);
        }
        while let Some((since, record)) = self.faults.open.front()
            && (now >= since.after(SETTLE) || !self.is_at_work(record.context))
        {
            if let Some((_, record)) = self.faults.open.pop_front() {
                self.deliver_to_context(record, Counter::Faults);
            }
        }
    }

    /// The device has declared itself dead: every request ends, the one that faulted with its fault.
    pub(crate) fn die(&mut self) {
        if self.is_dead() {
            return;
        }
        let line = || "device declared itself dead after a fault; it has to be reset".to_owned();
        self.journal.log(Kind::Device, self.clock.now(), line);
        self.health = crate::device::Health::Dead;
        let at_fault = self.faults.open.back().map(|(_, record)| (record.context, record.timestamp));
        let with_device: Vec<RequestId> = self.hardware.take_all(None).map(|(id, _)| id).collect();
        for id in with_device {
            let Some(request) = self.requests.get(id) else { continue };
            let (file, fence, context) = (request.file, request.fence, request.context);
            let is_its = at_fault.is_some_and(|(faulted, _)| faulted == context);
            let has_open = self.faults.open.iter().any(|(_, record)| record.context == context);
            let fault = if is_its && has_open { self.attribute(context, file, fence) } else { 0 };
            let timestamp = at_fault.map_or(0, |(_, timestamp)| timestamp);
            self.finish(id, Ending { result: Err(Errno::EIO), fault, timestamp });
        }
        let all: Vec<RequestId> = self.requests.iter().map(|(id, _)| id).collect();
        for id in all {
            self.finish(id, Ending::unstarted(Errno::EIO));
        }
        self.news = self.news.wrapping_add(1);
    }

    /// What is mapped in the context that faulted, and what the device is doing, in words.
    fn dump(&mut self, record: &Record) -> String {
        let context = record.context;
        let processes: Vec<u32> = self
            .files_of(context)
            .into_iter()
            .filter_map(|file| self.files.get(&file).map(|known| known.who.process))
            .collect();
        let mut text = format!(
            "fault {} of {} (processes {processes:?}), engine status {:#x}\n{}\n",
            record.sequence,
            context.label(),
            record.engine_status.into_bits(),
            record.info
        );
        if let Some(space) = self.contexts.space(context) {
            let mappings: Vec<_> = space.mappings().take(DUMP_MAX).collect();
            let _ = writeln!(text, "{} mappings:", mappings.len());
            for (_, mapping, range, usage) in mappings {
                let (start, end) = (range.base().0, range.end().0);
                let _ = writeln!(text, "  {start:#010x}..{end:#010x} mapping {mapping}, {usage}");
            }
        }
        let mut reads = vec![Operation::Read(manager(&tm::STATUS)), Operation::Read(manager(&tm::COMMITTED))];
        reads.extend(QueueId::ALL.map(|queue| Operation::Read(queue.register(&tq::FREE_SPACE))));
        let mut values = [0; 2 + QueueId::ALL.len()];
        match self.bus.batch(&reads, &mut values) {
            Ok(_) => {
                let [status, committed, free @ ..] = values;
                let _ = writeln!(
                    text,
                    "manager status {status:#x}, last started {committed:#x}, free sets {free:?}"
                );
            }
            Err(why) => {
                let _ = writeln!(text, "registers cannot be read: {why}");
            }
        }
        text
    }
}

/// Mappings that a dump lists: a context may have more than anybody wants to read.
const DUMP_MAX: usize = 256;
