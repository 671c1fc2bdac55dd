//! The device in the words of the wire: config space, requests and their answers, and events.
//!
//! Every front passes the same bytes through here, whether a virtqueue carries them or a function call: what the device
//! is, what a driver asks of it, and what happened in it.

mod config;
mod event;
mod regions;
pub mod request;

pub use self::config::config;
pub use self::event::event;
