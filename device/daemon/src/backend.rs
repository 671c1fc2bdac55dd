//! The device as the threads of a connection see it.
//!
//! A connection has two threads. One reads messages: it must never wait long, for a frontend
//! that asks for config space is a virtual processor standing still. The other is woken by the guest's kicks;
//! it belongs to one engine and to nothing else, and it is the thread that the engine runs on: between a kick
//! and its answer there is one wake-up and not two.
//!
//! The engine is behind a lock of its own ([`Hold`]). The message thread takes it for four things only: to replace
//! memory, to stop a queue, to reset, and at the end of a connection. Each means "nothing of before touches memory any more", so waiting
//! for the turn that runs is what it is for. A turn is some milliseconds of one task at most, without what is
//! computed beside, which touches no memory of the guest's. A task that is not worth waiting for is
//! called off: at a reset and at the end of a connection at once, otherwise when it keeps others waiting ([`INTERRUPT_AFTER`]);
//! the thread of the kicks releases the lock between turns when another thread waits. Config space, features and the setting up of queues
//! never take the lock.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ane_device::time::Ticks;
use ane_device::{Options, wire};
use ane_uapi::wire::{CTRL_QUEUE, QUEUES};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use vhost::vhost_user::message::{VhostUserProtocolFeatures, VhostUserVirtioFeatures};
use vhost_user_backend::VringT;
use virtio_bindings::bindings::virtio_config::VIRTIO_F_VERSION_1;
use virtio_bindings::bindings::virtio_ring::{VIRTIO_RING_F_EVENT_IDX, VIRTIO_RING_F_INDIRECT_DESC};
use virtio_queue::QueueT;
use vm_memory::{
    GuestAddressSpace, GuestMemoryAtomic, GuestMemoryBackend, GuestMemoryMmap, GuestMemoryRegion,
};
use zerocopy::IntoBytes;

use super::guard::Lost;
use super::hold::Hold;
use super::journal::{self, Kind};
use super::lock::lock;
use super::poll::Window;
use super::session::Session;
use super::trace::Trace;
use super::worker::{Vring, Worker, is_behind};

/// Events that wake the queue thread. The numbers of the queues come first; the one behind them ends the thread.
const AGAIN: u64 = QUEUES as u64 + 1;
const TIMER: u64 = QUEUES as u64 + 2;

/// The queue thread goes back to its event loop after this long, so that it learns of the end of its connection.
const SLICE: Duration = Duration::from_millis(1);

/// How long a queue that is stopped, or memory that is replaced, waits for the end of a task before it is called off. Few
/// tasks take as long, and a virtual machine stands still meanwhile (Chosen).
const INTERRUPT_AFTER: Duration = Duration::from_secs(1);

pub(crate) struct Backend {
    config: Vec<u8>,
    engine: Arc<Hold>,
    rest: Mutex<Rest>,
    /// Readable while there is more to do. The bell of what is computed beside.
    again: Arc<EventFd>,
    /// Readable when the engine's next deadline has come.
    timer: TimerFd,
    session: Mutex<Session>,
}

/// The state of the queue thread between two wake-ups.
#[derive(Clone, Copy)]
struct Rest {
    window: Window,
    alarm: Option<Ticks>,
}

impl Backend {
    /// A device with these options, whose timeline goes to `trace`.
    pub(crate) fn new(options: &Options, poll: Duration, trace: Trace) -> anyhow::Result<Self> {
        let again = Arc::new(EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?);
        let bell = {
            let again = Arc::clone(&again);
            Arc::new(move || ring(&again))
        };
        let worker = Worker::new(options, trace, Some(bell))?;
        Ok(Self {
            config: wire::config(options)?.as_bytes().to_vec(),
            engine: Arc::new(Hold::new(worker)),
            rest: Mutex::new(Rest { window: Window::new(poll, Instant::now()), alarm: None }),
            again,
            timer: TimerFd::new(
                ClockId::CLOCK_MONOTONIC,
                TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC,
            )?,
            session: Mutex::default(),
        })
    }

