//! The cost of the device around its arithmetic: goals T1 to T4, A7, C5 for softmax, and the longest hold of
//! its thread.
//!
//! `cargo bench -p ane-tests --bench engine [-- T1 ..]`. Everything goes through a whole device in this process, as a
//! driver would have it: submission, fetch, decoding, plan, transfers through the DART, arithmetic, event. The sides of
//! a ratio run in turn, warm, on one thread, and the figure is the median of the rounds' ratios. Each result has been
//! compared with the expected numbers first.

mod chain;
mod convolution;
mod device;
#[path = "../../../device/benches/peer/mod.rs"]
mod peer;
#[path = "../../../device/benches/report/mod.rs"]
mod report;
mod silicon;
mod softmax;
mod sparse;
mod turns;

use std::time::Duration;

use ane_device::Options;
use ane_device::engine::numerics::Numerics;
use ane_device::trace::chrome::Writer;
use half::f16;
use half::slice::HalfFloatSliceExt;
use nix::time::{ClockId, clock_gettime};

use ane_tests::runner::EmbeddedRunner;
use convolution::MIDDLE;
use device::{open, open_traced, run};
use report::median;

const ROUNDS: usize = 41;
/// The shortest time of one side of a round, in seconds.
const ROUND: f64 = 4e-3;

/// Seconds of processor time that a run takes, over so many.
///
/// All that is timed here runs on this thread, and its own time does not count what others do to the machine meanwhile.
fn time(times: usize, work: &mut dyn FnMut()) -> f64 {
    let now = || clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("a thread has a clock");
    let start = now();
    for _ in 0..times {
        work();
    }
    Duration::from(now() - start).as_secs_f64() / times as f64
}

/// Prints microseconds of both, and the median of the first over the second.
fn compare(id: &str, what: &str, ours: &mut dyn FnMut(), theirs: &mut dyn FnMut()) {
    let times = |work: &mut dyn FnMut()| (ROUND / time(1, work)).ceil() as usize;
    let times = [times(ours), times(theirs)];
    let rounds: Vec<_> = (0..ROUNDS).map(|_| (time(times[0], ours), time(times[1], theirs))).collect();
    let of = |figure: fn(&(f64, f64)) -> f64| median(rounds.iter().map(figure).collect());
    let seen = format!("{:.1} us / {:.1} us", 1e6 * of(|round| round.0), 1e6 * of(|round| round.1));
    report::line(id, what, &seen, of(|round| round.0 / round.1));
}

fn tasks() {
    let mut device = chain::load(open(&Options::default()));
    let times = (0..ROUNDS).map(|_| 1e6 * time(1, &mut || run(&mut device)) / f64::from(chain::TASKS));
    let figure = median(times.collect());
    let what = format!("{} pass-throughs of one element in one chain", chain::TASKS);
    report::line("T1", &what, &format!("{figure:.3} us a task"), figure);
}

fn around_the_array() {
    {
        let numerics = Numerics::M1;
        let options = Options { numerics, ..Options::default() };
        let (mut device, found) =
            device::load(open(&options), &convolution::program(MIDDLE), &MIDDLE.input());
        let mut alone = convolution::Alone::new(numerics);
        alone.run();
        assert!(found.reinterpret_cast() == alone.output, "device and array compute the same");
        let what = format!("3x3 64-64 at 56x56, {numerics:?}, whole device / array");
        compare("T2", &what, &mut || run(&mut device), &mut || alone.run());
    }
}

/// Runs a program, and throws away what was noted.
fn run_traced(device: &mut EmbeddedRunner) {
    run(device);
    assert_ne!(device.guest.bus.device_mut().ane().timeline_mut().drain().count(), 0);
}

fn tracing() {
    let options = Options::default();
    let (mut on, mut off) = (chain::load(open_traced(&options)), chain::load(open(&options)));
    run_traced(&mut on);
    let what = format!("chain of {} small tasks, traced / not", chain::TASKS);
    compare("T3", &what, &mut || run_traced(&mut on), &mut || run(&mut off));

    let options = Options::default();
    let load = |device| device::load(device, &convolution::program(MIDDLE), &MIDDLE.input()).0;
    let (mut conv_on, mut conv_off) = (load(open_traced(&options)), load(open(&options)));
    let what = "3x3 64-64 at 56x56, traced / not";
    compare("T3", what, &mut || run_traced(&mut conv_on), &mut || run(&mut conv_off));

    let mut write = || {
        run(&mut on);
        let timeline = on.guest.bus.device_mut().ane().timeline_mut();
        let mut writer = Writer::new(Vec::with_capacity(1 << 20)).expect("memory takes it");
        writer.drain(timeline).and_then(|()| writer.finish(timeline.take_lost())).expect("memory takes it");
    };
    let what = "the chain, traced and written to a file in memory / not traced";
    compare("(T3)", what, &mut write, &mut || run(&mut off));
}

