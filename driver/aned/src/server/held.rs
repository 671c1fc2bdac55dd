//! Clients that are not heard for a moment, because their user had more of the thread's time than others.
//!
//! A held client's socket is not watched, so that a message in it does not wake the thread. The messages stay in the socket.

use std::time::Instant;

use ane_uapi::ioctl::errno::Errno;
use rustix::event::epoll;

use super::Server;
use super::connection::{Connection, Dismissal};
use super::thread_share::Party;
use ane_driver::front::Files;

impl<F: Files> Server<F> {
    /// The time when work begins that is charged to a user; `None` if there is only one user.
    pub(super) fn begin(&self) -> Option<Instant> {
        self.is_shared.then(Instant::now)
    }

    /// Charges the work that began then to `party`. It has just ended.
    pub(super) fn charge(&mut self, party: Party, begun: Option<Instant>) {
        if let Some(begun) = begun {
            self.thread_shares.charge(party, begun, Instant::now());
        }
    }

    /// Notes that the thread has been waiting for messages since then, maybe while a user was held.
    pub(super) fn listened(&mut self, begun: Option<Instant>) {
        if let Some(begun) = begun.filter(|_| self.thread_shares.has_held()) {
            self.thread_shares.slept(begun, Instant::now());
        }
    }

    /// True if there are connections of more than one user.
    pub(super) fn has_several_users(&self) -> bool {
        let mut users = self.clients.values().map(|client| client.who.user.id);
        let first = users.next();
        users.any(|user| Some(user) != first)
    }

    /// True if a client's user is not heard now.
    pub(super) fn has_to_wait(&self, client: &Connection) -> bool {
        self.thread_shares.is_held(Party::of(client.who.user))
    }

    /// Stops the events of a client until its user is released.
    pub(super) fn hold(&mut self, key: u64) {
        if let Some(client) = self.clients.get_mut(&key) {
            client.is_held = true;
            let _ = epoll::delete(&self.events, &*client);
        }
    }

    /// Accepts no client while [`Party::Accept`] is held.
    pub(super) fn hold_accept(&mut self) {
        self.is_accept_held = true;
        let _ = epoll::delete(&self.events, &self.place);
    }

    /// Settles the holds anew, and watches the clients of released users again.
    pub(super) fn settle_thread(&mut self, now: Instant) {
        if !self.thread_shares.has_held() {
            return;
        }
        let change = self.thread_shares.settle(now);
        self.held_until = change.again;
        if change.is_released {
            self.listen_again();
        }
    }

    fn listen_again(&mut self) {
        if self.is_accept_held && !self.thread_shares.is_held(Party::Accept) && !self.calls.is_closing {
            self.is_accept_held = false;
            self.listen();
        }
        let released = self.clients.iter().filter(|(_, client)| client.is_held && !self.has_to_wait(client));
        for key in released.map(|(&key, _)| key).collect::<Vec<_>>() {
            let Some(client) = self.clients.get_mut(&key) else { continue };
            client.is_held = false;
            let flags = client.wish();
            client.is_watched_for(flags);
            if let Err(why) = epoll::add(&self.events, &*client, epoll::EventData::new_u64(key), flags) {
                self.settle(key, Err(Dismissal::new(Errno::EIO, why.to_string())));
            }
        }
    }
}
