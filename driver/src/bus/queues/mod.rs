//! The two virtqueues of a device as a driver uses them, whatever carries the wake-ups.
//!
//! A request is on its way at a time. While it waits, the driver first looks at the ring for a while
//! ([`QueueSettings::poll`]), and only then sleeps: a device that polls as well answers within a microsecond,
//! where two sleeping sides need a wake-up each. How to ring for the device, and how to sleep until it
//! rings back, is the [`Doorbell`]'s: file descriptors between processes, or a function's notification
//! register and interrupt.
//!
//! * `ctrl`: carries requests and their answers, which [`requests`](super::requests) writes and reads;
//! * `event`: what the device says by itself.

mod ctrl;
mod event;

use std::time::{Duration, Instant};

use ane_uapi::hw::space::PhysAddr;
use ane_uapi::wire::config::Config;
use ane_uapi::wire::ctrl::{BATCH_MAX, Header, Op, Response};
use ane_uapi::wire::event::Event;
use ane_uapi::wire::{CTRL_QUEUE, EVENT_QUEUE};

use super::ring::{Features, Layout, Ring};
use super::{BusError, DmaMemory, Result};

/// Feature bits of virtio that concern queues.
const F_INDIRECT: u64 = 1 << 28;
const F_EVENT_INDEX: u64 = 1 << 29;
pub(super) const F_VERSION_1: u64 = 1 << 32;

impl Features {
    /// The features that a device offers.
    pub(super) const fn offered_in(self, bits: u64) -> Self {
        Self {
            event_index: self.event_index && bits & F_EVENT_INDEX != 0,
            indirect: self.indirect && bits & F_INDIRECT != 0,
        }
    }

    /// The bits by which a driver accepts them.
    pub(super) const fn bits(self) -> u64 {
        (if self.event_index { F_EVENT_INDEX } else { 0 }) | (if self.indirect { F_INDIRECT } else { 0 })
    }
}

/// Places of the control queue. One request is on its way at a time and takes two.
pub(super) const CTRL_PLACES: usize = 8;

/// Places of the event queue, each with a buffer: both event lines of the task manager full, and room.
pub(super) const EVENT_PLACES: usize = 64;

const CTRL_RING: usize = 0;
const EVENT_RING: usize = 0x2000;
const EVENTS: usize = 0x8000;
const REQUEST: usize = 0x10000;
const RESPONSE: usize = 0x14000;

/// Bytes of memory that rings and messages take.
pub(super) const MESSAGES: usize = 0x20000;

/// Operations that the message buffers have room for; no device takes more.
const BATCH_ROOM: usize = BATCH_MAX as usize;

const _: () = {
    assert!(CTRL_RING + Layout::of(CTRL_PLACES as u16).bytes <= EVENT_RING);
    assert!(EVENT_RING + Layout::of(EVENT_PLACES as u16).bytes <= EVENTS);
    assert!(EVENTS + EVENT_PLACES * size_of::<Event>() <= REQUEST);
    assert!(REQUEST + size_of::<Header>() + BATCH_ROOM * size_of::<Op>() <= RESPONSE);
    assert!(RESPONSE + size_of::<Response>() + BATCH_ROOM * 4 <= MESSAGES);
};

/// How to work with the queues.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueueSettings {
    /// How long to look at the ring before sleeping.
    pub(super) poll: Duration,
    /// How long a device may take to answer.
    pub(super) timeout: Duration,
    pub(super) features: Features,
}

/// The way of wake-ups between driver and device.
pub(super) trait Doorbell {
    /// Tells the device that a queue has something for it.
    fn ring(&self, queue: u16) -> Result<()>;

    /// Sleeps until the device may have something in a queue, no longer than `limit`. It may wake too early. True if
    /// the device has hung up; what it did before still counts.
    fn sleep(&mut self, queue: u16, limit: Duration) -> Result<bool>;

    /// Wakes the threads that sleep for events again. An event lies in the event queue, and a thread that waited for
    /// something else may have taken its wake-up.
    fn pass_on(&self) {}

    fn is_gone(&self) -> bool {
        false
    }
}

