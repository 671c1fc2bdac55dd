//! Models whose results agree with double precision.

use ane::model::compare::{Source, compare};
use ane::model::network::Array;
use ane::model::{ModelError, Options, compile_file, execute};
use ane_tests::model::Attribute::{self, Integer, Integers, Text};
use ane_tests::model::{Onnx, bert, mobilenet, operators, sequence};

use super::{Constant, SQUARE, compiled, device, difference, of_constants, random};

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

#[test]
fn scale_offset_and_relu6_become_part_of_a_convolution() {
    let compiled = compiled(&mobilenet(32, 10));
    let names: Vec<&str> = compiled.network.nodes.iter().map(|node| node.operation.name()).collect();
    assert!(!names.contains(&"multiply"), "batch norm is part of the convolutions: {names:?}");
    let convolutions = names.iter().filter(|name| **name == "convolution").count();
    // One task each: compilers' convolutions of this size are.
    let steps = compiled.steps.iter().filter(|step| names[step.node] == "convolution");
    assert!(steps.clone().count() == convolutions && steps.clone().all(|step| step.tasks.len() == 1));
    assert!(!names.contains(&"clip"), "so is ReLU6: {names:?}");
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

#[test]
fn output_may_have_the_name_of_an_input() {
    let mut net = Onnx::new(1);
    let x = net.input("x", &[2]);
    net.node_to("Neg", &[&x], "y", &[]);
    net.output("y", &[2]);
    net.output("x", &[2]);
    let compiled = compiled(&net.finish());
    let file = compiled.to_anec().unwrap();
    let program = ane::container::open(&file).unwrap();
    assert!(program.warnings.is_empty(), "{:?}", program.warnings);
    let names: Vec<_> = program.surfaces.iter().map(|surface| surface.name.as_ref()).collect();
    assert_eq!(names, ["y", "x", "x"]);
    let seen = execute(&device(), &compiled, &[Array::list([1.0, -2.0])]).unwrap();
    assert_eq!((seen[0].values(), seen[1].values()), (&[-1.0, 2.0][..], &[1.0, -2.0][..]));
}

/// More layers than a program has surfaces, and one with more operands: the layers run in parts.
#[test]
fn comparison_has_each_layer_of_a_deep_model_once() {
    const LAYERS: usize = 150;
    let mut net = Onnx::new(3);
    let x = net.input("x", &[1, 4]);
    let mut results = vec![x.clone()];
    for _ in 0..LAYERS {
        let last = results.last().cloned().unwrap_or_default();
        let mapped = net.node("Sigmoid", &[&last], &[]);
        results.push(net.node("Add", &[&mapped, &x], &[]));
    }
    let all: Vec<&str> = results.iter().map(String::as_str).collect();
    net.node_to("Concat", &all, "y", &[("axis", Integer(1))]);
    net.output("y", &[1, 4 * (LAYERS as i64 + 1)]);
    let compiled = compiled(&net.finish());
    let inputs = [random(&[1, 4], 3)];
    let layers = compare(&device(), &compiled, &inputs).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(layers.len(), 2 * LAYERS + 1);
    assert!(layers.iter().all(|layer| layer.own <= 0.004 && layer.so_far <= 0.01), "{layers:?}");
    let last = layers.last().unwrap();
    assert_eq!((last.source, last.own), (Source::Exact, 0.0), "operands are moved");
    // The last layer is that of the whole program.
    let whole = execute(&device(), &compiled, &inputs).unwrap_or_else(|error| panic!("{error}"));
    let largest = whole[0].values().iter().fold(0.0, |largest: f64, value| value.abs().max(largest));
    assert!(last.largest > 0.5 && (last.largest - largest).abs() <= last.so_far);
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
        (12, 4, 4, 3, 1, 1, 1),
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
        (&[("location", "link")], "leads out of the folder"),
        (&[], "does not lie in the model's folder"),
    ] {
        std::fs::write(&path, model(entries)).expect("a file");
        let Err(ModelError::Problems(problems)) = compile_file(&path, &Options::default()) else {
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
fn convolution_and_a_number_of_more_axes_keep_these_axes() {
    for operator in ["Add", "Mul"] {
        let mut net = Onnx::new(5);
        let x = net.input("x", &[1, 3, 4, 4]);
        let (weights, number) = (net.random(&[8, 3, 1, 1], 0.5), net.singles(&[1; 5], &[0.5]));
        let convolved = net.node("Conv", &[&x, &weights], &[]);
        net.node_to(operator, &[&convolved, &number], "y", &[]);
        net.output("y", &[1, 1, 8, 4, 4]);
        let model = net.finish();
        assert_eq!(compiled(&model).outputs[0].dims, [1, 1, 8, 4, 4], "{operator}");
        let (worst, largest) = difference(&model);
        assert!(largest > 0.1 && worst < 0.003, "{operator}: {worst} of {largest}");
    }
}

#[test]
fn norm_of_a_last_window_that_is_not_full_has_no_more_than_its_elements() {
    let mut net = Onnx::new(5);
    let x = net.input("x", &[1, 1, 1, 5]);
    let (kernel, strides) = (Integers(vec![1, 2]), Integers(vec![1, 2]));
    let attributes = [("kernel_shape", kernel), ("strides", strides), ("ceil_mode", Integer(1))];
    net.node_to("LpPool", &[&x], "y", &attributes);
    net.output("y", &[1, 1, 1, 3]);
    let x = Array::new(vec![1, 1, 1, 5], vec![3.0, 4.0, 0.0, 2.0, 5.0]).unwrap();
    let seen = execute(&device(), &compiled(&net.finish()), &[x]).unwrap_or_else(|error| panic!("{error}"));
    for (seen, wanted) in seen[0].values().iter().zip([5.0, 2.0, 5.0]) {
        assert!((seen - wanted).abs() < 0.02, "{seen}, {wanted}");
    }
}

#[test]
fn word_for_padding_that_is_empty_leaves_the_given_padding() {
    let of = |word: &'static str| {
        let mut net = Onnx::new(1);
        let x = net.input("x", &[1, 1, 4, 4]);
        let kernel = ("kernel_shape", Integers(vec![2, 2]));
        let pads = ("pads", Integers(vec![1, 0, 0, 1]));
        net.node_to("MaxPool", &[&x], "y", &[kernel, pads, ("auto_pad", Text(word))]);
        net.output("y", &[1, 1, 4, 4]);
        compiled(&net.finish()).network.nodes
    };
    let operations = |word| of(word).into_iter().map(|node| node.operation).collect::<Vec<_>>();
    assert_eq!(operations(""), operations("NOTSET"));
}
