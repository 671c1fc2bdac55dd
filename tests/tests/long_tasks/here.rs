//! In this process: a pass that was away gives the same bits, and one that was given up leaves nothing.

use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ane::build::{
    Built, Convolution, Element, Graph, Over, Reduce, Shape, Tail, Tensor, Weights, activation,
};
use ane::container::Direction;
use ane::embedded::{self, Embedded};
use ane_device::Options;
use ane_device::engine::cancel::{Cancel, STRIDE, TURN};
use ane_device::options::Numerics;
use ane_driver::bus::Bus;
use ane_tests::daemon::LIMIT;
use ane_tests::long_task::{convolution, endless};
use ane_tests::null_task;
use ane_tests::runner::{EmbeddedRunner, Outcome, Runner, surfaces};
use ane_uapi::hw::space::EngineOffset;
use ane_uapi::hw::tm::error::ErrorCode;
use ane_uapi::hw::tq::{self, QueueId};
use half::f16;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// A device in this process that computes long passes beside, or not.
fn device(numerics: Numerics, is_beside: bool) -> EmbeddedRunner {
    let options = Options { numerics, ..Options::default() };
    let mut bus = embedded::open(&options, 64 << 20).expect("device can be had");
    if is_beside {
        bus.device_mut().use_engine_thread().expect("there is a descriptor");
    }
    Runner::new(bus)
}

/// Loads a program whose input is a slope.
fn load(runner: &mut EmbeddedRunner, built: &Built) {
    let program = built.program();
    runner.load(&program);
    for surface in surfaces(&program, Direction::Input) {
        let values: Vec<_> =
            (0..surface.buffer_bytes / 2).map(|n| f16::from_f32((n % 97) as f32 / 64.0)).collect();
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        runner.write(runner.bar(surface.bar), &bytes);
    }
}

fn output(runner: &EmbeddedRunner, built: &Built) -> Vec<u8> {
    let program = built.program();
    let surface = surfaces(&program, Direction::Output)[0];
    runner.read(runner.bar(surface.bar), surface.total_bytes as usize)
}

fn is_on_thread(runner: &mut EmbeddedRunner) -> bool {
    runner.guest.bus.device_mut().work();
    runner.guest.bus.device_mut().ane().is_on_thread()
}

/// Waits until the bell has rung.
fn sleep(wakeup: BorrowedFd<'_>) {
    let limit = PollTimeout::try_from(LIMIT).expect("fits");
    assert_eq!(poll(&mut [PollFd::new(wakeup, PollFlags::POLLIN)], limit), Ok(1), "the bell does not ring");
}

/// Goes on until the task is computed beside.
fn send_to_thread(runner: &mut EmbeddedRunner) {
    while runner.guest.bus.device_mut().work().pending {}
    assert!(runner.guest.bus.device_mut().ane().is_on_thread());
}

/// How often a task that was begun was left: for what is computed beside, or because it had its turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Left {
    away: usize,
    turns: usize,
}

/// Runs to the end what was submitted.
fn finish(runner: &mut EmbeddedRunner) -> (Outcome, Left) {
    let mut left = Left::default();
    loop {
        let device = runner.guest.bus.device_mut();
        match (device.work().pending, device.ane().is_on_thread()) {
            (true, true) => left.turns += 1,
            // The next task.
            (true, false) => {}
            (false, true) => {
                left.away += 1;
                sleep(runner.guest.bus.wakeup().expect("there is a bell"));
            }
            (false, false) => return (runner.wait(), left),
        }
    }
}

fn take_back(runner: &mut EmbeddedRunner) {
    let status = EngineOffset(QueueId::LINUX.base().0 + tq::STATUS.offset());
    runner.guest.bus.write(status, 0).expect("write is answered");
}

#[test]
fn pass_that_is_computed_beside_gives_the_bits_of_one_that_is_not() {
    // Both are long for their arithmetic, and the first pays products one by one.
    let sizes = [(Numerics::Exact, 4, 4), (Numerics::M1, 8, 16)];
    for (numerics, channels, outputs) in sizes {
        let built = convolution(channels, outputs, 16, 0.001);
        let mut inline = device(numerics, false);
        load(&mut inline, &built);
        assert_eq!(inline.run(), Outcome::Done);
        let mut beside = device(numerics, true);
        load(&mut beside, &built);
        for _ in 0..2 {
            beside.submit();
            let (outcome, left) = finish(&mut beside);
            assert_eq!(outcome, Outcome::Done);
            assert!(left.away > 0, "{numerics:?} was not away");
            assert!(output(&beside, &built) == output(&inline, &built), "{numerics:?}");
        }
    }
}