/// A queue: which, where its tables are, and how many places it has.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueueTables {
    pub(super) index: u16,
    pub(super) size: u16,
    /// Bytes into the memory of the messages.
    pub(super) offset: usize,
    pub(super) layout: Layout,
}

pub(super) const TABLES: [QueueTables; 2] = [
    QueueTables {
        index: CTRL_QUEUE,
        size: CTRL_PLACES as u16,
        offset: CTRL_RING,
        layout: Ring::<DmaMemory, CTRL_PLACES>::LAYOUT,
    },
    QueueTables {
        index: EVENT_QUEUE,
        size: EVENT_PLACES as u16,
        offset: EVENT_RING,
        layout: Ring::<DmaMemory, EVENT_PLACES>::LAYOUT,
    },
];

/// Both queues of a device, set up in memory that it reaches.
pub(super) struct Queues<D> {
    config: Config,
    settings: QueueSettings,
    messages: DmaMemory,
    ctrl: Ring<DmaMemory, CTRL_PLACES>,
    events: Ring<DmaMemory, EVENT_PLACES>,
    doorbell: D,
    /// By token, which event buffer a chain is.
    event_of: [u16; EVENT_PLACES],
    out_of_order: bool,
}

pub(super) fn transport<E: std::fmt::Display>(action: &'static str) -> impl Fn(E) -> BusError {
    move |why| BusError::Transport { action, why: why.to_string() }
}

/// Waits until the device is done with a chain of `ring`; false if it is not within `limit`.
fn wait<D: Doorbell, const PLACES: usize>(
    ring: &mut Ring<DmaMemory, PLACES>,
    doorbell: &mut D,
    queue: u16,
    window: Duration,
    limit: Duration,
) -> Result<bool> {
    if ring.is_ready() {
        return Ok(true);
    }
    let start = Instant::now();
    if !window.is_zero() {
        ring.disarm();
        while start.elapsed() < window.min(limit) {
            // Asking for the time costs more than looking at the ring.
            for _ in 0..16 {
                if ring.is_ready() {
                    return Ok(true);
                }
                std::hint::spin_loop();
            }
        }
    }
    loop {
        if ring.arm() {
            return Ok(true);
        }
        let left = limit.saturating_sub(start.elapsed());
        if left.is_zero() {
            return Ok(false);
        }
        if doorbell.sleep(queue, left)? && !ring.is_ready() {
            return Err(BusError::HungUp);
        }
    }
}

/// A time as epoll wants it: whole milliseconds, rounded up, so that a short rest is not spent in a busy loop.
pub(super) fn milliseconds(time: Duration) -> i32 {
    time.as_micros().div_ceil(1000).min(i32::MAX as u128) as i32
}

impl<D: Doorbell> Queues<D> {
    /// Sets up the queues in `messages`, of which the device is to be told before [`Queues::start`].
    pub(super) fn new(
        config: Config,
        messages: DmaMemory,
        doorbell: D,
        settings: QueueSettings,
    ) -> Result<Self> {
        let area = |from: usize, to: usize| messages.part(from, to - from);
        let (ctrl, events) = (area(CTRL_RING, EVENT_RING)?, area(EVENT_RING, EVENTS)?);
        let (at_ctrl, at_events) = (ctrl.base().0, events.base().0);
        let bad = transport("setting up a queue");
        Ok(Self {
            ctrl: Ring::new(ctrl, at_ctrl, settings.features).map_err(&bad)?,
            events: Ring::new(events, at_events, settings.features).map_err(&bad)?,
            config,
            settings,
            messages,
            doorbell,
            event_of: [0; EVENT_PLACES],
            out_of_order: false,
        })
    }

    /// Fills the event queue: the device knows of the queues now.
    pub(super) fn start(&mut self) -> Result<()> {
        for buffer in 0..EVENT_PLACES as u16 {
            self.leave_event_buffer(buffer)?;
        }
        if self.events.publish() { self.doorbell.ring(EVENT_QUEUE) } else { Ok(()) }
    }

    pub(super) const fn doorbell(&self) -> &D {
        &self.doorbell
    }

    pub(super) const fn doorbell_mut(&mut self) -> &mut D {
        &mut self.doorbell
    }

    fn at(&self, offset: usize) -> PhysAddr {
        PhysAddr(self.messages.base().0 + offset as u64)
    }
}
