//! The accept of clients: connections, and the rules for which of them may stay.

use std::fmt::Display;
use std::time::{Duration, Instant};

use ane_uapi::ioctl::errno::Errno;
use ane_uapi::log_budget::{LeftOut, LogBudget};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use rustix::event::epoll;
use rustix::io::Errno as Os;
use rustix::net::{SocketFlags, accept_with};

use super::connection::{Connection, Dismissal};
use super::limits::{CLIENTS_MAX, CLIENTS_OF_PROCESS_MAX};
use super::thread_share::Party;
use super::{FIRST_CLIENT, LISTENER, Server};
use ane_driver::front::{Credentials, Files, User};
use aned_protocol::socket;

/// A pause after a failure to accept, so that one that lasts (no descriptors left) does not become a busy loop.
const PAUSE: Duration = Duration::from_millis(100);

/// Complaints in a period (Chosen).
const COMPLAINTS: u32 = 5;
const COMPLAINTS_PERIOD_NANOSECONDS: u64 = 10_000_000_000;

/// The owner of a socket for which the system names none.
const NOBODY: User = User { id: u32::MAX, is_privileged: false };

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Admit {
    /// Root, and the user that the daemon runs as.
    #[default]
    Owner,
    /// Every user that may write to the socket; its permissions decide.
    Anyone,
}

impl Admit {
    /// Why a process of `user` is not let in by a daemon that runs as `own`, if it is not.
    pub(super) fn refusal(self, user: u32, own: u32) -> Option<String> {
        let is_welcome = self == Self::Anyone || is_privileged(user, own);
        (!is_welcome).then(|| format!("user {user} may not use this device"))
    }
}

/// True if a process of `user` may do as it likes with a daemon that runs as `own`: it could as well end it.
const fn is_privileged(user: u32, own: u32) -> bool {
    user == 0 || user == own
}

/// Connections that there are already: in all, of a process, and of its user.
#[derive(Clone, Copy, Debug)]
struct Connections {
    all: usize,
    of_process: usize,
    of_user: usize,
}

/// Lines about clients that cannot be let in, of which others may cause any number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Complaints {
    start: Instant,
    budget: LogBudget,
}

impl Complaints {
    pub(super) fn new() -> Self {
        Self { start: Instant::now(), budget: LogBudget::new(COMPLAINTS, COMPLAINTS_PERIOD_NANOSECONDS) }
    }

    fn admits(&mut self) -> Option<LeftOut> {
        self.budget.admits(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn write(&mut self, what: &dyn Display) {
        if let Some(left_out) = self.admits() {
            log::warn!("{what}{left_out}");
        }
    }
}

impl Connections {
    /// Counts those of everyone, and those that have something in common with `who`.
    ///
    /// Processes that live where the daemon cannot see them have no number here, so what has none is not one process.
    fn count<'a>(who: &Credentials, others: impl Iterator<Item = &'a Credentials>) -> Self {
        let mut counted = Self { all: 0, of_process: 0, of_user: 0 };
        for other in others {
            let is_users = other.user.id == who.user.id;
            let is_processes = is_users && other.process == who.process && who.process != 0;
            counted.all = counted.all.saturating_add(1);
            counted.of_user = counted.of_user.saturating_add(is_users.into());
            counted.of_process = counted.of_process.saturating_add(is_processes.into());
        }
        counted
    }

    /// Why there is no room for one more, if there is none.
    fn refusal(self, user: User) -> Option<String> {
        let Self { all, of_process, of_user } = self;
        if all >= CLIENTS_MAX {
            Some(format!("there are {CLIENTS_MAX} clients already"))
        } else if of_process >= CLIENTS_OF_PROCESS_MAX {
            Some(format!("this process has {of_process} connections already"))
        } else if !user.may_take(of_user, CLIENTS_MAX.saturating_sub(all)) {
            Some(format!("this user has {of_user} connections already"))
        } else {
            None
        }
    }
}

impl<F: Files> Server<F> {
    /// Accepts a client, or sends it the reason why not; at once, or when [`Party::Accept`] is held no more.
    pub(super) fn accept(&mut self) {
        if self.thread_shares.is_held(Party::Accept) {
            self.hold_accept();
            return;
        }
        let begun = Instant::now();
        let user = self.accept_one();
        self.is_shared = self.has_several_users();
        if self.is_shared {
            self.charge(Party::Accept, Some(begun));
            if let Some(user) = user {
                self.charge(Party::of(user), Some(begun));
            }
        }
    }

