//! A device in this process, and programs on it.

use std::time::Instant;

use ane::build::Built;
use ane::container::Program;
use ane_device::Options;
use ane_device::trace::{Clock, Timeline};
use ane_tests::runner::{EmbeddedRunner, Outcome};
use half::f16;

/// Memory for the largest program.
const MEMORY: usize = 64 << 20;
/// Events that nobody has to take before a run ends.
const EVENTS: usize = 1 << 16;

pub(crate) fn open(options: &Options) -> EmbeddedRunner {
    EmbeddedRunner::open(options, MEMORY)
}

/// A device that notes what it does.
pub(crate) fn open_traced(options: &Options) -> EmbeddedRunner {
    let mut device = open(options);
    device.guest.bus.device_mut().ane().set_timeline(Timeline::on(Clock::since(Instant::now()), EVENTS));
    device
}

/// A built program in the memory of a device, having run once on `input`; with what it made of it.
pub(crate) fn load(device: EmbeddedRunner, built: &Built, input: &[f16]) -> (EmbeddedRunner, Vec<f16>) {
    load_as(device, built, &built.program(), input)
}

/// The same, where the program was altered.
pub(crate) fn load_as(
    mut device: EmbeddedRunner,
    built: &Built,
    program: &Program<'_>,
    input: &[f16],
) -> (EmbeddedRunner, Vec<f16>) {
    device.load(program);
    device.fill(built.surface("x").expect("input"), input);
    assert_eq!(device.run(), Outcome::Done);
    let output = device.take(built.surface("y").expect("output"));
    (device, output)
}

/// Runs what was loaded.
pub(crate) fn run(device: &mut EmbeddedRunner) {
    assert_eq!(device.run(), Outcome::Done);
}
