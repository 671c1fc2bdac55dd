//! The output port: from a sum to the fp16 behind it.

use super::double::{encode, settle};
use super::halves;

/// Sum times post-scale, exact, then one rounding to fp16, half away from zero. Zero is +0.
///
/// The limit of 2^15 is not applied again, and the post-scale is read as outside of the array: both are Chosen. Infinity
/// times zero has no value and goes on as zero.
#[must_use]
pub fn of(sum: f64, post_scale: u16) -> u16 {
    let rounded = encode(settle(sum * f64::from(halves::value(post_scale))));
    if rounded == halves::SIGN { 0 } else { rounded }
}

/// A pass-through: operand times post-scale, one rounding. There is no accumulator that would lose the sign of zero.
#[must_use]
pub fn pass_through(operand: u16, post_scale: u16) -> u16 {
    encode(settle(f64::from(halves::value(operand)) * f64::from(halves::value(post_scale))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pass_through_keeps_every_half_that_is_a_number() {
        for bits in 0..=u16::MAX {
            assert_eq!(pass_through(bits, halves::ONE), halves::entered(bits), "{bits:#06x}");
        }
    }

    #[test]
    fn sum_leaves_without_the_sign_of_zero() {
        assert_eq!([of(-0.0, halves::ONE), of(1.0, 0x8000), of(-2f64.powi(-16), 0x0001)], [0, 0, 0]);
        assert_eq!(of(f64::NEG_INFINITY, 0), 0);
        assert_eq!(of(f64::NEG_INFINITY, 0xbc00), 0x7c00);
    }

    #[test]
    fn post_scale_comes_before_the_rounding_and_no_limit_behind_it() {
        assert_eq!(of(4098.0, 0x3a00), 0x6a01);
        assert_eq!(of(20000.0, 0x4000), 0x78e2);
    }
}
