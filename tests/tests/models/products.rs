//! Layers behind a matrix product: one task for all of them, with numbers that are no further off than those of several.

use std::slice::from_ref;

use ane::model::compare::worst;
use ane::model::compile::build;
use ane::model::execute;
use ane::model::network::operation::{Join, JoinKind, Map, Operation};
use ane::model::network::{Kind, Network};
use ane_tests::model::Attribute::{Integer, Single};
use ane_tests::model::Onnx;

use super::{compiled, device, exact, random};

/// A product, a factor, an addend and a function, of these extents.
struct Chain<'a> {
    x: &'a [usize],
    matrix: &'a [usize],
    /// The matrix is the first operand.
    is_left: bool,
    factor: &'a [usize],
    addend: &'a [usize],
    map: Option<Map>,
}

fn constant(network: &mut Network, dims: &[usize], seed: u64) -> usize {
    network.constant("constant", random(dims, seed), Kind::Real)
}

fn network(chain: &Chain<'_>) -> Network {
    let mut network = Network::default();
    let x = network.input("x", chain.x.to_vec(), Kind::Real).expect("an input");
    let matrix = constant(&mut network, chain.matrix, 2);
    let operands = if chain.is_left { [matrix, x] } else { [x, matrix] };
    let add = |network: &mut Network, operation, inputs: &[usize]| {
        network.add("layer", operation, inputs, Kind::Real).expect("operands fit")
    };
    let mut y = add(&mut network, Operation::Product, &operands);
    for (seed, kind, dims) in [(3, JoinKind::Multiply, chain.factor), (4, JoinKind::Add, chain.addend)] {
        let operand = constant(&mut network, dims, seed);
        y = add(&mut network, Operation::Join(Join { kind, relu: false }), &[operand, y]);
    }
    if let Some(map) = chain.map {
        y = add(&mut network, Operation::Map(map), &[y]);
    }
    network.outputs.push(("y".to_owned(), y));
    network
}

/// Tasks of the program, the largest difference from double precision, and the largest element.
fn run(network: Network, dims: &[usize]) -> (usize, f64, f64) {
    let x = random(dims, 1);
    let wanted = exact(&network, from_ref(&x)).remove(0);
    let built = build(network).unwrap_or_else(|error| panic!("{error}"));
    let seen = execute(&device(), &built, from_ref(&x)).unwrap_or_else(|error| panic!("{error}"));
    let largest = wanted.values().iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    (built.built.task_count(), worst(&seen[0], &wanted), largest)
}

#[test]
fn product_with_a_known_matrix_and_what_follows_it_is_one_task() {
    // Lines of the operand have to lie along another axis than the one that is summed up: a task exchanges them. The product
    // itself exchanges them again.
    let turned = 1;
    let gelu = Some(Map::Gelu);
    let chains = [
        // A factor and an addend for each column, from the right.
        (&[1, 40, 24][..], &[24, 17][..], false, &[17][..], &[1, 1, 17][..], gelu, turned + 1),
        // For each row, from the left.
        (&[3, 24, 40], &[17, 24], true, &[17, 1], &[1, 17, 1], Some(Map::Sigmoid), 1),
        // One for all.
        (&[3, 24, 40], &[17, 24], true, &[], &[1], Some(Map::Relu), 1),
        // A matrix for each batch, and each has its own addend.
        (&[3, 24, 40], &[3, 17, 24], true, &[17, 1], &[3, 17, 1], Some(Map::Tanh), 3),
        (&[1, 24, 40], &[3, 17, 24], true, &[3, 1, 1], &[3, 17, 1], None, 3),
        // A single row.
        (&[1, 24], &[24, 17], false, &[17], &[17], gelu, turned + 1),
    ];
    for (x, matrix, is_left, factor, addend, map, tasks) in chains {
        let chain = Chain { x, matrix, is_left, factor, addend, map };
        let (made, worst, largest) = run(network(&chain), x);
        assert_eq!(made, tasks, "{x:?} and {matrix:?}");
        assert!(
            largest > 0.2 && worst <= 0.01 * largest.max(1.0),
            "{x:?} and {matrix:?}: {worst} of {largest}"
        );
    }
}

#[test]
fn addend_that_differs_along_another_axis_stays_a_task() {
    let chains = [
        // For each row of a product whose columns are the outputs, and the other way round.
        (&[1, 40, 24][..], &[24, 17][..], false, &[40, 1][..]),
        (&[1, 24, 40], &[17, 24], true, &[40]),
        // For each batch, of one matrix for all.
        (&[3, 24, 40], &[17, 24], true, &[3, 1, 1]),
        // It makes the result larger.
        (&[1, 24, 40], &[17, 24], true, &[2, 1, 1]),
    ];
    for (x, matrix, is_left, addend) in chains {
        let chain = Chain { x, matrix, is_left, factor: &[], addend, map: None };
        let mut network = network(&chain);
        network.simplify();
        let names: Vec<&str> = network.nodes.iter().map(|node| node.operation.name()).collect();
        assert_eq!(names, ["linear", "add"], "{addend:?}");
        let (_, worst, largest) = run(network, x);
        assert!(worst <= 0.004 * largest.max(1.0), "{addend:?}: {worst} of {largest}");
    }
}

