//! The multiply-accumulate array: one output's reduction, as numerics-array defines it in whole numbers.
//!
//! A *unit* is 2^-16. Each product is rounded by itself to units, and the accumulator counts units exactly, so that
//! the order of the taps matters for nothing but overflow. Operands and coefficients come as sixteen bits, because
//! the array reads exponent field 31 like any other (rule 2): there is neither an infinity nor a NaN in it.

use super::Mode;
use super::numbers::power_of_two;

/// One operand and its coefficient, as halves.
pub type Tap = (u16, u16);

/// The first magnitude in units that overflows the accumulator, 2^15 (rule 6).
const LIMIT: i64 = 1 << 31;
/// The half that an addend is multiplied with (rule 7).
const ONE: u16 = 0x3C00;
/// The largest sum of two exponents whose product contributes nothing (rule 3).
const DROPPED: i32 = -17;

/// A half as the array reads it (rules 1 and 2).
#[derive(Debug, Clone, Copy)]
struct ArrayHalf {
    /// The significand with its sign: the value is this times `2^(exponent - 10)`.
    significand: i64,
    /// The exponent that the drop rule counts; -14 for a number without leading one.
    exponent: i32,
}

impl ArrayHalf {
    fn of(bits: u16) -> Self {
        let (field, fraction) = (i32::from(bits >> 10 & 0x1F), i64::from(bits & 0x3FF));
        let magnitude = if field == 0 { fraction } else { 1024 + fraction };
        let significand = if bits & 0x8000 == 0 { magnitude } else { -magnitude };
        Self { significand, exponent: field.max(1) - 15 }
    }
}

/// The reduction of one output: what the accumulator holds before the first tap, and taps in ascending order of
/// channel, kernel row and kernel column.
pub fn reduce(mode: Mode, addends: &[u16], taps: &[Tap]) -> f64 {
    match mode {
        Mode::M1 => in_units(addends, taps),
        Mode::Exact => exactly(addends, taps),
    }
}

/// The sum as an M1 was seen to compute it.
fn in_units(addends: &[u16], taps: &[Tap]) -> f64 {
    let mut accumulator = 0_i64;
    for (operand, coefficient) in addends.iter().map(|&addend| (addend, ONE)).chain(taps.iter().copied()) {
        accumulator += product(operand, coefficient);
        // Reading: an addend that is too large by itself overflows like a tap.
        if accumulator.abs() >= LIMIT {
            return if accumulator < 0 { f64::NEG_INFINITY } else { f64::INFINITY };
        }
    }
    accumulator as f64 * power_of_two(-16)
}

/// A product in units, rounded half away from zero; nothing where it is dropped (rules 3 and 4).
fn product(operand: u16, coefficient: u16) -> i64 {
    let (a, b) = (ArrayHalf::of(operand), ArrayHalf::of(coefficient));
    if a.exponent + b.exponent <= DROPPED {
        return 0;
    }
    let exact = a.significand * b.significand;
    // Two significands of ten fraction bits against a unit of sixteen.
    let shift = a.exponent + b.exponent - 20 + 16;
    if shift >= 0 {
        return exact << shift;
    }
    let half_a_unit = 1 << (-shift - 1);
    let magnitude = (exact.abs() + half_a_unit) >> -shift;
    if exact < 0 { -magnitude } else { magnitude }
}

/// The oracle: operands and the bias are read as in the array, nothing is rounded that a double can hold, and overflow is
/// looked for once, at the end.
fn exactly(addends: &[u16], taps: &[Tap]) -> f64 {
    let value = |bits: u16| {
        let ArrayHalf { significand, exponent } = ArrayHalf::of(bits);
        significand as f64 * power_of_two(exponent - 10)
    };
    let start = addends.iter().fold(0.0, |sum, &addend| sum + value(addend));
    let sum =
        taps.iter().fold(start, |sum, &(operand, coefficient)| sum + value(operand) * value(coefficient));
    if sum.abs() >= 32768.0 { f64::INFINITY.copysign(sum) } else { sum }
}

#[cfg(test)]
mod tests {
    use super::super::numbers::half_bits;
    use super::*;

    fn ones(values: &[f64]) -> Vec<Tap> {
        values.iter().map(|&value| (half_bits(value), ONE)).collect()
    }

    fn both(taps: &[Tap]) -> [f64; 2] {
        [Mode::M1, Mode::Exact].map(|mode| reduce(mode, &[], taps))
    }

    #[test]
    fn product_is_rounded_to_units_half_away_from_zero() {
        assert_eq!([product(0x0080, ONE), product(0x007F, ONE), product(0x8080, ONE)], [1, 0, -1]);
        // 4097 * 2^-24 is 16 units and a bit; 6/16 of a unit and a half make the next one.
        assert_eq!([product(0x0355, 0x3A00), product(0x01AB, 0x3E00)], [2, 3]);
    }

    #[test]
    fn product_of_small_exponents_is_dropped_whatever_its_size() {
        // 1.758 units of exponents -14 and -3, half a unit of -14 and -2.
        assert_eq!([product(0x0780, 0x3380), product(0x0200, 0x3400)], [0, 1]);
    }

    #[test]
    fn exponent_of_all_ones_is_a_number() {
        assert_eq!(product(0x7C00, 0x2C00), 4096 << 16);
        assert_eq!(product(0xFE00, 0x2C00), -(6144 << 16));
        assert_eq!(product(0x7C00, 0), 0);
    }

    #[test]
    fn largest_product_of_all_fits_the_accumulator_of_this_file() {
        assert_eq!(product(0x7FFF, 0xFFFF), -(2047 * 2047) << 28);
    }

    #[test]
    fn order_changes_nothing_but_what_overflows() {
        let up = f64::INFINITY;
        assert_eq!(both(&ones(&[4096.0, 1.0, -4096.0])), [1.0, 1.0]);
        assert_eq!(both(&ones(&[30000.0, 5000.0, -30000.0])), [up, 5000.0]);
        assert_eq!(both(&ones(&[30000.0, -30000.0, 5000.0])), [5000.0, 5000.0]);
        assert_eq!(both(&ones(&[-16384.0, -16384.0, 9.0])), [-up, -32760.0 + 1.0]);
    }

    #[test]
    fn addend_is_there_before_the_first_tap() {
        let taps = ones(&[16384.0, 16384.0]);
        assert_eq!(reduce(Mode::M1, &[half_bits(-16384.0)], &taps), 16384.0);
        assert_eq!(reduce(Mode::M1, &[half_bits(40000.0)], &ones(&[-40000.0])), f64::INFINITY);
        assert_eq!(reduce(Mode::M1, &[0x0010], &[]), 0.0);
    }
}
