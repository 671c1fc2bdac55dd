//! A device that misbehaves: queues that get stuck, interrupts that are lost, completions that name nobody, and a
//! process that is gone.

use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use ane_driver::Driver;
use ane_driver::bus::vhost_user::{Settings, VhostUser};
use ane_driver::front::{Credentials, Files, User};
use ane_tests::client::Clients;
use ane_tests::daemon::{Daemon, LIMIT, RestartableDaemon};
use ane_tests::null_task;
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::fence::{CANCEL, CANCEL_RUNNING, Cancel};
use ane_uapi::ioctl::stats::Counter;
use nix::sys::socket::{Backlog, listen};
use zerocopy::FromZeros;

use super::rig::{assert_sum, counter, inject, result, rig, sum};

#[test]
fn request_whose_interrupt_was_lost_completes_all_the_same() {
    let mut rig = rig();
    let file = rig.open();
    let Some(loaded) = sum(&mut rig, file) else { return };
    inject(&mut rig, "lost-interrupt:1");
    let fence = rig.run(&loaded);
    assert_eq!(result(&fence), Ok(()), "before its deadline");
    assert_sum(&mut rig, &loaded);
}

#[test]
fn lost_interrupts_of_many_requests_lose_no_completion() {
    let mut rig = rig();
    let file = rig.open();
    let Some(loaded) = sum(&mut rig, file) else { return };
    inject(&mut rig, "lost-interrupt:3");
    let fences: Vec<u64> = (0..20).map(|_| rig.submit(&loaded).unwrap()).collect();
    for fence in fences {
        assert_eq!(result(&rig.wait(file, fence)), Ok(()));
    }
    assert_eq!(counter(&mut rig, file, false, Counter::Completed), 20);
}

#[test]
fn completion_that_names_nobody_ends_its_request_with_a_named_error() {
    let mut rig = rig();
    let file = rig.open();
    let Some(loaded) = sum(&mut rig, file) else { return };
    inject(&mut rig, "corrupted-completion:1");
    assert_eq!(result(&rig.run(&loaded)), Err(Errno::EIO));
    assert_eq!(result(&rig.run(&loaded)), Ok(()));
}

#[test]
fn queue_that_is_stuck_ends_its_request_by_the_devices_deadline_and_the_next_one_runs() {
    let mut rig = rig();
    let file = rig.open();
    let Some(loaded) = sum(&mut rig, file) else { return };
    inject(&mut rig, "stuck-queue");
    let (stuck, next) = (rig.submit(&loaded).unwrap(), rig.submit(&loaded).unwrap());
    let start = Instant::now();
    assert_eq!(result(&rig.wait(file, stuck)), Err(Errno::ETIME));
    assert!((Duration::from_millis(1500)..LIMIT).contains(&start.elapsed()));
    assert_eq!(result(&rig.wait(file, next)), Ok(()));
    assert_eq!(counter(&mut rig, file, false, Counter::TimedOut), 1);
}

#[test]
fn device_that_says_nothing_when_it_is_looked_for_keeps_nobody_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ane.sock");
    let mut device = RestartableDaemon::start(&path);
    // A device has this long for everything but that.
    let settings = Settings { timeout: LIMIT, ..Settings::default() };
    let mut rig = Clients::new(Driver::probe(VhostUser::connect(&path, settings).unwrap()).unwrap());
    let file = rig.open();
    let loaded = rig.load(file, &null_task::program(1).program());
    device.kill();
    std::fs::remove_file(&path).unwrap();
    // There is room for one connection that waits, and nobody takes it.
    let silent = UnixListener::bind(&path).unwrap();
    listen(&silent, Backlog::new(0).unwrap()).unwrap();
    let start = Instant::now();
    let who = Credentials { process: 1, user: User { id: 1, is_privileged: false } };
    for _ in 0..5 {
        rig.driver.progress(LIMIT);
        assert_eq!(rig.driver.open(who), Err(Errno::ENODEV));
    }
    assert!(start.elapsed() < LIMIT, "{:?}", start.elapsed());
    drop(silent);
    std::fs::remove_file(&path).unwrap();
    let _device = RestartableDaemon::start(&path);
    let end = Instant::now() + LIMIT;
    while rig.driver.open(who).is_err() {
        assert!(Instant::now() < end, "the device was not found again");
        rig.driver.progress(LIMIT);
    }
    assert_eq!(result(&rig.run(&loaded)), Ok(()));
}

