//! Models of the sizes that people bring, whose tensors are larger than the chip.

use ane_tests::model::Attribute::{self, Integer, Integers, Single};
use ane_tests::model::{Onnx, bert, gpt2_block};
use ane_tests::random::Random;

use super::{compiled, difference, problems};

/// A model of one operator over an input, with random constants behind it.
fn one(
    operator: &str,
    dims: &[i64],
    constants: &[&[i64]],
    attributes: &[(&str, Attribute)],
    result: &[i64],
) -> Vec<u8> {
    let mut net = Onnx::new(3);
    let mut operands = vec![net.input("x", dims)];
    operands.extend(constants.iter().map(|dims| net.random(dims, 0.1)));
    let operands: Vec<&str> = operands.iter().map(String::as_str).collect();
    net.node_to(operator, &operands, "y", attributes);
    net.output("y", result);
    net.finish()
}

fn softmax(dims: &[i64]) -> Vec<u8> {
    one("Softmax", dims, &[], &[("axis", Integer(-1))], dims)
}

fn layer_norm(dims: &[i64]) -> Vec<u8> {
    let width = &dims[dims.len() - 1..];
    one("LayerNormalization", dims, &[width, width], &[("epsilon", Single(1e-5))], dims)
}

fn head(tokens: i64, words: i64) -> Vec<u8> {
    one("MatMul", &[1, tokens, 64], &[&[64, words]], &[], &[1, tokens, words])
}

#[track_caller]
fn agrees(model: &[u8], part: f64) {
    let (worst, largest) = difference(model);
    assert!(worst <= part * largest, "{worst} of {largest}");
}

#[test]
fn block_of_gpt2_compiles_at_64_to_512_tokens() {
    for tokens in [64, 128, 256, 512] {
        let tasks = compiled(&gpt2_block(tokens, 768, 12)).built.task_count();
        assert!(tasks < 200, "{tokens} tokens: {tasks} tasks");
    }
}

#[test]
fn block_of_gpt2_narrow_enough_to_be_run_here_agrees_at_256_tokens() {
    agrees(&gpt2_block(256, 256, 4), 0.02);
}

#[test]
fn encoder_layer_of_768_compiles_at_197_and_512_tokens() {
    for tokens in [197, 512] {
        let tasks = compiled(&bert(tokens, 768, 12, 1)).built.task_count();
        assert!(tasks < 200, "{tokens} tokens: {tasks} tasks");
    }
}

#[test]
fn encoder_over_a_prime_number_of_tokens_agrees() {
    agrees(&bert(197, 128, 2, 1), 0.02);
}

#[test]
fn softmax_of_12_by_512_by_512_agrees_in_few_tasks() {
    let model = softmax(&[12, 512, 512]);
    assert!(compiled(&model).built.task_count() <= 8);
    agrees(&model, 0.01);
}

#[test]
fn layer_norm_of_many_lines_agrees_in_few_tasks() {
    for lines in [1024, 1021] {
        let model = layer_norm(&[lines, 768]);
        let tasks = compiled(&model).built.task_count();
        assert!(tasks <= 18, "{lines} lines: {tasks} tasks");
        agrees(&model, 0.005);
    }
}

#[test]
fn group_norm_moves_no_element() {
    let dims = [1, 320, 64, 64];
    let groups = [("num_groups", Integer(32))];
    let model = one("GroupNormalization", &dims, &[&[320], &[320]], &groups, &dims);
    assert_eq!(compiled(&model).built.task_count(), 5, "two reductions and three operations of each element");
    agrees(&model, 0.005);
}

#[test]
fn output_wider_than_columns_can_be_agrees() {
    agrees(&head(3, 50257), 0.005);
    agrees(&head(1, 50257), 0.005);
}

#[test]
fn output_that_is_turned_with_more_channels_than_fit_agrees() {
    agrees(&head(128, 8190), 0.005);
}

