//! A device in this process: the one place that joins the driver to the device.
//!
//! No daemon, no socket, no root: the engine runs on the thread that waits for it. Everything that uses a device
//! uses it through a bus like the others ([`InProcess`]), with the same bytes: a request is encoded by the driver
//! (`ane_driver::bus::requests`) and decoded by the device (`ane_device::wire::request`), as it is over a socket. Where the thread has others to serve, long passes are computed
//! beside it ([`Embedded::use_engine_thread`]).

mod bus;

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ane_device::chip::NoSuchInstance;
use ane_device::time::{TICKS_PER_SECOND, Ticks};
use ane_device::trace::{Clock, Recent, Timeline};
use ane_device::wire::request::{Request, carry_out};
use ane_device::{Ane, Options, wire};
use ane_driver::bus::requests::Carrier;
use ane_driver::bus::{BusError, DmaMemory, MemoryError};
use ane_uapi::hw::space::PhysAddr;
use ane_uapi::wire::config::Config;
use ane_uapi::wire::event::Event;
use nix::sys::eventfd::{EfdFlags, EventFd};
use thiserror::Error;
use vm_memory::{GuestAddress, GuestMemoryMmap, GuestRegionMmap, MmapRegion};

pub use bus::{InProcess, MEMORY_BASE};

/// A device in this process that cannot be had.
#[derive(Debug, Error)]
pub enum Error {
    #[error(transparent)]
    Instance(#[from] NoSuchInstance),
    #[error(transparent)]
    Memory(#[from] MemoryError),
    #[error("memory of {bytes:#x} bytes at {MEMORY_BASE} does not fit into the address space")]
    Place { bytes: usize },
}

/// The work that is left for the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    pub pending: bool,
    /// When there will be, if nothing else happens until then.
    pub after: Option<Duration>,
}

/// The device, and the clock that it is shown.
pub struct Embedded {
    ane: Ane<GuestMemoryMmap>,
    config: Config,
    start: Instant,
    events: VecDeque<ane_device::event::Event>,
    sequence: u64,
    /// The latest records, while they are kept.
    recent: Option<Recent>,
    /// Where long passes are computed beside.
    bell: Option<Arc<Bell>>,
}

/// Calls the thread that serves when a pass that was computed beside has ended.
struct Bell {
    /// Readable from then on.
    counter: EventFd,
    /// True once the counter is readable, so that the system is not asked before every task.
    has_rung: AtomicBool,
}

impl Bell {
    fn new() -> io::Result<Self> {
        let counter = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        Ok(Self { counter, has_rung: AtomicBool::new(false) })
    }

    fn ring(&self) {
        // A counter that is full is readable, and nothing else fails.
        let _ = self.counter.write(1);
        // In this order: what is noted can be silenced.
        self.has_rung.store(true, Ordering::Release);
    }

    fn silence(&self) {
        if self.has_rung.swap(false, Ordering::Acquire) {
            let _ = self.counter.read();
        }
    }
}

/// Makes a device with `bytes` bytes of memory.
pub fn open(options: &Options, bytes: usize) -> Result<InProcess, Error> {
    let memory = DmaMemory::new(MEMORY_BASE, bytes)?;
    let seen = seen(vec![(MEMORY_BASE, memory.shared_region())]).map_err(|_| Error::Place { bytes })?;
    let device = Embedded {
        ane: Ane::new(options, seen)?,
        config: wire::config(options)?,
        start: Instant::now(),
        events: VecDeque::new(),
        sequence: 0,
        recent: None,
        bell: None,
    };
    Ok(InProcess::new(device, memory))
}

/// The device's view of memory: each of these at its physical address.
fn seen(regions: Vec<(PhysAddr, Arc<MmapRegion>)>) -> Result<GuestMemoryMmap, String> {
    let place = |(at, region): (PhysAddr, Arc<MmapRegion>)| {
        let bytes = region.size();
        GuestRegionMmap::with_arc(region, GuestAddress(at.0))
            .ok_or_else(|| format!("{bytes:#x} bytes at {at} leave the address space"))
    };
    let mut regions = regions.into_iter().map(place).collect::<Result<Vec<_>, _>>()?;
    regions.sort_by_key(vm_memory::GuestMemoryRegion::start_addr);
    GuestMemoryMmap::from_regions(regions).map_err(|why| why.to_string())
}

impl Embedded {
    /// The device itself: its counters, its dump, faults on demand.
    pub const fn ane(&mut self) -> &mut Ane<GuestMemoryMmap> {
        &mut self.ane
    }

