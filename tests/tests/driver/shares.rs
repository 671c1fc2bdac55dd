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
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::request::{REQUEST_NONBLOCK, SUBMIT_REQUEST};

use super::rig::{MEMORY, result};

/// How long a request may take here.
const LONGEST: Duration = Duration::from_millis(500);

fn open(rig: &mut Clients<Driver<VhostUser>>, user: u32) -> FileId {
    let user = User { id: user, is_privileged: false };
    rig.driver.open(Credentials { process: user.id, user }).unwrap()
}

#[test]
fn user_whose_requests_hang_leaves_others_their_share() {
    // Products are computed one by one there, so the long program takes far longer than a request may.
    let daemon = Daemon::start(&["--numerics", "exact"]);
    let settings = Settings { memory_bytes: MEMORY, timeout: LIMIT, ..Settings::default() };
    let mut driver = Driver::probe(VhostUser::connect(&daemon.socket(), settings).unwrap()).unwrap();
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
        // What takes longer than this waited for somebody.
        ran += one.elapsed().min(Duration::from_millis(20));
    }
    // Half is fair, and each of the two has a request that it may finish when the time is over.
    assert!(ran >= end * 2 / 5 - LONGEST, "{results} results, {ran:?} of {end:?}");
    let first = hanging.first().copied().unwrap();
    assert_eq!(result(&rig.wait(first.0, first.1)), Err(Errno::ETIME), "nobody has the engine for longer");
}

#[test]
fn users_whose_requests_hang_are_parked_and_told_so() {
    let daemon = Daemon::start(&["--numerics", "exact"]);
    let settings = Settings { memory_bytes: MEMORY, timeout: LIMIT, ..Settings::default() };
    let mut driver = Driver::probe(VhostUser::connect(&daemon.socket(), settings).unwrap()).unwrap();
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
    // A fourth of the time would be fair, and is what there was before files were parked.
    assert!(ran >= end * 2 / 5, "{ran:?} of {end:?}");
    let told = report(&mut rig.driver, "contexts").unwrap();
    assert_eq!(told.matches("its request hung").count(), 3, "{told}");
}

#[test]
fn request_or_user_beyond_the_limits_is_refused_by_number() {
    let daemon = Daemon::start(&[]);
    let settings = Settings { memory_bytes: MEMORY, timeout: LIMIT, ..Settings::default() };
    let mut driver = Driver::probe(VhostUser::connect(&daemon.socket(), settings).unwrap()).unwrap();
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
