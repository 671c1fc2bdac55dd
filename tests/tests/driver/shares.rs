//! Shares of the engine: what one user does to another one's requests.

use std::time::{Duration, Instant};

use ane_driver::Driver;
use ane_driver::bus::vhost_user::{Settings, VhostUser};
use ane_driver::front::{Credentials, FileId, Files, User};
use ane_driver::limits::Limits;
use ane_driver::report::report;
use ane_tests::client::{Clients, Loaded};
use ane_tests::daemon::{Daemon, LIMIT};
use ane_tests::long_task::endless;
use ane_tests::null_task;
use ane_uapi::ioctl::context::{CONTEXT_ANY, CONTEXT_ATTACH, ContextAttach, ContextPolicy};
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::fence::{CANCEL, CANCEL_RUNNING, Cancel};
use ane_uapi::ioctl::param::CHAIN_MAX;
use ane_uapi::ioctl::request::{Chain, REQUEST_NONBLOCK, Request, SUBMIT_CHAIN, SUBMIT_REQUEST};
use nix::time::{ClockId, clock_gettime};
use zerocopy::{FromZeros, IntoBytes};

use super::rig::{EmbeddedClients, MEMORY, result, rig};

/// How long a request may take here.
const LONGEST: Duration = Duration::from_millis(500);

/// Where a client has the requests of a chain.
const CHAIN: u64 = 0x10_0000;

fn probe(daemon: &Daemon) -> Driver<VhostUser> {
    let settings = Settings { memory_bytes: MEMORY, timeout: LIMIT, ..Settings::default() };
    Driver::probe(VhostUser::connect(&daemon.socket(), settings).unwrap()).unwrap()
}

fn open(rig: &mut Clients<Driver<VhostUser>>, user: u32) -> FileId {
    let user = User { id: user, is_privileged: false };
    rig.driver.open(Credentials { process: user.id, user }).unwrap()
}

#[test]
fn user_whose_requests_hang_leaves_others_their_share() {
    // Products are computed one by one there, so the long program takes far longer than a request may.
    let daemon = Daemon::start(&["--numerics", "exact"]);
    let mut driver = probe(&daemon);
    driver.limit(Limits { request_time: Some(LONGEST), ..Limits::default() });
    let mut rig = Clients::new(driver);
    let (null, endless) = (null_task::program(1), endless());
    let (null, endless) = (null.program(), endless.program());
    let victim = open(&mut rig, 1002);
    let short = rig.load(victim, &null);
    // Three clients of another user, each with more than anybody waits for.
    let mut hanging = Vec::new();
    for _ in 0..3 {
        let file = open(&mut rig, 1001);
        let long = rig.load(file, &endless);
        hanging.extend((0..4).map(|_| (file, rig.submit(&long).unwrap())));
    }
    let (start, end) = (Instant::now(), Duration::from_secs(4));
    let (mut ran, mut results) = (Duration::ZERO, 0);
    while start.elapsed() < end {
        let one = Instant::now();
        assert_eq!(result(&rig.run(&short)), Ok(()));
        results += 1;
        // A request that takes longer than this waited for somebody.
        ran += one.elapsed().min(Duration::from_millis(20));
    }
    // Half is fair, and each of the two has a request that it may finish when the time is over.
    assert!(ran >= end * 2 / 5 - LONGEST, "{results} results, {ran:?} of {end:?}");
    let first = hanging.first().copied().unwrap();
    assert_eq!(result(&rig.wait(first.0, first.1)), Err(Errno::ETIME), "nobody has the engine for longer");
}

#[test]
fn users_whose_requests_hang_have_a_penalty_and_are_told_so() {
    let daemon = Daemon::start(&["--numerics", "exact"]);
    let mut driver = probe(&daemon);
    driver.limit(Limits { request_time: Some(LONGEST / 2), ..Limits::default() });
    let mut rig = Clients::new(driver);
    let (null, endless) = (null_task::program(1), endless());
    let (null, endless) = (null.program(), endless.program());
    let victim = open(&mut rig, 1000);
    let short = rig.load(victim, &null);
    for user in 1001..1004 {
        let file = open(&mut rig, user);
        let long = rig.load(file, &endless);
        for _ in 0..4 {
            rig.submit(&long).unwrap();
        }
    }
    let (start, end) = (Instant::now(), Duration::from_secs(8));
    let mut ran = Duration::ZERO;
    while start.elapsed() < end {
        let one = Instant::now();
        assert_eq!(result(&rig.run(&short)), Ok(()));
        ran += one.elapsed().min(Duration::from_millis(20));
    }
    // A fourth of the time would be fair, and is what there was before there were penalties.
    assert!(ran >= end * 2 / 5, "{ran:?} of {end:?}");
    let told = report(&mut rig.driver, "contexts").unwrap();
    assert_eq!(told.matches("its request hung").count(), 3, "{told}");
}

#[test]
fn users_whose_requests_hang_to_a_deadline_of_their_own_have_one_too() {
    let daemon = Daemon::start(&["--numerics", "exact"]);
    let mut rig = Clients::new(probe(&daemon));
    let (null, endless) = (null_task::program(1), endless());
    let (null, endless) = (null.program(), endless.program());
    let victim = open(&mut rig, 1000);
    let short = rig.load(victim, &null);
    let files: Vec<Loaded> = (1001..1004)
        .map(|user| {
            let file = open(&mut rig, user);
            rig.load(file, &endless)
        })
        .collect();
    let (start, end) = (Instant::now(), Duration::from_secs(8));
    let (mut ran, mut next) = (Duration::ZERO, start);
    while start.elapsed() < end {
        if Instant::now() >= next {
            next = Instant::now() + LONGEST / 2;
            for long in &files {
                let (mut request, mut memory) = long.request();
                request.flags |= REQUEST_NONBLOCK;
                request.deadline_ns = after(LONGEST / 2) as u64;
                let _ = rig.ioctl_with(long.file, &SUBMIT_REQUEST, &mut request, &mut memory);
            }
        }
        let one = Instant::now();
        assert_eq!(result(&rig.run(&short)), Ok(()));
        ran += one.elapsed().min(Duration::from_millis(20));
    }
    assert!(ran >= end * 2 / 5, "{ran:?} of {end:?}");
}

