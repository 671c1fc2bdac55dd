//! Models that are refused: each error names what is wrong, and hostile files take neither memory nor a panic.

use std::collections::BTreeMap;

use ane::model::limits::{NODES_MAX, PROBLEMS_MAX};
use ane::model::network::Array;
use ane::model::{ModelError, Options, Why, compile, execute};
use ane_tests::model::Attribute::{self, Integer, Integers, Text};
use ane_tests::model::{Onnx, bytes, mobilenet, number, sequence};

use super::{Constant, SQUARE, device, of_constants, problems, random};

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

/// Each layer is small in the file, and 512 MB here.
#[test]
fn constants_without_end_are_refused_before_they_are_made() {
    let mut net = Onnx::new(1);
    let most = net.integers(&[1 << 26]);
    for _ in 0..40 {
        net.node("ConstantOfShape", &[&most], &[]);
    }
    net.output("y", &[1]);
    let problems = problems(&net.finish());
    let refused =
        |problem: &&ane::model::Problem| problem.to_string().contains("more than 2^27 elements together");
    assert_eq!(problems.iter().filter(refused).count(), 39, "{problems:?}");
}

#[test]
fn numbers_far_beyond_their_operands_are_refused() {
    /// An operator, the list that is its second operand, its attributes, and a part of the error.
    type Case = (&'static str, Option<Vec<i64>>, Vec<(&'static str, Attribute)>, &'static str);
    let mode = |name: &'static str| vec![("mode", Text(name))];
    let same = |name, values: [i64; 2]| {
        vec![
            ("auto_pad", Text("SAME_UPPER")),
            ("kernel_shape", Integers(vec![2, 2])),
            (name, Integers(values.into())),
        ]
    };
    let far = i64::MAX;
    let cases: Vec<Case> = vec![
        ("Pad", Some(vec![0, 0, -4, 0, 0, 0, 0, 1]), mode("edge"), "has no element"),
        ("Pad", Some(vec![0, 0, -4, 0, 0, 0, 1, 0]), mode("wrap"), "has no element"),
        ("Pad", Some(vec![0, 0, -4, 0, 0, 0, 1, 0]), mode("reflect"), "has no element"),
        (
            "Split",
            None,
            vec![("num_outputs", Integer(1 << 62))],
            "it makes 4611686018427387904 parts and has 1 outputs",
        ),
        ("Split", Some(vec![0; 1000]), vec![], "it makes 1000 parts and has 1 outputs"),
        ("Unsqueeze", Some(vec![0; 1 << 16]), vec![], "has 65540 axes, of which there may be 12"),
        ("Squeeze", Some(vec![0; 1 << 16]), vec![], "has 65536 axes"),
        ("Reshape", Some(vec![1; 1 << 16]), vec![], "has 65536 axes"),
        ("Expand", Some(vec![1; 1 << 16]), vec![], "has 65536 axes"),
        ("MaxPool", None, same("dilations", [far, far]), ""),
        ("MaxPool", None, same("strides", [far, far]), ""),
        (
            "AveragePool",
            None,
            vec![("kernel_shape", Integers(vec![1 << 62; 2])), ("pads", Integers(vec![1 << 62; 4]))],
            "",
        ),
    ];
    for (operator, list, attributes, part) in cases {
        let mut net = Onnx::new(1);
        let mut operands = vec![net.input("x", &[1, 2, 4, 4])];
        operands.extend(list.map(|list| net.integers(&list)));
        let operands: Vec<&str> = operands.iter().map(String::as_str).collect();
        net.node_to(operator, &operands, "y", &attributes);
        net.output_of_any_shape("y");
        match compile(&net.finish(), &Options::default()) {
            Ok(_) => assert!(part.is_empty(), "{operator} is not refused"),
            Err(why) => {
                let told = why.to_string();
                assert!(told.contains(part) && told.len() < 1000, "{operator}: {told}");
            }
        }
    }
}

#[test]
fn whole_input_of_extents_that_no_tensor_has_is_refused() {
    for dims in [vec![1 << 40, 1 << 40], vec![1; 1000]] {
        let mut net = Onnx::new(1);
        let x = net.whole_input("x", &dims);
        net.node_to("Flatten", &[&x], "y", &[]);
        net.output_of_any_shape("y");
        let problems = problems(&net.finish());
        assert_eq!(
            (problems[0].operation.as_str(), problems[0].name.as_str()),
            ("input", "x"),
            "{problems:?}"
        );
    }
}

