//! A device in this process, and programs on it.

use std::time::Instant;

use ane::build::Built;
use ane::container::Program;
use ane::embedded;
use ane_device::Options;
use ane_device::trace::{Clock, Timeline};
use ane_tests::runner::{Outcome, Runner};
use half::f16;

/// Memory for the largest program.
const MEMORY: usize = 64 << 20;
/// Events that nobody has to take before a run ends.
const EVENTS: usize = 1 << 16;

/// A device, and a driver for it.
pub(crate) type Device = Runner<embedded::InProcess>;

/// A device.
pub(crate) fn open(options: &Options) -> Device {
    Runner::new(embedded::open(options, MEMORY).expect("a device"))
}

/// A device that notes what it does.
pub(crate) fn open_traced(options: &Options) -> Device {
    let mut device = open(options);
    device.guest.bus.device_mut().ane().set_timeline(Timeline::on(Clock::since(Instant::now()), EVENTS));
    device
}

/// A built program in the memory of a device, having run once on `input`; with what it made of it.
pub(crate) fn load(device: Device, built: &Built, input: &[f16]) -> (Device, Vec<f16>) {
    load_as(device, built, &built.program(), input)
}

/// The same, where the program was altered.
pub(crate) fn load_as(
    mut device: Device,
    built: &Built,
    program: &Program<'_>,
    input: &[f16],
) -> (Device, Vec<f16>) {
    device.load(program);
    device.fill(built.surface("x").expect("input"), input);
    assert_eq!(device.run(), Outcome::Done);
    let output = device.take(built.surface("y").expect("output"));
    (device, output)
}

/// Runs what was loaded.
pub(crate) fn run(device: &mut Device) {
    assert_eq!(device.run(), Outcome::Done);
}
