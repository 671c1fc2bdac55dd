//! Faults of the DART: which files are told of one, and how work goes on afterwards.
//!
//! The DART's core makes a descriptor of each fault, [`IoDartErrorInfo`], and hands it to everyone who registered.
//! The driver's own part then reads the engine's status word. If the engine was idle the fault is *benign*: it is
//! kept for its file and nothing else happens. A real one sets a latch, dumps the mappings and the state of the
//! device once, and parks its context for 250 ms, so that a client can recover it. If no client does, its work goes on
//! without the request that faulted. Other contexts keep running all the while: on an M1 the whole machine would have
//! stopped before (seed 000). A device whose policy is to panic is dead until it is reset.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::time::Duration;

use ane_uapi::hw::dart::iso::ContextId;
use ane_uapi::hw::fault::{IoDartErrorInfo, RECOVERY_PARK_MS};
use ane_uapi::hw::status::EngineStatus;
use ane_uapi::ioctl::fault::{FAULT_BENIGN, FAULT_LOST};
use ane_uapi::ioctl::param::FAULTS_MAX;
use ane_uapi::ioctl::stats::Counter;

use super::Clients;
use crate::bus::Bus;
use crate::clock::Time;
use crate::front::FileId;
use crate::hardware::{Caught, Hardware};
use crate::journal::LineKind;
use crate::per_number::PerContext;

/// How long a context is parked after a real fault.
const PARK: Duration = Duration::from_millis(RECOVERY_PARK_MS as u64);

/// How long a fault waits for the request that it belongs to (Chosen: the end of the request follows at once).
const SETTLE: Duration = Duration::from_millis(50);

/// Faults that wait for their request: more than the device has windows.
const OPEN_MAX: usize = 16;

/// A function that is called with each fault's descriptor.
pub type Consumer = Box<dyn FnMut(&IoDartErrorInfo) + Send>;

/// A fault, as it is kept for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// The number of the fault; all faults of the device are counted.
    pub sequence: u64,
    /// Fence of the request that faulted, zero if that is not known or not the file's.
    pub fence: u64,
    /// When, in ticks of the device's clock.
    pub timestamp: u64,
    /// `ANE_FAULT_` flags.
    pub flags: u32,
    pub context: ContextId,
    /// The window that caught it.
    pub window: u16,
    /// The engine's status word at that moment.
    pub engine_status: EngineStatus,
    pub info: IoDartErrorInfo,
}

/// A context that is parked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Park {
    /// Until then, unless a client recovers it.
    pub(crate) until: Time,
    /// The file whose request faulted, once that is known.
    pub(crate) file: Option<FileId>,
}

#[derive(Default)]
pub(super) struct Faults {
    sequence: u64,
    /// A real fault happened and was not recovered from.
    is_latched: bool,
    parked: PerContext<Option<Park>>,
    /// Faults whose request has not been heard of, and since when.
    open: VecDeque<(Time, Record)>,
    consumers: Vec<Consumer>,
    /// The dump of the last time that the latch was set.
    dump: Option<String>,
}

impl std::fmt::Debug for Faults {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Faults").field("latched", &self.is_latched).field("parked", &self.parked).finish()
    }
}

impl Faults {
    /// Where the oldest fault of a context stands that waits for its request.
    fn open_of(&self, context: ContextId) -> Option<usize> {
        self.open.iter().position(|(_, record)| record.context == context)
    }

    /// The contexts whose time is over.
    fn due(&self, now: Time) -> impl Iterator<Item = ContextId> + use<> {
        let parked = self.parked;
        ContextId::ALL
            .into_iter()
            .filter(move |&context| parked[context].is_some_and(|park| park.until <= now))
    }
}

impl Clients {
    /// Hands every fault's descriptor to `consumer` from now on, benign or not, as it was captured.
    pub(crate) fn on_fault(&mut self, consumer: Consumer) {
        self.faults.consumers.push(consumer);
    }

    /// The dump of mappings and of the device's state when a real fault was latched last.
    pub(crate) fn last_dump(&self) -> Option<&str> {
        self.faults.dump.as_deref()
    }

    /// True from a real fault until recovery.
    pub(crate) const fn is_latched(&self) -> bool {
        self.faults.is_latched
    }

    /// True while a context waits for recovery.
    pub(crate) fn is_parked(&self, context: ContextId) -> bool {
        self.park(context).is_some()
    }

    pub(crate) fn park(&self, context: ContextId) -> Option<Park> {
        self.faults.parked[context]
    }

    /// Lets a context's work go on. The latch goes with the last.
    pub(crate) fn unpark(&mut self, context: ContextId) {
        self.faults.parked[context] = None;
        self.faults.is_latched = self.faults.parked.0.iter().any(Option::is_some);
    }

    /// The device was reset: everything is as before the first fault, but for what was recorded.
    pub(crate) fn clear_faults(&mut self) {
        self.faults.is_latched = false;
        self.faults.parked = PerContext::default();
    }

    /// The last fault whose request has not been heard of: its context, and when it was.
    pub(crate) fn last_open_fault(&self) -> Option<(ContextId, u64)> {
        self.faults.open.back().map(|(_, record)| (record.context, record.timestamp))
    }

