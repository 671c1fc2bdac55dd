//! A device in another process, over its vhost-user socket.
//!
//! This is what a virtual machine monitor does for its guest, done for a plain process: it offers the device
//! pieces of shared memory as if they were a guest's, puts two virtqueues into the first, and passes the file
//! descriptors by which the two sides wake each other. From then on the socket is silent but for the arenas of
//! files that come and go (`share`), and everything goes through memory.

mod share;
mod time_limit;

use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ane_uapi::hw::space::PhysAddr;
use ane_uapi::wire::config::{CONFIG_SIZE, Config};
use ane_uapi::wire::event::Event;
use ane_uapi::wire::sideband::{Declaration, Regions};
use ane_uapi::wire::{EVENT_QUEUE, QUEUES};
use rustix::event::{Timespec, epoll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use vhost::vhost_user::message::{VhostUserConfigFlags, VhostUserHeaderFlag, VhostUserProtocolFeatures};
use vhost::vhost_user::{Frontend, VhostUserFrontend};
use vhost::{VhostBackend, VringConfigData};
use vmm_sys_util::epoll::{ControlOperation, Epoll, EpollEvent, EventSet};
use vmm_sys_util::eventfd::{EFD_CLOEXEC, EFD_NONBLOCK, EventFd};

use share::{Arenas, Shared};
use time_limit::within;

use super::descriptor::borrow;
use super::queues::{
    self, Doorbell, F_VERSION_1, MESSAGES, QueueTables, Queues, TABLES, milliseconds, transport,
};
use super::requests::{Carrier as _, Requests};
use super::ring::Features;
use super::{Arena, ArenaId, Bus, BusError, DmaMemory, Operation, Result};

/// The feature bit of vhost-user that is not virtio's: there are protocol features.
const F_PROTOCOL: u64 = 1 << 30;

/// Where the shared memory starts, as the device sees it: where the memory of many a machine does, and not
/// at 0, so that a forgotten address is noticed (Chosen).
pub const MEMORY_BASE: PhysAddr = PhysAddr(0x4000_0000);

#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Bytes of memory for the driver's use.
    pub memory_bytes: usize,
    /// How long to look at the ring before sleeping.
    pub poll: Duration,
    /// How long a device may take to answer. Nothing that it is asked takes longer than one task.
    pub timeout: Duration,
    /// The ring features to use, if the device offers them.
    pub features: Features,
    /// Tell the device of one region more or less where it offers that, and not of all of them anew.
    pub memory_slots: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            memory_bytes: 64 << 20,
            poll: Duration::ZERO,
            timeout: Duration::from_secs(10),
            features: Features { event_index: true, indirect: true },
            memory_slots: true,
        }
    }
}

/// How long a device that is looked for may take to say what it is (Chosen: it answers at once, and nobody is served
/// meanwhile).
const GREETING: Duration = Duration::from_millis(500);

pub struct VhostUser {
    settings: Settings,
    /// Where the device listens, if that is how it was found.
    path: Option<PathBuf>,
    memory: DmaMemory,
    /// The connection, to be hung up when the device keeps silent.
    line: UnixStream,
    requests: Requests<Queues<Descriptors>>,
    /// Dropped last: the device lets go of the queues when the socket closes.
    shared: Shared,
}

impl std::fmt::Debug for VhostUser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VhostUser")
            .field("config", self.requests.carrier().config())
            .field("settings", &self.settings)
            .finish()
    }
}

/// A wait was woken by the device's call.
const CALLED: u64 = 0;

/// A wait was woken by the end of the connection.
const HUNG_UP: u64 = 1;

/// The descriptors by which the two sides of each queue wake each other.
struct Descriptors {
    pairs: [Pair; QUEUES as usize],
    /// The connection's.
    socket: RawFd,
    is_gone: bool,
}

/// The event descriptors of one queue.
struct Pair {
    kick: EventFd,
    call: EventFd,
    /// Waits for `call`, and for the other end to hang up.
    calls: Epoll,
}

impl Pair {
    fn new(socket: &Frontend) -> Result<Self> {
        let eventfd = || EventFd::new(EFD_CLOEXEC | EFD_NONBLOCK).map_err(transport("making an eventfd"));
        let (kick, call) = (eventfd()?, eventfd()?);
        let calls = Epoll::new().map_err(transport("making an epoll descriptor"))?;
        let interest = EpollEvent::new(EventSet::IN, CALLED);
        calls
            .ctl(ControlOperation::Add, call.as_raw_fd(), interest)
            .map_err(transport("watching a call descriptor"))?;
        let interest = EpollEvent::new(EventSet::READ_HANG_UP, HUNG_UP);
        calls
            .ctl(ControlOperation::Add, socket.as_raw_fd(), interest)
            .map_err(transport("watching the connection"))?;
        Ok(Self { kick, call, calls })
    }

