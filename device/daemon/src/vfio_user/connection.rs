//! One client, and the turns of the engine between its messages.
//!
//! One thread does both. While the engine has nothing to do it waits for messages; while it has, it looks for a message
//! after each turn. A read that polls for the end of a request waits for that end, so a client whose guest polls hears nothing
//! for as long as the request takes, and the guest's processor stands still.

use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ane_device::engine::cancel::Cancel;
use ane_device::platform::Lines;
use ane_uapi::hw::tq::QueueId;
use ane_uapi::wire::platform::Range;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;

use super::super::guard::Lost;
use super::super::hold::Hold;
use super::super::worker::Worker;
use super::function::{self, Function};
use super::interrupts::{self, Change, Interrupts};
use super::memory::{self, Map};
use super::message::{BODY_MAX, Broken, Command, DESCRIPTORS_MAX, Message, TIMEOUT};

/// Regions that VFIO numbers: six BARs, the ROM, configuration space, VGA.
const REGIONS: u32 = 9;
const CONFIGURATION: u32 = 7;

/// Flags of the function: it can be reset, and it is one of PCI.
const DEVICE_FLAGS: u32 = 0b11;
/// Flags of a region: readable and writable.
const REGION_FLAGS: u32 = 0b11;

/// Largest access: a guest's loads and stores have eight bytes, and monitors read configuration space in one go.
const ACCESS_MAX: usize = 256;

/// The minor version of the protocol that the device speaks at most; the major one is 0.
const MINOR: u16 = 1;

/// The capabilities that the device announces in the greeting: so many descriptors a message, and as much data as an access has.
const CAPABILITIES: &[u8] =
    b"{\"capabilities\":{\"max_msg_fds\":8,\"max_data_xfer_size\":256,\"migration\":{\"pgsize\":4096}}}\0";

const _: () = assert!(DESCRIPTORS_MAX == 8 && ACCESS_MAX == 256 && CAPABILITIES.len() < BODY_MAX);

/// The outcome of a message: the body of its answer, or the error.
type Answer = Result<Vec<u8>, Errno>;

/// Calls the task off that runs when another thread wants that, or when the client has left.
struct Leaving<'a> {
    flag: Arc<AtomicBool>,
    stream: &'a UnixStream,
}

impl<'a> Leaving<'a> {
    fn of(worker: &Worker, stream: &'a UnixStream) -> Self {
        Self { flag: worker.call_off(), stream }
    }
}

impl Cancel for Leaving<'_> {
    fn is_cancelled(&self, queue: QueueId) -> bool {
        self.flag.is_cancelled(queue) || has_left(self.stream)
    }
}

/// True if the other end of the socket is closed. A client that only says no more may still read answers.
fn has_left(stream: &UnixStream) -> bool {
    let mut ends = [PollFd::new(stream.as_fd(), PollFlags::empty())];
    ppoll(&mut ends, Some(TimeSpec::new(0, 0)), None).is_ok_and(|count| count > 0)
}

pub(super) struct Connection<'a> {
    stream: UnixStream,
    engine: &'a Hold,
    function: Function,
    interrupts: Interrupts,
    has_greeted: bool,
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

impl<'a> Connection<'a> {
    pub(super) fn new(stream: UnixStream, engine: &'a Hold) -> Result<Self, Broken> {
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        Ok(Self {
            stream,
            engine,
            function: Function::default(),
            interrupts: Interrupts::default(),
            has_greeted: false,
        })
    }

    /// Serves it until it leaves.
    pub(super) fn serve(&mut self) -> Result<(), Broken> {
        let mut limit = None;
        loop {
            if self.wait(limit)? {
                let Some(message) = Message::read(&self.stream)? else { return Ok(()) };
                self.answer(message)?;
                // A line that the guest has lowered may go up again in the turn, and each time raises its vector.
                let worker = self.engine.own();
                let (lines, lost) = (worker.lines(), worker.lost());
                drop(worker);
                self.tell(lines, lost)?;
            }
            limit = self.turn()?;
        }
    }

