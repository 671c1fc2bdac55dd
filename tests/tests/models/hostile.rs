//! Small models that ask for numbers beyond any tensor, or for days of work before the run.

use ane::model::network::Array;
use ane_tests::model::Attribute::{Integer, Integers, Singles, Text};
use ane_tests::model::Onnx;

use super::{Constant, compiled, exact, of_constants, problems};

/// The first problem of a model, in words.
fn told(model: &[u8]) -> String {
    problems(model)[0].to_string()
}

/// A model in which products before the run have been counted up to some thousand below their bound. They read no elements, and
/// take no time.
fn tired() -> Onnx {
    let mut net = Onnx::new(1);
    let x = net.input("x", &[1]);
    net.node_to("Relu", &[&x], "y", &[]);
    net.output("y", &[1]);
    let axis = net.integers(&[0]);
    for (extent, times) in [(1 << 26, 63), (1 << 20, 63), (1 << 14, 63)] {
        let shape = net.integers(&[extent, 0]);
        let none = net.node("ConstantOfShape", &[&shape], &[]);
        for _ in 0..times {
            net.node("ReduceSum", &[&none, &axis], &[]);
        }
    }
    net
}

#[test]
fn part_of_one_element_may_have_any_step() {
    let far = i64::MAX;
    let list: [Constant<'_>; 5] =
        [(&[4], &[1, 2, 3, 4]), (&[1], &[1]), (&[1], &[2]), (&[1], &[0]), (&[1], &[far])];
    let compiled = compiled(&of_constants("Slice", &list, &[], &[1]));
    let nothing = Array::list([0.0]);
    assert_eq!(exact(&compiled.network, &[nothing])[0].values(), [2.0]);
}

#[test]
fn parts_without_elements_may_begin_anywhere() {
    let list: [Constant<'_>; 2] = [(&[2, 3], &[0; 6]), (&[4], &[i64::MIN, 0, 0, 0])];
    let why = told(&of_constants("Pad", &list, &[], &[1, 3]));
    assert!(why.contains("a tensor of [0, 3] has no element"), "{why}");
}

#[test]
fn numbers_whose_products_no_tensor_has_are_refused() {
    let mut net = Onnx::new(1);
    let [x, weights] = [[1, 0, 2, 2], [0, 4, 1, 1]].map(|dims| {
        let shape = net.integers(&dims);
        net.node("ConstantOfShape", &[&shape], &[])
    });
    net.node_to("ConvTranspose", &[&x, &weights], "y", &[("group", Integer(1 << 62))]);
    net.output("y", &[1]);
    assert!(told(&net.finish()).contains("elements"));
    let mut net = Onnx::new(1);
    let x = net.input("x", &[1, 4, 8, 8]);
    let (far, pad) = (1 << 32, (1 << 32) - 8);
    let window = [("kernel_shape", Integers(vec![far; 2])), ("pads", Integers(vec![pad, pad, 0, 0]))];
    net.node_to("LpPool", &[&x], "y", &window);
    net.output("y", &[1, 4, 1, 1]);
    let why = told(&net.finish());
    assert!(why.contains("4294967296 tasks"), "{why}");
}

#[test]
fn lists_that_describe_no_tensor_are_refused_by_their_length() {
    let mut net = Onnx::new(1);
    let (count, one) = (net.integers(&[(1 << 16) + 1]), net.integers(&[5]));
    let list = net.node("ConstantOfShape", &[&count], &[]);
    net.node_to("Reshape", &[&one, &list], "y", &[]);
    net.output("y", &[1]);
    assert!(told(&net.finish()).contains("a list of 65537 numbers"));
}

#[test]
fn indices_with_a_part_behind_the_point_are_refused() {
    for operator in ["Gather", "GatherElements"] {
        let mut net = Onnx::new(1);
        let x = net.integers(&[1, 2, 3, 4]);
        let half = net.node("Constant", &[], &[("value_floats", Singles(vec![1.5]))]);
        net.node_to(operator, &[&x, &half], "y", &[]);
        net.output("y", &[1]);
        assert_eq!(told(&net.finish()).rsplit(": ").next(), Some("1.5 is no whole number"), "{operator}");
    }
}

#[test]
fn starts_and_ends_of_different_number_are_refused() {
    let list: [Constant<'_>; 3] = [(&[2, 2], &[0; 4]), (&[2], &[0, 0]), (&[1], &[1])];
    assert!(told(&of_constants("Slice", &list, &[], &[1])).contains("are not as many"));
}

/// Each operator by itself looks at some thousand numbers.
#[test]
fn what_operators_do_with_constants_counts_as_work() {
    let refused = |make: fn(&mut Onnx, &str)| {
        let mut net = tired();
        let shape = net.integers(&[1 << 14]);
        let indices = net.node("ConstantOfShape", &[&shape], &[]);
        make(&mut net, &indices);
        told(&net.finish())
    };
    let made: [fn(&mut Onnx, &str); 4] = [
        |net, indices| {
            let data = net.integers(&[5]);
            net.node("ScatterElements", &[&data, indices, indices], &[("axis", Integer(0))]);
        },
        |net, indices| {
            let data = net.integers(&[5]);
            net.node("GatherElements", &[&data, indices], &[]);
        },
        |net, indices| {
            let data = net.integers(&[1, 2]);
            net.node("Gather", &[&data, indices], &[]);
        },
        |net, _| {
            let x = net.input("image", &[1, 1, 1, 8]);
            let pads = net.integers(&[0, 0, 0, 1 << 14, 0, 0, 0, 0]);
            net.node("Pad", &[&x, &pads], &[("mode", Text("edge"))]);
        },
    ];
    for make in made {
        let told = refused(make);
        assert!(told.contains("all layers together that are computed"), "{told}");
    }
}

#[test]
fn scales_that_are_not_as_many_as_places_are_refused() {
    let quantized = |scales: &[f32], block: i64| {
        let mut net = Onnx::new(1);
        let x = net.input("x", &[1, 4]);
        let (scale, of_one) = (net.singles(&[scales.len() as i64], scales), net.singles(&[], &[0.5]));
        let bytes = net.node("QuantizeLinear", &[&x, &of_one], &[]);
        net.node_to(
            "DequantizeLinear",
            &[&bytes, &scale],
            "y",
            &[("axis", Integer(1)), ("block_size", Integer(block))],
        );
        net.output("y", &[1, 4]);
        told(&net.finish())
    };
    assert!(quantized(&[1.0, 2.0, 3.0], 0).contains("[3]"));
    assert!(quantized(&[1.0, 2.0, 3.0, 4.0], -7).contains("block_size is -7"));
}

/// Asserts that the operator behind a model that is tired already has no work left.
fn is_too_much_work(net: &Onnx, operator: &str) {
    let why = told(&net.finish());
    assert!(why.starts_with(operator) && why.contains("more than 2^32 products"), "{why}");
}

#[test]
fn matrix_of_a_running_sum_is_work_before_it_is_made() {
    let mut net = tired();
    let (x, axis) = (net.input("long", &[1, 2048]), net.integers(&[1]));
    net.node_to("CumSum", &[&x, &axis], "sums", &[]);
    net.output("sums", &[1, 2048]);
    is_too_much_work(&net, "CumSum");
}

#[test]
fn table_that_is_looked_through_is_work_before_it_is() {
    let mut net = tired();
    let (ids, table) = (net.whole_input("ids", &[3]), net.singles(&[2048, 2], &[1.0; 4096]));
    net.node_to("Gather", &[&table, &ids], "rows", &[]);
    net.output("rows", &[3, 2]);
    is_too_much_work(&net, "Gather");
}

#[test]
fn matrix_of_neighbouring_channels_is_work_before_it_is_made() {
    let mut net = tired();
    let x = net.input("many", &[1, 2048, 1, 1]);
    net.node_to("LRN", &[&x], "response", &[("size", Integer(4095))]);
    net.output("response", &[1, 2048, 1, 1]);
    is_too_much_work(&net, "LRN");
}
