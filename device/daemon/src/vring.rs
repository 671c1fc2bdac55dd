//! A virtqueue whose kick and call never make this process wait.
//!
//! A frontend passes an eventfd by which it wakes the device, the *kick*, and one by which it is woken, the *call*. It
//! keeps both open itself, and what one end does to them the other end feels: the counter is shared, and so is the flag
//! that says whether a read or a write may wait. A read of an empty eventfd waits for a writer, a write to a full one
//! for a reader; a frontend that wants to can arrange either, and the thread of the engine would wait with the engine
//! in its hands, even after the frontend is gone.
//!
//! * *Kick*: it is watched and never read. It lies in an epoll descriptor of this queue's own, which reports each write
//!   to it once; the thread of the queues watches that descriptor instead, and asking it what happened never waits. A kick that
//!   replaces another takes its place there, and the other one is watched no more.
//! * *Call*: it is written to with no lock held. It is made non-blocking when it comes; that the frontend may undo this
//!   is what `Ringing` is for.
//! * Other descriptors than eventfds are not accepted: the owner of such a descriptor decides what a poll of it does.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard};

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::unistd::write;
use vhost_user_backend::{VringMutex, VringState, VringStateGuard, VringStateMutGuard, VringT};
use virtio_queue::{Error as QueueError, QueueT};
use vm_memory::{GuestMemoryAtomic, GuestMemoryMmap};

use super::descriptors::{check_event, set_nonblocking};
use super::journal::{self, Kind};
use super::lock::lock;
use super::ringing;

/// Places of the largest queue: a guest that keeps every queue full has some 100 requests on their way, which
/// is more than the 127 tasks that a driver may have in flight need.
pub(crate) const QUEUE_SIZE_MAX: usize = 256;

/// The memory of a queue, as the transport keeps it.
type Memory = GuestMemoryAtomic<GuestMemoryMmap>;

/// A virtqueue as the transport hands it over.
#[derive(Clone)]
pub(crate) struct Vring {
    state: VringMutex<Memory>,
    kick: Arc<Mutex<Option<Kick>>>,
    call: Arc<Mutex<Option<Arc<File>>>>,
}

/// The eventfd that wakes the device, and the descriptor that notes it.
struct Kick {
    notes: Epoll,
    watched: File,
}

impl Kick {
    fn new(file: File) -> io::Result<Self> {
        let kick = Self { notes: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?, watched: file };
        kick.watch()?;
        Ok(kick)
    }

    fn watch(&self) -> nix::Result<()> {
        // On edges: each write is reported once, whether or not the counter is read.
        let edges = EpollFlags::EPOLLIN | EpollFlags::EPOLLET;
        self.notes.add(&self.watched, EpollEvent::new(edges, 0))
    }

    /// Watches another one from now on.
    fn replace(&mut self, file: File) -> io::Result<()> {
        self.notes.delete(&self.watched)?;
        self.watched = file;
        Ok(self.watch()?)
    }
}

impl Vring {
    /// Takes a kick: nothing is left of the one before, whatever comes of this one.
    fn put_kick(&self, file: Option<File>) -> io::Result<()> {
        let mut kick = lock(&self.kick);
        match (file, kick.as_mut()) {
            (Some(file), Some(known)) => {
                check_event(&file)?;
                known.replace(file)
            }
            (Some(file), None) => {
                check_event(&file)?;
                *kick = Some(Kick::new(file)?);
                Ok(())
            }
            (None, _) => {
                *kick = None;
                Ok(())
            }
        }
    }

    pub(crate) fn has_kick(&self) -> bool {
        lock(&self.kick).is_some()
    }

    /// Has the kick wake `events` with this number while the queue is at work, and not otherwise.
    pub(crate) fn watch_kick(&self, events: &Epoll, number: u64) -> nix::Result<()> {
        let is_at_work = {
            let state = self.get_ref();
            state.is_enabled() && state.get_queue().ready()
        };
        let kick = lock(&self.kick);
        let Some(Kick { notes, .. }) = kick.as_ref() else { return Ok(()) };
        let outcome = if is_at_work {
            events.add(&notes.0, EpollEvent::new(EpollFlags::EPOLLIN, number))
        } else {
            events.delete(&notes.0)
        };
        match outcome {
            // As it was.
            Err(Errno::EEXIST | Errno::ENOENT) => Ok(()),
            other => other,
        }
    }

    /// Takes a call: nothing is left of the one before, whatever comes of this one. A frontend replaces a call while the queue
    /// is at work, so there is no moment without one in between: what is signalled then would be lost.
    fn put_call(&self, file: Option<File>) -> io::Result<()> {
        let accepted = file.map(|file| {
            check_event(&file)?;
            set_nonblocking(&file)?;
            Ok(Arc::new(file))
        });
        let (call, outcome) = match accepted.transpose() {
            Ok(call) => (call, Ok(())),
            Err(why) => (None, Err(why)),
        };
        *lock(&self.call) = call;
        outcome
    }