    /// The descriptors that wake the queue thread besides the guest's.
    pub(crate) fn wakers(&self) -> [(BorrowedFd<'_>, u64); 2] {
        [(self.again.as_fd(), AGAIN), (self.timer.as_fd(), TIMER)]
    }

    /// Wakes the queue thread.
    pub(crate) fn look_again(&self) {
        ring(&self.again);
    }

    pub(crate) fn connected(&self, connection: UnixStream) {
        lock(&self.session).begin(connection);
    }

    /// Ends the connection of a frontend that cut its memory short; told once.
    fn give_up(&self, lost: &Lost) {
        if lock(&self.session).end() {
            journal::write(
                Kind::Disconnection,
                format_args!("frontend is disconnected and its requests are dropped: {lost}"),
            );
        }
    }

    /// The connection ends, so the task that runs for it ends too.
    pub(crate) fn leaving(&self) {
        self.engine.call_off(true);
    }

    /// The connection has ended, and its threads with it.
    pub(crate) fn disconnected(&self) {
        self.engine.with_worker(Worker::forget);
        self.engine.call_off(false);
        *lock(&self.session) = Session::default();
    }

    /// The engine, for threads that it does not run on.
    pub(crate) const fn engine(&self) -> &Arc<Hold> {
        &self.engine
    }

    /// Takes turns while there is something to do, and a little longer if that pays.
    fn serve(&self, vrings: &[Vring]) {
        let start = Instant::now();
        let mut rest = *lock(&self.rest);
        let window = &mut rest.window;
        let Some(ctrl) = vrings.get(usize::from(CTRL_QUEUE)) else { return };
        // While it looks by itself it need not be woken.
        if window.is_used() {
            self.engine.own().ask_for_no_kicks(ctrl);
        }
        let mut turn;
        loop {
            // A lock is not fair: who runs all the time gets it all the time.
            self.engine.step_back();
            turn = self.engine.own().turn(vrings);
            if let Some(lost) = turn.lost {
                self.give_up(&lost);
                break;
            }
            let now = Instant::now();
            if turn.progress {
                window.worked(now);
            }
            let again = turn.busy || (!turn.stalled && self.look(ctrl, window, start));
            if !again && (turn.stalled || !self.engine.own().ask_for_kicks(ctrl)) {
                break;
            }
            if now.duration_since(start) >= SLICE {
                ring(&self.again);
                break;
            }
        }
        self.set_alarm(&mut rest, turn.at);
        *lock(&self.rest) = rest;
    }

    /// Looks for a request while the window is open; true if there is one.
    fn look(&self, ctrl: &Vring, window: &Window, start: Instant) -> bool {
        if !window.is_open(Instant::now()) {
            return false;
        }
        // Should the guest's memory be replaced meanwhile, then `wanted` says so.
        let guard = self.engine.own().guard().clone();
        loop {
            let now = Instant::now();
            if !window.is_open(now) {
                return false;
            }
            // The end of the slice is not the end of the window: the caller asks to be called again.
            if now.duration_since(start) >= SLICE || self.engine.is_wanted() {
                return true;
            }
            for _ in 0..16 {
                if has_request(ctrl, guard.memory()) {
                    return true;
                }
                std::hint::spin_loop();
            }
        }
    }

    /// Asks to be woken when the engine's next deadline comes.
    fn set_alarm(&self, rest: &mut Rest, at: Option<Ticks>) {
        if rest.alarm == at {
            return;
        }
        rest.alarm = at;
        let outcome = match at {
            Some(at) => {
                let wait = at.saturating_sub(self.engine.own().now());
                let spec = Expiration::OneShot(TimeSpec::from_duration(duration(wait)));
                self.timer.set(spec, TimerSetTimeFlags::empty())
            }
            None => self.timer.unset(),
        };
        if let Err(why) = outcome {
            log::error!("timer cannot be set: {why}");
        }
    }
}

fn ring(bell: &EventFd) {
    // Writing fails only where the counter is full, and then it is readable anyway.
    let _ = bell.write(1);
}

/// A span as the system knows it, never zero: a timer of zero never fires.
fn duration(span: Ticks) -> Duration {
    span.to_duration().max(Duration::from_micros(1))
}

/// Refuses a region that is longer than its file, since an access to the missing part would end this process. Also refuses a
/// region of a file that is not an ordinary one, since its length is not known: `/dev/zero` seems to end where the mapping
/// ends. Memory is made of ordinary files, on huge pages as well.
///
/// A frontend can still shorten the file later; [`super::guard`] deals with that.
fn check_files(memory: &GuestMemoryMmap) -> io::Result<()> {
    for region in memory.iter() {
        let Some(file) = region.file_offset() else { continue };
        let behind = file.file().metadata()?;
        if !behind.is_file() {
            let at = region.start_addr().0;
            return Err(io::Error::other(format!("guest memory at {at:#x} has no ordinary file behind it")));
        }
        if file.start().checked_add(region.len()).is_none_or(|end| end > behind.len()) {
            let (at, bytes, start) = (region.start_addr().0, region.len(), file.start());
            return Err(io::Error::other(format!(
                "guest memory at {at:#x} has {bytes:#x} bytes from {start:#x} on of a file of {:#x} bytes",
                behind.len()
            )));
        }
    }
    Ok(())
}

/// True if a request waits that was not taken.
fn has_request(vring: &Vring, memory: &GuestMemoryMmap) -> bool {
    let state = vring.get_ref();
    let queue = state.get_queue();
    queue.ready() && is_behind(queue, memory)
}

/// The effects of messages and wake-ups.
impl Backend {
    pub(crate) fn features() -> u64 {
        1 << VIRTIO_F_VERSION_1
            | 1 << VIRTIO_RING_F_INDIRECT_DESC
            | 1 << VIRTIO_RING_F_EVENT_IDX
            | VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits()
    }

