//! Operators that the standard does not have so: attributes of another type, words that mean nothing, and operands that contradict
//! each other.

use ane::model::{Options, compile};
use ane_tests::model::Attribute::{self, Integer, Integers, Single, Text};
use ane_tests::model::Onnx;

use super::{Constant, of_constants, problems};

#[test]
fn attribute_of_another_type_is_refused_with_both_types() {
    let cases = [
        (
            "LeakyRelu",
            ("alpha", Integer(1)),
            "\"alpha\" is a whole number (INT); this operator takes a single",
        ),
        ("Gelu", ("approximate", Integer(1)), "takes a text (STRING)"),
        ("Transpose", ("perm", Integer(0)), "takes a list of whole numbers (INTS)"),
        ("Flatten", ("axis", Single(1.0)), "is a single (FLOAT); this operator takes a whole number (INT)"),
    ];
    for (operator, attribute, part) in cases {
        refused_with(operator, &[2, 3], &[attribute], part);
    }
}

/// Asserts that the error about an operator on `x` has this part.
fn refused_with(operator: &str, dims: &[i64], attributes: &[(&str, Attribute)], part: &str) {
    refused_beside(operator, dims, &[], attributes, part);
}

/// The same, with lists of whole numbers as the operands behind `x`.
fn refused_beside(
    operator: &str,
    dims: &[i64],
    lists: &[&[i64]],
    attributes: &[(&str, Attribute)],
    part: &str,
) {
    let mut net = Onnx::new(1);
    let mut operands = vec![net.input("x", dims)];
    operands.extend(lists.iter().map(|list| net.integers(list)));
    let operands: Vec<&str> = operands.iter().map(String::as_str).collect();
    net.node_to(operator, &operands, "y", attributes);
    net.output_of_any_shape("y");
    let problems = problems(&net.finish());
    let told = problems[0].to_string();
    assert!(told.starts_with(operator) && told.contains(part), "{told}");
}

#[test]
fn words_that_the_standard_does_not_have_are_refused() {
    let window = |auto_pad| vec![("kernel_shape", Integers(vec![2, 2])), ("auto_pad", Text(auto_pad))];
    refused_with("MaxPool", &[1, 4, 4, 4], &window("SAME"), "\"SAME\" is not NOTSET");
    refused_with("Gelu", &[2], &[("approximate", Text("Tanh"))], "\"Tanh\" is not none or tanh");
    let block = |mode| vec![("blocksize", Integer(2)), ("mode", Text(mode))];
    refused_with("DepthToSpace", &[1, 4, 4, 4], &block("crd"), "\"crd\" is not DCR or CRD");
    refused_with("SpaceToDepth", &[1, 4, 4, 4], &block("crd"), "\"crd\" is not DCR or CRD");
    refused_with("LpNormalization", &[2, 2], &[("p", Integer(3))], "p of 3 is not 1 or 2");
    refused_beside("Pad", &[4], &[&[2, 2]], &[("mode", Text("symmetric"))], "\"symmetric\" is not constant");
}

#[test]
fn padding_beside_the_word_that_there_is_none_is_refused() {
    let valid = |pads: i64| {
        vec![
            ("kernel_shape", Integers(vec![2, 2])),
            ("auto_pad", Text("VALID")),
            ("pads", Integers(vec![pads; 4])),
        ]
    };
    refused_with("MaxPool", &[1, 1, 4, 4], &valid(1), "beside auto_pad VALID");
    let mut net = Onnx::new(1);
    let x = net.input("x", &[1, 1, 4, 4]);
    net.node_to("MaxPool", &[&x], "y", &valid(0));
    net.output("y", &[1, 1, 3, 3]);
    compile(&net.finish(), &Options::default()).unwrap();
}