#[test]
fn long_texts_of_a_model_are_cut_in_reasons() {
    let mut net = Onnx::new(1);
    let x = net.input("x", &[1, 2]);
    net.node_to("Relu", &[&x], "y", &[(&"attribute".repeat(100_000), Integer(1))]);
    net.output("y", &[1, 2]);
    let told = problems(&net.finish())[0].to_string();
    assert!(told.contains("attributeattribute") && told.len() < 1000, "{} bytes", told.len());
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
fn layers_that_the_reader_and_those_that_the_engine_cannot_do_are_named_together() {
    let mut net = Onnx::new(1);
    let x = net.input("x", &[1, 1, 4, 4, 4, 4]);
    net.node("NoSuchThing", &[&x], &[]);
    let weights = net.random(&[1, 1, 2, 2, 2, 2], 1.0);
    let convolved = net.node("Conv", &[&x, &weights], &[]);
    net.node("NoSuchThing", &[&convolved], &[]);
    net.output("y", &[1]);
    let named: Vec<_> = problems(&net.finish()).into_iter().map(|problem| problem.operation).collect();
    assert_eq!(named, ["NoSuchThing", "NoSuchThing", "output", "convolution"]);
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
    for dims in [&[1_i64 << 40][..], &[1 << 20, 1 << 20, 1 << 20], &[-5], &[0, 1 << 40, 1 << 40]] {
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
fn million_nodes_are_refused_by_their_number() {
    let (mut graph, mut model) = (Vec::new(), Vec::new());
    (0..1_000_000).for_each(|_| bytes(1, &[], &mut graph));
    number(1, 8, &mut model);
    bytes(7, &graph, &mut model);
    let refused = compile(&model, &Options::default());
    assert!(matches!(refused, Err(ModelError::Nodes { count: 1_000_000 })), "{NODES_MAX} at most");
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

#[test]
fn padding_and_strides_as_long_as_addresses_are_refused() {
    let long = 1 << 62;
    let mut net = Onnx::new(5);
    let x = net.input("x", &[1, 70_000, 2, 2]);
    let weights = net.random(&[1, 70_000, 2, 1], 1.0);
    let attributes = [("strides", Integers(vec![long, 1])), ("pads", Integers(vec![long, 0, long, 0]))];
    net.node_to("Conv", &[&x, &weights], "y", &attributes);
    net.output("y", &[1, 1, 3, 2]);
    assert_eq!(problems(&net.finish())[0].name, "y");
    let mut net = Onnx::new(5);
    let x = net.input("x", &[1, 4, 2, 2]);
    net.node_to("DepthToSpace", &[&x], "y", &[("blocksize", Integer(1 << 32))]);
    net.output("y", &[]);
    assert!(problems(&net.finish())[0].why.to_string().contains("a block of 4294967296"));
}

#[test]
fn nothing_is_made_larger_by_no_resize() {
    let mut net = Onnx::new(5);
    let x = net.input("x", &[1, 1, 4, 4]);
    let (empty, none) = (net.singles(&[1, 1, 0, 4], &[]), net.singles(&[0], &[]));
    let sizes = net.integers(&[1, 1, 4, 4]);
    let large = net.node("Resize", &[&empty, "", &none, &sizes], &[]);
    net.node_to("Add", &[&x, &large], "y", &[]);
    net.output("y", &[1, 1, 4, 4]);
    assert_eq!(problems(&net.finish())[0].operation, "Resize");
}

#[test]
fn places_that_layers_pick_are_bounded_together() {
    let mut net = Onnx::new(5);
    let mut data = net.input("x", &[1 << 24]);
    let (index, update) = (net.integers(&[0]), net.singles(&[1], &[1.0]));
    let shape = net.integers(&[1, 1]);
    let index = net.node("Reshape", &[&index, &shape], &[]);
    for _ in 0..9 {
        data = net.node("ScatterND", &[&data, &index, &update], &[]);
    }
    net.node_to("Neg", &[&data], "y", &[]);
    net.output("y", &[1 << 24]);
    let problems = problems(&net.finish());
    assert_eq!(problems[0].operation, "ScatterND", "{problems:?}");
    assert!(problems[0].why.to_string().contains("constants"), "{}", problems[0].why);
}

#[test]
fn operation_that_is_not_mapped_is_named_behind_a_layer_that_is_not_there() {
    let mut net = Onnx::new(1);
    let x = net.input("x", &[2, 3]);
    let places = net.node("NoSuchThing", &[&x], &[]);
    let relu = net.node("Relu", &[&places], &[]);
    net.node_to("NeitherThis", &[&relu], "y", &[]);
    net.output("y", &[2, 3]);
    let named: Vec<_> = problems(&net.finish()).into_iter().map(|problem| problem.operation).collect();
    assert_eq!(named, ["NoSuchThing", "NeitherThis"]);
    let text = "program(1.3) { func main<ios15>(tensor<fp16, [2]> x) {
        tensor<fp16, [2]> a = no_such_thing(x = x);
        tensor<fp16, [2]> b = relu(x = a);
        tensor<fp16, [2]> y = neither_this(x = b); } -> (y); }";
    let named: Vec<_> = problems(text.as_bytes()).into_iter().map(|problem| problem.operation).collect();
    assert_eq!(named, ["no_such_thing", "neither_this"]);
}

#[test]
fn readers_of_a_constant_that_cannot_be_read_are_not_blamed() {
    let mut net = Onnx::new(1);
    let x = net.input("x", &[2]);
    let short = net.singles(&[2], &[1.0]);
    net.node_to("Add", &[&x, &short], "y", &[]);
    net.output("y", &[2]);
    let named: Vec<_> = problems(&net.finish()).into_iter().map(|problem| problem.operation).collect();
    assert_eq!(named, ["initializer"]);
}

#[test]
fn of_very_many_problems_the_first_are_told_and_none_is_made_up() {
    let mut net = Onnx::new(1);
    let x = net.input("x", &[2]);
    for layer in 0..PROBLEMS_MAX + 10 {
        net.node_to("NoSuchThing", &[&x], &format!("t{layer}"), &[]);
    }
    net.node_to("Relu", &[&x], "y", &[]);
    net.output("y", &[2]);
    let refused = compile(&net.finish(), &Options::default()).unwrap_err().to_string();
    assert!(refused.starts_with("1000 parts of the model, or more, cannot be mapped"), "{refused}");
    assert!(!refused.contains("made by no layer"), "{refused}");
}

#[test]
fn name_that_is_there_already_is_no_result() {
    let mut net = Onnx::new(1);
    let x = net.input("x", &[2]);
    net.node_to("Relu", &[&x], "y", &[]);
    net.node_to("Neg", &[&x], "y", &[]);
    net.node_to("Abs", &["y"], "x", &[]);
    net.output("y", &[2]);
    let twice = |name: &str| Why::Twice { name: name.to_owned() };
    let named: Vec<_> = problems(&net.finish()).into_iter().map(|problem| problem.why).collect();
    assert_eq!(named, [twice("y"), twice("x")]);
    let text = "program(1.3) { func main<ios15>(tensor<fp16, [2]> x) {
        tensor<fp16, [2]> y = relu(x = x);
        tensor<fp16, [2]> y = sigmoid(x = x); } -> (y); }";
    assert_eq!(problems(text.as_bytes())[0].why, twice("y"));
}

