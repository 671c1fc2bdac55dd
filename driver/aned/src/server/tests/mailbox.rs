//! Calls that come by a mailbox.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use ane_uapi::ioctl::errno::Errno;
use rustix::net::{RecvFlags, SendFlags};
use vm_memory::{Bytes, FileOffset, MmapRegion, VolatileMemory};

use super::fake::{ECHO, Fake, RELEASE, WAIT};
use super::{LIMIT, Rig, hear, say};
use crate::server::Settings;
use ane_driver::front::Segments;
use aned_protocol::MESSAGE_MAX;
use aned_protocol::answer::Answer;
use aned_protocol::mailbox::{ANSWERED, ASKED, Asking, BYTES, CLIENT, MESSAGE_AT, SERVER, Waited};
use aned_protocol::request::{Ask, Request};
use aned_protocol::socket::{self, Arrival};

struct Boxed {
    socket: OwnedFd,
    asking: Asking,
}

/// A connection, and what to map for its mailbox.
fn with_mailbox(rig: &Rig) -> (OwnedFd, OwnedFd) {
    let socket = rig.greeted();
    say(&socket, &Request { file: 0, id: 2, ask: Ask::Mailbox }.to_bytes());
    let mut buffer = vec![0; MESSAGE_MAX];
    match socket::receive(&socket, &mut buffer, RecvFlags::empty()).unwrap() {
        Arrival::Message { mut descriptors, .. } => (socket, descriptors.pop().unwrap()),
        other => panic!("{other:?}"),
    }
}

impl Boxed {
    fn new(rig: &Rig) -> Self {
        let (socket, memory) = with_mailbox(rig);
        Self { socket, asking: Asking::over(memory).unwrap() }
    }

    fn ask(&self, request: &Request) {
        if self.asking.ask(&request.to_bytes()).unwrap() {
            say(&self.socket, &Request { file: 0, id: 0, ask: Ask::Kick }.to_bytes());
        }
    }

    /// The answer: file, result, and the argument as it came back.
    fn answer(&self) -> (u32, i32) {
        assert_eq!(self.asking.wait(Duration::from_micros(50), LIMIT), Waited::Answered);
        let mut buffer = vec![0; 1 << 14];
        let answer = Answer::read(self.asking.answer(&mut buffer).unwrap()).unwrap();
        (answer.file, answer.result)
    }

    fn open(&self) -> u32 {
        self.ask(&Request { file: 0, id: 3, ask: Ask::Open });
        self.answer().0
    }
}

fn ioctl(file: u32, id: u64, number: u32) -> Request {
    Request { file, id, ask: Ask::Ioctl { number, argument: vec![0; 8], memory: Segments::new() } }
}

fn polling() -> Settings<Fake> {
    Settings { poll: Duration::from_micros(100), ..Settings::default() }
}

#[test]
fn calls_by_mailbox_are_answered_there_whether_the_daemon_sleeps_or_not() {
    for settings in [Settings::default(), polling()] {
        let rig = Rig::with(Fake::default(), settings);
        let client = Boxed::new(&rig);
        let file = client.open();
        for id in 0..2000 {
            client.ask(&ioctl(file, 100 + id, ECHO));
            assert_eq!(client.answer(), (file, 0));
        }
        assert_eq!(rig.seen(|journal| (journal.offers, journal.wrong)), (2000, 0));
    }
}

#[test]
fn call_by_mailbox_that_waits_leaves_the_socket_free_and_is_given_up_by_it() {
    let rig = Rig::with(Fake::default(), polling());
    let client = Boxed::new(&rig);
    let file = client.open();
    client.ask(&ioctl(file, 9, WAIT));
    rig.until(|journal| journal.offers == 1);
    say(&client.socket, &ioctl(file, 10, ECHO).to_bytes());
    assert_eq!(Answer::read(&hear(&client.socket).unwrap()).unwrap().id, 10);
    say(&client.socket, &Request { file: 0, id: 11, ask: Ask::Abandon { call: 9 } }.to_bytes());
    assert_eq!(client.answer(), (file, Errno::EINTR.as_result()));
    client.ask(&ioctl(file, 12, WAIT));
    rig.until(|journal| journal.offers == 3);
    say(&client.socket, &ioctl(file, 13, RELEASE).to_bytes());
    assert_eq!(client.answer(), (file, 0));
}

#[test]
fn call_that_is_given_up_while_it_lies_in_the_mailbox_ends() {
    // The device is at work, so sockets are heard before mailboxes in every round.
    let rig = Rig::with(Fake::at_work(), Settings::default());
    let (first, second) = (Boxed::new(&rig), Boxed::new(&rig));
    let (others, file) = (first.open(), second.open());
    rig.seen(|_| {
        // The daemon is stopped at the first one's call, behind its look into the second's mailbox.
        first.ask(&ioctl(others, 8, ECHO));
        thread::sleep(Duration::from_millis(50));
        second.ask(&ioctl(file, 9, WAIT));
        say(&second.socket, &Request { file: 0, id: 10, ask: Ask::Abandon { call: 9 } }.to_bytes());
    });
    assert_eq!(first.answer(), (others, 0));
    assert_eq!(second.answer(), (file, Errno::EINTR.as_result()));
    rig.until(|journal| (journal.abandoned, journal.wrong) == (1, 0));
}

