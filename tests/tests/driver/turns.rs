//! Turns by task: a long request gives way to another file's between two of its tasks.

use std::collections::BTreeMap;
use std::time::Duration;

use ane::container::Direction;
use ane_driver::Driver;
use ane_driver::clock::Manual;
use ane_driver::front::{Credentials, FileId, Files, User};
use ane_driver::limits::Limits;
use ane_driver::report::report;
use ane_tests::client::{Clients, Loaded};
use ane_tests::null_task;
use ane_tests::runner::surfaces;
use ane_uapi::hw::tq::{self, QueueId};
use ane_uapi::ioctl::context::{CONTEXT_ANY, CONTEXT_ATTACH, ContextAttach, ContextPolicy};
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::fault::{RECOVER, RECOVER_RESET, Recover};
use ane_uapi::ioctl::fence::{CANCEL, CANCEL_RUNNING, Cancel, FenceState};
use ane_uapi::ioctl::request::SUBMIT_REQUEST;
use ane_uapi::ioctl::stats::Counter;
use ane_uapi::wire::config::FEATURE_GIVE_WAY;
use half::f16;
use zerocopy::FromZeros;

use super::checked_bus::CheckedBus;
use super::rig::{EmbeddedClients, counter, inject, result, wound};

/// Tasks of the long request.
const TASKS: usize = 40;

/// More than a turn, and less than two.
const TURN: Duration = Duration::from_millis(6);

/// Two users with a program each.
struct Pair {
    rig: EmbeddedClients,
    clock: Manual,
    long: Loaded,
    short: Loaded,
}

impl Pair {
    fn new() -> Self {
        let (mut rig, clock) = wound();
        let files = [rig.open(), rig.open()];
        let [long, short] = [(files[0], TASKS), (files[1], 1)].map(|(file, tasks)| {
            let built = null_task::program(tasks);
            let program = built.program();
            let loaded = rig.load(file, &program);
            rig.fill(&loaded, surfaces(&program, Direction::Input)[0], &[f16::from_f32(tasks as f32)]);
            loaded
        });
        Self { rig, clock, long, short }
    }

    /// So many rounds of the driver, in each of which the device runs a task at most.
    fn rounds(&mut self, rounds: usize) {
        for _ in 0..rounds {
            self.rig.driver.progress(Duration::ZERO);
        }
    }

    fn completed(&mut self, file: FileId) -> u64 {
        counter(&mut self.rig, file, false, Counter::Completed)
    }

    /// The long request has begun, and given way to the short one, which has ended. The fence of the long one.
    fn given_way(&mut self) -> u64 {
        let long = self.rig.submit(&self.long).unwrap();
        self.rounds(5);
        self.clock.advance(TURN);
        let short = self.rig.submit(&self.short).unwrap();
        for _ in 0..10 {
            self.rounds(1);
            if self.completed(self.short.file) == 1 {
                break;
            }
        }
        assert_eq!(self.completed(self.short.file), 1, "it did not wait for the long one");
        assert_eq!(self.completed(self.long.file), 0, "which has tasks left");
        assert_eq!(result(&self.rig.wait(self.short.file, short)), Ok(()));
        long
    }

    fn assert_result(&mut self, tasks: usize) {
        let loaded = if tasks == 1 { self.short.clone() } else { self.long.clone() };
        let built = null_task::program(tasks);
        let program = built.program();
        let output = surfaces(&program, Direction::Output)[0];
        assert_eq!(self.rig.take(&loaded, output), [f16::from_f32(tasks as f32)]);
        self.rig.fill(&loaded, output, &[f16::ZERO]);
    }
}

#[test]
fn short_request_of_another_user_passes_a_long_one_between_two_of_its_tasks() {
    let mut pair = Pair::new();
    let fence = pair.given_way();
    pair.assert_result(1);
    assert_eq!(result(&pair.rig.wait(pair.long.file, fence)), Ok(()));
    pair.assert_result(TASKS);
    // Only its own turn is counted as its time.
    let long = pair.long.file;
    let ran = counter(&mut pair.rig, long, false, Counter::RunningNs);
    assert!(u128::from(ran) < 2 * TURN.as_nanos(), "{ran} ns");
    assert_eq!(pair.completed(long), 1);
}

#[test]
fn request_within_its_turn_and_one_that_nobody_waits_for_keep_the_engine() {
    let mut pair = Pair::new();
    pair.rig.submit(&pair.long).unwrap();
    pair.rounds(5);
    pair.rig.submit(&pair.short).unwrap();
    pair.rounds(10);
    assert_eq!(pair.completed(pair.short.file), 0, "the turn is not over");
    let (long, short) = (pair.long.file, pair.short.file);
    pair.rounds(2 * TASKS);
    assert_eq!((pair.completed(long), pair.completed(short)), (1, 1));
    pair.rig.submit(&pair.long).unwrap();
    pair.rounds(5);
    pair.clock.advance(4 * TURN);
    pair.rounds(2 * TASKS);
    assert_eq!(pair.completed(long), 2);
}

