//! Whole numbers that the run computes (truths and places, moved and cast, but not computed with), and computed weights.

use ane::model::execute;
use ane::model::network::Array;
use ane::tensor::nearest_half;
use ane_tests::model::Attribute::{self, Integer, Integers};
use ane_tests::model::Onnx;

use super::{compiled, device, difference, problems, random};

/// The standard's numbers of types.
const FLOAT: i64 = 1;
const UINT8: i64 = 2;
const INT8: i64 = 3;
const UINT16: i64 = 4;
const INT16: i64 = 5;
const INT32: i64 = 6;
const INT64: i64 = 7;

fn cast(net: &mut Onnx, x: &str, to: i64) -> String {
    net.node("Cast", &[x], &[("to", Integer(to))])
}

/// The result of a model with one operand.
fn made(net: &mut Onnx, y: &str, x: &Array) -> Array {
    net.node_to("Identity", &[y], "y", &[]);
    net.output("y", &[1]);
    let compiled = compiled(&net.finish());
    execute(&device(), &compiled, std::slice::from_ref(x)).unwrap_or_else(|error| panic!("{error}")).remove(0)
}

#[test]
fn comparison_is_cast_to_whole_numbers_and_back() {
    for to in [UINT8, INT32, INT64] {
        let mut net = Onnx::new(3);
        let (a, b) = (net.input("a", &[3, 7]), net.input("b", &[3, 7]));
        let truth = net.node("Greater", &[&a, &b], &[]);
        let whole = cast(&mut net, &truth, to);
        let turned = net.node("Transpose", &[&whole], &[("perm", Integers(vec![1, 0]))]);
        let back = cast(&mut net, &turned, FLOAT);
        net.node_to("Mul", &[&back, &back], "y", &[]);
        net.output("y", &[7, 3]);
        assert_eq!(difference(&net.finish()), (0.0, 1.0), "type {to}");
    }
}

#[test]
fn cast_to_a_whole_number_leaves_the_fraction_out() {
    let mut net = Onnx::new(3);
    let x = net.input("x", &[8]);
    let whole = cast(&mut net, &x, INT32);
    let wider = cast(&mut net, &whole, INT64);
    let y = cast(&mut net, &wider, FLOAT);
    let x = Array::list([0.5, -0.5, 2.75, -2.75, 1023.5, -65504.0, 0.0, 7.0]);
    let seen = made(&mut net, &y, &x);
    assert_eq!(seen.values(), [0.0, 0.0, 2.0, -2.0, 1023.0, -65504.0, 0.0, 7.0]);
}

#[test]
fn whole_numbers_are_not_computed_with() {
    let refused = |build: &dyn Fn(&mut Onnx, &str) -> String, reason: &str| {
        let mut net = Onnx::new(3);
        let x = net.input("x", &[2, 3]);
        let y = build(&mut net, &x);
        net.node_to("Identity", &[&y], "y", &[]);
        net.output("y", &[2, 3]);
        let told = problems(&net.finish())[0].to_string();
        assert!(told.contains(reason), "{told}");
    };
    let sum = |net: &mut Onnx, x: &str| {
        let whole = cast(net, x, INT64);
        net.node("Add", &[&whole, &whole], &[])
    };
    refused(&sum, "an operand of whole numbers is not known before the run");
    refused(&|net, x| cast(net, x, UINT8), "only those to int32 and int64 have room");
}

