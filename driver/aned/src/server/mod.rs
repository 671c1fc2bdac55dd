//! One thread that serves every client.
//!
//! It goes round. In each round every client that said something is heard once, the driver looks once at what its
//! device did, which in one process with the device is at most one task, and the calls for which that may be the end
//! are offered again. The round starts with another client each time. So a client that calls as fast as it can has its
//! turn as often as any other, and no call waits behind another client's second. Calls by mailboxes alone go round
//! faster for a moment: each mailbox once, and the device when there is something for it.
//!
//! * `round`: what is done in one;
//! * `watch`: when there is one;
//! * `accept`: the clients that may connect;
//! * `thread_share`: what each user had of the thread's time; `held`: those who had more than others wait;
//! * `offload`: threads for what may block: receiving descriptors, closing sockets;
//! * `connection`: a client;
//! * `mailbox`: the memory by which it may call instead;
//! * `calls`: what becomes of a message;
//! * `waiting`: those that do not end at once;
//! * `files`: open files, and who holds them;
//! * `shares`: what one user may have;
//! * `limits`: what one client may have.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::arithmetic_side_effects))]
#![cfg_attr(not(test), deny(clippy::cast_possible_truncation))]

mod accept;
mod calls;
mod connection;
mod files;
mod held;
mod limits;
mod mailbox;
mod maps;
mod offload;
mod round;
mod shares;
#[cfg(test)]
mod tests;
mod thread_share;
mod waiting;
mod watch;

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{Timespec, epoll};
use rustix::io::Errno as Os;

pub use self::accept::Admit;
use self::accept::Complaints;
use self::calls::Calls;
pub use self::calls::Report;
use self::connection::Connection;
use self::files::Shared;
use self::offload::Offload;
use self::round::Ready;
use self::shares::Shares;
use self::thread_share::ThreadShares;
use self::watch::Times;
use super::place::Place;
use ane_driver::front::{Files, Progress};
use aned_protocol::MESSAGE_MAX;

/// How long waiting calls may take to end once the daemon ends: the device's limit for a stuck queue, and some.
const END_TIMEOUT: Duration = Duration::from_millis(2500);

/// No time to wait.
const NOT_AT_ALL: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// Events that one look at the descriptors brings; the rest come with the next.
const EVENTS: usize = 64;

/// Memory of files that waits to be closed, which keeps a descriptor for each.
const RETIRED_MAX: usize = 16;

pub struct Settings<F> {
    /// The users that may connect.
    pub admit: Admit,
    /// How long to look for messages before sleeping, once there was one.
    pub poll: Duration,
    /// How long a client may leave answers where they are, once there is no more room for them.
    pub patience: Duration,
    /// The reports about the device, for its administrator.
    pub report: Option<Report<F>>,
}

