//! Models whose numbers lie below zero, or leave what a half holds on their way.

use ane::model::compare::compare;
use ane::model::execute;
use ane::model::network::Array;
use ane::tensor::nearest_half;
use ane_tests::model::Attribute::{Integer, Integers, Single, Text};
use ane_tests::model::Onnx;

use super::{compiled, device, difference, problems, random};

/// The one result of a model for these inputs.
fn result(net: &Onnx, inputs: &[Array]) -> Vec<f64> {
    let compiled = compiled(&net.finish());
    execute(&device(), &compiled, inputs).unwrap_or_else(|error| panic!("{error}"))[0].values().to_vec()
}

const BASES: [f64; 10] = [-5.0, -3.0, -2.0, -1.0, -0.75, 0.75, 1.0, 2.0, 3.0, 5.0];

fn agrees(seen: &[f64], exponents: &[f64], most: f64) {
    assert_eq!(seen.len(), BASES.len());
    for ((&base, &exponent), &seen) in BASES.iter().zip(exponents).zip(seen) {
        let wanted = nearest_half(base.powf(exponent)).to_f64();
        let is_near = seen == wanted || (seen - wanted).abs() <= most * wanted.abs() + 6e-8;
        assert!(is_near, "{base} to {exponent} is {wanted}, not {seen}");
    }
}

#[test]
fn whole_power_of_a_number_below_zero_has_its_sign() {
    for exponent in [0.0, 1.0, 2.0, 3.0, 7.0, 9.0, 12.0, 21.0, -1.0, -2.0, -3.0, -5.0, -8.0, 2049.0, -4097.0]
    {
        let mut net = Onnx::new(1);
        let x = net.input("x", &[10]);
        let power = net.singles(&[], &[exponent]);
        net.node_to("Pow", &[&x, &power], "y", &[]);
        net.output("y", &[10]);
        let seen = result(&net, &[Array::list(BASES)]);
        if exponent.abs() < 2048.0 {
            agrees(&seen, &[f64::from(exponent); 10], 0.004 * f64::from(exponent.abs()).max(1.0));
        } else {
            // Such a power is 0, 1 or infinite as a half.
            assert_eq!(seen, BASES.map(|base| nearest_half(base.powf(exponent.into())).to_f64()));
        }
    }
}

#[test]
fn each_element_has_its_own_power() {
    let exponents = [3.0_f32, 2.0, -1.0, 5.0, 4.0, 0.5, 7.0, -0.5, 0.0, 1.5];
    let wide = exponents.map(f64::from);
    let mut net = Onnx::new(1);
    let x = net.input("x", &[10]);
    let power = net.singles(&[10], &exponents);
    net.node_to("Pow", &[&x, &power], "y", &[]);
    net.output("y", &[10]);
    agrees(&result(&net, &[Array::list(BASES)]), &wide, 0.02);
    let mut net = Onnx::new(1);
    let (x, power) = (net.input("x", &[10]), net.input("power", &[10]));
    net.node_to("Pow", &[&x, &power], "y", &[]);
    net.output("y", &[10]);
    agrees(&result(&net, &[Array::list(BASES), Array::list(wide)]), &wide, 0.02);
}

#[test]
fn power_stretches_over_the_exponents() {
    let mut net = Onnx::new(1);
    let x = net.input("x", &[2, 1]);
    let power = net.singles(&[3], &[2.0; 3]);
    net.node_to("Pow", &[&x, &power], "y", &[]);
    net.output("y", &[2, 3]);
    let seen = result(&net, &[Array::new(vec![2, 1], vec![-3.0, 2.0]).unwrap()]);
    assert_eq!(seen, [9.0, 9.0, 9.0, 4.0, 4.0, 4.0]);
}

