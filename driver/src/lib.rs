//! The driver of the virtual Apple Neural Engine.
//!
//! It is written the way a kernel's driver is, as a library. What stands today is its lowest layer, the
//! [`bus`]: how register accesses, events and memory that the device can reach travel to a device.
#![deny(unsafe_code)]

pub mod bus;
