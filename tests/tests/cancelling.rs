//! A task that takes very long, and what comes meanwhile: nobody waits for it, and it never counts as done.
//!
//! The task has some thousand million products that are computed one by one, which takes minutes; every wait here ends long
//! before. So what is shown is an order of events, and no time is measured.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use ane::build::{Built, Element, Graph, Shape, Tail, activation};
use ane::container::Direction;
use ane_device::Options;
use ane_device::engine::cancel::{Cancel, Never, STRIDE};
use ane_device::options::Numerics;
use ane_driver::bus::vhost_user::{Settings, VhostUser};
use ane_driver::bus::{Bus, Operation};
use ane_tests::control::Control;
use ane_tests::daemon::{Daemon, LIMIT};
use ane_tests::long_task::{convolution, endless};
use ane_tests::runner::{EmbeddedRunner, Outcome, Runner, surfaces};
use ane_uapi::hw::space::EngineOffset;
use ane_uapi::hw::td::l2::{self, L2Cfg};
use ane_uapi::hw::tm::error::ErrorCode;
use ane_uapi::hw::tq::{self, QueueId};
use half::f16;
use nix::sys::signal::Signal;

const MEMORY: usize = 64 << 20;

/// Whether the outcome is that of a task that was called off.
fn is_aborted(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Failed { code, .. } if code == ErrorCode::Aborted as u8)
}

/// A guest of a daemon that runs something endless.
fn busy(daemon: &Daemon) -> Runner<VhostUser> {
    let settings = Settings { memory_bytes: MEMORY, timeout: LIMIT, ..Settings::default() };
    let mut runner = Runner::new(VhostUser::connect(&daemon.socket(), settings).expect("device can be had"));
    runner.load(&endless().program());
    runner.submit();
    // So that it runs when what follows comes. Whether it does makes no difference to what is expected.
    thread::sleep(Duration::from_millis(100));
    runner
}

fn daemon() -> Daemon {
    Daemon::start(&["--numerics", "exact"])
}

const GIVE_UP: Operation = Operation::Write(EngineOffset(QueueId::LINUX.base().0 + tq::STATUS.offset()), 0);

fn counters(daemon: &Daemon) -> Vec<String> {
    Control::connect(&daemon.control()).ask("counters").expect("are told")
}

#[test]
fn queue_that_is_taken_back_ends_its_task_as_aborted_and_the_write_is_answered() {
    let daemon = daemon();
    let mut runner = busy(&daemon);
    runner.guest.bus.batch(&[GIVE_UP], &mut []).expect("write is answered");
    assert!(is_aborted(runner.wait()));
    assert!(counters(&daemon).contains(&"tasks-done 0".to_owned()));
}

#[test]
fn reset_ends_a_task_without_an_event_and_the_device_goes_on() {
    let daemon = daemon();
    let mut runner = busy(&daemon);
    runner.guest.bus.reset().expect("reset is answered");
    assert!(runner.guest.is_quiet());
    assert!(counters(&daemon).contains(&"tasks-done 0".to_owned()));
    let mut next = Runner::new(runner.guest.bus);
    next.load(&ane_tests::null_task::program(1).program());
    assert_eq!(next.run(), Outcome::Done);
}

#[test]
fn frontend_that_leaves_takes_its_task_along_and_the_next_one_is_served() {
    let daemon = daemon();
    drop(busy(&daemon));
    let settings = Settings { memory_bytes: MEMORY, timeout: LIMIT, ..Settings::default() };
    let bus = VhostUser::connect(&daemon.socket(), settings).expect("device can be had again");
    let mut next = Runner::new(bus);
    next.load(&ane_tests::null_task::program(1).program());
    assert_eq!(next.run(), Outcome::Done);
}

#[test]
fn termination_calls_the_task_off_and_succeeds() {
    let mut daemon = daemon();
    let _runner = busy(&daemon);
    // Here it has to run.
    thread::sleep(Duration::from_secs(1));
    daemon.signal(Signal::SIGTERM);
    assert!(daemon.wait().success());
    let log = daemon.log();
    assert!(log.contains("it is called off") && !log.contains("cut off"), "{log}");
}

/// Counts how often it is asked, and says yes from one of the questions on.
struct From {
    asked: AtomicUsize,
    first: usize,
}

impl From {
    const fn question(first: usize) -> Self {
        Self { asked: AtomicUsize::new(0), first }
    }
}

impl Cancel for From {
    fn is_cancelled(&self, queue: QueueId) -> bool {
        assert_eq!(queue, QueueId::LINUX);
        self.asked.fetch_add(1, Ordering::Relaxed) + 1 >= self.first
    }
}

/// A device in this process with a program, its inputs filled with one number.
fn here(options: &Options, built: &Built, value: f32) -> EmbeddedRunner {
    let program = built.program();
    let mut runner = EmbeddedRunner::open(options, MEMORY);
    runner.load(&program);
    for surface in surfaces(&program, Direction::Input) {
        let bytes = f16::from_f32(value).to_le_bytes().repeat(surface.buffer_bytes as usize / 2);
        runner.write(runner.bar(surface.bar), &bytes);
    }
    runner
}

