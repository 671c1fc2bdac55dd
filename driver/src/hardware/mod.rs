//! The device as the driver holds it: its bus, its queues, its contexts, its power and whether it answers.
//!
//! Every access to the device goes through here, and here the driver notices that the device does not answer, or says
//! that it is dead. This part knows neither clients nor requests: the scheduler asks [`Hardware::take_failure`] afterwards,
//! and ends its requests.
//!
//! * `health`: what a bus that says no means, reset, and looking for a device that was lost;
//! * `power`: what the device is told when it comes up, and when it goes to sleep;
//! * `regions`: what files have mapped in PE_MMU;
//! * `alarms`: times at which something is to be looked at;
//! * `faults`: what the DART's windows hold of a fault;
//! * `words`: what the device says of an error, in words.

mod alarms;
mod faults;
mod health;
mod power;
mod regions;
mod words;

use std::os::fd::BorrowedFd;
use std::time::Duration;

use ane_uapi::hw::chip::Soc;
use ane_uapi::hw::dart::aperture;
use ane_uapi::hw::dart::iso::ContextId;
use ane_uapi::hw::nid::Nid;
use ane_uapi::hw::space::{Iova, PhysAddr};
use ane_uapi::hw::tm;
use ane_uapi::hw::tq::QueueId;
use ane_uapi::ioctl::context::ContextPolicy;
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::wire::config::Config;
use ane_uapi::wire::event::Event;
use thiserror::Error;

use self::alarms::Alarms;
use self::health::Health;
use self::regions::RegionList;
use crate::bo::{BufferId, Space};
use crate::bus::{Bus, BusError};
use crate::clock::{Clock, Time};
use crate::dart::OWN_PAGES;
use crate::front::FileId;
use crate::iso::{self, Contexts, Seeker};
use crate::journal::{Journal, LineKind, told};
use crate::tm::{Place, TaskManager, manager};

pub(crate) use self::faults::Caught;
pub(crate) use self::health::Failure;
pub use self::power::AUTOSUSPEND;

/// Bytes that a first descriptor's copy has: the longest that a linked one can have is 512 words, and the driver's own
/// calls take no longer ones either.
pub(crate) const BOOTSTRAP_BYTES: u32 = 2048;

// A context's own pages have room for one copy for each place in the hardware.
const _: () = assert!(2 * QueueId::COUNT as u32 * BOOTSTRAP_BYTES <= OWN_PAGES * aperture::PAGE_SIZE);

/// The byte of a descriptor's first word that holds the network id.
const NID_BYTE: usize = 2;

/// How long the device may say nothing about requests that it has before the registers are looked at (Chosen: a task
/// may take longer, and looking costs next to nothing).
const SILENCE: Duration = Duration::from_millis(250);

/// Why a device is not one that this driver can use.
#[derive(Debug, Error)]
pub enum ProbeError {
    #[error("chip t{0:x} is not known")]
    Chip(u32),
    #[error("device has {found} {what}, {needed} are needed")]
    TooFew { what: &'static str, found: u16, needed: u16 },
    #[error("aperture of {size:#x} bytes at {base:#x} is not the one of this hardware")]
    Aperture { base: u64, size: u64 },
    #[error("task manager is not idle after a reset: status {0:#x}")]
    NotIdle(u32),
    #[error(transparent)]
    Bus(#[from] BusError),
    #[error("contexts cannot be set up: {0}")]
    Contexts(iso::Error),
}

#[derive(Debug)]
pub(crate) struct Hardware<B> {
    bus: B,
    clock: Box<dyn Clock>,
    alarms: Alarms,
    journal: Journal,
    contexts: Contexts,
    queues: TaskManager,
    regions: RegionList,
    health: Health,
    /// The device was lost or died, and its requests have not been ended for that yet.
    has_failed: bool,
    is_suspended: bool,
    /// When the device last had, got or ended work.
    last_work: Time,
    /// When the registers were last looked at, or an event came.
    last_sign: Time,
}

impl std::fmt::Debug for Box<dyn Clock> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.now())
    }
}