#[test]
fn short_pass_is_computed_where_it_was_begun() {
    let mut runner = device(Numerics::M1, true);
    runner.load(&null_task::program(3).program());
    runner.submit();
    assert!(!is_on_thread(&mut runner));
    assert_eq!(finish(&mut runner), (Outcome::Done, Left::default()));
}

/// A graph of one input and one output.
fn made(shape: Shape, make: impl FnOnce(&mut Graph, Tensor) -> Tensor) -> Built {
    let mut graph = Graph::new();
    let x = graph.input("x", shape).expect("fits");
    let y = make(&mut graph, x);
    graph.output("y", y).expect("computed");
    graph.build().expect("can be built")
}

/// In doubles, because it has two operations.
const IN_DOUBLES: Element = Element { scale: f16::from_f32_const(0.75), ..Element::ADD };

/// Every kind of pass and of transfer that may take more than a turn, with how often it is away at least, and how many turns
/// it has.
fn long_ones() -> [(&'static str, Built, Left); 6] {
    let planar = |graph: &mut Graph, x| graph.unary(x, IN_DOUBLES).expect("fits");
    [
        // Twice two stretches of 4 MiB, of which each is a turn.
        ("planar pass", made(Shape::new(64, 256, 256), planar), Left { away: 1, turns: 3 }),
        // 2^18 rows of one element either way.
        ("rows of one element", made(Shape::new(128, 2048, 1), planar), Left { away: 0, turns: 1 }),
        (
            "reduction",
            made(Shape::new(32, 256, 256), |graph, x| {
                graph.reduce(x, Element::ADD, Reduce::MEAN, Over::Plane).expect("fits")
            }),
            Left { away: 1, turns: 1 },
        ),
        (
            "table and transposition",
            made(Shape::new(64, 128, 256), |graph, x| {
                graph.pass_through(x, Tail::table(activation::exp2()).transposed()).expect("fits")
            }),
            Left { away: 1, turns: 0 },
        ),
        (
            "interleave",
            made(Shape::new(30, 256, 256), |graph, x| {
                let between = graph.unary(x, Element::ADD).expect("fits");
                graph.interleave(between, 8).expect("can be");
                graph.unary(between, IN_DOUBLES).expect("fits")
            }),
            Left { away: 2, turns: 2 },
        ),
        (
            "coefficients",
            made(Shape::new(1024, 4, 8), |graph, x| {
                let weights: Vec<_> = (0..1 << 20).map(|n| f16::from_f32((n % 89) as f32 / 4096.0)).collect();
                let kernel = Convolution::new(1024, (1, 1), Weights::Half(&weights));
                graph.convolution(x, &kernel).expect("is offered")
            }),
            Left { away: 1, turns: 1 },
        ),
    ]
}

#[test]
fn pass_that_takes_several_turns_gives_the_bits_of_one_that_takes_one() {
    for (what, built, least) in long_ones() {
        let mut inline = device(Numerics::M1, false);
        load(&mut inline, &built);
        assert_eq!(inline.run(), Outcome::Done, "{what}");
        let mut beside = device(Numerics::M1, true);
        load(&mut beside, &built);
        for _ in 0..2 {
            beside.submit();
            let (outcome, left) = finish(&mut beside);
            assert_eq!(outcome, Outcome::Done, "{what}");
            assert!(left.away >= least.away && left.turns >= least.turns, "{what}: {left:?}");
            assert!(output(&beside, &built) == output(&inline, &built), "{what}");
        }
        let [inline, beside] = [&mut inline, &mut beside].map(|runner| {
            let ane = runner.guest.bus.device_mut().ane();
            let dart = ane.dart();
            [dart.bytes_read(), dart.bytes_written(), dart.transfers(), ane.counters().usage.cycles]
        });
        assert_eq!(beside, inline.map(|once| 2 * once), "{what}: what was counted");
    }
}

/// Counts the questions, and says no.
#[derive(Default)]
struct Questions(AtomicUsize);

impl Cancel for Questions {
    fn is_cancelled(&self, _: QueueId) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed);
        false
    }
}

