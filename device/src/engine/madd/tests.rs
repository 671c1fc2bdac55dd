//! Every tier and number of threads against the definition, on shapes and numbers of all kinds.

use proptest::prelude::*;

use super::*;
use crate::engine::numerics::{self, vectors};

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
struct Case {
    pass: Convolution,
    input: Vec<u16>,
    coefficients: Option<Vec<u16>>,
    bias: Option<Vec<u16>>,
    post_scale: u16,
}

impl Case {
    fn new(pass: Convolution, kinds: [usize; 2], special: u64, seed: u64) -> Self {
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
            post_scale: [halves::ONE, 0x3555, 0xbc00, 0x7e00, 0x0000][(seed % 5) as usize],
        }
    }

    fn outputs(&self) -> usize {
        (self.pass.outputs * self.pass.out_height * self.pass.out_width) as usize
    }

    fn expected(&self, numerics: Numerics) -> Vec<u16> {
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

    /// Which share of the coefficients has a product that is dropped with one of so many neighbouring operands.
    fn dropping(&self, columns: usize) -> f64 {
        let exponent = |half: &u16| (half & !halves::SIGN != 0).then(|| halves::Operand::new(*half).exponent);
        let smallest: Vec<_> =
            self.input.chunks(columns).map(|all| all.iter().filter_map(exponent).min()).collect();
        let coefficients = self.coefficients.as_deref().unwrap_or_default();
        let drops = |(half, smallest): &(&u16, &Option<i32>)| {
            exponent(half).zip(**smallest).is_some_and(|(a, b)| a + b <= numerics::product::DROPPED)
        };
        let count = coefficients.iter().zip(smallest.iter().cycle()).filter(drops).count();
        count as f64 / coefficients.len() as f64
    }

    fn convolved(&self, array: &mut Array) -> Vec<u16> {
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

/// What a [`Case`] is made from.
fn case() -> impl Strategy<Value = (Convolution, [usize; 2], u64, u64)> {
    let special = prop_oneof![Just(0), Just(2000), Just(20)];
    (pass(), [0..KINDS.len(), 0..KINDS.len()], special, any::<u64>())
}

/// The first output that differs, with what it is and what it should be.
fn difference(found: &[u16], expected: &[u16]) -> Option<(usize, u16, u16)> {
    let mut all = found.iter().zip(expected).enumerate().map(|(i, (&found, &expected))| (i, found, expected));
    all.find(|(_, found, expected)| found != expected)
}

fn one() -> NonZero<usize> {
    NonZero::<usize>::MIN
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_tier_gives_the_bytes_of_the_definition((pass, kinds, special, seed) in case()) {
        let case = Case::new(pass, kinds, special, seed);
        for (_, numerics) in Numerics::NAMES {
            let expected = case.expected(numerics);
            for tier in Tier::ALL {
                let mut array = Array::with_tier(numerics, one(), tier);
                prop_assert_eq!(difference(&case.convolved(&mut array), &expected), None, "{:?} {}", numerics, tier.name());
                // Once more, with what is left of the first time.
                prop_assert_eq!(difference(&case.convolved(&mut array), &expected), None, "{:?} {}, again", numerics, tier.name());
            }
        }
    }

    #[test]
    fn maximum_is_that_of_the_definition((pass, kinds, special, seed) in case()) {
        let case = Case::new(pass, kinds, special, seed);
        let shape = Shape::new(&case.pass).unwrap();
        let definition = Definition { shape: &shape, input: &case.input, coefficients: None, bias: None };
        let expected: Vec<_> = (0..case.outputs())
            .map(|at| {
                let (o, pixel) = (at / shape.pixels(), at % shape.pixels());
                let operands = (0..shape.taps()).map(|tap| definition.operand(o, pixel, tap));
                operands.max_by(|&a, &b| halves::value(a).total_cmp(&halves::value(b))).unwrap()
            })
            .map(|largest| output::pass_through(largest, case.post_scale))
            .collect();
        for tier in Tier::ALL {
            let mut output = vec![0xdead; case.outputs()];
            let mut array = Array::with_tier(Numerics::M1, one(), tier);
            array.maximum(&case.pass, &case.input, case.post_scale, &mut output).unwrap();
            prop_assert_eq!(difference(&output, &expected), None, "{}", tier.name());
        }
    }
}

/// A pass that is large enough for threads.
fn large(reads: Reads, outputs: u32, kernel: u32) -> Convolution {
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

#[test]
fn threads_give_the_same_bytes_however_many_there_are() {
    for pass in [large(Reads::Dense, 96, 1), large(Reads::Unicast { channels: 1 }, 96, 9)] {
        for kinds in [[1, 1], [3, 1], [5, 5]] {
            let numerics = Numerics::M1;
            let case = Case::new(pass, kinds, 5000, 11);
            let alone = case.convolved(&mut Array::new(numerics, one()));
            for threads in 2..5 {
                let mut array = Array::new(numerics, NonZero::new(threads).unwrap());
                assert!(case.convolved(&mut array) == alone, "{kinds:?}, {threads} threads");
            }
        }
    }
}

#[test]
fn long_reductions_are_those_of_the_definition() {
    // Several panels' worth of taps, with a short last block and granule.
    let pass = Convolution {
        channels: 67,
        height: 3,
        width: 3,
        outputs: 9,
        out_height: 2,
        out_width: 3,
        ..large(Reads::Dense, 9, 3)
    };
    for numerics in [Numerics::M1, Numerics::Exact] {
        for kinds in [[1, 1], [1, 2], [3, 1], [4, 4], [0, 0], [5, 1], [5, 5]] {
            let case = Case::new(pass, kinds, 0, 13);
            let expected = case.expected(numerics);
            for tier in Tier::ALL {
                assert_eq!(case.convolved(&mut Array::with_tier(numerics, one(), tier)), expected);
            }
        }
    }
}

#[test]
fn pass_through_of_every_half_is_one_rounding() {
    let every: Vec<_> = (0..=u16::MAX).collect();
    for post_scale in [halves::ONE, 0x3555, 0xc123, 0x0001, 0x7c00, 0x7e00, 0x8000] {
        let expected: Vec<_> = every.iter().map(|&bits| output::pass_through(bits, post_scale)).collect();
        for tier in Tier::ALL {
            let mut output = vec![0; every.len()];
            Array::with_tier(Numerics::M1, one(), tier).scale(&every, post_scale, &mut output);
            assert!(output == expected, "{} times {post_scale:#x}", tier.name());
        }
    }
}

#[test]
fn product_of_every_half_is_that_of_the_definition() {
    // A single tap is the product itself: each half as the operand, some as coefficients.
    let input: Vec<_> = (0..=u16::MAX).collect();
    let coefficients =
        [0x3c00, 0x3bff, 0x3bfe, 0x1400, 0x17ff, 0x0001, 0x03ff, 0x0400, 0x8000, 0x6c55, 0xfbff, 0x7c00];
    let pass = Convolution {
        channels: 1,
        height: 256,
        width: 256,
        outputs: 12,
        out_height: 256,
        out_width: 256,
        lanes: 4,
        ..large(Reads::Dense, 12, 1)
    };
    let case =
        Case { pass, input, coefficients: Some(coefficients.to_vec()), bias: None, post_scale: halves::ONE };
    for numerics in [Numerics::M1, Numerics::Exact] {
        let expected = case.expected(numerics);
        for tier in Tier::ALL {
            assert!(
                case.convolved(&mut Array::with_tier(numerics, one(), tier)) == expected,
                "{}",
                tier.name()
            );
        }
    }
}

/// A dense pass with a window of one.
fn tiles(taps: u32, side: u32) -> Convolution {
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

#[test]
fn few_products_of_any_kind_are_those_of_the_definition() {
    let small = tiles(4, 64);
    for (at, kinds) in [[0, 0], [1, 1], [2, 2], [3, 1], [4, 4], [1, 2], [5, 4]].into_iter().enumerate() {
        for (special, pass) in [(0, small), (1, tiles(4, 16)), (3, small), (0, tiles(7, 32))] {
            let case = Case::new(pass, kinds, special, 8 * at as u64 + 3);
            let expected = case.expected(Numerics::M1);
            for tier in Tier::ALL {
                let found = case.convolved(&mut Array::with_tier(Numerics::M1, one(), tier));
                assert_eq!(difference(&found, &expected), None, "{kinds:?} {special} {}", tier.name());
            }
        }
    }
}

#[test]
fn sum_that_comes_near_the_limit_is_watched_and_one_that_cannot_is_not() {
    // One large operand, and weights that keep all sums below the limit or not.
    for coefficient in [0x2c00, 0x3400, 0x3800, 0x3c00, 0xc000] {
        let pass = tiles(64, 4);
        let mut input = vec![0x3c00; 64 * 16];
        input[..16].fill(0x7800);
        input[16..24].fill(0x7800);
        let coefficients = Some(vec![coefficient; 64 * 64]);
        let case = Case { pass, input, coefficients, bias: None, post_scale: halves::ONE };
        let expected = case.expected(Numerics::M1);
        for tier in Tier::ALL {
            let found = case.convolved(&mut Array::with_tier(Numerics::M1, one(), tier));
            assert_eq!(difference(&found, &expected), None, "{coefficient:#x} {}", tier.name());
        }
    }
}

#[test]
fn sums_that_touch_the_limit_exactly_are_infinite_on_the_side_they_touched() {
    // Down to -2^15 and back, up to it and back, one unit less of either, and both one after the other.
    let walks: [&[u16]; 6] = [
        &[0xf400, 0xf400, 0x7400, 0x3c00],
        &[0x7400, 0x7400, 0xf400, 0x3c00],
        &[0xf400, 0xf3ff, 0xc800, 0x7400],
        &[0x7400, 0x73ff, 0x4800, 0xf400],
        &[0xf800, 0x7bff, 0x7bff, 0x7bff],
        &[0x7bff, 0xfbff, 0xfbff, 0xfbff],
    ];
    for taps in [4, 40, 600] {
        for walk in walks {
            let pass = tiles(taps, 5);
            let at = |tap: usize| {
                if tap.is_multiple_of(9) { walk.get(tap / 9).copied().unwrap_or(0x0001) } else { 0x1400 }
            };
            let of = |tap: usize| if taps == 4 { walk[tap] } else { at(tap) };
            let input = (0..taps as usize * 25).map(|place| of(place / 25)).collect();
            let coefficients = Some(vec![halves::ONE; taps as usize * 64]);
            let case = Case { pass, input, coefficients, bias: None, post_scale: halves::ONE };
            let expected = case.expected(Numerics::M1);
            for tier in Tier::ALL {
                let found = case.convolved(&mut Array::with_tier(Numerics::M1, one(), tier));
                assert_eq!(difference(&found, &expected), None, "{walk:x?} {taps} {}", tier.name());
            }
        }
    }
}

/// A product of matrices: `rows` pixels of `taps` channels, `columns` outputs.
fn product(
    sizes: [usize; 3],
    tier: Tier,
    operands: &[u16],
    coefficients: &[u16],
    bias: Option<u16>,
) -> Vec<u16> {
    let [rows, taps, columns] = sizes;
    let [width, channels, outputs] = sizes.map(|n| n as u32);
    let pass = Convolution {
        channels,
        height: 1,
        width,
        outputs,
        out_height: 1,
        out_width: width,
        lanes: 1,
        ..large(Reads::Dense, outputs, 1)
    };
    let turned: Vec<_> = (0..taps * rows).map(|at| operands[at % rows * taps + at / rows]).collect();
    let bias = bias.map(|bias| vec![bias; columns]);
    let mut output = vec![0; rows * columns];
    Array::with_tier(Numerics::M1, one(), tier)
        .convolve(
            &pass,
            &turned,
            Coefficients::Halves(coefficients),
            bias.as_deref(),
            halves::ONE,
            &mut output,
        )
        .unwrap();
    (0..rows * columns).map(|at| output[at % columns * rows + at / columns]).collect()
}

#[test]
fn vectors_of_the_specification_come_out_of_every_tier() {
    for vectors::Given { number, bias, taps, output, .. } in vectors::all() {
        // Often enough that kernels compute them, and not the definition.
        let (operands, coefficients): (Vec<_>, Vec<_>) = taps.iter().copied().unzip();
        for (rows, columns) in [(1, 1), (20, 9), (9, 70)] {
            let sizes = [rows, taps.len(), columns];
            for tier in Tier::ALL {
                let found = product(sizes, tier, &operands.repeat(rows), &coefficients.repeat(columns), bias);
                assert_eq!(found, vec![output; rows * columns], "{number} {sizes:?} {}", tier.name());
            }
        }
    }
}

/// Halves of any bits whose exponent fields are in a range that is drawn as well.
fn any_halves(next: &mut impl FnMut() -> u64, length: usize) -> Vec<u16> {
    let (a, b) = (next() % 32, next() % 32);
    let (low, count) = (a.min(b), a.abs_diff(b) + 1);
    let zeros = [0, 0, 2, 16][(next() % 4) as usize];
    let half = |random: u64| {
        let field = low + (random >> 32) % count;
        let is_zero = zeros > 0 && (random >> 50).is_multiple_of(zeros);
        if is_zero { 0 } else { (random & 0x83ff) as u16 | (field as u16) << 10 }
    };
    (0..length).map(|_| half(next())).collect()
}

/// So many products and sums, or as many times that as `ANE_ARRAY_TIMES` says: a night is some 100,000.
#[test]
fn random_sums_of_1_to_5000_taps_are_those_of_the_definition_in_every_tier() {
    const PRODUCTS: usize = 10_000_000;
    const SUMS: usize = 1_000_000;
    let times = std::env::var("ANE_ARRAY_TIMES").ok().and_then(|times| times.parse().ok()).unwrap_or(1usize);
    let mut state = 0x243f_6a88_85a3_08d3_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    };
    let tiers = || Tier::ALL.into_iter().filter(|tier| tier.is_available());
    let mut arrays: Vec<_> = tiers().map(|tier| Array::with_tier(Numerics::M1, one(), tier)).collect();
    let (mut products, mut sums) = (0, 0);
    while products < times * PRODUCTS || sums < times * SUMS {
        // Few taps make up the sums, and many the products.
        let most = if sums < times * SUMS { 8 } else { 5000 };
        let taps = 1 + (next() % most) as u32;
        let rows = (next() % 40) as u32 + 1;
        let rows = if taps < 9 { 37 * rows } else { rows };
        let outputs = 16 + (next() % 30) as u32;
        let lanes = 1 << (next() % 6);
        let pass = Convolution {
            channels: taps,
            height: 1,
            width: rows,
            outputs,
            out_height: 1,
            out_width: rows,
            lanes,
            ..large(Reads::Dense, outputs, 1)
        };
        let planes = outputs.next_multiple_of(lanes) as usize;
        let case = Case {
            pass,
            input: any_halves(&mut next, (taps * rows) as usize),
            coefficients: Some(any_halves(&mut next, planes * taps as usize)),
            bias: next().is_multiple_of(2).then(|| any_halves(&mut next, outputs as usize)),
            post_scale: halves::ONE,
        };
        let expected = case.expected(Numerics::M1);
        for array in &mut arrays {
            let found = case.convolved(array);
            assert_eq!(difference(&found, &expected), None, "{pass:?} {}", array.tier().name());
        }
        products += expected.len() * taps as usize;
        sums += expected.len();
    }
}

/// Outputs of one pixel have a way of their own.
#[test]
fn matrix_times_a_vector_is_that_of_the_definition() {
    // Planes as wide as a vector or wider, and narrower ones, which are put side by side.
    for (channels, outputs, lanes) in
        [(100, 32, 16), (513, 96, 32), (2048, 48, 16), (100, 48, 1), (513, 32, 2), (70, 16, 4), (99, 80, 8)]
    {
        for (seed, kinds) in [[1, 1], [5, 5], [0, 0], [3, 1], [1, 2], [4, 4]].into_iter().enumerate() {
            let pass = Convolution { channels, lanes, outputs, ..tiles(channels, 1) };
            let case = Case::new(pass, kinds, 0, 8 * seed as u64 + 7);
            let expected = case.expected(Numerics::M1);
            for tier in Tier::ALL {
                let found = case.convolved(&mut Array::with_tier(Numerics::M1, one(), tier));
                assert_eq!(difference(&found, &expected), None, "{channels} {kinds:?} {}", tier.name());
            }
        }
    }
}

/// The dropped products of normally distributed numbers are so few that they are taken off one by one.
#[test]
fn passes_with_few_dropped_products_are_those_of_the_definition() {
    let mut next = 1u64;
    let mut normal = |deviation: f32| {
        let mut sum = 0.0;
        for _ in 0..12 {
            next = next.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            sum += (next >> 40) as f32 / (1 << 24) as f32 - 0.5;
        }
        half::f16::from_f32(deviation * sum).to_bits()
    };
    for pass in [
        tiles(67, 13),
        tiles(600, 12),
        large(Reads::Dense, 20, 3),
        large(Reads::Grouped { groups: 4 }, 48, 3),
    ] {
        let shape = Shape::new(&pass).unwrap();
        for deviation in [1.0, 3.0] {
            let count = pass.outputs.next_multiple_of(pass.lanes) as usize * shape.taps();
            let inputs = (pass.channels * pass.height * pass.width) as usize;
            let case = Case {
                pass,
                input: (0..inputs).map(|_| normal(deviation)).collect(),
                coefficients: Some((0..count).map(|_| normal(0.05)).collect()),
                bias: None,
                post_scale: halves::ONE,
            };
            let dropping = case.dropping(48);
            assert!(0.0 < dropping && dropping < 1.0 / 6.0, "{dropping} of the coefficients");
            let expected = case.expected(Numerics::M1);
            for tier in Tier::ALL {
                let found = case.convolved(&mut Array::with_tier(Numerics::M1, one(), tier));
                assert_eq!(difference(&found, &expected), None, "{deviation} {}", tier.name());
            }
        }
    }
}

#[test]
fn generated_matrices_have_the_product_of_the_specification_in_every_tier() {
    for matrices in vectors::matrices() {
        for tier in Tier::ALL {
            matrices.check(&product(matrices.sizes, tier, &matrices.operands, &matrices.coefficients, None));
        }
    }
}

#[test]
fn padding_that_would_blow_up_the_input_is_still_computed() {
    let pass = Convolution {
        channels: 1,
        height: 1,
        width: 1,
        outputs: 1,
        out_height: 2,
        out_width: 2,
        stride_y: 1 << 30,
        stride_x: 1 << 30,
        pad_y: u32::MAX,
        pad_x: u32::MAX,
        ..large(Reads::Dense, 1, 1)
    };
    let case = Case::new(pass, [1, 1], 0, 9);
    assert_eq!(case.convolved(&mut Array::new(Numerics::M1, one())), case.expected(Numerics::M1));
}
