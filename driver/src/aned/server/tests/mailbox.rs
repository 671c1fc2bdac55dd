//! Calls that come by a mailbox.

use std::os::fd::OwnedFd;
use std::thread;
use std::time::Duration;

use ane_uapi::ioctl::errno::Errno;
use rustix::net::RecvFlags;

use super::fake::{ECHO, Fake, RELEASE, WAIT};
use super::{LIMIT, Rig, hear, say};
use crate::aned::mailbox::{Asking, Waited};
use crate::aned::protocol::MESSAGE_MAX;
use crate::aned::protocol::answer::Answer;
use crate::aned::protocol::request::{Ask, Request};
use crate::aned::server::Settings;
use crate::aned::socket::{self, Arrival};
use crate::front::Segments;

struct Boxed {
    socket: OwnedFd,
    asking: Asking,
}

impl Boxed {
    fn new(rig: &Rig) -> Self {
        let socket = rig.greeted();
        say(&socket, &Request { file: 0, id: 2, ask: Ask::Mailbox }.to_bytes());
        let mut buffer = vec![0; MESSAGE_MAX];
        match socket::receive(&socket, &mut buffer, RecvFlags::empty()).unwrap() {
            Arrival::Message { mut descriptors, .. } => {
                let asking = Asking::over(descriptors.pop().unwrap()).unwrap();
                Self { socket, asking }
            }
            other => panic!("{other:?}"),
        }
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
fn second_call_in_a_mailbox_whose_first_waits_ends_the_connection() {
    let rig = Rig::new();
    let client = Boxed::new(&rig);
    let file = client.open();
    client.ask(&ioctl(file, 9, WAIT));
    rig.until(|journal| journal.offers == 1);
    client.ask(&ioctl(file, 10, ECHO));
    let farewell = hear(&client.socket).unwrap();
    let why = Answer::read(&farewell).unwrap().goodbye().unwrap().to_owned();
    assert_eq!(why, "a call in a mailbox whose last call waits does not belong here");
    rig.until(|journal| journal.abandoned == 1 && journal.closed == 1);
}

#[test]
fn message_by_mailbox_whose_answer_may_be_long_ends_the_connection() {
    let rig = Rig::new();
    let client = Boxed::new(&rig);
    client.ask(&Request { file: 1, id: 9, ask: Ask::Arena });
    let farewell = hear(&client.socket).unwrap();
    assert_eq!(Answer::read(&farewell).unwrap().goodbye().unwrap(), "ARENA does not belong here");
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