#[test]
fn no_turn_of_a_long_pass_moves_much_more_than_there_is_to_a_turn() {
    /// The bytes of a transfer's step.
    const STEP_BYTES: u64 = 16;

    for (what, built, _) in long_ones() {
        let mut runner = device(Numerics::M1, true);
        load(&mut runner, &built);
        runner.submit();
        let device = runner.guest.bus.device_mut();
        let now = device.now();
        let questions = Questions::default();
        // A piece that is begun is moved, and may have as many steps as a turn.
        let most = 2 * TURN as u64 * STEP_BYTES;
        // A short pass asks 32 times at most, and a long one twice for each turn.
        let most_questions = 2 * TURN / STRIDE + 2 + 32;
        let moved = |device: &mut Embedded| {
            let dart = device.ane().dart();
            dart.bytes_read() + dart.bytes_written()
        };
        let (mut goes_on, mut before) = (true, moved(device));
        while goes_on {
            goes_on = device.ane().work_unless(now, &questions).pending || device.ane().is_on_thread();
            let bytes = moved(device) - before;
            before += bytes;
            assert!(bytes <= most, "{what}: {bytes} bytes in a turn");
            let asked = questions.0.swap(0, Ordering::Relaxed);
            assert!(asked <= most_questions, "{what}: {asked} questions in a turn");
        }
        assert!(before > most / 8, "{what}: {before} bytes in all");
        assert_eq!(runner.wait(), Outcome::Done, "{what}");
    }
}

#[test]
fn pass_that_is_taken_back_between_two_turns_ends_as_aborted_and_the_next_one_has_its_own_bits() {
    for (what, built, _) in long_ones().into_iter().filter(|(_, _, least)| least.turns > 0) {
        let mut inline = device(Numerics::M1, false);
        load(&mut inline, &built);
        assert_eq!(inline.run(), Outcome::Done, "{what}");
        let mut runner = device(Numerics::M1, true);
        for turns in 1..3 {
            load(&mut runner, &built);
            runner.submit();
            assert!((0..turns).all(|_| is_on_thread(&mut runner)), "{what}: it ends within {turns}");
            take_back(&mut runner);
            let outcome = runner.wait();
            assert!(
                matches!(outcome, Outcome::Failed { code, .. } if code == ErrorCode::Aborted as u8),
                "{what}: {outcome:?} after {turns}"
            );
            assert!(!is_on_thread(&mut runner), "{what}");
            runner.submit();
            assert_eq!(finish(&mut runner).0, Outcome::Done, "{what}");
            assert!(output(&runner, &built) == output(&inline, &built), "{what} after {turns}");
            runner.guest.bus.reset().expect("the device can be reset");
            runner = Runner::new(runner.guest.bus);
        }
    }
}

#[test]
fn pass_that_is_taken_back_ends_at_once_and_the_next_one_has_its_own_bits() {
    let built = convolution(4, 4, 16, 0.001);
    let mut inline = device(Numerics::Exact, false);
    load(&mut inline, &built);
    assert_eq!(inline.run(), Outcome::Done);
    let mut runner = device(Numerics::Exact, true);
    for round in 0..8 {
        load(&mut runner, &endless());
        runner.submit();
        send_to_thread(&mut runner);
        match round % 2 {
            0 => {
                take_back(&mut runner);
                let outcome = runner.wait();
                assert!(
                    matches!(outcome, Outcome::Failed { code, .. } if code == ErrorCode::Aborted as u8),
                    "{outcome:?}"
                );
            }
            _ => {
                runner.guest.bus.reset().expect("the device can be reset");
                runner = Runner::new(runner.guest.bus);
            }
        }
        assert!(!is_on_thread(&mut runner));
        load(&mut runner, &built);
        runner.submit();
        let (outcome, left) = finish(&mut runner);
        assert_eq!((outcome, left.away > 0), (Outcome::Done, true));
        assert!(output(&runner, &built) == output(&inline, &built), "round {round}");
    }
}

#[test]
fn device_that_is_dropped_ends_what_is_computed_for_it() {
    let is_there = || {
        let tasks = std::fs::read_dir("/proc/self/task").expect("Linux has it").flatten();
        let names = tasks.map(|task| std::fs::read_to_string(task.path().join("comm")).unwrap_or_default());
        names.into_iter().any(|name| name == "ane-engine\n")
    };
    let until = |wanted: bool| {
        let end = Instant::now() + LIMIT;
        while is_there() != wanted {
            assert!(Instant::now() < end, "the thread is there: {}", !wanted);
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    let mut runner = device(Numerics::Exact, true);
    load(&mut runner, &endless());
    runner.submit();
    send_to_thread(&mut runner);
    until(true);
    drop(runner);
    until(false);
}