#[test]
fn place_of_the_largest_element_is_found_along_every_axis() {
    let dims = [2, 5, 9];
    // Few different numbers, so that several are as large.
    let x = random(&dims, 4).map(|value| (value * 3.0).round());
    for (axis, operator, is_last) in (0..3)
        .flat_map(|axis| {
            ["ArgMax", "ArgMin"].map(|operator| [true, false].map(|last| (axis, operator, last)))
        })
        .flatten()
    {
        let mut net = Onnx::new(3);
        let operand = net.input("x", &[2, 5, 9]);
        let settings: [(&str, Attribute); 2] =
            [("axis", Integer(axis as i64)), ("select_last_index", Integer(is_last.into()))];
        let place = net.node(operator, &[&operand], &settings);
        let seen = made(&mut net, &place, &x);
        let inner: usize = dims[axis + 1..].iter().product();
        let wanted: Vec<f64> = (0..x.values().len() / dims[axis])
            .map(|at| {
                let element =
                    |place: usize| x.values()[(at / inner * dims[axis] + place) * inner + at % inner];
                let best = |a: f64, b: f64| if operator == "ArgMax" { a > b } else { a < b };
                let better = |a: usize, b: usize| {
                    best(element(b), element(a)) || (is_last && element(a) == element(b))
                };
                (1..dims[axis]).fold(0, |found, place| if better(found, place) { place } else { found })
                    as f64
            })
            .collect();
        assert_eq!(seen.values(), wanted, "{operator} along {axis}, last: {is_last}");
    }
}

#[test]
fn places_that_halves_do_not_hold_are_refused() {
    let model = |places: i64| {
        let mut net = Onnx::new(3);
        let x = net.input("x", &[2, places]);
        net.node_to("ArgMax", &[&x], "y", &[("axis", Integer(1))]);
        net.output("y", &[2, 1]);
        net.finish()
    };
    let told = problems(&model(2049))[0].to_string();
    assert!(told.contains("2049 places along axis 1: halves hold whole numbers up to 2048"), "{told}");
    let falling = Array::from_fn(vec![2, 2048], |at| if at % 2048 == 2047 { 1.0 } else { 0.0 }).unwrap();
    let seen = execute(&device(), &compiled(&model(2048)), &[falling]).unwrap();
    assert_eq!(seen[0].values(), [2047.0; 2]);
}

#[test]
fn place_of_an_element_that_is_the_least_bit_larger_is_found() {
    let mut net = Onnx::new(3);
    let x = net.input("x", &[4, 2]);
    let place = net.node("ArgMax", &[&x], &[("axis", Integer(1)), ("keepdims", Integer(0))]);
    let least = 2.0_f64.powi(-24);
    let x =
        Array::new(vec![4, 2], vec![0.0, least, -least, 0.0, 1024.0, 1025.0, f64::INFINITY, 1.0]).unwrap();
    assert_eq!(made(&mut net, &place, &x).values(), [1.0, 1.0, 1.0, 0.0]);
}

#[test]
fn places_are_the_output_of_a_model() {
    let mut net = Onnx::new(3);
    let x = net.input("x", &[1, 3, 4, 4]);
    net.node_to("ArgMax", &[&x], "y", &[("axis", Integer(1)), ("keepdims", Integer(0))]);
    net.output("y", &[1, 4, 4]);
    let compiled = compiled(&net.finish());
    assert_eq!(
        (compiled.outputs[0].name.as_str(), compiled.outputs[0].dims.as_slice()),
        ("y", &[1, 4, 4][..])
    );
}

#[test]
fn convolution_of_one_tap_with_computed_weights_is_a_product() {
    for (weights, group, stride) in [([6, 4, 1, 1], 1, 1), ([6, 2, 1, 1], 2, 2), ([4, 1, 1, 1], 4, 3)] {
        let mut net = Onnx::new(3);
        let (x, weights) = (net.input("x", &[2, 4, 7, 9]), net.input("weights", &weights));
        let weights = net.node("Abs", &[&weights], &[]);
        let bias = net.input("bias", &[if group == 4 { 4 } else { 6 }]);
        let settings = [
            ("group", Integer(group)),
            ("strides", Integers(vec![stride; 2])),
            ("pads", Integers(vec![0, 1, 1, 0])),
        ];
        net.node_to("Conv", &[&x, &weights, &bias], "y", &settings);
        net.output("y", &[1]);
        let (worst, largest) = difference(&net.finish());
        assert!(largest > 0.5 && worst <= 0.002 * largest, "{group}: {worst} of {largest}");
    }
}

