//! Sums whose parts leave the range of the array, which is infinite from 2^15 on, or of halves, where the result does not.

use ane::model::execute;
use ane::model::network::{Array, Value};
use ane::tensor::nearest_half;
use ane_tests::model::Attribute::{self, Integer, Integers, Single, Text};
use ane_tests::model::Onnx;

use super::{compiled, device, exact, problems, random};

/// Holds a model's result on `x` against double precision, within a part of its largest element.
fn agrees(net: &Onnx, x: &Array, most: f64) {
    let compiled = compiled(&net.finish());
    let wanted = exact(&compiled.network, std::slice::from_ref(x));
    is_near(&result(net, x), wanted[0].values(), most);
}

fn result(net: &Onnx, x: &Array) -> Vec<f64> {
    execute(&device(), &compiled(&net.finish()), std::slice::from_ref(x)).unwrap()[0].values().to_vec()
}

fn is_near(seen: &[f64], wanted: &[f64], most: f64) {
    let largest = wanted.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    assert_eq!(seen.len(), wanted.len());
    for (at, (seen, wanted)) in seen.iter().zip(wanted).enumerate() {
        assert!((seen - wanted).abs() <= most * largest, "{at}: {seen} for {wanted}");
    }
}

/// A model of one operator on `x`.
fn of(operator: &str, dims: &[i64], attributes: &[(&str, Attribute)]) -> Onnx {
    let mut net = Onnx::new(1);
    let x = net.input("x", dims);
    net.node_to(operator, &[&x], "y", attributes);
    net.output_of_any_shape("y");
    net
}

fn same(dims: &[usize], value: f64) -> Array {
    Array::from_fn(dims.to_vec(), |_| value).unwrap()
}

/// The standard's formula, for a list of channels.
fn local_response(x: &[f64], size: usize, (alpha, beta, bias): (f64, f64, f64)) -> Vec<f64> {
    let each = |(channel, value): (usize, &f64)| {
        let from = channel.saturating_sub((size - 1) / 2);
        let to = x.len().min(channel + size / 2 + 1);
        let squares: f64 = x[from..to].iter().map(|value| value * value).sum();
        value / (bias + alpha / size as f64 * squares).powf(beta)
    };
    x.iter().enumerate().map(each).collect()
}

#[test]
fn local_response_of_ordinary_activations_is_not_zero() {
    let cases = [(5, 1e-4, 0.75, 1.0), (2, 1e-4, 0.75, 2.0), (3, 0.01, 0.5, 0.1), (64, 0.1, 1.0, 1.0)];
    for (size, alpha, beta, bias) in cases {
        for largest in [0.01, 1.0, 100.0, 1000.0] {
            let x = Array::from_fn(vec![1, 8, 1, 1], |at| largest * (at as f64 + 1.0) / 8.0).unwrap();
            let attributes = [
                ("size", Integer(size)),
                ("alpha", Single(alpha)),
                ("beta", Single(beta)),
                ("bias", Single(bias)),
            ];
            let net = of("LRN", &[1, 8, 1, 1], &attributes);
            let wanted = local_response(x.values(), size as usize, (alpha.into(), beta.into(), bias.into()));
            is_near(&result(&net, &x), &wanted, 0.01);
        }
    }
    let size = problems(&of("LRN", &[1, 8, 1, 1], &[("size", Integer(0))]).finish());
    assert!(size[0].to_string().contains("size is 0"), "{}", size[0]);
}

/// Holds the response of `x`, a list of channels, against the standard's formula.
fn responds(x: Vec<f64>, size: i64, (alpha, beta, bias): (f32, f32, f32), most: f64) {
    let attributes =
        [("size", Integer(size)), ("alpha", Single(alpha)), ("beta", Single(beta)), ("bias", Single(bias))];
    let net = of("LRN", &[1, x.len() as i64, 1, 1], &attributes);
    let wanted = local_response(&x, size as usize, (alpha.into(), beta.into(), bias.into()));
    let x = Array::new(vec![1, x.len(), 1, 1], x).unwrap();
    is_near(&result(&net, &x), &wanted, most);
}

/// The magnitudes of channels: from `largest` down to an eighth of it, of both signs.
fn channels(count: usize, largest: f64) -> Vec<f64> {
    let each =
        |at: usize| largest * (1 + at * 5 % 8) as f64 / 8.0 * if at.is_multiple_of(3) { -1.0 } else { 1.0 };
    (0..count).map(|at| nearest_half(each(at)).to_f64()).collect()
}

