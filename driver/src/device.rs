//! The device as the driver holds it: probe and remove. Its power is in `power`, its loss and reset in `loss`.
//!
//! *Probe* checks that it is a device that this driver knows, brings it to the state after power-on, gives the queues
//! their priorities and lets them run. *Remove* takes all of that back, in reverse.
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

use std::collections::{BTreeMap, BTreeSet, VecDeque};

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
use thiserror::Error;

use crate::bo::{BufferId, Space};
use crate::bus::{Bus, BusError};
use crate::clock::{Clock, Monotonic, Time};
use crate::dart::OWN_PAGES;
use crate::fault::Faults;
use crate::file::File;
use crate::front::FileId;
use crate::iso::{self, Contexts, Seeker};
use crate::journal::Journal;
use crate::program::Programs;
use crate::stats::Counters;
use crate::submit::limits::Limits;
use crate::submit::{Requests, Shares};
use crate::tm::{Place, TaskManager, manager};

/// Bytes that a first descriptor's copy has: the longest that a linked one can have is 512 words, and the driver's own
/// calls take no longer ones either.
pub(crate) const BOOTSTRAP_BYTES: u32 = 2048;

// A context's own pages have room for one copy for each place in the hardware.
const _: () = assert!(2 * QueueId::COUNT as u32 * BOOTSTRAP_BYTES <= OWN_PAGES * aperture::PAGE_SIZE);

/// Why a device is not one that this driver can use.
#[derive(Debug, Error)]
pub enum ProbeError {
    /// No such chip is known.
    #[error("chip t{0:x} is not known")]
    Chip(u32),
    /// The device has less of something than the driver needs.
    #[error("device has {found} {what}, {needed} are needed")]
    TooFew {
        /// Of what.
        what: &'static str,
        /// How many it has.
        found: u16,
        /// How many are needed.
        needed: u16,
    },
    /// The aperture is another than the hardware's.
    #[error("aperture of {size:#x} bytes at {base:#x} is not the one of this hardware")]
    Aperture {
        /// Where it starts.
        base: u64,
        /// How long it is.
        size: u64,
    },
    /// The task manager is not idle after a reset.
    #[error("task manager is not idle after a reset: status {0:#x}")]
    NotIdle(u32),
    /// The bus.
    #[error(transparent)]
    Bus(#[from] BusError),
    /// The memory of contexts.
    #[error("contexts cannot be set up: {0}")]
    Contexts(iso::Error),
}

/// What state the device is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Health {
    /// It takes work.
    Ready,
    /// It declared itself dead, and takes nothing but a reset.
    Dead,
    /// It does not answer; it is looked for again at that time.
    Lost(Time),
}

/// The driver of one device.
#[derive(Debug)]
pub struct Driver<B> {
    pub(crate) bus: B,
    pub(crate) clock: Box<dyn Clock>,
    pub(crate) contexts: Contexts,
    pub(crate) hardware: TaskManager,
    pub(crate) requests: Requests,
    pub(crate) programs: Programs,
    pub(crate) faults: Faults,
    /// The last request that the device did not run to its end, in words.
    pub(crate) failure: Option<String>,
    pub(crate) journal: Journal,
    pub(crate) files: BTreeMap<FileId, File>,
    next_file: u64,
    /// What each had of the engine.
    pub(crate) shares: Shares,
    /// Files that have requests for a queue, in the order of their turns.
    pub(crate) turns: [VecDeque<FileId>; QueueId::COUNT as usize],
    /// When the turn of a request is over that others may wait for.
    pub(crate) turn_ends: Time,
    /// When a request of each queue was last asked to give way.
    pub(crate) asked: [Time; QueueId::COUNT as usize],
    pub(crate) health: Health,
    pub(crate) is_suspended: bool,
    /// When the device last had, got or ended work.
    pub(crate) last_work: Time,
    /// When the registers were last looked at, or an event came.
    pub(crate) last_sign: Time,
    /// When each queue was taken back.
    pub(crate) aborted: [Time; QueueId::COUNT as usize],
    pub(crate) has_doomed: bool,
    pub(crate) has_closed: bool,
    /// Requests were submitted that nobody has tried to start yet.
    pub(crate) has_queued: bool,
    pub(crate) counters: Counters,
    /// Times at which something is to be looked at.
    pub(crate) alarms: BTreeSet<Time>,
    /// Counts what somebody may wait for.
    pub(crate) news: u64,
    /// As much of it as fronts have been told.
    pub(crate) told: u64,
}

impl std::fmt::Debug for Box<dyn Clock> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.now())
    }
}

/// Checks what a device says of itself.
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

