//! A whole reduction: from the taps of one output to its sum, in each of the two modes.

use super::halves::Operand;
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

/// The value of so many units.
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

/// In double precision: nothing is rounded that a double can hold, and the limit is looked at once. Operands are read
/// as in `m1`, for the two to be compared.
fn exact(bias: Option<u16>, taps: &[Tap]) -> f64 {
    let read = |bits| f64::from(Operand::new(bits).value());
    let start = bias.map_or(0.0, read);
    let sum = taps.iter().fold(start, |sum, &(operand, coefficient)| sum + read(operand) * read(coefficient));
    if sum.abs() >= in_units(LIMIT) { infinity(sum < 0.0) } else { sum }
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
    fn exact_looks_at_the_limit_once() {
        let beyond_and_back = [(0x7800, halves::ONE), (0xf400, halves::ONE)];
        assert_eq!(of(Numerics::Exact, None, &beyond_and_back), 16384.0);
        assert_eq!(of(Numerics::M1, None, &beyond_and_back), f64::INFINITY);
        assert_eq!(of(Numerics::Exact, Some(0xf800), &[]), f64::NEG_INFINITY);
    }
}