#[test]
fn local_response_of_large_alpha_is_finite() {
    for largest in [0.05, 1.0, 64.0, 100.0, 180.0] {
        responds(channels(16, largest), 11, (11.0, 0.5, 1.0), 0.006);
        responds(vec![largest; 16], 11, (11.0, 0.5, 1.0), 0.006);
    }
}

#[test]
fn local_response_with_alpha_of_its_size_is_the_length() {
    for largest in [0.1, 1.0, 30.0, 100.0] {
        responds(channels(12, largest), 23, (23.0, 0.5, 1e-6), 0.006);
    }
}

#[test]
fn local_response_over_long_lists_of_channels_is_a_product() {
    for (count, largest) in [(64, 0.5), (64, 100.0), (300, 1.0)] {
        responds(channels(count, largest), 2 * count as i64 - 1, (1.0, 0.5, 1.0), 0.006);
        responds(channels(count, largest), 40, (40.0, 0.5, 1.0), 0.006);
    }
    // More than there may be tasks.
    responds(channels(2500, 1.0), 4999, (4999.0, 0.5, 1.0), 0.006);
    let many = compiled(&of("LRN", &[1, 256, 4, 4], &[("size", Integer(511))]).finish());
    let tasks: usize = many.steps.iter().map(|step| step.tasks.len()).sum();
    assert!(tasks < 30, "{tasks}");
}

#[test]
fn local_response_of_small_bias_keeps_it() {
    for largest in [0.02, 0.1, 1.0, 100.0] {
        responds(channels(16, largest), 5, (1e-4, 0.5, 1e-5), 0.006);
        responds(channels(16, largest), 5, (1e-6, 0.75, 1e-4), 0.006);
    }
}

#[test]
fn local_response_of_large_bias_keeps_its_addend() {
    for largest in [1.0, 1000.0] {
        responds(channels(16, largest), 5, (1.0, 0.5, 1e6), 0.006);
    }
}

#[test]
fn local_response_as_of_alexnet_agrees() {
    for bias in [1.0, 2.0] {
        for largest in [1.0, 20.0, 100.0, 300.0] {
            responds(channels(32, largest), 5, (1e-4, 0.75, bias), 0.006);
        }
    }
}

#[test]
fn local_response_of_an_image_agrees() {
    let lines = Array::from_fn(vec![2, 6, 3, 5], |at| (at as f64 - 90.0) / 2.0).unwrap();
    agrees(&of("LRN", &[2, 6, 3, 5], &[("size", Integer(3))]), &lines, 0.005);
}

#[test]
fn local_response_over_many_channels_is_compiled_at_once() {
    let compiled = compiled(&of("LRN", &[1, 8192, 1, 1], &[("size", Integer(5))]).finish());
    let elements = |value: &Value| value.constant.as_ref().map_or(0, |array| array.values().len());
    assert!(compiled.network.values.iter().map(elements).sum::<usize>() < 100);
}

#[test]
fn mean_of_a_window_is_finite_where_the_sum_is_not() {
    for (kernel, value) in [
        ([2, 2], 20000.0),
        ([3, 3], 14000.0),
        ([5, 6], 4000.0),
        ([7, 7], 9000.0),
        ([13, 13], 5000.0),
        ([1, 31], 4000.0),
        ([1, 64], 8000.0),
    ] {
        let dims = [1, 1, kernel[0], kernel[1]];
        let extents = dims.map(|extent| extent as usize);
        let kernel = ("kernel_shape", Integers(kernel.to_vec()));
        agrees(&of("AveragePool", &dims, &[kernel]), &same(&extents, value), 0.002);
    }
}

#[test]
fn mean_of_a_large_window_keeps_small_elements() {
    let dims = [1, 2, 20, 20];
    let x = Array::from_fn(vec![1, 2, 20, 20], |at| ((at * 7919) % 101) as f64 / 10000.0).unwrap();
    for (kernel, pads) in [([7, 7], [3, 3, 3, 3]), ([13, 5], [0, 2, 0, 2]), ([1, 17], [0; 4])] {
        let attributes = [
            ("kernel_shape", Integers(kernel.to_vec())),
            ("pads", Integers(pads.to_vec())),
            ("strides", Integers(vec![2, 1])),
        ];
        agrees(&of("AveragePool", &dims, &attributes), &x, 0.02);
    }
}

#[test]
fn root_of_squares_in_a_window_is_finite_where_they_are_not() {
    for value in [0.02, 1.0, 200.0, 700.0] {
        let kernel = ("kernel_shape", Integers(vec![2, 2]));
        agrees(&of("LpPool", &[1, 1, 3, 3], &[kernel]), &same(&[1, 1, 3, 3], value), 0.01);
    }
}

