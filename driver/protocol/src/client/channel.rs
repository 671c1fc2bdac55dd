//! The socket under a client, shared by the threads that call.

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ane_uapi::ioctl::errno::Errno;
use rustix::io::Errno as Os;
use rustix::net::{RecvFlags, SendFlags, sockopt};
use rustix::process::{Pid, getpid};

use super::{ClientError, Settings, broken};
use crate::answer::Answer;
use crate::futex;
use crate::request::{Ask, Request};
use crate::socket::{self, Arrival};
use crate::{MESSAGE_MAX, Malformed};

/// Message buffers that are kept for the next call.
const SPARE: usize = 8;

/// A socket, and who waits for what from it.
#[derive(Debug)]
pub(super) struct Channel {
    socket: OwnedFd,
    settings: Settings,
    process: Pid,
    ids: AtomicU64,
    state: Mutex<State>,
    /// Counts up when an answer came, or the thread that read has stopped reading. The other threads sleep on it, and not in a
    /// `Condvar`, which goes on sleeping when a signal comes.
    changes: AtomicU32,
}

#[derive(Debug, Default)]
struct State {
    /// Every call that has no answer yet, or whose answer was not taken yet.
    calls: HashMap<u64, Option<Reply>>,
    is_read: bool,
    sleepers: usize,
    gone: Option<String>,
    /// Since when a thread has waited for a message and none came. Signals that interrupt the wait do not begin it anew.
    silent_since: Option<Instant>,
    /// A question to a daemon that has been silent for long, which has no answer yet.
    probe: Option<u64>,
    /// The daemon was silent for long, and nothing has come since.
    is_doubted: bool,
    /// The buffer for arriving messages; the thread that reads takes it.
    inbox: Vec<u8>,
    spare: Vec<Vec<u8>>,
}

#[derive(Debug)]
enum Read {
    Answer(u64, Reply),
    /// A signal came first.
    Interrupted,
    /// Nothing, for as long as a daemon that lives is silent at most.
    Silence,
}

#[derive(Debug)]
pub(super) struct Reply {
    pub(super) message: Vec<u8>,
    pub(super) descriptors: Vec<OwnedFd>,
    /// This process had no room for all of them.
    pub(super) is_short: bool,
}