#[test]
fn shapes_that_are_others_than_the_model_says_are_told() {
    let mut net = Onnx::new(1);
    let x = net.input("x", &[2, 3]);
    net.node_to("Relu", &[&x], "y", &[]);
    net.output("y", &[9, 9, 9]);
    let model = net.finish();
    let compiled = compile(&model, &Options::default()).unwrap();
    let note = "output \"y\" has the shape [2, 3]; the model says [9, 9, 9]";
    assert!(compiled.notes.iter().any(|told| told == note), "{:?}", compiled.notes);
    let bound = |dims: Vec<usize>| {
        let array = Array::from_fn(dims, |_| 1.0).unwrap();
        let constants = BTreeMap::from([("x".to_owned(), array)]);
        compile(&model, &Options { constants, ..Options::default() })
    };
    let refused = bound(vec![2, 4]).unwrap_err().to_string();
    assert!(refused.contains("the bound array has the shape [2, 4]; the model says [2, 3]"), "{refused}");
    let text = "program(1.3) { func main<ios15>(tensor<fp16, [2]> x) {
        tensor<fp16, [3]> y = relu(x = x); } -> (y); }";
    let refused = problems(text.as_bytes())[0].to_string();
    assert!(refused.contains("result \"y\" has the shape [2]; the model says [3]"), "{refused}");
}

#[test]
fn name_of_any_length_makes_no_long_message() {
    let mut net = Onnx::new(1);
    let x = net.input("x", &[2]);
    let long = "n".repeat(1 << 20);
    net.node_to(&long, &[&x], &long, &[]);
    net.output(&long, &[2]);
    let refused = compile(&net.finish(), &Options::default()).unwrap_err().to_string();
    assert!(refused.len() < 2000 && refused.contains("(1048576 bytes in all)"), "{}", refused.len());
}

#[test]
fn whole_numbers_to_a_power_of_the_run_are_refused() {
    let mut net = Onnx::new(1);
    let (base, exponent) = (net.integers(&[1, 2, 3]), net.input("exponent", &[3]));
    net.node_to("Pow", &[&base, &exponent], "y", &[]);
    net.output("y", &[3]);
    let told = problems(&net.finish())[0].to_string();
    assert!(told.contains("\"exponent\") has to be known before the run"), "{told}");
}