#[test]
fn root_of_squares_in_a_large_window_keeps_small_elements() {
    for value in [0.015, 0.03, 300.0] {
        for kernel in [vec![7, 7], vec![1, 31]] {
            let kernel = ("kernel_shape", Integers(kernel));
            agrees(&of("LpPool", &[1, 1, 8, 33], &[kernel]), &same(&[1, 1, 8, 33], value), 0.004);
        }
    }
}

#[test]
fn mean_of_a_window_over_three_axes_keeps_small_elements() {
    let kernel = || ("kernel_shape", Integers(vec![8, 7, 7]));
    let net = of("AveragePool", &[1, 1, 9, 8, 8], &[kernel()]);
    let x = random(&[1, 1, 9, 8, 8], 3).map(|value| value.abs() / 1000.0);
    agrees(&net, &x, 0.004);
    agrees(&net, &same(&[1, 1, 9, 8, 8], 8000.0), 0.004);
}

#[test]
fn mean_of_a_window_keeps_elements_of_some_thousandths() {
    let normal = |dims: &[usize], seed: u64| {
        let (a, b) = (random(dims, seed), random(dims, seed + 1));
        let each = |at: usize| {
            let (length, turn) = (a.values()[at].abs().max(1e-3), b.values()[at]);
            nearest_half(0.005 * ((-2.0 * length.ln()).sqrt() * (turn * std::f64::consts::PI).cos()).abs())
        };
        Array::from_fn(dims.to_vec(), |at| each(at).to_f64()).unwrap()
    };
    for kernel in [vec![16], vec![31], vec![1, 16], vec![4, 4], vec![5, 5], vec![7, 7], vec![12, 12]] {
        let dims: Vec<i64> = [1, 3].into_iter().chain(kernel.iter().map(|_| 40)).collect();
        let extents: Vec<usize> = dims.iter().map(|&extent| extent as usize).collect();
        let net = of("AveragePool", &dims, &[("kernel_shape", Integers(kernel))]);
        for seed in [11, 21] {
            agrees(&net, &normal(&extents, seed), 0.003);
        }
    }
    let net = of("AveragePool", &[1, 1, 31], &[("kernel_shape", Integers(vec![31]))]);
    // A quarter of it is three units of the array, and not nothing.
    agrees(&net, &same(&[1, 1, 31], 0.0002), 0.1);
}

#[test]
fn mean_of_operands_is_finite_where_their_sum_is_not() {
    let mut net = Onnx::new(1);
    let x = net.input("x", &[1, 2]);
    net.node_to("Mean", &[&x, &x, &x], "y", &[]);
    net.output("y", &[1, 2]);
    agrees(&net, &Array::new(vec![1, 2], vec![30000.0, 0.3]).unwrap(), 0.001);
}

#[test]
fn running_sum_of_large_elements_is_that_of_halves() {
    let mut net = Onnx::new(1);
    let x = net.input("x", &[4]);
    let axis = net.integers(&[0]);
    net.node_to("CumSum", &[&x, &axis], "y", &[]);
    net.output("y", &[4]);
    agrees(&net, &Array::list([40000.0, -40000.0, 3.0, 10.0]), 0.001);
}

#[test]
fn line_between_large_elements_is_finite() {
    let mut net = Onnx::new(1);
    let x = net.input("x", &[1, 1, 1, 4]);
    let scales = net.singles(&[4], &[1.0, 1.0, 1.0, 2.0]);
    net.node_to("Resize", &[&x, "", &scales], "y", &[("mode", Text("linear"))]);
    net.output_of_any_shape("y");
    agrees(&net, &Array::new(vec![1, 1, 1, 4], vec![40000.0, 60000.0, 1.0, 0.5]).unwrap(), 0.001);
}

#[test]
fn looked_up_rows_are_those_of_the_table_however_large_or_small() {
    for table in [[40000.0, 5.0, -65504.0, 0.5], [1e-5, 2e-5, 0.5, 1.0], [1e-6, -3e-7, 0.0, 2e-6]] {
        let mut net = Onnx::new(1);
        let ids = net.whole_input("ids", &[4]);
        let rows = net.singles(&[4, 1], &table);
        net.node_to("Gather", &[&rows, &ids], "y", &[]);
        net.output("y", &[4, 1]);
        let compiled = compiled(&net.finish());
        let seen = execute(&device(), &compiled, &[Array::list([0.0, 1.0, 2.0, 3.0])]).unwrap();
        for (seen, wanted) in seen[0].values().iter().zip(table) {
            assert_eq!(*seen, half::f16::from_f32(wanted).to_f64(), "{table:?}");
        }
    }
}
