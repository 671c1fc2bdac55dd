//! A 3x3 convolution of 64 channels at 56x56, through the device and by the array alone.

use std::hint::black_box;
use std::num::NonZero;

use ane::build::{Built, Convolution, Graph, Padding, Shape, Weights};
use ane_device::engine::madd::{self, Array, Coefficients, Reads};
use ane_device::engine::numerics::Numerics;
use half::f16;
use half::slice::HalfFloatSliceExt;

const CHANNELS: usize = 64;
const SIDE: usize = 56;
const KERNEL: usize = 3;
const TAPS: usize = CHANNELS * KERNEL * KERNEL;
/// The bits of 1.
const ONE: u16 = 0x3c00;

fn values(count: usize, scale: f32) -> Vec<f16> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64 ^ count as u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| f16::from_f32(scale * next())).collect()
}

/// The input.
pub(crate) fn input() -> Vec<f16> {
    values(CHANNELS * SIDE * SIDE, 1.0)
}

/// The weights, `[output][tap]`.
fn weights() -> Vec<f16> {
    values(CHANNELS * TAPS, 0.1)
}

/// The program.
pub(crate) fn program() -> Built {
    let mut graph = Graph::new();
    let [channels, side] = [CHANNELS as u32, SIDE as u32];
    let x = graph.input("x", Shape::new(channels, side, side)).expect("fits");
    let weights = weights();
    let kernel = (KERNEL as u32, KERNEL as u32);
    let convolution = Convolution {
        padding: Padding::all(1),
        ..Convolution::new(channels, kernel, Weights::Half(&weights))
    };
    let y = graph.convolution(x, &convolution).expect("fits");
    graph.output("y", y).expect("computed");
    graph.build().expect("can be built")
}

/// The array, and the same data as it takes them.
pub(crate) struct Alone {
    array: Array,
    pass: madd::Convolution,
    input: Vec<u16>,
    coefficients: Vec<u16>,
    pub(crate) output: Vec<u16>,
}

impl Alone {
    pub(crate) fn new(numerics: Numerics) -> Self {
        const LANES: usize = 16;
        let weights = weights();
        let coefficients = (0..CHANNELS / LANES)
            .flat_map(|plane| (0..TAPS * LANES).map(move |at| (plane * LANES + at % LANES, at / LANES)))
            .map(|(output, tap)| weights[output * TAPS + tap].to_bits())
            .collect();
        let [channels, side, kernel] = [CHANNELS, SIDE, KERNEL].map(|n| n as u32);
        let pass = madd::Convolution {
            channels,
            height: side,
            width: side,
            outputs: channels,
            out_height: side,
            out_width: side,
            kernel_height: kernel,
            kernel_width: kernel,
            stride_y: 1,
            stride_x: 1,
            pad_y: 1,
            pad_x: 1,
            reads: Reads::Dense,
            lanes: LANES as u32,
        };
        Self {
            array: Array::new(numerics, NonZero::<usize>::MIN),
            pass,
            input: input().reinterpret_cast().to_vec(),
            coefficients,
            output: vec![0; CHANNELS * SIDE * SIDE],
        }
    }

    pub(crate) fn run(&mut self) {
        let coefficients = Coefficients::Halves(&self.coefficients);
        self.array
            .convolve(&self.pass, &self.input, coefficients, None, ONE, &mut self.output)
            .expect("sizes fit");
        black_box(&self.output);
    }
}
