//! The response of neighbouring channels: `x / (bias + alpha / size * sum of squares of neighbours)^beta`.
//!
//! The sum is that of a window along channels, or a product. Two factors keep its parts within the engine's numbers. Operands are made
//! small before they are squared: the array is infinite from 2^15 on, and rounds products to multiples of 2^-16. And what the power is
//! taken of is divided by a power of two, because halves end at 65504.

use super::{Call, Made, one};
use crate::build::Limit;
use crate::model::layers::Layers;
use crate::model::network::array::elements;
use crate::model::network::operation::{Convolution, JoinKind, Map, Window};
use crate::model::network::{Kind, Operation, ValueId};
use crate::model::problem::Why;

/// The largest factor of operands. (Chosen) Squares of elements up to 511 are halves then, and the sum of 11 squares of 218 is finite.
const LARGEST: f64 = 0.5;

/// The smallest power of two that a half holds: a smaller bias would be 0, and so would be the base where all neighbours are 0.
const LEAST: f64 = 1.0 / (1 << 24) as f64;

pub(super) fn call(call: &mut Call<'_, '_>) -> Made {
    if call.node.operator != "LRN" {
        return Ok(None);
    }
    let x = call.x(0)?;
    let &[_, channels, _, _] = call.dims(x).as_slice() else {
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
    let (sums, unit) = if taps as u64 > Limit::Kernel.max() {
        by_matrix(call, x, sides, small)?
    } else {
        by_window(call, x, sides, small)?
    };
    let weight = alpha / size as f64 / (unit * small * small);
    let level = level(weight, bias);
    let base = call.affine(sums, weight / level, held(bias / level, beta))?;
    let exponent = call.scalar(-beta);
    let factor = call.join(JoinKind::Power, base, exponent)?;
    let made = call.join(JoinKind::Multiply, x, factor)?;
    one(if level == 1.0 { made } else { call.affine(made, level.powf(-beta), 0.0)? })
}

/// The sums of squares of neighbours of `x` times `small`, and the factor that they have. Channels become rows, which takes no task, and a
/// window moves along them.
fn by_window(
    call: &mut Call<'_, '_>,
    x: ValueId,
    sides: (usize, usize),
    small: f64,
) -> Result<(ValueId, f64), Why> {
    let rows = call.add(Operation::Permute(vec![0, 2, 1, 3]), &[x])?;
    let squares = squares(call, rows, small)?;
    let (taps, padding) = (sides.0 + sides.1 + 1, vec![sides, (0, 0)]);
    let window = Window {
        maximum: false,
        of_squares: false,
        kernel: vec![taps, 1],
        stride: vec![1; 2],
        dilation: vec![1; 2],
        positions: call.dims(squares)[2..].to_vec(),
        counted: padding.clone(),
        padding,
    };
    let means = call.add(Operation::Window(window), &[squares])?;
    let sums = call.add(Operation::Permute(vec![0, 2, 1, 3]), &[means])?;
    Ok((sums, 1.0 / taps as f64))
}

/// The same by a product with a matrix that has equal elements near its diagonal: the array has no room for a longer window.
fn by_matrix(
    call: &mut Call<'_, '_>,
    x: ValueId,
    (before, behind): (usize, usize),
    small: f64,
) -> Result<(ValueId, f64), Why> {
    let channels = call.dims(x)[1];
    // The sum is finite where the mean is below 2^12.
    let most = channels.min(before + behind + 1).div_ceil(8);
    let unit = (-(most as f64).log2().ceil()).exp2();
    let dims = vec![channels, channels, 1, 1];
    call.network.count_looks(elements(&dims)?)?;
    let near = call.network.filled(call.name, dims, Kind::Real, |at| {
        let (output, input) = (at / channels, at % channels);
        if input + before >= output && input <= output + behind { unit } else { 0.0 }
    })?;
    let convolution = Convolution {
        stride: vec![1; 2],
        dilation: vec![1; 2],
        padding: vec![(0, 0); 2],
        groups: 1,
        activation: None,
    };
    let squares = squares(call, x, small)?;
    Ok((call.add(Operation::Convolution(convolution), &[squares, near])?, unit))
}

fn squares(call: &mut Call<'_, '_>, x: ValueId, small: f64) -> Result<ValueId, Why> {
    let scaled = call.affine(x, small, 0.0)?;
    call.map(Map::Square, scaled)
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
