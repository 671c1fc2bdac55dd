//! Children of `fork`: a process that has what it did not make.
//!
//! A child has its parent's descriptors, and so the sockets of its parent's lanes; two processes on one connection
//! would take each other's answers. So a child makes lanes of its own, by the first call that needs one, attaches them
//! to the files that it inherited, and only then lets go of its parent's: so a file stays open though the parent has closed
//! it by then, or is gone.

use std::mem;
use std::sync::atomic::{AtomicI32, Ordering};

use super::lane;
use crate::config::Config;
use crate::sys::Failure;
use crate::sys::process::{self, Quiet};
use crate::{files, sweep};

/// The process whose lanes and files these are.
static SETTLED: AtomicI32 = AtomicI32::new(0);

/// The process of which a thread is making them its own, or has.
static SETTLING: AtomicI32 = AtomicI32::new(0);

/// Makes what was inherited this process's own. Before every call on the device.
pub(crate) fn settle(config: &Config) {
    let me = process::id();
    while SETTLED.load(Ordering::Acquire) != me {
        // A handler that makes a call while its thread is in here would wait for itself.
        let quiet = Quiet::new();
        if SETTLING.swap(me, Ordering::AcqRel) != me {
            inherit(config);
            SETTLED.store(me, Ordering::Release);
            return;
        }
        drop(quiet);
        process::pause(1);
    }
}

fn inherit(config: &Config) {
    let inherited = lane::put_aside();
    let mut lane = lane::take_any();
    if matches!(lane.ready(config), Err(Failure(libc::EAGAIN))) {
        // There is no room for a connection of this process now. Its parent's keep the files open until it ends, and a call
        // attaches to its file when there is room.
        mem::forget(inherited);
        return;
    }
    for (file, identity) in files::all() {
        // One without a descriptor is mapped at most; nobody calls on it any more.
        let attached = sweep::descriptor(identity).map(|fd| lane.number(config, file, fd));
        if !matches!(attached, Some(Ok(_))) {
            files::remove(file);
        }
    }
    drop(inherited);
}