    /// True if a fault of the context waits for its request.
    pub(crate) fn has_open_fault(&self, context: ContextId) -> bool {
        self.faults.open_of(context).is_some()
    }

    pub(crate) fn fault<B: Bus>(&mut self, hardware: &mut Hardware<B>, caught: Caught) {
        let Caught { window, timestamp, engine_status, info } = caught;
        for consumer in &mut self.faults.consumers {
            consumer(&info);
        }
        self.faults.sequence = self.faults.sequence.saturating_add(1);
        let Some(context) = info.stream().ok().and_then(ContextId::of_stream) else {
            hardware.log(LineKind::Stray, || format!("fault of a stream that is no context's:\n{info}"));
            return;
        };
        let sequence = self.faults.sequence;
        let flags = if engine_status.is_benign() { FAULT_BENIGN } else { 0 };
        let record = Record { sequence, fence: 0, timestamp, flags, context, window, engine_status, info };
        if engine_status.is_benign() {
            self.count(Counter::BenignFaults, 1);
            self.deliver_to_context(hardware, record, Counter::BenignFaults);
            return;
        }
        self.count(Counter::Faults, 1);
        let now = hardware.now();
        let until = now.after(PARK);
        // A second fault of a context that is parked already does not park it for longer.
        self.faults.parked[context].get_or_insert(Park { until, file: None });
        hardware.ring_at(until);
        if !self.faults.is_latched {
            self.faults.is_latched = true;
            let dump = self.dump(hardware, &record);
            hardware.log(LineKind::Dump, || dump.clone());
            self.faults.dump = Some(dump);
        }
        if self.faults.open.len() >= OPEN_MAX
            && let Some((_, oldest)) = self.faults.open.pop_front()
        {
            self.deliver_to_context(hardware, oldest, Counter::Faults);
        }
        self.faults.open.push_back((now, record));
        hardware.ring_at(now.after(SETTLE));
    }

    /// A request of a context ended with a fault: the oldest fault of the context that waits for its request is its.
    /// Gives the number of that fault, or zero if there is none.
    pub(crate) fn attribute<B: Bus>(
        &mut self,
        hardware: &mut Hardware<B>,
        context: ContextId,
        (file, fence): (FileId, u64),
    ) -> u64 {
        if !self.has_open_fault(context) {
            for caught in hardware.find_faults() {
                self.fault(hardware, caught);
            }
        }
        let open = self.faults.open_of(context).and_then(|at| self.faults.open.remove(at));
        let Some((_, mut record)) = open else { return 0 };
        record.fence = fence;
        if let Some(park) = &mut self.faults.parked[context] {
            park.file.get_or_insert(file);
        }
        self.deliver(file, record, Counter::Faults);
        record.sequence
    }

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
        self.announce();
    }

    /// Gives a fault to every file of its context, since it is not known which file caused it.
    fn deliver_to_context<B: Bus>(&mut self, hardware: &Hardware<B>, record: Record, counter: Counter) {
        for file in hardware.contexts().files_of(record.context) {
            self.deliver(file, record, counter);
        }
    }

    /// Ends parks whose time is over, and gives up on requests that faults wait for.
    pub(crate) fn tend_faults<B: Bus>(&mut self, hardware: &mut Hardware<B>, now: Time) {
        for context in self.faults.due(now) {
            hardware.log(LineKind::Unrecovered, || {
                format!("nobody recovered {}; its work goes on", context.label())
            });
            self.unpark(context);
            self.announce();
        }
        while let Some((since, record)) = self.faults.open.front()
            && (now >= since.after(SETTLE) || !hardware.is_at_work(record.context))
        {
            if let Some((_, record)) = self.faults.open.pop_front() {
                self.deliver_to_context(hardware, record, Counter::Faults);
            }
        }
        // Progress may have been made too early for them.
        let parks = self.faults.parked.0.iter().flatten().map(|park| park.until);
        let settles = self.faults.open.front().map(|(since, _)| since.after(SETTLE));
        parks.chain(settles).for_each(|time| hardware.ring_at(time));
    }

    /// The mappings of the context that faulted and the state of the device, in words.
    fn dump<B: Bus>(&self, hardware: &mut Hardware<B>, record: &Record) -> String {
        let context = record.context;
        let mut text = format!(
            "fault {} of {} (processes {:?}), engine status {:#x}\n{}\n",
            record.sequence,
            context.label(),
            self.processes(hardware, context),
            record.engine_status.into_bits(),
            record.info
        );
        if let Some(space) = hardware.contexts().space(context) {
            let count = space.mappings().count();
            let first =
                if count > DUMP_MAX { format!(", of which the first {DUMP_MAX} are") } else { String::new() };
            let _ = writeln!(text, "{count} mappings{first}:");
            for (_, mapping, range, usage) in space.mappings().take(DUMP_MAX) {
                let (start, end) = (range.base().0, range.end().0);
                let _ = writeln!(text, "  {start:#010x}..{end:#010x} mapping {mapping}, {usage}");
            }
        }
        let _ = writeln!(text, "{}", hardware.activity());
        text
    }
}

/// The largest number of mappings that a dump lists (Chosen: a context may have more than a person reads).
const DUMP_MAX: usize = 256;
