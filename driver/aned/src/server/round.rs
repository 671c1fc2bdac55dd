//! A round: the work for all clients that have something to do.

use std::hint;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use ane_uapi::ioctl::errno::Errno;
use rustix::event::epoll;
use rustix::io::Errno as Os;

use super::Server;
use super::connection::{Connection, Dismissal, Result};
use super::limits::OFFERED_MAX;
use super::offload::{Delivery, Passed};
use super::thread_share::Party;
use ane_driver::front::Files;
use aned_protocol::Malformed;
use aned_protocol::socket::{self, Arrival, Peek};

/// Looks into mailboxes before the sockets are looked at: about as long as that takes.
const LOOKS: u32 = 64;

/// How long mailboxes may keep the thread from sockets and device: much less than a wake-up takes (Chosen).
const BOXED: Duration = Duration::from_micros(50);

/// A client whose socket has something.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ready {
    pub(super) client: u64,
    pub(super) flags: epoll::EventFlags,
}

impl<F: Files> Server<F> {
    /// Carries out what comes by mailboxes, and neither asks the system nor the device meanwhile: a client that calls
    /// again and again has laid in its next message before they would have answered. True if something came.
    ///
    /// It ends when nothing comes any more, when the device is to be told of what came, and after a while.
    pub(super) fn serve_mailboxes(&mut self) -> bool {
        let Some(start) = self.has_mailboxes().then(Instant::now) else { return false };
        let mut has_some = false;
        while !self.calls.driver.has_queued() && self.await_mailboxes() {
            self.look_into_mailboxes();
            has_some = true;
            if start.elapsed() >= BOXED {
                break;
            }
        }
        has_some
    }

    fn has_mailboxes(&self) -> bool {
        self.clients.values().any(|client| client.mailbox.is_some())
    }

    /// Looks into the mailboxes for a moment; true if there is something in one.
    fn await_mailboxes(&self) -> bool {
        (0..LOOKS).any(|_| {
            hint::spin_loop();
            self.clients.values().any(|client| client.is_asked() && !self.has_to_wait(client))
        })
    }

    /// Takes one message out of each mailbox that has one; true if any had.
    pub(super) fn look_into_mailboxes(&mut self) -> bool {
        let mut asked = std::mem::take(&mut self.asked);
        let mailboxes =
            self.clients.iter().filter(|(_, client)| client.is_asked() && !self.has_to_wait(client));
        asked.extend(mailboxes.map(|(&key, _)| key));
        let has_some = !asked.is_empty();
        for key in asked.drain(..) {
            let begun = self.begin();
            let Some(client) = self.clients.get_mut(&key) else { continue };
            let party = Party::of(client.who.user);
            let outcome = self.calls.take_from_mailbox(client, &mut self.from_mailbox).map(|()| true);
            self.settle(key, outcome);
            self.charge(party, begun);
        }
        self.asked = asked;
        has_some
    }

    /// Hears each of them once, beginning behind the one that was heard last.
    pub(super) fn hear(&mut self, ready: &mut [Ready]) {
        let last = self.last;
        ready.sort_unstable_by_key(|one| (one.client <= last, one.client));
        if let Some(first) = ready.first() {
            self.last = first.client;
        }
        for &mut Ready { client: key, flags } in ready {
            let begun = self.begin();
            let Some(client) = self.clients.get_mut(&key) else { continue };
            let party = Party::of(client.who.user);
            if self.thread_shares.is_held(party) {
                self.hold(key);
                continue;
            }
            let outcome = match client.is_stuffed() {
                true => flush(client, flags),
                false => self.hear_one(key),
            };
            self.settle(key, outcome);
            self.charge(party, begun);
        }
    }

    /// Takes one message of a client; false if it is gone.
    fn hear_one(&mut self, key: u64) -> Result<bool> {
        let Some(client) = self.clients.get_mut(&key) else { return Ok(false) };
        let failed = |why: Os| Dismissal::new(Errno::EIO, format!("receiving: {why}"));
        match client.peek().map_err(failed)? {
            Peek::Nothing => Ok(true),
            Peek::End => Ok(false),
            Peek::WithDescriptors => self.receive_offloaded(key),
            Peek::Plain => match client.receive(&mut self.buffer).map_err(failed)? {
                Some(Arrival::Message { bytes, .. }) => {
                    let message = self.buffer.get(..bytes).unwrap_or_default();
                    if !client.is_welcome && self.offload.has_thread(client.who.user) {
                        // Before it is answered, since the client may pass some then.
                        socket::let_descriptors_pass(&*client, true);
                    }
                    self.calls.take(client, message, Passed::default())?;
                    Ok(true)
                }
                Some(Arrival::Cut) => Err(Malformed::Huge.into()),
                Some(Arrival::End) => Ok(false),
                None => Ok(true),
            },
        }
    }

    /// Has a client's next message taken in, which has descriptors.
    fn receive_offloaded(&mut self, key: u64) -> Result<bool> {
        let Some(client) = self.clients.get_mut(&key) else { return Ok(false) };
        let failed = |why: std::io::Error| Dismissal::new(Errno::EAGAIN, format!("receiving: {why}"));
        // Or its end would be told all the while.
        epoll::delete(&self.events, &*client).map_err(|why| failed(why.into()))?;
        client.is_away = true;
        client.deaf_since = Some(Instant::now());
        self.offload.fetch(client.who.user, key, client.as_fd()).map_err(failed)?;
        Ok(true)
    }

