//! Sine and cosine of every half.

use ane::model::execute;
use ane::model::network::Array;
use ane_tests::model::Onnx;
use half::f16;

use super::{compiled, device};

/// The result of a model that is one operator.
fn of(operator: &str, x: &Array) -> Array {
    let mut net = Onnx::new(3);
    let dims: Vec<i64> = x.dims().iter().map(|&extent| extent as i64).collect();
    let operand = net.input("x", &dims);
    net.node_to(operator, &[&operand], "y", &[]);
    net.output("y", &dims);
    execute(&device(), &compiled(&net.finish()), std::slice::from_ref(x)).expect("it runs").remove(0)
}

#[test]
fn waves_of_every_half_below_512_are_within_three_thousandths_and_infinite_beyond() {
    let halves: Vec<f64> =
        (0..=u16::MAX).map(f16::from_bits).filter(|half| !half.is_nan()).map(f16::to_f64).collect();
    let x = Array::new(vec![halves.len() / 2, 2], halves).unwrap();
    for (operator, function) in [("Cos", f64::cos as fn(f64) -> f64), ("Sin", f64::sin)] {
        let y = of(operator, &x);
        let mut worst = 0.0_f64;
        for (&x, &y) in x.values().iter().zip(y.values()) {
            if x.abs() < 512.0 {
                worst = worst.max((y - function(x)).abs());
            } else {
                assert_eq!(y, f64::INFINITY, "{operator} of {x}");
            }
        }
        assert!(worst < 0.003, "{operator}: {worst}");
    }
}

#[test]
fn waves_of_constants_are_computed_before_the_run() {
    let mut net = Onnx::new(3);
    let (x, angles) = (net.input("x", &[2]), net.singles(&[2], &[1.0, 70000.0]));
    let sine = net.node("Sin", &[&angles], &[]);
    net.node_to("Add", &[&x, &sine], "y", &[]);
    net.output("y", &[2]);
    let seen = execute(&device(), &compiled(&net.finish()), &[Array::list([0.0; 2])]).expect("it runs");
    let wanted = [1.0_f64.sin(), 70000.0_f64.sin()];
    assert!(seen[0].values().iter().zip(wanted).all(|(seen, wanted)| (seen - wanted).abs() < 0.0005));
}