#[test]
fn request_that_is_stuck_is_cancelled_and_the_one_behind_it_runs_untouched() {
    let mut rig = rig();
    let (file, other) = (rig.open(), rig.open());
    let Some(loaded) = sum(&mut rig, file) else { return };
    let Some(others) = sum(&mut rig, other) else { return };
    inject(&mut rig, "stuck-queue");
    let stuck = rig.submit(&loaded).unwrap();
    let behind = rig.submit(&others).unwrap();
    rig.settle();
    let mut soft = Cancel { fence: stuck, ..Cancel::new_zeroed() };
    assert_eq!(rig.ioctl(file, &CANCEL, &mut soft), Err(Errno::EBUSY));
    let mut hard = Cancel { fence: stuck, flags: CANCEL_RUNNING, ..Cancel::new_zeroed() };
    assert_eq!(rig.ioctl(file, &CANCEL, &mut hard), Ok(()));
    assert_eq!(result(&rig.wait(file, stuck)), Err(Errno::ECANCELED));
    assert_eq!(result(&rig.wait(other, behind)), Ok(()));
    assert_sum(&mut rig, &others);
    assert_eq!(rig.ioctl(file, &CANCEL, &mut hard), Err(Errno::EALREADY));
}

#[test]
fn queue_that_does_not_let_go_has_the_device_reset_and_what_had_not_started_runs() {
    let mut rig = rig();
    let (file, other) = (rig.open(), rig.open());
    let Some(loaded) = sum(&mut rig, file) else { return };
    let Some(others) = sum(&mut rig, other) else { return };
    inject(&mut rig, "stuck-queue");
    inject(&mut rig, "ignored-abort");
    let (stuck, behind) = (rig.submit(&loaded).unwrap(), rig.submit(&others).unwrap());
    rig.settle();
    let start = Instant::now();
    let mut hard = Cancel { fence: stuck, flags: CANCEL_RUNNING, ..Cancel::new_zeroed() };
    assert_eq!(rig.ioctl(file, &CANCEL, &mut hard), Ok(()));
    assert_eq!(result(&rig.wait(file, stuck)), Err(Errno::ECANCELED));
    assert!((Duration::from_millis(240)..LIMIT).contains(&start.elapsed()));
    assert_eq!(result(&rig.wait(other, behind)), Ok(()));
    assert_sum(&mut rig, &others);
    assert_eq!(counter(&mut rig, file, true, Counter::Recoveries), 1);
}

#[test]
fn file_that_is_closed_over_a_queue_that_does_not_let_go_is_gone_with_the_reset() {
    let mut rig = rig();
    let (file, other) = (rig.open(), rig.open());
    let Some(loaded) = sum(&mut rig, file) else { return };
    let Some(others) = sum(&mut rig, other) else { return };
    inject(&mut rig, "stuck-queue");
    inject(&mut rig, "ignored-abort");
    let (stuck, behind) = (rig.submit(&loaded).unwrap(), rig.submit(&others).unwrap());
    rig.settle();
    // The file goes while its request is with a queue that does not let go of it.
    rig.driver.close(file);
    assert!(rig.driver.contexts().len() == 2, "its context is in use until the device is reset");
    assert_eq!(result(&rig.wait(other, behind)), Ok(()));
    assert_eq!(rig.driver.contexts().len(), 1);
    assert_eq!(rig.wait_until(file, stuck, 0), Err(Errno::ENODEV));
}

#[test]
fn file_that_is_closed_behind_a_request_that_is_stuck_is_gone_once_the_queue_lets_go() {
    let mut rig = rig();
    let (file, other) = (rig.open(), rig.open());
    let Some(loaded) = sum(&mut rig, file) else { return };
    let Some(others) = sum(&mut rig, other) else { return };
    inject(&mut rig, "stuck-queue");
    let (stuck, _) = (rig.submit(&others).unwrap(), rig.submit(&loaded).unwrap());
    rig.settle();
    // Its request in the queue is behind another file's, which must not be removed with it.
    rig.driver.close(file);
    rig.settle();
    assert_eq!(rig.driver.contexts().len(), 2);
    assert_eq!(result(&rig.wait(other, stuck)), Err(Errno::ETIME), "by the device's deadline");
    rig.settle();
    assert_eq!(rig.driver.contexts().len(), 1);
    assert_eq!(result(&rig.run(&others)), Ok(()));
}

