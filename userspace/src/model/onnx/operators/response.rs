//! The response of neighbouring channels: `x / (bias + alpha / size * sum of squares of neighbours)^beta`.
//!
//! Channels become rows, which takes no task, and the sum is that of a window along them. Two factors keep its parts within the
//! engine's numbers. Operands are made small before they are squared: the array is infinite from 2^15 on, and rounds products to
//! multiples of 2^-16. And what the power is taken of is divided by a power of two, because halves end at 65504.

use super::{Call, Made, one};
use crate::model::layers::Layers;
use crate::model::network::Operation;
use crate::model::network::operation::{JoinKind, Map, Window};

/// The largest factor of operands. (Chosen) Squares of elements up to 511 are halves then, and the sum of 11 squares of 218 is finite.
const LARGEST: f64 = 0.5;

/// The smallest power of two that a half holds: a smaller bias would be 0, and so would be the base where all neighbours are 0.
const LEAST: f64 = 1.0 / (1 << 24) as f64;

pub(super) fn call(call: &mut Call<'_, '_>) -> Made {
    if call.node.operator != "LRN" {
        return Ok(None);
    }
    let x = call.x(0)?;
    let &[_, channels, _, columns] = call.dims(x).as_slice() else {
        return Err(Call::mode("the operand has not four axes"));
    };
    let told = call.integer("size", 1)?;
    let size = usize::try_from(told).ok().filter(|&size| size > 0);
    let size = size.ok_or_else(|| Call::mode(format!("size is {told}")))?;
    let (alpha, beta, bias) =
        (call.single("alpha", 1e-4)?, call.single("beta", 0.75)?, call.single("bias", 1.0)?);
    // There is nothing to add beyond all channels.
    let reach = channels.saturating_sub(1);
    let sides = (((size - 1) / 2).min(reach), (size / 2).min(reach));
    let taps = sides.0 + sides.1 + 1;
    let share = alpha * taps as f64 / size as f64;
    // The square of an operand that weighs as much as the bias is about a quarter. Larger ones would only be infinite earlier.
    let small = (power_near_root(share / bias.max(LEAST)) / 2.0).min(LARGEST);
    let rows = call.add(Operation::Permute(vec![0, 2, 1, 3]), &[x])?;
    let scaled = call.affine(rows, small, 0.0)?;
    let squares = call.map(Map::Square, scaled)?;
    let padding = vec![sides, (0, 0)];
    let window = Window {
        maximum: false,
        of_squares: false,
        kernel: vec![taps, 1],
        stride: vec![1; 2],
        dilation: vec![1; 2],
        positions: vec![channels, columns],
        counted: padding.clone(),
        padding,
    };
    let means = call.add(Operation::Window(window), &[squares])?;
    let means = call.add(Operation::Permute(vec![0, 2, 1, 3]), &[means])?;
    let weight = share / (small * small);
    let level = level(weight, bias);
    let base = call.affine(means, weight / level, held(bias / level, beta))?;
    let exponent = call.scalar(-beta);
    let factor = call.join(JoinKind::Power, base, exponent)?;
    let made = call.join(JoinKind::Multiply, x, factor)?;
    one(if level == 1.0 { made } else { call.affine(made, level.powf(-beta), 0.0)? })
}

/// The power of two nearest to the root of a number's magnitude, of those whose half is a half too.
fn power_near_root(number: f64) -> f64 {
    (number.abs().log2() / 2.0).round().clamp(-23.0, 15.0).exp2()
}

/// The power of two by which the base is divided: 1, which saves a pass, if means up to 2^13 times their weight are halves.
fn level(weight: f64, bias: f64) -> f64 {
    let largest = weight.abs().max(bias.abs());
    if (0.25..=8.0).contains(&largest) {
        1.0
    } else {
        (largest.log2().ceil() - 1.0).clamp(-24.0, 24.0).exp2()
    }
}

/// The bias, or the least that a half holds and whose power is one too.
fn held(bias: f64, beta: f64) -> f64 {
    let of_power = if beta > 0.0 { (-15.0 / beta).exp2() } else { 0.0 };
    if bias > 0.0 { bias.max(LEAST).max(of_power.min(1.0)) } else { bias }
}
