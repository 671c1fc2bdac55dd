//! Any bytes as what a frontend says: messages of the vhost-user protocol, with descriptors beside them.
//!
//! A message is a request number, flags, what descriptors go with it, and its body; `seeds` writes them out.
//! All of them wait in the socket when the daemon takes the connection, and it has to have ended the connection
//! when the input is used up: neither panicking, nor waiting, nor leaving descriptors behind.

#![no_main]

use std::cell::OnceCell;
use std::io::{IoSlice, Read};
use std::net::Shutdown;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::time::Duration;

use ane_device::Options;
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};

use daemon::backend::Backend;
use daemon::open;
use daemon::server;
use daemon::trace::Trace;
use steps::Steps;

#[path = "../src/daemon.rs"]
mod daemon;
#[path = "../src/steps.rs"]
mod steps;

/// Messages of one input: what they are answered with fits into a socket that nobody reads.
const MESSAGES: usize = 64;

/// Bytes of the memory that is handed over.
const MEMORY: i64 = 0x1_0000;

/// The daemon, as it is from connection to connection.
struct Device {
    listener: UnixListener,
    path: String,
    backend: Arc<Backend>,
    memory: OwnedFd,
    kick: EventFd,
    call: EventFd,
    /// Descriptors that are open when nobody is connected.
    open: usize,
}

impl Device {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("ane-fuzz-{}", std::process::id()));
        let path = path.to_str().expect("it is text").to_owned();
        let listener = UnixListener::bind(&path).expect("socket");
        let memory = memfd_create(c"memory", MFdFlags::MFD_CLOEXEC).expect("memory");
        nix::unistd::ftruncate(&memory, MEMORY).expect("memory");
        let event = || EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC).expect("event");
        let trace = Trace::new(None).expect("no file is made");
        let backend = Backend::new(&Options::default(), Duration::ZERO, trace).expect("an engine");
        let mut device = Self {
            listener,
            path,
            backend: Arc::new(backend),
            memory,
            kick: event(),
            call: event(),
            open: 0,
        };
        device.talk(&mut Steps(&[]));
        device.open = open();
        device
    }

    /// The descriptors that go with a message.
    fn descriptors(&self, which: u8) -> Vec<RawFd> {
        let (memory, kick, call) = (self.memory.as_raw_fd(), self.kick.as_raw_fd(), self.call.as_raw_fd());
        match which % 7 {
            0 => vec![],
            1 => vec![memory],
            2 => vec![kick],
            3 => vec![call],
            4 => vec![memory, memory],
            5 => vec![kick, memory, call],
            _ => vec![memory; 9],
        }
    }

    /// Sends a message; false if there is none, or no room.
    fn say(&self, to: &UnixStream, steps: &mut Steps<'_>) -> bool {
        let Some(request) = steps.next() else { return false };
        let (flags, which, bytes) = (steps.number(1), steps.number(1) as u8, steps.number(1));
        let body = steps.bytes(bytes as usize);
        // With the highest bit set the length is not what the header says.
        let (flags, said) =
            if flags & 0x80 != 0 { (flags & 0x7f, steps.number(4)) } else { (flags, body.len() as u64) };
        let head = [u32::from(request), flags as u32, said as u32].map(u32::to_le_bytes).concat();
        let descriptors = self.descriptors(which);
        let beside = [ControlMessage::ScmRights(&descriptors)];
        let beside = if descriptors.is_empty() { &beside[..0] } else { &beside };
        let parts = [IoSlice::new(&head), IoSlice::new(body)];
        sendmsg::<()>(to.as_raw_fd(), &parts, beside, MsgFlags::MSG_DONTWAIT, None).is_ok()
    }

    fn talk(&mut self, steps: &mut Steps<'_>) {
        let mut frontend = UnixStream::connect(&self.path).expect("the daemon listens");
        for _ in 0..MESSAGES {
            if !self.say(&frontend, steps) {
                break;
            }
        }
        self.kick.write(1).expect("an event");
        frontend.shutdown(Shutdown::Write).expect("it is connected");
        server::connection("fuzz", &self.listener, &self.backend).expect("the connection is served");
        frontend.set_nonblocking(true).expect("it is a socket");
        let _ = frontend.read_to_end(&mut Vec::new());
        let _ = self.kick.read();
    }
}

thread_local! {
    static DEVICE: OnceCell<std::cell::RefCell<Device>> = const { OnceCell::new() };
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    DEVICE.with(|device| {
        let mut device = device.get_or_init(|| Device::new().into()).borrow_mut();
        device.talk(&mut Steps(input));
        assert_eq!(open(), device.open, "descriptors are left behind");
    });
});
