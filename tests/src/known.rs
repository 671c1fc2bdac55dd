//! Compiled programs with inputs for which it is known what an M1 gives (td 8; the samples' own description), for
//! any way to run them.

use ane::container::{self, Direction, Program};
use ane::embedded;
use ane_device::Options;
use ane_driver::bus::Bus;
use ane_driver::bus::vhost_user::{Settings, VhostUser};
use half::f16;

use crate::daemon::{Daemon, LIMIT};
use crate::data;
use crate::runner::{Outcome, Runner, surfaces};

/// Memory for the largest of them, and for a driver's own.
const MEMORY: usize = 32 << 20;

/// A program, its inputs in the order of the file, and its first output.
pub struct Known {
    pub bytes: Vec<u8>,
    /// Values of each input.
    pub inputs: Vec<Vec<f16>>,
    /// Values of the output.
    pub output: Vec<f16>,
}

/// A way to run a program, whatever carries the accesses to the device.
pub trait Way {
    /// Runs it on inputs in the order of the file; gives its first output.
    fn run_on<B: Bus>(bus: B, program: &Program<'_>, inputs: &[Vec<f16>]) -> Vec<f16>;
}

/// By the registers of the device alone.
#[derive(Debug)]
pub struct ByRegisters;

impl Way for ByRegisters {
    fn run_on<B: Bus>(bus: B, program: &Program<'_>, inputs: &[Vec<f16>]) -> Vec<f16> {
        let mut runner = Runner::new(bus);
        runner.load(program);
        for (surface, values) in surfaces(program, Direction::Input).into_iter().zip(inputs) {
            runner.fill(surface, values);
        }
        assert_eq!(runner.run(), Outcome::Done);
        runner.take(surfaces(program, Direction::Output)[0])
    }
}

/// Runs a program in this process and over the socket, and gives what both say.
///
/// # Panics
///
/// If there is no device, or they say different things.
pub fn run<W: Way>(program: &Program<'_>, inputs: &[Vec<f16>]) -> Vec<f16> {
    let device = embedded::open(&Options::default(), MEMORY).expect("device in this process");
    let here = W::run_on(device, program, inputs);
    let daemon = Daemon::start(&[]);
    let settings = Settings { memory_bytes: MEMORY, timeout: LIMIT, ..Settings::default() };
    let device = VhostUser::connect(&daemon.socket(), settings).expect("device over the socket");
    assert_eq!(here, W::run_on(device, program, inputs), "in process and over the socket");
    here
}

/// Runs a program whose output is known.
///
/// # Panics
///
/// If it gives anything else.
pub fn assert_known<W: Way>(known: Known) {
    let program = container::open(&known.bytes).expect("sample is a program");
    assert_eq!(run::<W>(&program, &known.inputs), known.output);
}

/// The values as the engine has them.
pub fn halves(values: impl IntoIterator<Item = f32>) -> Vec<f16> {
    values.into_iter().map(f16::from_f32).collect()
}

fn known(name: &str, inputs: &[Vec<f16>], output: Vec<f16>) -> Option<Known> {
    let sample = data::programs()?.into_iter().find(|sample| sample.name == name)?;
    Some(Known { bytes: sample.bytes, inputs: inputs.to_vec(), output })
}

/// Three and two are five.
pub fn sum() -> Option<Known> {
    known("sum", &[halves([3.0; 64]), halves([2.0; 64])], halves([5.0; 64]))
}

/// Values above zero are kept.
pub fn relu() -> Option<Known> {
    let mut input = vec![-3.0, 5.0];
    input.resize(77, -0.25);
    let mut output = vec![0.0, 5.0];
    output.resize(77, 0.0);
    known("relu", &[halves(input)], halves(output))
}

/// The knot of the table nearest to the sigmoid of three.
pub fn sigmoid() -> Option<Known> {
    known("sigmoid", &[halves([3.0; 77])], halves([0.952_636_7; 77]))
}

/// All weights are two.
pub fn convolution() -> Option<Known> {
    known("conv", &[halves([1.0, 2.0, 3.0])], halves([12.0; 3]))
}

/// As compiled, all weights are zero.
pub fn inner_product() -> Option<Known> {
    known("gemm", &[halves((0..512).map(|i| (i % 7) as f32 - 3.0))], halves([0.0; 512]))
}

/// The second input, which is the larger, comes first.
///
/// # Panics
///
/// If the program cannot be read.
pub fn concatenation() -> Option<Known> {
    let mut known = known("concat", &[], Vec::new())?;
    let program = container::open(&known.bytes).expect("sample is a program");
    let value = |c, channels| (c % 1024) as f32 + channels as f32;
    known.inputs = surfaces(&program, Direction::Input)
        .iter()
        .map(|input| halves((0..input.shape.c).map(|c| value(c, input.shape.c))))
        .collect();
    let mut expected = known.inputs.clone();
    expected.sort_by_key(|values| std::cmp::Reverse(values.len()));
    known.output = expected.concat();
    Some(known)
}
