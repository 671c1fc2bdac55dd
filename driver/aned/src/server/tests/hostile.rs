//! Clients that do not.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use ane_uapi::ioctl::errno::Errno;
use nix::sys::memfd::{MFdFlags, memfd_create};
use rustix::net::SendFlags;

use super::fake::{ECHO, Fake, RELEASE, WAIT};
use super::{Rig, hear, say};
use crate::server::{Admit, Settings};
use ane_driver::front::Segments;
use aned_protocol::answer::Answer;
use aned_protocol::request::{Ask, Request};
use aned_protocol::socket;
use aned_protocol::{FILES_MAX, MESSAGE_MAX};

/// The last word of a daemon that has had enough.
fn dismissal(socket: &OwnedFd) -> (i32, String) {
    let message = hear(socket).expect("a last word");
    let answer = Answer::read(&message).unwrap();
    assert_eq!(answer.kind, None);
    assert_eq!(hear(socket), None, "nothing behind it");
    (answer.result, answer.words().unwrap().to_owned())
}

/// Another client is served.
fn is_well(rig: &Rig) {
    let client = rig.client();
    let file = client.open().unwrap().file;
    client.ioctl(file, ECHO, &mut [0; 8], &mut Segments::new()).unwrap();
}

#[test]
fn message_cut_anywhere_ends_the_connection_and_nothing_else() {
    let rig = Rig::new();
    let mut memory = Segments::new();
    memory.push(0x1000, vec![1; 4]);
    let ask = Ask::Ioctl { number: ECHO, argument: vec![0; 8], memory };
    let whole = Request { file: 1, id: 2, ask }.to_bytes();
    for bytes in 1..whole.len() {
        let raw = rig.greeted();
        say(&raw, &whole[..bytes]);
        let (result, text) = dismissal(&raw);
        assert_eq!(result, Errno::EINVAL.as_result(), "{bytes}: {text}");
    }
    is_well(&rig);
}

#[test]
fn first_message_that_is_no_greeting_ends_the_connection() {
    let rig = Rig::new();
    let raw = rig.raw();
    say(&raw, &Request { file: 0, id: 1, ask: Ask::Open }.to_bytes());
    assert_eq!(dismissal(&raw).1, "OPEN does not belong here");
    let raw = rig.greeted();
    say(&raw, &Request::hello(2).to_bytes());
    assert_eq!(dismissal(&raw).1, "HELLO does not belong here");
    assert!(rig.seen(|journal| journal.open.is_empty()));
}

#[test]
fn message_larger_than_any_ends_the_connection() {
    let rig = Rig::new();
    let raw = rig.greeted();
    say(&raw, &vec![0; MESSAGE_MAX + 1]);
    assert_eq!(dismissal(&raw).1, format!("message is larger than {MESSAGE_MAX} bytes"));
    is_well(&rig);
}

#[test]
fn descriptors_nobody_asked_for_or_that_are_missing_end_the_connection_and_do_not_stay() {
    let rig = Rig::new();
    let count = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let before = count();
    for _ in 0..8 {
        let raw = rig.greeted();
        let open = Request { file: 0, id: 5, ask: Ask::Open }.to_bytes();
        socket::send(&raw, &open, &[raw.as_fd(); 200], SendFlags::empty()).unwrap();
        assert_eq!(dismissal(&raw).1, "200 descriptors came with a message that takes 0");
        let raw = rig.greeted();
        say(&raw, &Request { file: 0, id: 5, ask: Ask::AttachArena }.to_bytes());
        assert_eq!(dismissal(&raw).1, "0 descriptors came with a message that takes 1");
    }
    super::until(|| count() <= before);
}

/// A connection whose last descriptor takes that long to close: it lingers, and what it has to send is not taken.
fn lingering(listener: &TcpListener) -> TcpStream {
    let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::from_secs(60))).unwrap();
    stream.set_nonblocking(true).unwrap();
    while (&stream).write(&[0; 1 << 16]).is_ok() {}
    stream
}

