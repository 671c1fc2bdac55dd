//! Tasks that take long, and what goes on meanwhile: the array's share is computed beside the thread that has the device.
//!
//! The long tasks here take minutes, and every wait ends long before.

mod clients;
mod here;
mod socket;
