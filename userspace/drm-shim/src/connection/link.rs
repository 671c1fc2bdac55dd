//! One connection to the daemon, with one call at a time.

use std::time::Duration;

use aned_protocol::mailbox::{self, Asking, Waited};
use aned_protocol::{ANSWER, Kind};
use libc::c_int;
use vm_memory::MmapRegion;

use super::silence::{self, Next, Silence};
use super::wire::{self, Answer, HEADER};
use crate::config::Config;
use crate::sys::memory::Mapping;
use crate::sys::socket::Socket;
use crate::sys::{Failure, Result, file};

/// How long to look for an answer before going to sleep: what a short call takes, and no more than a wake-up costs.
const LOOK: Duration = Duration::from_micros(20);

/// How long to sleep before looking whether the daemon is still there.
const SLEEP: Duration = Duration::from_millis(50);

/// Whether a signal ends a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signals {
    /// The call is given up, and says so.
    Interrupt,
    Wait,
}

#[derive(Debug)]
pub(crate) struct Link {
    socket: Socket,
    /// The mapping outlives the box, which lies in it.
    mailbox: Option<(Asking, Mapping)>,
    last_id: u64,
    /// How long the daemon may be silent.
    patience: Duration,
}

impl Link {
    /// Connects, says who speaks, and asks for a box.
    ///
    /// `room` takes answers.
    pub(crate) fn new(config: &Config, room: &mut [u8]) -> Result<Self> {
        let socket = Socket::connect(config.socket, config.patience).map_err(|_| Failure::BROKEN)?;
        let mut link = Self { socket, mailbox: None, last_id: 0, patience: config.patience };
        link.greet(room)?;
        // A daemon without boxes is as good, and slower.
        if let (Ok(_), Some(fd)) = link.simple(Kind::Mailbox, 0, None, room)? {
            link.mailbox = open_box(fd);
            file::close(fd);
        }
        Ok(link)
    }

    /// Says who speaks. A daemon that does not let this process in says why, such as `EAGAIN` where it has no room for more
    /// connections, and does not wait for the greeting.
    fn greet(&mut self, room: &mut [u8]) -> Result<()> {
        let id = self.next_id();
        let sent = self.socket.send(&wire::hello(id), None);
        let received = sent.and_then(|()| self.receive(id, Signals::Wait, room));
        // Its last word lies behind the news that it takes nothing any more.
        let (bytes, got) = received.or_else(|_| self.socket.receive(room)).map_err(|_| Failure::BROKEN)?;
        file::close_any(got);
        let message = room.get(..bytes).unwrap_or_default();
        match wire::answer(message, Kind::Hello, id) {
            Some(_) => Ok(()),
            None => Err(wire::dismissal(message).map_or(Failure::BROKEN, Failure)),
        }
    }

    pub(crate) const fn next_id(&mut self) -> u64 {
        self.last_id = self.last_id.wrapping_add(1);
        self.last_id
    }

    /// A call without a body, perhaps with a descriptor: the answer's file or the error's number, and its descriptor.
    pub(crate) fn simple(
        &mut self,
        kind: Kind,
        of: u32,
        descriptor: Option<c_int>,
        room: &mut [u8],
    ) -> Result<(Result<u32>, Option<c_int>)> {
        let id = self.next_id();
        let (answer, got) = self.call(kind, id, &wire::plain(kind, of, id), descriptor, room)?;
        let result = if answer.error == 0 { Ok(answer.file) } else { Err(Failure(answer.error)) };
        Ok((result, got))
    }

