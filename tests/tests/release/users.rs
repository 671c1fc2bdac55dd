//! A daemon for everybody, and clients of it that are different users where root runs the tests.

use std::path::Path;
use std::time::{Duration, Instant};

use ane::build::Built;
use ane_driver::front::FileId;
use ane_tests::aned::Aned;
use ane_tests::client::{Clients, Loaded};
use ane_tests::daemon::Daemon;
use ane_tests::remote::Remote;
use aned_protocol::client::{Client, Settings};
use nix::unistd::geteuid;
use rustix::process::Uid;
use rustix::thread::set_thread_uid;
use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt;

/// A device and the daemon before it.
pub(crate) struct Service {
    pub(crate) device: Daemon,
    pub(crate) daemon: Aned,
}

impl Service {
    /// Starts both; any user may connect.
    pub(crate) fn start(device: &[&str], daemon: &[&str]) -> Self {
        let device = Daemon::start(device);
        let daemon = Aned::start(&device.socket(), &[&["--mode", "666"], daemon].concat());
        let socket = daemon.socket();
        let folder = socket.parent().expect("a socket lies in a folder");
        set_permissions(folder, Permissions::from_mode(0o755)).expect("it is ours");
        Self { device, daemon }
    }
}

/// Makes the thread that calls another user's, if it may be. It stays that to its end.
pub(crate) fn become_user(user: u32) {
    if geteuid().is_root() {
        set_thread_uid(Uid::from_raw(user)).expect("root may become anybody");
    }
}

/// A connection, of whichever user the thread is.
pub(crate) fn connect(socket: &Path) -> Clients<Remote> {
    let settings = Settings { patience: Duration::from_secs(60), ..Settings::default() };
    Clients::new(Remote::new(Client::connect(socket, settings).expect("the daemon lets clients in")))
}

/// A client with a program in a file.
pub(crate) struct User {
    pub(crate) clients: Clients<Remote>,
    pub(crate) file: FileId,
    pub(crate) loaded: Loaded,
}

impl User {
    pub(crate) fn new(socket: &Path, built: &Built) -> Self {
        let mut clients = connect(socket);
        let file = clients.open();
        let loaded = clients.load(file, &built.program());
        Self { clients, file, loaded }
    }

    /// Runs its program once; how long that took, and how it ended.
    pub(crate) fn run(&mut self) -> (Duration, i32) {
        let start = Instant::now();
        let ended = self.clients.run(&self.loaded).result;
        (start.elapsed(), ended)
    }
}