#[test]
fn computed_weights_of_several_taps_are_asked_for() {
    let mut net = Onnx::new(3);
    let (x, weights) = (net.input("x", &[1, 4, 7, 9]), net.input("weights", &[6, 4, 3, 3]));
    net.node_to("Conv", &[&x, &weights], "y", &[]);
    net.output("y", &[1]);
    let told = problems(&net.finish())[0].to_string();
    assert!(told.contains("operand 1 (\"weights\") has to be known before the run"), "{told}");
}

#[test]
fn known_whole_number_that_is_cast_keeps_its_lowest_bits() {
    for (to, wanted) in [
        (UINT8, [44.0, 255.0, 200.0]),
        (INT8, [44.0, -1.0, -56.0]),
        (UINT16, [300.0, 65535.0, 200.0]),
        (INT16, [300.0, -1.0, 200.0]),
        (INT32, [300.0, -1.0, 200.0]),
        (INT64, [300.0, -1.0, 200.0]),
    ] {
        let mut net = Onnx::new(3);
        let x = net.input("x", &[3]);
        let known = net.integers(&[300, -1, 200]);
        let narrow = cast(&mut net, &known, to);
        let back = cast(&mut net, &narrow, FLOAT);
        // Halves hold no 65535.
        let half = net.singles(&[], &[0.5]);
        let smaller = net.node("Mul", &[&back, &half], &[]);
        let y = net.node("Add", &[&x, &smaller], &[]);
        let seen = made(&mut net, &y, &Array::list([0.0; 3]));
        let wanted = wanted.map(|value: f64| nearest_half(value / 2.0).to_f64());
        assert_eq!(seen.values(), wanted, "type {to}");
    }
}

#[test]
fn mean_of_known_whole_numbers_is_a_whole_number() {
    for (numbers, wanted) in [([1, 2], 1.0), ([-1, -2], -1.0)] {
        let mut net = Onnx::new(3);
        let x = net.input("x", &[1]);
        let known = net.integers(&numbers);
        let mean = net.node("ReduceMean", &[&known], &[]);
        let mean = cast(&mut net, &mean, FLOAT);
        let y = net.node("Add", &[&x, &mean], &[]);
        assert_eq!(made(&mut net, &y, &Array::list([0.0])).values(), [wanted]);
    }
}

#[test]
fn product_of_known_singles_is_rounded_as_a_single() {
    let mut net = Onnx::new(3);
    let x = net.input("x", &[1]);
    let (ten, part) = (net.singles(&[], &[10.0]), net.singles(&[], &[0.7]));
    let seven = net.node("Mul", &[&ten, &part], &[]);
    let whole = net.node("Floor", &[&seven], &[]);
    let y = net.node("Add", &[&x, &whole], &[]);
    assert_eq!(made(&mut net, &y, &Array::list([0.0])).values(), [7.0]);
}

#[test]
fn sums_of_known_whole_numbers_have_the_bits_of_their_type() {
    // 200 + 100, 2 - 3 and 16 * 17, with a step between that only moves them.
    for (operator, a, b, wanted) in
        [("Add", 200, 100, 44.0), ("Sub", 2, 3, 255.0), ("Mul", 16, 17, 16.0), ("Max", 2, 3, 3.0)]
    {
        let mut net = Onnx::new(3);
        let x = net.input("x", &[1]);
        let [a, b] = [a, b].map(|value| net.initializer(UINT8, &[1], &[value]));
        let moved = net.node("Concat", &[&a], &[("axis", Integer(0))]);
        let made_of = net.node(operator, &[&moved, &b], &[]);
        let back = cast(&mut net, &made_of, FLOAT);
        let y = net.node("Add", &[&x, &back], &[]);
        assert_eq!(made(&mut net, &y, &Array::list([0.0])).values(), [wanted], "{operator}");
    }
}

