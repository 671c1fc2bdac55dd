//! One thread that serves every client.
//!
//! It goes round. In each round every client that said something is heard once, the driver looks once at what its
//! device did, which in one process with the device is at most one task, and the calls for which that may be the end
//! are offered again. The round starts with another client each time. So a client that calls as fast as it can has its
//! turn as often as any other, and no call waits behind another client's second.
//!
//! * `door`: who is let in;
//! * `connection`: a client;
//! * `boxed`: its mailbox;
//! * `calls`: what becomes of a message;
//! * `waiting`: those that do not end at once;
//! * `files`: open files, and who holds them;
//! * `limits`: what one client may have.
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::cast_possible_truncation
    )
)]

mod boxed;
mod calls;
mod connection;
mod door;
mod files;
mod limits;
#[cfg(test)]
mod tests;
mod waiting;

use std::collections::BTreeMap;
use std::hint;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use ane_uapi::ioctl::errno::Errno;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno as Os;

use self::calls::Desk;
pub use self::calls::Report;
use self::connection::{Connection, Farewell};
pub use self::door::Admit;
use self::files::Shared;
use self::limits::OFFERED_MAX;
use super::place::Place;
use super::protocol::{MESSAGE_MAX, Malformed};
use super::socket::Arrival;
use crate::front::{Files, Progress};

/// How long calls that wait may take to end once the daemon is to end: the device's own limit for a queue that is stuck,
/// and some.
const PATIENCE: Duration = Duration::from_millis(2500);

/// How long after an event to see whether the driver has another descriptor.
const REWATCH: Duration = Duration::from_millis(10);

/// Rounds in a row in which only mailboxes are looked into: less than a system call each.
const SKIPPED_MAX: u32 = 16;

/// Looks into mailboxes before the sockets are looked at: about as long as that takes.
const LOOKS: u32 = 64;

/// Events that one look at the descriptors brings; the rest come with the next.
const EVENTS: usize = 64;

/// How to serve.
pub struct Settings<F> {
    /// Who is let in.
    pub admit: Admit,
    /// How long to look for messages before sleeping, once there was one.
    pub poll: Duration,
    /// What is told about the device to whoever looks after it.
    pub report: Option<Report<F>>,
}

impl<F> Default for Settings<F> {
    fn default() -> Self {
        Self { admit: Admit::default(), poll: Duration::ZERO, report: None }
    }
}

impl<F> std::fmt::Debug for Settings<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings")
            .field("admit", &self.admit)
            .field("poll", &self.poll)
            .finish_non_exhaustive()
    }
}

/// Descriptors that are no clients'.
const LISTENER: u64 = 0;
const STOP: u64 = 1;
const WAKEUP: u64 = 2;
const FIRST_CLIENT: u64 = 3;

/// What there is to do with a client.
#[derive(Clone, Copy, Debug)]
struct Ready {
    client: u64,
    flags: epoll::EventFlags,
}

/// A daemon.
pub struct Server<F> {
    desk: Desk<F>,
    place: Place,
    admit: Admit,
    poll: Duration,
    events: OwnedFd,
    clients: BTreeMap<u64, Connection>,
    next_client: u64,
    /// The client that was heard last.
    last: u64,
    buffer: Vec<u8>,
    /// What came by a mailbox.
    boxed: Vec<u8>,
    /// When to listen for clients again, after a failure.
    breath: Option<Instant>,
    /// When to see whether the driver is woken by another descriptor now.
    rewatch: Option<Instant>,
}

impl<F> std::fmt::Debug for Server<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("place", &self.place)
            .field("clients", &self.clients.len())
            .finish_non_exhaustive()
    }
}