#[test]
fn factor_of_a_product_of_two_computed_matrices_costs_nothing() {
    let mut net = Onnx::new(9);
    let x = net.input("x", &[2, 12, 16]);
    let turned = net.node("Transpose", &[&x], &[("perm", super::Attribute::Integers(vec![0, 2, 1]))]);
    let scores = net.node("MatMul", &[&x, &turned], &[]);
    let root = net.singles(&[], &[4.0]);
    net.node_to("Div", &[&scores, &root], "y", &[]);
    net.output("y", &[2, 12, 12]);
    let compiled = compiled(&net.finish());
    let names: Vec<&str> = compiled.network.nodes.iter().map(|node| node.operation.name()).collect();
    assert_eq!(names, ["permute", "linear"]);
    let (_, worst, largest) = run(compiled.network, &[2, 12, 16]);
    assert!(largest > 1.0 && worst <= 0.002 * largest, "{worst} of {largest}");
}

#[test]
fn gemm_with_its_factors_and_bias_is_one_layer() {
    let mut net = Onnx::new(10);
    let x = net.input("x", &[24, 5]);
    let (weights, bias) = (net.random(&[7, 24], 0.5), net.random(&[1, 7], 1.0));
    let settings =
        [("transA", Integer(1)), ("transB", Integer(1)), ("alpha", Single(0.5)), ("beta", Single(2.0))];
    let sums = net.node("Gemm", &[&x, &weights, &bias], &settings);
    net.node_to("Relu", &[&sums], "y", &[]);
    net.output("y", &[5, 7]);
    let compiled = compiled(&net.finish());
    let names: Vec<&str> = compiled.network.nodes.iter().map(|node| node.operation.name()).collect();
    assert_eq!(names, ["permute", "linear"]);
    let (_, worst, largest) = run(compiled.network, &[24, 5]);
    assert!(largest > 0.5 && worst <= 0.002 * largest, "{worst} of {largest}");
}

#[test]
fn products_that_alone_read_a_norm_take_its_factors_and_addends() {
    let mut net = Onnx::new(11);
    let x = net.input("x", &[1, 10, 64]);
    let (scale, offset) = (net.random(&[64], 2.0), net.random(&[64], 1.0));
    let normal = net.node("LayerNormalization", &[&x, &scale, &offset], &[]);
    let weights = [net.random(&[64, 48], 0.3), net.random(&[64, 32], 0.3)];
    let bias = net.random(&[32], 1.0);
    let first = net.node("MatMul", &[&normal, &weights[0]], &[]);
    let second = net.node("MatMul", &[&normal, &weights[1]], &[]);
    let second = net.node("Add", &[&second, &bias], &[]);
    net.node_to("Concat", &[&first, &second], "y", &[("axis", Integer(2))]);
    net.output("y", &[1, 10, 80]);
    let compiled = compiled(&net.finish());
    let names: Vec<&str> = compiled.network.nodes.iter().map(|node| node.operation.name()).collect();
    assert_eq!(names, ["norm", "linear", "linear", "concatenation"]);
    let (_, worst, largest) = run(compiled.network, &[1, 10, 64]);
    assert!(largest > 2.0 && worst <= 0.003 * largest, "{worst} of {largest}");
}

#[test]
fn factor_that_something_else_reads_too_stays() {
    let mut net = Onnx::new(12);
    let x = net.input("x", &[10, 64]);
    let (factors, weights) = (net.random(&[64], 2.0), net.random(&[64, 64], 0.3));
    let scaled = net.node("Mul", &[&x, &factors], &[]);
    let sums = net.node("MatMul", &[&scaled, &weights], &[]);
    net.node_to("Add", &[&scaled, &sums], "y", &[]);
    net.output("y", &[10, 64]);
    let compiled = compiled(&net.finish());
    let names: Vec<&str> = compiled.network.nodes.iter().map(|node| node.operation.name()).collect();
    assert_eq!(names, ["multiply", "matrix product", "add"]);
}

#[test]
fn encoder_exchanges_columns_for_lines_no_more_often_than_it_has_to() {
    // For each of two layers: queries, keys and values, and the first product behind the norm, want a token's elements as lines, and
    // so does the product behind attention. What stands before that has them as columns.
    let tasks = compiled(&ane_tests::model::bert(128, 128, 2, 2)).built.task_count();
    assert_eq!(tasks, 2 * (3 + 29));
}
