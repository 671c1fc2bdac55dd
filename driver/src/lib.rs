//! The driver of the virtual Apple Neural Engine.
//!
//! It is written the way a kernel's driver is, as a library: [`front`] is what clients come through, [`Driver`] what
//! stands behind it, and the [`bus`] how register accesses, events and memory that the device can reach travel to a
//! device. [`report`] tells people about it.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::arithmetic_side_effects))]
#![cfg_attr(not(test), deny(clippy::cast_possible_truncation))]

pub mod bo;
pub mod bus;
pub mod clock;
pub mod companion;
pub mod dart;
pub mod evict;
pub mod front;
pub mod handle;
pub mod iso;
pub mod mem;
pub mod program;
pub mod report;
pub mod usage;

mod clients;
mod device;
mod fence;
mod files;
mod hardware;
mod ioctl;
mod journal;
mod per_number;
mod pool;
mod progress;
mod stats;
mod submit;
#[cfg(test)]
mod tests;
mod tm;

pub use clients::Consumer;
pub use device::Driver;
pub use files::{ContextInfo, MappingInfo};
pub use hardware::{AUTOSUSPEND, ProbeError};
pub use submit::limits;
