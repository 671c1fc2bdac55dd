//! The client's end of the daemon's socket: calls that block, from any number of threads.
//!
//! It has no thread of its own. A thread that waits for an answer while no other one reads the socket reads for all: it hands
//! answers to the threads that wait for them, and passes the socket on when its own answer has come. So a single thread
//! causes no wake-up of another thread, and a long call does not delay the calls of other threads.
//!
//! A call may wait for any time, but a daemon may not hang. So a thread that has heard nothing for long asks something that
//! needs no time. If that has no answer either, the connection is given up.
//!
//! A connection belongs to the process that made it. A child made by `fork` makes its own, attaches to its parent's
//! files by their tokens, and then drops this one: as long as its copy of the socket is open, no file closes.

mod channel;

use std::env;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ane_uapi::ioctl::errno::Errno;
use rustix::io::Errno as Os;
use thiserror::Error;

use self::channel::{Channel, Reply};
use crate::answer::Answer;
use crate::request::{self, Ask, Request};
use crate::socket;
use crate::{Malformed, Token, VERSION};
use ane_call::{Extent, Segments};

#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How long to look for an answer before sleeping.
    pub poll: Duration,
    /// How long a daemon may be silent. One that lives greets at once, and answers at once what does not have to wait; a
    /// device may keep it for a second.
    pub patience: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { poll: Duration::ZERO, patience: Duration::from_secs(10) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct File(pub u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    pub file: File,
    /// Other connections attach to the file with it.
    pub token: Token,
}

/// A call that came to nothing.
#[derive(Clone, Debug, Error)]
pub enum ClientError {
    #[error("{}", .0.name())]
    Errno(Errno),
    #[error("error {0}")]
    Unknown(i32),
    /// There is no connection: no daemon listens, it refused this client, or it is gone.
    #[error("{0}")]
    Gone(String),
}

impl ClientError {
    pub const fn errno(&self) -> Errno {
        match self {
            Self::Errno(errno) => *errno,
            Self::Unknown(_) => Errno::EIO,
            Self::Gone(_) => Errno::ENODEV,
        }
    }
}

#[derive(Debug)]
pub struct Client {
    channel: Channel,
}

/// The socket that all users may find.
const SYSTEMS_SOCKET: &str = "/run/ane/aned.sock";

/// Where a daemon listens by default: at the user's own socket, or at the system's for root.
pub fn default_socket() -> PathBuf {
    let own = env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty());
    match own {
        Some(folder) if !rustix::process::geteuid().is_root() => {
            Path::new(&folder).join("ane").join("aned.sock")
        }
        _ => PathBuf::from(SYSTEMS_SOCKET),
    }
}

/// Where a client finds a daemon by default: at the user's own socket, or at the system's if only that is there.
pub fn found_socket() -> PathBuf {
    found(default_socket(), PathBuf::from(SYSTEMS_SOCKET))
}

fn found(own: PathBuf, systems: PathBuf) -> PathBuf {
    if !own.exists() && systems.exists() { systems } else { own }
}

impl Client {
    /// Connects to the daemon that listens at `path`.
    ///
    /// # Errors
    ///
    /// [`ClientError::Gone`] if no daemon listens, or it refuses this client.
    pub fn connect(path: &Path, settings: Settings) -> Result<Self, ClientError> {
        let gone = |why: Os| {
            let at = path.display();
            ClientError::Gone(match why {
                Os::ACCESS | Os::PERM => format!("this user is not let in at {at}: {why}"),
                Os::PROTOTYPE | Os::NOTSOCK => format!("{at} is no daemon's socket: {why}"),
                _ => format!("no daemon at {at}: {why}"),
            })
        };
        Self::over(socket::dial(path).map_err(gone)?, settings)
    }