    /// Has long passes computed beside the thread that waits for them, so that it may do something else meanwhile. That
    /// costs a long task two wake-ups, and a short one nothing.
    pub fn use_engine_thread(&mut self) -> io::Result<()> {
        let bell = Arc::new(Bell::new()?);
        self.bell = Some(Arc::clone(&bell));
        self.ane.engine_mut().use_engine_thread(Arc::new(move || bell.ring()));
        Ok(())
    }

    /// True if it reports programming mistakes that silicon lets pass.
    pub const fn is_checking(&self) -> bool {
        self.ane.is_checking()
    }

    /// Keeps what happens from now on, if it is not kept already, or forgets it.
    pub fn keep_timeline(&mut self, is_wanted: bool) {
        if self.recent.is_some() == is_wanted {
            return;
        }
        self.recent = is_wanted.then(Recent::default);
        self.ane.set_timeline(match is_wanted {
            true => Timeline::on(Clock::since(self.start), Timeline::CAPACITY),
            false => Timeline::off(),
        });
    }

    /// The latest records, as lines, if they are kept.
    pub fn timeline(&mut self) -> Option<String> {
        let recent = self.recent.as_mut()?;
        recent.take(self.ane.timeline_mut());
        Some(recent.lines())
    }

    pub fn now(&self) -> Ticks {
        Ticks::from_nanoseconds(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

impl Carrier for Embedded {
    fn config(&self) -> &Config {
        &self.config
    }

    fn carry(&mut self, request: &[u8], room: usize, answer: &mut Vec<u8>) -> Result<(), BusError> {
        let now = self.now();
        let request = Request { bytes: request, len: request.len() as u64, room: room as u64 };
        carry_out(&mut self.ane, now, request, answer);
        Ok(())
    }
}

impl Embedded {
    /// From now on the device reaches these, each at its physical address, and nothing else.
    fn reach(&mut self, regions: Vec<(PhysAddr, Arc<MmapRegion>)>) -> Result<(), String> {
        self.ane.replace_memory(seen(regions)?);
        Ok(())
    }

    /// The last error, in words, if the error registers had these values for it.
    fn reason(&self, registers: [u32; 3]) -> Option<String> {
        let failure = self.ane.task_manager().last_failure();
        failure.filter(|failure| failure.registers() == registers).map(ToString::to_string)
    }

    /// Runs at most one task.
    pub fn work(&mut self) -> Work {
        let now = self.now();
        // Before looking why it rang.
        self.bell.iter().for_each(|bell| bell.silence());
        let work = self.ane.work(now);
        if let Some(recent) = &mut self.recent {
            recent.take(self.ane.timeline_mut());
        }
        let after = work.at.map(|at| {
            let ticks = at.saturating_sub(now).0;
            Duration::from_secs(ticks / TICKS_PER_SECOND)
                + Duration::from_nanos(ticks % TICKS_PER_SECOND * 1_000_000_000 / TICKS_PER_SECOND)
        });
        Work { pending: work.pending, after }
    }

    /// Readable when there is something to do that another thread has prepared, until the device works.
    fn wakeup(&self) -> Option<BorrowedFd<'_>> {
        self.bell.as_ref().map(|bell| bell.counter.as_fd())
    }

    fn event(&mut self) -> Option<Event> {
        self.events.extend(self.ane.take_events());
        let event = self.events.pop_front()?;
        // The device alone counts the events that it had no room for.
        let message = wire::event(&event, self.sequence, 0);
        self.sequence += 1;
        Some(message)
    }
}
