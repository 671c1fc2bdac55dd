//! Clients that mean well.

use std::os::fd::AsFd;
use std::thread;
use std::time::Duration;

use ane_uapi::ioctl::errno::Errno;
use rustix::fs::fstat;

use super::fake::{ECHO, FAIL, Fake, Journal, RELEASE, WAIT};
use super::{LIMIT, Rig};
use crate::server::Settings;
use ane_driver::front::Segments;
use aned_protocol::EXTENTS_MAX;
use aned_protocol::client::{Client, File};
use aned_protocol::socket;

fn call(client: &Client, file: File, number: u32) -> Result<(), Errno> {
    client.ioctl(file, number, &mut [0; 8], &mut Segments::new()).map_err(|why| why.errno())
}

#[test]
fn ioctl_brings_argument_and_memory_there_and_back() {
    let rig = Rig::new();
    let client = rig.client();
    let file = client.open().unwrap().file;
    let mut argument = [1, 2, 3];
    let mut memory = Segments::new();
    memory.push(0x1000, vec![7; 5]);
    memory.push(0x2000, Vec::new());
    memory.push(0x3000, (0..=255).collect());
    client.ioctl(file, ECHO, &mut argument, &mut memory).unwrap();
    assert_eq!(argument, [3, 2, 1]);
    assert_eq!(memory.read(0x1000, 5), Ok(&[8; 5][..]));
    assert_eq!(memory.read(0x30ff, 1), Ok(&[0][..]));
}

#[test]
fn ioctl_that_fails_brings_back_what_it_wrote() {
    let rig = Rig::new();
    let client = rig.client();
    let file = client.open().unwrap().file;
    let mut argument = [0; 4];
    let why = client.ioctl(file, FAIL, &mut argument, &mut Segments::new()).unwrap_err();
    assert_eq!((why.errno(), argument), (Errno::ENOSPC, [0xee; 4]));
}

#[test]
fn reason_of_a_failure_is_told_to_those_who_hold_the_file() {
    let rig = Rig::new();
    let (client, other) = (rig.client(), rig.client());
    let opened = client.open().unwrap();
    let theirs = other.open().unwrap().file;
    // Fence 101 failed in the first file, fence 102 in the second; they have the same number in their connections.
    assert_eq!(theirs, opened.file);
    let why = "because of this file".to_owned();
    assert_eq!(client.failure(opened.file, 101).unwrap(), Some(why.clone()));
    assert_eq!(client.failure(opened.file, 102).unwrap(), None);
    assert_eq!(other.failure(theirs, 101).unwrap(), None);
    assert_eq!(other.failure(other.attach(opened.token).unwrap(), 101).unwrap(), Some(why));
    assert_eq!(client.failure(File(9), 101).unwrap_err().errno(), Errno::EBADF);
}

#[test]
fn largest_chain_of_the_abi_fits_a_message() {
    let rig = Rig::new();
    let client = rig.client();
    let file = client.open().unwrap().file;
    let mut memory = Segments::new();
    memory.push(1 << 40, vec![1; 128 * 96]);
    for request in 0..128 {
        memory.push(request << 20, vec![2; 32 * 24]);
        memory.push((request << 20) + 0x8000, vec![3; 16 * 8]);
    }
    client.ioctl(file, ECHO, &mut [0; 40], &mut memory).unwrap();
    assert_eq!(memory.changed().count(), 257);
}

#[test]
fn call_that_waits_blocks_neither_its_connection_nor_another() {
    let rig = Rig::new();
    let (one, other) = (rig.client(), rig.client());
    let file = one.open().unwrap().file;
    let others = other.open().unwrap().file;
    thread::scope(|scope| {
        let waiting: Vec<_> = (0..20).map(|_| scope.spawn(|| call(&one, file, WAIT))).collect();
        rig.until(|journal| journal.offers >= 20);
        assert_eq!(call(&one, file, ECHO), Ok(()));
        for _ in 0..20 {
            assert_eq!(call(&other, others, RELEASE), Ok(()));
        }
        for waiting in waiting {
            assert_eq!(waiting.join().unwrap(), Ok(()));
        }
    });
    assert_eq!(rig.seen(|journal| journal.wrong), 0);
}

#[test]
fn call_beyond_those_that_may_wait_is_told_so() {
    let rig = Rig::new();
    let client = rig.client();
    let file = client.open().unwrap().file;
    thread::scope(|scope| {
        let waiting: Vec<_> = (0..128).map(|_| scope.spawn(|| call(&client, file, WAIT))).collect();
        rig.until(|journal| journal.offers >= 128);
        assert_eq!(call(&client, file, WAIT), Err(Errno::EAGAIN));
        client.close(file).unwrap();
        assert!(waiting.into_iter().all(|one| one.join().unwrap() == Err(Errno::EBADF)));
    });
    assert_eq!(rig.seen(|journal| (journal.abandoned, journal.wrong)), (129, 0));
}

#[test]
fn file_that_two_connections_hold_closes_with_the_last() {
    let rig = Rig::new();
    let (parent, child) = (rig.client(), rig.client());
    let opened = parent.open().unwrap();
    let shared = child.attach(opened.token).unwrap();
    drop(parent);
    assert_eq!(call(&child, shared, ECHO), Ok(()));
    assert_eq!(rig.seen(|journal| journal.closed), 0);
    child.close(shared).unwrap();
    assert_eq!(rig.seen(|journal| journal.closed), 1);
    assert_eq!(child.attach(opened.token).unwrap_err().errno(), Errno::ENOENT);
}

