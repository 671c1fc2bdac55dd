//! The engine as a platform device: what a PCI function has to have so that a small module of the guest can make
//! device-tree nodes of it.
//!
//! Each range that a device tree names is a BAR of its own, and inside it everything is where it is on the chip: the driver of the
//! real engine works unchanged. Numbers of vendor and device are from the range that QEMU leaves to experiments.

use crate::abi::{Item, Section, constants};
use crate::hw::power;
use crate::hw::space::EngineOffset;

constants! {
    CONSTANTS;
    /// PCI vendor of the function.
    pub const VENDOR: u32 = 0x1af4, "VIRTIO_ANE_PLATFORM_VENDOR";
    /// PCI device of the function.
    pub const DEVICE: u32 = 0x10fa, "VIRTIO_ANE_PLATFORM_DEVICE";
    /// BAR of the engine's range: task manager and queues, and what lies before them.
    pub const BAR_ENGINE: u32 = 0, "VIRTIO_ANE_PLATFORM_BAR_ENGINE";
    /// BAR of the first DART; the other two are behind it.
    pub const BAR_DART: u32 = 1, "VIRTIO_ANE_PLATFORM_BAR_DART";
    /// BAR of the power words.
    pub const BAR_POWER: u32 = 4, "VIRTIO_ANE_PLATFORM_BAR_POWER";
    /// Bytes of the engine's range; its BAR is the next power of two.
    pub const ENGINE_BYTES: u32 = 0x2_4000, "VIRTIO_ANE_PLATFORM_ENGINE_BYTES";
    /// Bytes of a DART.
    pub const DART_BYTES: u32 = 0x4000, "VIRTIO_ANE_PLATFORM_DART_BYTES";
    /// Bytes of the power words' window.
    pub const POWER_BYTES: u32 = 0x1_0000, "VIRTIO_ANE_PLATFORM_POWER_BYTES";
    /// Interrupt vector of the engine's events.
    pub const VECTOR_ENGINE: u32 = 0, "VIRTIO_ANE_PLATFORM_VECTOR_ENGINE";
    /// Interrupt vector of the DARTs, which share one.
    pub const VECTOR_DART: u32 = 1, "VIRTIO_ANE_PLATFORM_VECTOR_DART";
    /// Vectors.
    pub const VECTORS: u32 = 2, "VIRTIO_ANE_PLATFORM_VECTORS";
}

pub(super) const SECTION: Section = Section {
    title: "The engine as a platform device",
    doc: "A PCI function whose BARs are the ranges that a device tree of the real engine names.",
    items: &[Item::Constants(CONSTANTS)],
};

/// Where the engine's range starts in the container (contract 1.1; derived).
pub const ENGINE_BASE: EngineOffset = EngineOffset(0x1c0_4000);

/// A range that is a BAR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Range {
    /// Task manager and queues.
    Engine,
    /// A DART: 0, 1 or 2.
    Dart(u32),
    /// The power words.
    Power,
}

impl Range {
    /// All of them, in the order of their BARs.
    pub const ALL: [Self; 5] = [Self::Engine, Self::Dart(0), Self::Dart(1), Self::Dart(2), Self::Power];

    /// The range of a BAR.
    pub fn of_bar(bar: u32) -> Option<Self> {
        Self::ALL.get(bar as usize).copied()
    }

    /// Bytes in which something may answer.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::Engine => ENGINE_BYTES,
            Self::Dart(_) => DART_BYTES,
            Self::Power => POWER_BYTES,
        }
    }

    pub const fn bar_bytes(self) -> u32 {
        self.bytes().next_power_of_two()
    }
}

const _: () = {
    assert!(POWER_BYTES == power::WINDOW_BYTES);
    assert!(Range::Engine.bar_bytes() == 0x4_0000);
    assert!(BAR_DART as usize + 3 == BAR_POWER as usize && BAR_POWER as usize + 1 == Range::ALL.len());
};
