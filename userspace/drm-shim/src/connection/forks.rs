//! The forks of this process: what its children may have of it.
//!
//! The C library tells of a `fork` before it happens. A process that is made otherwise is not noted; most of
//! those call `exec` at once, and have no files then.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::files;

/// Forks of this process, and of those that it comes from.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// The serial number of the last file that a child may have.
static LAST_FILE: AtomicU64 = AtomicU64::new(0);

/// Has every fork noted.
pub(crate) fn watch() {
    unsafe extern "C" fn before() {
        LAST_FILE.store(files::last_serial(), Ordering::SeqCst);
        COUNT.fetch_add(1, Ordering::SeqCst);
    }
    // SAFETY: the function has no demands, and stays as long as this library, which is not unloaded: it was preloaded.
    unsafe { libc::pthread_atfork(Some(before), None, None) };
}

pub(super) fn count() -> u64 {
    COUNT.load(Ordering::SeqCst)
}

/// True if a child may have a file, and a connection that was made when there were `forks` forks.
pub(super) fn may_have(serial: u64, forks: u64) -> bool {
    serial <= LAST_FILE.load(Ordering::SeqCst) && forks != count()
}
