//! Runs a compiled program on a device behind any bus, as a small driver would.
//!
//! Task stream, constants, scratch and surfaces each get pages of their own, one behind the other in device
//! addresses and scattered in memory; the first descriptor is copied and given the request's network id, and the
//! request goes to the queue that Linux uses.

use ane::container::{Direction, Program, Role, Surface};
use ane::embedded::{self, InProcess};
use ane_device::Options;
use ane_driver::bus::{Bus, Operation};
use ane_uapi::hw::dart::aperture::PAGE_SIZE;
use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::nid::Nid;
use ane_uapi::hw::space::{EngineOffset, Iova, IovaRange, PhysAddr};
use ane_uapi::hw::tm::{self, InterruptEnable, LineEnable, Push, QueueEnable, RequestInfo};
use ane_uapi::hw::tq::{self, Pairing, QueueId, QueueStatus, RequestNid, Slot};
use ane_uapi::hw::usage::Usage;
use ane_uapi::wire::event::EventKind;
use ane_uapi::wire::sideband::Declaration;
use half::f16;

use crate::guest::BareGuest;

const PAGE: usize = PAGE_SIZE as usize;

/// The first device address that is used, as the Linux driver has it.
const FIRST: u32 = 0x4000;

/// Set in the first error register while an error is held.
const ERROR: u32 = 1 << 31;

/// The end of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It ran to its end.
    Done,
    /// It ended in an error: code, record address of the register, task, value.
    Failed {
        /// The lowest byte of the first error register.
        code: u8,
        /// Record address of the register that is to blame, divided by four.
        register: u16,
        task: u16,
        /// The register's value, or the address that faulted.
        value: u32,
    },
}

/// A guest with a program in its memory.
pub struct Runner<B> {
    pub guest: BareGuest<B>,
    next: u32,
    regions: Vec<Region>,
    bars: [u32; 32],
    first: Iova,
    first_bytes: u32,
    tasks: u32,
}

/// A guest of a device in this process.
pub type EmbeddedRunner = Runner<InProcess>;

impl EmbeddedRunner {
    /// A device in this process without a program, with `memory` bytes for the guest.
    ///
    /// # Panics
    ///
    /// If it cannot be made.
    pub fn open(options: &Options, memory: usize) -> Self {
        Self::new(embedded::open(options, memory).expect("the device can be made"))
    }
}

/// Device addresses and the pages behind them.
struct Region {
    base: Iova,
    pages: Vec<PhysAddr>,
}

impl<B: Bus> Runner<B> {
    /// A device without a program.
    pub fn new(bus: B) -> Self {
        let mut guest = BareGuest::new(bus);
        guest.attach();
        Self {
            guest,
            next: FIRST,
            regions: Vec::new(),
            bars: [0; 32],
            first: Iova(0),
            first_bytes: 0,
            tasks: 0,
        }
    }

    /// Maps zeroed memory for `bytes` bytes.
    ///
    /// # Panics
    ///
    /// If there is not enough.
    pub fn region(&mut self, bytes: u64) -> Iova {
        let base = Iova(self.next);
        self.next += self.region_at(base, bytes);
        base
    }

    /// Maps zeroed memory for `bytes` bytes at `base`; gives the bytes of its pages.
    ///
    /// # Panics
    ///
    /// If there is not enough.
    pub fn region_at(&mut self, base: Iova, bytes: u64) -> u32 {
        let count = usize::try_from(bytes).expect("fits").div_ceil(PAGE).max(1);
        let pages: Vec<PhysAddr> = (0..count).map(|_| self.guest.page()).collect();
        for (n, &page) in (0..).zip(&pages) {
            self.guest.map(Iova(base.0 + n * PAGE_SIZE), page);
        }
        self.regions.push(Region { base, pages });
        count as u32 * PAGE_SIZE
    }

    /// Each piece of `bytes` bytes from `at`, with the bytes' place in the whole.
    fn pieces(&self, at: Iova, bytes: usize) -> Vec<(PhysAddr, std::ops::Range<usize>)> {
        let mut pieces = Vec::new();
        let mut done = 0;
        while done < bytes {
            let address = at.0 + done as u32;
            let region = self.regions.iter().find(|region| {
                address >= region.base.0 && ((address - region.base.0) as usize) < region.pages.len() * PAGE
            });
            let region = region.expect("address is mapped");
            let offset = (address - region.base.0) as usize;
            let len = (PAGE - offset % PAGE).min(bytes - done);
            pieces.push((PhysAddr(region.pages[offset / PAGE].0 + (offset % PAGE) as u64), done..done + len));
            done += len;
        }
        pieces
    }

    /// Writes bytes to device addresses.
    ///
    /// # Panics
    ///
    /// If they are not mapped.
    pub fn write(&mut self, at: Iova, bytes: &[u8]) {
        for (page, range) in self.pieces(at, bytes.len()) {
            self.guest.bus.memory().write(page, &bytes[range]).expect("page is memory");
        }
    }

