//! A device in another process, over its vhost-user socket.
//!
//! This is what a virtual machine monitor does for its guest, done for a plain process: it offers the device
//! one piece of shared memory as if that were a guest's, puts two virtqueues into it, and passes the file
//! descriptors by which the two sides wake each other. From then on the socket is silent, and everything goes
//! through memory.
//!
//! One request is on its way at a time. While it waits, the driver first looks at the ring for a while
//! ([`Settings::poll`]), and only then sleeps: a device that polls as well answers within a microsecond,
//! where two sleeping sides need a wake-up each.

use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use ane_uapi::hw::space::PhysAddr;
use ane_uapi::wire::config::{CONFIG_SIZE, Config};
use ane_uapi::wire::ctrl::{BATCH_MAX, Header, Kind, NO_INDEX, Op, Response, Status};
use ane_uapi::wire::event::Event;
use ane_uapi::wire::sideband::{DECLARATIONS_MAX, Declaration};
use ane_uapi::wire::{CTRL_QUEUE, EVENT_QUEUE, QUEUES};
use vhost::vhost_user::message::{VhostUserConfigFlags, VhostUserHeaderFlag, VhostUserProtocolFeatures};
use vhost::vhost_user::{Frontend, VhostUserFrontend};
use vhost::{VhostBackend, VhostUserMemoryRegionInfo, VringConfigData};
use vmm_sys_util::epoll::{ControlOperation, Epoll, EpollEvent, EventSet};
use vmm_sys_util::eventfd::{EFD_CLOEXEC, EFD_NONBLOCK, EventFd};
use zerocopy::{FromBytes, IntoBytes};

use super::ring::{Broken, Features, Layout, Part, Ring, Token};
use super::{Bus, BusError, DmaMemory, Operation};

/// Feature bits of virtio and vhost-user.
const F_INDIRECT: u64 = 1 << 28;
const F_EVENT_INDEX: u64 = 1 << 29;
const F_PROTOCOL: u64 = 1 << 30;
const F_VERSION_1: u64 = 1 << 32;

/// Where the shared memory starts, as the device sees it: where the memory of many a machine does, and not
/// at 0, so that a forgotten address is noticed (Chosen).
pub const MEMORY_BASE: PhysAddr = PhysAddr(0x4000_0000);

/// Places of the control queue. One request is on its way at a time and takes two.
const CTRL_PLACES: usize = 8;

/// Places of the event queue, each with a buffer: both event lines of the task manager full, and room.
const EVENT_PLACES: usize = 64;

const CTRL_RING: usize = 0;
const EVENT_RING: usize = 0x2000;
const EVENTS: usize = 0x8000;
const REQUEST: usize = 0x10000;
const RESPONSE: usize = 0x14000;
/// The driver's part of the memory starts here.
const DRIVER: usize = 0x20000;

/// Operations that the message buffers have room for; no device takes more.
const BATCH_ROOM: usize = BATCH_MAX as usize;

const _: () = {
    assert!(CTRL_RING + Layout::of(CTRL_PLACES as u16).bytes <= EVENT_RING);
    assert!(EVENT_RING + Layout::of(EVENT_PLACES as u16).bytes <= EVENTS);
    assert!(EVENTS + EVENT_PLACES * size_of::<Event>() <= REQUEST);
    assert!(REQUEST + size_of::<Header>() + BATCH_ROOM * size_of::<Op>() <= RESPONSE);
    assert!(RESPONSE + size_of::<Response>() + BATCH_ROOM * 4 <= DRIVER);
};

/// How to connect.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Bytes of memory for the driver's use.
    pub memory_bytes: usize,
    /// How long to look at the ring before sleeping.
    pub poll: Duration,
    /// How long a device may take to answer. Nothing that it is asked takes longer than one task.
    pub timeout: Duration,
    /// Which of the ring features to use, if the device offers them.
    pub features: Features,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            memory_bytes: 64 << 20,
            poll: Duration::ZERO,
            timeout: Duration::from_secs(10),
            features: Features { event_index: true, indirect: true },
        }
    }
}

