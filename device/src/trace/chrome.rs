//! The timeline as a file: Chrome's trace format, which Perfetto and other viewers open.
//!
//! One JSON object whose `traceEvents` are written as they come. Each queue, each DMA circuit and each of the two
//! engines is a row of its own. Work is a complete event (`X`); a request is a pair of events on its queue's row (`B`
//! and `E`), so that one that never ended is seen as well; a fault is an instant (`i`) on its circuit's row. Numbers of
//! an event are in its `args`.
//!
//! The work that the chip would have done is another process in the viewer, with rows for the ways between DRAM, pool and array; its
//! time is that of the timing model. It stands still between tasks, and goes on behind a reset of the device.
//!
//! Each event is written in one piece. [`Writer::finish`] ends the requests that are still open and the file, whatever
//! came before, and is done when the writer is dropped.

use std::fmt::Write as _;
use std::io::{self, Write};

use ane_uapi::hw::td::common::TaskClass;
use ane_uapi::hw::tq::QueueId;

use super::{Event, Record, Stamp, Task, Timeline, What};
use crate::dart::Circuit;
use crate::engine::numerics::Numerics;
use crate::timing::phases::Part;

/// The engine is one process to the viewer.
const PROCESS: u32 = 1;
/// The timing model of the chip is another.
const MODEL: u32 = 2;

/// A row of the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Track {
    Queue(QueueId),
    Circuit(Circuit),
    NeuralEngine,
    PlanarEngine,
    Part(Part),
}

impl Track {
    fn all() -> impl Iterator<Item = Self> {
        let queues = (0..u32::from(QueueId::COUNT)).filter_map(|number| QueueId::new(number).ok());
        let circuits = Circuit::ALL.into_iter().map(Self::Circuit);
        let engines = [Self::NeuralEngine, Self::PlanarEngine];
        queues.map(Self::Queue).chain(circuits).chain(engines).chain(Part::ALL.map(Self::Part))
    }

    fn of(event: &Event) -> Self {
        match event.what {
            What::RequestBegin { .. }
            | What::RequestEnd { .. }
            | What::RequestAside
            | What::TranslationWait { .. } => Self::Queue(event.task.queue),
            What::Transfer { circuit, .. }
            | What::Fault { circuit, .. }
            | What::Fallback { circuit, .. }
            | What::Unpaid { circuit } => Self::Circuit(circuit),
            What::Pass { class: TaskClass::Neural, .. } => Self::NeuralEngine,
            What::Pass { .. } => Self::PlanarEngine,
            What::Modelled { part, .. } => Self::Part(part),
        }
    }

    /// The viewer's thread number, which also orders the rows.
    fn thread(self) -> u32 {
        match self {
            Self::Queue(queue) => 0x10u32.saturating_add(queue.number().into()),
            Self::Circuit(circuit) => 0x20u32.saturating_add(circuit.axi_master()),
            Self::NeuralEngine => 0x30,
            Self::PlanarEngine => 0x31,
            Self::Part(part) => 0x40u32.saturating_add(part as u32),
        }
    }

    const fn process(self) -> u32 {
        if matches!(self, Self::Part(_)) { MODEL } else { PROCESS }
    }

    fn name(self) -> String {
        match self {
            Self::Queue(queue) => format!("queue {}", queue.number()),
            Self::Circuit(circuit) => circuit.name().to_owned(),
            Self::NeuralEngine => "neural engine".to_owned(),
            Self::PlanarEngine => "planar engine".to_owned(),
            Self::Part(part) => part.name().to_owned(),
        }
    }
}

/// A file that is being written.
pub struct Writer<W: Write> {
    sink: W,
    /// The text that is written next, in one piece.
    text: String,
    /// Requests that began and have not ended, by queue.
    open: [bool; QueueId::COUNT as usize],
    latest: Stamp,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Empty,
    Begun,
    /// Ended, or given up because the sink failed.
    Over,
}

