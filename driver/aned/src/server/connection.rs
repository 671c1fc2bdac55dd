//! One client's connection: the files it has open, its calls without an answer, and answers that it has not read yet.
//!
//! A client that does not read its answers is not listened to until it does. When more than [`OUTGOING_MAX`] bytes wait for it, or
//! when it has read nothing for thirty seconds, the connection ends; no other client waits for it meanwhile.

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Weak};
use std::time::Instant;

use ane_uapi::ioctl::errno::Errno;
use rustix::event::epoll;
use rustix::io::Errno as Os;
use rustix::net::{RecvFlags, SendFlags};

use super::limits::{OUTGOING_MAX, SIGNALS_MAX, WAITING_BYTES_MAX};
use super::mailbox::Mailbox;
use super::maps::Maps;
use ane_driver::front::{Call, Credentials, FileId, User};
use aned_protocol::Malformed;
use aned_protocol::answer;
use aned_protocol::socket::{self, Arrival, Peek};

/// Why a connection ends, other than by the client's wish.
#[derive(Debug)]
pub(super) struct Dismissal {
    pub(super) why: Errno,
    pub(super) text: String,
}

impl Dismissal {
    pub(super) fn new(why: Errno, text: impl Into<String>) -> Self {
        Self { why, text: text.into() }
    }
}

pub(super) type Result<T, E = Dismissal> = std::result::Result<T, E>;

impl From<Malformed> for Dismissal {
    fn from(why: Malformed) -> Self {
        Self::new(Errno::EINVAL, why.to_string())
    }
}

/// A call that has no answer yet.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) id: u64,
    pub(super) number: u32,
    pub(super) file: FileId,
    pub(super) what: What,
}

#[derive(Debug)]
pub(super) enum What {
    Ioctl(Call),
    Readable,
}

#[derive(Debug)]
struct Outgoing {
    message: Vec<u8>,
    descriptors: Vec<Arc<OwnedFd>>,
}

#[derive(Debug)]
pub(super) struct Connection {
    socket: OwnedFd,
    pub(super) who: Credentials,
    /// Another thread receives the client's next message; nothing is read from the client meanwhile.
    pub(super) is_away: bool,
    /// The client has sent a message, which is not read before it is its user's turn again.
    pub(super) is_held: bool,
    pub(super) is_welcome: bool,
    /// Open files by the client's numbers.
    pub(super) files: BTreeMap<u32, FileId>,
    next_number: u32,
    pub(super) maps: Maps,
    pub(super) waiting: VecDeque<Waiting>,
    waiting_bytes: usize,
    /// How many of the calls that wait are still to be offered since something happened.
    pub(super) to_offer: usize,
    outgoing: VecDeque<Outgoing>,
    outgoing_bytes: usize,
    /// Pipes that tell of a request's end; the driver drops them then.
    signals: Vec<Weak<OwnedFd>>,
    /// The report that it is being told, in parts.
    pub(super) report: String,
    watched: epoll::EventFlags,
    /// When the client was stopped, because it does not take its answers or its next message cannot be received.
    pub(super) deaf_since: Option<Instant>,
    pub(super) mailbox: Option<Mailbox>,
}

