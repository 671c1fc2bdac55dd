//! Kernels for which the array has no room: long ones, dilated ones, fast ones, and those that move along depth.

use ane::model::execute;
use ane_tests::model::Attribute::{Integer, Integers};
use ane_tests::model::Onnx;

use super::{compiled, device, difference, problems, random};

/// A convolution with a bias: operand, weights, groups, and its stride, dilation and padding along every axis.
struct Kind {
    x: &'static [i64],
    weights: &'static [i64],
    group: i64,
    stride: i64,
    dilation: i64,
    padding: i64,
}

fn model(kind: &Kind) -> Vec<u8> {
    let moving = kind.x.len() - 2;
    let mut net = Onnx::new(5);
    let x = net.input("x", kind.x);
    // Halves, so that no constant is rounded.
    let halves = |dims: &[i64], scale: f64| -> Vec<f32> {
        let dims: Vec<usize> = dims.iter().map(|&extent| extent as usize).collect();
        random(&dims, 9).values().iter().map(|&value| (scale * value) as f32).collect()
    };
    let weights = net.singles(kind.weights, &halves(kind.weights, 0.25));
    let bias = net.singles(&kind.weights[..1], &halves(&kind.weights[..1], 1.0));
    let attributes = [
        ("strides", Integers(vec![kind.stride; moving])),
        ("dilations", Integers(vec![kind.dilation; moving])),
        ("pads", Integers(vec![kind.padding; 2 * moving])),
        ("group", Integer(kind.group)),
    ];
    net.node_to("Conv", &[&x, &weights, &bias], "y", &attributes);
    net.output("y", &[1]);
    net.finish()
}