/// Submits, and runs tasks unless they are called off; what becomes of the request.
fn run_unless(runner: &mut EmbeddedRunner, cancel: &dyn Cancel) -> Outcome {
    runner.submit();
    let device = runner.guest.bus.device_mut();
    let now = device.now();
    while device.ane().work_unless(now, cancel).pending {}
    runner.wait()
}

/// Every byte of every output.
fn outputs(runner: &EmbeddedRunner, built: &Built) -> Vec<Vec<u8>> {
    let program = built.program();
    surfaces(&program, Direction::Output)
        .into_iter()
        .map(|surface| runner.read(runner.bar(surface.bar), surface.total_bytes as usize))
        .collect()
}

/// Calls a program off at its first question, at one in the middle and at the last: each time it ends as aborted, and then
/// runs again as if nothing had been. It asks at least `questions` times.
fn is_called_off_anywhere(options: &Options, built: &Built, value: f32, questions: usize) {
    let never = From::question(usize::MAX);
    let mut runner = here(options, built, value);
    assert_eq!(run_unless(&mut runner, &never), Outcome::Done);
    let expected = outputs(&runner, built);
    let asked = never.asked.into_inner();
    assert!(asked >= questions, "{asked} questions");
    // With several threads some questions more or fewer are asked; the last is left out.
    for question in [1, asked / 2, asked - asked / 8] {
        let mut runner = here(options, built, value);
        assert!(is_aborted(run_unless(&mut runner, &From::question(question.max(1)))), "question {question}");
        assert_eq!(runner.guest.bus.device_mut().ane().counters().requests_done, 0);
        assert_eq!(run_unless(&mut runner, &Never), Outcome::Done);
        assert!(outputs(&runner, built) == expected, "question {question}");
    }
}

fn options(numerics: Numerics, threads: usize) -> Options {
    let threads = NonZero::new(threads).expect("is not zero");
    Options { numerics, threads, ..Options::default() }
}

/// Products of [`small`].
const PRODUCTS: usize = 4 * 8 * 31 * 31 * 16 * 16;

fn small() -> Built {
    convolution(4, 8, 16, 1.0)
}

#[test]
fn products_one_by_one_are_called_off_anywhere() {
    for threads in [1, 2] {
        is_called_off_anywhere(&options(Numerics::Exact, threads), &small(), 0.5, PRODUCTS / STRIDE * 9 / 10);
    }
}

#[test]
fn kernels_are_called_off_anywhere() {
    for (numerics, threads) in [(Numerics::M1, 1), (Numerics::M1, 2)] {
        is_called_off_anywhere(&options(numerics, threads), &small(), 0.001, PRODUCTS / 64 / STRIDE);
    }
}

/// Every sum goes beyond the limit, so that each tap is watched.
#[test]
fn sums_that_overflow_are_called_off_anywhere() {
    is_called_off_anywhere(&options(Numerics::M1, 1), &small(), 60_000.0, PRODUCTS / 64 / STRIDE);
}

#[test]
fn planar_passes_and_transfers_are_called_off_anywhere() {
    let mut graph = Graph::new();
    let x = graph.input("x", Shape::new(64, 64, 64)).expect("fits");
    let y = graph.unary(x, Element { scale: f16::from_f32(0.75), ..Element::ADD }).expect("fits");
    graph.output("y", y).expect("computed");
    let built = graph.build().expect("can be built");
    // Each element once, and a row of each transfer for every 16 bytes.
    is_called_off_anywhere(&options(Numerics::M1, 1), &built, 3.0, 2);
}

/// Each of the four goes over 2^18 elements by itself, and asks as often as there are strides in them; the transfers ask
/// once at most.
#[test]
fn what_only_moves_elements_is_called_off_anywhere() {
    const ELEMENTS: usize = 64 * 64 * 64;
    let mut graph = Graph::new();
    let x = graph.input("x", Shape::new(64, 64, 64)).expect("fits");
    let y = graph.pass_through(x, Tail::table(activation::exp2()).transposed()).expect("fits");
    graph.output("y", y).expect("computed");
    let mut built = graph.build().expect("can be built");
    let config = built.register_mut(0, l2::L2_CFG.offset()).expect("is written");
    *config = L2Cfg::from_bits(config.get()).with_input_relu(true).into_bits().into();
    is_called_off_anywhere(&options(Numerics::M1, 1), &built, 3.0, 4 * ELEMENTS / STRIDE);
}

#[test]
fn flag_that_another_thread_raises_ends_the_task_that_runs() {
    let flag = AtomicBool::new(false);
    let built = endless();
    let mut runner = here(&options(Numerics::Exact, 2), &built, 1.0);
    let outcome = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(50));
            flag.store(true, Ordering::Relaxed);
        });
        run_unless(&mut runner, &flag)
    });
    assert!(is_aborted(outcome));
}