#[test]
fn surfaces_of_one_name_are_refused() {
    let twice = |name: &str| Why::Twice { name: name.to_owned() };
    let mut net = Onnx::new(1);
    let x = net.input("x", &[2]);
    net.node_to("Relu", &[&x], "y", &[]);
    net.output("y", &[2]);
    net.output("y", &[2]);
    let named = problems(&net.finish());
    assert_eq!((named[0].operation.as_str(), &named[0].why), ("output", &twice("y")));
    let mut net = Onnx::new(1);
    net.input("x", &[2]);
    net.input("x", &[3]);
    net.node_to("Relu", &["x"], "y", &[]);
    net.output("y", &[2]);
    assert_eq!(problems(&net.finish())[0].why, twice("x"));
    let text = "program(1.3) { func main<ios15>(tensor<fp16, [2]> x, tensor<fp16, [2]> x) {
        tensor<fp16, [2]> y = relu(x = x); } -> (y); }";
    assert_eq!(problems(text.as_bytes())[0].why, twice("x"));
}

#[test]
fn many_names_of_one_node_make_no_more_problems_than_are_told() {
    let mut net = Onnx::new(1);
    let x = net.input("x", &[2]);
    let operator = "n".repeat(50_000);
    net.node_to_all(&operator, &[&x], &vec!["a"; 20_000], &[]);
    net.output("a", &[2]);
    let problems = problems(&net.finish());
    assert_eq!(problems.len(), PROBLEMS_MAX);
    assert!(problems.iter().all(|problem| problem.operation.len() < 200));
}

#[test]
fn open_extent_that_is_written_as_minus_one_takes_any_array() {
    let mut net = Onnx::new(1);
    let (x, other) = (net.input("x", &[2, 3]), net.input("other", &[-1, 3]));
    net.node_to("Add", &[&x, &other], "y", &[]);
    net.output("y", &[2, 3]);
    let constants = BTreeMap::from([("other".to_owned(), Array::from_fn(vec![2, 3], |_| 1.0).unwrap())]);
    compile(&net.finish(), &Options { constants, ..Options::default() }).unwrap();
}

#[test]
fn remainder_by_a_whole_number_that_is_0_is_refused() {
    let mut net = Onnx::new(1);
    let x = net.input("x", &[2]);
    let (a, b) = (net.integers(&[7, 8]), net.integers(&[3, 0]));
    let rest = net.node("Mod", &[&a, &b], &[]);
    let rest = net.node("Cast", &[&rest], &[("to", Integer(1))]);
    net.node_to("Add", &[&x, &rest], "y", &[]);
    net.output("y", &[2]);
    let told = problems(&net.finish())[0].to_string();
    assert!(told.contains("a divisor is 0"), "{told}");
}

/// Each letter beside each other one would be 2^40 comparisons.
#[test]
fn equation_of_a_million_letters_is_refused_by_its_length() {
    for equation in ["ab".repeat(500_000), format!("{}->", "ab".repeat(500_000)), ",".repeat(1_000_000)] {
        let mut net = Onnx::new(1);
        let x = net.input("x", &[2]);
        net.node_to("Einsum", &[&x], "y", &[("equation", Text(equation.leak()))]);
        net.output("y", &[2]);
        let told = problems(&net.finish())[0].to_string();
        assert!(told.contains("axes of a tensor") || told.contains("not one of 1 tensors"), "{told}");
        assert!(told.len() < 400, "{}", told.len());
    }
}

/// Each reads 2^26 elements, of which there are none here, so that nothing takes time.
#[test]
fn layers_of_little_work_each_are_refused_where_all_together_take_too_long() {
    let mut net = Onnx::new(1);
    let x = net.input("x", &[1]);
    let shape = net.integers(&[1 << 26, 0]);
    let none = net.node("ConstantOfShape", &[&shape], &[]);
    let axis = net.integers(&[0]);
    for _ in 0..70 {
        net.node("ReduceSum", &[&none, &axis], &[]);
    }
    net.node_to("Relu", &[&x], "y", &[]);
    net.output("y", &[1]);
    let problems = problems(&net.finish());
    let refused = |problem: &&ane::model::Problem| {
        problem.to_string().contains("all layers together that are computed")
    };
    let count = problems.iter().filter(refused).count();
    assert!((6..10).contains(&count) && count == problems.len(), "{problems:?}");
}

/// Tap by tap, the places that are no padding would take an hour.
#[test]
fn mean_of_a_long_window_is_refused_at_once() {
    let mut net = Onnx::new(1);
    let x = net.input("x", &[1, 1, 1 << 20]);
    let (long, half) = ((1 << 20) + 1, 1 << 19);
    let attributes = [("kernel_shape", Integers(vec![long])), ("pads", Integers(vec![half, half]))];
    net.node_to("AveragePool", &[&x], "y", &attributes);
    net.output("y", &[1, 1, 1 << 20]);
    let told = problems(&net.finish())[0].to_string();
    assert!(told.contains("tasks"), "{told}");
}