    /// Waits for a message, or for as long; true if there is one.
    fn wait(&self, limit: Option<Duration>) -> Result<bool, Broken> {
        // To the nanosecond: most requests end within less than a millisecond, and their interrupt is waited for.
        let timeout = limit.map(TimeSpec::from_duration);
        match ppoll(&mut [PollFd::new(self.stream.as_fd(), PollFlags::POLLIN)], timeout, None) {
            Ok(count) => Ok(count > 0),
            Err(Errno::EINTR) => Ok(false),
            Err(why) => Err(Broken::Socket(why.into())),
        }
    }

    /// One turn of the engine; how long it may rest. `None` if only a message helps.
    fn turn(&mut self) -> Result<Option<Duration>, Broken> {
        let mut worker = self.engine.own();
        let leaving = Leaving::of(&worker, &self.stream);
        let turn = worker.ranges_turn(&leaving);
        let lines = worker.lines();
        let now = worker.now();
        let lost = worker.lost();
        drop(worker);
        self.tell(lines, lost)?;
        // Others have their turn at the engine.
        self.engine.step_back();
        Ok(if turn.busy {
            Some(Duration::ZERO)
        } else {
            turn.at.map(|at| at.saturating_sub(now).to_duration())
        })
    }

    /// Tells the client of the lines. None is raised for what came of memory that was not the guest's.
    fn tell(&mut self, lines: Lines, lost: Option<Lost>) -> Result<(), Broken> {
        if let Some(lost) = lost {
            return Err(Broken::Memory(lost));
        }
        let is_up = self.interrupts.tell(lines);
        self.function.show_pin(is_up);
        Ok(())
    }

    /// Carries a message out, and answers it if an answer is wanted.
    fn answer(&mut self, mut message: Message) -> Result<(), Broken> {
        let answer = match message.command {
            Some(Command::Version) => self.greet(&mut message),
            Some(command) if self.has_greeted => self.carry_out(command, &mut message),
            _ => Err(Errno::EOPNOTSUPP),
        };
        // A register that was read may tell of what came of memory that was not the guest's.
        if let Some(lost) = self.engine.own().lost() {
            return Err(Broken::Memory(lost));
        }
        let bytes = match answer {
            Ok(body) => message.reply(&body),
            Err(errno) => {
                log::debug!("vfio-user: message {:?} is refused: {errno}", message.command);
                message.refusal(errno as i32)
            }
        };
        if let Some(bytes) = bytes {
            self.stream.write_all(&bytes)?;
        }
        Ok(())
    }

    fn greet(&mut self, message: &mut Message) -> Answer {
        // Major and minor in one word; what the client can do beside changes nothing here.
        let version = message.body.u32().ok_or(Errno::EINVAL)?;
        let [m0, m1, n0, n1] = version.to_ne_bytes();
        if u16::from_ne_bytes([m0, m1]) != 0 {
            return Err(Errno::EINVAL);
        }
        self.has_greeted = true;
        // Never a later minor version than the client's: QEMU, which speaks 0.0, leaves at one.
        let minor = u16::from_ne_bytes([n0, n1]).min(MINOR);
        let mut body: Vec<u8> = [0_u16, minor].into_iter().flat_map(u16::to_ne_bytes).collect();
        body.extend_from_slice(CAPABILITIES);
        Ok(body)
    }