#[test]
fn request_behind_another_that_is_cancelled_does_not_take_the_first_along() {
    let mut rig = rig();
    let (file, other) = (rig.open(), rig.open());
    let Some(loaded) = sum(&mut rig, file) else { return };
    let Some(others) = sum(&mut rig, other) else { return };
    let first = rig.submit(&others).unwrap();
    let second = rig.submit(&loaded).unwrap();
    // Both are with the device now.
    rig.driver.push();
    let mut hard = Cancel { fence: second, flags: CANCEL_RUNNING, ..Cancel::new_zeroed() };
    assert_eq!(rig.ioctl(file, &CANCEL, &mut hard), Ok(()));
    assert_eq!(result(&rig.wait(other, first)), Ok(()));
    assert_eq!(result(&rig.wait(file, second)), Err(Errno::ECANCELED));
}

#[test]
fn file_that_is_closed_at_any_moment_ends_no_request_of_another() {
    let daemon = Daemon::start(&[]);
    let settings = Settings { memory_bytes: super::rig::MEMORY, timeout: LIMIT, ..Settings::default() };
    let bus = VhostUser::connect(&daemon.socket(), settings).unwrap();
    let mut rig = Clients::new(Driver::probe(bus).unwrap());
    let victim = rig.open();
    let innocent = rig.load(victim, &null_task::program(1).program());
    let mut lost = Vec::new();
    for round in 0..2000u32 {
        let file = rig.open();
        let doomed = rig.load(file, &null_task::program(1).program());
        rig.submit(&doomed).unwrap();
        let fence = rig.submit(&innocent).unwrap();
        rig.driver.push();
        // The abort reaches the device before the doomed request, while it runs, or when the other one has begun.
        let start = Instant::now();
        while start.elapsed() < Duration::from_nanos(u64::from(round % 100) * 1000) {
            std::hint::spin_loop();
        }
        rig.driver.close(file);
        let ended = result(&rig.wait(victim, fence));
        lost.extend(ended.err().map(|errno| (round, errno)));
    }
    assert_eq!(lost, []);
}

#[test]
fn deadline_of_a_request_aborts_it_wherever_it_is() {
    let mut rig = rig();
    let file = rig.open();
    let Some(loaded) = sum(&mut rig, file) else { return };
    inject(&mut rig, "stuck-queue");
    let now = super::rig::param(&mut rig, file, ane_uapi::ioctl::param::Param::ClockNs);
    let fences: Vec<u64> = (0..4)
        .map(|_| {
            let (mut request, mut memory) = loaded.request();
            request.deadline_ns = now + 50_000_000;
            let submit = &ane_uapi::ioctl::request::SUBMIT_REQUEST;
            rig.ioctl_with(file, submit, &mut request, &mut memory).unwrap();
            request.out_fence
        })
        .collect();
    let start = Instant::now();
    for fence in fences {
        assert_eq!(result(&rig.wait(file, fence)), Err(Errno::ETIME));
    }
    assert!(start.elapsed() < Duration::from_millis(1900), "before the device's own deadline");
    assert_eq!(result(&rig.run(&loaded)), Ok(()));
}

#[test]
fn device_whose_process_is_killed_ends_what_is_in_flight_and_is_found_again_with_all_buffers() {
    let daemon = Daemon::start(&["--inject", "stuck-queue"]);
    let socket = daemon.socket();
    let settings = Settings { memory_bytes: super::rig::MEMORY, timeout: LIMIT, ..Settings::default() };
    let mut rig = Clients::new(Driver::probe(VhostUser::connect(&socket, settings).unwrap()).unwrap());
    let file = rig.open();
    let Some(loaded) = sum(&mut rig, file) else { return };
    let fences = [rig.submit(&loaded).unwrap(), rig.submit(&loaded).unwrap(), rig.submit(&loaded).unwrap()];
    rig.driver.push();
    let daemon = daemon.killed();
    let start = Instant::now();
    while rig.wait_until(file, fences[0], 0).is_err_and(|errno| errno == Errno::ETIMEDOUT) {
        rig.driver.progress(Duration::from_millis(10));
        assert!(start.elapsed() < LIMIT);
    }
    assert_eq!(rig.submit(&loaded), Err(Errno::ENODEV));
    let _daemon = daemon.again(&[]);
    let start = Instant::now();
    while rig.wait_until(file, fences[0], 0) == Err(Errno::ENODEV) {
        rig.driver.progress(Duration::from_millis(10));
        assert!(start.elapsed() < LIMIT);
    }
    for fence in fences {
        assert_eq!(result(&rig.wait(file, fence)), Err(Errno::ENODEV));
    }
    assert_eq!(result(&rig.run(&loaded)), Ok(()));
}