    /// Reads bytes from device addresses.
    ///
    /// # Panics
    ///
    /// If they are not mapped.
    pub fn read(&self, at: Iova, bytes: usize) -> Vec<u8> {
        let mut all = vec![0; bytes];
        for (page, range) in self.pieces(at, bytes) {
            self.guest.bus.memory().read(page, &mut all[range]).expect("page is memory");
        }
        all
    }

    /// Puts a program into memory.
    ///
    /// # Panics
    ///
    /// If it does not fit.
    pub fn load(&mut self, program: &Program<'_>) {
        self.bars = [0; 32];
        let stream = program.stream.to_vec();
        for bar in &program.bars {
            let base = match bar.role {
                Role::Tasks => {
                    let base = self.region(stream.len() as u64);
                    self.write(base, &stream);
                    base
                }
                Role::Constants(index) => {
                    let bytes = program.constants[index].bytes;
                    let base = self.region(bytes.len() as u64);
                    self.write(base, bytes);
                    base
                }
                Role::Surface(index) => self.region(program.surfaces[index].buffer_bytes),
                Role::Scratch | Role::Unassigned => self.region(bar.bytes),
            };
            self.bars[usize::from(bar.index)] = base.0;
        }
        let first = &stream[..program.first_task_bytes as usize];
        let mut copy = first.to_vec();
        copy[2] = Nid::LINUX.number();
        self.first = self.region(copy.len() as u64);
        self.write(self.first, &copy);
        self.first_bytes = program.first_task_bytes;
        self.tasks = program.task_count;
        self.guest.invalidate();
    }

    /// The purpose of each mapping of a loaded program, to the byte, as checking mode wants to know it.
    ///
    /// # Panics
    ///
    /// If a mapping leaves the aperture.
    pub fn declarations(&self, program: &Program<'_>) -> Vec<Declaration> {
        let declaration = |base: Iova, bytes: u64, usage| {
            let range = IovaRange::new(base.0.into(), bytes).expect("mapping lies in the aperture");
            Declaration::new(StreamId::BASE, range, Some(usage))
        };
        let mut all = vec![declaration(self.first, self.first_bytes.into(), Usage::Program)];
        for bar in &program.bars {
            let (bytes, usage) = match bar.role {
                Role::Tasks => (program.stream.len() as u64, Usage::Program),
                Role::Constants(index) => (program.constants[index].bytes.len() as u64, Usage::Weights),
                Role::Scratch | Role::Unassigned => (bar.bytes, Usage::Intermediate),
                Role::Surface(index) => {
                    let surface = &program.surfaces[index];
                    let usage = match surface.direction {
                        Direction::Input => Usage::Input,
                        Direction::Output => Usage::Output,
                    };
                    (surface.buffer_bytes, usage)
                }
            };
            all.push(declaration(self.bar(bar.index), bytes, usage));
        }
        all
    }

    /// Where BAR `index` leads.
    pub const fn bar(&self, index: u8) -> Iova {
        Iova(self.bars[index as usize])
    }

    /// Makes BAR `index` lead elsewhere.
    pub const fn set_bar(&mut self, index: u8, to: Iova) {
        self.bars[index as usize] = to.0;
    }

    /// The device's copy of the first descriptor.
    pub const fn first(&self) -> Iova {
        self.first
    }

    /// Makes the request have fewer tasks than the program, or more.
    pub const fn set_tasks(&mut self, tasks: u32) {
        self.tasks = tasks;
    }

    /// Writes elements of a surface, which come in NCHW order.
    ///
    /// # Panics
    ///
    /// If the surface has another number of elements.
    pub fn fill(&mut self, surface: &Surface<'_>, values: &[f16]) {
        let at: Vec<u32> = self.places(surface).collect();
        assert_eq!(at.len(), values.len(), "surface has {} elements", at.len());
        for (at, value) in at.into_iter().zip(values) {
            self.write(Iova(at), &value.to_bits().to_le_bytes());
        }
    }

    /// Reads the elements of a surface in NCHW order.
    pub fn take(&self, surface: &Surface<'_>) -> Vec<f16> {
        self.places(surface)
            .map(|at| self.read(Iova(at), 2))
            .map(|bytes| f16::from_le_bytes([bytes[0], bytes[1]]))
            .collect()
    }

    fn places(&self, surface: &Surface<'_>) -> impl Iterator<Item = u32> + use<B> {
        let base = self.bar(surface.bar).0;
        element_offsets(surface).map(move |offset| base + offset as u32)
    }

    /// Submits the program and waits for its end.
    ///
    /// # Panics
    ///
    /// If the device refuses a register access, or no event comes.
    pub fn run(&mut self) -> Outcome {
        self.submit();
        self.wait()
    }

