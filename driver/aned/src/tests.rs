//! The users and folders of unit tests.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use ane_driver::front::User;

/// A user who may do as he likes.
pub(crate) const OWNER: User = User { id: 0, is_privileged: true };

/// One who may not.
pub(crate) const STRANGER: User = User { id: 1001, is_privileged: false };

/// A folder of a test's own.
pub(crate) fn folder() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("ane-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    folder
}
