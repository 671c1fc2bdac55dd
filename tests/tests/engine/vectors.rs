//! The vectors of numerics-array, each through the definition of the array and through programs on the device.

use ane::build::{Convolution, Graph, Shape, Tail, Weights};
use ane_device::options::Numerics;
use ane_tests::differential::ProgramEnd;
use ane_tests::differential::built::surface::{of_graph, put, take};
use ane_tests::reference::engine::numbers::{half_bits, half_value};
use ane_tests::reference::engine::{Mode, array};
use half::f16;

use super::rig::{MULTIPLY, TaskRig};

/// One sum of products with what has to become of it.
struct Vector {
    number: u32,
    bias: Option<u16>,
    operands: Vec<u16>,
    coefficients: Vec<u16>,
    /// In units; infinite if it overflows.
    accumulator: f64,
    output: u16,
}

impl Vector {
    fn parse(line: &str) -> Self {
        let columns: Vec<&str> = line.split('|').map(str::trim).collect();
        let [number, bias, operands, coefficients, accumulator, output, _] = columns[..] else {
            panic!("seven columns: {line}")
        };
        Self {
            number: number.parse().expect("a number"),
            bias: halves(bias).first().copied(),
            operands: halves(operands),
            coefficients: halves(coefficients),
            accumulator: accumulator.parse().expect("units"),
            output: halves(output)[0],
        }
    }

    fn halves(halves: &[u16]) -> Vec<f16> {
        halves.iter().map(|&bits| f16::from_bits(bits)).collect()
    }
}

/// Halves in hexadecimal, some of them repeated.
fn halves(column: &str) -> Vec<u16> {
    let half = |text: &str| u16::from_str_radix(text, 16).expect("a half");
    let repeated = |text: &str| match text.split_once('*') {
        Some((bits, times)) => vec![half(bits); times.parse().expect("a number of times")],
        None => vec![half(text)],
    };
    column.split_whitespace().flat_map(repeated).collect()
}

fn vectors() -> Vec<Vector> {
    let lines = include_str!("vectors.txt").lines().filter(|line| !line.starts_with('#'));
    let vectors: Vec<Vector> = lines.map(Vector::parse).collect();
    assert_eq!(vectors.len(), 75);
    vectors
}

#[test]
fn vector_has_the_accumulator_and_the_output_that_the_rules_say() {
    for vector in vectors() {
        let taps: Vec<array::Tap> =
            vector.operands.iter().copied().zip(vector.coefficients.iter().copied()).collect();
        let sum = array::reduce(Mode::M1, vector.bias.as_slice(), &taps);
        assert_eq!(sum * 65536.0, vector.accumulator, "vector {}", vector.number);
        assert_eq!(half_bits(sum), vector.output, "vector {}", vector.number);
    }
}

#[test]
fn vector_through_a_convolution_of_one_output_leaves_its_half() {
    for vector in vectors() {
        let mac = MULTIPLY | u32::from(vector.bias.is_some()) << 4;
        let mut rig = TaskRig::neural(Mode::M1, [vector.operands.len() as u32, 1, 1], [1, 1, 1], mac);
        let constants: Vec<u16> = vector.bias.iter().chain(&vector.coefficients).copied().collect();
        rig.engines(&[(0, 2 * constants.len() as u32)]).constants(&constants).input(0, &vector.operands);
        assert_eq!(rig.done_bits(), [vector.output], "vector {}", vector.number);
    }
}

#[test]
fn vector_through_a_built_convolution_leaves_its_half() {
    for vector in vectors() {
        let weights = Vector::halves(&vector.coefficients);
        let bias = vector.bias.map(f16::from_bits);
        let shape = Shape::new(vector.operands.len() as u32, 1, 1);
        let (built, case) = of_graph(shape, &vector.operands, Numerics::M1, |graph, input| {
            let convolution = Convolution::new(1, (1, 1), Weights::Half(&weights));
            let bias = bias.as_ref().map(std::slice::from_ref);
            graph.convolution(input, &Convolution { bias, ..convolution })
        });
        assert_eq!(case.compare(), Ok(ProgramEnd::Done), "vector {}", vector.number);
        let left = take(&case, &built, "result", &case.on_device().1);
        assert_eq!(left, [vector.output], "vector {}", vector.number);
    }
}

/// Two operands that are both data (numerics-array 11). A runtime kernel is rewritten by a planar copy first, which
/// makes an infinity of a NaN; no coefficient of a vector is one.
#[test]
fn vector_through_a_product_of_two_inputs_leaves_its_half() {
    for vector in vectors().into_iter().filter(|vector| vector.bias.is_none()) {
        let count = vector.operands.len() as u32;
        let (built, mut case) =
            of_graph(Shape::new(1, 1, count), &vector.coefficients, Numerics::M1, |graph, x| {
                let y = graph.input("column", Shape::new(count, 1, 1))?;
                Graph::matmul(graph, x, y, Tail::NONE)
            });
        put(&mut case, &built, "column", &vector.operands);
        assert_eq!(case.compare(), Ok(ProgramEnd::Done), "vector {}", vector.number);
        let left = take(&case, &built, "result", &case.on_device().1);
        assert_eq!(
            left.iter().map(|&bits| half_value(bits)).collect::<Vec<_>>(),
            [half_value(vector.output)],
            "vector {}",
            vector.number
        );
    }
}
