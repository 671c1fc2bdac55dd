//! `aned` as its users run it: a process of its own, in front of a device that is one too.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use aned_protocol::client::{Client, Settings};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use crate::client::Clients;
use crate::command::built;
use crate::daemon::LIMIT;
use crate::remote::Remote;

/// The built daemon.
pub fn path() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| built("aned"))
}

/// A daemon that runs. Dropping it ends it.
pub struct Aned {
    child: Child,
    folder: TempDir,
}

impl Aned {
    /// Starts a daemon before the device that listens at `device`, and waits until it listens itself.
    ///
    /// # Panics
    ///
    /// If it does not.
    pub fn start(device: &Path, arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let log = File::create(folder.path().join("log")).expect("a file can be made");
        let child = Command::new(path())
            .arg("--device")
            .arg(format!("vhost-user:{}", device.display()))
            .arg("--socket-path")
            .arg(folder.path().join("aned.sock"))
            .args(arguments)
            .stdin(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("the daemon starts");
        let mut daemon = Self { child, folder };
        let end = Instant::now() + LIMIT;
        while !daemon.log().contains("is served") {
            let ended = daemon.child.try_wait().expect("its status can be asked");
            assert!(ended.is_none() && Instant::now() < end, "the daemon does not listen:\n{}", daemon.log());
            thread::sleep(Duration::from_millis(2));
        }
        daemon
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("aned.sock")
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// A connection to it.
    ///
    /// # Panics
    ///
    /// If it does not let one in.
    pub fn client(&self) -> Client {
        Client::connect(&self.socket(), Settings::default()).expect("the daemon lets clients in")
    }

    /// A connection to it, with what tests do over one.
    ///
    /// # Panics
    ///
    /// If it does not let one in.
    pub fn clients(&self) -> Clients<Remote> {
        Clients::new(Remote::new(self.client()))
    }

    /// Everything that it said.
    pub fn log(&self) -> String {
        let mut text = String::new();
        let log = File::open(self.folder.path().join("log"));
        log.and_then(|mut log| log.read_to_string(&mut text)).expect("the log can be read");
        text
    }

    /// Sends it a signal.
    ///
    /// # Panics
    ///
    /// If it is gone.
    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).expect("the daemon is there");
    }

    /// Waits for its end.
    ///
    /// # Panics
    ///
    /// If it does not end in time.
    pub fn wait(&mut self) -> ExitStatus {
        let end = Instant::now() + LIMIT;
        while Instant::now() < end {
            if let Some(status) = self.child.try_wait().expect("its status can be asked") {
                return status;
            }
            thread::sleep(Duration::from_millis(2));
        }
        panic!("the daemon did not end, and said:\n{}", self.log());
    }
}

impl Drop for Aned {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if thread::panicking() {
            eprintln!("--- the daemon said:\n{}", self.log());
        }
    }
}