/// A connection to a device.
pub struct VhostUser {
    config: Config,
    settings: Settings,
    messages: DmaMemory,
    memory: DmaMemory,
    ctrl: Queue<CTRL_PLACES>,
    events: Queue<EVENT_PLACES>,
    /// By token, which event buffer a chain is.
    event_of: [u16; EVENT_PLACES],
    batch_max: usize,
    cookie: u64,
    buffer: Vec<u8>,
    out_of_order: bool,
    /// Dropped last: the device lets go of the queues when the socket closes.
    _frontend: Frontend,
}

impl std::fmt::Debug for VhostUser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VhostUser").field("config", &self.config).field("settings", &self.settings).finish()
    }
}

/// A ring and the two descriptors by which its sides wake each other.
struct Queue<const PLACES: usize> {
    ring: Ring<DmaMemory, PLACES>,
    kick: EventFd,
    call: EventFd,
    /// Waits for `call`, and for nothing else.
    calls: Epoll,
}

fn transport<E: std::fmt::Display>(action: &'static str) -> impl Fn(E) -> BusError {
    move |why| BusError::Transport { action, why: why.to_string() }
}

impl<const PLACES: usize> Queue<PLACES> {
    fn new(area: DmaMemory, features: Features) -> Result<Self, BusError> {
        let base = area.base().0;
        let eventfd = || EventFd::new(EFD_CLOEXEC | EFD_NONBLOCK).map_err(transport("making an eventfd"));
        let ring = Ring::new(area, base, features).map_err(transport("setting up a queue"))?;
        let (kick, call) = (eventfd()?, eventfd()?);
        let calls = Epoll::new().map_err(transport("making an epoll descriptor"))?;
        let interest = EpollEvent::new(EventSet::IN, 0);
        calls
            .ctl(ControlOperation::Add, call.as_raw_fd(), interest)
            .map_err(transport("watching a call descriptor"))?;
        Ok(Self { ring, kick, call, calls })
    }

    /// Tells the device of the queue. `host` is where its area is mapped in this process: a frontend names
    /// rings by its own addresses.
    fn announce(&self, frontend: &mut Frontend, index: u16, host: u64) -> Result<(), BusError> {
        let layout = Ring::<DmaMemory, PLACES>::LAYOUT;
        let index = usize::from(index);
        let addresses = VringConfigData {
            queue_max_size: PLACES as u16,
            queue_size: PLACES as u16,
            flags: 0,
            desc_table_addr: host + layout.descriptors as u64,
            used_ring_addr: host + layout.used as u64,
            avail_ring_addr: host + layout.available as u64,
            log_addr: None,
        };
        frontend.set_vring_num(index, PLACES as u16).map_err(transport("setting the size of a queue"))?;
        frontend.set_vring_base(index, 0).map_err(transport("setting the start of a queue"))?;
        frontend.set_vring_addr(index, &addresses).map_err(transport("setting the place of a queue"))?;
        frontend.set_vring_call(index, &self.call).map_err(transport("passing a call descriptor"))?;
        frontend.set_vring_kick(index, &self.kick).map_err(transport("passing a kick descriptor"))?;
        frontend.set_vring_enable(index, true).map_err(transport("enabling a queue"))
    }

    fn kick_if(&self, wanted: bool) -> Result<(), BusError> {
        if wanted { self.kick.write(1).map_err(transport("kicking the device")) } else { Ok(()) }
    }

