//! The driver of the virtual Apple Neural Engine.
//!
//! It is written the way a kernel's driver is, as a library: [`front`] is what clients come through, and the
//! [`bus`] how register accesses, events and memory that the device can reach travel to a device.
#![deny(unsafe_code)]

pub mod bus;
pub mod front;