#[test]
fn user_who_takes_back_a_request_that_hung_has_a_penalty() {
    let daemon = Daemon::start(&["--numerics", "exact"]);
    let mut rig = Clients::new(probe(&daemon));
    let (null, endless) = (null_task::program(1), endless());
    let (null, endless) = (null.program(), endless.program());
    let [victim, cancels, closes] = [1000, 1001, 1002].map(|user| open(&mut rig, user));
    let short = rig.load(victim, &null);
    let (first, second) = (rig.load(cancels, &endless), rig.load(closes, &endless));
    let penalties = |rig: &mut Clients<Driver<VhostUser>>| {
        // Only while somebody else is at work.
        assert_eq!(result(&rig.run(&short)), Ok(()));
        report(&mut rig.driver, "contexts").unwrap().matches("its request hung").count()
    };
    let fence = rig.submit(&first).unwrap();
    let waits = rig.submit(&short).unwrap();
    rig.wait_until(cancels, fence, after(LONGEST)).unwrap_err();
    let mut hard = Cancel { fence, flags: CANCEL_RUNNING, ..Cancel::new_zeroed() };
    rig.ioctl(cancels, &CANCEL, &mut hard).unwrap();
    assert_eq!(result(&rig.wait(cancels, fence)), Err(Errno::ECANCELED));
    assert_eq!(result(&rig.wait(victim, waits)), Ok(()));
    assert_eq!(penalties(&mut rig), 1);
    let fence = rig.submit(&second).unwrap();
    let waits = rig.submit(&short).unwrap();
    rig.wait_until(closes, fence, after(LONGEST)).unwrap_err();
    rig.driver.close(closes);
    assert_eq!(result(&rig.wait(victim, waits)), Ok(()));
    let again = open(&mut rig, 1002);
    rig.load(again, &endless);
    assert_eq!(penalties(&mut rig), 2);
}

#[test]
fn user_with_as_many_requests_as_there_may_be_leaves_room_for_others() {
    let mut rig = rig();
    let null = null_task::program(1);
    let null = null.program();
    let open = |rig: &mut EmbeddedClients, user: u32| {
        let user = User { id: user, is_privileged: false };
        rig.driver.open(Credentials { process: user.id, user }).unwrap()
    };
    let submit = |rig: &mut EmbeddedClients, loaded: &Loaded| {
        let (request, mut memory) = loaded.request();
        memory.push(CHAIN, vec![request; CHAIN_MAX as usize].as_bytes().to_vec());
        let mut chain = Chain {
            requests: CHAIN,
            request_count: CHAIN_MAX,
            request_size: size_of::<Request>() as u32,
            flags: REQUEST_NONBLOCK,
            ..Chain::new_zeroed()
        };
        rig.ioctl_with(loaded.file, &SUBMIT_CHAIN, &mut chain, &mut memory)
    };
    // Nothing starts before the driver gets to run, so all of them are there together.
    for _ in 0..9 {
        let file = open(&mut rig, 1001);
        let mut attach = ContextAttach {
            policy: ContextPolicy::Share as u32,
            context: CONTEXT_ANY,
            ..ContextAttach::new_zeroed()
        };
        rig.ioctl(file, &CONTEXT_ATTACH, &mut attach).unwrap();
        let loaded = rig.load(file, &null);
        while submit(&mut rig, &loaded).is_ok() {}
    }
    let other = open(&mut rig, 1002);
    let loaded = rig.load(other, &null);
    assert_eq!(submit(&mut rig, &loaded), Ok(()));
}

/// When so much time has passed, on the driver's clock.
fn after(span: Duration) -> i64 {
    let now = Duration::from(clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap());
    (now + span).as_nanos() as i64
}

#[test]
fn request_or_user_beyond_the_limits_is_refused_by_number() {
    let daemon = Daemon::start(&[]);
    let mut driver = probe(&daemon);
    driver.limit(Limits { request_tasks: Some(4), user_tasks: Some(6), ..Limits::default() });
    let mut rig = Clients::new(driver);
    let (four, five) = (null_task::program(4), null_task::program(5));
    let file = open(&mut rig, 1001);
    let (allowed, refused) = (rig.load(file, &four.program()), rig.load(file, &five.program()));
    assert_eq!(rig.submit(&refused), Err(Errno::E2BIG));
    assert_eq!(result(&rig.run(&allowed)), Ok(()));
    let next = open(&mut rig, 1002);
    let others = rig.load(next, &four.program());
    let mut submit = |loaded: &Loaded| {
        let (mut request, mut memory) = loaded.request();
        request.flags |= REQUEST_NONBLOCK;
        rig.ioctl_with(loaded.file, &SUBMIT_REQUEST, &mut request, &mut memory)
    };
    // The device is told of nothing before the driver gets to run, so these wait together.
    assert_eq!([submit(&allowed), submit(&allowed)], [Ok(()); 2]);
    assert_eq!(submit(&allowed), Err(Errno::EAGAIN));
    assert_eq!(submit(&others), Ok(()), "another user has his own");
}