impl<W: Write> Writer<W> {
    /// Begins a file with the names of the rows.
    pub fn new(sink: W) -> io::Result<Self> {
        let mut writer = Self {
            sink,
            text: String::new(),
            open: [false; QueueId::COUNT as usize],
            latest: Stamp(0),
            state: State::Empty,
        };
        writer.text.push_str("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
        writer.name("process_name", (PROCESS, 0), "Apple Neural Engine");
        writer.name("process_name", (MODEL, 0), "modelled chip (virtual time)");
        for row in Track::all() {
            writer.name("thread_name", (row.process(), row.thread()), &row.name());
        }
        writer.flush_text()?;
        Ok(writer)
    }

    /// Writes one event.
    ///
    /// # Errors
    ///
    /// The errors of the sink. Nothing more is written to the file then.
    pub fn write(&mut self, record: &Record) -> io::Result<()> {
        if self.state == State::Over {
            return Ok(());
        }
        let Record { start, end, event } = *record;
        if Track::of(&event).process() == PROCESS {
            self.latest = self.latest.max(end);
        }
        match event.what {
            What::RequestBegin { tasks } => {
                self.close(event.task.queue, start);
                self.set_open(event.task.queue, true);
                self.begin(&event, 'B', start);
                self.put(format_args!(",\"args\":{{\"tasks\":{tasks}{}}}}}", Numbers(event.task)));
            }
            What::RequestEnd { succeeded } => {
                if self.set_open(event.task.queue, false) {
                    self.begin(&event, 'E', start);
                    let succeeded = u8::from(succeeded);
                    self.put(format_args!(
                        ",\"args\":{{\"succeeded\":{succeeded}{}}}}}",
                        Numbers(event.task)
                    ));
                }
            }
            What::RequestAside => {
                if self.set_open(event.task.queue, false) {
                    self.begin(&event, 'E', start);
                    self.put(format_args!(",\"args\":{{\"aside\":1{}}}}}", Numbers(event.task)));
                }
            }
            What::Transfer { bytes, .. } => {
                self.complete(record);
                self.put(format_args!(",\"args\":{{\"bytes\":{bytes}{}}}}}", Numbers(event.task)));
            }
            What::Pass { shape: [channels, height, width], numerics, macs, .. } => {
                self.complete(record);
                self.put(format_args!(
                    ",\"args\":{{\"channels\":{channels},\"height\":{height},\"width\":{width},\"macs\":{macs},\
                     \"numerics\":\"{}\"{}}}}}",
                    numerics.map_or("planar", Numerics::name),
                    Numbers(event.task)
                ));
            }
            What::Fallback { address, bytes, .. } => {
                self.begin(&event, 'i', start);
                let task = Numbers(event.task);
                self.put(format_args!(
                    ",\"s\":\"t\",\"args\":{{\"address\":{address},\"bytes\":{bytes}{task}}}}}"
                ));
            }
            What::Unpaid { .. } => {
                self.begin(&event, 'i', start);
                let task = Numbers(event.task);
                self.put(format_args!(",\"s\":\"t\",\"args\":{{\"picoseconds\":0{task}}}}}"));
            }
            What::TranslationWait { picoseconds } => {
                self.begin(&event, 'i', start);
                let task = Numbers(event.task);
                self.put(format_args!(",\"s\":\"t\",\"args\":{{\"picoseconds\":{picoseconds}{task}}}}}"));
            }
            What::Modelled { cycles, .. } => {
                self.complete(record);
                self.put(format_args!(",\"args\":{{\"cycles\":{cycles}{}}}}}", Numbers(event.task)));
            }
            What::Fault { address, .. } => {
                self.begin(&event, 'i', start);
                let task = Numbers(event.task);
                self.put(format_args!(",\"s\":\"t\",\"args\":{{\"address\":{address}{task}}}}}"));
            }
        }
        self.flush_text()
    }

    pub fn drain(&mut self, timeline: &mut Timeline) -> io::Result<()> {
        timeline.drain().try_for_each(|record| self.write(&record))
    }

    /// Ends open requests and the file, which says how many events were lost. Done again, it does nothing.
    pub fn finish(&mut self, lost: u64) -> io::Result<()> {
        if self.state == State::Over {
            return Ok(());
        }
        for queue in (0..u32::from(QueueId::COUNT)).filter_map(|number| QueueId::new(number).ok()) {
            self.close(queue, self.latest);
        }
        self.put(format_args!("\n],\"otherData\":{{\"lost\":{lost}}}}}\n"));
        let written = self.flush_text().and_then(|()| self.sink.flush());
        self.state = State::Over;
        written
    }

    /// Ends the queue's request, if there is one.
    fn close(&mut self, queue: QueueId, at: Stamp) {
        if self.set_open(queue, false) {
            self.head("", Track::Queue(queue), 'E', at);
            self.text.push('}');
        }
    }

    /// True if there was a request open.
    fn set_open(&mut self, queue: QueueId, is_open: bool) -> bool {
        self.open.get_mut(queue.index()).is_some_and(|open| std::mem::replace(open, is_open))
    }

    fn name(&mut self, what: &str, (process, thread): (u32, u32), name: &str) {
        self.separate();
        self.put(format_args!(
            "{{\"name\":\"{what}\",\"ph\":\"M\",\"pid\":{process},\"tid\":{thread},\"args\":{{\"name\":\"{name}\"}}}}"
        ));
    }

    fn complete(&mut self, record: &Record) {
        self.begin(&record.event, 'X', record.start);
        let nanoseconds = record.end.0.saturating_sub(record.start.0);
        self.put(format_args!(",\"dur\":{}", Microseconds(nanoseconds)));
    }

    fn begin(&mut self, event: &Event, phase: char, at: Stamp) {
        let row = Track::of(event);
        match event.what {
            What::RequestBegin { .. } | What::RequestEnd { .. } | What::RequestAside => {
                self.head(&event.task.nid.to_string(), row, phase, at);
            }
            What::Transfer { circuit, .. } => self.head(circuit.name(), row, phase, at),
            What::Pass { class, .. } => self.head(class.name(), row, phase, at),
            What::Modelled { part, .. } => self.head(part.name(), row, phase, at),
            What::Fault { .. } => self.head("fault", row, phase, at),
            What::Fallback { .. } => self.head("physical fall-back", row, phase, at),
            What::Unpaid { .. } => self.head("translation not paid for", row, phase, at),
            What::TranslationWait { .. } => self.head("wait for pe_mmu", row, phase, at),
        }
    }

    fn head(&mut self, name: &str, row: Track, phase: char, at: Stamp) {
        self.separate();
        let (process, thread) = (row.process(), row.thread());
        let at = Microseconds(at.0);
        self.put(format_args!(
            "{{\"name\":\"{name}\",\"ph\":\"{phase}\",\"pid\":{process},\"tid\":{thread},\"ts\":{at}"
        ));
    }

    fn separate(&mut self) {
        if self.state == State::Begun {
            self.text.push(',');
        }
        self.text.push('\n');
        self.state = State::Begun;
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        // A string takes everything.
        let _ = self.text.write_fmt(text);
    }

    fn flush_text(&mut self) -> io::Result<()> {
        let written = self.sink.write_all(self.text.as_bytes());
        self.text.clear();
        if written.is_err() {
            self.state = State::Over;
        }
        written
    }
}

impl<W: Write> Drop for Writer<W> {
    fn drop(&mut self) {
        // A caller who has to know whether it worked has called it before.
        let _ = self.finish(0);
    }
}

/// Nanoseconds as microseconds, to the last digit.
struct Microseconds(u64);

impl std::fmt::Display for Microseconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1_000, self.0 % 1_000)
    }
}

/// The numbers of a task, behind those of an event.
struct Numbers(Task);

impl std::fmt::Display for Numbers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Task { queue, nid, index } = self.0;
        write!(f, ",\"queue\":{},\"nid\":{},\"task\":{index}", queue.number(), nid.number())
    }
}

#[cfg(test)]
mod tests;
