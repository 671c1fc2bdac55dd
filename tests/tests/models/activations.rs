//! Activations behind a convolution: one task for both, with the numbers that two tasks give.

use std::slice::from_ref;

use ane::model::execute;
use ane::model::network::Array;
use ane_tests::model::Attribute::{self, Integer, Integers, Single, Text};
use ane_tests::model::Onnx;

use super::{compiled, device, random};

const DIMS: [i64; 4] = [1, 6, 9, 11];

/// An operator, its bounds, and its attributes.
type Function<'a> = (&'a str, &'a [f32], &'a [(&'a str, Attribute)]);

/// A convolution with the function behind it; if `is_apart`, its own result is asked for too, so that both are tasks.
fn network(
    operator: &str,
    bounds: &[f32],
    attributes: &[(&str, Attribute)],
    groups: i64,
    is_apart: bool,
) -> Vec<u8> {
    let mut net = Onnx::new(3);
    let x = net.input("x", &DIMS);
    let (outputs, kernel) = (12, 3);
    let weights = net.random(&[outputs, DIMS[1] / groups, kernel, kernel], 0.6);
    let bias = net.random(&[outputs], 2.0);
    let shape = [("kernel_shape", Integers(vec![kernel; 2])), ("group", Integer(groups))];
    let made = net.node("Conv", &[&x, &weights, &bias], &shape);
    let bounds: Vec<String> = bounds.iter().map(|&bound| net.singles(&[], &[bound])).collect();
    let inputs: Vec<&str> = [&made].into_iter().chain(&bounds).map(String::as_str).collect();
    net.node_to(operator, &inputs, "y", attributes);
    let dims = [1, outputs, DIMS[2] - 2, DIMS[3] - 2];
    net.output("y", &dims);
    if is_apart {
        net.output(&made, &dims);
    }
    net.finish()
}

#[test]
fn function_behind_a_convolution_joins_it_and_gives_the_same_numbers() {
    let x = random(&DIMS.map(|extent| extent as usize), 11);
    let functions: [Function<'_>; 10] = [
        ("Relu", &[], &[]),
        ("Clip", &[0.0, 6.0], &[]),
        ("Clip", &[0.0, 0.3], &[]),
        ("Clip", &[-1.0, 1.0], &[]),
        ("Clip", &[0.5, 2.0], &[]),
        ("Sigmoid", &[], &[]),
        ("Tanh", &[], &[]),
        ("Gelu", &[], &[("approximate", Text("tanh"))]),
        ("LeakyRelu", &[], &[("alpha", Single(0.1))]),
        ("Softplus", &[], &[]),
    ];
    for (operator, bounds, attributes) in functions {
        for groups in [1, 2, 6] {
            let [joined, apart] = [false, true]
                .map(|is_apart| compiled(&network(operator, bounds, attributes, groups, is_apart)));
            let [tasks, two] = [&joined, &apart].map(|compiled| compiled.built.task_count());
            assert!(tasks < two, "{operator} {bounds:?}: {tasks} tasks, {two} apart");
            let run = |compiled| {
                let results =
                    execute(&device(), compiled, from_ref(&x)).unwrap_or_else(|why| panic!("{why}"));
                results[0].values().to_vec()
            };
            assert_eq!(run(&joined), run(&apart), "{operator} {bounds:?} in {groups} groups");
        }
    }
}

#[test]
fn bounds_that_exclude_each_other_are_a_task_of_their_own() {
    let x = random(&DIMS.map(|extent| extent as usize), 11);
    let compiled = compiled(&network("Clip", &[2.0, 1.0], &[], 1, false));
    let results: Vec<Array> = execute(&device(), &compiled, &[x]).unwrap_or_else(|why| panic!("{why}"));
    assert!(results[0].values().iter().all(|&value| value == 1.0));
}