    /// Waits until the device is done with a chain; false if it is not within `limit`.
    fn wait(&mut self, window: Duration, limit: Duration) -> Result<bool, BusError> {
        if self.ring.is_ready() {
            return Ok(true);
        }
        let start = Instant::now();
        if !window.is_zero() {
            self.ring.disarm();
            while start.elapsed() < window.min(limit) {
                // Asking for the time costs more than looking at the ring.
                for _ in 0..16 {
                    if self.ring.is_ready() {
                        return Ok(true);
                    }
                    std::hint::spin_loop();
                }
            }
        }
        loop {
            if self.ring.arm() {
                return Ok(true);
            }
            let left = limit.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Ok(false);
            }
            // Whole milliseconds, rounded up, so that a short rest is not spent in a busy loop.
            let milliseconds = left.as_micros().div_ceil(1000).min(i32::MAX as u128) as i32;
            match self.calls.wait(milliseconds, &mut [EpollEvent::default()]) {
                Err(why) if why.kind() != std::io::ErrorKind::Interrupted => {
                    return Err(transport("waiting for the device")(why));
                }
                _ => {}
            }
            // Nothing to read is a wake-up that someone else took, or none at all.
            let _ = self.call.read();
        }
    }
}

impl VhostUser {
    /// Connects to the device that listens at `path`.
    ///
    /// # Errors
    ///
    /// If nobody listens, if it is no ANE, or if it does not answer in time.
    pub fn connect(path: &Path, settings: Settings) -> Result<Self, BusError> {
        let socket = UnixStream::connect(path).map_err(transport("connecting to the device"))?;
        Self::over(socket, settings)
    }

    /// Speaks with the device at the other end of `socket`.
    ///
    /// # Errors
    ///
    /// Those of [`VhostUser::connect`].
    pub fn over(socket: UnixStream, settings: Settings) -> Result<Self, BusError> {
        let limit = Some(settings.timeout);
        socket.set_read_timeout(limit).map_err(transport("setting a time-out"))?;
        socket.set_write_timeout(limit).map_err(transport("setting a time-out"))?;
        let mut frontend = Frontend::from_stream(socket, QUEUES.into());
        let features = negotiate(&mut frontend, settings.features)?;
        let config = read_config(&mut frontend)?;

        let all = DmaMemory::new(MEMORY_BASE, DRIVER + settings.memory_bytes)?;
        share(&frontend, &all)?;
        let host = all.region().as_ptr() as u64;
        let ctrl = Queue::new(all.part(CTRL_RING, EVENT_RING - CTRL_RING)?, features)?;
        let events = Queue::new(all.part(EVENT_RING, EVENTS - EVENT_RING)?, features)?;
        ctrl.announce(&mut frontend, CTRL_QUEUE, host + CTRL_RING as u64)?;
        events.announce(&mut frontend, EVENT_QUEUE, host + EVENT_RING as u64)?;

        let mut bus = Self {
            batch_max: BATCH_ROOM.min(config.batch_max.get().into()),
            config,
            settings,
            messages: all.part(0, DRIVER)?,
            memory: all.part(DRIVER, settings.memory_bytes)?,
            ctrl,
            events,
            event_of: [0; EVENT_PLACES],
            cookie: 0,
            buffer: Vec::new(),
            out_of_order: false,
            _frontend: frontend,
        };
        for buffer in 0..EVENT_PLACES as u16 {
            bus.leave_event_buffer(buffer)?;
        }
        let wanted = bus.events.ring.publish();
        bus.events.kick_if(wanted)?;
        Ok(bus)
    }

    /// Makes a buffer available to the device for its next event.
    fn leave_event_buffer(&mut self, buffer: u16) -> Result<(), BusError> {
        let bytes = size_of::<Event>();
        let address = MEMORY_BASE.0 + (EVENTS + usize::from(buffer) * bytes) as u64;
        let token = self
            .events
            .ring
            .add(&[Part { address, bytes: bytes as u32, writable: true }])
            .map_err(transport("leaving an event buffer"))?;
        if let Some(of) = self.event_of.get_mut(usize::from(token.0)) {
            *of = buffer;
        }
        Ok(())
    }

    /// Sends what `self.buffer` holds, and brings the answer's first `answer` bytes there.
    fn exchange(&mut self, answer: usize) -> Result<Response, BusError> {
        if self.out_of_order {
            return Err(BusError::OutOfOrder);
        }
        let outcome = self.send(answer);
        // Whatever else went wrong, the device may have the request still.
        self.out_of_order = outcome.is_err();
        outcome
    }

