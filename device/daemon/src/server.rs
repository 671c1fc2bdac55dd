//! A socket, and one frontend after the other behind it.

use std::fs::File;
use std::os::fd::RawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use ane_sandbox::place;
use anyhow::{Context, bail};
use nix::sys::socket::{getsockopt, sockopt};
use vhost::vhost_user::{BackendReqHandler, Error as VhostUserError};

use super::backend::Backend;
use super::frames::wait_for_message;
use super::journal::{self, Kind};
use super::messages::Messages;
use super::ringing;

/// A pause after a failure to accept, so that one that lasts (no descriptors left) does not become a busy loop.
const PAUSE: Duration = Duration::from_millis(100);

/// Listens at `path`, in the place of a device that is gone; with the lock that says so.
pub(crate) fn listen(path: &Path) -> anyhow::Result<(UnixListener, File)> {
    // A name alone has an empty parent, which is the folder that one stands in.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        bail!("{}: folder {} does not exist; make it first", path.display(), folder.display());
    }
    let lock = place::claim(path)?;
    let listener = UnixListener::bind(path).with_context(|| format!("listening at {}", path.display()))?;
    Ok((listener, lock))
}

/// The socket that the parent passed as descriptor `fd`.
///
/// # Safety
///
/// That of [`place::passed`].
#[expect(unsafe_code, reason = "a number becomes a descriptor")]
pub(crate) unsafe fn inherited(fd: RawFd) -> anyhow::Result<UnixListener> {
    // SAFETY: as the caller says.
    let fd = unsafe { place::passed(fd) }.with_context(|| {
        format!(
            "descriptor {fd} is not one that was passed; have a service manager pass it, or use --socket-path"
        )
    })?;
    match getsockopt(&fd, sockopt::AcceptConn) {
        Ok(true) => Ok(UnixListener::from(fd)),
        Ok(false) => {
            bail!("descriptor is a socket that nobody listens on; pass one that does, such as systemd's")
        }
        Err(why) => Err(why).context("descriptor is no socket"),
    }
}

/// Serves one engine until the program ends.
pub(crate) fn serve(name: &str, listener: &UnixListener, backend: &Arc<Backend>) -> ! {
    loop {
        if let Err(why) = connection(name, listener, backend) {
            journal::write(Kind::Disconnection, format_args!("{name}: connection cannot be served: {why:#}"));
            thread::sleep(PAUSE);
        }
    }
}

/// Waits for a frontend, and serves it until it leaves.
pub(crate) fn connection(name: &str, listener: &UnixListener, backend: &Arc<Backend>) -> anyhow::Result<()> {
    let (socket, _) = listener.accept().context("accepting a connection")?;
    let outcome = begin(&socket, backend).map(|mut handler| {
        journal::write(Kind::Connection, format_args!("{name}: frontend is there"));
        let outcome = messages(&socket, &mut handler);
        // The task that runs for it ends, and the thread of its queues.
        backend.leaving();
        drop(handler);
        outcome
    });
    backend.leaving();
    backend.disconnected();
    // With whatever nobody read; the next one is served when that is done.
    let _watched = ringing::begin();
    drop(socket);
    match outcome? {
        Ok(()) => journal::write(Kind::Connection, format_args!("{name}: frontend is gone")),
        Err(why) => {
            journal::write(Kind::Disconnection, format_args!("{name}: frontend was disconnected: {why}"))
        }
    }
    Ok(())
}

/// Sets up what serves a connection.
fn begin(socket: &UnixStream, backend: &Arc<Backend>) -> anyhow::Result<BackendReqHandler<Mutex<Messages>>> {
    let copy = || socket.try_clone().context("setting up a connection");
    let messages = Messages::new(backend).context("setting up a connection")?;
    backend.connected(copy()?);
    Ok(BackendReqHandler::from_stream(copy()?, Arc::new(Mutex::new(messages))))
}

/// Carries out one message after the other, until the frontend leaves.
fn messages(socket: &UnixStream, handler: &mut BackendReqHandler<Mutex<Messages>>) -> anyhow::Result<()> {
    while wait_for_message(socket)? {
        match handler.handle_request() {
            Ok(()) => {}
            Err(VhostUserError::Disconnected | VhostUserError::PartialMessage) => break,
            Err(VhostUserError::SocketBroken(_)) => break,
            Err(why) => return Err(why.into()),
        }
    }
    Ok(())
}

/// Where the sockets of a chip's engines are.
pub(crate) fn path_in(directory: &Path, node: &str) -> PathBuf {
    directory.join(node).with_extension("sock")
}