#[test]
fn second_call_in_a_mailbox_whose_first_waits_ends_the_connection() {
    let rig = Rig::new();
    let client = Boxed::new(&rig);
    let file = client.open();
    client.ask(&ioctl(file, 9, WAIT));
    rig.until(|journal| journal.offers == 1);
    client.ask(&ioctl(file, 10, ECHO));
    let dismissal = hear(&client.socket).unwrap();
    let why = Answer::read(&dismissal).unwrap().words().unwrap().to_owned();
    assert_eq!(why, "a call in a mailbox whose last call waits does not belong here");
    rig.until(|journal| journal.abandoned == 1 && journal.closed == 1);
}

#[test]
fn message_by_mailbox_whose_answer_may_be_long_ends_the_connection() {
    let rig = Rig::new();
    let client = Boxed::new(&rig);
    client.ask(&Request { file: 1, id: 9, ask: Ask::Arena });
    let dismissal = hear(&client.socket).unwrap();
    assert_eq!(Answer::read(&dismissal).unwrap().words().unwrap(), "ARENA does not belong here");
}

#[test]
fn mailboxes_of_many_clients_are_all_looked_into() {
    let rig = Rig::with(Fake::default(), polling());
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let client = Boxed::new(&rig);
                let file = client.open();
                for id in 0..300 {
                    client.ask(&ioctl(file, 100 + id, ECHO));
                    assert_eq!(client.answer(), (file, 0));
                }
            });
        }
    });
    assert_eq!(rig.seen(|journal| journal.offers), 2400);
}

#[test]
fn mailboxes_that_are_never_empty_keep_neither_sockets_nor_other_mailboxes_waiting() {
    let rig = Rig::with(Fake::default(), polling());
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let client = Boxed::new(&rig);
                let file = client.open();
                while !is_over.load(Ordering::Relaxed) {
                    client.ask(&ioctl(file, 9, ECHO));
                    assert_eq!(client.answer(), (file, 0));
                }
            });
        }
        rig.until(|journal| journal.offers > 1000);
        let other = rig.client();
        let file = other.open().unwrap().file;
        for _ in 0..100 {
            let before = rig.seen(|journal| journal.offers);
            other.ioctl(file, ECHO, &mut [0; 8], &mut Segments::new()).unwrap();
            let between = rig.seen(|journal| journal.offers) - before;
            assert!(between < 100_000, "{between} calls of others came first");
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

/// Words that count, lengths that lie, messages that change while they are read: whatever a client can write.
#[test]
fn mailbox_that_is_scribbled_over_harms_its_own_client_at_most() {
    let rig = Rig::with(Fake::default(), polling());
    thread::scope(|scope| {
        for seed in 1..4_u64 {
            let rig = &rig;
            scope.spawn(move || {
                let mut random = seed;
                let mut below = move |limit: u64| {
                    random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                    (random >> 33) % limit
                };
                for _ in 0..20 {
                    let (socket, memory) = with_mailbox(rig);
                    let whole = FileOffset::new(std::fs::File::from(memory), 0);
                    let mapped = MmapRegion::<()>::from_file(whole, BYTES).unwrap();
                    let memory = mapped.as_volatile_slice();
                    let message = ioctl(1, 7, ECHO).to_bytes();
                    memory
                        .write_slice(&Request { file: 0, id: 3, ask: Ask::Open }.to_bytes(), MESSAGE_AT)
                        .unwrap();
                    for _ in 0..400 {
                        let word = [ASKED, ASKED, ASKED + 4, ANSWERED, ANSWERED + 4, SERVER, CLIENT]
                            [below(7) as usize];
                        memory.write_obj(below(1 << 8) as u32, word).unwrap();
                        memory.write_obj(below(1 << 16) as u16, MESSAGE_AT + below(64) as usize).unwrap();
                        memory.write_slice(&message, MESSAGE_AT).unwrap();
                    }
                    // The connection may be closed by then, so the result is of no use.
                    let kick = Request { file: 0, id: 0, ask: Ask::Kick }.to_bytes();
                    let _ = socket::send(&socket, &kick, &[], SendFlags::empty());
                }
            });
        }
        let client = Boxed::new(&rig);
        let file = client.open();
        for id in 0..2000 {
            client.ask(&ioctl(file, 100 + id, ECHO));
            assert_eq!(client.answer(), (file, 0));
        }
    });
    rig.until(|journal| journal.open.is_empty());
    assert_eq!(rig.seen(|journal| journal.wrong), 0);
}
