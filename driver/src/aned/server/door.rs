//! The door: who is let in.

use std::time::{Duration, Instant};

use ane_uapi::ioctl::errno::Errno;
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use rustix::event::epoll;
use rustix::io::Errno as Os;
use rustix::net::{SocketFlags, accept_with};

use super::connection::{Connection, Farewell};
use super::limits::{CLIENTS_MAX, CLIENTS_OF_PROCESS_MAX, CLIENTS_OF_USER_MAX};
use super::{FIRST_CLIENT, LISTENER, Server};
use crate::aned::socket;
use crate::front::{Credentials, Files};

/// A pause after a failure to accept, so that one that lasts (no descriptors left) does not become a busy loop.
const BREATH: Duration = Duration::from_millis(100);

/// Who is let in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Admit {
    /// Root, and the user that the daemon runs as.
    #[default]
    Owner,
    /// Whoever may write to the socket: its permissions say who.
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
struct Crowd {
    all: usize,
    of_process: usize,
    of_user: usize,
}

impl Crowd {
    /// Why there is no room for one more, if there is none.
    fn refusal(self, is_privileged: bool) -> Option<String> {
        let Self { all, of_process, of_user } = self;
        if all >= CLIENTS_MAX {
            Some(format!("there are {CLIENTS_MAX} clients already"))
        } else if of_process >= CLIENTS_OF_PROCESS_MAX {
            Some(format!("this process has {of_process} connections already"))
        } else if of_user >= CLIENTS_OF_USER_MAX && !is_privileged {
            Some(format!("this user has {of_user} connections already"))
        } else {
            None
        }
    }
}

impl<F: Files> Server<F> {
    /// Lets a client in, or tells it why not.
    pub(super) fn welcome(&mut self) {
        if self.porter.is_overrun() {
            self.pause("too many threads are held up by descriptors that clients passed");
            return;
        }
        let accepted = match accept_with(&self.place, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            Ok(accepted) => accepted,
            // It has gone already, or another process took it.
            Err(Os::AGAIN | Os::INTR | Os::CONNABORTED) => return,
            Err(why) => {
                self.pause(&why.to_string());
                return;
            }
        };
        socket::enlarge(&accepted);
        let (process, user) = match getsockopt(&accepted, PeerCredentials) {
            Ok(peer) => (u32::try_from(peer.pid()).unwrap_or_default(), peer.uid()),
            Err(why) => {
                log::warn!("client cannot be told from others: {why}");
                self.porter.close(accepted);
                return;
            }
        };
        let own = rustix::process::geteuid().as_raw();
        let is_privileged = is_privileged(user, own);
        let mut client = Connection::new(accepted, Credentials { process, is_privileged }, user);
        let count = |which: fn(&Connection, (u32, u32)) -> bool| {
            self.clients.values().filter(|other| which(other, (process, user))).count()
        };
        let crowd = Crowd {
            all: self.clients.len(),
            of_process: count(|other, (process, _)| other.who.process == process),
            of_user: count(|other, (_, user)| other.user == user),
        };
        let refusal = match self.admit.refusal(user, own) {
            Some(why) => Some(Farewell::new(Errno::EACCES, why)),
            None => crowd.refusal(is_privileged).map(|why| Farewell::new(Errno::EAGAIN, why)),
        };
        if let Some(refusal) = refusal {
            log::debug!("process {process} was refused: {}", refusal.text);
            client.say_goodbye(&refusal);
            self.porter.close(client.into_socket());
            return;
        }
        let key = self.next_client;
        self.next_client = self.next_client.wrapping_add(1).max(FIRST_CLIENT);
        let data = epoll::EventData::new_u64(key);
        if let Err(why) = epoll::add(&self.events, &client, data, epoll::EventFlags::IN) {
            log::warn!("client cannot be watched: {why}");
            self.porter.close(client.into_socket());
            return;
        }
        log::debug!("client {key} is process {process} of user {user}");
        self.clients.insert(key, client);
    }

    /// Listens no more for a while.
    fn pause(&mut self, why: &str) {
        log::warn!("client cannot be let in: {why}");
        let _ = epoll::delete(&self.events, &self.place);
        self.breath = Instant::now().checked_add(BREATH);
    }

    /// Listens again, some time after accepting failed.
    pub(super) fn take_breath(&mut self, now: Instant) {
        if self.breath.is_some_and(|breath| now >= breath) && !self.desk.is_closing {
            self.breath = None;
            let data = epoll::EventData::new_u64(LISTENER);
            if let Err(why) = epoll::add(&self.events, &self.place, data, epoll::EventFlags::IN) {
                log::error!("clients cannot be let in any more: {why}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_without_privilege_gets_half_of_the_places_and_no_more() {
        let crowd = |of_user| Crowd { all: of_user, of_process: 1, of_user };
        assert_eq!(crowd(127).refusal(false), None);
        assert_eq!(crowd(128).refusal(false), Some("this user has 128 connections already".to_owned()));
        assert_eq!(crowd(255).refusal(true), None);
        assert!(crowd(256).refusal(true).is_some());
    }
}
