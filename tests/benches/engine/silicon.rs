//! Convolutions through the whole device on two threads, beside what an M1 took for the same: goal A7.
//!
//! The M1's microseconds are those that other people measured on their machines, and no run of
//! this bench can repeat them. Ours are the clock's, from submission to event, the median of the rounds.
//!
//! Processors differ, and the M1 does not change with them. So each figure has beside it what this processor takes for nothing
//! but the same products in singles, by the peer of A1, with the operands of each tap laid out beforehand.

use std::hint::black_box;
use std::num::NonZero;
use std::time::Instant;

use ane_device::Options;

use crate::convolution::{Sizes, program};
use crate::peer;
use crate::report::{self, median};
use crate::{ROUNDS, device};

const THREADS: NonZero<usize> = NonZero::new(2).unwrap();

/// Each convolution, and microseconds of the M1.
const CONVOLUTIONS: [(Sizes, f64); 9] = [
    (Sizes { channels: 64, side: 16, kernel: 3 }, 231.0),
    (Sizes { channels: 64, side: 32, kernel: 3 }, 248.0),
    (Sizes { channels: 64, side: 64, kernel: 3 }, 395.0),
    (Sizes { channels: 64, side: 128, kernel: 3 }, 1062.0),
    (Sizes { channels: 64, side: 256, kernel: 3 }, 3814.0),
    (Sizes { channels: 256, side: 28, kernel: 3 }, 507.0),
    (Sizes { channels: 512, side: 32, kernel: 1 }, 444.0),
    (Sizes { channels: 1024, side: 16, kernel: 1 }, 686.0),
    (Sizes { channels: 2048, side: 8, kernel: 1 }, 1047.0),
];

/// Microseconds that something takes: the median of the rounds.
fn microseconds(mut once: impl FnMut()) -> f64 {
    once();
    let timed = || {
        let start = Instant::now();
        once();
        1e6 * start.elapsed().as_secs_f64()
    };
    median(std::iter::repeat_with(timed).take(ROUNDS).collect())
}

/// What the products alone take in singles.
fn products_alone(sizes: Sizes) -> f64 {
    let [outputs, taps, pixels] = [sizes.channels as usize, sizes.taps(), (sizes.side * sizes.side) as usize];
    let (coefficients, operands) = (vec![0.5; outputs * taps], vec![0.25; taps * pixels]);
    let mut product = vec![0.0; outputs * pixels];
    microseconds(|| {
        peer::by_faer([outputs, taps, pixels], &coefficients, &operands, &mut product, THREADS.get());
        black_box(&product);
    })
}

/// A7.
pub(crate) fn measure() {
    let options = Options { threads: THREADS, ..Options::default() };
    for (sizes, theirs) in CONVOLUTIONS {
        let (mut device, _) = device::load(device::open(&options), &program(sizes), &sizes.input());
        let ours = microseconds(|| device::run(&mut device));
        let Sizes { channels, side, kernel } = sizes;
        let alone = products_alone(sizes) / theirs;
        let what = format!(
            "{kernel}x{kernel} {channels}-{channels} at {side}x{side}, whole device / M1 (faer's product alone: {alone:.1} of the M1's time)"
        );
        report::line("A7", &what, &format!("{ours:.0} us / {theirs:.0} us"), ours / theirs);
    }
}