    fn carry_out(&mut self, command: Command, message: &mut Message) -> Answer {
        let short = Errno::EINVAL;
        let descriptors = std::mem::take(&mut message.descriptors);
        let body = &mut message.body;
        let mut word = || body.u32().ok_or(short);
        match command {
            Command::Version => Err(Errno::EINVAL),
            Command::DmaMap => {
                let [_, flags] = [word()?, word()?];
                let mut long = || body.u64().ok_or(short);
                let [offset, address, size] = [long()?, long()?, long()?];
                let descriptor = descriptors.into_iter().next();
                let map = Map { flags, offset, address, size, descriptor };
                self.remember(|worker| memory::map(worker.memory(), map))?;
                Ok(Vec::new())
            }
            Command::DmaUnmap => {
                let [_, flags] = [word()?, word()?];
                let mut long = || body.u64().ok_or(short);
                let [address, size] = [long()?, long()?];
                self.remember(|worker| memory::unmap(worker.memory(), flags, address, size).map(Some))?;
                Ok(message.body.whole().to_vec())
            }
            Command::GetInfo => Ok(words(&[16, DEVICE_FLAGS, REGIONS, interrupts::KINDS])),
            Command::GetRegionInfo => {
                let [_, _, index] = [word()?, word()?, word()?];
                let size = region_bytes(index).ok_or(Errno::EINVAL)?;
                let flags = if size == 0 { 0 } else { REGION_FLAGS };
                let mut answer = words(&[32, flags, index, 0]);
                answer.extend_from_slice(&size.to_ne_bytes());
                answer.extend_from_slice(&0_u64.to_ne_bytes());
                Ok(answer)
            }
            Command::GetIrqInfo => {
                let [_, _, index] = [word()?, word()?, word()?];
                let (flags, count) = interrupts::info(index).ok_or(Errno::EINVAL)?;
                Ok(words(&[16, flags, index, count]))
            }
            Command::SetIrqs => {
                let [_, flags, index, start, count] = [word()?, word()?, word()?, word()?, word()?];
                let change = Change { flags, index, start, count, descriptors };
                self.interrupts.change(change).map(|()| Vec::new())
            }
            Command::RegionRead | Command::RegionWrite => {
                let offset = body.u64().ok_or(short)?;
                let [region, count] = [body.u32().ok_or(short)?, body.u32().ok_or(short)?];
                let count = usize::try_from(count).ok().filter(|&count| count <= ACCESS_MAX).ok_or(short)?;
                let mut answer = message.body.whole().get(..16).unwrap_or_default().to_vec();
                if command == Command::RegionRead {
                    answer.extend_from_slice(&self.read(region, offset, count)?);
                } else {
                    let from = message.body.rest().get(..count).ok_or(short)?;
                    self.write(region, offset, from)?;
                }
                Ok(answer)
            }
            Command::Reset => {
                self.engine.own().reset();
                Ok(Vec::new())
            }
        }
    }

    /// Puts other memory in the place of what there was, if it is another.
    fn remember(
        &self,
        change: impl FnOnce(&Worker) -> Result<Option<vm_memory::GuestMemoryMmap>, Errno>,
    ) -> Result<(), Errno> {
        let mut worker = self.engine.own();
        if let Some(memory) = change(&worker)?
            && !worker.replace_memory(&memory)
        {
            return Err(Errno::ENOSPC);
        }
        Ok(())
    }

    fn read(&self, region: u32, offset: u64, count: usize) -> Answer {
        let mut bytes = vec![0xff; count];
        if region == CONFIGURATION {
            self.function.read(offset, &mut bytes);
            return Ok(bytes);
        }
        let range = Range::of_bar(region).ok_or(Errno::EINVAL)?;
        if let Some(width) = width(count) {
            let mut worker = self.engine.own();
            let leaving = Leaving::of(&worker, &self.stream);
            let value = worker.read_range((range, offset, width), &leaving);
            bytes.iter_mut().zip(value.to_le_bytes()).for_each(|(byte, value)| *byte = value);
        }
        Ok(bytes)
    }

    fn write(&mut self, region: u32, offset: u64, from: &[u8]) -> Result<(), Errno> {
        if region == CONFIGURATION {
            self.function.write(offset, from);
            return Ok(());
        }
        let range = Range::of_bar(region).ok_or(Errno::EINVAL)?;
        if let Some(width) = width(from.len()) {
            let mut value = [0; 8];
            value.iter_mut().zip(from).for_each(|(byte, from)| *byte = *from);
            self.engine.own().write_range((range, offset, width), u64::from_le_bytes(value));
        }
        Ok(())
    }
}

/// The width of an access, if a processor makes such.
const fn width(count: usize) -> Option<u8> {
    match count {
        1 => Some(1),
        2 => Some(2),
        4 => Some(4),
        8 => Some(8),
        _ => None,
    }
}

/// Bytes of a region; zero for one that the function does not have.
fn region_bytes(index: u32) -> Option<u64> {
    match index {
        CONFIGURATION => Some(function::BYTES as u64),
        REGIONS.. => None,
        _ => Some(Range::of_bar(index).map_or(0, |range| range.bar_bytes().into())),
    }
}
