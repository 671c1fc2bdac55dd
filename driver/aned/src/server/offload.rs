//! Threads for calls that may block: receiving descriptors that a client passed, and closing sockets in which something is left.
//!
//! A client's descriptor may be of any kind. A file system that the client serves itself (FUSE) can delay the close of
//! its descriptors. The peer of a connection that lingers (`SO_LINGER`) can delay the close of the last descriptor. The
//! kernel also closes descriptors by itself, on the thread that calls it: those for which the receiver has no room, and
//! those that lie unread in a socket that is closed. So the thread that serves looks first ([`socket::peek`]). A
//! message with descriptors, and a socket that is not empty, go to a thread of their own, which may be held up for any
//! time. That thread gives back the message, and the identity of its descriptor if it is a memory object: to ask one of those
//! never waits. The thread closes it, which takes seconds if it was the last descriptor of gigabytes.
//!
//! Threads are few, so the number that a user may have is bounded ([`User`]). A user with as many waits until one of
//! them ends: the user's messages stay in their sockets, and closes come later. From Linux 6.16 on a socket can refuse
//! descriptors. The server makes it do so before a client is let in, and while its user has no thread left
//! ([`socket::let_descriptors_pass`]), so that sockets cannot pile up. On an older kernel they can: at [`ASIDE_MAX`]
//! sockets the server lets no new client in.

use std::collections::{HashMap, VecDeque};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use nix::sys::eventfd::{EfdFlags, EventFd};
use rustix::fs::fcntl_get_seals;
use rustix::net::RecvFlags;

use super::files::{Identity, identity};
use super::limits::{ASIDE_MAX, OFFLOAD_THREADS_MAX};
use ane_driver::front::User;
use aned_protocol::MESSAGE_MAX;
use aned_protocol::socket::{self, Arrival};

/// A message that came with descriptors.
#[derive(Debug)]
pub(super) struct Delivery {
    pub(super) client: u64,
    /// The bytes of the message; none if it was too large.
    pub(super) message: Option<Vec<u8>>,
    pub(super) passed: Passed,
}

/// The descriptors that came with a message. They are closed already, or are about to be.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Passed {
    /// How many the daemon had room for.
    pub(super) count: usize,
    /// There were more.
    pub(super) is_short: bool,
    /// The only one, if it is a memory object.
    pub(super) object: Option<Identity>,
}

/// The threads, and what waits for one.
#[derive(Debug)]
pub(super) struct Offload {
    /// Readable when something was delivered, or a thread has ended.
    event: Arc<EventFd>,
    sender: Sender<Delivery>,
    delivered: Receiver<Delivery>,
    threads: Arc<Mutex<Threads>>,
    /// Clients whose next message waits for a thread.
    stalled: VecDeque<(User, u64)>,
    /// Sockets whose closing does.
    aside: VecDeque<(User, OwnedFd)>,
}

/// Threads that have not ended: in all, and of each user who has some.
#[derive(Debug, Default)]
struct Threads {
    all: usize,
    of: HashMap<u32, usize>,
}

/// Counts a thread for as long as it lives, and says when it has ended.
struct Busy {
    threads: Arc<Mutex<Threads>>,
    event: Arc<EventFd>,
    user: u32,
}

impl Drop for Busy {
    fn drop(&mut self) {
        let mut threads = lock(&self.threads);
        threads.all = threads.all.saturating_sub(1);
        if let Some(count) = threads.of.get_mut(&self.user) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                threads.of.remove(&self.user);
            }
        }
        drop(threads);
        let _ = self.event.write(1);
    }
}

