//! Convolutions and their data.

use std::hint::black_box;

use ane_device::engine::madd::{Array, Coefficients, Convolution, Reads};
use half::f16;

/// The bits of 1.
pub(crate) const ONE: u16 = 0x3c00;

/// A convolution whose input and output have as many pixels, and its data.
pub(crate) struct Problem {
    pub(crate) what: String,
    pub(crate) pass: Convolution,
    pub(crate) input: Vec<u16>,
    pub(crate) coefficients: Vec<u16>,
    pub(crate) output: Vec<u16>,
}

/// The distribution of a problem's numbers.
#[derive(Clone, Copy)]
pub(crate) enum Data {
    /// Normally distributed around zero: operands with deviation 1, coefficients so that outputs have about that too.
    Normal,
    /// Around 2^-8 on either side of zero, so that products are about a unit and the drop rule acts everywhere.
    Small,
    /// Normally distributed, so that sums come to 2^15 here and there.
    Large,
    /// The same number everywhere, so that each sum comes to 2^15.
    Constant,
}

impl Data {
    /// Operands and coefficients, so many of each; a sum has so many taps.
    fn halves(self, operands: usize, coefficients: usize, taps: usize) -> [Vec<u16>; 2] {
        match self {
            Self::Normal => [normal(operands, 1.0, 1), normal(coefficients, (2.0 / taps as f32).sqrt(), 2)],
            Self::Small => [around(operands, 1.0 / 256.0, 1), around(coefficients, 1.0 / 256.0, 2)],
            Self::Large => {
                [normal(operands, 1024.0, 1), normal(coefficients, 32.0 / (taps as f32).sqrt(), 2)]
            }
            Self::Constant => {
                let bits = |number: f32, length: usize| vec![f16::from_f32(number).to_bits(); length];
                [bits(64.0, operands), bits(8.0, coefficients)]
            }
        }
    }
}

impl Problem {
    pub(crate) fn new(what: &str, reads: Reads, sizes: [u32; 4]) -> Self {
        Self::of(Data::Normal, what, reads, sizes)
    }

    pub(crate) fn of(
        data: Data,
        what: &str,
        reads: Reads,
        [channels, outputs, side, kernel]: [u32; 4],
    ) -> Self {
        let pass = Convolution {
            channels,
            height: side,
            width: side,
            outputs,
            out_height: side,
            out_width: side,
            kernel_height: kernel,
            kernel_width: kernel,
            stride_y: 1,
            stride_x: 1,
            pad_y: kernel / 2,
            pad_x: kernel / 2,
            reads,
            lanes: 16,
        };
        Self::with(data, what, pass)
    }

    /// The same with its coefficients in planes of so many lanes.
    pub(crate) fn in_lanes(mut self, lanes: u32) -> Self {
        self.pass.lanes = lanes;
        self
    }

    pub(crate) fn with(data: Data, what: &str, pass: Convolution) -> Self {
        let taps = Self::taps_of(&pass);
        let inputs = (pass.channels * pass.height * pass.width) as usize;
        let [input, coefficients] = data.halves(inputs, pass.outputs as usize * taps, taps);
        let output = vec![0; (pass.outputs * pass.out_height * pass.out_width) as usize];
        Self { what: what.to_owned(), pass, input, coefficients, output }
    }

    fn taps_of(pass: &Convolution) -> usize {
        let channels = match pass.reads {
            Reads::Dense => pass.channels,
            Reads::Grouped { groups } => pass.channels / groups,
            Reads::Unicast { channels } => channels,
        };
        (channels * pass.kernel_height * pass.kernel_width) as usize
    }

    pub(crate) fn taps(&self) -> usize {
        Self::taps_of(&self.pass)
    }

    /// Multiplications and additions.
    pub(crate) fn operations(&self) -> f64 {
        2.0 * self.output.len() as f64 * self.taps() as f64
    }

    pub(crate) fn pixels(&self) -> usize {
        (self.pass.out_height * self.pass.out_width) as usize
    }

    pub(crate) fn run(&mut self, array: &mut Array) {
        let coefficients = Coefficients::Halves(&self.coefficients);
        array
            .convolve(&self.pass, &self.input, coefficients, None, ONE, &mut self.output)
            .expect("sizes fit");
        black_box(&self.output);
    }

    /// The coefficients as singles, `[output][tap]`.
    pub(crate) fn singles(&self) -> Vec<f32> {
        let (taps, lanes) = (self.taps(), self.pass.lanes as usize);
        let at = |output: usize, tap: usize| ((output / lanes) * taps + tap) * lanes + output % lanes;
        (0..self.pass.outputs as usize)
            .flat_map(|output| (0..taps).map(move |tap| at(output, tap)))
            .map(|at| f16::from_bits(self.coefficients[at]).to_f32())
            .collect()
    }

    /// Fails unless the output is near enough to these numbers.
    pub(crate) fn check(&self, expected: &[f32]) {
        for (&bits, &expected) in self.output.iter().zip(expected) {
            let found = f16::from_bits(bits).to_f32();
            assert!((found - expected).abs() <= 0.02 + expected.abs() / 256.0, "{found}, not {expected}");
        }
    }
}

/// Numbers between zero and one.
pub(crate) fn uniform(seed: u64) -> impl FnMut() -> f32 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ((state >> 40) as f32 + 0.5) / (1 << 24) as f32
    }
}

/// Normally distributed halves.
pub(crate) fn normal(length: usize, deviation: f32, seed: u64) -> Vec<u16> {
    let mut next = uniform(seed);
    let number = || deviation * (-2.0 * next().ln()).sqrt() * (std::f32::consts::TAU * next()).cos();
    std::iter::repeat_with(number).map(|number| f16::from_f32(number).to_bits()).take(length).collect()
}

/// Halves around a magnitude, on either side of zero.
pub(crate) fn around(length: usize, magnitude: f32, seed: u64) -> Vec<u16> {
    let mut next = uniform(seed);
    let number = || magnitude * (0.5 + next()) * if next() < 0.5 { -1.0 } else { 1.0 };
    std::iter::repeat_with(number).map(|number| f16::from_f32(number).to_bits()).take(length).collect()
}

pub(crate) fn singles(halves: &[u16]) -> Vec<f32> {
    halves.iter().map(|&bits| f16::from_bits(bits).to_f32()).collect()
}
