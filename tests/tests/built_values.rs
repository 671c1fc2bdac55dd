//! The results of built programs, against the formulas in double precision: both engines could be wrong alike.
//!
//! Numbers are ordinary, between -2 and 2. A tolerance is a part of the largest expected value; where a table of 33
//! knots is on the way it says so.

use ane::build::{
    BuildError, Channels, Convolution, Element, Graph, Over, Padding, Reduce, Shape, Tail, Tensor, Weights,
};
use ane_device::options::Numerics;
use ane_tests::differential::ProgramEnd;
use ane_tests::differential::built::surface::{of_graph, put, take};
use ane_tests::random::Random;
use ane_tests::stored::stored;
use half::f16;

/// Half a unit in the last place of fp16, relative.
const ROUNDING: f64 = 1.0 / 2048.0;

/// Ordinary numbers, as the halves that they are.
fn numbers(seed: u64, count: u64) -> Vec<f16> {
    let mut random = Random::new(seed);
    (0..count).map(|_| f16::from_f32(random.below(4097) as f32 / 1024.0 - 2.0)).collect()
}

fn doubles(halves: &[f16]) -> Vec<f64> {
    halves.iter().map(|half| half.to_f64()).collect()
}

/// Runs `operation` on ordinary numbers in both engines; gives the numbers and the result.
fn run(
    shape: Shape,
    others: &[(&str, &[f16])],
    operation: impl FnOnce(&mut Graph, Tensor) -> Result<Tensor, BuildError>,
) -> (Vec<f64>, Vec<f64>) {
    let bits = |halves: &[f16]| halves.iter().map(|half| half.to_bits()).collect::<Vec<_>>();
    let input = numbers(1, shape.elements());
    let (built, mut case) = of_graph(shape, &bits(&input), Numerics::M1, operation);
    for (name, values) in others {
        put(&mut case, &built, name, &bits(values));
    }
    assert_eq!(case.compare(), Ok(ProgramEnd::Done));
    let left = take(&case, &built, "result", &case.on_device().1);
    (doubles(&input), left.into_iter().map(|bits| f16::from_bits(bits).to_f64()).collect())
}

/// The largest difference, as a part of the largest expected value.
fn error(seen: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(seen.len(), expected.len());
    let largest = expected.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
    let difference = |(a, b): (&f64, &f64)| (a - b).abs();
    seen.iter().zip(expected).map(difference).fold(0.0, f64::max) / largest
}

fn softmax(x: &[f64]) -> Vec<f64> {
    let sum: f64 = x.iter().map(|x| x.exp()).sum();
    x.iter().map(|x| x.exp() / sum).collect()
}

fn normal(x: &[f64]) -> Vec<f64> {
    let count = x.len() as f64;
    let mean = x.iter().sum::<f64>() / count;
    let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
    x.iter().map(|x| (x - mean) / (variance + 1e-5).sqrt()).collect()
}

const EPSILON: f16 = f16::from_f32_const(1e-5);

#[test]
fn softmax_of_columns_is_within_a_table_of_the_formula() {
    let (x, y) = run(Shape::new(4, 3, 50), &[], Graph::softmax_columns);
    let expected: Vec<f64> = x.chunks(50).flat_map(softmax).collect();
    assert!(error(&y, &expected) < 0.004, "{}", error(&y, &expected));
}

#[test]
fn reduction_of_columns_goes_on_behind_the_rows_that_a_task_takes() {
    let shape = Shape::new(2, 10_000, 4);
    let (x, y) = run(shape, &[], |graph, x| graph.reduce(x, Element::COPY, Reduce::MAXIMUM, Over::Columns));
    let expected: Vec<f64> = x.chunks(4).map(|row| row.iter().copied().fold(f64::MIN, f64::max)).collect();
    assert_eq!(y, expected);
    // The second operand stretches over all rows.
    let (x, y) = run(shape, &[], |graph, x| {
        let ones = graph.constant(Shape::new(2, 1, 4), &[f16::ONE; 8])?;
        graph.binary_reduce(x, ones, Element::ADD, Reduce::SUM, Over::Columns)
    });
    let expected: Vec<f64> = x.chunks(4).map(|row| row.iter().map(|x| x + 1.0).sum()).collect();
    assert!(error(&y, &expected) < ROUNDING, "{}", error(&y, &expected));
}

