//! Programs that know nothing of this project, and what they need to run: a daemon, and the preload library.
//!
//! The daemon serves a device of its own, in a thread of the test; `ane exec` starts the same in a process.

mod clients;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use ane_device::Options;

use crate::command;
use crate::daemon_thread::DaemonThread;

pub use clients::{anec, compiled, folder, include, numpy, python};

/// A daemon, and a listing of devices with its device in it, which programs under the preload library find.
pub struct Preload {
    /// The daemon. The listing lies in its folder.
    pub daemon: DaemonThread,
}

impl Preload {
    /// Serves a device.
    ///
    /// # Panics
    ///
    /// If it cannot be made.
    pub fn start(options: &Options) -> Self {
        let daemon = DaemonThread::start(options);
        let listing = daemon.scratch().join("accel");
        std::fs::create_dir(&listing).expect("a folder can be made");
        std::fs::write(listing.join("accel0"), "").expect("a file can be made");
        Self { daemon }
    }

    /// A folder for the files of a test, removed with the daemon.
    pub fn scratch(&self) -> &Path {
        self.daemon.scratch()
    }

    /// Sets the environment in which a program finds the device.
    pub fn set_up<'a>(&self, program: &'a mut Command) -> &'a mut Command {
        program
            .env("LD_PRELOAD", library())
            .env("ANE_SHIM_SOCKET", self.daemon.socket())
            .env("ANE_SHIM_DEV", self.scratch().join("accel"))
    }

    /// Runs a program to its end.
    ///
    /// # Panics
    ///
    /// If it cannot be started.
    pub fn run(&self, program: &mut Command) -> Output {
        self.set_up(program).output().expect("the program starts")
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
}

pub fn library() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| command::library("libane_drm_shim.so"))
}
