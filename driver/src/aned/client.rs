//! The client's end of the daemon's socket: calls that block, from any number of threads.
//!
//! There is no thread of its own. Whoever waits for an answer and finds nobody reading reads for all, hands answers to
//! those that wait for them, and passes the socket on once its own has come. So a thread that is alone pays no other
//! thread's wake-up, and a call that takes long keeps nobody else from theirs.
//!
//! A connection belongs to the process that made it. A child made by `fork` makes its own, attaches to its parent's
//! files by their tokens, and then drops this one: as long as its copy of the socket is open, no file closes.

use std::collections::HashMap;
use std::env;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ane_uapi::ioctl::errno::Errno;
use rustix::io::Errno as Os;
use rustix::net::{RecvFlags, SendFlags};
use thiserror::Error;

use super::protocol::answer::Answer;
use super::protocol::request::{self, Ask, Request};
use super::protocol::{MESSAGE_MAX, Malformed, Token, VERSION};
use super::socket::{self, Arrival};
use crate::front::{Extent, Segments};

/// How long a daemon may take to greet. One that is there does so at once, unless its device is at a long task.
const PATIENCE: Duration = Duration::from_secs(10);

/// Message buffers that are kept for the next call.
const SPARE: usize = 8;

/// How to speak with the daemon.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// How long to look for an answer before sleeping.
    pub poll: Duration,
}

/// An open file, as this connection numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct File(pub u32);

/// A file that was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The file.
    pub file: File,
    /// By which other connections attach to it.
    pub token: Token,
}

/// A call that came to nothing.
#[derive(Clone, Debug, Error)]
pub enum ClientError {
    /// The driver's answer.
    #[error("{}", .0.name())]
    Errno(Errno),
    /// An error number that is not one of the driver's.
    #[error("error {0}")]
    Unknown(i32),
    /// There is no connection: nobody listens, the daemon let nobody in, or it is gone.
    #[error("{0}")]
    Gone(String),
}

impl ClientError {
    /// The error number that stands for it.
    pub const fn errno(&self) -> Errno {
        match self {
            Self::Errno(errno) => *errno,
            Self::Unknown(_) => Errno::EIO,
            Self::Gone(_) => Errno::ENODEV,
        }
    }
}

/// A connection.
#[derive(Debug)]
pub struct Client {
    socket: OwnedFd,
    settings: Settings,
    process: rustix::process::Pid,
    ids: AtomicU64,
    state: Mutex<State>,
    /// An answer came, or nobody reads any more.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Every call that has no answer yet, or whose answer nobody took yet.
    calls: HashMap<u64, Option<Reply>>,
    is_read: bool,
    sleepers: usize,
    gone: Option<String>,
    /// Where messages arrive, while nobody reads.
    inbox: Vec<u8>,
    spare: Vec<Vec<u8>>,
}

/// An answer, and what came with it.
#[derive(Debug)]
struct Reply {
    message: Vec<u8>,
    descriptors: Vec<OwnedFd>,
}

/// The socket of the daemon that is asked unless somebody says otherwise: the user's own, or the system's for root.
pub fn default_socket() -> PathBuf {
    let own = env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty());
    match own {
        Some(folder) if !rustix::process::geteuid().is_root() => {
            Path::new(&folder).join("ane").join("aned.sock")
        }
        _ => PathBuf::from("/run/ane/aned.sock"),
    }
}

impl Client {
    /// Connects to the daemon that listens at `path`.
    ///
    /// # Errors
    ///
    /// [`ClientError::Gone`] if nobody listens, or one does not want this client.
    pub fn connect(path: &Path, settings: Settings) -> Result<Self, ClientError> {
        let gone = |why: Os| ClientError::Gone(format!("no daemon at {}: {why}", path.display()));
        Self::over(socket::dial(path).map_err(gone)?, settings)
    }

    /// Speaks with the daemon at the other end of `socket`.
    ///
    /// # Errors
    ///
    /// Those of [`Client::connect`].
    pub fn over(socket: OwnedFd, settings: Settings) -> Result<Self, ClientError> {
        let client = Self {
            socket,
            settings,
            process: rustix::process::getpid(),
            ids: AtomicU64::new(1),
            state: Mutex::default(),
            changed: Condvar::new(),
        };
        let reply = client.call(0, Ask::Hello { version: VERSION }, &[], Some(PATIENCE))?;
        let welcome = reply.answer()?.welcome().map_err(broken)?;
        match welcome.version.get() {
            1..=VERSION => Ok(client),
            version => Err(ClientError::Gone(format!(
                "daemon speaks version {version} of the protocol, which is not known here"
            ))),
        }
    }