fn check(config: &Config) -> Result<(), ProbeError> {
    let chip = config.chip.get();
    let name = format!("t{chip:x}");
    if !Soc::ALL.into_iter().any(|soc| soc.name() == name) {
        return Err(ProbeError::Chip(chip));
    }
    let few = [
        ("task queues", config.queue_count.get(), u16::from(QueueId::COUNT)),
        ("contexts", config.context_count.get(), u16::from(ContextId::COUNT)),
    ];
    if let Some((what, found, needed)) = few.into_iter().find(|(_, found, needed)| found < needed) {
        return Err(ProbeError::TooFew { what, found, needed });
    }
    let (base, size) = (config.aperture_base.get(), config.aperture_size.get());
    if (base, size) != (aperture::BASE, aperture::SIZE) {
        return Err(ProbeError::Aperture { base, size });
    }
    Ok(())
}

impl<B: Bus> Hardware<B> {
    /// Checks that this is a device that the driver knows, and brings it to the state in which it takes work.
    pub(crate) fn probe(mut bus: B, clock: Box<dyn Clock>) -> Result<Self, ProbeError> {
        check(bus.config())?;
        bus.reset()?;
        let status = bus.read(manager(&tm::STATUS))?;
        if !tm::ManagerStatus::from_bits(status).idle() {
            return Err(ProbeError::NotIdle(status));
        }
        let contexts = Contexts::new(&bus).map_err(ProbeError::Contexts)?;
        let queues = TaskManager::new(&bus);
        let now = clock.now();
        let mut hardware = Self {
            bus,
            clock,
            alarms: Alarms::default(),
            journal: Journal::default(),
            contexts,
            queues,
            regions: RegionList::default(),
            health: Health::Ready,
            has_failed: false,
            is_suspended: false,
            last_work: now,
            last_sign: now,
        };
        hardware.bring_up()?;
        Ok(hardware)
    }

    /// Stops the device and gives its bus back.
    pub(crate) fn remove(mut self) -> B {
        let _ = self.shut_down();
        self.bus
    }

    pub(crate) const fn bus(&self) -> &B {
        &self.bus
    }

    /// The bus, for what is neither queue nor context.
    pub(crate) const fn bus_mut(&mut self) -> &mut B {
        &mut self.bus
    }

