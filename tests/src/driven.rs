//! Runs programs over the driver's memory: buffers of a context, mapped as the driver maps them.
//!
//! This is [`crate::runner`] with the driver's own contexts, buffers and page tables in the place of a guest's, and
//! nothing of its queues.

use std::collections::BTreeMap;

use ane::container::{Direction, Program, Role, Surface};
use ane_driver::bo::{BufferId, Create, Space, Use};
use ane_driver::bus::{Bus, Operation};
use ane_driver::front::{FileId, User};
use ane_driver::iso::{Contexts, Seeker};
use ane_uapi::hw::dart::iso::ContextId;
use ane_uapi::hw::nid::Nid;
use ane_uapi::hw::space::{EngineOffset, Iova, IovaRange};
use ane_uapi::hw::tm::{self, InterruptEnable, LineEnable, Push, QueueEnable, RequestInfo};
use ane_uapi::hw::tq::{self, Pairing, QueueId, QueueStatus, RequestNid, RequestStream, Slot};
use ane_uapi::hw::usage::Usage;
use ane_uapi::ioctl::context::ContextPolicy;
use ane_uapi::wire::event::EventKind;
use half::f16;

use crate::runner::event_lines;

/// Set in the first error register while an error is held.
const ERROR: u32 = 1 << 31;

/// A device, and who has which context of it.
pub struct Driven<B> {
    /// The way to it.
    pub bus: B,
    pub contexts: Contexts,
}

/// A program in buffers of a context.
#[derive(Clone, Debug)]
pub struct ContextProgram {
    pub context: ContextId,
    /// The buffer of each BAR.
    pub bars: BTreeMap<u8, Use>,
    /// BARs that lead somewhere else, wherever that is.
    pub forged: BTreeMap<u8, Iova>,
    first: Use,
    first_bytes: u32,
    tasks: u32,
}

/// A file that asks for a context, of a user who may do as he likes.
pub const fn seeker(file: u64) -> Seeker {
    Seeker { file: FileId(file), user: User { id: 0, is_privileged: true } }
}

impl<B: Bus> Driven<B> {
    /// A driver of a device that nobody has opened.
    ///
    /// # Panics
    ///
    /// If it is no device for this driver.
    pub fn new(bus: B) -> Self {
        let contexts = Contexts::new(&bus).expect("page tables are known");
        Self { bus, contexts }
    }

