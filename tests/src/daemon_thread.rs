//! The daemon of clients with a device of its own, in a thread of the test; `ane daemon` is the same in a process.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ane::daemon;
use ane_device::Options;
use ane_driver::report::report;
use aned::place::{Access, Place};
use aned::server::Settings;
use aned_protocol::client::{self, Client};
use nix::fcntl::OFlag;
use nix::unistd::pipe2;

use crate::client::Clients;
use crate::remote::Remote;

/// How long the daemon looks for calls before it sleeps, as `ane daemon` does.
const POLL: Duration = Duration::from_micros(100);

/// A daemon that serves a device of its own. Dropping it ends it.
pub struct DaemonThread {
    folder: tempfile::TempDir,
    stop: Option<OwnedFd>,
    thread: Option<JoinHandle<usize>>,
}

impl DaemonThread {
    /// Serves a device with these options.
    ///
    /// # Panics
    ///
    /// If it cannot be made.
    pub fn start(options: &Options) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = Place::listen(&folder.path().join("aned.sock"), Access::default()).expect("it listens");
        // Programs that a test starts do not inherit the pipe, so closing it always ends the daemon.
        let (stopped, stop) = pipe2(OFlag::O_CLOEXEC).expect("a pipe can be made");
        let driver = daemon::driver(options).expect("the device can be made");
        let settings = Settings { poll: POLL, report: Some(Box::new(report)), ..Settings::default() };
        let thread = thread::spawn(move || {
            let driver = daemon::serve(driver, place, settings, stopped.as_fd()).expect("the daemon runs");
            driver.contexts().len()
        });
        Self { folder, stop: Some(stop), thread: Some(thread) }
    }

    /// The socket on which it listens.
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("aned.sock")
    }

    /// A folder for the files of a test, removed with the daemon.
    pub fn scratch(&self) -> &Path {
        self.folder.path()
    }

    /// A connection to it, with what tests do over one.
    ///
    /// # Panics
    ///
    /// If it does not let one in.
    pub fn clients(&self) -> Clients<Remote> {
        let client = Client::connect(&self.socket(), client::Settings::default());
        Clients::new(Remote::new(client.expect("the daemon lets clients in")))
    }

    /// Ends the daemon; gives how many contexts were in use then.
    ///
    /// # Panics
    ///
    /// If it failed, or was ended before.
    pub fn end(&mut self) -> usize {
        self.stop = None;
        self.thread.take().expect("it runs").join().expect("the daemon ends")
    }
}

impl Drop for DaemonThread {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || thread::panicking(), "the daemon failed");
        }
    }
}
