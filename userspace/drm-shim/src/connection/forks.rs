//! The forks of this process: what its children may have of it.
//!
//! The C library tells of a `fork` before it happens, and behind it in the parent and in the child. A process that is made otherwise is not noted; most of
//! those call `exec` at once, and have no files then.

use std::sync::atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering};

use crate::files;
use crate::sys::process;

/// Rises with each fork of this process, and of those that it comes from: before the child is made, and in the parent after it.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// The serial number of the last file that a child may have.
static LAST_FILE: AtomicU64 = AtomicU64::new(0);

/// The thread that forked, of which this process is the copy; and the process of which that is said.
static FORKER: AtomicUsize = AtomicUsize::new(0);
static FORKER_OF: AtomicI32 = AtomicI32::new(0);

/// Has every fork noted.
pub(crate) fn watch() {
    // Another thread may open a file or connect between the first of these and the moment in which the child is made.
    unsafe extern "C" fn around() {
        LAST_FILE.fetch_max(files::last_serial(), Ordering::SeqCst);
        COUNT.fetch_add(1, Ordering::SeqCst);
    }
    unsafe extern "C" fn in_child() {
        FORKER.store(process::this_thread(), Ordering::SeqCst);
        FORKER_OF.store(process::id(), Ordering::SeqCst);
    }
    // SAFETY: the functions have no demands, and stay as long as this library, which is not unloaded: it was preloaded.
    unsafe { libc::pthread_atfork(Some(around), Some(around), Some(in_child)) };
}

pub(super) fn count() -> u64 {
    COUNT.load(Ordering::SeqCst)
}

/// True if a child may have a file, and a connection that was made when the count of forks was `forks`.
pub(super) fn may_have(serial: u64, forks: u64) -> bool {
    serial <= LAST_FILE.load(Ordering::SeqCst) && forks != count()
}

/// The thread of the parent that this process is made of, by its number; `None` if that was not noted.
pub(super) fn forker() -> Option<usize> {
    (FORKER_OF.load(Ordering::SeqCst) == process::id()).then(|| FORKER.load(Ordering::SeqCst))
}
