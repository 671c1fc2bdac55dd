//! Children of `fork`: a process that has what it did not make.
//!
//! A child has its parent's descriptors, and so the sockets of its parent's lanes; two processes on one connection
//! would take each other's answers. So a child makes lanes of its own, by the first call that needs one, attaches them
//! to the files that it inherited, and only then lets go of its parent's: so a file stays open though the parent is
//! gone by then.
//!
//! That a process is a child is told by a page that the kernel wipes in children, which costs nothing to look at and
//! misses no way to fork.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use super::lane;
use crate::config::Config;
use crate::sys::memory::Mapping;
use crate::sys::process::{self, Quiet};
use crate::{files, sweep};

/// Nobody has made a call in this process.
const NEW: u32 = 0;
/// Somebody is looking at what was inherited.
const SETTLING: u32 = 1;
/// Lanes and files are this process's own.
const SETTLED: u32 = 2;

/// Bytes of the page.
const PAGE: usize = 4096;

static STATE: AtomicPtr<AtomicU32> = AtomicPtr::new(ptr::null_mut());

/// Used where the system has no such page: a child is then taken for its parent.
static WITHOUT: AtomicU32 = AtomicU32::new(NEW);

/// The word in the page.
fn state() -> &'static AtomicU32 {
    let mut at = STATE.load(Ordering::Acquire);
    if at.is_null() {
        at = make();
    }
    // SAFETY: it is the static, or the start of a page that is never unmapped, aligned and zeroed.
    unsafe { &*at }
}

/// Makes the page, unless another thread is faster.
fn make() -> *mut AtomicU32 {
    let page = Mapping::anonymous(PAGE).ok().filter(|page| page.wipe_on_fork().is_ok());
    let mine = page.as_ref().map_or((&raw const WITHOUT).cast_mut(), |page| page.start().cast());
    match STATE.compare_exchange(ptr::null_mut(), mine, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => {
            std::mem::forget(page);
            mine
        }
        Err(other) => other,
    }
}

/// Makes what was inherited this process's own. Before every call on the device.
pub(crate) fn settle(config: &Config) {
    let state = state();
    while state.load(Ordering::Acquire) != SETTLED {
        // A handler that makes a call while its thread is in here would wait for itself.
        let quiet = Quiet::new();
        if state.compare_exchange(NEW, SETTLING, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            inherit(config);
            state.store(SETTLED, Ordering::Release);
            return;
        }
        drop(quiet);
        process::pause(1);
    }
}

fn inherit(config: &Config) {
    let inherited = lane::put_aside();
    let mut lane = lane::take();
    for (file, identity) in files::all() {
        // One without a descriptor is mapped at most; nobody calls on it any more.
        let attached = sweep::descriptor(identity).map(|fd| lane.number(config, file, fd));
        if !matches!(attached, Some(Ok(_))) {
            files::remove(file);
        }
    }
    drop(inherited);
}