    fn send(&mut self, answer: usize) -> Result<Response, BusError> {
        let request = PhysAddr(MEMORY_BASE.0 + REQUEST as u64);
        let response = PhysAddr(MEMORY_BASE.0 + RESPONSE as u64);
        self.messages.write(request, &self.buffer)?;
        let parts = [
            Part { address: request.0, bytes: self.buffer.len() as u32, writable: false },
            Part { address: response.0, bytes: answer as u32, writable: true },
        ];
        let token = self.ctrl.ring.add(&parts).map_err(transport("adding a request"))?;
        let wanted = self.ctrl.ring.publish();
        self.ctrl.kick_if(wanted)?;
        let timeout = self.settings.timeout;
        if !self.ctrl.wait(self.settings.poll, timeout)? {
            return Err(BusError::TimedOut { limit: timeout });
        }
        let done = self.ctrl.ring.take()?;
        let written = match done {
            Some(done) if done.token == token => done.written as usize,
            Some(done) => return Err(Broken::Token { id: done.token.0.into() }.into()),
            None => return Err(bad_answer("nothing")),
        };
        self.buffer.resize(written, 0);
        self.messages.read(response, &mut self.buffer)?;
        let (head, _) =
            Response::read_from_prefix(&self.buffer).map_err(|_| bad_answer(format!("{written} bytes")))?;
        if head.cookie.get() != self.cookie {
            return Err(bad_answer(format!("request {}", head.cookie)));
        }
        Ok(head)
    }

    /// A header of the next request, in an empty buffer.
    fn begin(&mut self, kind: Kind, count: usize) {
        self.cookie += 1;
        self.buffer.clear();
        self.buffer.extend_from_slice(Header::new(kind, count as u32, self.cookie).as_bytes());
    }
}

fn bad_answer(what: impl Into<String>) -> BusError {
    BusError::BadAnswer { what: what.into() }
}

/// The answer of a device that did everything, or the refusal.
fn accepted(response: &Response) -> Result<(), BusError> {
    match response.status() {
        Ok(Status::Done) => Ok(()),
        Ok(status) => Err(BusError::Refused {
            status,
            done: response.done.get(),
            index: Some(response.index.get()).filter(|&index| index != NO_INDEX),
            detail: response.detail.get(),
        }),
        Err(unknown) => Err(bad_answer(unknown.to_string())),
    }
}

fn negotiate(frontend: &mut Frontend, wanted: Features) -> Result<Features, BusError> {
    frontend.set_owner().map_err(transport("claiming the device"))?;
    let offered = frontend.get_features().map_err(transport("asking for features"))?;
    for (bit, feature) in [(F_VERSION_1, "virtio version 1"), (F_PROTOCOL, "protocol features")] {
        if offered & bit == 0 {
            return Err(BusError::Lacks { feature });
        }
    }
    let features = Features {
        event_index: wanted.event_index && offered & F_EVENT_INDEX != 0,
        indirect: wanted.indirect && offered & F_INDIRECT != 0,
    };
    let protocol = frontend.get_protocol_features().map_err(transport("asking for protocol features"))?;
    let needed = VhostUserProtocolFeatures::CONFIG | VhostUserProtocolFeatures::REPLY_ACK;
    if !protocol.contains(needed) {
        return Err(BusError::Lacks { feature: "config space and acknowledged messages" });
    }
    frontend
        .set_protocol_features(needed | (protocol & VhostUserProtocolFeatures::MQ))
        .map_err(transport("agreeing on protocol features"))?;
    // Without it a message that fails shows only as a connection that breaks later.
    frontend.set_hdr_flags(VhostUserHeaderFlag::NEED_REPLY);
    let event_index = if features.event_index { F_EVENT_INDEX } else { 0 };
    let indirect = if features.indirect { F_INDIRECT } else { 0 };
    frontend
        .set_features(F_VERSION_1 | F_PROTOCOL | event_index | indirect)
        .map_err(transport("agreeing on features"))?;
    Ok(features)
}

