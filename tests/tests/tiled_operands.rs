//! Operands that the pool does not hold, tiled and streamed by built programs: the result is that of the uncut layer.

use ane::build::{
    BuildError, Built, Channels, Convolution, Element, Graph, Padding, Shape, Tail, Tensor, Weights, script,
};
use ane_device::options::Numerics;
use ane_tests::differential::built::surface::{of_graph, take};
use ane_tests::differential::{ProgramEnd, programs};
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
        channels: Channels::Grouped(4),
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
fn groups_of_a_tile_read_their_own_channels_and_not_what_the_first_tile_left() {
    // 4.7 MB of coefficients for an input of 32 KB: a tile for each group.
    let (shape, outputs) = (Shape::new(1024, 4, 4), 1024);
    let (input, weights) = (numbers(11, shape.elements()), numbers(12, u64::from(outputs) * 256 * 9));
    let convolution = Convolution {
        padding: Padding::all(1),
        channels: Channels::Grouped(4),
        ..Convolution::new(outputs, (3, 3), Weights::Half(&weights))
    };
    let (tiled, seen) = run(shape, &input, |graph, x| graph.convolution(x, &convolution));
    let (uncut, expected) = run(shape, &input, |graph, x| {
        graph.set_operand_bytes(u32::MAX);
        graph.convolution(x, &convolution)
    });
    assert!(tiled.task_count() >= 4 && uncut.task_count() == 1, "{} tasks", tiled.task_count());
    assert!(seen == expected, "the same to the bit");
}

#[test]
fn line_of_two_groups_reads_both_halves_of_its_input_by_either_way_to_the_array() {
    let no_arrays = |_: &str, _: u64| Err(String::new());
    let ones = [f16::ONE; 2048];
    // With a dilation it goes the way of models.
    for way in ["kernel=1x1", "dilation=1x1"] {
        let words = ["%0", "outputs=2048", "groups=2", "weights=0.0009765625", way];
        let (built, seen) = run(Shape::new(2048, 1, 1), &ones, |graph, x| {
            Ok(script::add(graph, "convolution", &[x], &words, no_arrays).expect("is offered"))
        });
        assert!(built.task_count() > 1, "{way}");
        assert!(seen.iter().all(|&bits| bits == f16::ONE.to_bits()), "{way}");
    }
}

/// Convolutions that every run compares.
const CONVOLUTIONS: u64 = 24;

/// A convolution whose coefficients are more than those of one task.
struct Large {
    channels: Channels,
    inputs: u32,
    outputs: u32,
    /// Channels that an output reads.
    reads: u32,
    kernel: u32,
    /// The bound of one operand.
    operand_bytes: u32,
}

impl Large {
    fn draw(seed: u64, random: &mut Random) -> Self {
        let mut between = |low: u32, high: u32| low + random.below(high - low + 1);
        // To the bound comes a margin of 0.3 MB.
        let operand_bytes = [16 << 10, 256 << 10][between(0, 1) as usize];
        let split = 160_000 + operand_bytes / 2;
        match seed % 4 {
            0 => {
                let reads = between(300, 600);
                let outputs = split / reads + between(1, 100);
                Self { channels: Channels::Dense, inputs: reads, outputs, reads, kernel: 1, operand_bytes }
            }
            // Groups of which some make a tile.
            1 => {
                let (groups, reads) = (between(2, 12), between(30, 60));
                let each = split / (groups * reads) + between(1, 20);
                let (channels, inputs) = (Channels::Grouped(groups), groups * reads);
                Self { channels, inputs, outputs: groups * each, reads, kernel: 1, operand_bytes }
            }
            // Groups of which each makes several.
            2 => {
                let (groups, reads) = (between(1, 3), between(400, 600));
                let each = split / reads + between(1, 100);
                let (channels, inputs) = (Channels::Grouped(groups), groups * reads);
                Self { channels, inputs, outputs: groups * each, reads, kernel: 1, operand_bytes }
            }
            _ => {
                let reads = between(3, 5);
                let outputs = split / (9 * reads) + between(1, 100);
                let channels = Channels::Unicast(reads);
                Self { channels, inputs: outputs * reads, outputs, reads, kernel: 3, operand_bytes }
            }
        }
    }
}

#[test]
fn random_convolution_with_large_coefficients_is_that_of_the_uncut_one() {
    for seed in programs(CONVOLUTIONS) {
        let mut random = Random::new(seed);
        let large = Large::draw(seed, &mut random);
        let Large { channels, inputs, outputs, reads, kernel, operand_bytes } = large;
        let shape = Shape::new(inputs, 1 + random.below(2), 1 + random.below(3));
        let input = numbers(random.next(), shape.elements());
        let weights = numbers(random.next(), u64::from(outputs * reads * kernel * kernel));
        let bias = numbers(random.next(), outputs.into());
        let convolution = Convolution {
            channels,
            padding: Padding::all(kernel / 2),
            bias: (random.below(2) == 0).then_some(&bias),
            tail: if random.below(2) == 0 { Tail::RELU } else { Tail::NONE },
            ..Convolution::new(outputs, (kernel, kernel), Weights::Half(&weights))
        };
        // In memory, where the first task may leave it on chip; among the constants; or on chip from the start.
        let place = random.below(3);
        let operation = |graph: &mut Graph, x| {
            let x = match place {
                0 => x,
                1 => graph.constant(shape, &input)?,
                _ => graph.unary(x, Element::COPY)?,
            };
            graph.convolution(x, &convolution)
        };
        let (built, case) = of_graph(shape, &bits(&input), Numerics::M1, |graph, x| {
            graph.set_operand_bytes(operand_bytes);
            operation(graph, x)
        });
        let (outcome, after) = case.on_device();
        assert_eq!(ProgramEnd::of(outcome), ProgramEnd::Done, "seed {seed}");
        let (uncut, expected) = run(shape, &input, |graph, x| {
            graph.set_operand_bytes(u32::MAX);
            operation(graph, x)
        });
        assert!(built.task_count() > uncut.task_count(), "seed {seed}: {} tasks", built.task_count());
        assert!(take(&case, &built, "result", &after) == expected, "seed {seed}: the same to the bit");
        if seed.is_multiple_of(3) {
            assert_eq!(case.compare(), Ok(ProgramEnd::Done), "seed {seed}");
        }
    }
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