impl Connection {
    pub(super) fn new(socket: OwnedFd, who: Credentials) -> Self {
        Self {
            socket,
            who,
            is_away: false,
            is_held: false,
            is_welcome: false,
            files: BTreeMap::new(),
            next_number: 1,
            maps: Maps::default(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            to_offer: 0,
            outgoing: VecDeque::new(),
            outgoing_bytes: 0,
            signals: Vec::new(),
            report: String::new(),
            watched: epoll::EventFlags::IN,
            deaf_since: None,
            mailbox: None,
        }
    }

    /// The events that its socket has to be watched for.
    pub(super) fn wish(&self) -> epoll::EventFlags {
        if self.is_stuffed() { epoll::EventFlags::OUT } else { epoll::EventFlags::IN }
    }

    /// Says what the client's socket is to be watched for; true if it is already.
    pub(super) fn is_watched_for(&mut self, flags: epoll::EventFlags) -> bool {
        std::mem::replace(&mut self.watched, flags) == flags
    }

    /// Another thread has received its message.
    pub(super) fn came_back(&mut self) {
        self.is_away = false;
        // One that takes no answers is not listened to either.
        self.deaf_since = self.is_stuffed().then(Instant::now);
    }

    /// True if there is a message in its mailbox.
    pub(super) fn is_asked(&self) -> bool {
        self.mailbox.as_ref().is_some_and(Mailbox::is_asked)
    }

    /// The socket; everything else of the connection is dropped.
    pub(super) fn into_socket(self) -> OwnedFd {
        self.socket
    }

    /// The kind of the next message, if there is one.
    pub(super) fn peek(&self) -> Result<Peek, Os> {
        socket::peek(&self.socket)
    }

    /// The next message, if there is one. It is known to have no descriptors.
    pub(super) fn receive(&self, buffer: &mut [u8]) -> Result<Option<Arrival>, Os> {
        match socket::receive(&self.socket, buffer, RecvFlags::DONTWAIT) {
            Ok(arrival) => Ok(Some(arrival)),
            Err(Os::AGAIN | Os::INTR) => Ok(None),
            // The other end closed without reading everything, which is its right.
            Err(Os::CONNRESET) => Ok(Some(Arrival::End)),
            Err(why) => Err(why),
        }
    }

    /// A number for a file that the client holds from now on; not used again soon, so that a late call finds no file.
    pub(super) fn number(&mut self, file: FileId) -> u32 {
        loop {
            let number = self.next_number;
            self.next_number = self.next_number.checked_add(1).unwrap_or(1);
            if let std::collections::btree_map::Entry::Vacant(place) = self.files.entry(number) {
                place.insert(file);
                return number;
            }
        }
    }

    pub(super) fn wait(&mut self, waiting: Waiting) {
        self.waiting_bytes = self.waiting_bytes.saturating_add(waiting.bytes());
        self.waiting.push_back(waiting);
    }

    /// The first call that waits, not waiting any more.
    pub(super) fn next_waiting(&mut self) -> Option<Waiting> {
        self.take_waiting(0)
    }

    pub(super) fn take_waiting(&mut self, index: usize) -> Option<Waiting> {
        let waiting = self.waiting.remove(index)?;
        self.waiting_bytes = self.waiting_bytes.saturating_sub(waiting.bytes());
        Some(waiting)
    }

    /// True if a call that brought so many bytes may wait.
    pub(super) fn has_room_for(&self, bytes: usize) -> bool {
        self.waiting_bytes.saturating_add(bytes) <= WAITING_BYTES_MAX
    }

    /// Sends the answer to a call the way that the call came, or keeps it until the client takes those before it.
    pub(super) fn send(&mut self, id: u64, message: Vec<u8>, descriptors: Vec<Arc<OwnedFd>>) -> Result<()> {
        if let Some(mailbox) = self.mailbox.as_mut().filter(|mailbox| mailbox.holds(id)) {
            return mailbox.answer(&message);
        }
        let outgoing = Outgoing { message, descriptors };
        if self.outgoing.is_empty() && self.try_send(&outgoing)? {
            return Ok(());
        }
        self.outgoing_bytes = self.outgoing_bytes.saturating_add(outgoing.message.len());
        if self.outgoing_bytes > OUTGOING_MAX {
            return Err(Dismissal::new(Errno::EAGAIN, "client does not take its answers"));
        }
        if self.outgoing.is_empty() {
            self.deaf_since = Some(Instant::now());
        }
        self.outgoing.push_back(outgoing);
        Ok(())
    }

    /// Sends what there is room for; true if nothing is left.
    pub(super) fn flush(&mut self) -> Result<bool> {
        while let Some(outgoing) = self.outgoing.front() {
            if !self.try_send(outgoing)? {
                return Ok(false);
            }
            self.outgoing_bytes = self.outgoing_bytes.saturating_sub(outgoing.message.len());
            self.outgoing.pop_front();
            self.deaf_since = Some(Instant::now());
        }
        self.deaf_since = None;
        Ok(true)
    }

    /// True if the client leaves answers where they are. It is not listened to meanwhile.
    pub(super) fn is_stuffed(&self) -> bool {
        !self.outgoing.is_empty()
    }

    fn try_send(&self, outgoing: &Outgoing) -> Result<bool> {
        let descriptors: Vec<BorrowedFd<'_>> = outgoing.descriptors.iter().map(|fd| fd.as_fd()).collect();
        match socket::send(&self.socket, &outgoing.message, &descriptors, SendFlags::DONTWAIT) {
            Ok(()) => Ok(true),
            // TOOMANYREFS: too many descriptors of this user are on their way; they arrive.
            Err(Os::AGAIN | Os::INTR | Os::NOBUFS | Os::TOOMANYREFS) => Ok(false),
            Err(why) => Err(Dismissal::new(Errno::EIO, format!("sending: {why}"))),
        }
    }

    /// The last word, if the client has room for it.
    pub(super) fn send_dismissal(&mut self, dismissal: &Dismissal) {
        let mut message = Vec::new();
        answer::dismissal(&mut message, dismissal.why, &dismissal.text);
        // A client that does not read its answers does not get this one.
        let _ = self.try_send(&Outgoing { message, descriptors: Vec::new() });
    }

    pub(super) const fn user(&self) -> User {
        self.who.user
    }

    /// Remembers a pipe that tells of a request's end.
    pub(super) fn remember_signal(&mut self, writer: Weak<OwnedFd>) {
        self.signals.push(writer);
    }

    /// True if there may be one more; those whose request has ended do not count.
    pub(super) fn has_room_for_signal(&mut self) -> bool {
        if self.signals.len() >= SIGNALS_MAX {
            self.signals.retain(|writer| writer.strong_count() > 0);
        }
        self.signals.len() < SIGNALS_MAX
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Waiting {
    fn bytes(&self) -> usize {
        match &self.what {
            What::Ioctl(call) => weight(call),
            What::Readable => 0,
        }
    }
}

pub(super) fn weight(call: &Call) -> usize {
    call.memory.iter().map(|(_, bytes)| bytes.len()).fold(call.argument.len(), usize::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::STRANGER;

    #[test]
    fn client_that_is_stuffed_is_deaf_also_when_its_message_was_received_meanwhile() {
        let (ours, _theirs) = socket::pair().unwrap();
        let mut client = Connection::new(ours, Credentials { user: STRANGER, process: 1 });
        client.is_away = true;
        client.deaf_since = Some(Instant::now());
        while !client.is_stuffed() {
            client.send(0, vec![0; 64], Vec::new()).unwrap();
        }
        client.came_back();
        assert!(!client.is_away && client.deaf_since.is_some());
        // One that takes its answers is heard again.
        client.outgoing.clear();
        client.came_back();
        assert!(client.deaf_since.is_none());
    }
}
