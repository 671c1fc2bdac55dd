//! The output port: from a sum to the fp16 behind it.

use super::double::{encode_to_even, settle};
use super::halves;

/// Sum plus bias, times post-scale, in double precision, then one rounding to fp16.
///
/// The limit of 2^15 is not applied again (chosen).
#[must_use]
pub fn of(sum: f64, bias: Option<u16>, post_scale: u16) -> u16 {
    let biased = bias.map_or(sum, |bias| settle(sum + f64::from(halves::value(bias))));
    encode_to_even(settle(biased * f64::from(halves::value(post_scale))))
}

/// A pass-through: operand times post-scale, one rounding.
#[must_use]
pub fn pass_through(operand: u16, post_scale: u16) -> u16 {
    of(f64::from(halves::value(operand)), None, post_scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pass_through_keeps_denormals_and_the_sign_of_zero() {
        for bits in [0x0001, 0x8001, 0x03ff, 0x8000, 0x0000, 0x7bff, 0xfc00] {
            assert_eq!(pass_through(bits, halves::ONE), bits);
        }
    }

    #[test]
    fn what_has_no_value_goes_on_as_zero() {
        assert_eq!(of(f64::INFINITY, Some(0xfc00), halves::ONE), 0);
        assert_eq!(of(f64::INFINITY, None, 0), 0);
        assert_eq!(of(0.0, None, 0x7e00), 0);
    }
}
