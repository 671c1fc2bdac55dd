//! The driver in front of the real device.

mod programs;
