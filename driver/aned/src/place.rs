//! Where a daemon listens, and who may connect.

use std::fs::{self, DirBuilder, File};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use ane_sandbox::place::{self, Refused};
use rustix::io::Errno;
use rustix::net::{SocketAddrUnix, SocketFlags, bind, listen, sockopt};
use thiserror::Error;

use aned_protocol::socket;

/// Connections that wait to be accepted; the kernel's own limit is more as a rule.
const BACKLOG: i32 = 64;

#[derive(Debug, Error)]
pub enum PlaceError {
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error(
        "descriptor is no listening SOCK_SEQPACKET socket; have the service manager make one (ListenSequentialPacket=)"
    )]
    NotListening,
}

/// The access to the socket, as the file system checks it.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// Permissions of the socket. A process that may write to it may connect.
    pub mode: u32,
    /// The group that it belongs to, if not the daemon's own.
    pub group: Option<u32>,
}

impl Default for Access {
    fn default() -> Self {
        Self { mode: 0o600, group: None }
    }
}

/// A socket that listens. Dropping it removes it.
#[derive(Debug)]
pub struct Place {
    listener: OwnedFd,
    /// `None` for a socket that the parent passed, which this daemon does not remove.
    path: Option<PathBuf>,
    /// Held until the end.
    _lock: Option<File>,
}

impl Place {
    /// Listens at `path`, in the place of a daemon that is gone. The last folder of the path is made if it is missing.
    pub fn listen(path: &Path, access: Access) -> Result<Self, PlaceError> {
        let fails = |why: Errno| Refused::by_system("listening at", path)(why.into());
        // Before anything is made, since this is where a name that is too long is noticed.
        let address = SocketAddrUnix::new(path).map_err(fails)?;
        // A name alone has an empty parent, which is the folder that one stands in.
        if let Some(folder) =
            path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir())
        {
            let made = DirBuilder::new().mode(0o755).create(folder);
            made.map_err(Refused::by_system("making the folder", folder))?;
        }
        let lock = place::claim(path)?;
        let listener = socket::seqpacket(SocketFlags::CLOEXEC | SocketFlags::NONBLOCK).map_err(fails)?;
        bind(&listener, &address).map_err(fails)?;
        let made = Self { listener, path: Some(path.to_owned()), _lock: Some(lock) };
        // No client can connect before it listens, so none connects while the permissions are the wrong ones.
        place::admit(path, access.mode, access.group)
            .map_err(Refused::by_system("setting the permissions of", path))?;
        socket::let_descriptors_pass(&made.listener, false);
        listen(&made.listener, BACKLOG).map_err(fails)?;
        Ok(made)
    }

    /// A socket that listens already and that the parent passed.
    pub fn passed(listener: OwnedFd) -> Result<Self, PlaceError> {
        let is_listening = sockopt::socket_acceptconn(&listener).unwrap_or(false);
        let is_seqpacket =
            sockopt::socket_type(&listener).is_ok_and(|kind| kind == rustix::net::SocketType::SEQPACKET);
        if !is_listening || !is_seqpacket {
            return Err(PlaceError::NotListening);
        }
        // Several processes may share it; this one must not sleep in `accept` for a client that another one took.
        rustix::io::ioctl_fionbio(&listener, true).map_err(|_| PlaceError::NotListening)?;
        socket::let_descriptors_pass(&listener, false);
        Ok(Self { listener, path: None, _lock: None })
    }

    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }
}

impl AsFd for Place {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(path) = &self.path
            && let Err(why) = fs::remove_file(path)
        {
            log::warn!("{} cannot be removed: {why}", path.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;

    use super::*;
    use crate::tests::folder;

    #[test]
    fn socket_that_another_program_serves_is_left_alone_and_one_that_is_left_over_is_replaced() {
        let folder = folder();
        let path = folder.join("socket");
        let served = UnixListener::bind(&path).unwrap();
        let outcome = Place::listen(&path, Access::default());
        assert!(matches!(outcome, Err(PlaceError::Refused(Refused::Taken { .. }))), "{outcome:?}");
        assert!(std::os::unix::net::UnixStream::connect(&path).is_ok());
        drop(served);
        let place = Place::listen(&path, Access { mode: 0o640, group: None }).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        drop(place);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn file_of_somebody_else_keeps_its_place_and_has_no_lock_beside_it() {
        let folder = folder();
        let path = folder.join("notes");
        fs::write(&path, "text").unwrap();
        let outcome = Place::listen(&path, Access::default());
        assert!(matches!(outcome, Err(PlaceError::Refused(Refused::NoSocket { .. }))), "{outcome:?}");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }
}
