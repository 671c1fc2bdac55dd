//! Any bytes as what a client says to `aned`, and as what a client hears: nobody panics, what is read is what would be
//! written, and a daemon before a real device goes on serving others.
//!
//! A packet is a kind, a file, a number and a body; with the highest bit of the kind set, the bytes are the whole
//! packet. Each is read as a request, as an answer, and then said to the daemon, which has been greeted.

#![no_main]

use std::cell::OnceCell;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use ane_call::Segments;
use ane_device::Options;
use aned::place::{Access, Place};
use aned::server::Settings;
use aned_protocol::MESSAGE_MAX;
use aned_protocol::answer::Answer;
use aned_protocol::client::{self, Client};
use aned_protocol::request::Request;
use aned_protocol::socket::{self, Arrival};
use rustix::net::{RecvFlags, SendFlags};
use steps::Steps;

#[path = "../src/steps.rs"]
mod steps;

/// Packets of one input.
const PACKETS: usize = 32;

/// A packet, and whether a descriptor goes with it.
fn packet(steps: &mut Steps<'_>) -> Option<(Vec<u8>, bool)> {
    let kind = steps.next()?;
    let has_descriptor = kind & 0x40 != 0;
    if kind & 0x80 != 0 {
        let bytes = steps.number(2) as usize;
        return Some((steps.bytes(bytes).to_vec(), has_descriptor));
    }
    let (file, id, bytes) = (steps.number(1) as u32, steps.number(1), steps.number(2) as usize);
    let header = [u32::from(kind & 0x3f).to_le_bytes(), file.to_le_bytes()].concat();
    Some(([&header, &id.to_le_bytes()[..], steps.bytes(bytes)].concat(), has_descriptor))
}

/// Reads a packet as both ends do.
fn read(packet: &[u8]) {
    if let Ok(request) = Request::read(packet) {
        assert_eq!(request.to_bytes(), packet, "what is read is what would be written");
    }
    let mut answer = packet.to_vec();
    // The daemon's own bit.
    answer.get_mut(3).into_iter().for_each(|byte| *byte |= 0x80);
    let Ok(answer) = Answer::read(&answer) else { return };
    let mut memory = Segments::new();
    memory.push(0x1000, vec![0; 64]);
    _ = (answer.welcome(), answer.token(), answer.ioctl(&mut [0; 8], &mut memory));
    _ = (answer.pieces(0).is_ok(), answer.pieces(1).is_ok(), answer.report().is_ok(), answer.words().is_ok());
}

/// A daemon in a thread, for as long as the fuzzer runs.
struct Daemon {
    socket: PathBuf,
    /// Closed, it would end.
    _stop: OwnedFd,
}

impl Daemon {
    fn new() -> Self {
        let socket = std::env::temp_dir().join(format!("ane-fuzz-aned-{}", std::process::id()));
        let place = Place::listen(&socket, Access::default()).expect("a socket");
        // The lock lies beside it, and nobody else looks for it under this name.
        _ = std::fs::remove_file(socket.with_extension("lock"));
        let (stopped, stop) = rustix::pipe::pipe().expect("a pipe");
        thread::spawn(move || {
            let pe_mmu = Some("".parse().expect("attributes"));
            let driver = ane::daemon::driver(&Options { pe_mmu, ..Options::default() }).expect("a device");
            ane::daemon::serve(driver, place, Settings::default(), stopped.as_fd()).expect("it serves");
            panic!("the daemon ended");
        });
        Self { socket, _stop: stop }
    }

    /// Says packets, and hears what is answered meanwhile.
    fn talk(&self, packets: &[(Vec<u8>, bool)]) {
        let raw = socket::dial(&self.socket).expect("it listens");
        let hello = Request::hello(1).to_bytes();
        socket::send(&raw, &hello, &[], SendFlags::empty()).expect("it takes a greeting");
        let mut buffer = vec![0; MESSAGE_MAX];
        for (packet, has_descriptor) in packets {
            let descriptors = if *has_descriptor { &[raw.as_fd()][..] } else { &[] };
            if socket::send(&raw, packet, descriptors, SendFlags::DONTWAIT).is_err() {
                break;
            }
            while let Ok(Arrival::Message { .. }) = socket::receive(&raw, &mut buffer, RecvFlags::DONTWAIT) {}
        }
        // One more who is served: by then all of the above has been heard.
        let client = Client::connect(&self.socket, client::Settings::default()).expect("it still listens");
        let opened = client.open().expect("it still opens files");
        client.close(opened.file).expect("it still closes them");
        _ = socket::wait(&raw, Some(Duration::ZERO));
    }
}

thread_local! {
    static DAEMON: OnceCell<Daemon> = const { OnceCell::new() };
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let mut steps = Steps(input);
    let packets: Vec<_> = std::iter::from_fn(|| packet(&mut steps)).take(PACKETS).collect();
    packets.iter().for_each(|(packet, _)| read(packet));
    DAEMON.with(|daemon| daemon.get_or_init(Daemon::new).talk(&packets));
});