fn agrees(kinds: &[([&'static [i64]; 2], [i64; 4])]) {
    for &([x, weights], [group, stride, dilation, padding]) in kinds {
        let (worst, largest) = difference(&model(&Kind { x, weights, group, stride, dilation, padding }));
        // A rounding to a half, and half a unit of 2^-16 for each product.
        let products: i64 = weights[1..].iter().product();
        let allowed = largest * 2.0_f64.powi(-11) + products as f64 * 2.0_f64.powi(-17);
        assert!(worst <= allowed, "{x:?} {weights:?}: {worst} of {largest}, {allowed} allowed");
    }
}

#[test]
fn kernels_longer_than_the_array_s_agree_as_short_ones_do() {
    agrees(&[
        ([&[1, 4, 150], &[6, 4, 101]], [1, 1, 1, 50]),
        ([&[2, 4, 99], &[8, 2, 64]], [2, 1, 1, 32]),
        ([&[1, 6, 99], &[6, 1, 65]], [6, 1, 1, 32]),
        ([&[1, 1, 900], &[7, 1, 400]], [1, 160, 1, 0]),
        ([&[1, 3, 500], &[5, 3, 260]], [1, 4, 1, 3]),
        ([&[2, 3, 33, 37], &[4, 3, 33, 34]], [1, 1, 1, 3]),
    ]);
}

#[test]
fn taps_that_lie_far_apart_agree() {
    agrees(&[
        ([&[1, 5, 300], &[5, 5, 3]], [1, 1, 64, 64]),
        ([&[2, 4, 33, 30], &[8, 4, 3, 3]], [1, 1, 24, 24]),
        ([&[1, 8, 33, 30], &[8, 1, 3, 3]], [8, 1, 16, 16]),
        ([&[1, 8, 70, 66], &[6, 4, 3, 3]], [2, 2, 24, 24]),
        ([&[1, 1, 70, 66], &[2, 1, 3, 3]], [1, 5, 40, 80]),
    ]);
}

#[test]
fn kernels_that_move_faster_than_the_array_s_agree() {
    agrees(&[
        ([&[1, 3, 67, 101], &[8, 3, 16, 16]], [1, 16, 1, 0]),
        ([&[2, 3, 32, 36], &[5, 3, 4, 4]], [1, 4, 1, 0]),
        ([&[1, 3, 64, 61], &[8, 3, 7, 7]], [1, 4, 1, 3]),
        ([&[1, 4, 40, 41], &[8, 1, 1, 1]], [4, 7, 1, 0]),
        ([&[1, 6, 41, 40], &[6, 1, 3, 3]], [6, 5, 5, 5]),
    ]);
}

#[test]
fn kernels_that_move_along_depth_agree() {
    agrees(&[
        ([&[1, 3, 6, 9, 11], &[4, 3, 3, 3, 3]], [1, 1, 1, 1]),
        ([&[2, 4, 7, 9, 11], &[4, 2, 3, 3, 3]], [2, 2, 1, 1]),
        ([&[1, 4, 7, 9, 11], &[4, 1, 3, 3, 3]], [4, 1, 2, 2]),
        ([&[1, 2, 8, 32, 32], &[6, 2, 2, 16, 16]], [1, 16, 1, 0]),
        ([&[2, 3, 4, 5, 6], &[4, 3, 1, 1, 1]], [1, 1, 1, 0]),
    ]);
}

#[test]
fn patches_of_an_image_take_a_few_tasks() {
    let kind =
        Kind { x: &[1, 3, 64, 64], weights: &[8, 3, 16, 16], group: 1, stride: 16, dilation: 1, padding: 0 };
    assert_eq!(compiled(&model(&kind)).built.task_count(), 4, "two copies, a turn, and one convolution");
}

#[test]
fn channels_by_themselves_take_no_more_tasks_along_depth_than_all_together() {
    let tasks = |group: i64, weights: &'static [i64]| {
        let x = &[1, 16, 5, 8, 8];
        compiled(&model(&Kind { x, weights, group, stride: 1, dilation: 1, padding: 0 })).built.task_count()
    };
    let (apart, together) = (tasks(16, &[16, 1, 3, 3, 3]), tasks(1, &[16, 16, 3, 3, 3]));
    assert!(apart <= together, "{apart} and {together}");
}

/// The same taps, once as channels and once in a kernel with holes.
#[test]
fn taps_that_become_channels_give_the_same_bits() {
    let weights: Vec<f32> = random(&[16 * 32 * 9], 8).values().iter().map(|&value| value as f32).collect();
    let apart = 7;
    let model = |dilation: usize| {
        let taps = 2 * (apart / dilation) + 1;
        let mut net = Onnx::new(5);
        let x = net.input("x", &[1, 32, 20, 24]);
        let mut wide = vec![0.0; 16 * 32 * taps * taps];
        for (at, &weight) in weights.iter().enumerate() {
            let (row, column) = (at / 3 % 3 * (taps / 2), at % 3 * (taps / 2));
            wide[(at / 9 * taps + row) * taps + column] = weight;
        }
        let weights = net.singles(&[16, 32, taps as i64, taps as i64], &wide);
        let dilations = ("dilations", Integers(vec![dilation as i64; 2]));
        net.node_to("Conv", &[&x, &weights], "y", &[dilations, ("pads", Integers(vec![7; 4]))]);
        net.output("y", &[1]);
        net.finish()
    };
    let [channels, holes] = [model(apart), model(1)].map(|model| compiled(&model));
    assert_eq!(holes.built.task_count(), 1);
    assert!(channels.built.task_count() > 1);
    let x = [random(&[1, 32, 20, 24], 3)];
    let seen = [channels, holes].map(|compiled| execute(&device(), &compiled, &x).expect("it runs"));
    assert_eq!(seen[0], seen[1]);
}

#[test]
fn kernels_whose_taps_no_tensor_has_room_for_are_refused() {
    let refused: [([&'static [i64]; 2], [i64; 4]); 4] = [
        ([&[1, 512, 360, 360], &[1, 512, 33, 33]], [1, 1, 1, 0]),
        ([&[1, 1, 8], &[1, 1, 3]], [1, 1, 1 << 40, 1 << 40]),
        ([&[1, 1, 8, 8, 8], &[1, 1, 3, 1, 1]], [1, 1, 1 << 30, 1 << 30]),
        ([&[1, 1, 4, 4, 4, 4], &[1, 1, 2, 2, 2, 2]], [1, 1, 1, 0]),
    ];
    for ([x, weights], [group, stride, dilation, padding]) in refused {
        let problems = problems(&model(&Kind { x, weights, group, stride, dilation, padding }));
        assert_eq!(problems[0].name, "y", "{problems:?}");
    }
}