    /// Tells the device of the queue with these tables. `host` is where the messages are mapped in this process: a
    /// frontend names rings by its own addresses.
    fn announce(&self, frontend: &mut Frontend, tables: &QueueTables, host: u64) -> Result<()> {
        let index = usize::from(tables.index);
        let at = |table: usize| host + (tables.offset + table) as u64;
        let addresses = VringConfigData {
            queue_max_size: tables.size,
            queue_size: tables.size,
            flags: 0,
            desc_table_addr: at(tables.layout.descriptors),
            used_ring_addr: at(tables.layout.used),
            avail_ring_addr: at(tables.layout.available),
            log_addr: None,
        };
        frontend.set_vring_num(index, tables.size).map_err(transport("setting the size of a queue"))?;
        frontend.set_vring_base(index, 0).map_err(transport("setting the start of a queue"))?;
        frontend.set_vring_addr(index, &addresses).map_err(transport("setting the place of a queue"))?;
        frontend.set_vring_call(index, &self.call).map_err(transport("passing a call descriptor"))?;
        frontend.set_vring_kick(index, &self.kick).map_err(transport("passing a kick descriptor"))?;
        frontend.set_vring_enable(index, true).map_err(transport("enabling a queue"))
    }
}

impl Descriptors {
    fn of(&self, queue: u16) -> Result<&Pair> {
        self.pairs.get(usize::from(queue)).ok_or(BusError::Lacks { feature: "the queue" })
    }

    /// Remembers that the device has hung up. The sockets are watched no more, or each wait would end at once.
    fn hang_up(&mut self) {
        self.is_gone = true;
        for pair in &self.pairs {
            // It was added when the pair was made.
            let _ = pair.calls.ctl(ControlOperation::Delete, self.socket, EpollEvent::default());
        }
    }
}

impl Doorbell for Descriptors {
    fn ring(&self, queue: u16) -> Result<()> {
        self.of(queue)?.kick.write(1).map_err(transport("kicking the device"))
    }

    fn sleep(&mut self, queue: u16, limit: Duration) -> Result<bool> {
        if self.is_gone {
            return Ok(true);
        }
        let pair = self.of(queue)?;
        let mut woken: [_; 2] = [const { MaybeUninit::uninit() }; 2];
        // In milliseconds, rounded up, as the call has them.
        let milliseconds = i64::from(milliseconds(limit));
        let limit = Timespec { tv_sec: milliseconds / 1000, tv_nsec: milliseconds % 1000 * 1_000_000 };
        let woken = match epoll::wait(borrow(&pair.calls), &mut woken, Some(&limit)) {
            Err(Errno::INTR) => &mut [],
            Ok((woken, _)) => woken,
            Err(why) => return Err(transport("waiting for the device")(why)),
        };
        // Nothing to read is a wake-up that someone else took, or none at all.
        let _ = pair.call.read();
        if woken.iter().any(|event| event.data.u64() == HUNG_UP) {
            self.hang_up();
        }
        Ok(self.is_gone)
    }

    fn is_gone(&self) -> bool {
        self.is_gone
    }
}

impl VhostUser {
    /// Connects to the device that listens at `path`.
    ///
    /// # Errors
    ///
    /// If no device listens, if it is no ANE, or if it does not answer in time. [`BusError::Busy`] if it may serve another
    /// frontend.
    pub fn connect(path: &Path, settings: Settings) -> Result<Self> {
        let socket = UnixStream::connect(path).map_err(transport("connecting to the device"))?;
        let mut bus = Self::over(socket, settings)?;
        bus.path = Some(path.to_owned());
        Ok(bus)
    }

    /// Speaks with the device at the other end of `socket`.
    pub fn over(socket: UnixStream, settings: Settings) -> Result<Self> {
        let all = DmaMemory::new(MEMORY_BASE, MESSAGES + settings.memory_bytes)?;
        Self::start(socket, (settings, settings.timeout), all, Arenas::new())
    }

    /// Connects again, to a device that knows nothing of before: after the process of the other one has ended. It
    /// reaches the same memory, arenas included, at the same addresses. Events and answers of before are lost.
    pub fn reconnect(&mut self, path: &Path) -> Result<()> {
        self.reconnect_within(path, self.settings.timeout)
    }

    /// The same, to a device that has `limit` to say what it is.
    fn reconnect_within(&mut self, path: &Path, limit: Duration) -> Result<()> {
        let socket = connect_at_once(path).map_err(transport("connecting to the device"))?;
        let all = self.shared.all.clone();
        *self = Self {
            path: Some(path.to_owned()),
            ..Self::start(socket, (self.settings, limit), all, self.shared.arenas.clone())?
        };
        Ok(())
    }

    fn start(
        socket: UnixStream,
        (settings, limit): (Settings, Duration),
        all: DmaMemory,
        arenas: Arenas,
    ) -> Result<Self> {
        let line = socket.try_clone().map_err(transport("copying the connection's descriptor"))?;
        let met = within(&line, limit, || introduce(socket, settings, &all, arenas));
        let (queues, shared) = met.map_err(|why| match why {
            BusError::TimedOut { limit } => BusError::Busy { limit },
            other => other,
        })?;
        let memory = all.part(MESSAGES, settings.memory_bytes)?;
        Ok(Self { settings, path: None, memory, line, requests: Requests::new(queues), shared })
    }
}

