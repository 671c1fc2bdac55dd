//! A device in a virtual machine's host, from inside of the guest: a PCI function over VFIO.
//!
//! The machine monitor turns the device's socket into a virtio function of the guest's. The guest's kernel hands the
//! function to this process whole: its registers are mapped here (`function`), its interrupt is a file
//! descriptor, and the rings are in memory that the process knows the physical address of (`pages`). So the same
//! rings carry the same messages as without a machine.
//!
//! It takes a kernel with VFIO, an IOMMU that the guest can see (VFIO insists; the device is not behind it), huge
//! pages, and the right to read physical addresses: root, or `CAP_SYS_ADMIN` and the files in `/dev/vfio`.

mod address;
mod binding;
mod capabilities;
mod common;
mod function;
mod pages;
mod refusal;
mod sys;

use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

use ane_uapi::hw::dart::iso::ContextId;
use ane_uapi::wire::EVENT_QUEUE;
use ane_uapi::wire::config::Config;
use ane_uapi::wire::event::Event;
use ane_uapi::wire::sideband::{Declaration, Regions};
use vfio_ioctls::VfioContainer;

pub use address::{BadBdf, Bdf};
pub use binding::{BindError, Functions, Ids};
use function::Function;

use super::queues::{self, Doorbell, MESSAGES, Queues, TABLES, transport};
use super::requests::{Carrier as _, Requests};
use super::ring::Features;
use super::{Arena, ArenaId, Bus, BusError, DmaMemory, Operation, Result};

#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Bytes of memory for the driver's own use. They have to follow each other, so it should not be much more than
    /// page tables take.
    pub memory_bytes: usize,
    /// Bytes of an arena. Otherwise each context gets the same part of the huge pages that are free.
    pub arena_bytes: Option<usize>,
    /// How long to look at the ring before sleeping.
    pub poll: Duration,
    /// How long a device may take to answer. Nothing that it is asked takes longer than one task.
    pub timeout: Duration,
    /// The ring features to use, if the device offers them.
    pub features: Features,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            memory_bytes: 8 * pages::HUGE - MESSAGES,
            arena_bytes: None,
            poll: Duration::ZERO,
            timeout: Duration::from_secs(10),
            features: Features { event_index: true, indirect: true },
        }
    }
}

/// A function that is this process's.
pub struct Vfio {
    settings: Settings,
    /// Where it is, or was, and what it says it is.
    bdf: Bdf,
    ids: Ids,
    requests: Requests<Queues<Function>>,
    /// All of the driver's own: the queues' part, and behind it that of the driver.
    all: DmaMemory,
    memory: DmaMemory,
    arenas: BTreeMap<ArenaId, Arena>,
    container: Arc<VfioContainer>,
    /// Why it was not found again, if it was looked for: told once.
    told: String,
}

impl std::fmt::Debug for Vfio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Vfio")
            .field("config", self.requests.carrier().config())
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl Vfio {
    /// Takes over the function at `bdf`.
    ///
    /// # Errors
    ///
    /// If it is not bound to vfio-pci, is no ANE, or there is not enough memory for it; the message says what to do.
    pub fn open(bdf: Bdf, settings: Settings) -> Result<Self> {
        let taken = Taken::take(bdf, &settings)?;
        let all = pages::contiguous(&taken.container, MESSAGES + settings.memory_bytes)?;
        let container = Arc::clone(&taken.container);
        Ok(Self {
            settings,
            bdf,
            ids: Functions::default().ids(bdf).ok_or(BusError::HungUp)?,
            requests: Requests::new(taken.start(&all, &settings)?),
            memory: all.part(MESSAGES, settings.memory_bytes)?,
            all,
            arenas: BTreeMap::new(),
            container,
            told: String::new(),
        })
    }

    /// Takes over the function that came for the one that is gone. The memory is the same, and so are its addresses.
    fn take_again(&mut self) -> Result<()> {
        let bdf =
            Functions::default().again(self.bdf, self.ids).map_err(transport("looking for the function"))?;
        let taken = Taken::take(bdf, &self.settings)?;
        if taken.config != *self.config() {
            return Err(BusError::BadAnswer { what: format!("{:?}", taken.config) });
        }
        pages::share_again(&taken.container, &self.all, self.arenas.values())?;
        let container = Arc::clone(&taken.container);
        self.requests = Requests::new(taken.start(&self.all, &self.settings)?);
        (self.bdf, self.container) = (bdf, container);
        Ok(())
    }
}

