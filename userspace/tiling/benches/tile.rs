//! Tiling against a plain copy: goal U1 wants half of its speed.
//!
//! The copy moves as many bytes as the surface has in memory, from its first row to its last, gaps included. That is what a
//! client would do that keeps its tensors in the engine's layout, and both touch the same lines of the surface. The
//! client library keeps what is in the gaps, the C libraries clear it; back there is one way.
//!
//! `cargo bench -p ane-tiling --bench tile`. All run in turns on one thread; the figure is the median of the ratios.

#[path = "../../../device/benches/report/mod.rs"]
mod report;

use std::hint::black_box;
use std::time::{Duration, Instant};

use ane_tiling::{Axes, Layout};
use report::median;

/// Rounds, of which the median counts.
const ROUNDS: usize = 31;

/// Where a buffer begins: at a page, as the system maps it.
const PAGE: usize = 0x4000;

/// Tensors as networks have them: rows that fill their place, rows with a gap, rows far shorter than 64 bytes, and one that
/// is all gaps.
const SHAPES: [[u32; 3]; 6] =
    [[3, 224, 224], [64, 128, 128], [64, 112, 112], [64, 56, 56], [256, 28, 28], [4096, 1, 1]];

fn main() {
    for [c, h, w] in SHAPES {
        let row = (2 * u64::from(w)).next_multiple_of(64);
        let plane = row * u64::from(h);
        let strides = Axes { n: plane * u64::from(c), c: plane, h: row, w: 2 };
        let layout = Layout::new(Axes { n: 1, c, h, w }, strides).expect("strides clear each other");
        measure(&format!("{c} x {h} x {w}"), &layout);
    }
}

fn measure(name: &str, layout: &Layout) {
    let dense = vec![1_u8; layout.dense_bytes()];
    let mut back = vec![0; layout.dense_bytes()];
    let bytes = layout.bytes();
    let (mut room, mut other) = (vec![0_u8; bytes + PAGE], vec![1_u8; bytes + PAGE]);
    let (memory, source) = (at_page(&mut room, bytes), at_page(&mut other, bytes));
    let mut ratios = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS {
        let copy = time(|| black_box(&mut *memory).copy_from_slice(black_box(source)));
        let times = [
            time(|| layout.tile(black_box(&dense), black_box(&mut *memory)).expect("it fits")),
            time(|| layout.tile_clearing(black_box(&dense), black_box(&mut *memory)).expect("it fits")),
            time(|| layout.untile(black_box(&*memory), black_box(&mut back)).expect("it fits")),
        ];
        for (ratios, time) in ratios.iter_mut().zip(times) {
            ratios.push(copy.as_secs_f64() / time.as_secs_f64());
        }
    }
    let whats = ["tiling, gaps kept,", "tiling, gaps cleared,", "untiling"];
    for (what, ratios) in whats.into_iter().zip(ratios) {
        let what = format!("{what} of {name}, one thread / memcpy of the tiled bytes");
        report::line("U1", &what, &format!("{} KiB tiled", bytes >> 10), median(ratios));
    }
}

/// So many bytes from where a page begins.
fn at_page(room: &mut [u8], bytes: usize) -> &mut [u8] {
    let first = room.as_ptr().align_offset(PAGE);
    &mut room[first..first + bytes]
}

/// How long something takes, the average of many times.
fn time(mut action: impl FnMut()) -> Duration {
    const TIMES: u32 = 20;
    let start = Instant::now();
    (0..TIMES).for_each(|_| action());
    start.elapsed() / TIMES
}