#[test]
fn requests_of_the_same_file_keep_their_order_when_the_first_gives_way() {
    let mut pair = Pair::new();
    let first = pair.rig.submit(&pair.long).unwrap();
    let second = pair.rig.submit(&pair.long).unwrap();
    pair.rounds(5);
    pair.clock.advance(TURN);
    pair.rig.submit(&pair.short).unwrap();
    pair.rounds(10);
    let (long, short) = (pair.long.file, pair.short.file);
    assert_eq!((pair.completed(long), pair.completed(short)), (0, 1));
    for (fence, completed) in [(first, 1), (second, 2)] {
        assert_eq!(result(&pair.rig.wait(long, fence)), Ok(()));
        assert_eq!(pair.completed(long), completed);
    }
    pair.assert_result(TASKS);
}

#[test]
fn request_that_gave_way_is_cancelled_and_its_file_goes_on_with_the_next() {
    let mut pair = Pair::new();
    let fence = pair.given_way();
    let long = pair.long.file;
    let mut cancel = Cancel { fence, flags: CANCEL_RUNNING, ..Cancel::new_zeroed() };
    assert_eq!(pair.rig.ioctl(long, &CANCEL, &mut cancel), Ok(()));
    assert_eq!(result(&pair.rig.wait(long, fence)), Err(Errno::ECANCELED));
    // The place of its context is free again: the next one gives way as well.
    pair.clock.advance(Duration::from_secs(1));
    let again = pair.rig.submit(&pair.long).unwrap();
    pair.rounds(5);
    pair.clock.advance(TURN);
    pair.rig.submit(&pair.short).unwrap();
    pair.rounds(10);
    assert_eq!((pair.completed(pair.short.file), pair.completed(long)), (2, 0));
    assert_eq!(result(&pair.rig.wait(long, again)), Ok(()));
    pair.assert_result(TASKS);
}

#[test]
fn file_that_closes_while_its_request_is_aside_takes_nothing_along() {
    let mut pair = Pair::new();
    pair.given_way();
    let long = pair.long.file;
    pair.rig.driver.close(long);
    pair.rounds(3);
    let short = pair.short.clone();
    assert_eq!(result(&pair.rig.run(&short)), Ok(()));
    let next = pair.rig.open();
    let built = null_task::program(TASKS);
    pair.long = pair.rig.load(next, &built.program());
    assert_eq!(result(&pair.rig.run(&pair.long.clone())), Ok(()));
}

#[test]
fn device_that_is_reset_loses_a_request_that_is_aside_and_nothing_else() {
    let mut pair = Pair::new();
    let fence = pair.given_way();
    let owner = pair.rig.open_as(true);
    let mut reset = Recover { flags: RECOVER_RESET, ..Recover::new_zeroed() };
    pair.rig.ioctl(owner, &RECOVER, &mut reset).unwrap();
    assert_eq!(result(&pair.rig.wait(pair.long.file, fence)), Err(Errno::ECANCELED));
    assert_eq!(result(&pair.rig.run(&pair.long.clone())), Ok(()));
    assert_eq!(result(&pair.rig.run(&pair.short.clone())), Ok(()));
}

#[test]
fn limit_of_a_request_counts_its_own_turns_only() {
    let mut pair = Pair::new();
    pair.rig.driver.limit(Limits { request_time: Some(2 * TURN), ..Limits::default() });
    let fence = pair.given_way();
    // Somebody else has the engine for long.
    pair.clock.advance(Duration::from_millis(1));
    let short = pair.short.clone();
    for _ in 0..3 {
        assert_eq!(result(&pair.rig.run(&short)), Ok(()));
    }
    assert_eq!(result(&pair.rig.wait(pair.long.file, fence)), Ok(()));
}

#[test]
fn fault_after_a_request_went_on_is_its_own_and_names_the_task() {
    let mut pair = Pair::new();
    let fence = pair.given_way();
    // The transfer after a few of the tasks that are left.
    inject(&mut pair.rig, "translation-fault:after=12");
    let long = pair.long.file;
    assert_eq!(result(&pair.rig.wait(long, fence)), Err(Errno::EIO));
    let why = pair.rig.driver.failure(long, fence).expect("it is known").to_owned();
    let task: usize = why
        .rsplit("task ")
        .next()
        .and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next())
        .and_then(|number| number.parse().ok())
        .unwrap_or_else(|| panic!("no task in {why:?}"));
    assert!((4..TASKS).contains(&task), "counted from the request's beginning: {why}");
    // The other one is not touched, and the first goes on once its context is let go.
    let short = pair.short.clone();
    assert_eq!(result(&pair.rig.run(&short)), Ok(()));
    pair.clock.advance(Duration::from_millis(250));
    pair.rig.settle();
    assert_eq!(result(&pair.rig.run(&pair.long.clone())), Ok(()));
    pair.assert_result(TASKS);
    // Its context has a place aside again.
    pair.clock.advance(Duration::from_secs(1));
    let again = pair.rig.submit(&pair.long).unwrap();
    pair.rounds(5);
    pair.clock.advance(TURN);
    let before = pair.completed(short.file);
    pair.rig.submit(&short).unwrap();
    pair.rounds(10);
    assert_eq!(pair.completed(short.file), before + 1);
    assert_eq!(result(&pair.rig.wait(long, again)), Ok(()));
}

