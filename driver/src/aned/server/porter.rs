//! The porter: takes in, and throws away, what might hold up whoever does it.
//!
//! A descriptor that a stranger passed may be of anything. Closing one of a file system that the stranger serves himself
//! (FUSE) waits for his answer; closing the last one of a connection that lingers (`SO_LINGER`) waits for its peer. And
//! much of closing is not asked for: the kernel closes what finds no room in the receiver, and what lies unread in a
//! socket that is closed, on the thread that received or closed. So the thread that serves looks before it takes
//! ([`socket::peek`]): a message with descriptors, and a socket with anything left in it, go to a thread of their own,
//! which may be held up for as long as it likes. What comes back is the message, and its descriptor if it is a memory
//! object: closing one of those waits for nobody, nor does asking whose it is.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use nix::sys::eventfd::{EfdFlags, EventFd};
use rustix::fs::fcntl_get_seals;
use rustix::net::RecvFlags;

use super::limits::PORTERS_MAX;
use crate::aned::protocol::MESSAGE_MAX;
use crate::aned::socket::{self, Arrival};

/// A message that came with descriptors.
#[derive(Debug)]
pub(super) struct Delivery {
    /// Whose.
    pub(super) client: u64,
    /// Its bytes, or nothing if it was larger than any.
    pub(super) message: Option<Vec<u8>>,
    /// How many descriptors came with it.
    pub(super) count: usize,
    /// The one that came with it, if it is a memory object.
    pub(super) object: Option<OwnedFd>,
}

/// The porter.
#[derive(Debug)]
pub(super) struct Porter {
    /// Readable when something was delivered.
    bell: Arc<EventFd>,
    sender: Sender<Delivery>,
    delivered: Receiver<Delivery>,
    /// Threads that have not ended.
    busy: Arc<AtomicUsize>,
}

/// Counts a thread for as long as it lives.
struct Busy(Arc<AtomicUsize>);

impl Busy {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Porter {
    pub(super) fn new() -> std::io::Result<Self> {
        let (sender, delivered) = channel();
        let bell = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        Ok(Self { bell: Arc::new(bell), sender, delivered, busy: Arc::default() })
    }

    /// True if so many threads are held up that nobody else may be let in who could hold up another.
    pub(super) fn is_overrun(&self) -> bool {
        self.busy.load(Ordering::Relaxed) >= PORTERS_MAX
    }

    /// Takes the next message of a client's socket, which has descriptors.
    ///
    /// # Errors
    ///
    /// What the system says if there is no thread.
    pub(super) fn fetch(&self, client: u64, socket: BorrowedFd<'_>) -> std::io::Result<()> {
        let (sender, bell, busy) = (self.sender.clone(), Arc::clone(&self.bell), Busy::new(&self.busy));
        let socket = socket.try_clone_to_owned()?;
        let fetch = move || {
            let (delivery, others) = take_in(client, &socket);
            // The server may have ended.
            let _ = sender.send(delivery);
            let _ = bell.write(1);
            drop((others, socket, busy));
        };
        thread::Builder::new().name("porter".to_owned()).spawn(fetch).map(|_| ())
    }

    /// What was delivered since.
    pub(super) fn next(&self) -> Option<Delivery> {
        let _ = self.bell.read();
        self.delivered.try_recv().ok()
    }

    /// Closes a client's socket, here if nothing is left in it.
    pub(super) fn close(&self, socket: OwnedFd) {
        if !socket::seal(&socket) {
            return;
        }
        let busy = Busy::new(&self.busy);
        let close = move || drop((socket, busy));
        if let Err(why) = thread::Builder::new().name("porter".to_owned()).spawn(close) {
            // The socket was closed with the thread that did not come to be.
            log::warn!("socket is closed on the thread that serves: {why}");
        }
    }
}

impl AsFd for Porter {
    /// Readable when something was delivered.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

/// The next message of a socket, and the descriptors that nobody asked for.
fn take_in(client: u64, socket: &OwnedFd) -> (Delivery, Vec<OwnedFd>) {
    let mut message = vec![0; MESSAGE_MAX];
    match socket::receive(socket, &mut message, RecvFlags::DONTWAIT) {
        Ok(Arrival::Message { bytes, mut descriptors }) => {
            message.truncate(bytes);
            let count = descriptors.len();
            // Only memory objects have seals; the kernel sees that without asking anybody else.
            let is_object = count == 1 && descriptors.first().is_some_and(|fd| fcntl_get_seals(fd).is_ok());
            let object = if is_object { descriptors.pop() } else { None };
            (Delivery { client, message: Some(message), count, object }, descriptors)
        }
        // Cut, or gone: either ends the connection.
        _ => (Delivery { client, message: None, count: 0, object: None }, Vec::new()),
    }
}
