//! The timing model on built programs: held to what was measured, within what docs/timing.md states.

use ane::build::{Built, Convolution, Graph, Shape, Weights};
use ane::sram::Occupancy;
use ane_device::Options;
use ane_device::counters::Report as Performance;
use ane_device::timing::phases::Part;
use ane_device::trace::{Clock, Timeline, What};
use ane_driver::bus::{Bus, Operation};
use ane_tests::runner::{EmbeddedRunner, Outcome};
use ane_uapi::hw::chip::Soc;
use ane_uapi::wire::event::EventKind;
use half::f16;
use xtask::timing::experiment::{self, Curve, layer, nanoseconds, pass_time, sweep_rate};

/// Fails unless the curve is as near to its measurements as it says.
fn hold(curve: &Curve) {
    for point in &curve.points {
        println!(
            "{}: measured {:?}, model {:.1}, {:+.1} %",
            point.what,
            point.measured,
            point.model,
            100.0 * point.error()
        );
    }
    assert!(curve.worst() <= curve.tolerance.0, "{:.3}", curve.worst());
}

/// Requirement: MEM-10
#[test]
fn sweep_across_the_bound_is_the_measured_one() {
    hold(&experiment::sweep().expect("programs are built"));
}

#[test]
fn published_convolutions_take_what_was_measured() {
    hold(&experiment::convolutions().expect("programs are built"));
}

#[test]
fn cores_scale_as_was_measured_and_in_proportion() {
    let cores = experiment::cores().expect("programs are built");
    hold(&cores);
    let one = cores.points[0].model;
    for (point, count) in cores.points.iter().zip(1..) {
        let ratio = point.model / one;
        assert!((ratio / f64::from(count) - 1.0).abs() < 0.04, "{count} cores are {ratio:.2} times one");
    }
}

#[test]
fn one_more_pass_over_the_output_channels_is_a_step() {
    hold(&experiment::pass_step().expect("programs are built"));
    // Between two multiples of 64 outputs the array walks over the input as often as at the upper one.
    let array = |outputs| {
        let built = layer(Shape::new(256, 32, 32), outputs, 1).expect("it is built");
        Occupancy::of(&built.program(), Soc::T8103).tasks[0].array
    };
    assert_eq!([200, 224, 240].map(array), [array(256); 3]);
    assert_eq!(array(256) * 3, array(192) * 4);
    assert!(pass_time(64).expect("it is built") < pass_time(128).expect("it is built"));
}

#[test]
fn request_that_does_nothing_takes_the_dispatch_floor() {
    hold(&experiment::floor().expect("programs are built"));
}

/// Requirement: MEM-12
#[test]
fn rate_above_the_step_is_higher_than_any_below() {
    let rates =
        |sizes: &[f64]| sizes.iter().map(|&size| sweep_rate(size).expect("it is built")).collect::<Vec<_>>();
    let below = rates(&[1.25, 1.5, 1.75, 2.0, 2.25, 2.28]);
    let above = rates(&[2.34, 2.5, 2.75, 3.0, 3.06]);
    assert!(below.is_sorted_by(|a, b| *b > 0.98 * a), "gently rising: {below:?}");
    let (highest, lowest) =
        (below.iter().copied().fold(0.0, f64::max), above.iter().copied().fold(f64::MAX, f64::min));
    assert!(lowest > 1.08 * highest, "{lowest} above, {highest} below");
}

/// Requirement: MEM-14
#[test]
fn sweep_down_gives_what_the_sweep_up_gave() {
    let sizes = [2.22, 2.25, 2.28, 2.31, 2.34, 2.37];
    let rate = |size: &f64| sweep_rate(*size).expect("it is built");
    let up: Vec<f64> = sizes.iter().map(rate).collect();
    let down: Vec<f64> = sizes.iter().rev().map(rate).collect();
    assert!(up.iter().eq(down.iter().rev()));
    let steps: Vec<f64> = up.windows(2).map(|pair| pair[1] / pair[0]).collect();
    let largest = steps.iter().copied().fold(0.0, f64::max);
    assert_eq!(
        steps.iter().position(|&step| step == largest),
        Some(2),
        "between 2.28 and 2.31 MB: {steps:?}"
    );
}

/// Requirement: MEM-08
#[test]
fn streamed_layer_moves_more_bytes_for_each_operation() {
    // The same work, in one piece and, with a smaller bound, in tiles of rows that overlap by the kernel's.
    let build = |bound: u32| {
        let mut graph = Graph::new();
        graph.set_operand_bytes(bound);
        let x = graph.input("x", Shape::new(64, 48, 64)).expect("it fits");
        let weights = vec![f16::ONE; 64 * 64 * 9];
        let y =
            graph.convolution(x, &Convolution::new(64, (3, 3), Weights::Half(&weights))).expect("it fits");
        graph.output("y", y).expect("it is computed");
        graph.build().expect("it fits")
    };
    let moved = |built: &Built| {
        let (mut runner, _) = run(built, &Options::default());
        runner.guest.bus.device_mut().ane().counters().usage.moved_bytes
    };
    let (whole, tiled) = (build(2 << 20), build(128 << 10));
    assert!(tiled.task_count() > whole.task_count());
    assert!(moved(&tiled) > moved(&whole) * 11 / 10, "{} and {}", moved(&tiled), moved(&whole));
}

