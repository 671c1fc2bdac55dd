//! The experiments: a program, what the model says of it, and what was measured.
//!
//! All numbers that were measured are published ones (facts G.1, H.3, I). Where a source does not say which shape it measured,
//! the shape here says so.

use ane::build::{BuildError, Built, Convolution, Graph, Padding, Shape, Weights};
use ane::sram::Occupancy;
use ane_uapi::hw::chip::Soc;
use half::f16;

/// The chip of all experiments: what the sources call the M1.
pub const CHIP: Soc = Soc::T8103;

/// How far the model may be from a measurement, as a part of it.
#[derive(Clone, Copy, Debug)]
pub struct Tolerance(pub f64);

#[derive(Clone, Debug)]
pub struct Point {
    pub what: String,
    /// For plots: where it lies.
    pub x: f64,
    /// The measured range, from and to; the same twice for a single number.
    pub measured: (f64, f64),
    pub model: f64,
}

impl Point {
    /// How far the model is outside what was measured, as a part of the nearer end; 0 inside.
    pub fn error(&self) -> f64 {
        let (low, high) = self.measured;
        let nearest = self.model.clamp(low, high);
        self.model / nearest - 1.0
    }
}

#[derive(Clone, Debug)]
pub struct Curve {
    pub points: Vec<Point>,
    /// The tolerance of the model.
    pub tolerance: Tolerance,
}

impl Curve {
    pub fn worst(&self) -> f64 {
        self.points.iter().map(|point| point.error().abs()).fold(0.0, f64::max)
    }
}

/// Nanoseconds from call to return, by the model.
pub fn nanoseconds(built: &Built) -> f64 {
    let report = Occupancy::of(&built.program(), CHIP);
    assert_eq!(report.damage, None, "built programs are understood");
    report.nanoseconds as f64
}

/// A convolution of one input, and nothing else.
pub fn layer(input: Shape, outputs: u32, kernel: u32) -> Result<Built, BuildError> {
    let mut graph = Graph::new();
    let x = graph.input("x", input)?;
    let weights = vec![f16::ZERO; (outputs * input.c * kernel * kernel) as usize];
    let convolution = Convolution {
        padding: Padding::all(kernel / 2),
        ..Convolution::new(outputs, (kernel, kernel), Weights::Half(&weights))
    };
    let y = graph.convolution(x, &convolution)?;
    graph.output("y", y)?;
    graph.build()
}

/// Rows of the batch in the sweep of table 21.1, which does not say how many.
///
/// 256 is the power of two at which the line through the plateau's ends, in time over bytes, starts at the dispatch time
/// that was measured elsewhere.
pub const SWEEP_BATCH: u32 = 256;

/// Input channels in the sweep; its weight grows by output channels.
pub const SWEEP_INPUTS: u32 = 1024;

/// The figures of table 21.1 for a weight of so many megabytes, in GFLOP/s.
const SWEEP: [(f64, (f64, f64)); 12] = [
    (1.25, (700.0, 850.0)),
    (1.50, (700.0, 850.0)),
    (1.75, (700.0, 850.0)),
    (2.00, (700.0, 850.0)),
    (2.12, (700.0, 850.0)),
    (2.25, (700.0, 850.0)),
    (2.28, (992.0, 992.0)),
    (2.34, (1038.0, 1038.0)),
    (2.50, (1120.0, 1120.0)),
    (2.75, (1180.0, 1180.0)),
    (3.00, (1226.0, 1226.0)),
    (3.06, (1368.0, 1368.0)),
];

/// GFLOP/s of the sweep's product with a weight of `megabytes`.
pub fn sweep_rate(megabytes: f64) -> Result<f64, BuildError> {
    let outputs = (megabytes * f64::from(1 << 20) / f64::from(2 * SWEEP_INPUTS)).round() as u32;
    let operations = 2.0 * f64::from(SWEEP_BATCH) * f64::from(SWEEP_INPUTS) * f64::from(outputs);
    Ok(operations / nanoseconds(&layer(Shape::new(SWEEP_INPUTS, 1, SWEEP_BATCH), outputs, 1)?))
}

/// Table 21.1: a batched product whose weight crosses the bound.
pub fn sweep() -> Result<Curve, BuildError> {
    let point = |&(megabytes, measured): &(f64, (f64, f64))| {
        Ok(Point {
            what: format!("{megabytes:.2} MB"),
            x: megabytes,
            measured,
            model: sweep_rate(megabytes)?,
        })
    };
    let points = SWEEP.iter().map(point).collect::<Result<_, BuildError>>()?;
    Ok(Curve { points, tolerance: Tolerance(0.20) })
}

