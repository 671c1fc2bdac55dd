//! Whole numbers of few bits that stand for others: `(q - zero point) * scale`.
//!
//! Constants come back before the run. On the engine a half holds each whole number of 8 bits; those of 16 have no place in it.

use super::{Call, Made, linear, one};
use crate::model::layers::Layers;
use crate::model::network::operation::{Join, JoinKind, Map};
use crate::model::network::{Fault, Kind, Operation, ValueId};
use crate::model::problem::Why;

/// The standard's number of an unsigned byte, which a result is that nothing says otherwise of.
const BYTE: u64 = 2;

pub(super) fn call(call: &mut Call<'_, '_>) -> Made {
    match call.node.operator.as_str() {
        "DequantizeLinear" => {
            let operands = (call.x(0)?, call.x(1)?, call.optional(2));
            one(restored(call, operands, call.integer("axis", 1)?)?)
        }
        "QuantizeLinear" => {
            let operands = (call.x(0)?, call.x(1)?, call.optional(2));
            one(quantized(call, operands, call.integer("axis", 1)?)?)
        }
        "QLinearMatMul" => {
            // Rows of the first and columns of the second have scales, where there are several.
            let a = restored(call, (call.x(0)?, call.x(1)?, call.optional(2)), -2)?;
            let b = restored(call, (call.x(3)?, call.x(4)?, call.optional(5)), -1)?;
            let result = (call.x(6)?, call.optional(7));
            let product = linear::product(call, a, b)?;
            one(quantized(call, (product, result.0, result.1), -2)?)
        }
        "QLinearConv" => {
            let x = restored(call, (call.x(0)?, call.x(1)?, call.optional(2)), 1)?;
            let weights = restored(call, (call.x(3)?, call.x(4)?, call.optional(5)), 0)?;
            let bias = match call.optional(8) {
                None => None,
                Some(bias) => {
                    let (first, second) = (call.x(1)?, call.x(4)?);
                    let scale = call.join(JoinKind::Multiply, first, second)?;
                    Some(restored(call, (bias, scale, None), 0)?)
                }
            };
            let result = (call.x(6)?, call.optional(7));
            call.inputs = vec![Some(x), Some(weights), bias];
            let sums = linear::convolution(call)?;
            one(quantized(call, (sums, result.0, result.1), 1)?)
        }
        _ => Ok(None),
    }
}

/// The real numbers for which whole numbers stand.
fn restored(
    call: &mut Call<'_, '_>,
    (x, scale, zero): (ValueId, ValueId, Option<ValueId>),
    axis: i64,
) -> Result<ValueId, Why> {
    let mut value = x;
    for (kind, operand) in [(JoinKind::Subtract, zero), (JoinKind::Multiply, Some(scale))] {
        let Some(operand) = operand else { continue };
        let operand = spread(call, operand, x, axis)?;
        let join = Operation::Join(Join { kind, relu: false });
        value = call.add_as(join, &[value, operand], Kind::Real)?;
    }
    Ok(value)
}

/// The whole numbers that stand for numbers, the even one where two are as near, within the bounds of their type.
fn quantized(
    call: &mut Call<'_, '_>,
    (x, scale, zero): (ValueId, ValueId, Option<ValueId>),
    axis: i64,
) -> Result<ValueId, Why> {
    let said = u64::try_from(call.integer("output_dtype", 0)?).unwrap_or(u64::MAX);
    let element = match zero {
        _ if said != 0 => said,
        None => BYTE,
        Some(zero) => *call.types.get(&zero).ok_or_else(|| {
            Call::mode("the type of its zero point, and so of its result, is not known: give it as a tensor")
        })?,
    };
    let (low, high) = bounds(element)
        .ok_or_else(|| Call::mode(format!("whole numbers of type {element} do not fit into halves")))?;
    let scale = spread(call, scale, x, axis)?;
    let parts = super::elementwise::divided(call, x, scale)?;
    // A quotient that halves do not hold is infinite, stays so when it is rounded, and ends at a bound.
    let mut whole = call.map(Map::Round, parts)?;
    if let Some(zero) = zero {
        let zero = spread(call, zero, x, axis)?;
        whole = call.join(JoinKind::Add, whole, zero)?;
    }
    call.map(Map::Clip(low, high), whole)
}

/// The least and the largest number of a type of 8 bits or fewer.
const fn bounds(element: u64) -> Option<(f64, f64)> {
    match element {
        BYTE => Some((0.0, 255.0)),
        3 => Some((-128.0, 127.0)),
        21 => Some((0.0, 15.0)),
        22 => Some((-8.0, 7.0)),
        25 => Some((0.0, 3.0)),
        26 => Some((-2.0, 1.0)),
        _ => None,
    }
}

/// Scales or zero points, in a shape that goes with `x`: one, one for each place along an axis, or one for each block of an axis.
fn spread(call: &mut Call<'_, '_>, operand: ValueId, x: ValueId, axis: i64) -> Result<ValueId, Why> {
    let (own, dims) = (call.dims(operand), call.dims(x));
    if own.iter().all(|&extent| extent == 1) {
        return call.reshape(operand, vec![]);
    }
    let axis = call.axis(axis, dims.len())?;
    let block = call.integer("block_size", 0)?;
    if block < 0 {
        return Err(Call::mode(format!("block_size is {block}")));
    }
    if own.len() == 1 && block == 0 && own[0] == dims[axis] {
        let mut shape = vec![1; dims.len()];
        shape[axis] = own[0];
        return call.reshape(operand, shape);
    }
    let known = call.network.known(operand).ok_or_else(|| Call::mode("scales of blocks have to be known"))?;
    let length = usize::try_from(block).ok().filter(|&length| length > 0).unwrap_or(1);
    let is_grid = own.len() == dims.len()
        && (0..own.len()).all(|at| own[at] == if at == axis { dims[at].div_ceil(length) } else { dims[at] });
    if !is_grid {
        return Err(Fault::Broadcast { first: dims, second: own }.into());
    }
    // Behind each place along the axis lie so many elements.
    let behind: usize = dims[axis + 1..].iter().product();
    let known = known.clone();
    let values = known.values();
    let spread = call.network.filled(call.name, dims.clone(), Kind::Real, |at| {
        let (rest, inner) = (at / behind, at % behind);
        let (outer, place) = (rest / dims[axis], rest % dims[axis]);
        values[(outer * own[axis] + place / length) * behind + inner]
    })?;
    Ok(spread)
}