#[test]
fn input_wider_than_columns_can_be_agrees() {
    agrees(&one("Add", &[2, 50257], &[&[1, 50257]], &[], &[2, 50257]), 0.001);
}

#[test]
fn layers_that_do_not_fit_are_all_named() {
    // The array reads all channels of a pixel at once.
    let mut net = Onnx::new(5);
    let x = net.input("x", &[1, 12_000, 1, 128]);
    let first = net.random(&[1, 12_000, 1, 1], 0.1);
    let again = net.random(&[12_000, 1, 1, 1], 0.1);
    let narrow = net.node("Conv", &[&x, &first], &[]);
    let wide = net.node("Conv", &[&narrow, &again], &[]);
    net.node_to("Conv", &[&wide, &first], "y", &[]);
    net.output("y", &[1, 1, 1, 128]);
    let problems = problems(&net.finish());
    let names: Vec<&str> = problems.iter().map(|problem| problem.name.as_str()).collect();
    assert_eq!(names, [narrow.as_str(), "y"], "{problems:?}");
    assert!(problems[0].to_string().contains("[1, 12000, 1, 128]"), "{}", problems[0]);
}

#[test]
fn of_very_many_layers_that_do_not_fit_the_first_thousand_are_named() {
    let mut net = Onnx::new(6);
    let x = net.input("x", &[1, 12_000, 1, 128]);
    let mut sum = net.input("y", &[1, 1, 1, 128]);
    let mut layers = Vec::new();
    for _ in 0..1003 {
        let coefficients = net.random(&[1, 12_000, 1, 1], 0.1);
        layers.push(net.node("Conv", &[&x, &coefficients], &[]));
        sum = net.node("Add", &[&sum, &layers[layers.len() - 1]], &[]);
    }
    net.output(&sum, &[1, 1, 1, 128]);
    let names: Vec<String> = problems(&net.finish()).into_iter().map(|problem| problem.name).collect();
    assert_eq!(names, layers[..1000]);
}

/// The operations of the engine's planar half, over lines that neither fit nor divide well.
#[test]
fn random_planar_graphs_over_many_lines_agree() {
    let shapes: [&[i64]; 7] = [
        &[1021, 600],
        &[1536, 520],
        &[2, 1030, 514],
        &[3, 700, 256],
        &[20_011, 9],
        &[70_000, 2],
        &[40, 51, 300],
    ];
    let mut random = Random::new(21);
    for dims in shapes {
        let mut net = Onnx::new(random.below(1 << 20).into());
        let mut x = net.input("x", dims);
        let rank = dims.len();
        let stretched = |axis: usize| {
            let mut stretched = dims.to_vec();
            stretched[axis] = 1;
            stretched
        };
        let axes = |axis: usize| vec![axis as i64];
        for _ in 0..6 {
            let axis = if random.below(3) == 0 { random.below(rank as u32) as usize } else { rank - 1 };
            let constant = net.random(&stretched(axis), 1.0);
            let all = net.integers(&axes(axis));
            x = match random.below(6) {
                0 => net.node("Add", &[&x, &constant], &[]),
                1 => net.node("Max", &[&constant, &x], &[]),
                2 => {
                    let mean = net.node("ReduceMean", &[&x, &all], &[]);
                    net.node("Sub", &[&x, &mean], &[])
                }
                3 => {
                    let most = net.node("ReduceMax", &[&x, &all], &[]);
                    net.node("Add", &[&most, &x], &[])
                }
                4 => net.node("Relu", &[&x], &[]),
                _ => net.node("Tanh", &[&x], &[]),
            };
        }
        net.node_to("Transpose", &[&x], "y", &[("perm", Integers((0..rank as i64).rev().collect()))]);
        net.output("y", &[]);
        let (worst, largest) = difference(&net.finish());
        assert!(worst <= 0.005 * largest.max(1.0), "{dims:?}: {worst} of {largest}");
    }
}