impl<F> Default for Settings<F> {
    fn default() -> Self {
        Self { admit: Admit::default(), poll: Duration::ZERO, patience: limits::DEAF_MAX, report: None }
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
const OFFLOAD: u64 = 3;
const FIRST_CLIENT: u64 = 4;

pub struct Server<F> {
    calls: Calls<F>,
    place: Place,
    offload: Offload,
    admit: Admit,
    /// The user that the daemon runs as.
    owner: u32,
    poll: Duration,
    patience: Duration,
    events: OwnedFd,
    clients: BTreeMap<u64, Connection>,
    next_client: u64,
    /// The client that was heard last.
    last: u64,
    buffer: Vec<u8>,
    /// A message that came by a mailbox.
    from_mailbox: Vec<u8>,
    /// The clients whose mailboxes hold a call.
    asked: Vec<u64>,
    thread_shares: ThreadShares,
    /// There are connections of several users, so that it matters what each has of the thread.
    is_shared: bool,
    /// No client is let in before the waiting ones were served.
    is_accept_held: bool,
    /// When to check again whether held clients are to be heard.
    held_until: Option<Instant>,
    complaints: Complaints,
    /// When to listen for clients again, after a failure.
    paused_until: Option<Instant>,
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
    pub fn new(driver: F, place: Place, settings: Settings<F>) -> std::io::Result<Self> {
        let events = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&events, &place, epoll::EventData::new_u64(LISTENER), epoll::EventFlags::IN)?;
        let offload = Offload::new()?;
        epoll::add(&events, &offload, epoll::EventData::new_u64(OFFLOAD), epoll::EventFlags::IN)?;
        Ok(Self {
            calls: Calls {
                driver,
                shared: Shared::default(),
                shares: Shares::new(),
                report: settings.report,
                is_closing: false,
            },
            place,
            offload,
            admit: settings.admit,
            owner: rustix::process::geteuid().as_raw(),
            poll: settings.poll,
            patience: settings.patience,
            events,
            clients: BTreeMap::new(),
            next_client: FIRST_CLIENT,
            last: 0,
            buffer: vec![0; MESSAGE_MAX],
            from_mailbox: Vec::new(),
            asked: Vec::new(),
            thread_shares: ThreadShares::default(),
            is_shared: false,
            is_accept_held: false,
            held_until: None,
            complaints: Complaints::new(),
            paused_until: None,
            rewatch: None,
        })
    }

    pub const fn driver(&mut self) -> &mut F {
        &mut self.calls.driver
    }

    /// Serves until `stop` is readable. Then no more client is let in, and calls that wait have a little while to end.
    /// At the end every client is told, and every file closed.
    pub fn run(mut self, stop: BorrowedFd<'_>) -> std::io::Result<F> {
        self.watch(stop, STOP)?;
        self.watch_driver()?;
        let mut progress = Progress { is_some: false, is_pending: true, after: None };
        self.retire_elsewhere()?;
        let start = Instant::now();
        let mut times = Times { looked: start, heard: start, end: None };
        let mut events = Vec::with_capacity(EVENTS);
        let mut ready: Vec<Ready> = Vec::new();
        loop {
            let now = Instant::now();
            let is_idle = self.clients.values().all(|client| client.waiting.is_empty());
            if times.end.is_some_and(|end| now >= end || (is_idle && !progress.is_pending)) {
                break;
            }
            self.settle_thread(now);
            let mut timeout = self.timeout(now, &progress, times);
            if timeout != Some(NOT_AT_ALL) && !self.rest() {
                timeout = Some(NOT_AT_ALL);
            }
            // While the thread goes round anyway, and nothing else is known to be there for it.
            let may_serve = timeout == Some(NOT_AT_ALL) && !progress.is_pending && !self.has_offers();
            let mut is_heard = may_serve && self.serve_mailboxes();
            let listening = self.begin();
            events.clear();
            match epoll::wait(&self.events, rustix::buffer::spare_capacity(&mut events), timeout.as_ref()) {
                Ok(_) | Err(Os::INTR) => {}
                Err(why) => return Err(why.into()),
            }
            self.listened(listening);
            ready.clear();
            for event in &events {
                match event.data.u64() {
                    LISTENER => self.accept(),
                    STOP if times.end.is_none() => {
                        times.end = Some(now.checked_add(END_TIMEOUT).unwrap_or(now));
                        self.begin_end(stop);
                    }
                    OFFLOAD => self.take_deliveries(),
                    STOP | WAKEUP => {}
                    client => ready.push(Ready { client, flags: event.flags }),
                }
            }
            is_heard |= !ready.is_empty();
            self.hear(&mut ready);
            is_heard |= self.look_into_mailboxes();
            progress = self.calls.driver.progress(Duration::ZERO);
            times.looked = Instant::now();
            if is_heard {
                // Not when it last looked: that was before it slept.
                times.heard = times.looked;
            }
            self.offer(progress.is_some);
            self.drop_deaf(times.looked);
            self.accept_again(times.looked);
            self.rewatch(progress.is_some, times.looked)?;
        }
        self.finish();
        Ok(self.calls.driver)
    }

    /// Has memory of clients closed on a thread that does nothing else, which ends with the driver. A client that fills and leaves
    /// memory faster than that closes it has the rest closed on this one, where its time counts.
    fn retire_elsewhere(&mut self) -> std::io::Result<()> {
        let (sink, retired) = sync_channel(RETIRED_MAX);
        self.calls.driver.retire_to(sink);
        thread::Builder::new()
            .name("retire".to_owned())
            .spawn(|| retired.into_iter().for_each(drop))
            .map(drop)
    }

    /// Nothing new begins from now on.
    fn begin_end(&mut self, stop: BorrowedFd<'_>) {
        log::info!("ending: {} clients", self.clients.len());
        self.calls.is_closing = true;
        // Clients that connect from now on find no daemon, and the descriptor stays readable.
        let _ = epoll::delete(&self.events, &self.place);
        let _ = epoll::delete(&self.events, stop);
    }
}

impl<F> AsFd for Server<F> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.place.as_fd()
    }
}