    /// Gives a file a context.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn open(&mut self, file: u64) -> ContextId {
        let attached = self.contexts.attach(&mut self.bus, seeker(file), ContextPolicy::Refuse, None);
        attached.expect("a context is free").context
    }

    /// Takes a file's context back.
    ///
    /// # Panics
    ///
    /// If it has none.
    pub fn close(&mut self, file: u64) {
        self.contexts.detach(&mut self.bus, FileId(file)).expect("the file has a context");
    }

    /// The buffers of a context, and the bus.
    ///
    /// # Panics
    ///
    /// If nobody has it.
    pub fn space(&mut self, context: ContextId) -> (&mut Space, &mut B) {
        (self.contexts.space_mut(context).expect("context is in use"), &mut self.bus)
    }

    /// Makes a buffer.
    ///
    /// # Panics
    ///
    /// If it cannot be made.
    pub fn buffer(&mut self, context: ContextId, bytes: u64, usage: Usage, flags: u32) -> BufferId {
        let (space, bus) = self.space(context);
        let create = Create { size: bytes, usage: usage as u32, flags, ..Create::default() };
        space.create(bus, &create).expect("a buffer can be made")
    }

    /// Makes the buffers of a program, with these flags, and writes what it comes with into them.
    ///
    /// # Panics
    ///
    /// If they cannot be made.
    pub fn load(&mut self, context: ContextId, program: &Program<'_>, flags: u32) -> ContextProgram {
        let stream = program.stream.to_vec();
        let mut bars = BTreeMap::new();
        for bar in &program.bars {
            let (bytes, usage, contents) = match bar.role {
                Role::Tasks => (stream.len() as u64, Usage::Program, &*stream),
                Role::Constants(index) => {
                    let bytes = program.constants[index].bytes;
                    (bytes.len() as u64, Usage::Weights, bytes)
                }
                Role::Surface(index) => {
                    let surface = &program.surfaces[index];
                    let is_input = surface.direction == Direction::Input;
                    (surface.buffer_bytes, if is_input { Usage::Input } else { Usage::Output }, &[][..])
                }
                Role::Scratch | Role::Unassigned => (bar.bytes, Usage::Intermediate, &[][..]),
            };
            let buffer = self.buffer(context, bytes.max(1), usage, flags);
            self.space(context).0.write(buffer, 0, contents).expect("buffer is as long");
            bars.insert(bar.index, Use { buffer, mapping: 0 });
        }
        let mut first = stream[..program.first_task_bytes as usize].to_vec();
        first[2] = Nid::LINUX.number();
        let buffer = self.buffer(context, first.len() as u64, Usage::Program, flags);
        self.space(context).0.write(buffer, 0, &first).expect("buffer is as long");
        let first = Use { buffer, mapping: 0 };
        let forged = BTreeMap::new();
        ContextProgram {
            context,
            bars,
            forged,
            first,
            first_bytes: program.first_task_bytes,
            tasks: program.task_count,
        }
    }

    /// Runs a program once; true if it ended well. Where each BAR led, and then the first descriptor.
    ///
    /// # Panics
    ///
    /// If its buffers find no place, or no event comes.
    pub fn run(&mut self, loaded: &ContextProgram) -> (bool, Vec<IovaRange>) {
        let uses: Vec<_> = loaded.bars.values().copied().chain([loaded.first]).collect();
        let mut places = Vec::new();
        let (space, bus) = self.space(loaded.context);
        space.begin(bus, &uses, &mut places).expect("there is room");
        let operations = submission(loaded, &places);
        let mut taken = [0; tm::LINES as usize];
        self.bus.batch(&operations, &mut taken).expect("request can be submitted");
        let is_done = self.wait();
        self.space(loaded.context).0.finish(&uses);
        (is_done, places)
    }

    fn wait(&mut self) -> bool {
        loop {
            let event = self.bus.event(crate::daemon::LIMIT).expect("bus is sound").expect("an event comes");
            match event.kind() {
                // A fault comes before the end of the request that it ends.
                Ok(EventKind::Dart) => {}
                Ok(EventKind::TaskManager) => return event.words[2].get() & ERROR == 0,
                other => panic!("unexpected event {other:?}"),
            }
        }
    }

    /// Writes elements of a surface without padding.
    ///
    /// # Panics
    ///
    /// If the surface is shorter.
    pub fn fill(&mut self, loaded: &ContextProgram, surface: &Surface<'_>, values: &[f16]) {
        let bytes: Vec<_> = values.iter().flat_map(|value| value.to_bits().to_le_bytes()).collect();
        let buffer = loaded.bars[&surface.bar].buffer;
        self.space(loaded.context).0.write(buffer, 0, &bytes).expect("surface is as long");
    }

    /// Reads so many elements of a surface without padding.
    ///
    /// # Panics
    ///
    /// If the surface is shorter.
    pub fn take(&mut self, loaded: &ContextProgram, surface: &Surface<'_>, count: usize) -> Vec<f16> {
        let mut bytes = vec![0; 2 * count];
        let buffer = loaded.bars[&surface.bar].buffer;
        self.space(loaded.context).0.read(buffer, 0, &mut bytes).expect("surface is as long");
        bytes.chunks_exact(2).map(|two| f16::from_le_bytes([two[0], two[1]])).collect()
    }
}

/// The writes of a request on the queue that Linux uses, in its context's stream.
fn submission(loaded: &ContextProgram, places: &[IovaRange]) -> Vec<Operation> {
    let queue = QueueId::LINUX;
    let slot = Slot::First.registers(Pairing::ByPlace);
    let first = places.last().expect("the first descriptor has a place").base().0;
    let info = RequestInfo::of(loaded.first_bytes, loaded.tasks).expect("a length").into_bits();
    let stream = RequestStream::new().with_stream(loaded.context.stream().number());
    let q = |offset: u32, value| Operation::Write(EngineOffset(queue.base().0 + offset), value);
    let t = |offset: u32, value| Operation::Write(EngineOffset(tm::TASK_MANAGER.base.0 + offset), value);
    let mut writes = event_lines().map(Operation::Read).to_vec();
    writes.extend([
        t(tm::QUEUE_ENABLE.offset(), QueueEnable::new().with_enable(true).into_bits()),
        t(tm::INTERRUPT_ENABLE.offset(), InterruptEnable::new().with_events(true).into_bits()),
        t(tm::LINE_ENABLE.offset(), LineEnable::new().with_lines(1).into_bits()),
        q(tq::STATUS.offset(), QueueStatus::new().with_in_use(true).into_bits()),
        q(tq::STREAM.offset(), stream.into_bits()),
    ]);
    let bars = loaded.bars.keys().zip(places);
    writes.extend(bars.map(|(&bar, place)| {
        let base = loaded.forged.get(&bar).copied().unwrap_or(place.base());
        q(slot.bars + 4 * u32::from(bar), base.0)
    }));
    writes.extend([
        q(slot.nid, RequestNid::of(Nid::LINUX).into_bits()),
        q(slot.size, info & 0xffff_0000),
        q(slot.address, first),
        t(tm::REQUEST_ADDRESS.offset(), first),
        t(tm::REQUEST_INFO.offset(), info),
        t(tm::PUSH.offset(), Push::of(queue).into_bits()),
    ]);
    writes
}
