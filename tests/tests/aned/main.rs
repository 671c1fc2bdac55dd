//! `aned` and its clients, each a process of its own, in front of the device's daemon.

mod confined;
mod embedded;
mod exhaustion;
mod greed;
mod kills;
mod serving;
mod sharing;
mod turns;
