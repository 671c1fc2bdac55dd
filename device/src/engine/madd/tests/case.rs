//! Passes with data, and what the definition says of them.

use proptest::prelude::*;

use super::super::*;
use crate::engine::numerics;

/// A pass that makes sense, whatever the numbers it is made from.
fn pass() -> impl Strategy<Value = Convolution> {
    let reads = prop_oneof![
        3 => Just(None),
        2 => (1..4u32).prop_map(|groups| Some(Reads::Grouped { groups })),
        2 => (1..3u32).prop_map(|channels| Some(Reads::Unicast { channels })),
    ];
    let kernel = (1..5u32, 1..5u32, 1..3u32, 1..3u32, 0..4u32, 0..4u32);
    (reads, 1..12u32, 1..20u32, 1..8u32, 1..40u32, kernel, 0..6u32).prop_map(
        |(reads, inputs, outputs, height, width, kernel, lanes)| {
            let (kernel_height, kernel_width, stride_y, stride_x, pad_y, pad_x) = kernel;
            let (channels, outputs) = match reads {
                Some(Reads::Grouped { groups }) => (inputs * groups, outputs * groups),
                Some(Reads::Unicast { channels }) => (outputs * channels + inputs, outputs),
                _ => (inputs * 8, outputs),
            };
            let size = |input: u32, kernel: u32, stride: u32, pad: u32| {
                (input + 2 * pad).saturating_sub(kernel) / stride + 1
            };
            Convolution {
                channels,
                height,
                width,
                outputs,
                out_height: size(height, kernel_height, stride_y, pad_y),
                out_width: size(width, kernel_width, stride_x, pad_x),
                kernel_height,
                kernel_width,
                stride_y,
                stride_x,
                pad_y,
                pad_x,
                reads: reads.unwrap_or(Reads::Dense),
                lanes: 1 << lanes,
            }
        },
    )
}

/// Numbers of a kind: what a source of them is drawn from.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Bits,
    Plain,
    /// So that products are units or less.
    Tiny,
    /// So that sums are on either side of 2^15, and some products.
    Large,
    /// So that the drop rule acts on many products.
    Small,
    /// Few digits, many ties and zeros.
    Coarse,
}

const KINDS: [Kind; 6] = [Kind::Bits, Kind::Plain, Kind::Tiny, Kind::Large, Kind::Coarse, Kind::Small];

/// So many halves of a kind; one in `special` of them is something that is no plain number.
fn halves(kind: Kind, special: u64, seed: u64, length: usize) -> Vec<u16> {
    const SPECIAL: [u16; 10] =
        [0x7e00, 0xfe01, 0x7c00, 0xfc00, 0x0000, 0x8000, 0x0001, 0x83ff, 0x7bff, 0xfbff];
    let mut state = seed | 1;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 11
    };
    let ordinary = |random: u64| {
        let significand = (random & 0x83ff) as u16;
        let exponent = |least: u16, count: u64| (least + (random >> 20).rem_euclid(count) as u16) << 10;
        match kind {
            Kind::Bits => random as u16,
            Kind::Plain => significand | exponent(11, 6),
            Kind::Tiny => significand | exponent(5, 5),
            Kind::Large => significand | exponent(21, 3),
            Kind::Small => significand | exponent(0, 14),
            Kind::Coarse => (significand & 0x8300) | if random & 0x400 == 0 { 0 } else { exponent(13, 8) },
        }
    };
    (0..length)
        .map(|_| {
            let random = next();
            let is_special = special > 0 && (random >> 30) % special == 0;
            if is_special { SPECIAL[(random % 10) as usize] } else { ordinary(random) }
        })
        .collect()
}

/// A pass with data.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) pass: Convolution,
    pub(super) input: Vec<u16>,
    pub(super) coefficients: Option<Vec<u16>>,
    pub(super) bias: Option<Vec<u16>>,
    pub(super) post_scale: u16,
}

