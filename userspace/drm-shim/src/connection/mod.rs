//! The way to the daemon.

mod fork;
mod lane;
mod link;
mod silence;
pub(crate) mod wire;

pub(crate) use fork::settle;
pub(crate) use lane::{Ready, Taken, forget_closed, take};
pub(crate) use link::Signals;