    /// Speaks with the daemon at the other end of `socket`.
    pub fn over(socket: OwnedFd, settings: Settings) -> Result<Self, ClientError> {
        let client = Self { channel: Channel::new(socket, settings) };
        let reply = client.call(0, Ask::Hello { version: VERSION }, &[])?;
        let welcome = reply.answer()?.welcome().map_err(broken)?;
        match welcome.version.get() {
            1..=VERSION => Ok(client),
            version => Err(ClientError::Gone(format!(
                "daemon speaks version {version} of the protocol, which is not known here"
            ))),
        }
    }

    pub fn open(&self) -> Result<Opened, ClientError> {
        let reply = self.ask(0, Ask::Open)?;
        let answer = reply.answer()?;
        Ok(Opened { file: File(answer.file), token: answer.token().map_err(broken)? })
    }

    /// Shares a file that another connection opened.
    ///
    /// # Errors
    ///
    /// `ENOENT` if it is not open any more.
    pub fn attach(&self, token: Token) -> Result<File, ClientError> {
        let reply = self.ask(0, Ask::Attach(token))?;
        Ok(File(reply.answer()?.file))
    }

    /// Shares the file that has this arena.
    ///
    /// # Errors
    ///
    /// `ENOENT` if none has.
    pub fn attach_arena(&self, arena: BorrowedFd<'_>) -> Result<File, ClientError> {
        let reply = self.call(0, Ask::AttachArena, &[arena])?;
        Ok(File(reply.answer()?.file))
    }

    pub fn close(&self, file: File) -> Result<(), ClientError> {
        self.ask(file.0, Ask::Close).map(|_| ())
    }

    /// An ioctl. Its results are written to `argument` and `memory`, also if it fails.
    ///
    /// A signal that the process handles ends a call that waits, whether or not its handler has calls restarted.
    pub fn ioctl(
        &self,
        file: File,
        number: u32,
        argument: &mut [u8],
        memory: &mut Segments,
    ) -> Result<(), ClientError> {
        let (id, mut message) = self.channel.prepare_call()?;
        request::ioctl(&mut message, file.0, id, number, argument, memory);
        let reply = self.channel.send_and_wait(id, message, &[])?;
        let answer = Answer::read(&reply.message).map_err(broken)?;
        answer.ioctl(argument, memory).map_err(broken)?;
        let outcome = outcome(answer.result);
        self.channel.keep(reply.message);
        outcome
    }

    /// Memory of a buffer: what to map, one behind the other.
    ///
    /// # Errors
    ///
    /// `EMFILE` if this process has no descriptor left for it.
    pub fn map(&self, file: File, offset: u64, bytes: u64) -> Result<Vec<Extent>, ClientError> {
        let extents = self.extents(file, offset, bytes);
        if let Err(ClientError::Errno(Errno::EMFILE)) = extents {
            // The daemon has counted it.
            self.unmap(file, offset, bytes)?;
        }
        extents
    }

    fn extents(&self, file: File, offset: u64, bytes: u64) -> Result<Vec<Extent>, ClientError> {
        let mut extents = Vec::new();
        loop {
            let from = extents.len() as u64;
            let reply = self.ask(file.0, Ask::Map { offset, bytes, from })?;
            let files: Vec<_> = reply.descriptors.into_iter().map(Arc::new).collect();
            let answer = Answer::read(&reply.message).map_err(broken)?;
            let (pieces, total) = answer.pieces(files.len()).map_err(broken)?;
            extents.extend(pieces.iter().filter_map(|piece| {
                let file = files.get(piece.file.get() as usize)?;
                Some(Extent { file: Arc::clone(file), offset: piece.offset.get(), bytes: piece.bytes.get() })
            }));
            if extents.len() as u64 >= total || pieces.is_empty() {
                return Ok(extents);
            }
        }
    }

    /// A mapping is no more.
    pub fn unmap(&self, file: File, offset: u64, bytes: u64) -> Result<(), ClientError> {
        self.ask(file.0, Ask::Unmap { offset, bytes }).map(|_| ())
    }

    /// A descriptor that is readable once the request of `fence` has ended, and hangs up if the daemon goes before.
    pub fn signal(&self, file: File, fence: u64) -> Result<OwnedFd, ClientError> {
        self.ask(file.0, Ask::Signal { fence })?.only_descriptor()
    }

