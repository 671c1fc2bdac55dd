//! Products and their sums: rounding, the drop rule, the limit of 2^15, and the vectors of the specification.

use super::super::*;
use super::case::{Case, difference, large, one, tiles};
use crate::engine::numerics::vectors;

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

/// The dropped products of normally distributed numbers are so few that most taps of a tile have none.
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