/// A published convolution: kernel, input and output channels, extent, and microseconds of a whole call.
struct Published {
    kernel: u32,
    inputs: u32,
    outputs: u32,
    extent: u32,
    measured: (f64, f64),
}

const fn published(kernel: u32, inputs: u32, outputs: u32, extent: u32, measured: (f64, f64)) -> Published {
    Published { kernel, inputs, outputs, extent, measured }
}

/// Where facts I gives a rate it is turned into the time of one call.
const CONVOLUTIONS: [Published; 8] = [
    published(1, 512, 512, 32, (444.0, 444.0)),
    published(1, 1024, 1024, 16, (686.0, 686.0)),
    published(1, 2048, 2048, 8, (1047.0, 1047.0)),
    published(3, 256, 256, 28, (507.0, 507.0)),
    // 63 GFLOP/s.
    published(3, 64, 64, 16, (299.6, 299.6)),
    published(3, 64, 64, 64, (395.0, 395.0)),
    // 1062 us in one place, 1102 GFLOP/s in another.
    published(3, 64, 64, 128, (1062.0, 1096.0)),
    // 1247 GFLOP/s.
    published(3, 64, 64, 256, (3875.0, 3875.0)),
];

/// Convolutions end to end. No number of the model was chosen by these.
pub fn convolutions() -> Result<Curve, BuildError> {
    let point = |(x, published): (usize, &Published)| {
        let &Published { kernel, inputs, outputs, extent, measured } = published;
        let built = layer(Shape::new(inputs, extent, extent), outputs, kernel)?;
        let what = format!("{kernel}x{kernel}, {inputs} to {outputs} channels, {extent}x{extent}");
        Ok(Point { what, x: x as f64, measured, model: nanoseconds(&built) / 1000.0 })
    };
    let points = CONVOLUTIONS.iter().enumerate().map(point).collect::<Result<_, BuildError>>()?;
    Ok(Curve { points, tolerance: Tolerance(0.25) })
}

/// GMAC/s with one output channel on each of 1 to 4 cores (facts G.1: channel `c` is core `c mod 4`'s).
const CORES: [f64; 4] = [3.8, 7.6, 11.4, 15.4];

/// Core scaling. The source does not give the layer; this is 1x1 over the largest input of the published ladder.
pub fn cores() -> Result<Curve, BuildError> {
    let input = Shape::new(64, 256, 256);
    let point = |(&measured, outputs): (&f64, u32)| {
        let time = nanoseconds(&layer(input, outputs, 1)?);
        let model = input.elements() as f64 * f64::from(outputs) / time;
        Ok(Point {
            what: format!("{outputs} cores"),
            x: outputs.into(),
            measured: (measured, measured),
            model,
        })
    };
    let points = CORES.iter().zip(1..).map(point).collect::<Result<_, BuildError>>()?;
    Ok(Curve { points, tolerance: Tolerance(0.25) })
}

/// Input channels of the pass step, which its source does not give.
pub const STEP_INPUTS: u32 = 1024;

/// Microseconds by which a 1x1 layer over 32x32 grows from 192 to 256 output channels: 20 to 61.
const STEP: f64 = 61.0 - 20.0;

/// Microseconds of a 1x1 layer over 32x32 with so many outputs, its operands on chip: coefficients, once, and array.
pub fn pass_time(outputs: u32) -> Result<f64, BuildError> {
    let built = layer(Shape::new(STEP_INPUTS, 32, 32), outputs, 1)?;
    let report = Occupancy::of(&built.program(), CHIP);
    let cycles = report.tasks[0].fill + report.tasks.iter().map(|task| task.array).sum::<u64>();
    let machine = ane_device::timing::Machine::of(CHIP.chip().generation);
    Ok(machine.nanoseconds(cycles) as f64 / 1000.0)
}

/// The step that one more pass over the output channels makes.
pub fn pass_step() -> Result<Curve, BuildError> {
    let model = pass_time(256)? - pass_time(192)?;
    let what = "192 to 256 output channels".to_owned();
    let points = vec![Point { what, x: 0.0, measured: (STEP, STEP), model }];
    Ok(Curve { points, tolerance: Tolerance(0.25) })
}

/// The dispatch floor: a pass-through of one element, in microseconds. Measured 190 in one way and 230 in another.
pub fn floor() -> Result<Curve, BuildError> {
    let mut graph = Graph::new();
    let x = graph.input("x", Shape::new(1, 1, 1))?;
    let y = graph.relu(x)?;
    graph.output("y", y)?;
    let model = nanoseconds(&graph.build()?) / 1000.0;
    let points = vec![Point { what: "one element".to_owned(), x: 0.0, measured: (190.0, 230.0), model }];
    Ok(Curve { points, tolerance: Tolerance(0.02) })
}
