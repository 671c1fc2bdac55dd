//! Models: compiled, run on the embedded device, and held against double precision; and hostile ones, which are refused.

use std::collections::BTreeMap;

use ane::device::{Device, Location};
use ane::model::compare::{Source, compare, worst};
use ane::model::limits::NODES_MAX;
use ane::model::network::evaluate::evaluate;
use ane::model::network::{Array, Network};
use ane::model::{Compiled, Error, Options, Why, compile, compile_file, execute};
use ane_tests::model::Attribute::{self, Integer, Integers, Text};
use ane_tests::model::{Onnx, bert, bytes, mobilenet, number, operators, sequence};
use ane_tests::random::Random;

fn device() -> Device {
    Device::open(&Location::Embedded, &ane_device::Options::default()).expect("an embedded device")
}

fn compiled(model: &[u8]) -> Compiled {
    compile(model, &Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Values between -1 and 1, the same for each seed.
fn random(dims: &[usize], seed: u64) -> Array {
    let mut random = Random::new(seed);
    let array = Array::from_fn(dims.to_vec(), |_| half::f16::from_f32(random.unit()).to_f64());
    array.expect("a test's extents are small")
}

/// The network's results in double precision.
fn exact(network: &Network, inputs: &[Array]) -> Vec<Array> {
    let mut values: Vec<Option<Array>> = network.values.iter().map(|value| value.constant.clone()).collect();
    for ((_, value), array) in network.inputs.iter().zip(inputs) {
        values[*value] = Some(array.clone());
    }
    for node in &network.nodes {
        let operands: Vec<&Array> = node.inputs.iter().filter_map(|&input| values[input].as_ref()).collect();
        let result =
            evaluate(&node.operation, &operands).unwrap_or_else(|fault| panic!("{}: {fault}", node.name));
        values[node.output] = Some(result);
    }
    network.outputs.iter().map(|(_, value)| values[*value].clone().expect("a result")).collect()
}

/// The largest difference of a model's results, and the largest element.
fn difference(model: &[u8]) -> (f64, f64) {
    let compiled = compiled(model);
    let inputs: Vec<Array> =
        (1..).zip(&compiled.inputs).map(|(seed, port)| random(&port.dims, seed)).collect();
    let seen = execute(&device(), &compiled, &inputs).unwrap_or_else(|error| panic!("{error}"));
    let wanted = exact(&compiled.network, &inputs);
    let worst = seen.iter().zip(&wanted).map(|(seen, wanted)| worst(seen, wanted)).fold(0.0, f64::max);
    let largest = wanted
        .iter()
        .flat_map(|array| array.values())
        .fold(0.0_f64, |largest, value| largest.max(value.abs()));
    (worst, largest)
}

#[test]
fn mobilenet_with_random_weights_agrees_with_double_precision() {
    let (worst, largest) = difference(&mobilenet(64, 100));
    assert!(largest > 0.1, "the network says something: {largest}");
    assert!(worst < 0.02 * largest, "{worst} of {largest}");
}

#[test]
fn encoder_with_random_weights_agrees_with_double_precision() {
    let (worst, largest) = difference(&bert(32, 64, 2, 2));
    assert!(largest > 1.0, "layer norm has a deviation of one: {largest}");
    assert!(worst < 0.03 * largest, "{worst} of {largest}");
}

#[test]
fn operators_that_move_resize_and_compare_agree_with_double_precision() {
    let (worst, largest) = difference(&operators());
    assert!(worst < 0.02 * largest, "{worst} of {largest}");
}

#[test]
fn layers_over_a_sequence_agree_with_double_precision() {
    let (worst, largest) = difference(&sequence());
    assert!(largest > 0.1 && worst < 0.02 * largest, "{worst} of {largest}");
}

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
fn type_of_a_computed_zero_point_is_asked_for() {
    let mut model = Onnx::new(7);
    let x = model.input("x", &[1, 6]);
    let (scale, zero) = (model.singles(&[], &[0.5]), model.integers(&[0]));
    let zero = model.node("Cast", &[&zero], &[("to", Integer(3))]);
    model.node_to("QuantizeLinear", &[&x, &scale, &zero], "y", &[]);
    model.output("y", &[1, 6]);
    let problems = problems(&model.finish());
    assert!(problems[0].to_string().contains("type of its zero point"), "{}", problems[0]);
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
fn attention_with_past_keys_and_no_past_values_is_refused() {
    let mut net = Onnx::new(5);
    let x = net.input("x", &[1, 2, 3, 4]);
    let past = net.random(&[1, 2, 2, 4], 1.0);
    net.node_to("Attention", &[&x, &x, &x, "", &past], "y", &[]);
    net.output("y", &[1, 2, 3, 4]);
    let told = compile(&net.finish(), &Options::default()).unwrap_err().to_string();
    assert!(told.contains("past keys and past values come together"), "{told}");
}

#[test]
fn layer_whose_first_state_has_no_axes_is_refused() {
    let mut net = Onnx::new(5);
    let x = net.input("x", &[2, 1, 3]);
    let weights = [net.random(&[1, 2, 3], 1.0), net.random(&[1, 2, 2], 1.0)];
    let state = net.singles(&[], &[0.5]);
    net.node_to("RNN", &[&x, &weights[0], &weights[1], "", "", &state], "y", &[]);
    net.output("y", &[]);
    let told = compile(&net.finish(), &Options::default()).unwrap_err().to_string();
    assert!(told.contains("an operand of 0 axes is too small"), "{told}");
}

#[test]
fn scale_offset_and_relu_become_part_of_a_convolution() {
    let compiled = compiled(&mobilenet(32, 10));
    let names: Vec<&str> = compiled.network.nodes.iter().map(|node| node.operation.name()).collect();
    assert!(!names.contains(&"multiply"), "batch norm is part of the convolutions: {names:?}");
    let convolutions = names.iter().filter(|name| **name == "convolution").count();
    // One task each: compilers' convolutions of this size are.
    let steps = compiled.steps.iter().filter(|step| names[step.node] == "convolution");
    assert!(steps.clone().count() == convolutions && steps.clone().all(|step| step.tasks.len() == 1));
    // Of ReLU6 the convolution has the lower bound, and the planar engine the upper one.
    let mut clips = compiled.steps.iter().filter(|step| names[step.node] == "clip").peekable();
    assert!(clips.peek().is_some() && clips.all(|step| step.tasks.len() == 1));
}

#[test]
fn comparison_says_where_differences_come_from() {
    let mut net = Onnx::new(7);
    let x = net.input("x", &[1, 16, 8, 8]);
    let weights = net.random(&[16, 16, 3, 3], 0.1);
    let convolved = net.node("Conv", &[&x, &weights], &[("pads", Integers(vec![1; 4]))]);
    let largest = net.node(
        "MaxPool",
        &[&convolved],
        &[("kernel_shape", Integers(vec![2, 2])), ("strides", Integers(vec![2, 2]))],
    );
    net.node_to("Sigmoid", &[&largest], "y", &[]);
    net.output("y", &[1, 16, 4, 4]);
    let compiled = compiled(&net.finish());
    let inputs = [random(&[1, 16, 8, 8], 3)];
    let layers = compare(&device(), &compiled, &inputs).unwrap_or_else(|error| panic!("{error}"));
    let sources: Vec<_> = layers.iter().map(|layer| (layer.operation, layer.source)).collect();
    assert!(matches!(sources[0], ("convolution", Source::Store | Source::Accumulator)), "{sources:?}");
    assert_eq!(sources[1], ("largest in a window", Source::Exact));
    assert_eq!(sources[2], ("sigmoid", Source::Table));
    assert!(layers.iter().all(|layer| layer.own <= 0.004 && layer.so_far <= 0.01), "{layers:?}");
}

/// Small models of one operator over odd shapes, each against double precision.
#[test]
fn operators_over_shapes_that_fit_nothing_agree() {
    type Attributes = Vec<(&'static str, Attribute)>;
    let cases: Vec<(&str, &[i64], Attributes)> = vec![
        ("Transpose", &[3, 5, 2, 7], vec![("perm", Integers(vec![2, 0, 3, 1]))]),
        ("Transpose", &[2, 3, 4, 5, 6], vec![("perm", Integers(vec![4, 1, 0, 3, 2]))]),
        ("Flatten", &[2, 3, 5, 7], vec![("axis", Integer(1))]),
        ("Softmax", &[3, 9, 33], vec![("axis", Integer(1))]),
        ("Softmax", &[2, 70], vec![("axis", Integer(-1))]),
        ("GlobalAveragePool", &[2, 5, 7, 9], vec![]),
        (
            "MaxPool",
            &[1, 3, 9, 35],
            vec![("kernel_shape", Integers(vec![3, 2])), ("pads", Integers(vec![1, 0, 1, 1]))],
        ),
        (
            "AveragePool",
            &[2, 3, 11, 10],
            vec![
                ("kernel_shape", Integers(vec![3, 3])),
                ("strides", Integers(vec![2, 2])),
                ("pads", Integers(vec![1; 4])),
            ],
        ),
        ("DepthToSpace", &[1, 8, 3, 5], vec![("blocksize", Integer(2)), ("mode", Text("CRD"))]),
        ("SpaceToDepth", &[1, 2, 6, 10], vec![("blocksize", Integer(2))]),
        ("Abs", &[1], vec![]),
        ("Neg", &[2, 1, 3, 1, 2], vec![]),
    ];
    for (operator, dims, attributes) in cases {
        let mut net = Onnx::new(3);
        let x = net.input("x", dims);
        net.node_to(operator, &[&x], "y", &attributes);
        net.output("y", dims);
        let (worst, largest) = difference(&net.finish());
        assert!(worst <= 0.004 * largest.max(1.0), "{operator} of {dims:?}: {worst} of {largest}");
    }
}

#[test]
fn convolutions_of_every_kind_agree() {
    // Inputs, outputs, groups, kernel, stride, dilation, padding.
    let kinds = [
        (6, 9, 3, 3, 1, 1, 1),
        (4, 4, 4, 3, 2, 1, 1),
        (4, 8, 4, 5, 1, 1, 2),
        (3, 5, 1, 3, 1, 4, 4),
        (3, 5, 1, 2, 5, 1, 0),
        (2, 3, 1, 1, 1, 1, 3),
        (8, 8, 2, 7, 3, 1, 3),
    ];
    for (inputs, outputs, groups, kernel, stride, dilation, padding) in kinds {
        for operator in ["Conv", "ConvTranspose"] {
            let mut net = Onnx::new(5);
            let x = net.input("x", &[2, inputs, 13, 17]);
            let shape = if operator == "Conv" {
                [outputs, inputs / groups, kernel, kernel]
            } else {
                [inputs, outputs / groups, kernel, kernel]
            };
            let (weights, bias) = (net.random(&shape, 0.3), net.random(&[outputs], 1.0));
            let attributes = [
                ("strides", Integers(vec![stride; 2])),
                ("dilations", Integers(vec![dilation; 2])),
                ("pads", Integers(vec![padding; 4])),
                ("group", Integer(groups)),
            ];
            net.node_to(operator, &[&x, &weights, &bias], "y", &attributes);
            net.output("y", &[1]);
            let (worst, largest) = difference(&net.finish());
            assert!(
                worst <= 0.003 * largest.max(1.0),
                "{operator} {:?}: {worst} of {largest}",
                (inputs, outputs, groups, kernel, stride, dilation, padding)
            );
        }
    }
}

#[test]
fn groups_of_a_convolution_are_one_task() {
    let mut net = Onnx::new(5);
    let x = net.input("x", &[1, 12, 9, 9]);
    let weights = net.random(&[24, 3, 3, 3], 0.3);
    net.node_to("Conv", &[&x, &weights], "y", &[("pads", Integers(vec![1; 4])), ("group", Integer(4))]);
    net.output("y", &[1, 24, 9, 9]);
    let model = net.finish();
    assert_eq!(compiled(&model).built.task_count(), 1);
    let (worst, largest) = difference(&model);
    assert!(worst <= 0.003 * largest.max(1.0), "{worst} of {largest}");
}

fn problems(model: &[u8]) -> Vec<ane::model::Problem> {
    match compile(model, &Options::default()) {
        Err(Error::Problems(problems)) => problems,
        other => panic!("not refused so: {other:?}"),
    }
}

/// Extents and numbers.
type Constant<'a> = (&'a [i64], &'a [i64]);

/// A model that adds to its operand what an operator makes of constants.
fn of_constants(
    operator: &str,
    constants: &[Constant<'_>],
    attributes: &[(&str, Attribute)],
    dims: &[i64],
) -> Vec<u8> {
    let mut net = Onnx::new(1);
    let x = net.input("x", dims);
    let mut operands = Vec::new();
    for (i, (extents, numbers)) in constants.iter().enumerate() {
        let (list, shape) = (net.integers(numbers), net.integers(extents));
        operands.push(format!("constant{i}"));
        net.node_to("Reshape", &[&list, &shape], &operands[i], &[]);
    }
    let names: Vec<&str> = operands.iter().map(String::as_str).collect();
    net.node_to(operator, &names, "made", attributes);
    net.node_to("Cast", &["made"], "cast", &[("to", Integer(1))]);
    net.node_to("Add", &[&x, "cast"], "y", &[]);
    net.output("y", dims);
    net.finish()
}

const SQUARE: Constant<'_> = (&[2, 2], &[1, 2, 3, 4]);

#[test]
fn elements_of_constants_are_picked_and_put_where_indices_say() {
    let makes = |operator, constants: &[Constant<'_>], attributes: &[_], dims: &[i64], wanted: &[f64]| {
        let compiled = compiled(&of_constants(operator, constants, attributes, dims));
        let zeros = Array::from_fn(compiled.inputs[0].dims.clone(), |_| 0.0).unwrap();
        let seen = execute(&device(), &compiled, &[zeros]).unwrap();
        assert_eq!(seen[0].values(), wanted, "{operator}");
    };
    let (eight, nine): (Constant<'_>, Constant<'_>) = ((&[8], &[1, 2, 3, 4, 5, 6, 7, 8]), (&[3, 3], &[0; 9]));
    let indices: Constant<'_> = (&[2, 2], &[0, 0, -1, 0]);
    makes("GatherElements", &[SQUARE, indices], &[("axis", Integer(1))], &[2, 2], &[1.0, 1.0, 4.0, 3.0]);
    makes("GatherND", &[SQUARE, (&[2, 2], &[0, 0, 1, 1])], &[], &[2], &[1.0, 4.0]);
    makes("GatherND", &[SQUARE, (&[2, 1], &[1, 0])], &[], &[2, 2], &[3.0, 4.0, 1.0, 2.0]);
    let (indices, updates): (Constant<'_>, Constant<'_>) =
        ((&[2, 3], &[1, 0, 2, 0, 2, 1]), (&[2, 3], &[1, 2, 3, 4, 5, 6]));
    let wanted = [4.0, 2.0, 0.0, 1.0, 0.0, 6.0, 0.0, 5.0, 3.0];
    makes("ScatterElements", &[nine, indices, updates], &[], &[3, 3], &wanted);
    let (indices, updates): (Constant<'_>, Constant<'_>) =
        ((&[4, 1], &[4, 3, 1, 7]), (&[4], &[9, 10, 11, 12]));
    let wanted = [1.0, 11.0, 3.0, 10.0, 9.0, 6.0, 7.0, 12.0];
    makes("ScatterND", &[eight, indices, updates], &[], &[8], &wanted);
    let (indices, updates): (Constant<'_>, Constant<'_>) = ((&[2, 1], &[1, 1]), (&[2, 2], &[5, 6, 7, 8]));
    let adding = [("reduction", Text("add"))];
    makes("ScatterND", &[SQUARE, indices, updates], &adding, &[2, 2], &[1.0, 2.0, 15.0, 18.0]);
}

#[test]
fn indices_beyond_constants_are_refused() {
    let one: Constant<'_> = (&[1, 1], &[0]);
    let refused = |operator, constants: &[Constant<'_>]| {
        let problems = problems(&of_constants(operator, constants, &[], &[2, 2]));
        assert_eq!(problems[0].operation, operator, "{problems:?}");
    };
    refused("GatherElements", &[SQUARE, (&[2, 2], &[0, 0, 2, 0])]);
    refused("GatherElements", &[SQUARE, (&[1, 3], &[0, 0, 0])]);
    refused("GatherElements", &[SQUARE, (&[2], &[0, 0])]);
    refused("GatherND", &[SQUARE, (&[1, 2], &[0, -3])]);
    refused("GatherND", &[SQUARE, (&[1, 3], &[0, 0, 0])]);
    refused("ScatterND", &[SQUARE, (&[1, 1], &[i64::MIN]), (&[1, 2], &[0, 0])]);
    refused("ScatterND", &[SQUARE, one, (&[2, 2], &[0; 4])]);
    refused("ScatterElements", &[SQUARE, (&[1, 1], &[i64::MAX]), one]);
}

#[test]
fn kernels_that_no_tensor_has_room_for_are_refused() {
    let settings: [(&str, &[i64]); 7] = [
        ("dilations", &[383, 383]),
        ("dilations", &[i64::MAX, 1]),
        ("strides", &[1 << 40, 1]),
        ("pads", &[i64::MIN, 0, 0, 0]),
        ("output_padding", &[i64::MAX, 0]),
        ("output_shape", &[i64::MAX, i64::MAX]),
        ("output_shape", &[i64::MIN, 1]),
    ];
    for (name, values) in settings {
        let mut net = Onnx::new(5);
        let x = net.input("x", &[1, 82, 8, 8]);
        let weights = net.random(&[82, 3, 3, 3], 0.3);
        net.node_to("ConvTranspose", &[&x, &weights], "y", &[(name, Integers(values.to_vec()))]);
        net.output("y", &[1]);
        let problems = problems(&net.finish());
        assert_eq!(problems[0].name, "y", "{name} {values:?}: {problems:?}");
    }
    // A shape for fewer axes than the kernel moves along says nothing.
    let mut net = Onnx::new(5);
    let x = net.input("x", &[1, 2, 8, 8]);
    let weights = net.random(&[2, 3, 3, 3], 0.3);
    net.node_to("ConvTranspose", &[&x, &weights], "y", &[("output_shape", Integers(vec![9]))]);
    net.output("y", &[1]);
    compile(&net.finish(), &Options::default()).unwrap();
}

#[test]
fn everything_that_cannot_be_mapped_is_named_at_once() {
    let mut net = Onnx::new(1);
    let x = net.input("x", &[2, 3]);
    let whole = net.node("Floor", &[&x], &[]);
    let sorted = net.node("TopK", &[&whole, &whole], &[]);
    net.node("NoSuchThing", &[&x], &[]);
    net.node_to("Add", &[&sorted, &x], "y", &[]);
    net.output("y", &[2, 3]);
    let named: Vec<_> = problems(&net.finish())
        .into_iter()
        .map(|problem| (problem.operation, problem.shapes, problem.why))
        .collect();
    let dims = vec![2, 3];
    let expected = [
        ("TopK".to_owned(), vec![dims.clone(); 2], Why::Operation),
        ("NoSuchThing".to_owned(), vec![dims], Why::Operation),
    ];
    assert_eq!(named, expected);
}

#[test]
fn shape_of_the_run_is_asked_for_and_bound() {
    let mut net = Onnx::new(1);
    let x = net.input("x", &[2, 6]);
    let shape = net.input("shape", &[2]);
    net.node_to("Reshape", &[&x, &shape], "y", &[]);
    net.output("y", &[3, 4]);
    let model = net.finish();
    let named = problems(&model);
    assert_eq!(named[0].why, Why::NotKnown { operand: 1, name: "shape".to_owned() });
    let constants = BTreeMap::from([("shape".to_owned(), Array::list([3.0, 4.0]))]);
    let options = Options { constants, ..Options::default() };
    let compiled = compile(&model, &options).unwrap_or_else(|error| panic!("{error}"));
    let x = random(&[2, 6], 1);
    let seen =
        execute(&device(), &compiled, std::slice::from_ref(&x)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(seen[0].values(), x.values(), "a reshape changes no number");
    assert_eq!(seen[0].dims(), [3, 4]);
}

#[test]
fn circle_and_operand_from_nowhere_are_named() {
    let mut net = Onnx::new(1);
    let x = net.input("x", &[4]);
    net.node_to("Add", &[&x, "b"], "a", &[]);
    net.node_to("Add", &["a", &x], "b", &[]);
    net.output("b", &[4]);
    assert_eq!(problems(&net.finish())[0].why, Why::NotMade { name: "b".to_owned() });
}

#[test]
fn enormous_extents_are_refused_before_memory_is_taken() {
    for dims in [&[1_i64 << 40][..], &[1 << 20, 1 << 20, 1 << 20], &[-5], &[0, 4]] {
        let mut net = Onnx::new(1);
        let x = net.input("x", dims);
        net.node_to("Relu", &[&x], "y", &[]);
        net.output("y", dims);
        let named = problems(&net.finish());
        assert_eq!((named[0].operation.as_str(), named[0].name.as_str()), ("input", "x"), "{dims:?}");
    }
    let mut net = Onnx::new(1);
    let shape = net.integers(&[1 << 20, 1 << 20]);
    net.node_to("ConstantOfShape", &[&shape], "y", &[]);
    net.output("y", &[1]);
    assert_eq!(problems(&net.finish())[0].operation, "ConstantOfShape");
}

#[test]
fn tensor_in_another_file_is_read_from_the_model_s_folder() {
    let model = |entries: &[(&str, &str)]| {
        let mut net = Onnx::new(1);
        let x = net.input("x", &[2]);
        let weights = net.external(&[2], entries);
        net.node_to("Add", &[&x, &weights], "y", &[]);
        net.output("y", &[2]);
        net.finish()
    };
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = temporary.path().join("model");
    std::fs::create_dir(&folder).expect("a folder");
    let weights: Vec<u8> = [7.0_f32, 1.5, -2.0].iter().flat_map(|value| value.to_le_bytes()).collect();
    std::fs::write(folder.join("weights"), &weights).expect("a file");
    std::fs::write(temporary.path().join("secret"), &weights).expect("a file");
    std::os::unix::fs::symlink("../secret", folder.join("link")).expect("a link");
    let path = folder.join("model.onnx");
    std::fs::write(&path, model(&[("location", "weights"), ("offset", "4"), ("length", "8")]))
        .expect("a file");
    let compiled = compile_file(&path, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    let x = Array::list([1.0, 1.0]);
    let seen = execute(&device(), &compiled, &[x]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(seen[0].values(), [2.5, -1.0]);
    for (entries, reason) in [
        (&[("location", "weights"), ("offset", "8")][..], "which has 12"),
        (&[("location", "weights"), ("offset", "18446744073709551615"), ("length", "8")], "which has 12"),
        (&[("location", "weights"), ("length", "12")], "are not the 8"),
        (&[("location", "../secret")], "does not lie in the model's folder"),
        (&[("location", "/etc/passwd")], "does not lie in the model's folder"),
        (&[("location", "link")], "leads out of the model's folder"),
        (&[], "does not lie in the model's folder"),
    ] {
        std::fs::write(&path, model(entries)).expect("a file");
        let Err(Error::Problems(problems)) = compile_file(&path, &Options::default()) else {
            panic!("{entries:?} is not refused")
        };
        assert_eq!((problems[0].operation.as_str(), problems[0].name.as_str()), ("initializer", "c1"));
        assert!(problems[0].why.to_string().contains(reason), "{entries:?}: {}", problems[0].why);
    }
}

#[test]
fn each_matrix_of_a_batch_multiplies_its_own_rows() {
    // The columns of the operand are the batch when the product is laid out.
    let mut net = Onnx::new(11);
    let x = net.input("x", &[1, 2, 8, 9]);
    let turned = net.node("Transpose", &[&x], &[("perm", Integers(vec![0, 2, 1, 3]))]);
    let matrices = net.random(&[1, 8, 9, 5], 0.5);
    net.node_to("MatMul", &[&turned, &matrices], "y", &[]);
    net.output("y", &[1, 8, 2, 5]);
    let (worst, largest) = difference(&net.finish());
    assert!(worst <= 0.004 * largest, "{worst} of {largest}");
}

#[test]
fn step_beyond_everything_takes_the_first_element() {
    let mut net = Onnx::new(3);
    let x = net.input("x", &[1, 4, 6, 6]);
    let numbers = [1, i64::MAX, 2, i64::MAX].map(|number| net.integers(&[number]));
    let [starts, ends, axes, steps] = &numbers;
    net.node_to("Slice", &[&x, starts, ends, axes, steps], "y", &[]);
    net.output("y", &[]);
    assert_eq!(difference(&net.finish()).0, 0.0);
}

#[test]
fn million_nodes_are_refused_by_their_number() {
    let (mut graph, mut model) = (Vec::new(), Vec::new());
    (0..1_000_000).for_each(|_| bytes(1, &[], &mut graph));
    number(1, 8, &mut model);
    bytes(7, &graph, &mut model);
    let refused = compile(&model, &Options::default());
    assert!(matches!(refused, Err(Error::Nodes { count: 1_000_000 })), "{NODES_MAX} at most");
}

#[test]
fn model_cut_off_or_altered_anywhere_never_panics() {
    let model = mobilenet(32, 4);
    for end in (0..model.len()).step_by(model.len() / 300) {
        let _ = compile(&model[..end], &Options::default());
    }
    let mut small = Onnx::new(9);
    let x = small.input("x", &[1, 2, 4, 4]);
    let weights = small.random(&[2, 2, 3, 3], 1.0);
    let y = small.node("Conv", &[&x, &weights], &[("pads", Integers(vec![1; 4]))]);
    small.node_to("Softmax", &[&y], "y", &[("axis", Integer(1))]);
    small.output("y", &[1, 2, 4, 4]);
    let small = small.finish();
    for at in 0..small.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut altered = small.clone();
            altered[at] = value;
            let _ = compile(&altered, &Options::default());
        }
    }
    let sequence = sequence();
    for at in (0..sequence.len()).step_by(37) {
        let mut altered = sequence.clone();
        altered[at] = if at % 2 == 0 { 0xff } else { 1 };
        let _ = compile(&altered, &Options::default());
    }
}
