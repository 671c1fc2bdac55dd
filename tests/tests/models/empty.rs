//! Tensors without elements: they say a type, or are part of another tensor.

use ane::model::execute;
use ane::model::network::Array;
use ane_tests::model::Attribute::{Integer, Integers};
use ane_tests::model::Onnx;

use super::{compiled, device, problems, random};

/// What a model makes of `[2, 3]`, and that.
fn run(net: &Onnx) -> (Vec<f64>, Array) {
    let (compiled, x) = (compiled(&net.finish()), random(&[2, 3], 1));
    assert_eq!(compiled.inputs.len(), 1, "a client has no elements to fill others with");
    let seen = execute(&device(), &compiled, std::slice::from_ref(&x)).unwrap();
    (seen[0].values().to_vec(), x)
}

#[test]
fn operand_that_only_has_a_type_may_be_empty() {
    let mut net = Onnx::new(1);
    let (x, like) = (net.input("x", &[2, 3]), net.input("like", &[0]));
    net.node_to("CastLike", &[&x, &like], "y", &[]);
    net.output("y", &[2, 3]);
    let (seen, x) = run(&net);
    assert_eq!(seen, x.values());
}

#[test]
fn part_without_elements_adds_none() {
    let mut net = Onnx::new(1);
    let (x, none) = (net.input("x", &[2, 3]), net.input("none", &[2, 0]));
    let parts = net.integers(&[3, 0]);
    net.node_to_all("Split", &[&x, &parts], &["all", "rest"], &[("axis", Integer(1))]);
    net.node_to("Concat", &["all", "rest", &none], "y", &[("axis", Integer(1))]);
    net.output("y", &[2, 3]);
    let (seen, x) = run(&net);
    assert_eq!(seen, x.values());
}

#[test]
fn product_and_window_of_no_element_end() {
    let mut net = Onnx::new(1);
    let (x, none) = (net.input("x", &[2, 3]), net.input("none", &[2, 0]));
    let axes = net.integers(&[1]);
    net.node_to("ReduceProd", &[&none, &axes], "product", &[]);
    net.node_to("Mul", &[&x, "product"], "y", &[]);
    net.output("y", &[2, 3]);
    let (seen, x) = run(&net);
    assert_eq!(seen, x.values(), "the product of no factor is one");

    let mut net = Onnx::new(1);
    let none = net.input("none", &[1, 2, 0]);
    let (kernel, pads) = (Integers(vec![3]), Integers(vec![2, 2]));
    net.node_to("MaxPool", &[&none], "y", &[("kernel_shape", kernel), ("pads", pads)]);
    net.output("y", &[1, 2, 2]);
    assert!(!problems(&net.finish()).is_empty());
}

#[test]
fn result_without_elements_is_refused() {
    let mut net = Onnx::new(1);
    let x = net.input("x", &[0, 4]);
    net.node_to("Relu", &[&x], "y", &[]);
    net.output("y", &[0, 4]);
    let told = problems(&net.finish())[0].to_string();
    assert!(told.contains("output") && told.contains("a tensor of [0, 4] has no element"), "{told}");
}

#[test]
fn slice_of_no_element_has_none_whichever_way_it_goes() {
    let mut net = Onnx::new(1);
    let (x, none) = (net.input("x", &[2, 3]), net.input("none", &[2, 0]));
    let [start, end, axis, step] = [-1, -9, 1, -1].map(|number| net.integers(&[number]));
    let cut = net.node("Slice", &[&none, &start, &end, &axis, &step], &[]);
    net.node_to("Concat", &[&x, &cut], "y", &[("axis", Integer(1))]);
    net.output("y", &[2, 3]);
    let (seen, x) = run(&net);
    assert_eq!(seen, x.values());
    let text = "program(1.3) { func main<ios15>(tensor<fp16, [2]> x, tensor<fp16, [0]> none) {
        tensor<fp16, [0]> cut = slice_by_index(x = none, begin = tensor<int32, [1]>([0]), end = tensor<int32, [1]>([0]),
            stride = tensor<int32, [1]>([-1]));
        tensor<fp16, [2]> y = concat(values = (x, cut), axis = int32(0), interleave = bool(false)); } -> (y); }";
    assert_eq!(compiled(text.as_bytes()).inputs.len(), 1);
    let text = text.replace("-> (y)", "-> (cut)");
    let told = problems(text.as_bytes())[0].to_string();
    assert!(told.contains("a tensor of [0] has no element"), "{told}");
}

#[test]
fn product_of_matrices_over_no_channel_is_zero() {
    let mut net = Onnx::new(1);
    let (x, a, b) = (net.input("x", &[2, 3]), net.input("a", &[2, 0]), net.input("b", &[0, 3]));
    let product = net.node("MatMul", &[&a, &b], &[]);
    net.node_to("Add", &[&x, &product], "y", &[]);
    net.output("y", &[2, 3]);
    let (seen, x) = run(&net);
    assert_eq!(seen, x.values());
}