/// Runs a program; gives the device and its virtual timeline: part, start and end.
fn run(built: &Built, options: &Options) -> (EmbeddedRunner, Vec<(u16, Part, u64, u64)>) {
    let mut runner = EmbeddedRunner::open(options, 32 << 20);
    runner.guest.bus.device_mut().ane().set_timeline(Timeline::on(Clock::new(|| 0), 1 << 12));
    runner.load(&built.program());
    assert_eq!(runner.run(), Outcome::Done);
    let records: Vec<_> = runner.guest.bus.device_mut().ane().timeline_mut().drain().collect();
    let spans = records.into_iter().filter_map(|record| match record.event.what {
        What::Modelled { part, .. } => Some((record.event.task.index, part, record.start.0, record.end.0)),
        _ => None,
    });
    (runner, spans.collect())
}

fn of(spans: &[(u16, Part, u64, u64)], wanted: Part) -> Vec<(u64, u64)> {
    spans.iter().filter(|span| span.1 == wanted).map(|span| (span.2, span.3)).collect()
}

/// Requirement: MEM-13
#[test]
fn weight_fills_before_the_array_starts_below_the_bound_and_meanwhile_above_it() {
    let product = |outputs| layer(Shape::new(1024, 1, 256), outputs, 1).expect("it is built");
    let (_, below) = run(&product(1024), &Options::default());
    let (fill, array) = (of(&below, Part::KernelFill), of(&below, Part::Array));
    assert_eq!((fill.len(), array.len()), (1, 1), "2 MB in one piece");
    assert!(fill[0].1 <= array[0].0, "fill, then compute: {fill:?} {array:?}");

    let (_, above) = run(&product(1536), &Options::default());
    let (fill, array) = (of(&above, Part::KernelFill), of(&above, Part::Array));
    assert!(array.len() >= 3, "3 MB in tiles of 1");
    assert!(fill[0].1 <= array[0].0, "the first tile fills alone");
    // While a tile fills, the array works on the tile before: the visible rest of each fill is shorter than all.
    let seen = |(start, end): (u64, u64)| end.saturating_sub(start);
    assert!(fill.iter().skip(1).all(|&span| seen(span) < seen(fill[0])), "{fill:?}");
}

/// Requirement: MEM-21
#[test]
fn conflicts_of_a_schedule_are_counted_by_the_device() {
    // Sixteen rows of 8 columns in the pool: dense rows of 64 channels are 1 KB apart and share their banks.
    let mut graph = Graph::new();
    let x = graph.input("x", Shape::new(64, 16, 8)).expect("it fits");
    let y = graph.relu(x).expect("it fits");
    graph.output("y", y).expect("it is computed");
    let mut built = graph.build().expect("it fits");
    let conflicts = |built: &Built| {
        let (mut runner, _) = run(built, &Options::default());
        runner.guest.bus.device_mut().ane().counters().usage.bank_conflicts
    };
    assert_eq!(conflicts(&built), 0, "the builder's stride spreads them");
    let row = ane_uapi::hw::td::l2::SOURCE_ROW_STRIDE.offset();
    built.register_mut(0, row).expect("it is set").set(0x400);
    // Sixteen groups of four channels; in each, sixteen rows meet in four banks.
    assert_eq!(conflicts(&built), 16 * 15);
}

#[test]
fn virtual_time_is_in_counters_reports_and_the_same_in_every_run() {
    let built = layer(Shape::new(64, 32, 32), 64, 3).expect("it is built");
    let expected = nanoseconds(&built);
    let cycles = || {
        let (mut runner, _) = run(&built, &Options::default());
        let low = Operation::Read(Performance::Cycles.offset());
        let mut read = [0];
        runner.guest.bus.batch(&[low], &mut read).expect("a report");
        let counted = runner.guest.bus.device_mut().ane().counters().usage.cycles;
        assert_eq!(u64::from(read[0]), counted);
        counted
    };
    let first = cycles();
    assert_eq!(first, cycles());
    assert!((first as f64 / 1.14 / expected - 1.0).abs() < 1e-3, "{first} cycles, {expected} ns");
}

#[test]
fn completion_of_a_request_tells_its_virtual_time_in_ticks() {
    let built = layer(Shape::new(64, 32, 32), 64, 3).expect("it is built");
    let mut runner = EmbeddedRunner::open(&Options::default(), 32 << 20);
    runner.load(&built.program());
    runner.submit();
    let event = runner.guest.event();
    let cycles = runner.guest.bus.device_mut().ane().counters().usage.cycles;
    // The clock of events has 24 MHz, that of the engine 1.14 GHz.
    let expected = cycles as f64 * 24.0 / 1140.0;
    assert_eq!(event.kind(), Ok(EventKind::TaskManager));
    assert!((f64::from(event.words[2].get()) - expected).abs() <= 1.0, "{:?}, {expected} ticks", event.words);
}

#[test]
fn model_that_is_off_counts_nothing() {
    let built = layer(Shape::new(16, 8, 8), 16, 1).expect("it is built");
    let (mut runner, spans) = run(&built, &Options { timing: false, ..Options::default() });
    assert_eq!(runner.guest.bus.device_mut().ane().counters().usage.cycles, 0);
    assert_eq!(spans, []);
}
