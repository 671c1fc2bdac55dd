//! When the server's thread looks at its clients and at the driver, and how long it may sleep before.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use rustix::event::{Timespec, epoll};
use rustix::io::Errno as Os;

use super::mailbox::Mailbox;
use super::thread_share::Party;
use super::{NOT_AT_ALL, Server, WAKEUP};
use ane_driver::front::{Files, Progress};

/// How long after an event to see whether the driver has another descriptor.
const REWATCH: Duration = Duration::from_millis(10);

/// The times at which a round has something to do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    /// When the driver was asked last.
    pub(super) looked: Instant,
    /// When a client was heard last.
    pub(super) heard: Instant,
    /// When the daemon ends, if it is to.
    pub(super) end: Option<Instant>,
}

impl<F: Files> Server<F> {
    pub(super) fn watch(&self, source: BorrowedFd<'_>, data: u64) -> Result<(), Os> {
        epoll::add(&self.events, source, epoll::EventData::new_u64(data), epoll::EventFlags::IN)
    }

    /// How long there may be nothing to do.
    pub(super) fn timeout(&self, now: Instant, progress: &Progress, times: Times) -> Option<Timespec> {
        let Times { looked, heard, end } = times;
        let is_polling = !self.poll.is_zero() && now.saturating_duration_since(heard) < self.poll;
        // Offers and clients that went behind the last look leave something for the device, too.
        if progress.is_pending || is_polling || self.has_offers() || self.calls.driver.has_queued() {
            return Some(NOT_AT_ALL);
        }
        let due = progress.after.map(|after| after.saturating_sub(now.saturating_duration_since(looked)));
        let until = |time: Option<Instant>| time.map(|time| time.saturating_duration_since(now));
        let deaf = self.clients.values().filter_map(|client| client.deaf_since).min();
        let deaf = deaf.and_then(|since| since.checked_add(self.patience));
        [due, until(end), until(self.paused_until), until(self.held_until), until(self.rewatch), until(deaf)]
            .into_iter()
            .flatten()
            .min()
            .map(|wait| {
                // A little late and not a little early, lest it go round for nothing.
                let seconds = i64::try_from(wait.as_secs()).unwrap_or(i64::MAX);
                Timespec { tv_sec: seconds, tv_nsec: wait.subsec_nanos().into() }
            })
    }

    /// True if calls that wait are to be offered still.
    pub(super) fn has_offers(&self) -> bool {
        self.clients.values().any(|client| client.to_offer > 0 && !self.has_to_wait(client))
    }

    /// Has clients tell from now on when they lay something into a mailbox; false if one just did.
    pub(super) fn rest(&mut self) -> bool {
        let shares = &self.thread_shares;
        let heard = self.clients.values_mut().filter(|client| !shares.is_held(Party::of(client.who.user)));
        heard.filter_map(|client| client.mailbox.as_mut()).all(Mailbox::rest)
    }

    /// Has the thread woken when the device has something to say.
    pub(super) fn watch_driver(&self) -> std::io::Result<()> {
        let Some(wakeup) = self.calls.driver.wakeup() else { return Ok(()) };
        match self.watch(wakeup, WAKEUP) {
            Ok(()) | Err(Os::EXIST) => Ok(()),
            Err(why) => Err(why.into()),
        }
    }

    /// A driver that found its device again has another descriptor. That shows only in that it is not known yet, which
    /// costs a system call to see; so not at every event, but some time after one.
    pub(super) fn rewatch(&mut self, has_news: bool, now: Instant) -> std::io::Result<()> {
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
}