fn read_config(frontend: &mut Frontend) -> Result<Config, BusError> {
    let empty = [0; CONFIG_SIZE as usize];
    let (_, bytes) = frontend
        .get_config(0, CONFIG_SIZE, VhostUserConfigFlags::empty(), &empty)
        .map_err(transport("reading config space"))?;
    Ok(Config::read(&bytes)?)
}

fn share(frontend: &Frontend, memory: &DmaMemory) -> Result<(), BusError> {
    let region = memory.region();
    let file = region.file_offset().ok_or(BusError::Lacks { feature: "a file behind its memory" })?;
    let info = VhostUserMemoryRegionInfo {
        guest_phys_addr: memory.base().0,
        memory_size: region.size() as u64,
        userspace_addr: region.as_ptr() as u64,
        mmap_offset: file.start(),
        mmap_handle: file.file().as_raw_fd(),
    };
    frontend.set_mem_table(&[info]).map_err(transport("sharing memory")).map(|_| ())
}

impl Bus for VhostUser {
    fn config(&self) -> &Config {
        &self.config
    }

    fn memory(&self) -> &DmaMemory {
        &self.memory
    }

    fn batch(&mut self, operations: &[Operation], values: &mut [u32]) -> Result<usize, BusError> {
        if operations.len() > self.batch_max {
            return Err(BusError::TooLong { len: operations.len(), limit: self.batch_max });
        }
        let reads = operations.iter().filter(|operation| matches!(operation, Operation::Read(_))).count();
        if reads > values.len() {
            return Err(BusError::TooFewPlaces { reads, places: values.len() });
        }
        self.begin(Kind::Batch, operations.len());
        for operation in operations {
            let op = match *operation {
                Operation::Read(at) => Op::read(at.0),
                Operation::Write(at, value) => Op::write(at.0, value),
            };
            self.buffer.extend_from_slice(op.as_bytes());
        }
        let response = self.exchange(size_of::<Response>() + 4 * reads)?;
        let words = self.buffer.get(size_of::<Response>()..).unwrap_or_default().chunks_exact(4);
        let read = words.len();
        for (value, word) in values.iter_mut().zip(words) {
            *value = word.try_into().map(u32::from_le_bytes).unwrap_or_default();
        }
        accepted(&response)?;
        if read != reads {
            return Err(bad_answer(format!("{read} values for {reads} reads")));
        }
        Ok(reads)
    }

    fn reset(&mut self) -> Result<(), BusError> {
        self.begin(Kind::Reset, 0);
        let response = self.exchange(size_of::<Response>())?;
        accepted(&response)
    }

    fn declare(&mut self, declarations: &[Declaration]) -> Result<(), BusError> {
        for part in declarations.chunks(DECLARATIONS_MAX as usize) {
            self.begin(Kind::Declare, part.len());
            self.buffer.extend_from_slice(part.as_bytes());
            let response = self.exchange(size_of::<Response>())?;
            accepted(&response)?;
        }
        Ok(())
    }

    fn event(&mut self, limit: Duration) -> Result<Option<Event>, BusError> {
        if !self.events.wait(self.settings.poll.min(limit), limit)? {
            return Ok(None);
        }
        let Some(done) = self.events.ring.take()? else {
            return Ok(None);
        };
        let Token(place) = done.token;
        let buffer = self.event_of.get(usize::from(place)).copied().unwrap_or_default();
        let mut bytes = [0; size_of::<Event>()];
        let at = EVENTS + usize::from(buffer) * bytes.len();
        self.messages.read(PhysAddr(MEMORY_BASE.0 + at as u64), &mut bytes)?;
        self.leave_event_buffer(buffer)?;
        let wanted = self.events.ring.publish();
        self.events.kick_if(wanted)?;
        if done.written as usize != bytes.len() {
            return Err(bad_answer(format!("an event of {} bytes", done.written)));
        }
        Event::read_from_bytes(&bytes).map(Some).map_err(|_| bad_answer("an event"))
    }
}
