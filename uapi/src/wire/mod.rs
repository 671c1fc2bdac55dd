//! The wire contract: virtio-ane.
//!
//! One virtio device carries the engine into a guest. It is a bus to the engine's registers and not another
//! way to program it: a driver writes the same registers in the same order as on silicon, only many at once.
//!
//! * [`config`]: what the device is, in 56 bytes that are read once and never written;
//! * [`ctrl`], queue 0: batches of register accesses, and reset;
//! * [`sideband`], on the same queue: messages to PE_MMU and to checking mode;
//! * [`event`], queue 1: one buffer for each interrupt event.
//!
//! Where the engine is a PCI function of its own instead ([`platform`]) there are no queues: its BARs are the ranges of a real one.
//!
//! Everything is little-endian. The device is modern only, needs no feature bit of its own, and is recognised
//! by the magic in config space, never by its virtio id. Nothing on a queue waits for work: what starts work
//! completes at once, and an event tells when it is done. All of it is Chosen, within what the ways of
//! attaching allow (`docs/virtio-ane.md`).

pub mod config;
pub mod ctrl;
pub mod event;
pub mod platform;
pub mod sideband;

use crate::abi::{Item, Section, constants};

constants! {
    CONSTANTS;
    /// Virtio id unless told otherwise: reserved by the virtio specification for a device that was never
    /// specified, and so free of drivers.
    pub const VIRTIO_ID: u32 = 21, "VIRTIO_ANE_ID";
    /// The queue of requests.
    pub const CTRL_QUEUE: u16 = 0, "VIRTIO_ANE_CTRL_QUEUE";
    /// The queue of events.
    pub const EVENT_QUEUE: u16 = 1, "VIRTIO_ANE_EVENT_QUEUE";
    /// Number of queues.
    pub const QUEUES: u16 = 2, "VIRTIO_ANE_QUEUES";
}

/// The sections of the C header, in order.
pub const SECTIONS: &[Section] = &[
    Section {
        title: "The device",
        doc: "A virtio device, modern only, with two queues and no feature bits of its own. Everything is \
              little-endian.",
        items: &[Item::Constants(CONSTANTS)],
    },
    config::SECTION,
    ctrl::SECTION,
    sideband::SECTION,
    event::SECTION,
    platform::SECTION,
];
