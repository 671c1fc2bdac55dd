//! A whole reduction: from the taps of one output to its sum, in each of the two modes.

use super::double::settle;
use super::product::UNIT;
use super::{Numerics, halves, product};

/// Units from which on a sum is infinite and stays so, 2^15.
pub const LIMIT: i64 = 1 << 31;

/// Operand and coefficient; a tap in the padding has the operand +0.
pub type Tap = (u16, u16);

/// Bias plus operand times coefficient over all taps, in ascending order.
#[must_use]
pub fn of(numerics: Numerics, bias: Option<u16>, taps: &[Tap]) -> f64 {
    match numerics {
        Numerics::M1 => m1(bias, taps).map_or_else(infinity, in_units),
        Numerics::Exact => exact(bias, taps),
    }
}

/// What so many units are.
#[expect(clippy::cast_precision_loss, reason = "sums have 31 digits")]
#[must_use]
pub fn in_units(units: i64) -> f64 {
    units as f64 * f64::from(UNIT)
}

/// Infinity of a sign.
#[must_use]
pub const fn infinity(negative: bool) -> f64 {
    if negative { f64::NEG_INFINITY } else { f64::INFINITY }
}

/// The accumulator in units, or on which side it has overflowed first: whether below zero.
///
/// The bias is in the accumulator before the first tap, rounded like a product with one. Each addition is exact, and the
/// limit is looked at after each (Chosen: hardware was seen to look after two at most).
///
/// # Errors
///
/// As said: the sign of infinity.
pub fn m1(bias: Option<u16>, taps: &[Tap]) -> Result<i64, bool> {
    let bias = bias.map_or(0, |bias| product::of(bias, halves::ONE));
    taps.iter().try_fold(within(bias)?, |accumulator, &(operand, coefficient)| {
        within(accumulator.saturating_add(product::of(operand, coefficient)))
    })
}

/// The accumulator, unless it has overflowed.
const fn within(units: i64) -> Result<i64, bool> {
    if units.unsigned_abs() >= LIMIT.unsigned_abs() { Err(units < 0) } else { Ok(units) }
}

/// In double precision: the sum of the products as they are, then the limit, then the bias. Denormals are +0 and a NaN
/// is +infinity, as they are to whoever has fp16 units of its own.
fn exact(bias: Option<u16>, taps: &[Tap]) -> f64 {
    const SMALLEST_NORMAL: f64 = 1.0 / 16384.0;
    let read = |bits| f64::from(halves::value(bits));
    let flushed = |bits| if read(bits).abs() < SMALLEST_NORMAL { 0.0 } else { read(bits) };
    let sum =
        taps.iter().fold(0.0, |sum, &(operand, coefficient)| sum + flushed(operand) * flushed(coefficient));
    let sum = settle(sum);
    let is_beyond = taps.len() > 1 && sum.abs() >= in_units(LIMIT);
    let limited = if is_beyond { infinity(sum < 0.0) } else { sum };
    bias.map_or(limited, |bias| settle(limited + read(bias)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overflow_stays_on_the_side_where_it_came_first() {
        let ones =
            |operands: &[u16]| operands.iter().map(|&operand| (operand, halves::ONE)).collect::<Vec<_>>();
        assert_eq!(m1(None, &ones(&[0x7400, 0x7400, 0xf400, 0xf400, 0xf400, 0xf400])), Err(false));
        assert_eq!(m1(None, &ones(&[0xf400, 0xf400, 0x7400, 0x7400, 0x7400, 0x7400])), Err(true));
        assert_eq!(m1(Some(0xf400), &ones(&[0x7400, 0x7400])), Ok(16384 << 16));
    }

    #[test]
    fn bias_alone_overflows_too() {
        assert_eq!(m1(Some(0x7800), &[]), Err(false));
        assert_eq!(m1(Some(0xf800), &[(0x7400, halves::ONE)]), Err(true));
        assert_eq!(m1(Some(0x77ff), &[]), Ok(32752 << 16));
    }

    #[test]
    fn exact_keeps_what_m1_rounds() {
        let near_one = 0x3c01;
        let taps = [(near_one, near_one), (0xbc00, 0x3c02)];
        assert_eq!(of(Numerics::Exact, None, &taps), 2f64.powi(-20));
        assert_eq!(of(Numerics::M1, None, &taps), 0.0);
    }

    #[test]
    fn denormals_are_zero_in_exact() {
        assert_eq!(of(Numerics::Exact, None, &[(0x03ff, 0x6400), (0x6400, 0x03ff)]), 0.0);
    }
}
