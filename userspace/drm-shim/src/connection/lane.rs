//! Lanes: as many connections as calls go on at a time.
//!
//! A call takes a lane that is free and gives it back when it has ended, so it never waits for another thread's call,
//! nor for one that it interrupted as a signal handler. A lane is connected when it is first needed and stays so; it
//! learns of a file when it first carries a call on it, by the descriptor that the program calls with.
//!
//! A child of `fork` has its parent's connections until it makes its own, and by them the files that it inherited stay open. So
//! the parent closes no such file on a connection that the child may have: it leaves that connection to the child and makes
//! itself another, with the files that it has open itself.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use aned_protocol::{Kind, MESSAGE_MAX};
use libc::c_int;

use super::forks;
use super::link::Link;
use crate::config::{self, Config};
use crate::files::{self, FILES, File};
use crate::sys::memory::Mapping;
use crate::sys::{Failure, Result, file, process};

/// Calls of a process that go on at a time. A program with more threads than that in calls has the rest wait.
const LANES: usize = 64;

/// How long a call waits for a connection where the daemon has no room for another (Chosen: more than most calls take).
const ROOM_WAIT: Duration = Duration::from_secs(5);

/// Counts up whenever a file of this process is found closed.
static CLOSINGS: AtomicU64 = AtomicU64::new(0);

static TABLE: [Lane; LANES] = [const { Lane::new() }; LANES];

struct Lane {
    /// The thread that has it, as `pthread_self` names it, which a `fork` does not change; zero while it is free.
    owner: AtomicUsize,
    state: UnsafeCell<State>,
}

// SAFETY: only the thread that made itself the owner touches the state, until it gives the lane back.
unsafe impl Sync for Lane {}

struct State {
    link: Option<Link>,
    /// Room for the message and for its answer.
    room: Option<Mapping>,
    /// The files that the connection knows: by place, their serial number and their number there.
    known: [(u64, u32); FILES],
    /// The last closing that it has heard of.
    heard: u64,
    /// The count of forks when it was connected: a child of a later one may have the connection.
    forks: u64,
}

impl Lane {
    const fn new() -> Self {
        Self { owner: AtomicUsize::new(0), state: UnsafeCell::new(State::new()) }
    }

    fn become_owner(&self) -> bool {
        let me = process::this_thread();
        self.owner.compare_exchange(0, me, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }

    fn try_take(&'static self) -> Option<Taken> {
        // The guard is needed: it gives the lane back when it is dropped.
        self.become_owner().then(|| Taken(self))
    }

    /// Frees the lane of a thread that was not forked along. That thread may have been changing the state just then, so nothing
    /// of it is looked at: its socket and its memory stay as long as this process.
    fn abandon(&self) {
        // SAFETY: its owner is not in this process, and the caller is the only thread that takes lanes.
        unsafe { self.state.get().write(State::new()) };
        self.owner.store(0, Ordering::SeqCst);
    }
}

impl State {
    const fn new() -> Self {
        Self { link: None, room: None, known: [(0, 0); FILES], heard: 0, forks: 0 }
    }
}

/// A lane that the caller has to himself.
pub(crate) struct Taken(&'static Lane);

/// A lane that is connected: its connection, room for a message, and room for the answer.
pub(crate) struct Ready<'a> {
    pub(crate) link: &'a mut Link,
    pub(crate) message: &'a mut [u8],
    pub(crate) answer: &'a mut [u8],
}

/// Takes a lane that is connected, or connects one; waits while all are taken. Where the daemon has no room for one more
/// connection, waits for one of those that this process has.
///
/// # Errors
///
/// The daemon's reason, if it lets no connection in. `EAGAIN` also if other calls have all connections for long: one of them may be that
/// which a signal handler interrupted, and does not end before the handler does.
pub(crate) fn take(config: &Config) -> Result<Taken> {
    if let Ok(connected) = connected() {
        return Ok(connected);
    }
    let mut lane = take_any();
    let Some(why) = lane.ready(config).err() else { return Ok(lane) };
    drop(lane);
    let start = Instant::now();
    while why == Failure(libc::EAGAIN) && start.elapsed() < ROOM_WAIT {
        match connected() {
            Ok(connected) => return Ok(connected),
            Err(0) => break,
            Err(_) => process::pause(100),
        }
    }
    Err(why)
}

/// Takes a free lane that is connected. Without one, says how many are taken.
fn connected() -> Result<Taken, usize> {
    let mut taken = 0;
    for lane in &TABLE {
        let Some(mut free) = lane.try_take() else {
            taken += 1;
            continue;
        };
        if free.state().link.is_some() {
            return Ok(free);
        }
    }
    Err(taken)
}

/// Takes a lane; waits while all are taken.
pub(super) fn take_any() -> Taken {
    loop {
        if let Some(taken) = TABLE.iter().find_map(Lane::try_take) {
            return taken;
        }
        process::pause(100);
    }
}

/// Tells every lane that files were closed: those that are free let go of them at once, the others when their call ends.
pub(crate) fn forget_closed() {
    CLOSINGS.fetch_add(1, Ordering::SeqCst);
    for lane in &TABLE {
        drop(lane.try_take());
    }
}

impl Taken {
    const fn state(&mut self) -> &mut State {
        // SAFETY: only the holder of `Taken` touches the state, and only borrows it through here.
        unsafe { &mut *self.0.state.get() }
    }