/// A function that was taken over, and waits to be told of its queues.
struct Taken {
    function: Function,
    config: Config,
    features: Features,
    container: Arc<VfioContainer>,
}

impl Taken {
    fn take(bdf: Bdf, settings: &Settings) -> Result<Self> {
        let container = VfioContainer::new(None).map_err(|why| refusal::explain(bdf, &why))?;
        let container = Arc::new(container);
        let function = Function::open(bdf, Arc::clone(&container))?;
        let (config, features) = function.negotiate(settings.features)?;
        Ok(Self { function, config, features, container })
    }

    /// Sets the queues up at the beginning of `all`, which the device reaches.
    fn start(mut self, all: &DmaMemory, settings: &Settings) -> Result<Queues<Function>> {
        let messages = all.part(0, MESSAGES)?;
        messages.write(messages.base(), &[0; MESSAGES])?;
        self.function.set_queues(&TABLES, &messages)?;
        let working =
            queues::QueueSettings { poll: settings.poll, timeout: settings.timeout, features: self.features };
        let mut queues = Queues::new(self.config, messages, self.function, working)?;
        queues.start()?;
        Ok(queues)
    }
}

impl Vfio {
    /// How many huge pages an arena gets. One beside gets none: those of the contexts may take all that there are.
    fn pages_for(&self, id: ArenaId) -> Result<usize> {
        if id.is_extra() {
            return Err(BusError::Lacks { feature: "huge pages for one more arena" });
        }
        if let Some(bytes) = self.settings.arena_bytes {
            return Ok(bytes.div_ceil(pages::HUGE));
        }
        let without = usize::from(ContextId::COUNT).saturating_sub(self.arenas.len());
        Ok(pages::free()? / without.max(1))
    }
}

impl Bus for Vfio {
    fn config(&self) -> &Config {
        self.requests.carrier().config()
    }

    fn memory(&self) -> &DmaMemory {
        &self.memory
    }

    fn arena(&mut self, id: ArenaId) -> Result<Arena> {
        self.retire(id)?;
        let pages = self.pages_for(id)?;
        let arena = pages::arena(&self.container, pages.max(1))?;
        self.arenas.insert(id, arena.clone());
        Ok(arena)
    }

    fn retire(&mut self, id: ArenaId) -> Result<()> {
        if let Some(arena) = self.arenas.remove(&id) {
            pages::withdraw(&self.container, arena.stretches());
        }
        Ok(())
    }

    fn batch(&mut self, operations: &[Operation], values: &mut [u32]) -> Result<usize> {
        self.requests.batch(operations, values)
    }

    fn reset(&mut self) -> Result<()> {
        self.requests.reset()
    }

    fn declare(&mut self, declarations: &[Declaration]) -> Result<()> {
        self.requests.declare(declarations)
    }

    fn regions(&mut self, regions: Regions<'_>) -> Result<()> {
        self.requests.regions(regions)
    }

    fn event(&mut self, limit: Duration) -> Result<Option<Event>> {
        self.requests.carrier_mut().event(limit)
    }

    fn arrived(&mut self) -> Result<Option<Event>> {
        self.requests.carrier_mut().arrived()
    }

    fn wakeup(&self) -> Option<BorrowedFd<'_>> {
        Some(self.requests.carrier().doorbell().wakeup())
    }

    /// A device that does not answer stays where it is until somebody unplugs the function. The kernel asks for it then,
    /// and gets it; the one that is plugged in afterwards is taken over, with everything mapped for it again.
    fn find_again(&mut self) -> Result<()> {
        if !self.requests.carrier_mut().doorbell_mut().sleep(EVENT_QUEUE, Duration::ZERO)? {
            return Err(BusError::OutOfOrder);
        }
        let outcome = self.take_again();
        // It is looked for many times a second.
        let why = outcome.as_ref().err().map(ToString::to_string).unwrap_or_default();
        if why != self.told {
            if !why.is_empty() {
                log::warn!(target: "ane::driver", "function {} is gone: {why}", self.bdf);
            }
            self.told = why;
        }
        outcome
    }
}
