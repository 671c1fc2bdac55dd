//! Powers.
//!
//! The engine has a logarithm and an exponential, both as tables, and the logarithm of a number below zero is +0. So a whole
//! power is made of products where it can be; elsewhere the power of the magnitude gets its sign back.

use super::arrange::expand;
use super::{Call, Made, one};
use crate::model::layers::Layers;
use crate::model::network::operation::{JoinKind, Map};
use crate::model::network::{Array, Kind, ValueId};
use crate::model::problem::Why;

/// Whole powers up to this one are products, at most 22 of them. Beyond it a half is 0, 1, infinite, or has no digit left.
const PRODUCTS_MAX: f64 = 2048.0;

/// 1 below zero, 0 elsewhere.
const IS_BELOW: Map = Map::Step { below: 1.0, zero: 0.0, above: 0.0 };

pub(super) fn call(call: &mut Call<'_, '_>) -> Made {
    if call.node.operator != "Pow" {
        return Ok(None);
    }
    let (x, exponent) = (call.x(0)?, call.x(1)?);
    if call.network.known(x).is_some() && call.network.known(exponent).is_some() {
        let power = call.join(JoinKind::Power, x, exponent)?;
        let whole = call.network.known(power).filter(|_| call.kind(x) == Kind::Integer);
        return one(match whole.map(|power| power.map(f64::trunc)) {
            Some(whole) => call.constant(whole, Kind::Integer),
            None => power,
        });
    }
    if call.kind(x) == Kind::Integer {
        // The power is a whole number too, and that of a table is not exact.
        call.known(1)?;
    }
    let Some(known) = call.network.known(exponent).cloned() else {
        return one(by_computed(call, x, exponent)?);
    };
    let Some(same) = same_everywhere(&known) else {
        let odd = known.map(|value| f64::from(u8::from(is_odd(value))));
        let odd = call.constant(odd, Kind::Real);
        return one(by_magnitude(call, x, exponent, odd)?);
    };
    let power = powered(call, x, same)?;
    // The exponents may have more elements than the base.
    one(expand(call, power, known.dims())?)
}

fn is_odd(value: f64) -> bool {
    value % 2.0 == 1.0 || value % 2.0 == -1.0
}

/// The value that all elements have.
fn same_everywhere(array: &Array) -> Option<f64> {
    let (&first, rest) = array.values().split_first()?;
    rest.iter().all(|&value| value == first).then_some(first)
}

/// `x` to a known power.
fn powered(call: &mut Call<'_, '_>, x: ValueId, exponent: f64) -> Result<ValueId, Why> {
    match exponent {
        0.0 => {
            let (one, dims) = (call.scalar(1.0), call.dims(x));
            expand(call, one, &dims)
        }
        0.5 => call.map(Map::SquareRoot, x),
        -0.5 => call.map(Map::ReciprocalSquareRoot, x),
        _ if exponent.fract() == 0.0 && exponent.abs() <= PRODUCTS_MAX => {
            // The reciprocal comes first: that of a product beyond halves would be 0.
            let x = if exponent > 0.0 { x } else { call.map(Map::Reciprocal, x)? };
            multiplied(call, x, exponent.abs() as u32)
        }
        _ if is_odd(exponent) => {
            let (exponent, odd) = (call.scalar(exponent), call.scalar(1.0));
            by_magnitude(call, x, exponent, odd)
        }
        _ if exponent.fract() == 0.0 => {
            let (exponent, magnitude) = (call.scalar(exponent), call.map(Map::Abs, x)?);
            call.join(JoinKind::Power, magnitude, exponent)
        }
        _ => {
            let exponent = call.scalar(exponent);
            call.join(JoinKind::Power, x, exponent)
        }
    }
}

/// So many `x`, at least one, multiplied.
fn multiplied(call: &mut Call<'_, '_>, x: ValueId, count: u32) -> Result<ValueId, Why> {
    if count == 1 {
        return Ok(x);
    }
    let square = call.map(Map::Square, x)?;
    let even = multiplied(call, square, count / 2)?;
    if count.is_multiple_of(2) { Ok(even) } else { call.join(JoinKind::Multiply, even, x) }
}

/// A computed exponent: half of an odd number has a fraction of one half.
fn by_computed(call: &mut Call<'_, '_>, x: ValueId, exponent: ValueId) -> Result<ValueId, Why> {
    if call.network.known(x).is_some_and(|base| base.values().iter().all(|&value| value >= 0.0)) {
        return call.join(JoinKind::Power, x, exponent);
    }
    let half = call.affine(exponent, 0.5, 0.0)?;
    let whole = call.map(Map::Floor, half)?;
    let rest = call.join(JoinKind::Subtract, half, whole)?;
    let odd = call.affine(rest, 2.0, 0.0)?;
    by_magnitude(call, x, exponent, odd)
}

/// The power of the magnitude, negated where `x` is below zero and `odd` is 1.
fn by_magnitude(
    call: &mut Call<'_, '_>,
    x: ValueId,
    exponent: ValueId,
    odd: ValueId,
) -> Result<ValueId, Why> {
    let magnitude = call.map(Map::Abs, x)?;
    let power = call.join(JoinKind::Power, magnitude, exponent)?;
    let is_below = call.map(IS_BELOW, x)?;
    let is_negated = call.join(JoinKind::Multiply, is_below, odd)?;
    let sign = call.affine(is_negated, -2.0, 1.0)?;
    call.join(JoinKind::Multiply, power, sign)
}
