//! Operands that are repeated along an axis along which the other operand is repeated too.

use ane_tests::model::Attribute::Integers;
use ane_tests::model::Onnx;

use super::difference;

/// `x` of `[2, 1, 3, 8]`, repeated to `[2, 4, 3, 8]`, and what `of` makes of it.
fn agrees(of: impl Fn(&mut Onnx, &str)) {
    let mut net = Onnx::new(9);
    let x = net.input("x", &[2, 1, 3, 8]);
    let extents = net.integers(&[2, 4, 3, 8]);
    let repeated = net.node("Expand", &[&x, &extents], &[]);
    of(&mut net, &repeated);
    net.output("y", &[2, 4, 3, 8]);
    let (worst, largest) = difference(&net.finish());
    assert!(largest > 0.1 && worst < 0.002 * largest, "{worst} of {largest}");
}

#[test]
fn repeated_operand_and_one_number_fill_the_result() {
    agrees(|net, x| {
        let factor = net.singles(&[1], &[0.5]);
        net.node_to("Mul", &[x, &factor], "y", &[]);
    });
}

#[test]
fn two_operands_that_are_repeated_together_fill_the_result() {
    agrees(|net, x| {
        let other = net.input("other", &[2, 1, 3, 8]);
        net.node_to("Add", &[x, &other], "y", &[]);
    });
}

#[test]
fn operand_that_is_joined_with_itself_fills_the_result() {
    agrees(|net, x| net.node_to("Abs", &[x], "y", &[]));
}

#[test]
fn rows_that_both_operands_repeat_fill_the_result() {
    agrees(|net, x| {
        let order = [("perm", Integers(vec![0, 2, 1, 3]))];
        let each = net.random(&[3, 1, 1], 0.5);
        let turned = net.node("Transpose", &[x], &order);
        let product = net.node("Mul", &[&turned, &each], &[]);
        net.node_to("Transpose", &[&product], "y", &order);
    });
}
