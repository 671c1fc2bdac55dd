//! A socket, and one frontend after the other behind it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use nix::fcntl::OFlag;
use nix::sys::socket::{getsockopt, sockopt};
use vhost::vhost_user::{Error as VhostUserError, Listener};
use vhost_user_backend::{Error as DaemonError, VhostUserDaemon};
use vm_memory::{GuestMemoryAtomic, GuestMemoryMmap};

use super::backend::Backend;

/// A pause after a failure to accept, so that one that lasts (no descriptors left) does not become a busy loop.
const PAUSE: Duration = Duration::from_millis(100);

/// Makes sure of being the only one who listens at `path`, for as long as what this returns lives.
///
/// Whether somebody answers at a socket shows nothing while two programs look at the same time: both would find it stale, and the
/// second would remove the socket of the first. The kernel takes a lock back when its holder dies, however that happens.
/// The file stays: whoever waits for it would have the lock of a file that nobody else sees.
fn lock(path: &Path) -> anyhow::Result<File> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let name = PathBuf::from(name);
    // Nobody else's file behind a link, and nothing that blocks.
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(flags.bits())
        .open(&name)
        .with_context(|| format!("locking {}", name.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            bail!("somebody listens at {} already; end that device or choose another path", path.display())
        }
        Err(TryLockError::Error(why)) => Err(why).with_context(|| format!("locking {}", name.display())),
    }
}

/// Listens at `path`, in the place of a device that is gone; with the lock that says so.
pub(crate) fn listen(path: &Path) -> anyhow::Result<(UnixListener, File)> {
    // A name alone has an empty parent, which is the folder that one stands in.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        bail!("{}: folder {} does not exist; make it first", path.display(), folder.display());
    }
    let lock = lock(path)?;
    match fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_socket() => {
            bail!("{} exists and is no socket; choose another path", path.display())
        }
        Ok(_) if UnixStream::connect(path).is_ok() => {
            bail!("somebody listens at {} already; end that device or choose another path", path.display())
        }
        Ok(_) => fs::remove_file(path).with_context(|| format!("removing the stale {}", path.display()))?,
        Err(why) if why.kind() == ErrorKind::NotFound => {}
        Err(why) => return Err(why).with_context(|| format!("looking at {}", path.display())),
    }
    let listener = UnixListener::bind(path).with_context(|| format!("listening at {}", path.display()))?;
    Ok((listener, lock))
}

/// The socket that somebody passed as descriptor `fd`.
pub(crate) fn inherited(fd: RawFd) -> anyhow::Result<UnixListener> {
    if fd <= 2 || fs::symlink_metadata(format!("/proc/self/fd/{fd}")).is_err() {
        bail!(
            "descriptor {fd} is not one that was passed; have a service manager pass it, or use --socket-path"
        );
    }
    // SAFETY: it is open, as /proc shows, and not a standard stream. Whoever started this program passed it for
    // this purpose, and nothing here has used its number, since this runs before anything is opened by option.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    match getsockopt(&fd, sockopt::AcceptConn) {
        Ok(true) => Ok(UnixListener::from(fd)),
        Ok(false) => {
            bail!("descriptor is a socket that nobody listens on; pass one that does, such as systemd's")
        }
        Err(why) => Err(why).context("descriptor is no socket"),
    }
}

/// Serves one engine until the program ends.
pub(crate) fn serve(name: &str, listener: UnixListener, backend: &Arc<Backend>) -> anyhow::Result<()> {
    let mut listener = Listener::from(listener);
    loop {
        if let Err(why) = connection(name, &mut listener, backend) {
            log::error!("{name}: connection cannot be served: {why:#}");
            thread::sleep(PAUSE);
        }
    }
}

/// Waits for a frontend, and serves it until it leaves.
pub(crate) fn connection(name: &str, listener: &mut Listener, backend: &Arc<Backend>) -> anyhow::Result<()> {
    let memory = GuestMemoryAtomic::new(GuestMemoryMmap::new());
    let mut daemon = VhostUserDaemon::new(name.to_owned(), Arc::clone(backend), memory)
        .map_err(|why| anyhow!("setting up a connection: {why}"))?;
    for handler in daemon.get_epoll_handlers() {
        backend.watch(&handler)?;
    }
    let outcome = daemon.start(listener).and_then(|()| {
        log::info!("{name}: frontend is there");
        if let Some(connection) = daemon.shutdown_handle() {
            backend.connected(connection);
        }
        daemon.wait()
    });
    // Its threads end here, and no task keeps them.
    backend.leaving();
    drop(daemon);
    for fd in backend.disconnected() {
        // SAFETY: the transport made this number its own and gave it up without closing it; the thread that
        // watched it has ended with the daemon, so nobody else has the number.
        drop(unsafe { OwnedFd::from_raw_fd(fd) });
    }
    match outcome {
        Ok(()) => log::info!("{name}: frontend is gone"),
        Err(DaemonError::HandleRequest(VhostUserError::Disconnected | VhostUserError::PartialMessage)) => {
            log::info!("{name}: frontend is gone");
        }
        Err(why @ (DaemonError::HandleRequest(_) | DaemonError::WaitDaemon(_))) => {
            log::warn!("{name}: frontend was disconnected: {why}");
        }
        Err(why) => return Err(anyhow!("{why}")),
    }
    Ok(())
}

/// Where the sockets of a chip's engines are.
pub(crate) fn path_in(directory: &Path, node: &str) -> PathBuf {
    directory.join(node).with_extension("sock")
}