impl<B: Bus> Driver<B> {
    /// Takes charge of the device behind `bus`.
    ///
    /// # Errors
    ///
    /// Why it cannot be used; nothing of it runs then.
    pub fn probe(bus: B) -> Result<Self, ProbeError> {
        Self::with_clock(bus, Box::new(Monotonic))
    }

    /// The same, by another clock.
    ///
    /// # Errors
    ///
    /// Those of [`Driver::probe`].
    pub fn with_clock(mut bus: B, clock: Box<dyn Clock>) -> Result<Self, ProbeError> {
        check(bus.config())?;
        bus.reset()?;
        let status = bus.read(manager(&tm::STATUS))?;
        if !tm::ManagerStatus::from_bits(status).idle() {
            return Err(ProbeError::NotIdle(status));
        }
        let contexts = Contexts::new(&bus).map_err(ProbeError::Contexts)?;
        let hardware = TaskManager::new(&bus);
        let now = clock.now();
        let mut driver = Self {
            bus,
            clock,
            contexts,
            hardware,
            requests: Requests::default(),
            programs: Programs::default(),
            faults: Faults::default(),
            failure: None,
            journal: Journal::default(),
            files: BTreeMap::new(),
            next_file: 1,
            shares: Shares::default(),
            turns: [const { VecDeque::new() }; QueueId::COUNT as usize],
            turn_ends: Time::NEVER,
            asked: [Time(0); QueueId::COUNT as usize],
            health: Health::Ready,
            is_suspended: false,
            last_work: now,
            last_sign: now,
            aborted: [Time(0); QueueId::COUNT as usize],
            has_doomed: false,
            has_closed: false,
            has_queued: false,
            counters: Counters::default(),
            alarms: BTreeSet::new(),
            news: 0,
            told: 0,
        };
        driver.bring_up()?;
        Ok(driver)
    }

    /// Gives the device back as it was found: every file is closed, nothing runs, nothing is mapped.
    pub fn remove(mut self) -> B {
        let files: Vec<FileId> = self.files.keys().copied().collect();
        for file in files {
            self.begin_close(file);
        }
        self.pursue();
        self.take_arrived();
        if !self.files.is_empty() && self.is_ready() {
            // What holds on to its requests still is ended by the reset.
            self.reset_for(Some(Errno::ECANCELED));
        }
        self.purge_closed();
        let _ = self.shut_down();
        self.bus
    }

    /// What a request and a user may take, whoever's it is. There are no limits before this was called.
    pub const fn limit(&mut self, limits: Limits) {
        self.shares.set_limits(limits);
    }

    /// The bus.
    pub const fn bus(&self) -> &B {
        &self.bus
    }

    /// The bus, to ask of it what the driver does not.
    pub const fn bus_mut(&mut self) -> &mut B {
        &mut self.bus
    }

    /// True if the device takes work.
    pub(crate) fn is_ready(&self) -> bool {
        self.health == Health::Ready
    }

    /// True if the device declared itself dead.
    pub(crate) fn is_dead(&self) -> bool {
        self.health == Health::Dead
    }

    /// True if the device does not answer.
    pub(crate) const fn is_lost(&self) -> bool {
        matches!(self.health, Health::Lost(_))
    }

    /// A number for a new file.
    pub(crate) const fn new_file(&mut self) -> FileId {
        let file = FileId(self.next_file);
        self.next_file = self.next_file.wrapping_add(1);
        file
    }

    /// A file as one that asks for a context.
    pub(crate) fn seeker(&self, file: FileId) -> Option<Seeker> {
        self.files.get(&file).map(|known| Seeker { file, user: known.who.user })
    }

    /// The files of a context.
    pub(crate) fn files_of(&self, context: ContextId) -> Vec<FileId> {
        self.files.keys().copied().filter(|&file| self.contexts.of(file) == Some(context)).collect()
    }

    /// The memory of a file's context.
    pub(crate) fn space(&self, file: FileId) -> Option<&Space> {
        self.contexts.space(self.contexts.of(file)?)
    }

    /// The context of a file, which gets one if it has none.
    ///
    /// # Errors
    ///
    /// `EBUSY` if none is free; `ENOMEM`, `ENODEV`.
    pub(crate) fn attached(&mut self, file: FileId) -> Result<ContextId, Errno> {
        if let Some(context) = self.contexts.of(file) {
            return Ok(context);
        }
        let seeker = self.seeker(file).ok_or(Errno::ENODEV)?;
        let attached = self.contexts.attach(&mut self.bus, seeker, ContextPolicy::Refuse, None);
        attached.map(|attached| attached.context).map_err(|error| error.errno())
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
        space.read(buffer, offset, descriptor).map_err(|error| error.errno())?;
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

/// The byte of a descriptor's first word that holds the network id.
const NID_BYTE: usize = 2;