#[test]
fn file_is_attached_to_by_its_arena_and_by_no_other_descriptor() {
    let rig = Rig::new();
    let (one, other) = (rig.client(), rig.client());
    let file = one.open().unwrap().file;
    let arena = one.arena(file).unwrap();
    let again = other.attach_arena(arena.as_fd()).unwrap();
    let same = other.arena(again).unwrap();
    assert_eq!(fstat(&arena).unwrap().st_ino, fstat(&same).unwrap().st_ino);
    assert_eq!(other.attach_arena(one.as_fd()).unwrap_err().errno(), Errno::ENOENT);
}

#[test]
fn mapping_in_more_pieces_than_a_message_holds_is_told_whole_and_counts_once() {
    let extents = 2 * EXTENTS_MAX as u64 + 1;
    let rig = Rig::with(Fake::scattered(extents), Settings::default());
    let client = rig.client();
    let file = client.open().unwrap().file;
    let told = client.map(file, 0x10_0000, 0x4000).unwrap();
    let expected: Vec<_> = (0..extents).map(|n| (0x10_0000 + n * 0x8000, 0x4000)).collect();
    assert_eq!(told.iter().map(|one| (one.offset, one.bytes)).collect::<Vec<_>>(), expected);
    assert_eq!(rig.seen(|journal| journal.mappings), 1);
    client.unmap(file, 0x10_0000, 0x4000).unwrap();
    assert_eq!(rig.seen(|journal| journal.mappings), 0);
}

#[test]
fn signal_is_readable_once_the_request_has_ended_and_not_before() {
    let rig = Rig::new();
    let client = rig.client();
    let file = client.open().unwrap().file;
    let signal = client.signal(file, 7).unwrap();
    assert!(!socket::wait(&signal, Some(Duration::ZERO)).unwrap());
    call(&client, file, RELEASE).unwrap();
    assert!(socket::wait(&signal, Some(LIMIT)).unwrap());
    assert_eq!(client.signal(file, 0).unwrap_err().errno(), Errno::ENODATA);
}

#[test]
fn readable_file_is_told_at_once_and_waited_for() {
    let rig = Rig::new();
    let client = rig.client();
    let file = client.open().unwrap().file;
    assert!(!client.is_readable(file).unwrap());
    thread::scope(|scope| {
        let waiting = scope.spawn(|| client.wait_readable(file));
        call(&client, file, RELEASE).unwrap();
        waiting.join().unwrap().unwrap();
    });
    assert!(client.is_readable(file).unwrap());
}

#[test]
fn report_comes_whole_however_long_it_is() {
    let text = "€".repeat(100_000);
    let told = text.clone();
    let settings = Settings {
        report: Some(Box::new(move |_: &mut Fake, what: &str| match what {
            "all" => Ok(told.clone()),
            other => Err(format!("nothing is known of {other}")),
        })),
        ..Settings::default()
    };
    let rig = Rig::with(Fake::default(), settings);
    let client = rig.client();
    assert_eq!(client.report("all").unwrap(), text);
    assert_eq!(client.report("else").unwrap_err().errno(), Errno::EINVAL);
}

#[test]
fn end_of_the_daemon_lets_calls_that_wait_end_and_closes_every_file() {
    let mut rig = Rig::new();
    let (one, other) = (rig.client(), rig.client());
    let file = one.open().unwrap().file;
    let others = other.open().unwrap().file;
    thread::scope(|scope| {
        let waiting = scope.spawn(|| call(&one, file, WAIT));
        rig.until(|journal| journal.offers >= 1);
        rig.stop();
        assert_eq!(waiting.join().unwrap(), Err(Errno::ENODEV));
    });
    assert_eq!(call(&other, others, ECHO), Err(Errno::ENODEV));
    assert_eq!(rig.seen(|journal| (journal.closed, journal.wrong)), (2, 0));
    assert!(!rig.socket().exists());
}

#[test]
fn thousand_files_one_after_the_other_leave_nothing() {
    let rig = Rig::new();
    let client = rig.client();
    for _ in 0..1000 {
        let file = client.open().unwrap().file;
        client.arena(file).unwrap();
        client.close(file).unwrap();
    }
    drop(client);
    rig.until(|journal| journal.open.is_empty());
    assert_eq!(rig.seen(|journal| (journal.closed, journal.wrong)), (1000, 0));
}

#[test]
fn mappings_of_a_client_end_with_it_and_with_its_file_while_others_hold_that() {
    let rig = Rig::new();
    let owner = rig.client();
    let opened = owner.open().unwrap();
    let mappings = |count| move |journal: &Journal| journal.mappings == count;
    owner.map(opened.file, 0, 0x4000).unwrap();
    {
        let other = rig.client();
        let [first, second] = [(); 2].map(|()| other.attach(opened.token).unwrap());
        for (file, offset) in [(first, 0), (first, 0x4000), (first, 0x4000), (second, 0)] {
            other.map(file, offset, 0x4000).unwrap();
        }
        assert_eq!(rig.seen(|journal| journal.mappings), 5);
        let wrong = other.unmap(second, 0x4000, 0x4000).unwrap_err();
        assert_eq!(wrong.errno(), Errno::EINVAL, "it was mapped by the other number");
        other.close(first).unwrap();
        rig.until(mappings(2));
    }
    rig.until(mappings(1));
    assert_eq!(rig.seen(|journal| (journal.closed, journal.wrong)), (0, 0));
    owner.unmap(opened.file, 0, 0x4000).unwrap();
    rig.until(mappings(0));
}
