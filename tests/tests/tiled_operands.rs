//! Operands that the pool does not hold, tiled and streamed by built programs: the result is that of the uncut layer.

use ane::build::{BuildError, Built, Convolution, Element, Graph, Padding, Shape, Tail, Tensor, Weights};
use ane_device::options::Numerics;
use ane_tests::differential::ProgramEnd;
use ane_tests::differential::built::surface::{of_graph, take};
use ane_tests::random::Random;
use ane_tests::reference::engine::Mode;
use ane_tests::reference::engine::array::reduce;
use ane_tests::reference::engine::numbers::{half_bits, half_value};
use half::f16;

/// Numbers that are exact in a half, and sums of which are not.
fn numbers(seed: u64, count: u64) -> Vec<f16> {
    let mut random = Random::new(seed);
    (0..count).map(|_| f16::from_f32(random.below(4097) as f32 / 8192.0 - 0.25)).collect()
}

fn bits(halves: &[f16]) -> Vec<u16> {
    halves.iter().map(|half| half.to_bits()).collect()
}

/// The program, how many tasks it has, and what it makes of `input`.
fn run(
    shape: Shape,
    input: &[f16],
    operation: impl FnOnce(&mut Graph, Tensor) -> Result<Tensor, BuildError>,
) -> (Built, Vec<u16>) {
    let (built, case) = of_graph(shape, &bits(input), Numerics::M1, operation);
    let (outcome, after) = case.on_device();
    assert_eq!(ProgramEnd::of(outcome), ProgramEnd::Done);
    let result = take(&case, &built, "result", &after);
    (built, result)
}

#[test]
fn product_with_a_weight_of_32_megabytes_is_that_of_the_definition() {
    const SIZE: usize = 4096;
    let (weights, input) = (numbers(1, (SIZE * SIZE) as u64), numbers(2, SIZE as u64));
    let (built, result) = run(Shape::new(SIZE as u32, 1, 1), &input, |graph, x| {
        graph.linear(x, SIZE as u32, Weights::Half(&weights))
    });
    assert_eq!(built.task_count(), 32, "each tile has a megabyte");
    // Every fifth: of each tile, engine and lane some.
    for (output, row) in weights.chunks(SIZE).enumerate().step_by(5) {
        let taps: Vec<_> = input.iter().zip(row).map(|(x, w)| (x.to_bits(), w.to_bits())).collect();
        let expected = half_bits(reduce(Mode::M1, &[], &taps));
        assert_eq!(result[output], expected, "output {output}, {}", half_value(expected));
    }
}

/// 4 MB: 512 channels of 64 by 64.
const ACTIVATION: Shape = Shape::new(512, 64, 64);

#[test]
fn convolution_of_an_activation_of_4_megabytes_is_that_of_the_uncut_one() {
    let input = numbers(3, ACTIVATION.elements());
    let (weights, bias) = (numbers(4, 16 * 512 * 9), numbers(5, 16));
    let convolution = Convolution {
        padding: Padding { left: 1, right: 0, top: 2, bottom: 1 },
        bias: Some(&bias),
        tail: Tail::RELU,
        ..Convolution::new(16, (3, 3), Weights::Half(&weights))
    };
    let (tiled, seen) = run(ACTIVATION, &input, |graph, x| graph.convolution(x, &convolution));
    let (uncut, expected) = run(ACTIVATION, &input, |graph, x| {
        graph.set_operand_bytes(u32::MAX);
        graph.convolution(x, &convolution)
    });
    assert_eq!((tiled.task_count(), uncut.task_count()), (5, 1));
    assert!(seen == expected, "the same to the bit");
}

#[test]
fn strided_convolution_with_large_output_and_weights_is_that_of_the_uncut_one() {
    // 2.37 MB of coefficients, an output of 2.3 MB: tiles in both directions.
    let (shape, outputs) = (Shape::new(96, 40, 84), 1440);
    let (input, weights) = (numbers(6, shape.elements()), numbers(7, u64::from(outputs) * 96 * 9));
    let convolution = Convolution {
        padding: Padding::all(1),
        stride: (2, 2),
        ..Convolution::new(outputs, (3, 3), Weights::Half(&weights))
    };
    let (tiled, seen) = run(shape, &input, |graph, x| graph.convolution(x, &convolution));
    let (uncut, expected) = run(shape, &input, |graph, x| {
        graph.set_operand_bytes(u32::MAX);
        graph.convolution(x, &convolution)
    });
    assert!(tiled.task_count() > 4 && uncut.task_count() == 1, "{} tasks", tiled.task_count());
    assert!(seen == expected, "the same to the bit");
}

#[test]
fn tiled_program_is_the_same_on_the_second_engine() {
    // A bound of 8 KB makes tiles of a small layer, with groups, padding and strides.
    let (input, weights) = (numbers(8, 24 * 20 * 24), numbers(9, 48 * 6 * 15));
    let convolution = Convolution {
        padding: Padding { left: 1, right: 2, top: 2, bottom: 1 },
        stride: (1, 2),
        channels: ane::build::Channels::Grouped(4),
        ..Convolution::new(48, (5, 3), Weights::Half(&weights))
    };
    let (built, case) = of_graph(Shape::new(24, 20, 24), &bits(&input), Numerics::M1, |graph, x| {
        graph.set_operand_bytes(8 << 10);
        graph.convolution(x, &convolution)
    });
    assert!(built.task_count() > 8, "{} tasks", built.task_count());
    assert_eq!(case.compare(), Ok(ProgramEnd::Done));
}

#[test]
fn element_wise_work_on_4_megabytes_is_one_task_that_streams_and_each_element_is_its_own() {
    let input = numbers(10, ACTIVATION.elements());
    let (built, seen) = run(ACTIVATION, &input, |graph, x| graph.unary(x, Element::SQUARE));
    assert_eq!(built.task_count(), 1, "nothing is kept from one piece to the next");
    // Numbers of at most a quarter, in steps of 2^-13: their squares are exact before they are rounded once.
    let expected: Vec<_> = input.iter().map(|x| half_bits(x.to_f64() * x.to_f64())).collect();
    assert!(seen == expected, "each by itself");
}
