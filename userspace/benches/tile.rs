//! Tiling by the library against a plain copy: half of its speed is the goal of goal U1, as for the C libraries.
//!
//! The copy moves as many bytes as the surface has in memory, from its first row to its last, gaps included. That is what a
//! client would do that keeps its tensors in the engine's layout, and both touch the same lines of the surface.
//!
//! `cargo bench -p ane --bench tile`. All run in turns on one thread; the figure is the median of the ratios.

#[path = "../../device/benches/report/mod.rs"]
mod report;

use std::hint::black_box;
use std::time::{Duration, Instant};

use ane::container::Axes;
use ane::tensor::Tensor;
use ane::tensor::tile::{Layout, tile, untile};
use half::f16;
use report::median;

/// Rounds, of which the median counts.
const ROUNDS: usize = 31;

/// Shapes: an image, features whose rows leave gaps, and a vector of channels, which is all gaps.
const SHAPES: [(&str, [u32; 3]); 3] = [
    ("image 3x224x224", [3, 224, 224]),
    ("features 64x56x56", [64, 56, 56]),
    ("vector 4096x1x1", [4096, 1, 1]),
];

fn main() {
    for (name, [c, h, w]) in SHAPES {
        let row = (2 * u64::from(w)).next_multiple_of(64);
        let plane = row * u64::from(h);
        let strides = Axes { n: plane * u64::from(c), c: plane, h: row, w: 2 };
        let layout = Layout::new(Axes { n: 1, c, h, w }, strides, 1).expect("strides clear each other");
        measure(name, &layout);
    }
}

fn measure(name: &str, layout: &Layout) {
    let dense = Tensor::random(layout.shape(), 0).into_values();
    // A surface's buffer, as a client has it: the whole of it is what a plain copy of the surface moves.
    let source = vec![1_u8; layout.bytes()];
    let mut memory = vec![0_u8; layout.bytes()];
    let mut back = vec![f16::ZERO; dense.len()];
    let (mut tiling, mut untiling) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let copy = time(|| black_box(&mut memory).copy_from_slice(black_box(&source)));
        let there = time(|| tile(layout, black_box(&dense), black_box(&mut memory)).expect("it fits"));
        let again = time(|| untile(layout, black_box(&memory), black_box(&mut back)).expect("it fits"));
        tiling.push(copy.as_secs_f64() / there.as_secs_f64());
        untiling.push(copy.as_secs_f64() / again.as_secs_f64());
    }
    for (what, ratios) in [("tiling", tiling), ("untiling", untiling)] {
        let what = format!("{what} of {name}, library, one thread / memcpy of the tiled bytes");
        report::line("U1", &what, &format!("{} KiB tiled", layout.bytes() >> 10), median(ratios));
    }
}

/// How long something takes, the average of many times.
fn time(mut action: impl FnMut()) -> Duration {
    const TIMES: u32 = 20;
    let start = Instant::now();
    (0..TIMES).for_each(|_| action());
    start.elapsed() / TIMES
}