fn lock(threads: &Mutex<Threads>) -> MutexGuard<'_, Threads> {
    // Its holders only count.
    threads.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Offload {
    pub(super) fn new() -> std::io::Result<Self> {
        let (sender, delivered) = channel();
        let event = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        Ok(Self {
            event: Arc::new(event),
            sender,
            delivered,
            threads: Arc::default(),
            stalled: VecDeque::new(),
            aside: VecDeque::new(),
        })
    }

    /// True if so many sockets wait to be closed that no new client may be let in, since it could leave another one.
    pub(super) fn is_overrun(&self) -> bool {
        self.aside.len() >= ASIDE_MAX
    }

    pub(super) fn has_thread(&self, user: User) -> bool {
        let threads = lock(&self.threads);
        let held = threads.of.get(&user.id).copied().unwrap_or_default();
        user.may_take(held, OFFLOAD_THREADS_MAX.saturating_sub(threads.all))
    }

    fn take_thread(&self, user: User) -> Option<Busy> {
        if !self.has_thread(user) {
            return None;
        }
        let mut threads = lock(&self.threads);
        threads.all = threads.all.saturating_add(1);
        let count = threads.of.entry(user.id).or_default();
        *count = count.saturating_add(1);
        drop(threads);
        Some(Busy { threads: Arc::clone(&self.threads), event: Arc::clone(&self.event), user: user.id })
    }

    /// Takes the next message of a client's socket, which has descriptors; or has the client wait for that, and
    /// [`Offload::next_stalled`] names it.
    pub(super) fn fetch(&mut self, user: User, client: u64, socket: BorrowedFd<'_>) -> std::io::Result<()> {
        let Some(busy) = self.take_thread(user) else {
            self.stalled.push_back((user, client));
            return Ok(());
        };
        let (sender, event) = (self.sender.clone(), Arc::clone(&self.event));
        let socket = socket.try_clone_to_owned()?;
        let fetch = move || {
            let (delivery, descriptors) = take_in(client, &socket);
            // The server may have ended.
            let _ = sender.send(delivery);
            let _ = event.write(1);
            drop((descriptors, socket, busy));
        };
        thread::Builder::new().name("offload".to_owned()).spawn(fetch).map(|_| ())
    }

    /// The results that were delivered since.
    pub(super) fn next(&self) -> Option<Delivery> {
        let _ = self.event.read();
        self.delivered.try_recv().ok()
    }

    /// A client whose message can be fetched now, and could not before.
    pub(super) fn next_stalled(&mut self) -> Option<u64> {
        let place = self.stalled.iter().position(|&(user, _)| self.has_thread(user))?;
        self.stalled.remove(place).map(|(_, client)| client)
    }

    /// Closes a client's socket: here if nothing is left in it, and else on a thread, now or later.
    pub(super) fn close(&mut self, user: User, socket: OwnedFd) {
        if !socket::seal(&socket) {
            return;
        }
        match self.take_thread(user) {
            Some(busy) => close_on(busy, socket),
            None => self.aside.push_back((user, socket)),
        }
    }

    /// Closes what was set aside, as far as there are threads now.
    pub(super) fn close_aside(&mut self) {
        while let Some(place) = self.aside.iter().position(|&(user, _)| self.has_thread(user)) {
            let Some((user, socket)) = self.aside.remove(place) else { return };
            self.close(user, socket);
        }
    }
}

/// Closes a socket on a thread of its own.
fn close_on(busy: Busy, socket: OwnedFd) {
    let close = move || drop((socket, busy));
    if let Err(why) = thread::Builder::new().name("offload".to_owned()).spawn(close) {
        // The socket was closed with the thread that did not come to be.
        log::warn!("socket is closed on the thread that serves: {why}");
    }
}

