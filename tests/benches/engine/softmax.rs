//! Softmax: programs of five tasks, and a loop over singles that does the same.

use std::hint::black_box;

use ane::build::{Built, Graph, Shape};
use half::f16;
use half::slice::HalfFloatSliceExt;

/// Numbers that one softmax runs over.
pub(crate) const OVER: usize = 512;
pub(crate) const TIMES: usize = 64;

/// The input: `OVER * TIMES` numbers from -4 to 4.
pub(crate) fn input() -> Vec<f16> {
    (0..OVER * TIMES).map(|i| f16::from_f32((i * 7919 % 1024) as f32 / 128.0 - 4.0)).collect()
}

/// Softmax over channels, one for each column.
pub(crate) fn over_channels() -> Built {
    let mut graph = Graph::new();
    let x = graph.input("x", Shape::new(OVER as u32, 1, TIMES as u32)).expect("fits");
    let y = graph.softmax(x).expect("fits");
    graph.output("y", y).expect("computed");
    graph.build().expect("can be built")
}

/// Softmax over columns, one for each channel.
pub(crate) fn over_columns() -> Built {
    let mut graph = Graph::new();
    let x = graph.input("x", Shape::new(TIMES as u32, 1, OVER as u32)).expect("fits");
    let y = graph.softmax_columns(x).expect("fits");
    graph.output("y", y).expect("computed");
    graph.build().expect("can be built")
}

/// The peer: halves to singles, maximum, exponentials, sum, quotients, and halves again.
pub(crate) struct Peer {
    singles: Vec<f32>,
    pub(crate) output: Vec<f16>,
}

impl Peer {
    pub(crate) fn new() -> Self {
        Self { singles: vec![0.0; OVER * TIMES], output: vec![f16::ZERO; OVER * TIMES] }
    }

    /// Rows of `OVER` numbers.
    pub(crate) fn over_columns(&mut self, input: &[f16]) {
        input.convert_to_f32_slice(&mut self.singles);
        for row in self.singles.chunks_exact_mut(OVER) {
            let maximum = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            row.iter_mut().for_each(|x| *x = (*x - maximum).exp());
            let scale = 1.0 / row.iter().sum::<f32>();
            row.iter_mut().for_each(|x| *x *= scale);
        }
        self.output.convert_from_f32_slice(&self.singles);
        black_box(&self.output);
    }

    /// Columns of `OVER` numbers, row by row.
    pub(crate) fn over_channels(&mut self, input: &[f16]) {
        input.convert_to_f32_slice(&mut self.singles);
        let (mut maxima, mut sums) = ([f32::NEG_INFINITY; TIMES], [0.0; TIMES]);
        for row in self.singles.chunks_exact(TIMES) {
            maxima.iter_mut().zip(row).for_each(|(maximum, &x)| *maximum = maximum.max(x));
        }
        for row in self.singles.chunks_exact_mut(TIMES) {
            for ((x, maximum), sum) in row.iter_mut().zip(&maxima).zip(&mut sums) {
                *x = (*x - maximum).exp();
                *sum += *x;
            }
        }
        sums.iter_mut().for_each(|sum| *sum = 1.0 / *sum);
        for row in self.singles.chunks_exact_mut(TIMES) {
            row.iter_mut().zip(&sums).for_each(|(x, scale)| *x *= scale);
        }
        self.output.convert_from_f32_slice(&self.singles);
        black_box(&self.output);
    }
}
