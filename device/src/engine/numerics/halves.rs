//! Halves: how fp16 is read and written, as far as singles do. `double` is for the rest.
//!
//! Storage is IEEE 754 half. A NaN that enters counts as +infinity (numerics 9), and an operation whose result
//! has no value gives +0 (numerics 10), so the engine never produces a NaN.

use half::f16;

/// The bits of 1.
pub const ONE: u16 = 0x3c00;
/// The bits of +infinity.
pub const INFINITY: u16 = 0x7c00;
/// The smallest magnitude that is not denormal, 2^-14.
pub const SMALLEST_NORMAL: f32 = 1.0 / 16384.0;

/// The number that the bits stand for where they enter the engine.
#[must_use]
pub fn value(bits: u16) -> f32 {
    let number = f16::from_bits(bits).to_f32();
    if number.is_nan() { f32::INFINITY } else { number }
}

/// The half as which the bits enter the engine.
#[must_use]
pub const fn entered(bits: u16) -> u16 {
    if bits & 0x7fff > INFINITY { INFINITY } else { bits }
}

/// The nearest half, ties to even, in a single rounding; a NaN counts as +infinity.
#[must_use]
pub fn from_f32(number: f32) -> u16 {
    if number.is_nan() { INFINITY } else { f16::from_f32(number).to_bits() }
}

/// The single next to `number` towards zero, with its last bit set if the two differ.
#[expect(clippy::cast_possible_truncation, reason = "the rounding is the point, and it is repaired")]
#[must_use]
pub fn round_to_odd(number: f64) -> f32 {
    let nearest = number as f32;
    let rounded = f64::from(nearest);
    // Bits of floats count magnitudes upwards, so one less is the neighbour towards zero; this is never
    // zero, because a number that was rounded away from zero is not zero now. No branches: kernels do this
    // to many numbers at once.
    let away = rounded.abs() > number.abs();
    let inexact = away | (rounded.abs() < number.abs());
    f32::from_bits(nearest.to_bits().wrapping_sub(u32::from(away)) | u32::from(inexact))
}

/// `number`, and +0 for one that is denormal as a half.
#[must_use]
pub fn flush(number: f32) -> f32 {
    if number.abs() < SMALLEST_NORMAL { 0.0 } else { number }
}

/// The result of an operation, and +0 if it has none.
#[must_use]
pub fn or_zero(result: f32) -> f32 {
    if result.is_nan() { 0.0 } else { result }
}

#[cfg(test)]
mod tests {
    use super::super::double::encode_to_even as encode;
    use super::*;

    #[test]
    fn half_survives_the_way_through_single_and_double() {
        for bits in (0..=u16::MAX).filter(|bits| bits & 0x7fff <= INFINITY) {
            assert_eq!(from_f32(value(bits)), bits);
            assert_eq!(encode(f64::from(value(bits))), bits);
        }
    }

    #[test]
    fn nan_is_read_as_positive_infinity() {
        for bits in (0..=u16::MAX).filter(|bits| bits & 0x7fff > INFINITY) {
            assert_eq!(value(bits), f32::INFINITY);
        }
        assert_eq!(encode(f64::NAN), INFINITY);
    }

    #[test]
    fn double_next_to_a_tie_is_rounded_once() {
        // Between each two neighbouring halves: the tie itself goes to the even one, and a double's last digit
        // next to it decides. Rounding to single first would lose that digit.
        for low in 0..INFINITY - 1 {
            let (a, b) = (f64::from(value(low)), f64::from(value(low + 1)));
            let tie = f64::midpoint(a, b);
            let even = low + (low & 1);
            for sign in [0, 0x8000] {
                let signed = |number: f64| if sign == 0 { number } else { -number };
                assert_eq!(encode(signed(tie)), even | sign);
                assert_eq!(encode(signed(tie.next_down())), low | sign);
                assert_eq!(encode(signed(tie.next_up())), (low + 1) | sign);
            }
        }
    }

    #[test]
    fn magnitude_of_65520_becomes_infinity() {
        assert_eq!(encode(65520.0), INFINITY);
        assert_eq!(encode(65520_f64.next_down()), 0x7bff);
        assert_eq!(encode(-1e300), 0xfc00);
    }

    #[test]
    fn tiny_double_becomes_a_zero_of_its_sign() {
        assert_eq!(encode(1e-300), 0);
        assert_eq!(encode(-1e-300), 0x8000);
        assert_eq!(encode(2f64.powi(-25)), 0);
        assert_eq!(encode(2f64.powi(-25).next_up()), 1);
    }
}
