//! Models of few bits.

use ane::model::compare::worst;
use ane::model::execute;
use ane::model::network::Array;
use ane_tests::model::Attribute::{Integer, Integers};
use ane_tests::model::Onnx;

use super::{compiled, device, difference, random};

/// A convolution between numbers of 8 bits, as exporters write it: each tensor is quantized and brought back.
fn quantized_convolution(as_one: bool) -> Vec<u8> {
    let mut model = Onnx::new(3);
    let x = model.input("x", &[1, 3, 8, 8]);
    let (scale, zero) = (model.singles(&[], &[1.0 / 128.0]), model.initializer(2, &[], &[128]));
    let weights: Vec<u8> = (0..4 * 27).map(|at: u32| (at * 37 % 251) as u8).collect();
    let weights = model.initializer(3, &[4, 3, 3, 3], &weights);
    let scales = model.singles(&[4], &[0.001, 0.002, 0.003, 0.004]);
    let zeros = model.initializer(3, &[4], &[0, 1, 255, 2]);
    let bias: Vec<u8> = [100_i32, -2000, 30_000, 0].iter().flat_map(|value| value.to_le_bytes()).collect();
    let bias = model.initializer(6, &[4], &bias);
    let (coarse, middle) = (model.singles(&[], &[0.03]), model.initializer(3, &[], &[5]));
    let pads = [("pads", Integers(vec![1; 4]))];
    let q = model.node("QuantizeLinear", &[&x, &scale, &zero], &[]);
    let made = if as_one {
        let operands = [&q, &scale, &zero, &weights, &scales, &zeros, &coarse, &middle, &bias];
        model.node("QLinearConv", &operands.map(String::as_str), &pads)
    } else {
        let x = model.node("DequantizeLinear", &[&q, &scale, &zero], &[]);
        let w = model.node("DequantizeLinear", &[&weights, &scales, &zeros], &[("axis", Integer(0))]);
        let both = model.node("Mul", &[&scale, &scales], &[]);
        let b = model.node("DequantizeLinear", &[&bias, &both], &[("axis", Integer(0))]);
        let sums = model.node("Conv", &[&x, &w, &b], &pads);
        model.node("QuantizeLinear", &[&sums, &coarse, &middle], &[])
    };
    model.node_to("DequantizeLinear", &[&made, &coarse, &middle], "y", &[]);
    model.output("y", &[1, 4, 8, 8]);
    model.finish()
}

#[test]
fn numbers_of_few_bits_are_quantized_and_brought_back() {
    for as_one in [false, true] {
        let (worst, largest) = difference(&quantized_convolution(as_one));
        // A sum that lies between two numbers may become the other one.
        assert!(largest > 1.0 && worst < 0.0301, "{worst} of {largest}");
    }
}

#[test]
fn what_no_type_holds_is_quantized_to_its_bounds() {
    let mut model = Onnx::new(6);
    let x = model.input("x", &[1, 6]);
    let (scale, zero) = (model.singles(&[], &[1.0 / 128.0]), model.initializer(3, &[], &[0xfd]));
    model.node_to("QuantizeLinear", &[&x, &scale, &zero], "y", &[]);
    model.output("y", &[1, 6]);
    // 128 times the first ones are beyond halves.
    let x = Array::new(vec![1, 6], vec![60000.0, -60000.0, f64::INFINITY, -600.0, 0.25, -0.5]);
    let x = x.expect("six elements");
    let seen = execute(&device(), &compiled(&model.finish()), &[x]).expect("a run");
    assert_eq!(seen[0].values(), [127.0, -128.0, 127.0, -128.0, 29.0, -67.0]);
}

#[test]
fn constants_of_four_bits_have_a_scale_for_each_block() {
    let mut model = Onnx::new(4);
    let x = model.input("x", &[2, 4]);
    // Two numbers in a byte, the first one below: -8 to 7 and back.
    let packed = model.initializer(22, &[4, 3], &[0x98, 0xba, 0xfe, 0x10, 0x32, 0x74]);
    let scales = model.singles(&[2, 3], &[1.0, 2.0, 4.0, 0.5, 0.25, 0.125]);
    let blocks = [("axis", Integer(0)), ("block_size", Integer(2))];
    let weights = model.node("DequantizeLinear", &[&packed, &scales], &blocks);
    model.node_to("MatMul", &[&x, &weights], "y", &[]);
    model.output("y", &[2, 3]);
    let compiled = compiled(&model.finish());
    let x = random(&[2, 4], 1);
    let seen = execute(&device(), &compiled, std::slice::from_ref(&x)).expect("a run");
    let rows = [[-8.0, -14.0, -24.0], [-5.0, -4.0, -4.0], [0.0, 0.25, 0.25], [1.5, 1.0, 0.875]];
    let product = |at: usize| (0..4).map(|k| x.values()[at / 3 * 4 + k] * rows[k][at % 3]).sum();
    let wanted = Array::from_fn(vec![2, 3], product).expect("a small array");
    assert!(worst(&seen[0], &wanted) < 0.02, "{seen:?} {wanted:?}");
}

#[test]
fn type_of_a_computed_zero_point_is_that_of_its_cast() {
    let mut model = Onnx::new(7);
    let x = model.input("x", &[3]);
    let (scale, zero) = (model.singles(&[], &[0.5]), model.integers(&[0]));
    let zero = model.node("Cast", &[&zero], &[("to", Integer(3))]);
    let bytes = model.node("QuantizeLinear", &[&x, &scale, &zero], &[]);
    model.node_to("DequantizeLinear", &[&bytes, &scale, &zero], "y", &[]);
    model.output("y", &[3]);
    let x = Array::list([-1000.0, 1000.0, 3.0]);
    let seen = execute(&device(), &compiled(&model.finish()), &[x]).unwrap();
    assert_eq!(seen[0].values(), [-64.0, 63.5, 3.0]);
}