    /// Why the request of `fence` failed, in words, if that is known.
    pub fn failure(&self, file: File, fence: u64) -> Result<Option<String>, ClientError> {
        match self.ask(file.0, Ask::Failure { fence }) {
            Ok(reply) => Ok(Some(reply.answer()?.words().map_err(broken)?.to_owned())),
            Err(ClientError::Errno(Errno::ENODATA)) => Ok(None),
            Err(why) => Err(why),
        }
    }

    pub fn arena(&self, file: File) -> Result<OwnedFd, ClientError> {
        self.ask(file.0, Ask::Arena)?.only_descriptor()
    }

    /// Has the file something to tell?
    pub fn is_readable(&self, file: File) -> Result<bool, ClientError> {
        match self.ask(file.0, Ask::Readable { wait: false }) {
            Ok(_) => Ok(true),
            Err(ClientError::Errno(Errno::EAGAIN)) => Ok(false),
            Err(why) => Err(why),
        }
    }

    /// Waits until the file has something to tell.
    ///
    /// # Errors
    ///
    /// `EBADF` if there is no such file, `EINTR`.
    pub fn wait_readable(&self, file: File) -> Result<(), ClientError> {
        self.ask(file.0, Ask::Readable { wait: true }).map(|_| ())
    }

    /// Text about the device, which the daemon tells root and its own user.
    ///
    /// # Errors
    ///
    /// `EACCES` for another user; `EINVAL` if there is no report of that name.
    pub fn report(&self, what: &str) -> Result<String, ClientError> {
        let mut text = Vec::new();
        loop {
            let from = u32::try_from(text.len()).map_err(|_| broken(Malformed::Huge))?;
            let reply = self.ask(0, Ask::Report { from, what: what.to_owned() })?;
            let (part, total) = reply.answer()?.report().map_err(broken)?;
            text.extend_from_slice(part);
            if text.len() >= total || part.is_empty() {
                return String::from_utf8(text).map_err(|_| broken(Malformed::Text));
            }
        }
    }

    fn ask(&self, file: u32, ask: Ask) -> Result<Reply, ClientError> {
        self.call(file, ask, &[])
    }

    fn call(&self, file: u32, ask: Ask, descriptors: &[BorrowedFd<'_>]) -> Result<Reply, ClientError> {
        let kind = ask.kind();
        let (id, _) = self.channel.prepare_call()?;
        let message = Request { file, id, ask }.to_bytes();
        let reply = self.channel.send_and_wait(id, message, descriptors)?;
        let answer = reply.answer()?;
        if answer.kind != Some(kind) {
            return Err(broken(Malformed::Order("an answer to another kind of call")));
        }
        outcome(answer.result)?;
        // The daemon did what was asked, and only this call has nothing of it.
        if reply.is_short { Err(ClientError::Errno(Errno::EMFILE)) } else { Ok(reply) }
    }
}

impl AsFd for Client {
    /// The socket, for a child made by `fork` to close its copy.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }
}

fn outcome(result: i32) -> Result<(), ClientError> {
    match result {
        0 => Ok(()),
        result => match Errno::try_from(result.unsigned_abs()) {
            Ok(errno) if result < 0 => Err(ClientError::Errno(errno)),
            _ => Err(ClientError::Unknown(result)),
        },
    }
}

fn broken(why: Malformed) -> ClientError {
    ClientError::Gone(format!("daemon broke the protocol: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_looks_at_the_systems_socket_if_only_that_is_there() {
        let (here, also_here) = ("/proc/self", "/proc");
        let (nowhere, also_nowhere) = ("/nonexistent/own", "/nonexistent/systems");
        for (own, systems, wanted) in [
            (here, also_here, here),
            (here, nowhere, here),
            (nowhere, here, here),
            // The message names the user's own.
            (nowhere, also_nowhere, nowhere),
        ] {
            assert_eq!(found(own.into(), systems.into()), Path::new(wanted), "{own} {systems}");
        }
    }
}
