//! Any bytes as what a client of the vfio-user front says: messages with descriptors beside them.
//!
//! A message is a command, flags, what descriptors go with it, and its body; `seeds` writes them out. All of them wait in the
//! socket when the front takes the connection, behind a greeting unless the first byte is odd. The front has to have ended the
//! connection when the input is used up: neither panicking, nor waiting, nor leaving descriptors behind.

#![no_main]

use std::cell::RefCell;
use std::io::{IoSlice, Read};
use std::net::Shutdown;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use ane_device::Options;
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};

use daemon::hold::Hold;
use daemon::open;
use daemon::trace::Trace;
use daemon::vfio_user;
use daemon::worker::Worker;
use steps::Steps;

#[path = "../src/daemon.rs"]
mod daemon;
#[path = "../src/steps.rs"]
mod steps;

/// Messages of one input: what they are answered with fits into a socket that nobody reads.
const MESSAGES: usize = 64;

/// Bytes of the memory that is handed over.
const MEMORY: i64 = 0x1_0000;

/// The command that names the protocol's version, and the body of a good one: 0.1, with no capabilities.
const GREETING: (u16, &[u8]) = (1, &[0, 0, 1, 0, b'{', b'}', 0]);

/// The front's engine, and what a client hands over.
struct Device {
    engine: Hold,
    memory: OwnedFd,
    event: EventFd,
    /// Descriptors that are open when nobody is connected.
    open: usize,
}

impl Device {
    fn new() -> Self {
        let memory = memfd_create(c"memory", MFdFlags::MFD_CLOEXEC).expect("memory");
        nix::unistd::ftruncate(&memory, MEMORY).expect("memory");
        let event = EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC).expect("event");
        let trace = Trace::new(None).expect("no file is made");
        let worker = Worker::new(&Options::default(), trace, None).expect("an engine");
        let mut device = Self { engine: Hold::new(worker), memory, event, open: 0 };
        device.talk(&mut Steps(&[]));
        device.open = open();
        device
    }

    /// The descriptors that go with a message.
    fn descriptors(&self, which: u8) -> Vec<RawFd> {
        let (memory, event) = (self.memory.as_raw_fd(), self.event.as_raw_fd());
        match which % 6 {
            0 => vec![],
            1 => vec![memory],
            2 => vec![event],
            3 => vec![event; 8],
            4 => vec![memory, event],
            _ => vec![memory; 9],
        }
    }

    /// Sends a message; false if there is no room.
    fn send(
        &self,
        to: &UnixStream,
        command: u16,
        (flags, length): (u32, u32),
        body: &[u8],
        which: u8,
    ) -> bool {
        let id = 7_u16;
        let head = [
            &id.to_ne_bytes()[..],
            &command.to_ne_bytes(),
            &length.to_ne_bytes(),
            &flags.to_ne_bytes(),
            &[0; 4],
        ];
        let head = head.concat();
        let descriptors = self.descriptors(which);
        let beside = [ControlMessage::ScmRights(&descriptors)];
        let beside = if descriptors.is_empty() { &beside[..0] } else { &beside };
        let parts = [IoSlice::new(&head), IoSlice::new(body)];
        sendmsg::<()>(to.as_raw_fd(), &parts, beside, MsgFlags::MSG_DONTWAIT, None).is_ok()
    }

    /// Sends what the input says next; false if there is nothing more, or no room.
    fn say(&self, to: &UnixStream, steps: &mut Steps<'_>) -> bool {
        let Some(command) = steps.next() else { return false };
        let (flags, which, bytes) = (steps.number(1) as u32, steps.number(1) as u8, steps.number(1));
        let body = steps.bytes(bytes as usize);
        // With the highest bit set the length is not what the message has.
        let (flags, length) = if flags & 0x80 != 0 {
            (flags & 0x7f, steps.number(4) as u32)
        } else {
            (flags, 16 + body.len() as u32)
        };
        self.send(to, command.into(), (flags, length), body, which)
    }

    fn talk(&mut self, steps: &mut Steps<'_>) {
        let (mut client, front) = UnixStream::pair().expect("a pair of sockets");
        if steps.next().is_none_or(|first| first & 1 == 0) {
            let (command, body) = GREETING;
            assert!(self.send(&client, command, (0, 16 + body.len() as u32), body, 0), "the socket is empty");
        }
        for _ in 0..MESSAGES {
            if !self.say(&client, steps) {
                break;
            }
        }
        client.shutdown(Shutdown::Write).expect("it is connected");
        vfio_user::client("fuzz", front, &self.engine);
        client.set_nonblocking(true).expect("it is a socket");
        let _ = client.read_to_end(&mut Vec::new());
        let _ = self.event.read();
    }
}

thread_local! {
    static DEVICE: RefCell<Option<Device>> = const { RefCell::new(None) };
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    DEVICE.with_borrow_mut(|device| {
        let device = device.get_or_insert_with(Device::new);
        device.talk(&mut Steps(input));
        assert_eq!(open(), device.open, "descriptors are left behind");
    });
});
