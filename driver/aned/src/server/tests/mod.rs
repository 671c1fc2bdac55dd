//! The server with a driver that is none, and clients good and bad.

mod descriptors;
mod fake;
mod good;
mod hostile;
mod mailbox;
mod patience;
mod signals;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::net::{RecvFlags, SendFlags};
use rustix::pipe::{PipeFlags, pipe_with};

use self::fake::{Fake, Journal};
use super::{Server, Settings};
use crate::place::{Access, Place};
use aned_protocol::answer::{self, Welcome};
use aned_protocol::client::{self, Client};
use aned_protocol::request::Request;
use aned_protocol::socket::{self, Arrival};
use aned_protocol::{Kind, MESSAGE_MAX, VERSION};
use zerocopy::IntoBytes;

/// How long anything may take. It is only ever used up by a failure.
const LIMIT: Duration = Duration::from_secs(20);

/// A daemon in a thread.
struct Rig {
    folder: PathBuf,
    journal: Arc<Mutex<Journal>>,
    stop: Option<OwnedFd>,
    thread: Option<JoinHandle<std::io::Result<Fake>>>,
}

impl Rig {
    fn new() -> Self {
        Self::with(Fake::default(), Settings::default())
    }

    fn with(fake: Fake, settings: Settings<Fake>) -> Self {
        Self::after(|_, _| (), fake, settings)
    }

    /// A daemon that finds what `before` left at its socket, which it may prepare.
    fn after(before: impl FnOnce(&Path, BorrowedFd<'_>), fake: Fake, settings: Settings<Fake>) -> Self {
        let folder = crate::tests::folder();
        let journal = Arc::clone(&fake.journal);
        let place = Place::listen(&folder.join("aned.sock"), Access::default()).unwrap();
        let (stopped, stop) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        let server = Server::new(fake, place, settings).unwrap();
        before(&folder.join("aned.sock"), server.as_fd());
        let thread = thread::spawn(move || server.run(stopped.as_fd()));
        Self { folder, journal, stop: Some(stop), thread: Some(thread) }
    }

    fn socket(&self) -> PathBuf {
        self.folder.join("aned.sock")
    }

    fn client(&self) -> Client {
        Client::connect(&self.socket(), client::Settings::default()).unwrap()
    }

    /// A socket that said nothing yet.
    fn raw(&self) -> OwnedFd {
        socket::dial(&self.socket()).unwrap()
    }

    /// A socket that was welcomed.
    fn greeted(&self) -> OwnedFd {
        let raw = self.raw();
        say(&raw, &Request::hello(1).to_bytes());
        hear(&raw).unwrap();
        raw
    }

    /// Reads from the journal of the calls that the driver has seen.
    fn seen<R>(&self, what: impl FnOnce(&Journal) -> R) -> R {
        what(&self.journal.lock().unwrap())
    }

    /// Waits until the driver has seen something.
    fn until(&self, what: impl Fn(&Journal) -> bool) {
        until(|| self.seen(&what));
    }

    /// Ends the daemon, as SIGTERM would.
    fn stop(&mut self) -> Fake {
        self.stop = None;
        self.thread.take().unwrap().join().unwrap().unwrap()
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn until(what: impl Fn() -> bool) {
    let end = Instant::now() + LIMIT;
    while !what() {
        assert!(Instant::now() < end, "it did not happen in time");
        thread::yield_now();
    }
}

fn say(socket: &OwnedFd, message: &[u8]) {
    socket::send(socket, message, &[], SendFlags::empty()).unwrap();
}

/// Answers the greeting of a client, as a daemon does that will not say more.
fn greet(socket: &OwnedFd) {
    hear(socket).unwrap();
    let mut message = Vec::new();
    answer::begin(&mut message, Kind::Hello, 0, 1, Ok(()));
    message.extend_from_slice(Welcome::new(VERSION).as_bytes());
    say(socket, &message);
}

/// The next message, or nothing if the other end is closed.
fn hear(socket: &OwnedFd) -> Option<Vec<u8>> {
    assert!(socket::wait(socket, Some(LIMIT)).unwrap(), "nothing was said in time");
    let mut buffer = vec![0; MESSAGE_MAX];
    match socket::receive(socket, &mut buffer, RecvFlags::empty()) {
        Ok(Arrival::Message { bytes, .. }) => Some(buffer[..bytes].to_vec()),
        Err(rustix::io::Errno::CONNRESET) => hear(socket),
        _ => None,
    }
}