/// Four ways to write a norm, over numbers whose squares no half holds.
#[test]
fn norm_in_single_operators_is_a_norm_of_large_numbers_too() {
    let axes = [("axes", Integers(vec![-1]))];
    for way in ["pow and reciprocal", "product and quotient", "square root of a sum", "L2"] {
        let mut net = Onnx::new(1);
        let x = net.input("x", &[3, 64]);
        let epsilon = net.singles(&[], &[1e-5]);
        match way {
            "pow and reciprocal" => {
                let two = net.singles(&[], &[2.0]);
                let square = net.node("Pow", &[&x, &two], &[]);
                let mean = net.node("ReduceMean", &[&square], &axes);
                let sum = net.node("Add", &[&mean, &epsilon], &[]);
                let root = net.node("Sqrt", &[&sum], &[]);
                let factor = net.node("Reciprocal", &[&root], &[]);
                net.node_to("Mul", &[&x, &factor], "y", &[]);
            }
            "product and quotient" => {
                let square = net.node("Mul", &[&x, &x], &[]);
                let mean = net.node("ReduceMean", &[&square], &axes);
                let sum = net.node("Add", &[&epsilon, &mean], &[]);
                let root = net.node("Sqrt", &[&sum], &[]);
                net.node_to("Div", &[&x, &root], "y", &[]);
            }
            "square root of a sum" => {
                let sum = net.node("ReduceSumSquare", &[&x], &axes);
                let root = net.node("Sqrt", &[&sum], &[]);
                net.node_to("Div", &[&x, &root], "y", &[]);
            }
            _ => {
                let norm = net.node("ReduceL2", &[&x], &axes);
                net.node_to("Div", &[&x, &norm], "y", &[]);
            }
        }
        net.output("y", &[3, 64]);
        let value = |at: usize| nearest_half((at * 37 % 101) as f64 * 9.0 - 450.0).to_f64();
        let x = Array::from_fn(vec![3, 64], value).unwrap();
        let seen = result(&net, std::slice::from_ref(&x));
        for (row, seen) in x.values().chunks(64).zip(seen.chunks(64)) {
            let sum: f64 = row.iter().map(|value| value * value).sum();
            let norm = if way.starts_with('p') { (sum / 64.0 + 1e-5).sqrt() } else { sum.sqrt() };
            for (x, seen) in row.iter().zip(seen) {
                assert!((x / norm - seen).abs() <= 0.003, "{way}: {x} over {norm} is not {seen}");
            }
        }
    }
}

#[test]
fn lines_and_curves_between_elements_agree_beside_what_exporters_write() {
    for (mode, leaves_out) in [("linear", 0), ("cubic", 0), ("cubic", 1)] {
        let mut net = Onnx::new(1);
        let x = net.input("x", &[1, 2, 5, 6]);
        let (none, sizes) = (net.singles(&[0], &[]), net.integers(&[1, 2, 11, 8]));
        let attributes = [
            ("mode", Text(mode)),
            ("nearest_mode", Text("floor")),
            ("coordinate_transformation_mode", Text("pytorch_half_pixel")),
            ("cubic_coeff_a", Single(-0.75)),
            ("exclude_outside", Integer(leaves_out)),
        ];
        net.node_to("Resize", &[&x, "", &none, &sizes], "y", &attributes);
        net.output("y", &[1, 2, 11, 8]);
        let (worst, largest) = difference(&net.finish());
        assert!(largest > 0.5 && worst <= 0.003, "{mode}: {worst} of {largest}");
    }
}

#[test]
fn rounding_that_nobody_knows_is_refused() {
    let mut net = Onnx::new(1);
    let x = net.input("x", &[1, 1, 2, 2]);
    let (none, sizes) = (net.singles(&[0], &[]), net.integers(&[1, 1, 4, 4]));
    net.node_to("Resize", &[&x, "", &none, &sizes], "y", &[("nearest_mode", Text("sideways"))]);
    net.output("y", &[1, 1, 4, 4]);
    assert!(problems(&net.finish())[0].why.to_string().contains("\"sideways\""));
}

/// A mask is the lowest single, or the lowest half: what it is added to counts for nothing.
#[test]
fn masks_are_neither_rounded_constants_nor_differences() {
    for mask in [f32::MIN, -65504.0, f32::NEG_INFINITY] {
        let mut net = Onnx::new(1);
        let x = net.input("x", &[2, 3]);
        let masks = net.singles(&[1, 3], &[0.0, mask, 0.0]);
        let masked = net.node("Add", &[&x, &masks], &[]);
        net.node_to("Softmax", &[&masked], "y", &[]);
        net.output("y", &[2, 3]);
        let compiled = compiled(&net.finish());
        assert!(!compiled.notes.iter().any(|note| note.contains("rounded")), "{mask}: {:?}", compiled.notes);
        let layers = compare(&device(), &compiled, &[random(&[2, 3], 1)]).expect("it runs");
        for layer in layers {
            assert!(layer.so_far < 0.01 && layer.own < 0.01, "{mask}: {layer:?}");
        }
    }
}

#[test]
fn epsilon_of_a_reduction_is_a_constant_that_notes_name_when_it_is_rounded() {
    for (epsilon, is_noted) in [(1e-5, true), (1e-12, true), (0.5, false)] {
        let mut net = Onnx::new(1);
        let x = net.input("x", &[3, 64]);
        let epsilon = net.singles(&[], &[epsilon]);
        let square = net.node("Mul", &[&x, &x], &[]);
        let mean = net.node("ReduceMean", &[&square], &[("axes", Integers(vec![-1]))]);
        let sum = net.node("Add", &[&mean, &epsilon], &[]);
        let root = net.node("Sqrt", &[&sum], &[]);
        net.node_to("Div", &[&x, &root], "y", &[]);
        net.output("y", &[3, 64]);
        let notes = compiled(&net.finish()).notes;
        assert_eq!(notes.iter().any(|note| note.contains("rounded")), is_noted, "{notes:?}");
    }
}