#[test]
fn descriptor_that_takes_long_to_close_holds_nobody_up_wherever_it_lies() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let hello = Request::hello(1).to_bytes();
    let open = Request { file: 0, id: 2, ask: Ask::Open }.to_bytes();
    let attach = Request { file: 0, id: 2, ask: Ask::AttachArena }.to_bytes();
    // With a message that takes none and one that takes one, with one that is none, unread behind one that ends the
    // connection, and with and behind a packet without a byte.
    let cases: [&[(&[u8], bool)]; 6] = [
        &[(&hello, false), (&open, true)],
        &[(&hello, false), (&attach, true)],
        &[(&hello[..7], true)],
        &[(&hello[..7], false), (&open, true)],
        &[(&hello, false), (&[], true)],
        &[(&[], false), (&open, true)],
    ];
    for case in cases {
        let mut left = None;
        let before = |path: &Path, listening: BorrowedFd<'_>| {
            // As a system does that knows no better.
            socket::let_descriptors_pass(listening, true);
            let raw = socket::dial(path).unwrap();
            for &(message, has_message) in case {
                let stream = has_message.then(|| lingering(&listener));
                let descriptors: Vec<_> = stream.iter().map(AsFd::as_fd).collect();
                socket::send(&raw, message, &descriptors, SendFlags::empty()).unwrap();
            }
            left = Some(raw);
        };
        let rig = Rig::after(before, Fake::default(), Settings::default());
        let start = Instant::now();
        is_well(&rig);
        assert!(start.elapsed() < Duration::from_secs(15), "{case:?}: {:?}", start.elapsed());
        drop((left, rig));
        assert!(start.elapsed() < Duration::from_secs(15), "{case:?}: {:?}", start.elapsed());
    }
}

#[test]
fn descriptor_passes_once_its_sender_was_welcomed_where_the_system_can_tell() {
    let rig = Rig::new();
    let raw = rig.raw();
    let (one, _other) = socket::pair().unwrap();
    let can_tell = socket::let_descriptors_pass(&one, false);
    let hello = Request::hello(1).to_bytes();
    let refused = socket::send(&raw, &hello, &[one.as_fd()], SendFlags::empty());
    assert_eq!(refused.err(), can_tell.then_some(rustix::io::Errno::PERM));
    let raw = rig.greeted();
    let attach = Request { file: 0, id: 2, ask: Ask::AttachArena }.to_bytes();
    socket::send(&raw, &attach, &[one.as_fd()], SendFlags::empty()).unwrap();
    assert_eq!(Answer::read(&hear(&raw).unwrap()).unwrap().result, Errno::ENOENT.as_result());
}

#[test]
fn memory_object_of_nobody_and_other_descriptors_attach_to_nothing() {
    let rig = Rig::new();
    let client = rig.client();
    let (one, _other) = socket::pair().unwrap();
    assert_eq!(client.attach_arena(one.as_fd()).unwrap_err().errno(), Errno::ENOENT);
    let object = memfd_create(c"nobody's", MFdFlags::MFD_CLOEXEC).unwrap();
    assert_eq!(client.attach_arena(object.as_fd()).unwrap_err().errno(), Errno::ENOENT);
    let file = client.open().unwrap().file;
    let arena = client.arena(file).unwrap();
    assert!(client.attach_arena(arena.as_fd()).is_ok());
}

#[test]
fn file_of_another_connection_is_none_of_this_one() {
    let rig = Rig::new();
    let (one, other) = (rig.client(), rig.client());
    let file = one.open().unwrap().file;
    let why = other.ioctl(file, ECHO, &mut [0; 8], &mut Segments::new()).unwrap_err();
    assert_eq!(why.errno(), Errno::EBADF);
    assert_eq!(other.arena(file).unwrap_err().errno(), Errno::EBADF);
    assert_eq!(other.close(file).unwrap_err().errno(), Errno::EBADF);
}