impl Channel {
    /// Over a socket from which only this channel reads.
    pub(super) fn new(socket: OwnedFd, settings: Settings) -> Self {
        // A daemon that takes nothing for so long does nothing else either. Where that cannot be set it is waited for.
        let _ = sockopt::set_socket_timeout(&socket, sockopt::Timeout::Send, Some(settings.patience));
        Self {
            socket,
            settings,
            process: getpid(),
            ids: AtomicU64::new(1),
            state: Mutex::default(),
            changes: AtomicU32::new(0),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A thread that panicked with the lock left the state valid: no change is done by halves.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes room for the answer to a call; gives its number, and a buffer for the call itself.
    pub(super) fn prepare_call(&self) -> Result<(u64, Vec<u8>), ClientError> {
        if getpid() != self.process {
            let why = "this connection is another process's; connect again, and attach to its files";
            return Err(ClientError::Gone(why.to_owned()));
        }
        let mut state = self.state();
        if let Some(why) = &state.gone {
            return Err(ClientError::Gone(why.clone()));
        }
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        state.calls.insert(id, None);
        Ok((id, state.spare.pop().unwrap_or_default()))
    }

    pub(super) fn keep(&self, mut buffer: Vec<u8>) {
        buffer.clear();
        let mut state = self.state();
        if state.spare.len() < SPARE {
            state.spare.push(buffer);
        }
    }

    pub(super) fn send_and_wait(
        &self,
        id: u64,
        message: Vec<u8>,
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<Reply, ClientError> {
        if message.len() > MESSAGE_MAX {
            self.state().calls.remove(&id);
            return Err(ClientError::Errno(Errno::E2BIG));
        }
        match self.send(&message, descriptors) {
            // A daemon that is gone may have said why; that is found by reading.
            Ok(()) | Err(Os::PIPE | Os::CONNRESET | Os::NOTCONN) => {}
            Err(Os::AGAIN) => {
                let why = self.hung();
                self.state().gone = Some(why.clone());
                return Err(ClientError::Gone(why));
            }
            Err(why) => {
                self.state().calls.remove(&id);
                return Err(ClientError::Gone(format!("sending to the daemon: {why}")));
            }
        }
        self.keep(message);
        self.wait(id)
    }

    /// Sends a message, whatever signals come. `AGAIN` if the daemon takes none for too long.
    fn send(&self, message: &[u8], descriptors: &[BorrowedFd<'_>]) -> Result<(), Os> {
        let start = Instant::now();
        loop {
            match socket::send(&self.socket, message, descriptors, SendFlags::empty()) {
                // The socket's own limit begins anew with each attempt.
                Err(Os::INTR) if start.elapsed() >= self.settings.patience => return Err(Os::AGAIN),
                Err(Os::INTR) => {}
                outcome => return outcome,
            }
        }
    }

    fn hung(&self) -> String {
        format!("daemon did not answer within {:?}", self.settings.patience)
    }

    /// Waits for the answer to a call. If no thread reads the socket, this one reads for all.
    fn wait(&self, id: u64) -> Result<Reply, ClientError> {
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
                state.sleepers = state.sleepers.saturating_add(1);
                let seen = self.changes.load(Ordering::Relaxed);
                drop(state);
                let woken = futex::wait(&self.changes, seen, Duration::MAX);
                if !is_given_up && woken == Err(nix::errno::Errno::EINTR) {
                    is_given_up = true;
                    self.abandon(id);
                }
                state = self.state();
                state.sleepers = state.sleepers.saturating_sub(1);
                continue;
            }
            state.is_read = true;
            let mut inbox = std::mem::take(&mut state.inbox);
            let spare = state.spare.pop().unwrap_or_default();
            let since = *state.silent_since.get_or_insert_with(Instant::now);
            drop(state);
            let outcome = self.read(&mut inbox, spare, since);
            if !is_given_up && matches!(outcome, Ok(Read::Interrupted)) {
                is_given_up = true;
                self.abandon(id);
            }
            state = self.state();
            state.is_read = false;
            state.inbox = inbox;
            if !matches!(outcome, Ok(Read::Interrupted)) {
                state.silent_since = None;
            }
            if matches!(outcome, Ok(Read::Answer(..))) {
                state.is_doubted = false;
            }
            match outcome {
                Ok(Read::Answer(answered, _)) if state.probe == Some(answered) => state.probe = None,
                Ok(Read::Answer(answered, reply)) => match state.calls.get_mut(&answered) {
                    Some(place @ None) => *place = Some(reply),
                    _ => state.gone = Some("daemon answered a call that nobody made".to_owned()),
                },
                // A call may take as long as it likes, but a daemon that lives answers what takes no time.
                Ok(Read::Silence) if !state.is_doubted => {
                    state.is_doubted = true;
                    // One that has no answer yet will do: others came meanwhile.
                    state.probe = state.probe.or_else(|| self.probe());
                }
                Ok(Read::Silence) => state.gone = Some(self.hung()),
                Ok(Read::Interrupted) => {}
                Err(why) => state.gone = Some(why),
            }
            if state.sleepers > 0 {
                // A thread that has looked for its answer and does not sleep yet finds another count, and does not.
                self.changes.fetch_add(1, Ordering::Relaxed);
                futex::wake(&self.changes);
            }
        }
    }

    /// A signal came: gives a call up, whose answer says how far it came. The state is not locked: a daemon that takes no messages
    /// keeps the thread here for a while.
    fn abandon(&self, call: u64) {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let message = Request { file: 0, id, ask: Ask::Abandon { call } }.to_bytes();
        // If it cannot be sent, the connection is gone, which reading will tell.
        let _ = self.send(&message, &[]);
    }

    /// Asks something whose answer does not matter; its number. A daemon that has left so many messages unread that there is no
    /// room for one more is not asked: it is to answer those.
    fn probe(&self) -> Option<u64> {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let message = Request { file: 0, id, ask: Ask::Readable { wait: false } }.to_bytes();
        socket::send(&self.socket, &message, &[], SendFlags::DONTWAIT).ok().map(|()| id)
    }

    fn read(&self, inbox: &mut Vec<u8>, mut message: Vec<u8>, since: Instant) -> Result<Read, String> {
        if inbox.is_empty() {
            // The system has zeroed it already, and gives only the pages that a message needs.
            *inbox = vec![0; MESSAGE_MAX];
        }
        let mut was_reset = false;
        let (bytes, descriptors, is_short) = loop {
            match self.receive(inbox, since) {
                Ok(Some(Arrival::Message { bytes, descriptors, is_short })) => {
                    break (bytes, descriptors, is_short);
                }
                Ok(Some(Arrival::Cut)) => {
                    return Err("daemon sent a message that is larger than any".to_owned());
                }
                Ok(Some(Arrival::End)) => return Err("daemon closed the connection".to_owned()),
                Ok(None) => return Ok(Read::Silence),
                Err(Os::INTR) => return Ok(Read::Interrupted),
                // Messages that it sent before it went are behind this error.
                Err(Os::CONNRESET) if !was_reset => was_reset = true,
                Err(why) => return Err(format!("receiving from the daemon: {why}")),
            }
        };
        message.extend_from_slice(inbox.get(..bytes).unwrap_or_default());
        let broke = |why| format!("daemon broke the protocol: {why}");
        let answer = Answer::read(&message).map_err(broke)?;
        let id = answer.id;
        match answer.kind {
            Some(_) => Ok(Read::Answer(id, Reply { message, descriptors, is_short })),
            None => Err(format!("daemon ended the connection: {}", answer.words().map_err(broke)?)),
        }
    }

    /// Looks for a message for a while, then sleeps; nothing if none came for long, `since` then.
    fn receive(&self, buffer: &mut [u8], since: Instant) -> Result<Option<Arrival>, Os> {
        if !self.settings.poll.is_zero() {
            let start = Instant::now();
            loop {
                match socket::receive(&self.socket, buffer, RecvFlags::DONTWAIT) {
                    Err(Os::AGAIN) if start.elapsed() < self.settings.poll => std::hint::spin_loop(),
                    Err(Os::AGAIN) => break,
                    outcome => return outcome.map(Some),
                }
            }
        }
        let left = self.settings.patience.saturating_sub(since.elapsed());
        if !socket::wait(&self.socket, Some(left))? {
            return Ok(None);
        }
        socket::receive(&self.socket, buffer, RecvFlags::empty()).map(Some)
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Reply {
    pub(super) fn answer(&self) -> Result<Answer<'_>, ClientError> {
        Answer::read(&self.message).map_err(broken)
    }

    pub(super) fn only_descriptor(mut self) -> Result<OwnedFd, ClientError> {
        let count = self.descriptors.len();
        match (self.descriptors.pop(), count) {
            (Some(only), 1) => Ok(only),
            _ => Err(broken(Malformed::Descriptors { count, takes: 1 })),
        }
    }
}
