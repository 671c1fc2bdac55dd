//! The driver of the virtual Apple Neural Engine.
//!
//! It is written the way a kernel's driver is, as a library: [`front`] is what clients come through, [`Driver`] what
//! stands behind it, and the [`bus`] how register accesses, events and memory that the device can reach travel to a
//! device. [`report`] tells people about it.
#![deny(unsafe_code)]

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

mod device;
mod failure;
mod fault;
mod fence;
mod file;
mod files;
mod ioctl;
mod journal;
mod loss;
mod pool;
mod power;
mod progress;
mod stats;
mod submit;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod tm;

pub use device::{Driver, ProbeError};
pub use fault::Consumer;
pub use files::{ContextInfo, MappingInfo};
pub use power::AUTOSUSPEND;
pub use submit::limits;