#[test]
fn files_that_share_a_context_take_turns_by_request_and_others_by_task() {
    let mut pair = Pair::new();
    let user = User { id: 1001, is_privileged: false };
    // One user gets four of the contexts that are left, at most, and then shares.
    let mut seen = BTreeMap::new();
    let (first, second) = loop {
        let file = pair.rig.driver.open(Credentials { process: user.id, user }).unwrap();
        let mut attach = ContextAttach {
            policy: ContextPolicy::Share as u32,
            context: CONTEXT_ANY,
            ..ContextAttach::new_zeroed()
        };
        pair.rig.ioctl(file, &CONTEXT_ATTACH, &mut attach).unwrap();
        if let Some(other) = seen.insert(attach.context, file) {
            break (other, file);
        }
    };
    let [long, short] = [(first, TASKS), (second, 1)]
        .map(|(file, tasks)| pair.rig.load(file, &null_task::program(tasks).program()));
    let fence = pair.rig.submit(&long).unwrap();
    pair.rounds(5);
    pair.clock.advance(TURN);
    let waiting = pair.rig.submit(&short).unwrap();
    pair.rounds(10);
    assert_eq!([first, second].map(|file| pair.completed(file)), [0, 0], "they have one stream");
    // Somebody else does not wait for it.
    pair.rig.submit(&pair.short).unwrap();
    pair.rounds(10);
    let others = pair.short.file;
    assert_eq!([first, second, others].map(|file| pair.completed(file)), [0, 0, 1]);
    assert_eq!(result(&pair.rig.wait(first, fence)), Ok(()));
    assert_eq!(result(&pair.rig.wait(second, waiting)), Ok(()));
}

#[test]
fn request_that_waits_for_one_of_another_queue_has_not_hung() {
    let mut pair = Pair::new();
    let (mut request, mut memory) = pair.long.request();
    request.priority = 3;
    pair.rig.ioctl_with(pair.long.file, &SUBMIT_REQUEST, &mut request, &mut memory).unwrap();
    let fence = pair.rig.submit(&pair.short).unwrap();
    pair.rounds(1);
    pair.clock.advance(Duration::from_millis(150));
    let mut cancel = Cancel { fence, flags: CANCEL_RUNNING, ..Cancel::new_zeroed() };
    assert_eq!(pair.rig.ioctl(pair.short.file, &CANCEL, &mut cancel), Ok(()));
    assert_eq!(cancel.state, FenceState::Running as u32, "the device has both");
    let told = report(&mut pair.rig.driver, "contexts").unwrap();
    assert!(!told.contains("its request hung"), "{told}");
    assert_eq!(result(&pair.rig.wait(pair.short.file, fence)), Err(Errno::ECANCELED));
    assert_eq!(result(&pair.rig.wait(pair.long.file, request.out_fence)), Ok(()));
}

#[test]
fn limit_of_a_request_does_not_count_that_it_waits_for_one_of_another_queue() {
    let mut pair = Pair::new();
    let limit = Duration::from_millis(150);
    pair.rig.driver.limit(Limits { request_time: Some(limit), ..Limits::default() });
    let (mut request, mut memory) = pair.long.request();
    request.priority = 3;
    pair.rig.ioctl_with(pair.long.file, &SUBMIT_REQUEST, &mut request, &mut memory).unwrap();
    let fence = pair.rig.submit(&pair.short).unwrap();
    pair.rounds(1);
    pair.clock.advance(limit);
    assert_eq!(result(&pair.rig.wait(pair.long.file, request.out_fence)), Err(Errno::ETIME));
    assert_eq!(result(&pair.rig.wait(pair.short.file, fence)), Ok(()));
}

#[test]
fn device_that_puts_none_aside_is_never_asked_to() {
    let clock = Manual::default();
    let asks = |queue: QueueId| queue.register(&tq::GIVE_WAY);
    let is_there = move |at| QueueId::ALL.into_iter().all(|queue| asks(queue) != at);
    let mut bus = CheckedBus::new(is_there);
    let features = &mut bus.config.features;
    features.set(features.get() & !FEATURE_GIVE_WAY);
    let mut rig = Clients::new(Driver::with_clock(bus, Box::new(clock.clone())).unwrap());
    let files = [rig.open(), rig.open()];
    let [long, short] = [(files[0], TASKS), (files[1], 1)]
        .map(|(file, tasks)| rig.load(file, &null_task::program(tasks).program()));
    let first = rig.submit(&long).unwrap();
    for _ in 0..5 {
        rig.driver.progress(Duration::ZERO);
    }
    clock.advance(TURN);
    let second = rig.submit(&short).unwrap();
    for _ in 0..10 {
        rig.driver.progress(Duration::ZERO);
    }
    assert_eq!(rig.driver.counted(Counter::Completed), 0, "the short one waits for the long one's end");
    assert_eq!(result(&rig.wait(files[0], first)), Ok(()));
    assert_eq!(result(&rig.wait(files[1], second)), Ok(()));
}