#[test]
fn number_of_a_call_that_waits_cannot_be_used_again() {
    let rig = Rig::new();
    let raw = rig.greeted();
    say(&raw, &Request { file: 0, id: 1, ask: Ask::Open }.to_bytes());
    let file = Answer::read(&hear(&raw).unwrap()).unwrap().file;
    let wait = || Ask::Ioctl { number: WAIT, argument: Vec::new(), memory: Segments::new() };
    say(&raw, &Request { file, id: 9, ask: wait() }.to_bytes());
    say(&raw, &Request { file, id: 9, ask: wait() }.to_bytes());
    assert_eq!(dismissal(&raw).1, "call 9 has the number of one that waits");
    rig.until(|journal| journal.abandoned == 1 && journal.closed == 1 && journal.wrong == 0);
}

#[test]
fn call_that_is_abandoned_has_one_answer_and_one_that_is_not_there_none() {
    let rig = Rig::new();
    let raw = rig.greeted();
    say(&raw, &Request { file: 0, id: 1, ask: Ask::Open }.to_bytes());
    let file = Answer::read(&hear(&raw).unwrap()).unwrap().file;
    let wait = Ask::Ioctl { number: WAIT, argument: vec![5], memory: Segments::new() };
    say(&raw, &Request { file, id: 2, ask: wait }.to_bytes());
    for (id, call) in [(3, 2), (4, 2), (5, 77)] {
        say(&raw, &Request { file: 0, id, ask: Ask::Abandon { call } }.to_bytes());
    }
    say(&raw, &Request { file, id: 6, ask: Ask::Close }.to_bytes());
    let given_up = hear(&raw).unwrap();
    let answer = Answer::read(&given_up).unwrap();
    assert_eq!((answer.id, answer.result), (2, Errno::EINTR.as_result()));
    assert_eq!(Answer::read(&hear(&raw).unwrap()).unwrap().id, 6);
    assert_eq!(rig.seen(|journal| journal.abandoned), 1);
}

#[test]
fn client_that_does_not_read_is_not_listened_to_and_holds_nobody_up() {
    let rig = Rig::new();
    let raw = rig.greeted();
    say(&raw, &Request { file: 0, id: 1, ask: Ask::Open }.to_bytes());
    let file = Answer::read(&hear(&raw).unwrap()).unwrap().file;
    let mut memory = Segments::new();
    memory.push(0, vec![0; 150_000]);
    let echo = Request { file, id: 2, ask: Ask::Ioctl { number: ECHO, argument: Vec::new(), memory } };
    let message = echo.to_bytes();
    let mut sent = 0;
    while socket::send(&raw, &message, &[], SendFlags::DONTWAIT).is_ok() {
        sent += 1;
        is_well(&rig);
        assert!(sent < 100, "the daemon goes on listening");
    }
    // It is served once it takes what it asked for.
    for _ in 0..sent {
        assert_eq!(Answer::read(&hear(&raw).unwrap()).unwrap().id, 2);
    }
    drop(raw);
    rig.until(|journal| journal.open.is_empty());
}

#[test]
fn files_beyond_those_that_a_connection_may_have_are_refused() {
    let rig = Rig::new();
    let client = rig.client();
    for _ in 0..FILES_MAX {
        client.open().unwrap();
    }
    assert_eq!(client.open().unwrap_err().errno(), Errno::ENOMEM);
    is_well(&rig);
    drop(client);
    rig.until(|journal| journal.open.is_empty());
}

#[test]
fn connections_beyond_those_that_a_process_may_have_are_refused_with_a_word() {
    let rig = Rig::new();
    let taken: Vec<_> = (0..96).map(|_| rig.greeted()).collect();
    let raw = rig.raw();
    let (result, text) = dismissal(&raw);
    assert_eq!(result, Errno::EAGAIN.as_result());
    assert!(text.contains("this process has 96 connections already"), "{text}");
    drop(taken);
    super::until(|| aned_protocol::client::Client::connect(&rig.socket(), Default::default()).is_ok());
}