#[test]
fn type_of_whole_numbers_follows_a_cast() {
    let mut net = Onnx::new(3);
    let x = net.input("x", &[1]);
    let (large, one) = (net.integers(&[127]), net.integers(&[1]));
    let [large, one] = [large, one].map(|value| cast(&mut net, &value, INT8));
    let sum = net.node("Add", &[&large, &one], &[]);
    let back = cast(&mut net, &sum, FLOAT);
    let y = net.node("Add", &[&x, &back], &[]);
    assert_eq!(made(&mut net, &y, &Array::list([0.0])).values(), [-128.0]);
}

#[test]
fn whole_numbers_that_doubles_do_not_hold_are_not_computed_with() {
    let of = |operator: &str, list: &[i64], other: &[i64]| {
        let mut net = Onnx::new(3);
        let x = net.input("x", &[1]);
        let (a, b) = (net.integers(list), net.integers(other));
        let made = net.node(operator, &[&a, &b], &[]);
        let back = cast(&mut net, &made, FLOAT);
        net.node_to("Mul", &[&x, &back], "y", &[]);
        net.output("y", &[1]);
        net.finish()
    };
    for (operator, a, b) in [
        ("Mod", (1 << 60) + 7, 1000),
        ("Mul", 1 << 40, 1 << 40),
        ("Sub", i64::MAX, 1 << 40),
        ("Add", 1, 1 << 53),
    ] {
        let told = problems(&of(operator, &[a], &[b]))[0].to_string();
        assert!(told.starts_with(operator) && told.contains("from 2^53 on"), "{told}");
    }
    // The smaller one of both is exact, and so is what is only moved.
    compiled(&of("Min", &[i64::MAX], &[3]));
}

#[test]
fn end_that_is_computed_with_is_still_the_end() {
    // Operator, operands, the step of the part, and which elements it has.
    type Case<'a> = (&'a str, &'a [i64], i64, &'a [f64]);
    let (forward, back): (&[f64], &[f64]) = (&[3.0, 4.0], &[3.0, 2.0, 1.0]);
    let cases: [Case<'_>; 7] = [
        ("Add", &[i64::MAX, 0], 1, forward),
        ("Add", &[3, i64::MAX], 1, forward),
        ("Sub", &[i64::MAX, 1], 1, forward),
        ("Mul", &[i64::MAX, 1], 1, forward),
        ("Mul", &[i64::MAX, -1], -1, back),
        ("Neg", &[i64::MAX], -1, back),
        ("Sub", &[1, i64::MAX], -1, back),
    ];
    for (operator, operands, step, wanted) in cases {
        let mut net = Onnx::new(3);
        let x = net.input("x", &[4]);
        let operands: Vec<String> = operands.iter().map(|&operand| net.integers(&[operand])).collect();
        let operands: Vec<&str> = operands.iter().map(String::as_str).collect();
        let end = net.node(operator, &operands, &[]);
        let (start, axis, step) = (net.integers(&[2]), net.integers(&[0]), net.integers(&[step]));
        net.node_to("Slice", &[&x, &start, &end, &axis, &step], "y", &[]);
        net.output_of_any_shape("y");
        let x = Array::list([1.0, 2.0, 3.0, 4.0]);
        let seen = execute(&device(), &compiled(&net.finish()), &[x]).unwrap();
        assert_eq!(seen[0].values(), wanted, "{operator}");
    }
}

#[test]
fn number_that_doubles_do_not_hold_is_no_end_below_2_to_the_62() {
    let mut net = Onnx::new(3);
    let (x, end, none) = (net.input("x", &[4]), net.integers(&[(1 << 53) + 1]), net.integers(&[0]));
    let end = net.node("Add", &[&end, &none], &[]);
    net.node_to("Slice", &[&x, &none, &end], "y", &[]);
    net.output("y", &[4]);
    assert!(problems(&net.finish())[0].to_string().contains("from 2^53 on"));
}