/// Connects to a socket, unless that takes a while: a device that is stopped lets no more wait than it has room for.
fn connect_at_once(path: &Path) -> rustix::io::Result<UnixStream> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    fcntl_setfl(&socket, fcntl_getfl(&socket)? - OFlags::NONBLOCK)?;
    Ok(socket.into())
}

/// Everything that is said before the queues are used.
fn introduce(
    socket: UnixStream,
    settings: Settings,
    all: &DmaMemory,
    arenas: Arenas,
) -> Result<(Queues<Descriptors>, Shared)> {
    let mut frontend = Frontend::from_stream(socket, QUEUES.into());
    let (features, protocol) = negotiate(&mut frontend, settings.features)?;
    let config = read_config(&mut frontend)?;

    all.write(MEMORY_BASE, &[0; MESSAGES])?;
    let slots = settings.memory_slots && protocol.contains(VhostUserProtocolFeatures::CONFIGURE_MEM_SLOTS);
    let mut shared = Shared::new(frontend.clone(), all.clone(), slots)?;
    for (id, arena) in arenas {
        shared.add(id, arena)?;
    }
    let host = all.region().as_ptr() as u64;
    let pairs = [Pair::new(&frontend)?, Pair::new(&frontend)?];
    let descriptors = Descriptors { pairs, socket: frontend.as_raw_fd(), is_gone: false };
    let working = queues::QueueSettings { poll: settings.poll, timeout: settings.timeout, features };
    let mut queues = Queues::new(config, all.part(0, MESSAGES)?, descriptors, working)?;
    for tables in &TABLES {
        queues.doorbell().of(tables.index)?.announce(&mut frontend, tables, host)?;
    }
    queues.start()?;
    Ok((queues, shared))
}

fn negotiate(frontend: &mut Frontend, wanted: Features) -> Result<(Features, VhostUserProtocolFeatures)> {
    frontend.set_owner().map_err(transport("claiming the device"))?;
    let offered = frontend.get_features().map_err(transport("asking for features"))?;
    for (bit, feature) in [(F_VERSION_1, "virtio version 1"), (F_PROTOCOL, "protocol features")] {
        if offered & bit == 0 {
            return Err(BusError::Lacks { feature });
        }
    }
    let features = wanted.offered_in(offered);
    let protocol = frontend.get_protocol_features().map_err(transport("asking for protocol features"))?;
    let needed = VhostUserProtocolFeatures::CONFIG | VhostUserProtocolFeatures::REPLY_ACK;
    if !protocol.contains(needed) {
        return Err(BusError::Lacks { feature: "config space and acknowledged messages" });
    }
    let useful = VhostUserProtocolFeatures::MQ | VhostUserProtocolFeatures::CONFIGURE_MEM_SLOTS;
    let protocol = needed | (protocol & useful);
    frontend.set_protocol_features(protocol).map_err(transport("agreeing on protocol features"))?;
    // Without it a message that fails shows only as a connection that breaks later.
    frontend.set_hdr_flags(VhostUserHeaderFlag::NEED_REPLY);
    let accepted = F_VERSION_1 | F_PROTOCOL | features.bits();
    frontend.set_features(accepted).map_err(transport("agreeing on features"))?;
    Ok((features, protocol))
}

fn read_config(frontend: &mut Frontend) -> Result<Config> {
    let empty = [0; CONFIG_SIZE as usize];
    let (_, bytes) = frontend
        .get_config(0, CONFIG_SIZE, VhostUserConfigFlags::empty(), &empty)
        .map_err(transport("reading config space"))?;
    Ok(Config::read(&bytes)?)
}

impl Bus for VhostUser {
    fn config(&self) -> &Config {
        self.requests.carrier().config()
    }

    fn memory(&self) -> &DmaMemory {
        &self.memory
    }

    fn arena(&mut self, id: ArenaId) -> Result<Arena> {
        let arena = Arena::of(id, self.config())?;
        within(&self.line, self.settings.timeout, || {
            self.shared.remove(id)?;
            self.shared.add(id, arena.clone())
        })?;
        Ok(arena)
    }

    fn retire(&mut self, id: ArenaId) -> Result<()> {
        within(&self.line, self.settings.timeout, || self.shared.remove(id))
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
        self.requests.carrier().doorbell().of(EVENT_QUEUE).ok().map(|pair| borrow(&pair.calls))
    }

    fn find_again(&mut self) -> Result<()> {
        // One that did not answer may have hung up since.
        self.requests.carrier_mut().doorbell_mut().sleep(EVENT_QUEUE, Duration::ZERO)?;
        let path = self.path.clone().ok_or(BusError::Lacks { feature: "an address" })?;
        // Nothing is left that the old connection is for, and a device that was stopped serves it first.
        let _ = self.line.shutdown(Shutdown::Both);
        self.reconnect_within(&path, self.settings.timeout.min(GREETING))
    }
}