#[test]
fn notes_name_surfaces_of_wider_numbers_and_constants_that_no_half_holds() {
    let mut net = Onnx::new(1);
    let x = net.input("x", &[2]);
    let factors = net.singles(&[2], &[1e6, 70000.0]);
    net.node_to("Mul", &[&x, &factors], "y", &[]);
    net.output("y", &[2]);
    let expected = [
        "2 constants of 65520 or more, beyond the largest half, became infinite",
        "\"x\", \"y\": halves on this engine, wider numbers in the model",
    ];
    assert_eq!(compiled(&net.finish()).notes, expected);
    let text = "program(1.3) { func main<ios15>(tensor<fp16, [2]> x, tensor<fp32, [2]> z) {
        tensor<fp16, [2]> w = relu(x = x);
        tensor<fp16, [2]> c = const()[val = tensor<fp16, [2]>([0x1p-1, 0x1p-2])];
        tensor<fp16, [2]> y = mul(x = w, y = c);
        tensor<fp32, [2]> v = relu(x = z); } -> (y, v); }";
    let expected = ["\"z\", \"v\": halves on this engine, wider numbers in the model"];
    assert_eq!(compiled(text.as_bytes()).notes, expected);
}

/// Halves near 1000 are 0.5 apart, and the logarithms of the parts lie between those.
#[test]
fn logarithms_of_a_softmax_of_large_numbers_are_as_exact_as_of_small_ones() {
    let mut net = Onnx::new(1);
    let x = net.input("x", &[1, 4]);
    net.node_to("LogSoftmax", &[&x], "y", &[]);
    net.output("y", &[1, 4]);
    let above = [0.0, 0.5, 1.0, 2.5];
    let all = above.iter().map(|value: &f64| value.exp()).sum::<f64>().ln();
    let x = Array::new(vec![1, 4], above.map(|value| 1000.0 + value).to_vec()).unwrap();
    for (seen, value) in result(&net, &[x]).iter().zip(above) {
        assert!((seen - (value - all)).abs() < 0.01, "{seen} for {}", value - all);
    }
}

#[test]
fn remainder_of_an_infinite_divisor_is_that_of_the_standard() {
    let mut net = Onnx::new(1);
    let x = net.input("x", &[5]);
    let (a, b) = ([-3.0, 3.0, 5.5, -5.5, 1.0], [f32::INFINITY, f32::INFINITY, -2.0, 2.0, f32::NEG_INFINITY]);
    let (a, b) = (net.singles(&[5], &a), net.singles(&[5], &b));
    let rest = net.node("Mod", &[&a, &b], &[]);
    net.node_to("Add", &[&x, &rest], "y", &[]);
    net.output("y", &[5]);
    let seen = result(&net, &[Array::list([0.0; 5])]);
    assert_eq!(seen, [f64::INFINITY, 3.0, -0.5, 0.5, f64::NEG_INFINITY]);
}

#[test]
fn power_of_whole_numbers_is_a_whole_number() {
    let mut net = Onnx::new(1);
    let x = net.input("x", &[4]);
    let (base, exponent) = (net.integers(&[2, 9, 1, 3]), net.singles(&[4], &[-1.0, 0.5, -1.0, 2.0]));
    let power = net.node("Pow", &[&base, &exponent], &[]);
    let power = net.node("Cast", &[&power], &[("to", Integer(1))]);
    net.node_to("Add", &[&x, &power], "y", &[]);
    net.output("y", &[4]);
    assert_eq!(result(&net, &[Array::list([0.0; 4])]), [0.0, 3.0, 1.0, 9.0]);
}

/// A mask of attention as exporters write it: infinite above the diagonal.
#[test]
fn triangle_of_an_infinite_constant_is_zero_beside_it() {
    let mut net = Onnx::new(1);
    let x = net.input("x", &[4, 4]);
    let (infinite, above) = (net.singles(&[4, 4], &[f32::NEG_INFINITY; 16]), net.integers(&[1]));
    let mask = net.node("Trilu", &[&infinite, &above], &[("upper", Integer(1))]);
    let masked = net.node("Add", &[&x, &mask], &[]);
    net.node_to("Softmax", &[&masked], "y", &[]);
    net.output("y", &[4, 4]);
    let scores = Array::from_fn(vec![4, 4], |at| (at % 4) as f64).unwrap();
    for (at, seen) in result(&net, &[scores]).into_iter().enumerate() {
        let (row, column) = (at / 4, at % 4);
        let sum: f64 = (0..=row).map(|column| (column as f64).exp()).sum();
        let wanted = if column <= row { (column as f64).exp() / sum } else { 0.0 };
        assert!((seen - wanted).abs() < 0.01, "row {row}, column {column}: {seen}");
    }
}
