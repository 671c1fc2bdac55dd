//! The planar engine once more, one element after the other, from the document and without the code.

use ane_uapi::hw::td::planar::{Operation, PostFunction, Reduction};

use crate::engine::plan::operand::Shape;
use crate::engine::planar::{Class, Operand, Planar};

/// A half by the definition of the format; NaN is +infinity.
pub(super) fn number(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 0x3ff));
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 => f64::INFINITY,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if bits >> 15 == 0 || (exponent == 31 && fraction != 0.0) { magnitude } else { -magnitude }
}

/// The half nearest to a number, of two the larger magnitude, found by bisection among all of them.
pub(super) fn half(value: f64) -> u16 {
    let sign = u16::from(value.is_sign_negative()) << 15;
    // Behind the largest half lies infinity, as far away as one more half would be.
    let place = |bits: u16| if bits == 0x7c00 { 65536.0 } else { number(bits) };
    let (mut low, mut high) = (0u16, 0x7c00u16);
    while high - low > 1 {
        let middle = low.midpoint(high);
        if place(middle) <= value.abs() {
            low = middle;
        } else {
            high = middle;
        }
    }
    let (down, up) = (value.abs() - place(low), place(high) - value.abs());
    sign | if down < up { low } else { high }
}

fn or_zero(value: f64) -> f64 {
    if value.is_nan() { 0.0 } else { value }
}

fn negated(value: f64, is_negated: bool) -> f64 {
    if is_negated { -value } else { value }
}

fn largest(a: f64, b: f64) -> f64 {
    if a == 0.0 && b == 0.0 { or_zero(a + b) } else { a.max(b) }
}

fn smallest(a: f64, b: f64) -> f64 {
    if a == 0.0 && b == 0.0 { -or_zero(-a - b) } else { a.min(b) }
}

fn relu(value: f64, is_on: bool) -> f64 {
    if is_on && value <= 0.0 { 0.0 } else { value }
}

fn at(operand: &Operand<'_>, c: u32, y: u32, x: u32) -> f64 {
    let clip = |place: u32, extent: u32| if extent == 1 { 0 } else { place };
    let row = clip(c, operand.channels) * operand.height + clip(y, operand.height);
    number(operand.values[(row * operand.width + clip(x, operand.width)) as usize])
}

fn element(planar: &Planar, a: f64, b: Option<f64>) -> f64 {
    let a = relu(a, planar.relu_first);
    let a = negated(or_zero(a * number(planar.pre_scale)), planar.negates_first);
    let b = b.map(|b| negated(relu(b, planar.relu_second), planar.negates_second));
    match (planar.operation, b) {
        (Operation::SumSquared, None) => or_zero(a * a),
        (_, None) => a,
        (Operation::Add, Some(b)) => or_zero(a + b),
        (Operation::Multiply, Some(b)) => or_zero(a * b),
        (Operation::Maximum, Some(b)) => largest(a, b),
        (Operation::Minimum, Some(b)) => smallest(a, b),
        (Operation::SumSquared, Some(b)) => or_zero(a + b) * or_zero(a + b),
    }
}

fn final_scale(planar: &Planar) -> f64 {
    let scale = f64::from(f32::from_bits(planar.final_scale));
    if scale.is_nan() { f64::INFINITY } else { scale }
}

fn tail(planar: &Planar, value: f64) -> u16 {
    let biased = or_zero(value + number(planar.bias));
    let scaled = or_zero(or_zero(biased * number(planar.scale)) * final_scale(planar));
    let stored = relu(scaled, planar.relu);
    half(if planar.magnitude { stored.abs() } else { stored })
}

fn after_reduction(planar: &Planar, value: f64) -> u16 {
    let value = or_zero(or_zero(value * final_scale(planar)) + number(planar.epsilon));
    let value = match planar.post {
        PostFunction::None => value,
        PostFunction::Reciprocal => 1.0 / (value + 0.0),
        PostFunction::ReciprocalSquareRoot => or_zero(1.0 / (value + 0.0).sqrt()),
    };
    half(relu(or_zero(or_zero(value + number(planar.bias)) * number(planar.scale)), planar.relu))
}

/// The result of the pass.
pub(super) fn run(planar: &Planar, shape: Shape, a: &Operand<'_>, b: Option<&Operand<'_>>) -> Vec<u16> {
    let mut out = Vec::new();
    for c in 0..shape.channels {
        let mut elements = Vec::new();
        for (y, x) in (0..shape.height).flat_map(|y| (0..shape.width).map(move |x| (y, x))) {
            let first = at(a, c, y, x);
            if planar.class == Class::Normalise {
                let first = relu(first, planar.relu_first);
                let a = negated(or_zero(first * number(planar.pre_scale)), planar.negates_first);
                let b = b.expect("two sources");
                let offset = relu(at(b, c, 0, x), planar.relu_second);
                let centred = or_zero(a + negated(offset, planar.negates_second));
                out.push(tail(planar, or_zero(centred * at(b, c, 1, x))));
            } else {
                elements.push(element(planar, first, b.map(|b| at(b, c, y, x))));
            }
        }
        if planar.class.is_reduction() {
            let value = match planar.reduction {
                Reduction::Sum => elements.iter().fold(0.0, |sum, x| or_zero(sum + x)),
                Reduction::Maximum => elements.into_iter().reduce(largest).expect("not empty"),
            };
            out.push(after_reduction(planar, value));
        } else {
            out.extend(elements.into_iter().map(|element| tail(planar, element)));
        }
    }
    out
}
