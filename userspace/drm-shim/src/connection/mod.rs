//! The way to the daemon.

mod fork;
mod forks;
mod lane;
mod link;
mod silence;
pub(crate) mod wire;

pub(crate) use fork::settle;
#[cfg(not(test))]
pub(crate) use forks::watch;
pub(crate) use lane::{Ready, Taken, forget_closed, take};
pub(crate) use link::Signals;