    /// A call through the socket that no signal ends.
    fn call<'a>(
        &self,
        kind: Kind,
        id: u64,
        message: &[u8],
        descriptor: Option<c_int>,
        room: &'a mut [u8],
    ) -> Result<(Answer<'a>, Option<c_int>)> {
        self.socket.send(message, descriptor)?;
        let (bytes, got) = self.receive(id, Signals::Wait, room)?;
        let answer = room.get(..bytes).and_then(|message| wire::answer(message, kind, id));
        if answer.is_none() {
            file::close_any(got);
        }
        answer.map(|answer| (answer, got)).ok_or(Failure::BROKEN)
    }

    /// An ioctl whose message is written: its answer, in `room`.
    pub(crate) fn ioctl<'a>(
        &self,
        id: u64,
        message: &[u8],
        signals: Signals,
        room: &'a mut [u8],
    ) -> Result<Answer<'a>> {
        let bytes = match self.ask(id, message, signals, room)? {
            Some(bytes) => bytes,
            None => {
                self.socket.send(message, None)?;
                let (bytes, got) = self.receive(id, signals, room)?;
                file::close_any(got);
                bytes
            }
        };
        let answer = room.get(..bytes).and_then(|message| wire::answer(message, Kind::Ioctl, id));
        answer.ok_or(Failure::BROKEN)
    }

    /// The same through the box; `None` if it does not fit, or there is none.
    fn ask(&self, id: u64, message: &[u8], signals: Signals, room: &mut [u8]) -> Result<Option<usize>> {
        let Some((asking, _)) = &self.mailbox else { return Ok(None) };
        let Some(is_asleep) = asking.ask(message) else { return Ok(None) };
        if is_asleep {
            self.socket.send(&wire::plain(Kind::Kick, 0, 0), None)?;
        }
        let mut is_given_up = signals == Signals::Wait;
        let mut silence = None;
        loop {
            match asking.wait(LOOK, SLEEP) {
                Waited::Answered => break,
                Waited::TimedOut => {}
                Waited::Interrupted if is_given_up => {}
                Waited::Interrupted => {
                    self.socket.send(&wire::abandon(0, id), None)?;
                    is_given_up = true;
                }
            }
            // Also behind a signal: a program may have one more often than a sleep is over.
            let silence = silence.get_or_insert_with(|| Silence::begin(self.patience));
            self.check(room, silence)?;
        }
        silence::heard();
        asking.answer(room).map(|answer| Some(answer.len())).ok_or(Failure::BROKEN)
    }

    /// Looks whether the daemon is still there: nothing comes through the socket while a call is in the box, except
    /// that it lives, its last word, or its end.
    fn check(&self, room: &mut [u8], silence: &mut Silence) -> Result<()> {
        match self.socket.receive(room) {
            Err(Failure(libc::EAGAIN | libc::EINTR)) if self.socket.is_there() => {
                self.bear(silence).map(drop)
            }
            Ok((bytes, None)) if room.get(..bytes).is_some_and(wire::is_probed) => {
                silence.end();
                Ok(())
            }
            _ => Err(Failure::BROKEN),
        }
    }

    /// How long to wait for a daemon that says nothing; asks whether it lives when it is time.
    fn bear(&self, silence: &mut Silence) -> Result<Option<Duration>> {
        loop {
            match silence.next() {
                Next::Wait(limit) => return Ok(limit),
                Next::Ask => self.socket.send(&wire::probe(), None)?,
                Next::GiveUp => return Err(Failure::BROKEN),
            }
        }
    }

    /// Takes the answer to a call out of the socket.
    fn receive(&self, id: u64, signals: Signals, room: &mut [u8]) -> Result<(usize, Option<c_int>)> {
        let mut is_given_up = signals == Signals::Wait;
        let mut silence = Silence::begin(self.patience);
        loop {
            let limit = self.bear(&mut silence)?;
            match self.socket.wait(limit).and_then(|()| self.socket.receive(room)) {
                Err(Failure(libc::EAGAIN)) => {}
                Err(Failure(libc::EINTR)) if is_given_up => {}
                Err(Failure(libc::EINTR)) => {
                    self.socket.send(&wire::abandon(0, id), None)?;
                    is_given_up = true;
                }
                Ok((bytes, None)) if room.get(..bytes).is_some_and(wire::is_probed) => silence.end(),
                Ok((bytes, got)) if bytes >= HEADER => {
                    silence::heard();
                    return Ok((bytes, got));
                }
                _ => return Err(Failure::BROKEN),
            }
        }
    }
}

/// Maps the box that the daemon passed.
fn open_box(fd: c_int) -> Option<(Asking, Mapping)> {
    let mapping = Mapping::shared(fd, mailbox::BYTES).ok()?;
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: the mapping is that long and stays as long as the box: it is kept beside it and dropped behind it.
    let region = unsafe { MmapRegion::build_raw(mapping.start(), mapping.bytes(), prot, libc::MAP_SHARED) };
    Some((Asking::new(region.ok()?), mapping))
}

const _: () = assert!(ANSWER == 1 << 31);