impl<F: Files> Server<F> {
    /// A daemon that serves `driver` at `place`.
    ///
    /// # Errors
    ///
    /// If the system has no descriptors left.
    pub fn new(driver: F, place: Place, settings: Settings<F>) -> std::io::Result<Self> {
        let events = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&events, &place, epoll::EventData::new_u64(LISTENER), epoll::EventFlags::IN)?;
        Ok(Self {
            desk: Desk { driver, shared: Shared::default(), report: settings.report, is_closing: false },
            place,
            admit: settings.admit,
            poll: settings.poll,
            events,
            clients: BTreeMap::new(),
            next_client: FIRST_CLIENT,
            last: 0,
            buffer: vec![0; MESSAGE_MAX],
            boxed: Vec::new(),
            breath: None,
            rewatch: None,
        })
    }

    /// The driver.
    pub const fn driver(&mut self) -> &mut F {
        &mut self.desk.driver
    }

    /// Serves until `stop` is readable. Then nobody is let in any more, and calls that wait have a little while to end.
    /// At the end every client is told, and every file closed.
    ///
    /// # Errors
    ///
    /// If the system fails; a client's failure is its own.
    pub fn run(mut self, stop: BorrowedFd<'_>) -> std::io::Result<F> {
        let watch = |source, data| {
            epoll::add(&self.events, source, epoll::EventData::new_u64(data), epoll::EventFlags::IN)
        };
        watch(stop, STOP)?;
        self.watch_driver()?;
        let mut end: Option<Instant> = None;
        let mut progress = Progress { is_some: false, is_pending: true, after: None };
        let mut looked = Instant::now();
        let mut heard = looked;
        let mut events = Vec::with_capacity(EVENTS);
        let mut ready: Vec<Ready> = Vec::new();
        let mut skipped = 0_u32;
        loop {
            let now = Instant::now();
            let is_idle = self.clients.values().all(|client| client.waiting.is_empty());
            if end.is_some_and(|end| now >= end || (is_idle && !progress.is_pending)) {
                break;
            }
            let mut timeout = self.timeout(now, &progress, looked, heard, end);
            if timeout != Some(Timespec::default()) && !self.rest() {
                timeout = Some(Timespec::default());
            }
            events.clear();
            ready.clear();
            // With a driver that has work to do nothing is put off.
            let may_skip =
                timeout == Some(Timespec::default()) && !progress.is_pending && skipped < SKIPPED_MAX;
            if may_skip && self.await_mailboxes() {
                skipped = skipped.saturating_add(1);
            } else {
                skipped = 0;
                match epoll::wait(&self.events, rustix::buffer::spare_capacity(&mut events), timeout.as_ref())
                {
                    Ok(_) | Err(Os::INTR) => {}
                    Err(why) => return Err(why.into()),
                }
            }
            for event in &events {
                match event.data.u64() {
                    LISTENER => self.welcome(),
                    STOP if end.is_none() => {
                        log::info!("ending: {} clients", self.clients.len());
                        end = Some(now.checked_add(PATIENCE).unwrap_or(now));
                        self.desk.is_closing = true;
                        // Those that come from now on find nobody, and it stays readable.
                        let _ = epoll::delete(&self.events, &self.place);
                        let _ = epoll::delete(&self.events, stop);
                    }
                    STOP | WAKEUP => {}
                    client => ready.push(Ready { client, flags: event.flags }),
                }
            }
            self.look_into_mailboxes(&mut ready);
            let is_heard = !ready.is_empty();
            if is_heard {
                self.hear(&mut ready);
            }
            progress = self.desk.driver.progress(Duration::ZERO);
            looked = Instant::now();
            if is_heard {
                // Not when it last looked: that was before it slept.
                heard = looked;
            }
            self.offer(progress.is_some);
            self.take_breath(looked);
            self.rewatch(progress.is_some, looked)?;
        }
        self.finish();
        Ok(self.desk.driver)
    }

    /// How long there may be nothing to do.
    fn timeout(
        &self,
        now: Instant,
        progress: &Progress,
        looked: Instant,
        heard: Instant,
        end: Option<Instant>,
    ) -> Option<Timespec> {
        let is_polling = !self.poll.is_zero() && now.saturating_duration_since(heard) < self.poll;
        let has_offers = self.clients.values().any(|client| client.to_offer > 0);
        if progress.is_pending || is_polling || has_offers {
            return Some(Timespec::default());
        }
        let due = progress.after.map(|after| after.saturating_sub(now.saturating_duration_since(looked)));
        let until = |time: Option<Instant>| time.map(|time| time.saturating_duration_since(now));
        [due, until(end), until(self.breath), until(self.rewatch)].into_iter().flatten().min().map(|wait| {
            // A little late and not a little early, lest it go round for nothing.
            let seconds = i64::try_from(wait.as_secs()).unwrap_or(i64::MAX);
            Timespec { tv_sec: seconds, tv_nsec: wait.subsec_nanos().into() }
        })
    }

    /// Has clients tell from now on when they lay something into a mailbox; false if one just did.
    fn rest(&mut self) -> bool {
        self.clients.values_mut().filter_map(|client| client.mailbox.as_mut()).all(|mailbox| mailbox.rest())
    }

    /// Looks into the mailboxes for a moment; true if there is something in one. A client that calls again and again
    /// has laid in its next message before the system would have been asked about sockets.
    fn await_mailboxes(&self) -> bool {
        let is_asked =
            |client: &Connection| client.mailbox.as_ref().is_some_and(|mailbox| mailbox.is_asked());
        let has_mailbox = self.clients.values().any(|client| client.mailbox.is_some());
        has_mailbox
            && (0..LOOKS).any(|_| {
                hint::spin_loop();
                self.clients.values().any(is_asked)
            })
    }

    /// Adds the clients that laid something into their mailboxes to those that are to be heard.
    fn look_into_mailboxes(&self, ready: &mut Vec<Ready>) {
        for (&client, connection) in &self.clients {
            if connection.mailbox.as_ref().is_some_and(|mailbox| mailbox.is_asked())
                && !ready.iter().any(|one| one.client == client)
            {
                ready.push(Ready { client, flags: epoll::EventFlags::empty() });
            }
        }
    }

    /// Has the thread woken when the device has something to say.
    fn watch_driver(&self) -> std::io::Result<()> {
        let Some(wakeup) = self.desk.driver.wakeup() else { return Ok(()) };
        let data = epoll::EventData::new_u64(WAKEUP);
        match epoll::add(&self.events, wakeup, data, epoll::EventFlags::IN) {
            Ok(()) | Err(Os::EXIST) => Ok(()),
            Err(why) => Err(why.into()),
        }
    }

    /// A driver that found its device again has another descriptor. That shows only in that it is not known yet, which
    /// costs a system call to see; so not at every event, but some time after one.
    fn rewatch(&mut self, has_news: bool, now: Instant) -> std::io::Result<()> {
        match self.rewatch {
            Some(at) if now >= at => {
                self.rewatch = None;
                self.watch_driver()
            }
            None if has_news => {
                self.rewatch = now.checked_add(REWATCH);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Hears each of them once, beginning behind the one that was heard last.
    fn hear(&mut self, ready: &mut [Ready]) {
        let last = self.last;
        ready.sort_unstable_by_key(|one| (one.client <= last, one.client));
        if let Some(first) = ready.first() {
            self.last = first.client;
        }
        for &mut Ready { client: key, flags } in ready {
            let Some(client) = self.clients.get_mut(&key) else { continue };
            let outcome = hear(&mut self.desk, client, &mut self.buffer, flags);
            let outcome = outcome.and_then(|stays| {
                self.desk.take_boxed(client, &mut self.boxed)?;
                Ok(stays)
            });
            self.settle(key, outcome);
        }
    }

    /// Offers calls that wait, all of them from now on if something happened.
    fn offer(&mut self, has_news: bool) {
        let last = self.last;
        let waiting = self.clients.iter_mut().filter(|(_, client)| !client.waiting.is_empty());
        let mut keys: Vec<u64> = waiting
            .filter_map(|(&key, client)| {
                if has_news {
                    client.to_offer = client.waiting.len();
                }
                (client.to_offer > 0).then_some(key)
            })
            .collect();
        keys.sort_unstable_by_key(|&key| (key <= last, key));
        for key in keys {
            let Some(client) = self.clients.get_mut(&key) else { continue };
            let outcome = self.desk.offer(client, OFFERED_MAX).map(|()| true);
            self.settle(key, outcome);
        }
    }

    /// Keeps a client or not, and has it watched for what matters.
    fn settle(&mut self, key: u64, outcome: Result<bool, Farewell>) {
        let Some(client) = self.clients.get_mut(&key) else { return };
        let farewell = match outcome {
            Ok(true) => {
                let flags = if client.is_stuffed() { epoll::EventFlags::OUT } else { epoll::EventFlags::IN };
                if client.is_watched_for(flags) {
                    return;
                }
                let data = epoll::EventData::new_u64(key);
                match epoll::modify(&self.events, &*client, data, flags) {
                    Ok(()) => return,
                    Err(why) => Some(Farewell::new(Errno::EIO, why.to_string())),
                }
            }
            Ok(false) => None,
            Err(farewell) => Some(farewell),
        };
        let Some(mut client) = self.clients.remove(&key) else { return };
        if let Some(farewell) = farewell {
            log::debug!("client {key} (process {}) is dropped: {}", client.who.process, farewell.text);
            client.say_goodbye(&farewell);
        } else {
            log::debug!("client {key} (process {}) is gone", client.who.process);
        }
        let _ = epoll::delete(&self.events, &client);
        self.desk.bury(client);
    }

    /// Tells every client, and closes every file.
    fn finish(&mut self) {
        let farewell = Farewell::new(Errno::ENODEV, "daemon ends");
        for (_, mut client) in std::mem::take(&mut self.clients) {
            let _ = client.flush();
            client.say_goodbye(&farewell);
            self.desk.bury(client);
        }
        if self.desk.shared.len() > 0 {
            log::warn!("{} files were held by nobody", self.desk.shared.len());
            for file in self.desk.shared.drain() {
                self.desk.driver.close(file);
            }
        }
    }
}

/// Takes one message of a client, and sends what it has not taken yet; false if it is gone.
fn hear<F: Files>(
    desk: &mut Desk<F>,
    client: &mut Connection,
    buffer: &mut [u8],
    flags: epoll::EventFlags,
) -> Result<bool, Farewell> {
    if client.is_stuffed() {
        // Hung up with answers left: nobody will take them.
        return match client.flush() {
            Ok(_) => Ok(!flags.contains(epoll::EventFlags::HUP)),
            Err(_) => Ok(false),
        };
    }
    let arrival =
        client.receive(buffer).map_err(|why| Farewell::new(Errno::EIO, format!("receiving: {why}")))?;
    match arrival {
        Some(Arrival::Message { bytes, descriptors }) => {
            desk.take(client, buffer.get(..bytes).unwrap_or_default(), descriptors)?;
            Ok(true)
        }
        Some(Arrival::Cut) => Err(Malformed::Huge.into()),
        Some(Arrival::End) => Ok(false),
        None => Ok(true),
    }
}

impl<F> AsFd for Server<F> {
    /// The socket that it listens on.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.place.as_fd()
    }
}
