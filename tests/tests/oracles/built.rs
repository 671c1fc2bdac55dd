//! The compiler's program and the builder's for the same operation, on the same inputs and coefficients.
//!
//! Both are programs of one engine, so that their results are the same bit by bit wherever both do the same arithmetic.
//! Where they need not, [`most`] says why and by how much they may differ.

use ane::build::{
    Axis, BuildError, Built, Channels, Convolution, Element, Graph, Map, Over, Padding, Reduce, Shape,
    Statistic, Tensor, Weights, activation,
};
use ane::tensor::nearest_half;
use ane_device::Options;
use ane_tests::oracles::constants::MadeConstants;
use ane_tests::oracles::{self, Oracle, constants};
use ane_tests::random::Random;
use ane_tests::runner::{EmbeddedRunner, Outcome};
use half::f16;

use super::{MEMORY, run, seed};

/// How far results may be apart, as part of the largest: 0 where they have to be the same bit by bit.
fn most(oracle: &Oracle) -> f64 {
    match oracle.mil("op") {
        // The compiler's tables of these curves have other knots and ends than the builder's.
        "gelu" => 0.0015,
        "silu" => 0.003,
        // The compiler looks the reciprocal of a sum up in a table, the builder has it of the planar engine.
        "softmax" => 0.0015,
        // Such a table between two products, and sums of 4096 numbers behind it.
        "ffn" => 0.008,
        _ => 0.0,
    }
}

/// The operation on the builder's tensors.
fn make(
    graph: &mut Graph,
    oracle: &Oracle,
    made: &MadeConstants,
    x: &[Tensor],
) -> Result<Tensor, BuildError> {
    let by = || oracle.mil("value").parse::<f64>().expect("a number");
    match oracle.mil("op") {
        "add" => graph.binary(x[0], x[1], Element::ADD),
        "maximum" => graph.binary(x[0], x[1], Element::MAXIMUM),
        "mul" => {
            let batches = graph.shape(x[0])?.c / graph.shape(x[1])?.c;
            let factors = if batches > 1 { graph.tile(x[1], [batches, 1, 1])? } else { x[1] };
            graph.binary(x[0], factors, Element::MULTIPLY)
        }
        "maximum_scalar" => {
            let limit = graph.scalar(nearest_half(by()))?;
            graph.binary(x[0], limit, Element::MAXIMUM)
        }
        "mul_scalar" => graph.map(x[0], Map::Affine { scale: by(), offset: 0.0 }),
        "real_div_scalar" => graph.map(x[0], Map::Affine { scale: 1.0 / by(), offset: 0.0 }),
        "sub_scalar" => graph.map(x[0], Map::Affine { scale: 1.0, offset: -by() }),
        "logical_not" => graph.not(x[0]),
        "mul_const" => {
            let factors = graph.constant(Shape::new(made.operand.len() as u32, 1, 1), &made.operand)?;
            graph.binary(x[0], factors, Element::MULTIPLY)
        }
        "add_relu_self" => {
            let above = graph.relu(x[0])?;
            graph.binary(x[0], above, Element::ADD)
        }
        "gelu" => graph.activation(x[0], activation::gelu()),
        "sigmoid" => graph.map(x[0], Map::Sigmoid),
        "silu" => graph.map(x[0], Map::Silu),
        "exp" => graph.exp(x[0]),
        "abs" => graph.map(x[0], Map::Abs),
        "conv" => convolution(graph, oracle, made, x[0]),
        "matmul_const" => {
            let is_turned = oracle.mil("tx") == "1";
            let channels = if is_turned { Axis::Rows } else { Axis::Columns };
            let columns = if is_turned { Axis::Columns } else { Axis::Rows };
            let x = graph.permute(x[0], [channels, Axis::Channels, columns])?;
            let (weights, mut biases) = made.layers[0].clone();
            if let Some(bias) = oracle.mil.get("uniform_bias") {
                let bias = u16::from_str_radix(bias.trim_start_matches("0x"), 16).expect("a half");
                biases.fill(f16::from_bits(bias));
            }
            let y = linear(graph, x, &(weights, biases))?;
            graph.permute(y, BACK)
        }
        "ffn" => {
            let x = graph.permute(x[0], [Axis::Columns, Axis::Channels, Axis::Rows])?;
            let hidden = linear(graph, x, &made.layers[0])?;
            let hidden = graph.map(hidden, Map::Silu)?;
            let y = linear(graph, hidden, &made.layers[1])?;
            graph.permute(y, BACK)
        }
        "reduce_max" if oracle.mil("axes") == "1" => {
            graph.statistic(x[0], Statistic::Largest, &[Axis::Channels])
        }
        "reduce_sum" if oracle.mil("axes") == "1" => graph.statistic(x[0], Statistic::Sum, &[Axis::Channels]),
        "reduce_max" => graph.reduce(x[0], Element::COPY, Reduce::MAXIMUM, Over::Plane),
        "reduce_sum" => graph.reduce(x[0], Element::COPY.transposed(), Reduce::SUM, Over::Plane),
        "softmax" => graph.softmax_over(x[0], Axis::Rows),
        "tile_relu" => {
            let above = graph.relu(x[0])?;
            graph.tile(above, [1, oracle.output().shape[2] as u32, 1])
        }
        "tile_const" => {
            let row = graph.constant(Shape::new(1, 1, made.operand.len() as u32), &made.operand)?;
            let tiled = graph.tile(row, [1, oracle.output().shape[2] as u32, 1])?;
            graph.relu(tiled)
        }
        "transpose" if oracle.mil("perm") == "1,0" => {
            graph.permute(x[0], [Axis::Channels, Axis::Columns, Axis::Rows])
        }
        "transpose" => graph.permute(x[0], [Axis::Rows, Axis::Channels, Axis::Columns]),
        other => panic!("{other} is not made here"),
    }
}