    /// Submits a chain that is in memory already.
    ///
    /// # Panics
    ///
    /// If the device refuses a register access.
    pub fn submit_at(&mut self, first: Iova, first_bytes: u32, tasks: u32, bars: [u32; 32]) {
        (self.first, self.first_bytes, self.tasks, self.bars) = (first, first_bytes, tasks, bars);
        self.submit();
    }

    /// Submits the program; what is in memory of it runs.
    ///
    /// # Panics
    ///
    /// If the device refuses a register access.
    pub fn submit(&mut self) {
        let operations = self.submission();
        let mut taken = [0; tm::LINES as usize];
        self.guest.bus.batch(&operations, &mut taken).expect("request can be submitted");
    }

    /// Waits for the end of what was submitted.
    ///
    /// # Panics
    ///
    /// If no event comes.
    pub fn wait(&mut self) -> Outcome {
        loop {
            let event = self.guest.event();
            match event.kind() {
                // A fault comes before the end of the request that it ends.
                Ok(EventKind::Dart) => {}
                Ok(EventKind::TaskManager) => {
                    // The second word of an error's event is the first error register.
                    let has_failed = event.words[2].get() & ERROR != 0;
                    return if has_failed { self.failure() } else { Outcome::Done };
                }
                other => panic!("unexpected event {other:?}"),
            }
        }
    }

    /// The failure that the error registers hold.
    fn failure(&mut self) -> Outcome {
        let at = |n: u32| EngineOffset(tm::TASK_MANAGER.base.0 + tm::ERROR.offset() + 4 * n);
        let mut words = [0; 3];
        let reads = [Operation::Read(at(0)), Operation::Read(at(1)), Operation::Read(at(2))];
        self.guest.bus.batch(&reads, &mut words).expect("error registers can be read");
        Outcome::Failed {
            code: words[0] as u8,
            register: (words[1] >> 16) as u16,
            task: words[1] as u16,
            value: words[2],
        }
    }

    /// The register writes of a request.
    ///
    /// # Panics
    ///
    /// If the first descriptor has no length.
    pub fn submission(&self) -> Vec<Operation> {
        let queue = QueueId::LINUX;
        let slot = Slot::First.registers(Pairing::ByPlace);
        let info =
            RequestInfo::of(self.first_bytes, self.tasks).expect("descriptor has a length").into_bits();
        let q = |offset: u32, value| Operation::Write(EngineOffset(queue.base().0 + offset), value);
        let t = |offset: u32, value| Operation::Write(EngineOffset(tm::TASK_MANAGER.base.0 + offset), value);
        // The line keeps the event of the request before until it is read, and has room for so many only.
        let mut writes = event_lines().map(Operation::Read).to_vec();
        writes.extend([
            t(tm::QUEUE_ENABLE.offset(), QueueEnable::new().with_enable(true).into_bits()),
            t(tm::INTERRUPT_ENABLE.offset(), InterruptEnable::new().with_events(true).into_bits()),
            t(tm::LINE_ENABLE.offset(), LineEnable::new().with_lines(1).into_bits()),
            q(tq::STATUS.offset(), QueueStatus::new().with_in_use(true).into_bits()),
        ]);
        writes.extend((0..).zip(self.bars).map(|(bar, value)| q(slot.bars + 4 * bar, value)));
        writes.extend([
            q(slot.nid, RequestNid::of(Nid::LINUX).into_bits()),
            q(slot.size, info & 0xffff_0000),
            q(slot.address, self.first.0),
            t(tm::REQUEST_ADDRESS.offset(), self.first.0),
            t(tm::REQUEST_INFO.offset(), info),
            t(tm::PUSH.offset(), Push::of(queue).into_bits()),
        ]);
        writes
    }
}

/// For each event line, the register whose reading takes the next event.
///
/// # Panics
///
/// Never: there are as many registers as lines.
pub fn event_lines() -> [EngineOffset; tm::LINES as usize] {
    std::array::from_fn(|line| {
        let offset = tm::EVENT_INFO.info.at(line as u16).expect("each line has one");
        EngineOffset(tm::TASK_MANAGER.base.0 + offset)
    })
}

/// The surfaces of one direction, in the order of the file.
pub fn surfaces<'p, 'a>(program: &'p Program<'a>, direction: Direction) -> Vec<&'p Surface<'a>> {
    program.surfaces_of(direction).collect()
}

/// Offsets of the elements of a surface in its buffer, in NCHW order.
pub fn element_offsets(surface: &Surface<'_>) -> impl Iterator<Item = usize> + use<> {
    let (shape, strides) = (surface.shape, surface.strides);
    let at = move |(n, c, h, w): (u32, u32, u32, u32)| {
        let offset = u64::from(n) * strides.n
            + u64::from(c) * strides.c
            + u64::from(h) * strides.h
            + u64::from(w) * strides.w;
        offset as usize
    };
    (0..shape.n)
        .flat_map(move |n| {
            (0..shape.c)
                .flat_map(move |c| (0..shape.h).flat_map(move |h| (0..shape.w).map(move |w| (n, c, h, w))))
        })
        .map(at)
}
