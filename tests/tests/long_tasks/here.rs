//! In this process: a pass that was away gives the same bits, and one that was given up leaves nothing.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use ane::build::Built;
use ane::container::Direction;
use ane::embedded::{self, Embedded};
use ane_device::Options;
use ane_device::options::Numerics;
use ane_driver::bus::Bus;
use ane_driver::bus::in_process::{Device, InProcess};
use ane_tests::daemon::LIMIT;
use ane_tests::long_task::{convolution, endless};
use ane_tests::null_task;
use ane_tests::runner::{Outcome, Runner, surfaces};
use ane_uapi::hw::space::EngineOffset;
use ane_uapi::hw::tm::error::ErrorCode;
use ane_uapi::hw::tq::{self, QueueId};
use half::f16;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

type Here = Runner<InProcess<Embedded>>;

/// A device in this process that computes long passes beside, or not.
fn device(numerics: Numerics, is_beside: bool) -> Here {
    let options = Options { numerics, ..Options::default() };
    let mut bus = embedded::open(&options, 64 << 20).expect("device can be had");
    if is_beside {
        bus.device_mut().compute_beside().expect("there is a descriptor");
    }
    Runner::new(bus)
}

/// Loads a program whose input is a slope.
fn load(runner: &mut Here, built: &Built) {
    let program = built.program();
    runner.load(&program);
    for surface in surfaces(&program, Direction::Input) {
        let values: Vec<_> =
            (0..surface.buffer_bytes / 2).map(|n| f16::from_f32((n % 97) as f32 / 64.0)).collect();
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        runner.write(runner.bar(surface.bar), &bytes);
    }
}

fn output(runner: &Here, built: &Built) -> Vec<u8> {
    let program = built.program();
    let surface = surfaces(&program, Direction::Output)[0];
    runner.read(runner.bar(surface.bar), surface.total_bytes as usize)
}

fn is_away(runner: &mut Here) -> bool {
    runner.guest.bus.device_mut().work();
    runner.guest.bus.device_mut().ane().is_away()
}

/// Waits until the bell has rung.
fn sleep(wakeup: BorrowedFd<'_>) {
    let limit = PollTimeout::try_from(LIMIT).expect("fits");
    assert_eq!(poll(&mut [PollFd::new(wakeup, PollFlags::POLLIN)], limit), Ok(1), "the bell does not ring");
}

/// Runs to the end what was submitted; how often the pass was away.
fn finish(runner: &mut Here) -> (Outcome, usize) {
    let mut away = 0;
    while is_away(runner) {
        away += 1;
        sleep(runner.guest.bus.wakeup().expect("there is a bell"));
    }
    (runner.wait(), away)
}

fn take_back(runner: &mut Here) {
    let status = EngineOffset(QueueId::LINUX.base().0 + tq::STATUS.offset());
    runner.guest.bus.write(status, 0).expect("write is answered");
}

#[test]
fn pass_that_is_computed_beside_gives_the_bits_of_one_that_is_not() {
    // Both are long for their arithmetic, and the first pays products one by one.
    let sizes = [(Numerics::Exact, 4, 4), (Numerics::M1, 8, 16), (Numerics::Fast, 8, 16)];
    for (numerics, channels, outputs) in sizes {
        let built = convolution(channels, outputs, 16, 0.001);
        let mut inline = device(numerics, false);
        load(&mut inline, &built);
        assert_eq!(inline.run(), Outcome::Done);
        let mut beside = device(numerics, true);
        load(&mut beside, &built);
        for _ in 0..2 {
            beside.submit();
            let (outcome, away) = finish(&mut beside);
            assert_eq!(outcome, Outcome::Done);
            assert!(away > 0, "{numerics:?} was not away");
            assert!(output(&beside, &built) == output(&inline, &built), "{numerics:?}");
        }
    }
}

#[test]
fn short_pass_is_computed_where_it_was_begun() {
    let mut runner = device(Numerics::M1, true);
    runner.load(&null_task::program(3).program());
    runner.submit();
    assert!(!is_away(&mut runner));
    assert_eq!(finish(&mut runner), (Outcome::Done, 0));
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
        assert!(is_away(&mut runner));
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
        assert!(!is_away(&mut runner));
        load(&mut runner, &built);
        runner.submit();
        let (outcome, away) = finish(&mut runner);
        assert_eq!((outcome, away > 0), (Outcome::Done, true));
        assert!(output(&runner, &built) == output(&inline, &built), "round {round}");
    }
}

#[test]
fn device_that_is_dropped_ends_what_is_computed_for_it() {
    let is_there = || {
        let tasks = std::fs::read_dir("/proc/self/task").expect("Linux has it").flatten();
        let names = tasks.map(|task| std::fs::read_to_string(task.path().join("comm")).unwrap_or_default());
        names.into_iter().any(|name| name == "ane-beside\n")
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
    assert!(is_away(&mut runner));
    until(true);
    drop(runner);
    until(false);
}
