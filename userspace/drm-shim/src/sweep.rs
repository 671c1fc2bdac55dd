//! Noticing that a file was closed.
//!
//! This library does not see `close`, and a file lives on in duplicates and mappings. A file is closed when neither
//! a descriptor nor a mapping of the process stands for it, just as in the kernel; `/proc` tells. The look is taken
//! before a file is opened, since then what closed files still hold may be needed, and now and then with a call. What
//! a process has open when it ends is closed by its sockets.
//!
//! A descriptor that is on its way to another process through a socket, and closed here, is not seen: its file is
//! closed. The receiver of one that is still open here attaches by it.

use std::sync::atomic::{AtomicU64, Ordering};

use libc::c_int;

use crate::connection;
use crate::files::{self, FILES, File};
use crate::sys::file::{self, Identity};
use crate::sys::process;

mod maps;

/// Milliseconds between looks that calls take.
const PERIOD: u64 = 100;

static LAST: AtomicU64 = AtomicU64::new(0);

/// Looks if none was taken for a while.
pub(crate) fn now_and_then() {
    let now = process::coarse_milliseconds();
    let last = LAST.load(Ordering::Relaxed);
    let is_due = now.wrapping_sub(last) >= PERIOD;
    if is_due && LAST.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
        now_at_once();
    }
}

/// Looks, and closes the files that are no longer held.
pub(crate) fn now_at_once() {
    let mut gone = Gone([0; FILES]);
    files::all().for_each(|(file, _)| gone.put_in(file));
    // A descriptor that is moved from a number not yet looked at to one already looked at is missed once, not twice.
    for _ in 0..2 {
        if !look(&mut gone) {
            return;
        }
    }
    let mut is_any = false;
    for file in gone.files() {
        is_any |= files::remove(file);
    }
    if is_any {
        connection::forget_closed();
    }
}

/// Files that were not seen yet, by their places: the serial number that each has there. It lies on the stack of
/// the caller, which may be a signal handler's.
struct Gone([u64; FILES]);

impl Gone {
    fn put_in(&mut self, file: File) {
        if let Some(serial) = self.0.get_mut(file.slot) {
            *serial = file.serial;
        }
    }

    fn take_out(&mut self, identity: Identity) {
        if let Some(file) = files::find(identity)
            && let Some(serial) = self.0.get_mut(file.slot)
            && *serial == file.serial
        {
            *serial = 0;
        }
    }

    fn files(&self) -> impl Iterator<Item = File> {
        let places = self.0.iter().enumerate();
        places.filter(|(_, serial)| **serial != 0).map(|(slot, &serial)| File { slot, serial })
    }

    fn is_any(&self) -> bool {
        self.files().next().is_some()
    }
}

/// Takes the files that are there out of the list. False if none is left in it, or that cannot be found out.
fn look(gone: &mut Gone) -> bool {
    let is_told = each_descriptor(|_, identity| {
        gone.take_out(identity);
        true
    });
    is_told && gone.is_any() && maps::each(&mut |identity| gone.take_out(identity)) && gone.is_any()
}

pub(crate) fn descriptor(wanted: Identity) -> Option<c_int> {
    let mut descriptor = None;
    each_descriptor(|fd, identity| {
        if identity == wanted {
            descriptor = Some(fd);
        }
        descriptor.is_none()
    });
    descriptor
}

/// Shows each descriptor of the process that stands for a regular file, until told to stop. False if they cannot be listed.
///
/// The list is the calling thread's, which all threads share: the main thread may have ended, and then the list of the
/// process is there and empty. A list that does not have the descriptor by which it is read is none.
fn each_descriptor(mut show: impl FnMut(c_int, Identity) -> bool) -> bool {
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
    let Ok(directory) = file::open(libc::AT_FDCWD, c"/proc/thread-self/fd", flags, 0) else { return false };
    let mut room = [0; 2048];
    let mut is_whole = false;
    let is_told = loop {
        match file::entries(directory, &mut room) {
            Ok(0) => break is_whole,
            Ok(bytes) => {
                let entries = Entries { rest: room.get(..bytes).unwrap_or_default() };
                let goes_on = entries
                    .inspect(|&fd| is_whole |= fd == directory)
                    .filter_map(|fd| Some((fd, file::regular(fd)?)))
                    .all(|(fd, identity)| show(fd, identity));
                if !goes_on {
                    break true;
                }
            }
            Err(_) => break false,
        }
    };
    file::close(directory);
    is_told
}

/// The numbers in entries of a directory as the system writes them: inode and offset, the length of the entry in two
/// bytes at 16, a kind, the name at 19 up to a zero.
struct Entries<'a> {
    rest: &'a [u8],
}

impl Iterator for Entries<'_> {
    type Item = c_int;

    fn next(&mut self) -> Option<c_int> {
        loop {
            let length = usize::from(u16::from_ne_bytes(self.rest.get(16..18)?.try_into().ok()?));
            let name = self.rest.get(19..length)?;
            self.rest = self.rest.get(length..)?;
            let name = name.split(|byte| *byte == 0).next()?;
            // `.` and `..` are no numbers.
            if let Some(number) = str::from_utf8(name).ok().and_then(|name| name.parse().ok()) {
                return Some(number);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptor_of_a_file_is_found_while_it_is_open() {
        let fd = file::open(libc::AT_FDCWD, c"/proc/self/exe", libc::O_RDONLY | libc::O_CLOEXEC, 0).unwrap();
        let identity = file::regular(fd).unwrap();
        assert!(descriptor(identity).is_some());
        file::close(fd);
        assert_eq!(descriptor(Identity { device: u64::MAX, inode: u64::MAX }), None);
    }

    #[test]
    fn file_that_is_only_mapped_is_found() {
        // The running program is.
        let fd = file::open(libc::AT_FDCWD, c"/proc/self/exe", libc::O_RDONLY | libc::O_CLOEXEC, 0).unwrap();
        let identity = file::regular(fd).unwrap();
        file::close(fd);
        let mut is_found = false;
        assert!(maps::each(&mut |other| is_found |= other == identity));
        assert!(is_found);
    }
}
