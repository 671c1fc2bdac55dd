//! Questions to a device, the same inside of a guest and outside.
//!
//! A guest has nothing to compare with: it prints what programs gave, bit for bit, and the test outside runs the
//! same function on a device in its own process and compares the text. `guest-checks` is this module as a
//! program that runs in the guest.

pub mod client;

use std::time::{Duration, Instant};

use ane::container::{self, Direction};
use ane_driver::bus::{Bus, Operation};
use ane_uapi::hw::space::{EngineOffset, Iova};
use ane_uapi::hw::tm;
use ane_uapi::wire::event::EventKind;
use half::f16;

use crate::percentile;
use crate::runner::{Runner, surfaces};

/// Runs a program on inputs that depend on nothing but their place, and says what came out: how the request ended,
/// and of each output a checksum of its bits and the first values.
///
/// # Panics
///
/// If the program cannot be read, or the device does not do as it should.
pub fn program<B: Bus>(bus: B, name: &str, bytes: &[u8]) -> String {
    let program = container::open(bytes).expect("program can be read");
    let mut runner = Runner::new(bus);
    runner.load(&program);
    for (n, surface) in surfaces(&program, Direction::Input).into_iter().enumerate() {
        let shape = surface.shape;
        let count = shape.n * shape.c * shape.h * shape.w;
        // Small quarters of either sign: sums are exact, and no two neighbours are alike.
        let value = |i: u32| f16::from_f32(((i * 7 + 3 * n as u32) % 29) as f32 * 0.25 - 3.0);
        runner.fill(surface, &(0..count).map(value).collect::<Vec<_>>());
    }
    let outcome = runner.run();
    let mut said = format!("{name}: {outcome:?}");
    for surface in surfaces(&program, Direction::Output) {
        let values = runner.take(surface);
        let first: Vec<_> = values.iter().take(4).map(|value| format!("{:04x}", value.to_bits())).collect();
        said += &format!("; {} values {:016x} {}", values.len(), checksum(&values), first.join(" "));
    }
    said
}

/// FNV-1a, over the bits of all values.
fn checksum(values: &[f16]) -> u64 {
    values
        .iter()
        .flat_map(|value| value.to_bits().to_le_bytes())
        .fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// The whole error information of the fault of a task that reads an address where nothing is mapped.
///
/// # Panics
///
/// If the device does not tell of the fault.
pub fn fault<B: Bus>(bus: B) -> String {
    let mut runner = Runner::new(bus);
    runner.submit_at(Iova(0x0123_4000), 0x274, 1, [0x0123_4000; 32]);
    let event = runner.guest.event();
    assert_eq!(event.kind(), Ok(EventKind::Dart), "the first event is the fault's");
    format!("{:?}", event.info)
}

/// How long a request of one register read takes to come back.
#[derive(Clone, Copy, Debug)]
pub struct RoundTrip {
    /// Half of them took no longer.
    pub median: Duration,
    /// 99 of 100 took no longer.
    pub p99: Duration,
}

/// Times `count` requests.
///
/// # Panics
///
/// If the device does not answer.
pub fn round_trip<B: Bus>(bus: &mut B, count: usize) -> RoundTrip {
    let at = EngineOffset(tm::TASK_MANAGER.base.0 + tm::QUEUE_ENABLE.offset());
    let mut value = [0];
    let mut times: Vec<_> = (0..count)
        .map(|_| {
            let start = Instant::now();
            bus.batch(&[Operation::Read(at)], &mut value).expect("register can be read");
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    RoundTrip { median: times[count / 2], p99: percentile::p99(&times) }
}

/// The identity that the device reports.
pub fn identity<B: Bus>(bus: &B) -> String {
    let config = bus.config();
    format!("chip {:#x}, {} queues, {} contexts", config.chip, config.queue_count, config.context_count)
}
