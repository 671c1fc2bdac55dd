//! Programs that know nothing of this project, and what they need to run: a daemon, and the preload library.
//!
//! The daemon serves a device of its own, in a thread of the test; `ane exec` starts the same in a process.

mod clients;

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ane::embedded;
use ane_device::Options;
use ane_driver::Driver;
use aned::place::{Access, Place};
use aned::server::{Server, Settings};

use crate::command;

pub use clients::{anec, compiled, folder, include, numpy, python};

/// Memory of the driver's own: page tables, above all.
const MEMORY: usize = 32 << 20;

/// How long the daemon looks for calls before it sleeps, as `ane daemon` does.
const POLL: Duration = Duration::from_micros(100);

/// A daemon in a thread of this process, and where programs find it.
pub struct Service {
    folder: tempfile::TempDir,
    stop: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Service {
    /// Serves a device.
    ///
    /// # Panics
    ///
    /// If it cannot be made.
    pub fn start(options: &Options) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = Place::listen(&folder.path().join("aned.sock"), Access::default()).expect("it listens");
        let listing = folder.path().join("accel");
        std::fs::create_dir(&listing).expect("a folder can be made");
        std::fs::write(listing.join("accel0"), "").expect("a file can be made");
        let (stopped, stop) = nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC).expect("a pipe can be made");
        let options = options.clone();
        let thread = thread::spawn(move || {
            let bus = embedded::open(&options, MEMORY).expect("the device can be made");
            let driver = Driver::probe(bus).expect("the driver finds it");
            let report =
                Box::new(|driver: &mut Driver<_>, what: &str| ane_driver::report::report(driver, what));
            let settings = Settings { poll: POLL, report: Some(report), ..Settings::default() };
            Server::new(driver, place, settings)
                .expect("the daemon can be made")
                .run(stopped.as_fd())
                .expect("the daemon runs");
        });
        Self { folder, stop: Some(stop), thread: Some(thread) }
    }

    /// Where it listens.
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("aned.sock")
    }

    /// A folder for whatever a test writes, gone with the daemon.
    pub fn scratch(&self) -> &Path {
        self.folder.path()
    }

    /// Has a program find the device.
    pub fn preload<'a>(&self, program: &'a mut Command) -> &'a mut Command {
        program
            .env("LD_PRELOAD", library())
            .env("ANE_SHIM_SOCKET", self.socket())
            .env("ANE_SHIM_DEV", self.folder.path().join("accel"))
    }

    /// Runs a program to its end.
    ///
    /// # Panics
    ///
    /// If it cannot be started.
    pub fn run(&self, program: &mut Command) -> Output {
        self.preload(program).output().expect("the program starts")
    }

    /// Runs a program that has to end well; gives what it printed.
    ///
    /// # Panics
    ///
    /// If it does not.
    pub fn done(&self, program: &mut Command) -> String {
        let output = self.run(program);
        let said = String::from_utf8_lossy(&output.stderr);
        let printed = String::from_utf8(output.stdout).expect("text");
        assert!(output.status.success(), "{program:?}: {}\n{printed}{said}", output.status);
        printed
    }

    /// Ends the daemon.
    pub fn end(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the daemon ends");
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The preload library.
pub fn library() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| command::library("ane-drm-shim", "libane_drm_shim.so"))
}