    /// Gives up a call that cannot be written to, unless another has taken its place.
    fn give_up(&self, call: &Arc<File>) {
        let mut known = lock(&self.call);
        if known.as_ref().is_some_and(|known| Arc::ptr_eq(known, call)) {
            *known = None;
        }
    }
}

impl<'a> VringStateGuard<'a, Memory> for Vring {
    type G = MutexGuard<'a, VringState<Memory>>;
}

impl<'a> VringStateMutGuard<'a, Memory> for Vring {
    type G = MutexGuard<'a, VringState<Memory>>;
}

impl VringT<Memory> for Vring {
    fn new(memory: Memory, size_max: u16) -> Result<Self, QueueError> {
        let state = VringMutex::new(memory, size_max)?;
        Ok(Self { state, kick: Arc::default(), call: Arc::default() })
    }

    fn get_ref(&self) -> MutexGuard<'_, VringState<Memory>> {
        self.state.get_ref()
    }

    fn get_mut(&self) -> MutexGuard<'_, VringState<Memory>> {
        self.state.get_mut()
    }

    fn add_used(&self, head: u16, bytes: u32) -> Result<(), QueueError> {
        self.state.add_used(head, bytes)
    }

    fn signal_used_queue(&self) -> io::Result<()> {
        let Some(call) = lock(&self.call).clone() else {
            return Ok(());
        };
        let written = {
            let _watched = ringing::begin();
            write(call.as_fd(), &1u64.to_ne_bytes())
        };
        match written {
            // A counter that is full is one that the frontend has to read anyway.
            Ok(_) | Err(Errno::EAGAIN) => Ok(()),
            Err(why) => {
                self.give_up(&call);
                Err(why.into())
            }
        }
    }

    fn enable_notification(&self) -> Result<bool, QueueError> {
        self.state.enable_notification()
    }

    fn disable_notification(&self) -> Result<(), QueueError> {
        self.state.disable_notification()
    }

    fn needs_notification(&self) -> Result<bool, QueueError> {
        self.state.needs_notification()
    }

    fn set_enabled(&self, enabled: bool) {
        self.state.set_enabled(enabled);
    }

    fn set_queue_info(&self, table: u64, available: u64, used: u64) -> Result<(), QueueError> {
        self.state.set_queue_info(table, available, used)
    }

    fn queue_next_avail(&self) -> u16 {
        self.state.queue_next_avail()
    }

    fn set_queue_next_avail(&self, base: u16) {
        self.state.set_queue_next_avail(base);
    }

    fn set_queue_next_used(&self, index: u16) {
        self.state.set_queue_next_used(index);
    }

    fn queue_used_idx(&self) -> Result<u16, QueueError> {
        self.state.queue_used_idx()
    }

    fn set_queue_size(&self, size: u16) {
        self.state.set_queue_size(size);
    }

    fn set_queue_event_idx(&self, enabled: bool) {
        self.state.set_queue_event_idx(enabled);
    }

    fn set_queue_ready(&self, ready: bool) {
        self.state.set_queue_ready(ready);
    }

    fn set_kick(&self, file: Option<File>) {
        if let Err(why) = self.put_kick(file) {
            journal::write(
                Kind::Refusal,
                format_args!("kick is not accepted, and the queue has none: {why}"),
            );
            *lock(&self.kick) = None;
        }
    }

    fn read_kick(&self) -> io::Result<bool> {
        if let Some(kick) = lock(&self.kick).as_ref() {
            // To ask is to take the note. That there is none is no error: an error would end the thread.
            let _ = kick.notes.wait(&mut [EpollEvent::empty()], EpollTimeout::ZERO);
        }
        Ok(self.state.get_ref().is_enabled())
    }

    fn set_call(&self, file: Option<File>) {
        if let Err(why) = self.put_call(file) {
            journal::write(
                Kind::Refusal,
                format_args!("call is not accepted, and the queue has none: {why}"),
            );
        }
    }

    fn set_err(&self, _file: Option<File>) {
        // Nothing is told by it.
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;
    use std::thread;
    use std::time::{Duration, Instant};

    use nix::fcntl::{FcntlArg, OFlag, fcntl};
    use nix::sys::eventfd::{EfdFlags, EventFd};

    use super::*;

    fn vring() -> Vring {
        let vring = Vring::new(GuestMemoryAtomic::new(GuestMemoryMmap::new()), 16).unwrap();
        vring.set_enabled(true);
        vring
    }

    fn file(event: &EventFd) -> File {
        File::from(event.as_fd().try_clone_to_owned().unwrap())
    }

    /// True if a kick is noted that was not read.
    fn is_kicked(vring: &Vring) -> bool {
        let kick = lock(&vring.kick);
        let notes = &kick.as_ref().unwrap().notes;
        let outer = Epoll::new(EpollCreateFlags::empty()).unwrap();
        outer.add(&notes.0, EpollEvent::new(EpollFlags::EPOLLIN, 0)).unwrap();
        outer.wait(&mut [EpollEvent::empty()], EpollTimeout::ZERO).unwrap() == 1
    }

    #[test]
    fn each_kick_is_noted_once_and_its_counter_is_never_read() {
        let (vring, kick) = (vring(), EventFd::from_flags(EfdFlags::empty()).unwrap());
        vring.set_kick(Some(file(&kick)));
        assert!(!is_kicked(&vring));
        for count in 1..4 {
            kick.write(1).unwrap();
            assert!(is_kicked(&vring), "kick {count}");
            assert!(vring.read_kick().unwrap());
            assert!(!is_kicked(&vring), "kick {count}");
        }
        assert_eq!(kick.read().unwrap(), 3);
    }

    #[test]
    fn empty_kick_that_may_block_makes_nobody_wait() {
        let (vring, kick) = (vring(), EventFd::from_flags(EfdFlags::empty()).unwrap());
        vring.set_kick(Some(file(&kick)));
        // The transport asks when it was told to, which the frontend decides.
        assert!(vring.read_kick().unwrap());
    }

    #[test]
    fn kick_that_was_replaced_is_watched_no_more() {
        let events = [(); 2].map(|()| EventFd::from_flags(EfdFlags::EFD_NONBLOCK).unwrap());
        let vring = vring();
        for event in &events {
            vring.set_kick(Some(file(event)));
        }
        events[0].write(1).unwrap();
        assert!(!is_kicked(&vring));
        events[1].write(1).unwrap();
        assert!(is_kicked(&vring));
    }

    #[test]
    fn descriptor_that_is_no_eventfd_is_neither_kick_nor_call() {
        let pipe = || -> OwnedFd { nix::unistd::pipe().unwrap().0 };
        let vring = vring();
        vring.set_kick(Some(File::from(pipe())));
        vring.set_call(Some(File::from(pipe())));
        assert!(!vring.has_kick() && lock(&vring.call).is_none());
    }

    #[test]
    fn call_that_is_full_and_was_made_to_block_again_is_given_up_and_the_writer_goes_on() {
        ringing::set_handlers().unwrap();
        ringing::watch(std::process::id(), Duration::from_millis(20)).unwrap();
        let call = EventFd::from_flags(EfdFlags::EFD_NONBLOCK).unwrap();
        let vring = vring();
        vring.set_call(Some(file(&call)));
        call.write(u64::MAX - 1).unwrap();
        vring.signal_used_queue().unwrap();
        fcntl(&call, FcntlArg::F_SETFL(OFlag::empty())).unwrap();
        let start = Instant::now();
        let writer = vring.clone();
        assert!(thread::spawn(move || writer.signal_used_queue()).join().unwrap().is_err());
        assert!(start.elapsed() < Duration::from_secs(5));
        assert!(lock(&vring.call).is_none());
        vring.signal_used_queue().unwrap();
    }

    #[test]
    fn signals_while_a_call_is_replaced_reach_the_old_one_or_the_new_one() {
        const SIGNALS: u64 = 10_000;
        let calls = [(); 2].map(|()| EventFd::from_flags(EfdFlags::EFD_NONBLOCK).unwrap());
        let vring = vring();
        vring.set_call(Some(file(&calls[0])));
        let writer = vring.clone();
        let writer = thread::spawn(move || (0..SIGNALS).try_for_each(|_| writer.signal_used_queue()));
        while !writer.is_finished() {
            calls.iter().for_each(|call| vring.set_call(Some(file(call))));
        }
        writer.join().unwrap().unwrap();
        assert_eq!(calls.iter().map(|call| call.read().unwrap_or(0)).sum::<u64>(), SIGNALS);
    }

    #[test]
    fn writer_that_gives_up_a_call_leaves_the_one_that_replaced_it() {
        let calls = [(); 2].map(|()| EventFd::from_flags(EfdFlags::EFD_NONBLOCK).unwrap());
        let vring = vring();
        vring.set_call(Some(file(&calls[0])));
        let old = lock(&vring.call).clone().unwrap();
        vring.set_call(Some(file(&calls[1])));
        vring.give_up(&old);
        vring.signal_used_queue().unwrap();
        assert_eq!(calls[1].read(), Ok(1));
    }
}
