//! How fast a tensor is tiled and untiled, beside a plain copy of as many bytes as the engine's layout has.
//!
//! All run interleaved in one process, warm, on one thread; the figure to quote is the median of the ratios.
//!
//! `cargo bench -p ane-capi --bench tile`

#[path = "../../../device/benches/report/mod.rs"]
mod report;

use std::hint::black_box;
use std::time::Instant;

use ane_capi::anec::Shape;
use ane_capi::tile::{tile, untile};
use report::median;

/// Rounds of which the median is taken.
const ROUNDS: usize = 31;

/// Tensors as networks have them: rows that fill their place, rows with a gap, and rows far shorter than 64 bytes.
const SHAPES: [(&str, Shape); 4] = [
    ("64 x 128 x 128", Shape { n: 1, c: 64, h: 128, w: 128, plane: 0x8000, row: 0x100 }),
    ("64 x 112 x 112", Shape { n: 1, c: 64, h: 112, w: 112, plane: 0x7000, row: 0x100 }),
    ("256 x 28 x 28", Shape { n: 1, c: 256, h: 28, w: 28, plane: 0x700, row: 0x40 }),
    ("4096 x 1 x 1", Shape { n: 1, c: 4096, h: 1, w: 1, plane: 0x40, row: 0x40 }),
];

fn seconds(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

fn main() {
    for (name, shape) in SHAPES {
        let (dense, extent) = (shape.dense().expect("fits"), shape.extent().expect("fits"));
        let tensor = vec![1_u8; dense];
        let (mut memory, mut back, mut copy) = (vec![0; extent], vec![0; dense], vec![0; extent]);
        let (mut tiled, mut untiled) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let copied = seconds(|| black_box(&mut copy).copy_from_slice(black_box(&memory)));
            let into = seconds(|| assert!(tile(black_box(&tensor), black_box(&mut memory), &shape)));
            let out = seconds(|| assert!(untile(black_box(&memory), black_box(&mut back), &shape)));
            tiled.push(copied / into);
            untiled.push(copied / out);
        }
        for (what, ratios) in [("tiling", tiled), ("untiling", untiled)] {
            let ratio = median(ratios);
            let what = format!("{what} of {name}, one thread / memcpy of the tiled bytes");
            report::line("U1", &what, &format!("{} KiB dense", dense >> 10), ratio);
        }
    }
}