    /// Connects if need be.
    pub(crate) fn ready(&mut self, config: &Config) -> Result<Ready<'_>> {
        let state = self.state();
        if state.room.is_none() {
            state.room = Some(Mapping::anonymous(2 * MESSAGE_MAX)?);
        }
        let room = state.room.as_mut().ok_or(Failure(libc::ENOMEM))?;
        let (message, answer) =
            room.as_mut_slice().split_at_mut_checked(MESSAGE_MAX).ok_or(Failure(libc::ENOMEM))?;
        if state.link.is_none() {
            state.known = [(0, 0); FILES];
            state.forks = forks::count();
            state.link = Some(Link::new(config, answer)?);
        }
        let link = state.link.as_mut().ok_or(Failure::BROKEN)?;
        Ok(Ready { link, message, answer })
    }

    /// Ends the connection if `result` says that it is broken.
    pub(crate) fn settle<T>(&mut self, result: Result<T>) -> Result<T> {
        if matches!(result, Err(Failure::BROKEN)) {
            self.state().link = None;
        }
        result
    }

    /// The connection's number of a file, which it learns of by `fd` if it does not know it.
    pub(crate) fn number(&mut self, config: &Config, file: File, fd: c_int) -> Result<u32> {
        // A connection that has not been made knows no file.
        let known = self.state().known.get(file.slot).copied();
        if let Some((_, number)) = known.filter(|(serial, _)| *serial == file.serial) {
            return Ok(number);
        }
        let ready = self.ready(config)?;
        let (answer, _) = ready.link.simple(Kind::AttachArena, 0, Some(fd), ready.answer)?;
        self.learn(file, answer?)
    }

    /// Remembers the connection's number of a file, and gives it.
    ///
    /// The place may still have the number of a file that another thread found closed while this lane was taken: that
    /// one is closed here, since nobody would know its number any more.
    pub(crate) fn learn(&mut self, file: File, number: u32) -> Result<u32> {
        let Some(known) = self.state().known.get_mut(file.slot) else { return Ok(number) };
        let (serial, old) = std::mem::replace(known, (file.serial, number));
        if serial != 0 && serial != file.serial {
            self.let_go(serial, old)?;
        }
        // It has another one if the connection has become another.
        Ok(self.state().known.get(file.slot).map_or(number, |(_, number)| *number))
    }