/// From channels with tokens as columns to rows that are tokens.
const BACK: [Axis; 3] = [Axis::Rows, Axis::Columns, Axis::Channels];

/// Weights and biases of a layer, of which some may be zero, times the channels of a tensor.
fn linear(
    graph: &mut Graph,
    x: Tensor,
    (weights, biases): &(Vec<f16>, Vec<f16>),
) -> Result<Tensor, BuildError> {
    let has_bias = biases.iter().any(|bias| *bias != f16::ZERO);
    let layer = Convolution::new(biases.len() as u32, (1, 1), Weights::Half(weights));
    graph.convolution(x, &Convolution { bias: has_bias.then_some(biases), ..layer })
}

fn convolution(
    graph: &mut Graph,
    oracle: &Oracle,
    made: &MadeConstants,
    x: Tensor,
) -> Result<Tensor, BuildError> {
    let number = |name: &str| oracle.mil(name).split(',').next().and_then(|n| n.parse::<u32>().ok());
    let number = |name: &str| number(name).expect("a number");
    let (kernel, stride, groups) = (number("k"), number("stride"), number("groups"));
    let [_, outputs, out, _] = oracle.output().shape.map(|extent| extent as u32);
    let shape = graph.shape(x)?;
    // If the padding is odd, its larger part comes behind.
    let all = ((out - 1) * stride + kernel).saturating_sub(shape.h);
    let (before, behind) = (all / 2, all - all / 2);
    let (weights, biases) = &made.layers[0];
    let layer = Convolution {
        stride: (stride, stride),
        padding: Padding { left: before, top: before, right: behind, bottom: behind },
        channels: match groups {
            1 => Channels::Dense,
            all if all == shape.c => Channels::Unicast(1),
            groups => Channels::Grouped(groups),
        },
        bias: (oracle.mil("bias") == "1").then_some(biases),
        ..Convolution::new(outputs, (kernel, kernel), Weights::Half(weights))
    };
    graph.convolution(x, &layer)
}

fn build(oracle: &Oracle, made: &MadeConstants) -> Result<Built, BuildError> {
    let mut graph = Graph::new();
    let mut operands = Vec::new();
    for (index, input) in oracle.inputs().enumerate() {
        // Batches are channels here: nothing that has several looks at more than one.
        let [n, c, h, w] = input.shape.map(|extent| extent as u32);
        operands.push(graph.input(&index.to_string(), Shape::new(n * c, h, w))?);
    }
    let y = make(&mut graph, oracle, made, &operands)?;
    graph.output("y", y)?;
    graph.build()
}

/// Requirement: ORA-32
#[test]
fn what_the_builder_makes_gives_the_bits_of_what_the_compiler_made() {
    let Some(all) = oracles::all() else { return };
    let mut wrong = Vec::new();
    for oracle in &all {
        let random = &mut Random::new(seed(oracle));
        let made = constants::make(oracle, random);
        let inputs = oracles::inputs(oracle, random);
        let theirs = run(oracle, &made, &inputs);
        let built = match build(oracle, &made) {
            Ok(built) => built,
            Err(why) => {
                wrong.push(format!("{}: {why}", oracle.name));
                continue;
            }
        };
        let mut runner = EmbeddedRunner::open(&Options::default(), MEMORY);
        runner.load(&built.program());
        for (index, values) in inputs.iter().enumerate() {
            runner.fill(built.surface(&index.to_string()).unwrap(), values);
        }
        assert_eq!(runner.run(), Outcome::Done, "{}", oracle.name);
        let ours: Vec<f64> = runner.take(built.surface("y").unwrap()).into_iter().map(f16::to_f64).collect();
        assert_eq!(ours.len(), theirs.len(), "{}", oracle.name);
        let largest = theirs.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
        let apart = ours.iter().zip(&theirs).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / largest;
        let same = ours.iter().zip(&theirs).all(|(a, b)| a.to_bits() == b.to_bits());
        let most = most(oracle);
        if if most == 0.0 { !same } else { apart > most } {
            wrong.push(format!("{}: {apart} apart", oracle.name));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
