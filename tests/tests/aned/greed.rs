//! Users of one machine: one takes all that there is to take, and the next is served all the same.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use ane_driver::front::Files;
use ane_tests::aned::Aned;
use ane_tests::daemon::{Daemon, LIMIT};
use ane_tests::lingering::Lingering;
use ane_tests::stranger;
use ane_uapi::ioctl::errno::Errno;
use aned_protocol::MESSAGE_MAX;
use aned_protocol::answer::Answer;
use aned_protocol::request::{Ask, Request};
use aned_protocol::socket::{self, Arrival};
use rustix::net::{RecvFlags, SendFlags};

/// Users that nothing here belongs to.
const GREEDY: u32 = 60_001;
const NEXT: u32 = 60_002;
const LAST: u32 = 60_003;

/// A daemon for everybody, before its device.
fn daemon() -> (Daemon, Aned) {
    let device = Daemon::start(&[]);
    let daemon = Aned::start(&device.socket(), &["--mode", "666"]);
    (device, daemon)
}

fn say(socket: &OwnedFd, request: &Request, descriptors: &[BorrowedFd<'_>]) -> rustix::io::Result<()> {
    socket::send(socket, &request.to_bytes(), descriptors, SendFlags::empty())
}

/// The daemon's answer, as a number: 0, or the negative error.
fn asked(socket: &OwnedFd, request: &Request) -> i32 {
    say(socket, request, &[]).expect("it listens");
    let mut room = vec![0; MESSAGE_MAX];
    assert!(socket::wait(socket, Some(LIMIT)).expect("it can be waited for"), "nothing was said in time");
    let arrival = socket::receive(socket, &mut room, RecvFlags::empty()).expect("it answers");
    let Arrival::Message { bytes, .. } = arrival else { panic!("{arrival:?}") };
    Answer::read(&room[..bytes]).expect("it is one").result
}

/// How many of a user's connections get a place in a context, each for a file of its own; and what the others are told.
fn takes(connections: &[OwnedFd]) -> (usize, Vec<i32>) {
    let take = |socket: &OwnedFd| {
        assert_eq!(asked(socket, &Request::hello(1)), 0);
        assert_eq!(asked(socket, &Request { file: 0, id: 2, ask: Ask::Open }), 0);
        asked(socket, &Request { file: 1, id: 3, ask: Ask::Arena })
    };
    let (taken, refused): (Vec<i32>, Vec<i32>) =
        connections.iter().map(take).partition(|&result| result == 0);
    (taken.len(), refused)
}

#[test]
fn user_who_wants_all_contexts_leaves_some_to_the_next_and_the_next_to_the_one_behind() {
    let (_device, daemon) = daemon();
    let mut owner = daemon.clients();
    let Some(greedy) = stranger::dials(&daemon.socket(), GREEDY, 9) else { return };
    assert_eq!((takes(&greedy), owner.free_contexts()), ((9, vec![]), 4), "the other five share his four");
    let next = stranger::dials(&daemon.socket(), NEXT, 3).expect("as before");
    assert_eq!((takes(&next), owner.free_contexts()), ((3, vec![]), 2), "the third shares his two");
    for _ in 0..2 {
        let file = owner.open();
        owner.driver.arena(file).expect("two are left");
    }
    let last = stranger::dials(&daemon.socket(), LAST, 2).expect("as before");
    assert_eq!(takes(&last[..1]), (0, vec![Errno::EBUSY.as_result()]), "and shares nobody else's");
    drop(greedy);
    let end = Instant::now() + LIMIT;
    while owner.free_contexts() != 4 {
        assert!(Instant::now() < end, "what the first had is free");
    }
    assert_eq!((takes(&last[1..]), owner.free_contexts()), ((1, vec![]), 3));
}

/// Passes a descriptor on and keeps none; a system that can tell lets none pass beyond the sender's share of threads.
fn pass(connection: &OwnedFd, lingering: &mut Lingering) {
    let _ = say(connection, &Request { file: 0, id: 2, ask: Ask::AttachArena }, &[lingering.as_fd()]);
    lingering.let_go();
}

#[test]
fn stranger_whose_descriptors_take_for_ever_to_close_has_some_threads_and_keeps_nobody_out() {
    let (_device, daemon) = daemon();
    let start = Instant::now();
    let mut passed = Vec::new();
    // More than the threads that there are for all.
    for _ in 0..60 {
        let Some(connections) = stranger::dials(&daemon.socket(), GREEDY, 10) else { return };
        for connection in &connections {
            assert_eq!(asked(connection, &Request::hello(1)), 0);
        }
        for connection in &connections {
            let mut lingering = Lingering::connect();
            pass(connection, &mut lingering);
            passed.push(lingering);
        }
    }
    let threads = std::fs::read_dir(format!("/proc/{}/task", daemon.pid())).expect("it runs").count();
    assert!((100..300).contains(&threads), "{threads} threads");
    let next = stranger::dials(&daemon.socket(), NEXT, 2).expect("as before");
    assert_eq!(takes(&next).0, 2);
    let mut owner = daemon.clients();
    let file = owner.open();
    owner.driver.arena(file).expect("contexts are free");
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}