#[test]
fn softmax_of_channels_is_within_two_tables_of_the_formula() {
    let (x, y) = run(Shape::new(60, 1, 1), &[], Graph::softmax);
    assert!(error(&y, &softmax(&x)) < 0.005, "{}", error(&y, &softmax(&x)));
    let (x, y) = run(Shape::new(5, 2, 3), &[], Graph::softmax);
    let place = |at: usize| (0..5).map(|c| x[c * 6 + at]).collect::<Vec<_>>();
    let expected: Vec<f64> = (0..30).map(|i| softmax(&place(i % 6))[i / 6]).collect();
    assert!(error(&y, &expected) < 0.005, "{}", error(&y, &expected));
}

#[test]
fn layer_norm_over_everything_is_the_formula_to_a_few_roundings() {
    let (x, y) = run(Shape::new(3, 7, 20), &[], |graph, x| graph.layer_norm(x, EPSILON));
    assert!(error(&y, &normal(&x)) < 4.0 * ROUNDING, "{}", error(&y, &normal(&x)));
}

#[test]
fn instance_norm_is_the_formula_to_a_few_roundings() {
    let (x, y) = run(Shape::new(3, 7, 20), &[], |graph, x| graph.instance_norm(x, EPSILON));
    let expected: Vec<f64> = x.chunks(140).flat_map(normal).collect();
    assert!(error(&y, &expected) < 4.0 * ROUNDING, "{}", error(&y, &expected));
}

#[test]
fn layer_norm_of_columns_is_the_formula_to_a_few_roundings() {
    let (gamma, beta) = (numbers(2, 30), numbers(3, 30));
    let (x, y) = run(Shape::new(4, 5, 30), &[("gamma", &gamma), ("beta", &beta)], |graph, x| {
        let gamma = graph.input("gamma", Shape::new(1, 1, 30))?;
        let beta = graph.input("beta", Shape::new(1, 1, 30))?;
        graph.layer_norm_columns(x, gamma, beta, EPSILON)
    });
    let scaled = |(i, n): (usize, f64)| n * gamma[i % 30].to_f64() + beta[i % 30].to_f64();
    let expected: Vec<f64> = x.chunks(30).flat_map(normal).enumerate().map(scaled).collect();
    assert!(error(&y, &expected) < 8.0 * ROUNDING, "{}", error(&y, &expected));
}

/// Requirement: ENG-04
#[test]
fn product_with_constant_weights_is_a_convolution_of_one_tap_and_the_formula() {
    let weights = numbers(2, 32 * 40);
    let (x, y) = run(Shape::new(40, 1, 9), &[], |graph, x| graph.linear(x, 32, Weights::Half(&weights)));
    let weights = doubles(&weights);
    let dot = |o: usize, at: usize| (0..40).map(|c| weights[o * 40 + c] * x[c * 9 + at]).sum::<f64>();
    let expected: Vec<f64> = (0..32 * 9).map(|i| dot(i / 9, i % 9)).collect();
    // Products are rounded, and sums of four of them kept to 12 bits.
    assert!(error(&y, &expected) < 6.0 * ROUNDING, "{}", error(&y, &expected));
}

#[test]
fn product_of_two_inputs_is_the_formula_in_every_head() {
    let other = numbers(2, 25 * 2 * 11);
    let (x, y) = run(Shape::new(40, 2, 25), &[("y", &other)], |graph, x| {
        let y = graph.input("y", Shape::new(25, 2, 11))?;
        graph.matmul(x, y, Tail::NONE)
    });
    let other = doubles(&other);
    let dot = |m: usize, h: usize, n: usize| {
        (0..25).map(|k| x[(m * 2 + h) * 25 + k] * other[(k * 2 + h) * 11 + n]).sum::<f64>()
    };
    let expected: Vec<f64> = (0..40 * 2 * 11).map(|i| dot(i / 22, i / 11 % 2, i % 11)).collect();
    assert!(error(&y, &expected) < 6.0 * ROUNDING, "{}", error(&y, &expected));
}

