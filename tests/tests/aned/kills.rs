//! Clients and devices that die at any time, as `kill -9` has them die.

use std::process::{Child, Command, Stdio};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ane_tests::aned::Aned;
use ane_tests::client::{Clients, Loaded};
use ane_tests::command::built;
use ane_tests::daemon::{Daemon, LIMIT, RestartableDaemon};
use ane_tests::null_task::program;
use ane_tests::random::Random;
use ane_tests::remote::Remote;
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::fence::{Fence, TIME_NEVER};
use half::f16;

/// Deaths of one run.
const DEATHS: u32 = 100;

/// Waits until no client has a context.
fn until_free(clients: &mut Clients<Remote>, contexts: u64) {
    let end = Instant::now() + LIMIT;
    let mut free = clients.free_contexts();
    while free != contexts {
        assert!(Instant::now() < end, "{free} of {contexts} contexts are free");
        free = clients.free_contexts();
    }
}

#[test]
fn client_killed_at_any_time_leaves_nothing_and_disturbs_nobody() {
    let device = Daemon::start(&[]);
    let daemon = Aned::start(&device.socket(), &[]);
    let client = built("aned_client");
    let mut random = Random::new(0x0a9e_d001);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let bystander = scope.spawn(|| {
            let mut clients = daemon.clients();
            let file = clients.open();
            let built = program(2);
            let loaded = clients.load(file, &built.program());
            let mut rounds = 0_u32;
            while !is_over.load(Ordering::Relaxed) {
                rounds += 1;
                let value = [f16::from_f32((rounds % 2048) as f32)];
                clients.fill(&loaded, built.surface("x").unwrap(), &value);
                assert_eq!(clients.run(&loaded).result, 0);
                assert_eq!(clients.take(&loaded, built.surface("y").unwrap()), value);
            }
            rounds
        });
        for _ in 0..DEATHS / 4 {
            let mut doomed: Vec<Child> = (0..4)
                .map(|_| Command::new(&client).arg(daemon.socket()).stdout(Stdio::null()).spawn().unwrap())
                .collect();
            for one in &mut doomed {
                thread::sleep(Duration::from_micros(random.below(20_000).into()));
                one.kill().unwrap();
                one.wait().unwrap();
            }
        }
        is_over.store(true, Ordering::Relaxed);
        assert!(bystander.join().unwrap() > 0);
    });
    until_free(&mut daemon.clients(), 8);
    // Nothing is left of them: each of the eight contexts can be had and used.
    let built = program(1);
    let mut all: Vec<_> = (0..8).map(|_| daemon.clients()).collect();
    for clients in &mut all {
        let file = clients.open();
        let loaded = clients.load(file, &built.program());
        assert_eq!(clients.run(&loaded).result, 0);
    }
}

/// How a request ended: `Ok`, or the error that its fence holds. While the device is lost every call says so, a wait
/// too; the fence is asked again then, until it says how the request ended.
fn outcome(clients: &mut Clients<Remote>, loaded: &Loaded) -> Result<(), Errno> {
    let fence = clients.submit(loaded)?;
    let end = Instant::now() + LIMIT;
    loop {
        assert!(Instant::now() < end, "the device was not found again");
        match clients.wait_until(loaded.file, fence, TIME_NEVER as i64) {
            Ok(Fence { result: 0, .. }) => return Ok(()),
            Ok(Fence { result, .. }) => return Err(result.unsigned_abs().try_into().expect("it has a name")),
            Err(Errno::ENODEV) => thread::sleep(Duration::from_millis(1)),
            Err(other) => panic!("a wait ended with {}", other.name()),
        }
    }
}

/// Runs until a run succeeds; counts those that did not.
fn run_until_done(clients: &mut Clients<Remote>, loaded: &Loaded, lost: &AtomicU32) {
    let end = Instant::now() + LIMIT;
    while let Err(why) = outcome(clients, loaded) {
        assert_eq!(why, Errno::ENODEV);
        assert!(Instant::now() < end, "the device was not found again");
        lost.fetch_add(1, Ordering::Relaxed);
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn device_killed_at_any_time_ends_every_request_with_a_name_and_is_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut device = RestartableDaemon::start(&folder.path().join("ane.sock"));
    let daemon = Aned::start(&device.socket, &[]);
    let built = program(4);
    let (is_over, lost, runs) = (AtomicBool::new(false), AtomicU32::new(0), AtomicU32::new(0));
    // A client's first objects are made while the device lives: they cannot be made later.
    let ready = Barrier::new(4);
    let mut random = Random::new(0x0a9e_d002);
    thread::scope(|scope| {
        for number in 0..3_u32 {
            let (daemon, built, ready, is_over, lost, runs) =
                (&daemon, &built, &ready, &is_over, &lost, &runs);
            scope.spawn(move || {
                let mut clients = daemon.clients();
                let file = clients.open();
                let loaded = clients.load(file, &built.program());
                ready.wait();
                let mut value = number;
                while !is_over.load(Ordering::Relaxed) {
                    value = (value + 3) % 2048;
                    let bits = [f16::from_f32(value as f32)];
                    clients.fill(&loaded, built.surface("x").unwrap(), &bits);
                    run_until_done(&mut clients, &loaded, lost);
                    assert_eq!(clients.take(&loaded, built.surface("y").unwrap()), bits);
                    runs.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        ready.wait();
        for _ in 0..DEATHS {
            thread::sleep(Duration::from_micros(random.below(10_000).into()));
            device.restart();
            // Three may have ended before it died and are counted behind it; the fourth ran afterwards.
            let before = runs.load(Ordering::Relaxed);
            let end = Instant::now() + LIMIT;
            while runs.load(Ordering::Relaxed) < before + 4 {
                assert!(Instant::now() < end, "nothing runs any more");
                thread::sleep(Duration::from_millis(1));
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert!(lost.load(Ordering::Relaxed) > 0, "no death was noticed");
    until_free(&mut daemon.clients(), 8);
}