    pub(crate) fn protocol_features() -> VhostUserProtocolFeatures {
        VhostUserProtocolFeatures::CONFIG
            | VhostUserProtocolFeatures::MQ
            | VhostUserProtocolFeatures::REPLY_ACK
            | VhostUserProtocolFeatures::CONFIGURE_MEM_SLOTS
            | VhostUserProtocolFeatures::RESET_DEVICE
    }

    pub(crate) fn reset_device(&self) {
        self.engine.interrupting(Duration::ZERO, Worker::reset);
    }

    /// Bytes of config space.
    pub(crate) fn config(&self, offset: u32, size: u32) -> Vec<u8> {
        // Zeroes behind the end: a frontend asks for as many bytes as it was told to, 256 at most.
        let known = self.config.iter().copied().skip(offset as usize);
        known.chain(std::iter::repeat(0)).take(size as usize).collect()
    }

    pub(crate) fn update_memory(&self, memory: &GuestMemoryAtomic<GuestMemoryMmap>) -> io::Result<()> {
        let checked = check_files(&memory.memory());
        if checked.is_err() {
            // The queues have it already; they must not look.
            memory.lock().unwrap_or_else(PoisonError::into_inner).replace(GuestMemoryMmap::new());
        }
        let is_taken =
            self.engine.interrupting(INTERRUPT_AFTER, |worker| worker.replace_memory(&memory.memory()));
        let checked =
            checked.and_then(|()| if is_taken { Ok(()) } else { Err(io::Error::other("too many regions")) });
        checked.inspect_err(|why| journal::write(Kind::Refusal, format_args!("memory is refused: {why}")))
    }

    pub(crate) fn stop_vring(&self, queue: u32) {
        // Nothing is in flight between turns, and no buffer is kept: to have the engine is to have drained it.
        self.engine.interrupting(INTERRUPT_AFTER, |_| log::debug!("queue {queue} is stopped"));
    }

    /// Serves the queues after a wake-up by one of them, or by what has this number.
    pub(crate) fn woken(&self, number: u64, vrings: &[Vring]) {
        match number {
            // Reading fails if there is nothing to read, which is as well.
            AGAIN => {
                let _ = self.again.read();
            }
            TIMER => {
                let _ = self.timer.wait();
                lock(&self.rest).alarm = None;
            }
            _ => lock(&self.rest).window.woken(Instant::now()),
        }
        self.serve(vrings);
    }
}