    /// Readable when the device has something to say.
    pub(crate) fn wakeup(&self) -> Option<BorrowedFd<'_>> {
        self.bus.wakeup()
    }

    pub(crate) fn now(&self) -> Time {
        self.clock.now()
    }

    /// Makes sure that progress is made at that time or before it, for work that is due and calls that wait. If it is made
    /// before, this has to be called again.
    pub(crate) fn ring_at(&mut self, time: Time) {
        self.alarms.ring_at(time);
    }

    /// True if an alarm's time has come since this was last asked.
    pub(crate) fn has_rung(&mut self, now: Time) -> bool {
        self.alarms.have_rung(now)
    }

    /// Writes a line to the log, if its kind's budget allows.
    pub(crate) fn log(&mut self, kind: LineKind, line: impl FnOnce() -> String) {
        self.journal.log(kind, self.clock.now(), line);
    }

    /// The next event, waiting for it no longer than `limit`, or than until the clock brings something. A device in this
    /// process that has something to do does that instead.
    pub(crate) fn event(&mut self, limit: Duration) -> Option<Event> {
        let limit = if self.bus.is_pending() { Duration::ZERO } else { limit };
        let event = self.bus.event(limit);
        self.heard(event)
    }

    /// The next event that has arrived.
    pub(crate) fn arrived(&mut self) -> Option<Event> {
        let event = self.bus.arrived();
        self.heard(event)
    }

    fn heard(&mut self, event: Result<Option<Event>, BusError>) -> Option<Event> {
        let event = self.note(event)??;
        self.last_sign = self.clock.now();
        Some(event)
    }

    /// True if the engine of a device in this process has more to do now.
    pub(crate) fn is_pending(&self) -> bool {
        self.is_ready() && self.bus.is_pending()
    }

    /// When something is to be looked at, if nothing happens until then.
    pub(crate) fn next_look(&self) -> Time {
        let next = self.alarms.next();
        if !self.is_ready() {
            return next;
        }
        next.min(if self.queues.count() != 0 {
            self.last_sign.after(SILENCE)
        } else if self.status().is_powered_idle() {
            self.last_work.after(AUTOSUSPEND)
        } else {
            Time::NEVER
        })
    }

    pub(crate) const fn queues(&self) -> &TaskManager {
        &self.queues
    }

    pub(crate) const fn queues_mut(&mut self) -> &mut TaskManager {
        &mut self.queues
    }

    /// Has the task queues do something over the bus. `None` if the device is dead or lost by it.
    pub(crate) fn drive<T>(
        &mut self,
        step: impl FnOnce(&mut TaskManager, &mut B) -> Result<T, BusError>,
    ) -> Option<T> {
        let outcome = step(&mut self.queues, &mut self.bus);
        self.note(outcome)
    }

    /// The place of the request that the engine is at: the one that the device took last. `None` if that one has ended.
    pub(crate) fn engaged(&mut self) -> Option<Place> {
        let committed = self.bus.read(manager(&tm::COMMITTED));
        let committed = tm::Committed::from_bits(self.note(committed)?);
        self.queues.place_of(Nid::new(committed.nid().into()).ok()?)
    }

    /// True if the registers have to be looked at: the device is silent for too long, or what it said does not add up.
    pub(crate) fn is_doubtful(&self, now: Time) -> bool {
        let is_silent = self.queues.count() != 0 && now >= self.last_sign.after(SILENCE);
        is_silent || self.queues.is_doubtful()
    }

    /// Compares what the registers say with what is known.
    pub(crate) fn check_queues(&mut self) {
        self.last_sign = self.clock.now();
        self.drive(|queues, bus| queues.check(bus));
    }

    pub(crate) const fn contexts(&self) -> &Contexts {
        &self.contexts
    }

    pub(crate) const fn contexts_mut(&mut self) -> &mut Contexts {
        &mut self.contexts
    }

    pub(crate) fn space(&self, file: FileId) -> Option<&Space> {
        self.contexts.space(self.contexts.of(file)?)
    }

    /// The memory of a context, together with the bus.
    pub(crate) fn reach(&mut self, context: ContextId) -> Option<(&mut B, &mut Space)> {
        Some((&mut self.bus, self.contexts.space_mut(context)?))
    }

    /// Gives a file a context, in its turn if it has a place in the line; see [`Contexts::attach`].
    pub(crate) fn attach(
        &mut self,
        seeker: Seeker,
        policy: ContextPolicy,
        wanted: Option<ContextId>,
        place: Option<u64>,
    ) -> Result<iso::Attached, iso::Error> {
        self.contexts.attach_in_turn(&mut self.bus, seeker, policy, wanted, place)
    }

    /// Gives a file that cannot say what it wants a context; see [`Contexts::attach_silent`].
    pub(crate) fn attach_silent(&mut self, seeker: Seeker) -> Result<iso::Attached, iso::Error> {
        self.contexts.attach_silent(&mut self.bus, seeker)
    }

    pub(crate) fn detach(&mut self, file: FileId) {
        let Some(context) = self.contexts.of(file) else { return };
        if let Err(why) = self.contexts.detach(&mut self.bus, file) {
            log::warn!(target: "ane::driver", "{} is given back with difficulty: {why}", context.label());
        }
    }

    /// True if a request of a context is with the device.
    pub(crate) fn is_at_work(&self, context: ContextId) -> bool {
        self.queues.has_stream(context.stream())
    }

    /// The device has, got or ended work now.
    pub(crate) fn note_work(&mut self) {
        self.last_work = self.clock.now();
    }

    /// Copies a request's first descriptor to where the hardware finds it, with the network id in it; says where.
    pub(crate) fn copy_first(
        &mut self,
        context: ContextId,
        place: Place,
        (buffer, offset): (BufferId, u64),
        bytes: u32,
        nid: Nid,
    ) -> Result<Iova, Errno> {
        let space = self.contexts.space(context).ok_or(Errno::EINVAL)?;
        let mut descriptor = [0; BOOTSTRAP_BYTES as usize];
        let descriptor = descriptor.get_mut(..bytes as usize).ok_or(Errno::EINVAL)?;
        space.read(buffer, offset, descriptor).map_err(|error| told(&error, error.errno()))?;
        if let Some(byte) = descriptor.get_mut(NID_BYTE) {
            *byte = nid.number();
        }
        // There are sixteen places, so the products stay small.
        let at = u32::try_from(place.index()).unwrap_or_default().saturating_mul(BOOTSTRAP_BYTES);
        let (base, memory) = space.own();
        let written = memory.write(PhysAddr(memory.base().0.saturating_add(at.into())), descriptor);
        written.map_err(|_| Errno::EIO)?;
        Ok(Iova(base.0.saturating_add(at)))
    }
}
