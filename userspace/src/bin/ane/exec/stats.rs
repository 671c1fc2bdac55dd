//! The driver's counters in a made-up root, kept up to date while the command runs.
//!
//! The system makes a file of sysfs when it is read. An ordinary file has no such moment, so a thread asks the daemon often and
//! writes the answer. It writes over the same bytes, because monitors keep such a file open and read it again from its
//! beginning. No number falls, so no text is shorter than the one before it.

use std::fs::{File, OpenOptions, Permissions};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use ane::root::Root;
use aned_protocol::client::Client;
use anyhow::{Context, Result};

/// How old the numbers are at most, but for what the daemon takes to answer (Chosen: the next program of a script takes
/// longer to start, and the daemon is asked fifty times in a second).
const PERIOD: Duration = Duration::from_millis(20);

/// The word by which a daemon tells how long the engine was at work.
const ABOUT: &str = "work";

pub(super) struct Stats<'a> {
    client: &'a Client,
    file: File,
    written: String,
}

impl<'a> Stats<'a> {
    /// Writes the first numbers.
    ///
    /// # Errors
    ///
    /// The daemon does not tell them to this user, or the file cannot be written.
    pub(super) fn begin(client: &'a Client, root: &Root) -> Result<Self> {
        let path = root.stats();
        let open = || -> Result<Self> {
            let file = OpenOptions::new().write(true).open(&path)?;
            // As in sysfs; this descriptor still writes.
            file.set_permissions(Permissions::from_mode(0o444))?;
            let mut stats = Self { client, file, written: String::new() };
            stats.write()?;
            Ok(stats)
        };
        open().inspect_err(|_| {
            // No numbers are better than wrong ones.
            let _ = std::fs::remove_file(&path);
        })
    }

    /// Keeps the numbers up to date until nobody is at the other end of `until`, or they cannot be had any more.
    pub(super) fn keep(mut self, until: &Receiver<()>) {
        while until.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) && self.write().is_ok() {}
    }

    fn write(&mut self) -> Result<()> {
        let told = self.client.report(ABOUT).context("asking the daemon")?;
        if told != self.written {
            self.file.write_all_at(told.as_bytes(), 0)?;
            self.written = told;
        }
        Ok(())
    }
}