#[test]
fn parts_that_are_not_the_whole_are_refused() {
    let told = |opset, list: Option<&[i64]>, parts: usize| {
        let mut net = Onnx::new(1).of_opset(opset);
        let mut operands = vec![net.input("x", &[6])];
        operands.extend(list.map(|list| net.integers(list)));
        let operands: Vec<&str> = operands.iter().map(String::as_str).collect();
        let names: Vec<String> = (0..parts).map(|part| format!("y{part}")).collect();
        let results: Vec<&str> = names.iter().map(String::as_str).collect();
        net.node_to_all("Split", &operands, &results, &[]);
        net.output_of_any_shape("y0");
        compile(&net.finish(), &Options::default()).map_err(|why| why.to_string())
    };
    let short = told(18, Some(&[2, 3]), 2).unwrap_err();
    assert!(short.contains("the parts have 5 elements, and axis 0 has 6"), "{short}");
    let long = told(18, Some(&[i64::MAX, 7]), 2).unwrap_err();
    assert!(long.contains("and axis 0 has 6"), "{long}");
    let uneven = told(13, None, 4).unwrap_err();
    assert!(uneven.contains("6 elements do not make 4 equal parts"), "{uneven}");
    // From opset 18 on, the last part is smaller.
    told(18, None, 4).unwrap();
}

#[test]
fn bounds_and_fillings_of_several_elements_are_refused() {
    let several: &[i64] = &[1, 2];
    let part = "is not one number";
    refused_beside("Clip", &[4], &[several], &[], part);
    refused_beside("Clip", &[4], &[&[0], several], &[], part);
    refused_beside("Pad", &[4], &[several, several], &[], part);
    for at in 0..3 {
        let mut list: [Constant<'_>; 3] = [(&[], &[0]), (&[], &[4]), (&[], &[1])];
        list[at] = (&[2], several);
        let told = problems(&of_constants("Range", &list, &[], &[4]))[0].to_string();
        assert!(told.contains(part), "{told}");
    }
    let depth: [Constant<'_>; 3] = [(&[2], &[0, 1]), (&[2], &[2, 3]), (&[2], &[0, 1])];
    let told = problems(&of_constants("OneHot", &depth, &[], &[2, 2]))[0].to_string();
    assert!(told.contains(part), "{told}");
}

#[test]
fn operands_and_attributes_that_contradict_each_other_are_refused() {
    refused_beside("Unsqueeze", &[6], &[&[0, 0]], &[], "axis 0 is given twice");
    refused_beside("Unsqueeze", &[6], &[&[0, -3]], &[], "axis 0 is given twice");
    refused_beside("Slice", &[4, 4], &[&[1, 2], &[3, 4], &[0, -2]], &[], "axis 0 is given twice");
    let with_weights = |operator, of_x: &[i64], weights: &[&[i64]], attribute, part| {
        let mut net = Onnx::new(1);
        let mut operands = vec![net.input("x", of_x)];
        operands.extend(weights.iter().map(|dims| net.random(dims, 1.0)));
        let operands: Vec<&str> = operands.iter().map(String::as_str).collect();
        net.node_to(operator, &operands, "y", &[attribute]);
        net.output_of_any_shape("y");
        let told = problems(&net.finish())[0].to_string();
        assert!(told.contains(part), "{told}");
    };
    let nothing = ("transB", Integer(0));
    let product = "C of [3, 2] does not stretch to the product, [1, 2]";
    with_weights("Gemm", &[1, 2], &[&[2, 2], &[3, 2]], nothing, product);
    for operator in ["Conv", "ConvTranspose"] {
        let kernel = ("kernel_shape", Integers(vec![2, 3]));
        let part = "kernel_shape is [2, 3], and the weights have a kernel of [3, 3]";
        with_weights(operator, &[1, 2, 8, 8], &[&[2, 2, 3, 3]], kernel, part);
    }
    for (operator, gates) in [("RNN", 1), ("GRU", 3), ("LSTM", 4)] {
        let size = ("hidden_size", Integer(3));
        let part = "hidden_size is 3, and the weights are those of 2 states";
        with_weights(operator, &[2, 1, 3], &[&[1, 2 * gates, 3], &[1, 2 * gates, 2]], size, part);
    }
}
