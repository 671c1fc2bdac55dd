//! The door: who is let in.

use std::time::{Duration, Instant};

use ane_uapi::ioctl::errno::Errno;
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use rustix::event::epoll;
use rustix::io::Errno as Os;
use rustix::net::{SocketFlags, accept_with};

use super::connection::{Connection, Farewell};
use super::limits::{CLIENTS_MAX, CLIENTS_OF_PROCESS_MAX};
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

impl<F: Files> Server<F> {
    /// Lets a client in, or tells it why not.
    pub(super) fn welcome(&mut self) {
        let accepted = match accept_with(&self.place, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            Ok(accepted) => accepted,
            // It has gone already, or another process took it.
            Err(Os::AGAIN | Os::INTR | Os::CONNABORTED) => return,
            Err(why) => {
                log::warn!("client cannot be let in: {why}");
                let _ = epoll::delete(&self.events, &self.place);
                self.breath = Instant::now().checked_add(BREATH);
                return;
            }
        };
        socket::enlarge(&accepted);
        let (process, user) = match getsockopt(&accepted, PeerCredentials) {
            Ok(peer) => (u32::try_from(peer.pid()).unwrap_or_default(), peer.uid()),
            Err(why) => {
                log::warn!("client cannot be told from others: {why}");
                return;
            }
        };
        let own = rustix::process::geteuid().as_raw();
        let is_privileged = is_privileged(user, own);
        let mut client = Connection::new(accepted, Credentials { process, is_privileged });
        let of_process = self.clients.values().filter(|other| other.who.process == process).count();
        let refusal = if let Some(why) = self.admit.refusal(user, own) {
            Some(Farewell::new(Errno::EACCES, why))
        } else if self.clients.len() >= CLIENTS_MAX {
            Some(Farewell::new(Errno::EAGAIN, format!("there are {CLIENTS_MAX} clients already")))
        } else if of_process >= CLIENTS_OF_PROCESS_MAX {
            Some(Farewell::new(
                Errno::EAGAIN,
                format!("process {process} has {of_process} connections already"),
            ))
        } else {
            None
        };
        if let Some(refusal) = refusal {
            log::debug!("process {process} was refused: {}", refusal.text);
            client.say_goodbye(&refusal);
            return;
        }
        let key = self.next_client;
        self.next_client = self.next_client.wrapping_add(1).max(FIRST_CLIENT);
        let data = epoll::EventData::new_u64(key);
        if let Err(why) = epoll::add(&self.events, &client, data, epoll::EventFlags::IN) {
            log::warn!("client cannot be watched: {why}");
            return;
        }
        log::debug!("client {key} is process {process} of user {user}");
        self.clients.insert(key, client);
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