impl Case {
    pub(super) fn new(pass: Convolution, kinds: [usize; 2], special: u64, seed: u64) -> Self {
        let shape = Shape::new(&pass).unwrap();
        let input = (pass.channels * pass.height * pass.width) as usize;
        let planes = pass.outputs.div_ceil(pass.lanes) as usize;
        let coefficients = planes * pass.lanes as usize * shape.taps();
        let [input_kind, kind] = kinds.map(|kind| KINDS[kind]);
        let bias = halves(Kind::Plain, special, seed ^ 3, pass.outputs as usize);
        Self {
            pass,
            input: halves(input_kind, special, seed, input),
            coefficients: (!seed.is_multiple_of(8)).then(|| halves(kind, special, seed ^ 7, coefficients)),
            bias: (!seed.is_multiple_of(3)).then_some(bias),
            // Infinity and zero hide the sum, so that few cases have them.
            post_scale: match seed % 16 {
                14 => 0x7e00,
                10 => 0x0000,
                other => [halves::ONE, 0x3555, 0xbc00][(other % 3) as usize],
            },
        }
    }

    pub(super) fn outputs(&self) -> usize {
        (self.pass.outputs * self.pass.out_height * self.pass.out_width) as usize
    }

    pub(super) fn expected(&self, numerics: Numerics) -> Vec<u16> {
        let shape = Shape::new(&self.pass).unwrap();
        let definition = Definition {
            shape: &shape,
            input: &self.input,
            coefficients: self.coefficients.as_deref(),
            bias: self.bias.as_deref(),
        };
        let mut taps = Vec::new();
        let mut output = |at: usize| {
            let (o, pixel) = (at / shape.pixels(), at % shape.pixels());
            let sum = definition.sum(numerics, o, pixel, &mut taps);
            output::of(sum, self.post_scale)
        };
        (0..self.outputs()).map(&mut output).collect()
    }

    /// The share of the coefficients that have a product that is dropped with one of so many neighbouring operands.
    pub(super) fn dropping(&self, columns: usize) -> f64 {
        let exponent = |half: &u16| (half & !halves::SIGN != 0).then(|| halves::Operand::new(*half).exponent);
        let operands = |all: &[u16]| all.iter().filter_map(exponent).collect::<Vec<_>>();
        let operands: Vec<_> = self.input.chunks(columns).map(operands).collect();
        let coefficients = self.coefficients.as_deref().unwrap_or_default();
        // Smaller products are rounded to zero.
        let sums = numerics::product::DROPPED - 1..=numerics::product::DROPPED;
        let drops = |(half, operands): &(&u16, &Vec<i32>)| {
            exponent(half).is_some_and(|own| operands.iter().any(|other| sums.contains(&(own + other))))
        };
        let count = coefficients.iter().zip(operands.iter().cycle()).filter(drops).count();
        count as f64 / coefficients.len() as f64
    }

    pub(super) fn convolved(&self, array: &mut Array) -> Vec<u16> {
        let mut output = vec![0xdead; self.outputs()];
        let coefficients = self.coefficients.as_deref().map_or(Coefficients::Unity, Coefficients::Halves);
        array
            .convolve(
                &self.pass,
                &self.input,
                coefficients,
                self.bias.as_deref(),
                self.post_scale,
                &mut output,
            )
            .unwrap();
        output
    }
}

/// The parts that a [`Case`] is made from.
pub(super) fn case() -> impl Strategy<Value = (Convolution, [usize; 2], u64, u64)> {
    let special = prop_oneof![Just(0), Just(2000), Just(20)];
    (pass(), [0..KINDS.len(), 0..KINDS.len()], special, any::<u64>())
}

/// The first output that differs, with what it is and what it should be.
pub(super) fn difference(found: &[u16], expected: &[u16]) -> Option<(usize, u16, u16)> {
    let mut all = found.iter().zip(expected).enumerate().map(|(i, (&found, &expected))| (i, found, expected));
    all.find(|(_, found, expected)| found != expected)
}

pub(super) fn one() -> NonZero<usize> {
    NonZero::<usize>::MIN
}

/// A pass that is large enough for threads.
pub(super) fn large(reads: Reads, outputs: u32, kernel: u32) -> Convolution {
    Convolution {
        channels: 96,
        height: 40,
        width: 41,
        outputs,
        out_height: 40,
        out_width: 41,
        kernel_height: kernel,
        kernel_width: kernel,
        stride_y: 1,
        stride_x: 1,
        pad_y: kernel / 2,
        pad_x: kernel / 2,
        reads,
        lanes: 16,
    }
}

/// A dense pass with a window of one.
pub(super) fn tiles(taps: u32, side: u32) -> Convolution {
    Convolution {
        channels: taps,
        height: side,
        width: side,
        outputs: 64,
        out_height: side,
        out_width: side,
        ..large(Reads::Dense, 64, 1)
    }
}
