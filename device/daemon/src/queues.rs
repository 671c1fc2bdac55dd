//! The thread of a connection's queues, which is the one that the engine runs on: what wakes it, and its end.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use ane_uapi::wire::QUEUES;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::{EfdFlags, EventFd};
use vhost_user_backend::VringT;

use super::backend::Backend;
use super::worker::Vring;

/// The event that ends the thread. The numbers of the queues come first.
const END: u64 = QUEUES as u64;

/// The thread, which ends with this.
pub(crate) struct Queues {
    events: Arc<Epoll>,
    end: EventFd,
    thread: Option<JoinHandle<()>>,
}

impl Queues {
    /// Has a thread of its own serve these queues of a backend.
    pub(crate) fn start(backend: &Arc<Backend>, vrings: Vec<Vring>) -> io::Result<Self> {
        let events = Arc::new(Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?);
        let end = EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?;
        events.add(&end, EpollEvent::new(EpollFlags::EPOLLIN, END))?;
        for (waker, number) in backend.wakers() {
            events.add(waker, EpollEvent::new(EpollFlags::EPOLLIN, number))?;
        }
        let thread = {
            let (events, backend) = (Arc::clone(&events), Arc::clone(backend));
            thread::Builder::new().name("queues".to_owned()).spawn(move || run(&events, &backend, &vrings))?
        };
        Ok(Self { events, end, thread: Some(thread) })
    }

    /// Has the kick of queue `number` wake the thread if the queue is at work, and not otherwise.
    pub(crate) fn watch(&self, number: u16, vring: &Vring) -> io::Result<()> {
        Ok(vring.watch_kick(&self.events, number.into())?)
    }
}

impl Drop for Queues {
    fn drop(&mut self) {
        let _ = self.end.write(1);
        if let Some(Err(_)) = self.thread.take().map(JoinHandle::join) {
            log::error!("thread of the queues ended by a panic");
        }
    }
}

fn run(events: &Epoll, backend: &Backend, vrings: &[Vring]) {
    let mut found = [EpollEvent::empty(); 8];
    loop {
        let count = match events.wait(&mut found, EpollTimeout::NONE) {
            Ok(count) => count,
            Err(Errno::EINTR) => continue,
            Err(why) => {
                log::error!("queues cannot be waited for: {why}");
                return;
            }
        };
        for event in found.iter().take(count) {
            let number = event.data();
            if number == END {
                return;
            }
            let vring = usize::try_from(number).ok().and_then(|number| vrings.get(number));
            if vring.is_some_and(|vring| !vring.read_kick().unwrap_or(false)) {
                continue;
            }
            backend.woken(number, vrings);
        }
    }
}