/// T3, of the timing model.
fn timing() {
    let (on, off) = (Options::default(), Options { timing: false, ..Options::default() });
    let (mut modelled, mut plain) = (chain::load(open(&on)), chain::load(open(&off)));
    let what = format!("chain of {} small tasks, timing model on / off", chain::TASKS);
    compare("T3 timing", &what, &mut || run(&mut modelled), &mut || run(&mut plain));

    let load = |options| device::load(open(&options), &convolution::program(MIDDLE), &MIDDLE.input()).0;
    let (mut modelled, mut plain) = (load(on), load(off));
    let what = "3x3 64-64 at 56x56, timing model on / off";
    compare("T3 timing", what, &mut || run(&mut modelled), &mut || run(&mut plain));
}

/// T4: coefficients that become plain halves on their way, beside those that are.
fn expanded() {
    let input = sparse::input();
    let options = Options::default();
    let (mut plain, expected) = device::load(open(&options), &sparse::dense(), &input);
    let (built, constants) = sparse::sparse();
    let program = sparse::with_constants(&built, &constants);
    let (mut thin, found) = device::load_as(open(&options), &built, &program, &input);
    assert!(found == expected, "without zeros and with them the numbers are the same");
    let what = "3x3 64-64 at 56x56, stride 2, half of the positions empty, sparse / dense";
    compare("T4", what, &mut || run(&mut thin), &mut || run(&mut plain));

    let (mut plain, expected) = device::load(open(&options), &sparse::of_halves(), &input);
    let (mut bytes, found) = device::load(open(&options), &sparse::of_bytes(), &input);
    assert!(found == expected, "of bytes and of halves the numbers are the same");
    let what = "3x3 64-64 at 56x56, stride 2, coefficients of one byte / of two";
    compare("T4", what, &mut || run(&mut bytes), &mut || run(&mut plain));
}

/// Fails unless the numbers are near each other.
fn check(found: &[f16], expected: &[f16]) {
    for (found, expected) in found.iter().zip(expected).map(|(a, b)| (a.to_f32(), b.to_f32())) {
        assert!((found - expected).abs() <= 0.02 * expected + 1e-5, "{found}, not {expected}");
    }
}

/// C5.
fn softmax() {
    let input = softmax::input();
    let mut peer = softmax::Peer::new();
    let sizes = format!("{} of {}", softmax::TIMES, softmax::OVER);

    let (mut device, found) = device::load(open(&Options::default()), &softmax::over_channels(), &input);
    peer.over_channels(&input);
    check(&found, &peer.output);
    let what = format!("softmax over channels, {sizes}, whole device / singles");
    compare("C5", &what, &mut || run(&mut device), &mut || peer.over_channels(&input));

    let (mut device, found) = device::load(open(&Options::default()), &softmax::over_columns(), &input);
    peer.over_columns(&input);
    check(&found, &peer.output);
    let what = format!("softmax over columns, {sizes}, whole device / singles");
    compare("C5", &what, &mut || run(&mut device), &mut || peer.over_columns(&input));
}

fn main() {
    // Cargo adds options of its own; a goal's id is none.
    let wanted: Vec<_> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let wants = |id: &str| wanted.is_empty() || wanted.iter().any(|other| other == id);
    println!("{ROUNDS} rounds, one thread; ours, then the peer");
    let goals: [(&str, fn()); 8] = [
        ("T1", tasks),
        ("T2", around_the_array),
        ("T3", tracing),
        ("T3 timing", timing),
        ("T4", expanded),
        ("C5", softmax),
        ("turns", turns::measure),
        ("A7", silicon::measure),
    ];
    goals.into_iter().filter(|(id, _)| wants(id)).for_each(|(_, measure)| measure());
}
