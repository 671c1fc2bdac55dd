//! Products: each is rounded by itself.

use super::halves::Operand;

/// A unit, of which every product is a whole number: 2^-16.
pub const UNIT: f32 = 1.0 / 65536.0;

/// A tap whose two exponents add up to this or less contributes nothing, however large the significands make it: up to
/// just under two units.
pub const DROPPED: i32 = -17;

/// Operand times coefficient, in units, rounded half away from zero.
#[must_use]
pub const fn of(operand: u16, coefficient: u16) -> i64 {
    let (a, b) = (Operand::new(operand), Operand::new(coefficient));
    let exponents = a.exponent.wrapping_add(b.exponent);
    if exponents <= DROPPED {
        return 0;
    }
    // Two significands have 22 digits, and the exponents add up to 32 at most.
    let significands = (a.significand as i64).wrapping_mul(b.significand as i64);
    // In units it is `significands * 2^(exponents - 20 + 16)`.
    let shift = exponents.wrapping_sub(4);
    if shift >= 0 {
        return significands << shift;
    }
    let behind = shift.unsigned_abs();
    let magnitude = significands.unsigned_abs().wrapping_add(1 << behind.wrapping_sub(1)) >> behind;
    if significands < 0 { (magnitude as i64).wrapping_neg() } else { magnitude as i64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn product_is_the_nearest_whole_number_of_units() {
        for (a, b, units) in
            [(0x3c00, 0x3c00, 65536), (0x0100, 0x3c00, 1), (0x0080, 0x3c00, 1), (0x007f, 0x3c00, 0)]
        {
            assert_eq!(of(a, b), units, "{a:#06x} {b:#06x}");
            assert_eq!(of(a | 0x8000, b), -units);
            assert_eq!(of(b, a), units);
        }
    }

    #[test]
    fn largest_product_is_counted() {
        assert_eq!(of(0x7fff, 0x7fff), (131_008_i64 * 131_008) << 16);
        assert_eq!(of(0xffff, 0x7fff), -((131_008_i64 * 131_008) << 16));
    }

    #[test]
    fn product_of_small_exponents_is_dropped_whatever_its_value() {
        // Just under two units, and the same value with the exponents of one more.
        assert_eq!(of(0x07ff, 0x33ff), 0);
        assert_eq!(of(0x0400, 0x3400), 1);
    }
}