/// Two groups of two channels, a kernel of 3 columns by 2 rows, stride 2 by 1, padding, a bias for each output.
#[test]
fn convolution_in_groups_with_stride_padding_and_bias_is_the_formula() {
    let (weights, bias) = (numbers(2, 6 * 2 * 6), numbers(3, 6));
    let convolution = Convolution {
        stride: (2, 1),
        padding: Padding { left: 1, right: 2, top: 1, bottom: 0 },
        channels: Channels::Grouped(2),
        bias: Some(&bias),
        ..Convolution::new(6, (3, 2), Weights::Half(&weights))
    };
    let (x, y) = run(Shape::new(4, 5, 8), &[], |graph, x| graph.convolution(x, &convolution));
    let (weights, bias) = (doubles(&weights), doubles(&bias));
    let at = |c: usize, y: Option<usize>, x_: Option<usize>| match (y, x_) {
        (Some(y), Some(x_)) if y < 5 && x_ < 8 => x[(c * 5 + y) * 8 + x_],
        _ => 0.0,
    };
    // Five rows and one of padding, two at a time; eight columns and three of padding, three at a time by two.
    let (rows, columns) = (5, 5);
    let output = |o: usize, oy: usize, ox: usize| {
        let taps = (0..2 * 6).map(|tap| {
            let (c, ky, kx) = (o / 3 * 2 + tap / 6, tap / 3 % 2, tap % 3);
            let (y, x) = ((oy + ky).checked_sub(1), (2 * ox + kx).checked_sub(1));
            weights[o * 12 + tap] * at(c, y, x)
        });
        taps.sum::<f64>() + bias[o]
    };
    let expected: Vec<f64> = (0..6 * rows * columns)
        .map(|i| output(i / (rows * columns), i / columns % rows, i % columns))
        .collect();
    assert!(error(&y, &expected) < 4.0 * ROUNDING, "{}", error(&y, &expected));
}

/// Two groups of a 1x1 kernel, of sizes whose chunks could hold padded slots as well as padded groups if they were dealt to as many
/// engines as there are.
#[test]
fn convolution_in_groups_of_any_size_is_the_formula() {
    for (inputs, outputs, has_bias) in
        [(17, 17, false), (25, 17, false), (16, 17, true), (24, 35, false), (24, 39, false)]
    {
        let (weights, bias) = (numbers(2, 2 * outputs * inputs), numbers(3, 2 * outputs));
        let [inputs, outputs] = [inputs, outputs].map(|number| usize::try_from(number).unwrap());
        let [channels, results] = [inputs, outputs].map(|number| u32::try_from(2 * number).unwrap());
        let convolution = Convolution {
            channels: Channels::Grouped(2),
            bias: has_bias.then_some(&bias),
            ..Convolution::new(results, (1, 1), Weights::Half(&weights))
        };
        let (x, y) = run(Shape::new(channels, 1, 1), &[], |graph, x| graph.convolution(x, &convolution));
        let (weights, bias) = (doubles(&weights), doubles(&bias));
        let dot = |o: usize| {
            let taps = (0..inputs).map(|c| weights[o * inputs + c] * x[o / outputs * inputs + c]);
            taps.sum::<f64>() + if has_bias { bias[o] } else { 0.0 }
        };
        let expected: Vec<f64> = (0..2 * outputs).map(dot).collect();
        let far = error(&y, &expected);
        assert!(far < 6.0 * ROUNDING, "{inputs} to {outputs} channels of a group: {far}");
    }
}

/// Requirement: ENG-06
#[test]
fn convolution_with_bytes_takes_them_for_unsigned_numbers() {
    let weights: Vec<u8> = (0..8 * 12).map(|n| (n * 83 % 256) as u8).collect();
    let (x, y) = run(Shape::new(12, 2, 3), &[], |graph, x| graph.linear(x, 8, Weights::Bytes(&weights)));
    let dot =
        |o: usize, at: usize| (0..12).map(|c| f64::from(weights[o * 12 + c]) * x[c * 6 + at]).sum::<f64>();
    let expected: Vec<f64> = (0..8 * 6).map(|i| dot(i / 6, i % 6)).collect();
    assert!(error(&y, &expected) < 6.0 * ROUNDING, "{}", error(&y, &expected));
}

/// Requirement: ENG-05
#[test]
fn sum_stretches_the_smaller_operand_and_is_rounded_once() {
    let other = numbers(2, 6);
    let (x, y) = run(Shape::new(6, 4, 10), &[("b", &other)], |graph, x| {
        let b = graph.input("b", Shape::new(6, 1, 1))?;
        graph.binary(x, b, Element::ADD)
    });
    let sum = |(i, x): (usize, &f64)| stored(x + other[i / 40].to_f64()).to_f64();
    let expected: Vec<f64> = x.iter().enumerate().map(sum).collect();
    assert_eq!(y, expected);
}

#[test]
fn mean_of_columns_is_rounded_once() {
    let (x, y) = run(Shape::new(6, 4, 10), &[], |graph, x| {
        graph.reduce(x, Element::COPY, Reduce::MEAN, Over::Columns)
    });
    let expected: Vec<f64> = x.chunks(10).map(|row| row.iter().sum::<f64>() / 10.0).collect();
    assert!(error(&y, &expected) < ROUNDING, "{}", error(&y, &expected));
}
