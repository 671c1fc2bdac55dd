//! The device's program, as far as targets feed it: a program cannot be a dependency, so its files are compiled here once more.

#[allow(dead_code, reason = "the program uses more of it")]
#[path = "../../device/daemon/src"]
mod files {
    pub mod backend;
    pub mod chain;
    pub mod descriptors;
    pub mod frames;
    pub mod guard;
    pub mod hold;
    pub mod journal;
    pub mod lock;
    pub mod messages;
    pub mod poll;
    pub mod queues;
    pub mod ringing;
    pub mod server;
    pub mod session;
    pub mod trace;
    pub mod vfio_user;
    pub mod vring;
    pub mod worker;
}

#[allow(unused_imports, reason = "each target uses some of it")]
pub use files::*;

/// Descriptors that are open in this process.
#[allow(dead_code, reason = "not every target counts them")]
pub fn open() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("it can be listed").count()
}