impl AsFd for Offload {
    /// Readable when something was delivered.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

/// The next message of a socket, and its descriptors, which are still to be closed.
fn take_in(client: u64, socket: &OwnedFd) -> (Delivery, Vec<OwnedFd>) {
    let mut message = vec![0; MESSAGE_MAX];
    match socket::receive(socket, &mut message, RecvFlags::DONTWAIT) {
        Ok(Arrival::Message { bytes, descriptors, is_short }) => {
            message.truncate(bytes);
            let object = match descriptors.as_slice() {
                // Only memory objects have seals; the kernel sees that without asking another process.
                [only] if fcntl_get_seals(only).is_ok() => identity(only).ok(),
                _ => None,
            };
            let passed = Passed { count: descriptors.len(), is_short, object };
            (Delivery { client, message: Some(message), passed }, descriptors)
        }
        // Cut, or gone: either ends the connection.
        _ => (Delivery { client, message: None, passed: Passed::default() }, Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use nix::sys::memfd::{MFdFlags, memfd_create};
    use rustix::net::SendFlags;

    use super::*;
    use crate::tests::{OWNER, STRANGER};

    const OTHER: User = User { id: 1002, is_privileged: false };

    /// A socket in which a descriptor lies. It is not the socket's own, which the kernel would close only when somebody on the
    /// machine closes another socket.
    fn unread() -> (OwnedFd, OwnedFd) {
        let (ours, theirs) = socket::pair().unwrap();
        let passed = EventFd::new().unwrap();
        socket::send(&theirs, b"unread", &[passed.as_fd()], SendFlags::empty()).unwrap();
        (ours, theirs)
    }

    /// Waits until no thread is left.
    fn settle(offload: &Offload) {
        let end = Instant::now() + Duration::from_secs(20);
        while lock(&offload.threads).all > 0 {
            assert!(Instant::now() < end, "it ends");
            thread::yield_now();
        }
    }

    #[test]
    fn memory_object_is_known_by_its_identity_and_is_not_passed_on() {
        let mut offload = Offload::new().unwrap();
        let (ours, theirs) = socket::pair().unwrap();
        let object = memfd_create(c"object", MFdFlags::MFD_CLOEXEC).unwrap();
        for passed in [object.as_fd(), theirs.as_fd()] {
            socket::send(&theirs, b"message", &[passed], SendFlags::empty()).unwrap();
            offload.fetch(STRANGER, 7, ours.as_fd()).unwrap();
            // So its descriptor is closed before the thread that serves hears of it.
            settle(&offload);
        }
        let found: Vec<_> =
            std::iter::from_fn(|| offload.next()).map(|delivery| delivery.passed.object).collect();
        assert_eq!(found, [identity(&object).ok(), None]);
    }

    #[test]
    fn user_whose_threads_are_all_held_up_waits_and_nobody_else_does() {
        let mut offload = Offload::new().unwrap();
        let mut held: Vec<_> = std::iter::from_fn(|| offload.take_thread(STRANGER)).collect();
        assert_eq!(held.len(), OFFLOAD_THREADS_MAX / 2);
        let (ours, theirs) = unread();
        offload.fetch(STRANGER, 7, ours.as_fd()).unwrap();
        offload.close(STRANGER, ours);
        assert_eq!((offload.next_stalled(), offload.aside.len()), (None, 1));
        assert!(offload.take_thread(OTHER).is_some() && offload.take_thread(OWNER).is_some());
        held.pop();
        assert!(socket::wait(&offload, Some(Duration::ZERO)).unwrap(), "the event is raised");
        assert_eq!(offload.next_stalled(), Some(7));
        offload.close_aside();
        assert!(offload.aside.is_empty());
        // The other end hears of it.
        assert!(socket::wait(&theirs, Some(Duration::from_secs(20))).unwrap());
        drop(held);
        settle(&offload);
        assert!(lock(&offload.threads).of.is_empty(), "nothing is kept of who has nothing");
    }

    #[test]
    fn only_sockets_that_nobody_can_close_stop_the_accept_of_clients() {
        let mut offload = Offload::new().unwrap();
        let _held: Vec<_> = std::iter::from_fn(|| offload.take_thread(STRANGER)).collect();
        let mut theirs = Vec::new();
        for _ in 0..ASIDE_MAX {
            assert!(!offload.is_overrun());
            let (ours, other) = unread();
            offload.close(STRANGER, ours);
            theirs.push(other);
        }
        assert!(offload.is_overrun());
    }
}
