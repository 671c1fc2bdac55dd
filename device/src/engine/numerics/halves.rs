//! Halves: how fp16 is read, inside the array and outside of it.
//!
//! The array reads an exponent field of 31 like any other, so that there infinity is 65536 and a NaN some number above
//! it. Everywhere else the field says what IEEE 754 says, and a NaN counts as +infinity.

use half::f16;

/// The bits of 1.
pub const ONE: u16 = 0x3c00;
/// The bits of +infinity.
pub const INFINITY: u16 = 0x7c00;
/// The bit of the sign.
pub const SIGN: u16 = 0x8000;

/// Digits behind the leading one.
const FRACTION_BITS: u32 = 10;
/// The bias of the exponent field.
const BIAS: i32 = 15;

/// A half as the array reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// Sign and significand, a whole number below 2048.
    pub significand: i32,
    /// The exponent: the value is the significand times two to this power, divided by 1024. Numbers below 2^-14
    /// have the exponent -14.
    pub exponent: i32,
}

impl Operand {
    /// Reads any bits.
    #[must_use]
    pub const fn new(bits: u16) -> Self {
        let field = (bits >> FRACTION_BITS & 31) as i32;
        let fraction = (bits & ((1 << FRACTION_BITS) - 1)) as i32;
        let (leading, exponent) =
            if field == 0 { (0, 1 - BIAS) } else { (1 << FRACTION_BITS, field.wrapping_sub(BIAS)) };
        let magnitude = leading | fraction;
        let significand = if bits & SIGN == 0 { magnitude } else { magnitude.wrapping_neg() };
        Self { significand, exponent }
    }

    #[must_use]
    pub fn value(self) -> f32 {
        // A significand has eleven digits, so that nothing is lost.
        let significand = i16::try_from(self.significand).map_or(0.0, f32::from);
        // Two to the exponent less 10: between -24 and 6, so that a single has it as its exponent field.
        let field = self.exponent.wrapping_sub(10).wrapping_add(127).cast_unsigned();
        significand * f32::from_bits(field << 23)
    }
}

/// The number that the bits stand for outside of the array; a NaN is +infinity.
#[must_use]
pub fn value(bits: u16) -> f32 {
    f16::from_bits(entered(bits)).to_f32()
}

/// The half as which the bits enter the engine outside of the array.
#[must_use]
pub const fn entered(bits: u16) -> u16 {
    if bits & !SIGN > INFINITY { INFINITY } else { bits }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_is_read_as_positive_infinity_outside_of_the_array() {
        for bits in (0..=u16::MAX).filter(|bits| bits & 0x7fff > INFINITY) {
            assert_eq!((value(bits), entered(bits)), (f32::INFINITY, INFINITY));
        }
    }

    #[test]
    fn array_reads_finite_halves_as_everybody_does() {
        for bits in (0..=u16::MAX).filter(|bits| bits & 0x7fff < INFINITY) {
            assert_eq!(Operand::new(bits).value(), f16::from_bits(bits).to_f32(), "{bits:#06x}");
        }
    }

    #[test]
    fn array_reads_exponent_field_31_as_any_other() {
        for (bits, value) in [(0x7c00, 65536.0), (0xfc00, -65536.0), (0x7c01, 65600.0), (0xffff, -131_008.0)]
        {
            assert_eq!(Operand::new(bits).value(), value);
        }
    }

    #[test]
    fn subnormals_have_the_exponent_of_the_smallest_normal_numbers() {
        for bits in [0x0000, 0x0001, 0x83ff, 0x0400, 0x87ff] {
            assert_eq!(Operand::new(bits).exponent, -14, "{bits:#06x}");
        }
        assert_eq!(Operand::new(0x0800).exponent, -13);
    }
}