    /// Closes a file by the connection's number of it, which is not among the known ones any more.
    fn let_go(&mut self, serial: u64, number: u32) -> Result<()> {
        // Where the daemon has no connection left, the child loses the file if it has not made its own yet.
        if forks::may_have(serial, self.state().forks) && self.renew().is_ok() {
            return Ok(());
        }
        let state = self.state();
        let (Some(link), Some(room)) = (&mut state.link, &mut state.room) else { return Ok(()) };
        link.simple(Kind::Close, number, None, room.as_mut_slice()).map(drop)
    }

    /// Leaves the connection to children that have it as well, and makes another with the files that are open here. Files that were
    /// opened after the fork are closed on the one that is left: no child has them, and nobody would close them there.
    ///
    /// A file of which only a mapping is left has no descriptor to attach by: the daemon gives one.
    fn renew(&mut self) -> Result<()> {
        let config = config::get().ok_or(Failure::BROKEN)?;
        let state = self.state();
        let (Some(old), Some(room)) = (&mut state.link, &mut state.room) else { return Ok(()) };
        let room = room.as_mut_slice();
        let forks = forks::count();
        let mut new = Link::new(config, room)?;
        let mut known = [(0, 0); FILES];
        for (slot, (place, &(serial, number))) in known.iter_mut().zip(&state.known).enumerate() {
            if serial == 0 || !files::is_open(File { slot, serial }) {
                continue;
            }
            let (result, arena) = old.simple(Kind::Arena, number, None, room)?;
            // An arena that did not come had no room in this process.
            let arena = arena.ok_or_else(|| result.err().unwrap_or(Failure(libc::EMFILE)))?;
            let attached = new.simple(Kind::AttachArena, 0, Some(arena), room);
            file::close(arena);
            *place = (serial, attached?.0?);
        }
        for &(serial, number) in &state.known {
            if serial != 0 && !forks::may_have(serial, state.forks) {
                // One that cannot be told so is about to lose its connection, too.
                let _ = old.simple(Kind::Close, number, None, room);
            }
        }
        (state.link, state.known, state.forks) = (Some(new), known, forks);
        Ok(())
    }

    /// Lets go of the files that are closed, if any were since the last time.
    fn forget(&mut self, closings: u64) {
        self.state().heard = closings;
        for slot in 0..FILES {
            let Some(known) = self.state().known.get_mut(slot) else { return };
            let (serial, number) = *known;
            if serial != 0 && !files::is_open(File { slot, serial }) {
                *known = (0, 0);
                if self.let_go(serial, number).is_err() {
                    self.state().link = None;
                    return;
                }
            }
        }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        loop {
            let closings = CLOSINGS.load(Ordering::SeqCst);
            if self.state().heard != closings {
                self.forget(closings);
            }
            self.0.owner.store(0, Ordering::SeqCst);
            // Somebody may have closed a file in between and found the lane taken.
            let is_current = CLOSINGS.load(Ordering::SeqCst) == closings;
            if is_current || !self.0.become_owner() {
                return;
            }
        }
    }
}

/// Puts aside the connections that a child of `fork` inherited, so that calls get new ones. They end when what this
/// gives is dropped: files that the child has not attached to by then may be closed by the daemon.
///
/// A lane that was taken has a thread that is not in this process: it is abandoned. Or its thread is the one that forked, from a
/// signal handler, and goes on later: it stays taken, and so do all if it is not known which thread that was.
pub(crate) fn put_aside() -> [Option<Link>; LANES] {
    let mut all = [const { None }; LANES];
    let forker = forks::forker();
    for (lane, place) in TABLE.iter().zip(&mut all) {
        if forker.is_some_and(|forker| ![0, forker].contains(&lane.owner.load(Ordering::SeqCst))) {
            lane.abandon();
            continue;
        }
        let Some(mut taken) = lane.try_take() else { continue };
        let state = taken.state();
        *place = state.link.take();
        state.known = [(0, 0); FILES];
    }
    all
}