    /// Lets one client in, or tells it why not; gives its user.
    fn accept_one(&mut self) -> Option<User> {
        if self.offload.is_overrun() {
            self.pause("too many sockets wait to be closed behind descriptors that clients passed");
            return None;
        }
        let accepted = match accept_with(&self.place, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            Ok(accepted) => accepted,
            // It has gone already, or another process took it.
            Err(Os::AGAIN | Os::INTR | Os::CONNABORTED) => return None,
            Err(why) => {
                self.pause(&why.to_string());
                return None;
            }
        };
        socket::enlarge(&accepted);
        let (process, user) = match getsockopt(&accepted, PeerCredentials) {
            Ok(peer) => (u32::try_from(peer.pid()).unwrap_or_default(), peer.uid()),
            Err(why) => {
                self.complaints.write(&format_args!("client cannot be told from others: {why}"));
                self.offload.close(NOBODY, accepted);
                return None;
            }
        };
        let own = self.owner;
        let who = Credentials { process, user: User { id: user, is_privileged: is_privileged(user, own) } };
        let mut client = Connection::new(accepted, who);
        let connections = Connections::count(&who, self.clients.values().map(|other| &other.who));
        let refusal = match self.admit.refusal(user, own) {
            Some(why) => Some(Dismissal::new(Errno::EACCES, why)),
            None => connections.refusal(who.user).map(|why| Dismissal::new(Errno::EAGAIN, why)),
        };
        if let Some(refusal) = refusal {
            log::debug!("process {process} was refused: {}", refusal.text);
            client.send_dismissal(&refusal);
            self.offload.close(who.user, client.into_socket());
            return Some(who.user);
        }
        let key = self.next_client;
        self.next_client = self.next_client.wrapping_add(1).max(FIRST_CLIENT);
        let data = epoll::EventData::new_u64(key);
        if let Err(why) = epoll::add(&self.events, &client, data, epoll::EventFlags::IN) {
            self.complaints.write(&format_args!("client cannot be watched: {why}"));
            self.offload.close(who.user, client.into_socket());
            return Some(who.user);
        }
        log::debug!("client {key} is process {process} of user {user}");
        self.clients.insert(key, client);
        Some(who.user)
    }

    /// Listens no more for a while.
    fn pause(&mut self, why: &str) {
        self.complaints.write(&format_args!("client cannot be let in: {why}"));
        let _ = epoll::delete(&self.events, &self.place);
        self.paused_until = Instant::now().checked_add(PAUSE);
    }

    /// Listens again, some time after accepting failed.
    pub(super) fn accept_again(&mut self, now: Instant) {
        if self.paused_until.is_some_and(|until| now >= until) && !self.calls.is_closing {
            self.paused_until = None;
            self.listen();
        }
    }

    /// Watches the socket at which clients connect.
    pub(super) fn listen(&self) {
        let data = epoll::EventData::new_u64(LISTENER);
        if let Err(why) = epoll::add(&self.events, &self.place, data, epoll::EventFlags::IN) {
            log::error!("clients cannot be let in any more: {why}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn door_that_stays_shut_writes_a_few_lines() {
        let mut complaints = Complaints::new();
        let admitted = (0..1000).filter(|_| complaints.admits().is_some()).count();
        assert_eq!(admitted, COMPLAINTS as usize);
    }

    #[test]
    fn connections_of_a_process_are_counted_only_if_user_and_number_are_known_to_be_the_same() {
        let of = |id, process| Credentials { process, user: User { id, is_privileged: false } };
        let others = [of(1001, 7), of(1001, 8), of(1002, 7), of(1001, 0), of(1001, 0)];
        let counted = |who: Credentials| {
            let Connections { all, of_process, of_user } = Connections::count(&who, others.iter());
            (all, of_process, of_user)
        };
        assert_eq!(counted(of(1001, 7)), (5, 1, 4));
        assert_eq!(counted(of(1002, 8)), (5, 0, 1));
        assert_eq!(counted(of(1001, 0)), (5, 0, 4));
    }

    #[test]
    fn user_without_privilege_gets_half_of_the_places_and_no_more() {
        let (stranger, owner) =
            (User { id: 1001, is_privileged: false }, User { id: 0, is_privileged: true });
        let connections = |of_user, others| Connections { all: of_user + others, of_process: 1, of_user };
        assert_eq!(connections(127, 0).refusal(stranger), None);
        let text = "this user has 128 connections already";
        assert_eq!(connections(128, 0).refusal(stranger), Some(text.to_owned()));
        assert_eq!(connections(63, 128).refusal(stranger), None);
        assert!(connections(64, 128).refusal(stranger).is_some(), "of the rest, half again");
        assert_eq!(connections(255, 0).refusal(owner), None);
        assert!(connections(256, 0).refusal(owner).is_some());
    }
}
