//! The common structure of a virtio function (virtio 1.3, 4.1.4.3): offsets of its registers, and bits of its status.

/// Selects the half of the offered features that [`DEVICE_FEATURE`] shows: four bytes each, as the next three.
pub(super) const DEVICE_FEATURE_SELECT: usize = 0x00;
/// Half of the offered features.
pub(super) const DEVICE_FEATURE: usize = 0x04;
/// Selects the half of the accepted features that [`DRIVER_FEATURE`] takes.
pub(super) const DRIVER_FEATURE_SELECT: usize = 0x08;
/// Half of the accepted features.
pub(super) const DRIVER_FEATURE: usize = 0x0c;
/// The vector for changes of config space: two bytes, as the next.
pub(super) const CONFIG_VECTOR: usize = 0x10;
pub(super) const QUEUE_COUNT: usize = 0x12;
/// The status: one byte.
pub(super) const STATUS: usize = 0x14;
/// Selects the queue of the registers behind: two bytes, as the next four.
pub(super) const QUEUE_SELECT: usize = 0x16;
pub(super) const QUEUE_SIZE: usize = 0x18;
pub(super) const QUEUE_VECTOR: usize = 0x1a;
/// Writing 1 makes the queue work.
pub(super) const QUEUE_ENABLE: usize = 0x1c;
/// The queue's place in the notify structure.
pub(super) const QUEUE_NOTIFY_OFFSET: usize = 0x1e;
/// Where its tables are: eight bytes each.
pub(super) const QUEUE_DESCRIPTORS: usize = 0x20;
pub(super) const QUEUE_AVAILABLE: usize = 0x28;
pub(super) const QUEUE_USED: usize = 0x30;

pub(super) const NO_VECTOR: u16 = 0xffff;

/// The status: seen.
pub(super) const ACKNOWLEDGE: u8 = 1;
pub(super) const DRIVER: u8 = 2;
pub(super) const DRIVER_OK: u8 = 4;
pub(super) const FEATURES_OK: u8 = 8;