    /// Opens a file of the device.
    ///
    /// # Errors
    ///
    /// As [`Files::open`](crate::front::Files::open).
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
        let reply = self.call(0, Ask::AttachArena, &[arena], None)?;
        Ok(File(reply.answer()?.file))
    }

    /// Lets go of a file.
    ///
    /// # Errors
    ///
    /// `EBADF` if this connection has none of that number.
    pub fn close(&self, file: File) -> Result<(), ClientError> {
        self.ask(file.0, Ask::Close).map(|_| ())
    }

    /// An ioctl. What it writes stands in `argument` and `memory`, also if it fails.
    ///
    /// A signal that the process handles, and not so that calls are restarted, ends a call that waits.
    ///
    /// # Errors
    ///
    /// The driver's, and `EINTR`.
    pub fn ioctl(
        &self,
        file: File,
        number: u32,
        argument: &mut [u8],
        memory: &mut Segments,
    ) -> Result<(), ClientError> {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let mut message = self.expect(id)?;
        request::ioctl(&mut message, file.0, id, number, argument, memory);
        let reply = self.send_and_wait(id, message, &[], None)?;
        let answer = Answer::read(&reply.message).map_err(broken)?;
        answer.ioctl(argument, memory).map_err(broken)?;
        let outcome = outcome(answer.result);
        self.keep(reply.message);
        outcome
    }

    /// Memory of a buffer: what to map, one behind the other.
    ///
    /// # Errors
    ///
    /// As [`Files::map`](crate::front::Files::map).
    pub fn map(&self, file: File, offset: u64, bytes: u64) -> Result<Vec<Extent>, ClientError> {
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
    ///
    /// # Errors
    ///
    /// As [`Files::unmap`](crate::front::Files::unmap).
    pub fn unmap(&self, file: File, offset: u64, bytes: u64) -> Result<(), ClientError> {
        self.ask(file.0, Ask::Unmap { offset, bytes }).map(|_| ())
    }

    /// A descriptor that is readable once the request of `fence` has ended, and hangs up if the daemon goes before.
    ///
    /// # Errors
    ///
    /// As [`Files::signal`](crate::front::Files::signal).
    pub fn signal(&self, file: File, fence: u64) -> Result<OwnedFd, ClientError> {
        self.ask(file.0, Ask::Signal { fence })?.only_descriptor()
    }

    /// The memory object of the file.
    ///
    /// # Errors
    ///
    /// As [`Files::arena`](crate::front::Files::arena).
    pub fn arena(&self, file: File) -> Result<OwnedFd, ClientError> {
        self.ask(file.0, Ask::Arena)?.only_descriptor()
    }

    /// Has the file something to tell?
    ///
    /// # Errors
    ///
    /// `EBADF` if there is no such file.
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
    /// `EACCES` for anybody else; `EINVAL` if there is nothing to tell about `what`.
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
        self.call(file, ask, &[], None)
    }

    /// A call that succeeded, or its error.
    fn call(
        &self,
        file: u32,
        ask: Ask,
        descriptors: &[BorrowedFd<'_>],
        limit: Option<Duration>,
    ) -> Result<Reply, ClientError> {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let kind = ask.kind();
        self.expect(id)?;
        let reply = self.send_and_wait(id, Request { file, id, ask }.to_bytes(), descriptors, limit)?;
        let answer = reply.answer()?;
        if answer.kind != Some(kind) {
            return Err(broken(Malformed::Order("an answer to another kind of call")));
        }
        outcome(answer.result).map(|()| reply)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Whoever panicked while he had it left it as it should be: nothing is done by halves.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes room for the answer to a call; gives a buffer for the call itself.
    fn expect(&self, id: u64) -> Result<Vec<u8>, ClientError> {
        if rustix::process::getpid() != self.process {
            let why = "this connection is another process's; connect again, and attach to its files";
            return Err(ClientError::Gone(why.to_owned()));
        }
        let mut state = self.state();
        if let Some(why) = &state.gone {
            return Err(ClientError::Gone(why.clone()));
        }
        state.calls.insert(id, None);
        Ok(state.spare.pop().unwrap_or_default())
    }

    /// Keeps a buffer for a later call.
    fn keep(&self, mut buffer: Vec<u8>) {
        buffer.clear();
        let mut state = self.state();
        if state.spare.len() < SPARE {
            state.spare.push(buffer);
        }
    }

    fn send_and_wait(
        &self,
        id: u64,
        message: Vec<u8>,
        descriptors: &[BorrowedFd<'_>],
        limit: Option<Duration>,
    ) -> Result<Reply, ClientError> {
        if message.len() > MESSAGE_MAX {
            self.state().calls.remove(&id);
            return Err(ClientError::Errno(Errno::E2BIG));
        }
        let sent = loop {
            match socket::send(&self.socket, &message, descriptors, SendFlags::empty()) {
                Err(Os::INTR) => {}
                outcome => break outcome,
            }
        };
        match sent {
            // A daemon that is gone may have said why; that is found by reading.
            Ok(()) | Err(Os::PIPE | Os::CONNRESET | Os::NOTCONN) => {}
            Err(why) => {
                self.state().calls.remove(&id);
                return Err(ClientError::Gone(format!("sending to the daemon: {why}")));
            }
        }
        self.keep(message);
        self.wait(id, limit)
    }

    /// Waits for the answer to a call; whoever waits and finds nobody reading reads for all.
    fn wait(&self, id: u64, limit: Option<Duration>) -> Result<Reply, ClientError> {
        let mut is_given_up = false;
        let mut state = self.state();
        loop {
            if let Some(Some(_)) = state.calls.get(&id)
                && let Some(Some(reply)) = state.calls.remove(&id)
            {
                return Ok(reply);
            }
            if let Some(why) = &state.gone {
                let why = why.clone();
                state.calls.remove(&id);
                return Err(ClientError::Gone(why));
            }
            if state.is_read {
                state.sleepers += 1;
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.sleepers -= 1;
                continue;
            }
            state.is_read = true;
            let mut inbox = std::mem::take(&mut state.inbox);
            let spare = state.spare.pop().unwrap_or_default();
            drop(state);
            let outcome = self.read(&mut inbox, spare, limit);
            state = self.state();
            state.is_read = false;
            state.inbox = inbox;
            match outcome {
                Ok(Some((answered, reply))) => match state.calls.get_mut(&answered) {
                    Some(place @ None) => *place = Some(reply),
                    _ => state.gone = Some("daemon answered a call that nobody made".to_owned()),
                },
                // A signal: the call is given up, and its answer says how far it came.
                Ok(None) if !is_given_up => {
                    is_given_up = true;
                    let own = self.ids.fetch_add(1, Ordering::Relaxed);
                    let message = Request { file: 0, id: own, ask: Ask::Abandon { call: id } }.to_bytes();
                    // If it cannot be sent, the connection is gone, which reading will tell.
                    let _ = socket::send(&self.socket, &message, &[], SendFlags::empty());
                }
                Ok(None) => {}
                Err(why) => state.gone = Some(why),
            }
            if state.sleepers > 0 {
                self.changed.notify_all();
            }
        }
    }

    /// The next message, or nothing if a signal came first.
    fn read(
        &self,
        inbox: &mut Vec<u8>,
        mut message: Vec<u8>,
        limit: Option<Duration>,
    ) -> Result<Option<(u64, Reply)>, String> {
        inbox.resize(MESSAGE_MAX, 0);
        let mut was_reset = false;
        let (bytes, descriptors) = loop {
            match self.receive(inbox, limit) {
                Ok(Some(Arrival::Message { bytes, descriptors })) => break (bytes, descriptors),
                Ok(Some(Arrival::Cut)) => {
                    return Err("daemon sent a message that is larger than any".to_owned());
                }
                Ok(Some(Arrival::End)) => return Err("daemon closed the connection".to_owned()),
                Ok(None) => return Err(format!("daemon did not answer within {PATIENCE:?}")),
                Err(Os::INTR) => return Ok(None),
                // What it said before it went is behind this error.
                Err(Os::CONNRESET) if !was_reset => was_reset = true,
                Err(why) => return Err(format!("receiving from the daemon: {why}")),
            }
        };
        message.extend_from_slice(inbox.get(..bytes).unwrap_or_default());
        let broke = |why| format!("daemon broke the protocol: {why}");
        let answer = Answer::read(&message).map_err(broke)?;
        let id = answer.id;
        match answer.kind {
            Some(_) => Ok(Some((id, Reply { message, descriptors }))),
            None => Err(format!("daemon ended the connection: {}", answer.goodbye().map_err(broke)?)),
        }
    }

    /// Looks for a message for a while, then sleeps; nothing once the limit has passed.
    fn receive(&self, buffer: &mut [u8], limit: Option<Duration>) -> Result<Option<Arrival>, Os> {
        if !self.settings.poll.is_zero() {
            let end = Instant::now() + self.settings.poll;
            loop {
                match socket::receive(&self.socket, buffer, RecvFlags::DONTWAIT) {
                    Err(Os::AGAIN) if Instant::now() < end => std::hint::spin_loop(),
                    Err(Os::AGAIN) => break,
                    outcome => return outcome.map(Some),
                }
            }
        }
        if limit.is_some() && !socket::wait(&self.socket, limit)? {
            return Ok(None);
        }
        socket::receive(&self.socket, buffer, RecvFlags::empty()).map(Some)
    }
}

impl AsFd for Client {
    /// The socket, for a child made by `fork` to close its copy.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Reply {
    fn answer(&self) -> Result<Answer<'_>, ClientError> {
        Answer::read(&self.message).map_err(broken)
    }

    fn only_descriptor(mut self) -> Result<OwnedFd, ClientError> {
        let count = self.descriptors.len();
        match (self.descriptors.pop(), count) {
            (Some(only), 1) => Ok(only),
            _ => Err(broken(Malformed::Descriptors { count, takes: 1 })),
        }
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
