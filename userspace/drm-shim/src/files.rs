//! The files that this process has open.
//!
//! A file is known by the inode of its arena: whatever descriptor a program calls with, `dup`licated, inherited or
//! received, `fstat` names the file. The table is small, since each open file has an arena of its own, of which the daemon
//! has a few hundred. It is read and written without a lock. A place in it that is used again has another serial number, so
//! that what a lane knows of the old file is not taken for the new one.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::sys::file::Identity;

/// Files of a process at a time: all arenas that the daemon has, and room for files whose closing was not noticed yet.
pub(crate) const FILES: usize = 320;

/// A place is being filled.
const FILLING: u64 = u64::MAX;

struct Slot {
    /// Zero while it is free.
    serial: AtomicU64,
    device: AtomicU64,
    inode: AtomicU64,
}

static TABLE: [Slot; FILES] =
    [const { Slot { serial: AtomicU64::new(0), device: AtomicU64::new(0), inode: AtomicU64::new(0) } };
        FILES];

/// Places that were ever used: those behind them need no look.
static USED: AtomicUsize = AtomicUsize::new(0);

static LAST_SERIAL: AtomicU64 = AtomicU64::new(0);

/// The serial number of the file that was opened last.
pub(crate) fn last_serial() -> u64 {
    LAST_SERIAL.load(Ordering::SeqCst)
}

/// An open file: its place in the table, and the serial number that it had then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct File {
    pub(crate) slot: usize,
    pub(crate) serial: u64,
}

pub(crate) fn find(identity: Identity) -> Option<File> {
    all().find_map(|(file, other)| (other == identity).then_some(file))
}

pub(crate) fn all() -> impl Iterator<Item = (File, Identity)> {
    let used = USED.load(Ordering::Acquire);
    TABLE.iter().enumerate().take(used).filter_map(|(index, slot)| {
        let serial = slot.serial.load(Ordering::Acquire);
        let device = slot.device.load(Ordering::Relaxed);
        let inode = slot.inode.load(Ordering::Relaxed);
        // It may have been given to another file meanwhile.
        std::sync::atomic::fence(Ordering::Acquire);
        let is_whole = serial != 0 && serial != FILLING && slot.serial.load(Ordering::Relaxed) == serial;
        is_whole.then_some((File { slot: index, serial }, Identity { device, inode }))
    })
}

/// Remembers a file; `None` if there are too many.
pub(crate) fn insert(identity: Identity) -> Option<File> {
    let free =
        |slot: &Slot| slot.serial.compare_exchange(0, FILLING, Ordering::Acquire, Ordering::Relaxed).is_ok();
    let (index, slot) = TABLE.iter().enumerate().find(|(_, slot)| free(slot))?;
    USED.fetch_max(index + 1, Ordering::AcqRel);
    slot.device.store(identity.device, Ordering::Relaxed);
    slot.inode.store(identity.inode, Ordering::Relaxed);
    let serial = LAST_SERIAL.fetch_add(1, Ordering::Relaxed) + 1;
    slot.serial.store(serial, Ordering::Release);
    Some(File { slot: index, serial })
}

/// Forgets a file; false if another thread did so before.
pub(crate) fn remove(file: File) -> bool {
    TABLE.get(file.slot).is_some_and(|slot| {
        slot.serial.compare_exchange(file.serial, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    })
}

pub(crate) fn is_open(file: File) -> bool {
    TABLE.get(file.slot).is_some_and(|slot| slot.serial.load(Ordering::Acquire) == file.serial)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_that_is_used_again_is_another_file() {
        let (first, second) = (Identity { device: 9, inode: 1 }, Identity { device: 9, inode: 2 });
        let file = insert(first).unwrap();
        assert_eq!(find(first), Some(file));
        assert!(remove(file) && !remove(file));
        assert_eq!(find(first), None);
        let other = insert(second).unwrap();
        assert_ne!(file, other);
        assert!(!is_open(file) && is_open(other));
        assert!(remove(other));
    }
}
