//! Convolutions with as many outputs as inputs, through the device and by the array alone.

use std::hint::black_box;
use std::num::NonZero;

use ane::build::{Built, Convolution, Graph, Padding, Shape, Weights};
use ane_device::engine::madd::{self, Array, Coefficients, Reads};
use ane_device::engine::numerics::Numerics;
use ane_tests::random::Random;
use half::f16;
use half::slice::HalfFloatSliceExt;

/// Channels, the extent of either axis of both tensors, and that of the kernel.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) channels: u32,
    pub(crate) side: u32,
    pub(crate) kernel: u32,
}

/// 3x3, 64 channels, 56x56.
pub(crate) const MIDDLE: Sizes = Sizes { channels: 64, side: 56, kernel: 3 };

const CHANNELS: usize = MIDDLE.channels as usize;
const SIDE: usize = MIDDLE.side as usize;
const KERNEL: usize = MIDDLE.kernel as usize;
const TAPS: usize = MIDDLE.taps();

impl Sizes {
    pub(crate) const fn taps(self) -> usize {
        (self.channels * self.kernel * self.kernel) as usize
    }

    pub(crate) fn input(self) -> Vec<f16> {
        values((self.channels * self.side * self.side) as usize, 1.0)
    }

    /// The weights, `[output][tap]`.
    fn weights(self) -> Vec<f16> {
        values(self.channels as usize * self.taps(), 2.4 / (self.taps() as f32).sqrt())
    }
}

/// The bits of 1.
const ONE: u16 = 0x3c00;

fn values(count: usize, scale: f32) -> Vec<f16> {
    let mut random = Random::new(count as u64);
    (0..count).map(|_| f16::from_f32(scale * random.unit())).collect()
}

pub(crate) fn program(sizes: Sizes) -> Built {
    let Sizes { channels, side, kernel } = sizes;
    let mut graph = Graph::new();
    let x = graph.input("x", Shape::new(channels, side, side)).expect("fits");
    let weights = sizes.weights();
    let convolution = Convolution {
        padding: Padding::all(kernel / 2),
        ..Convolution::new(channels, (kernel, kernel), Weights::Half(&weights))
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
        let weights = MIDDLE.weights();
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
            input: MIDDLE.input().reinterpret_cast().to_vec(),
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