    /// Takes what other threads received, and gives what waited for a thread to those that are free again.
    pub(super) fn take_deliveries(&mut self) {
        self.take_delivered();
        while let Some(key) = self.offload.next_stalled() {
            let Some(client) = self.clients.get(&key) else { continue };
            if let Err(why) = self.offload.fetch(client.who.user, key, client.as_fd()) {
                let dismissal = Dismissal::new(Errno::EAGAIN, format!("receiving: {why}"));
                self.settle(key, Err(dismissal));
            }
        }
        self.offload.close_aside();
    }

    fn take_delivered(&mut self) {
        while let Some(Delivery { client: key, message, passed }) = self.offload.next() {
            let begun = self.begin();
            let Some(client) = self.clients.get_mut(&key) else { continue };
            let party = Party::of(client.who.user);
            client.came_back();
            let flags = client.wish();
            client.is_watched_for(flags);
            let watched = epoll::add(&self.events, &*client, epoll::EventData::new_u64(key), flags);
            let outcome = match (watched, message) {
                (Ok(()), Some(message)) => self.calls.take(client, &message, passed),
                (Ok(()), None) => Err(Malformed::Huge.into()),
                (Err(why), _) => Err(Dismissal::new(Errno::EIO, why.to_string())),
            };
            self.settle(key, outcome.map(|()| true));
            self.charge(party, begun);
        }
    }

    /// Offers calls that wait, all of them from now on if something happened.
    pub(super) fn offer(&mut self, has_news: bool) {
        let last = self.last;
        let shares = &self.thread_shares;
        let waiting = self.clients.iter_mut().filter(|(_, client)| !client.waiting.is_empty());
        let mut keys: Vec<u64> = waiting
            .filter_map(|(&key, client)| {
                if has_news {
                    client.to_offer = client.waiting.len();
                }
                (client.to_offer > 0 && !shares.is_held(Party::of(client.who.user))).then_some(key)
            })
            .collect();
        keys.sort_unstable_by_key(|&key| (key <= last, key));
        for key in keys {
            let begun = self.begin();
            let Some(client) = self.clients.get_mut(&key) else { continue };
            let party = Party::of(client.who.user);
            let outcome = self.calls.offer(client, OFFERED_MAX).map(|()| true);
            self.settle(key, outcome);
            self.charge(party, begun);
        }
    }

    /// Drops clients that could not be heard for longer than they may. A client that is dead may look like one: a message
    /// that lies unread keeps open what it carries, and that may be the client's own end of the socket.
    pub(super) fn drop_deaf(&mut self, now: Instant) {
        let limit = self.patience;
        let is_late = |since: Instant| now.saturating_duration_since(since) >= limit;
        let late = self.clients.iter().filter(|(_, client)| client.deaf_since.is_some_and(is_late));
        for key in late.map(|(&key, _)| key).collect::<Vec<_>>() {
            let text = format!("client takes no answers, or its messages cannot be taken in, for {limit:?}");
            self.settle(key, Err(Dismissal::new(Errno::EAGAIN, text)));
        }
    }

    /// Keeps a client or not, and has it watched for what matters.
    pub(super) fn settle(&mut self, key: u64, outcome: Result<bool>) {
        let Some(client) = self.clients.get_mut(&key) else { return };
        let dismissal = match outcome {
            Ok(true) => {
                let flags = client.wish();
                if client.is_away || client.is_held || client.is_watched_for(flags) {
                    return;
                }
                let data = epoll::EventData::new_u64(key);
                match epoll::modify(&self.events, &*client, data, flags) {
                    Ok(()) => return,
                    Err(why) => Some(Dismissal::new(Errno::EIO, why.to_string())),
                }
            }
            Ok(false) => None,
            Err(dismissal) => Some(dismissal),
        };
        let Some(mut client) = self.clients.remove(&key) else { return };
        if let Some(dismissal) = dismissal {
            log::debug!("client {key} (process {}) is dropped: {}", client.who.process, dismissal.text);
            client.send_dismissal(&dismissal);
        } else {
            log::debug!("client {key} (process {}) is gone", client.who.process);
        }
        let _ = epoll::delete(&self.events, &client);
        let user = client.who.user;
        self.offload.close(user, self.calls.retire(client));
        self.is_shared = self.has_several_users();
    }

    /// Tells every client, and closes every file.
    pub(super) fn finish(&mut self) {
        let dismissal = Dismissal::new(Errno::ENODEV, "daemon ends");
        for (_, mut client) in std::mem::take(&mut self.clients) {
            let _ = client.flush();
            client.send_dismissal(&dismissal);
            let user = client.who.user;
            self.offload.close(user, self.calls.retire(client));
        }
        if self.calls.shared.len() > 0 {
            log::warn!("{} files were held by nobody", self.calls.shared.len());
            for file in self.calls.shared.drain() {
                self.calls.driver.close(file);
            }
        }
    }
}

/// Sends a client what it has not taken yet; false if it is gone.
fn flush(client: &mut Connection, flags: epoll::EventFlags) -> Result<bool> {
    // The client hung up with answers left, which no process will take.
    Ok(client.flush().is_ok() && !flags.contains(epoll::EventFlags::HUP))
}