#[test]
fn only_root_the_owner_and_whoever_the_socket_admits_are_let_in() {
    assert_eq!(Admit::Owner.refusal(1001, 1000), Some("user 1001 may not use this device".to_owned()));
    for (admit, user, own) in
        [(Admit::Owner, 1000, 1000), (Admit::Owner, 0, 1000), (Admit::Anyone, 1001, 1000)]
    {
        assert_eq!(admit.refusal(user, own), None);
    }
}

#[test]
fn memory_that_calls_wait_with_has_a_bound() {
    let rig = Rig::new();
    let raw = rig.greeted();
    say(&raw, &Request { file: 0, id: 1, ask: Ask::Open }.to_bytes());
    let file = Answer::read(&hear(&raw).unwrap()).unwrap().file;
    let wait = |id| {
        let mut memory = Segments::new();
        memory.push(0, vec![0; 150_000]);
        Request { file, id, ask: Ask::Ioctl { number: WAIT, argument: Vec::new(), memory } }
    };
    // 28 such calls are more than four mebibytes.
    for id in 2..30 {
        say(&raw, &wait(id).to_bytes());
    }
    let refused = hear(&raw).unwrap();
    let answer = Answer::read(&refused).unwrap();
    assert_eq!((answer.id, answer.result), (29, Errno::ENOMEM.as_result()));
    is_well(&rig);
}

#[test]
fn signals_of_requests_that_never_end_have_a_bound() {
    let rig = Rig::new();
    let client = rig.client();
    let file = client.open().unwrap().file;
    let held: Vec<_> = (0..256).map(|_| client.signal(file, 7).unwrap()).collect();
    assert_eq!(client.signal(file, 7).unwrap_err().errno(), Errno::EAGAIN);
    // Those whose request has ended do not count any more.
    client.ioctl(file, RELEASE, &mut [0; 8], &mut Segments::new()).unwrap();
    client.signal(file, 7).unwrap();
    drop(held);
    is_well(&rig);
}

/// Asks without taking answers, at most so many times; how many were taken in.
fn ask_deafly(raw: &OwnedFd, file: u32, times: usize) -> usize {
    (0..times)
        .take_while(|&id| {
            let ask = Ask::Readable { wait: false };
            let message = Request { file, id: id as u64, ask }.to_bytes();
            is_sent_soon(raw, &message, &[])
        })
        .count()
}

/// Whether the daemon makes room for a message within two seconds.
fn is_sent_soon(raw: &OwnedFd, message: &[u8], descriptors: &[BorrowedFd<'_>]) -> bool {
    (0..2000).any(|_| {
        let is_sent = socket::send(raw, message, descriptors, SendFlags::DONTWAIT).is_ok();
        if !is_sent {
            std::thread::sleep(Duration::from_millis(1));
        }
        is_sent
    })
}

#[test]
fn dead_client_whose_own_socket_lies_unread_in_the_daemons_is_let_go() {
    let patience = Duration::from_millis(300);
    let rig = Rig::with(Fake::default(), Settings { patience, ..Settings::default() });
    let opened = || {
        let raw = rig.greeted();
        say(&raw, &Request { file: 0, id: 1, ask: Ask::Open }.to_bytes());
        let file = Answer::read(&hear(&raw).unwrap()).unwrap().file;
        (raw, file)
    };
    // As many as its own end and the daemon's have room for.
    let (raw, file) = opened();
    let both = ask_deafly(&raw, file, 1 << 20);
    drop(raw);
    let (raw, file) = opened();
    // The daemon stops to listen after about half of them, and what comes then lies in its end.
    assert_eq!(ask_deafly(&raw, file, both * 3 / 4), both * 3 / 4);
    let message = Request { file: 0, id: u64::MAX, ask: Ask::AttachArena }.to_bytes();
    assert!(is_sent_soon(&raw, &message, &[raw.as_fd()]));
    drop(raw);
    rig.until(|journal| journal.open.is_empty());
    is_well(&rig);
}
