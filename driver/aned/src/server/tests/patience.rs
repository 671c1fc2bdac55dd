//! Calls that take long, and daemons that hang.

use std::thread;
use std::time::{Duration, Instant};

use super::fake::{RELEASE, WAIT};
use super::{Rig, greet, hear, say};
use ane_driver::front::Segments;
use ane_uapi::ioctl::errno::Errno;
use aned_protocol::client::{Client, ClientError, Settings};
use aned_protocol::request::{Ask, Request};
use aned_protocol::{Kind, answer, socket};
use rustix::net::{RecvFlags, SendFlags};

/// Short, and yet longer than a daemon on a busy machine needs to say that it lives.
const SHORT: Settings = Settings { poll: Duration::ZERO, patience: Duration::from_secs(1) };
/// An error comes before this, however busy the machine is.
const BOUND: Duration = Duration::from_secs(15);

#[test]
fn call_that_takes_long_is_waited_for_while_the_daemon_lives() {
    let rig = Rig::new();
    let client = Client::connect(&rig.socket(), SHORT).unwrap();
    let file = client.open().unwrap().file;
    let start = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(3 * SHORT.patience);
            let other = rig.client();
            let file = other.open().unwrap().file;
            other.ioctl(file, RELEASE, &mut [], &mut Segments::new()).unwrap();
        });
        client.ioctl(file, WAIT, &mut [0; 8], &mut Segments::new()).unwrap();
    });
    assert!(start.elapsed() >= 3 * SHORT.patience);
    assert!(client.open().is_ok(), "the connection is as it was");
}

#[test]
fn daemon_that_hangs_with_the_connection_open_is_an_error_in_bounded_time() {
    let (here, there) = socket::pair().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| greet(&there));
        let client = Client::over(here, SHORT).unwrap();
        for _ in 0..2 {
            let start = Instant::now();
            let why = client.open().unwrap_err();
            assert!(matches!(&why, ClientError::Gone(why) if why.contains("did not answer")), "{why}");
            assert!(start.elapsed() < BOUND);
        }
    });
}

/// The first of two calls is answered when the question had no room, and nothing comes for a while behind that.
#[test]
fn daemon_that_had_no_room_for_the_question_is_asked_when_it_is_silent_again() {
    let (here, there) = socket::pair().unwrap();
    let also_here = here.try_clone().unwrap();
    let answer = |kind, id, result, body: &[u8]| {
        let mut message = Vec::new();
        answer::begin(&mut message, kind, u32::from(result == Ok(())), id, result);
        message.extend_from_slice(body);
        say(&there, &message);
    };
    let heard = || Request::read(&hear(&there).unwrap()).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            greet(&there);
            let calls = [heard().id, heard().id];
            while socket::send(&also_here, &[0; 16], &[], SendFlags::DONTWAIT).is_ok() {}
            thread::sleep(SHORT.patience * 3 / 2);
            let mut buffer = [0; 64];
            while socket::receive(&there, &mut buffer, RecvFlags::DONTWAIT).is_ok() {}
            answer(Kind::Open, calls[0], Ok(()), &[1; 16]);
            let asked = heard();
            assert_eq!(asked.ask, Ask::Readable { wait: false });
            answer(Kind::Readable, asked.id, Err(Errno::EBADF), &[]);
            answer(Kind::Open, calls[1], Ok(()), &[2; 16]);
        });
        let client = Client::over(here, SHORT).unwrap();
        thread::scope(|callers| {
            let calls = [callers.spawn(|| client.open()), callers.spawn(|| client.open())];
            for call in calls {
                call.join().unwrap().unwrap();
            }
        });
    });
}

#[test]
fn daemon_that_takes_no_messages_is_an_error_in_bounded_time() {
    let (here, there) = socket::pair().unwrap();
    let start = Instant::now();
    let why = Client::over(here, SHORT).unwrap_err();
    assert!(why.to_string().contains("did not answer"), "{why}");
    assert!(start.elapsed() < BOUND);
    drop(there);
}
