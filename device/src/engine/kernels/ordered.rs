//! Halves in the order of the numbers that they stand for, and as they enter the engine outside of the array.
//!
//! With the magnitude's bits of a negative number turned over, the order of halves as signed integers is that of their
//! numbers, and +0 comes behind -0. These are plain loops, which the compiler turns into the vectors of each tier.

use crate::engine::numerics::double::{decode, encode, settle};
use crate::engine::numerics::halves::{INFINITY, entered};

/// The bit of the sign.
const SIGN: u16 = 0x8000;

/// The key of -infinity, which comes before all others.
pub(crate) const LOWEST: u16 = key(INFINITY | SIGN);

/// A half in a form that as a signed integer has its number's order, and the half of such a form; of what has entered.
#[inline(always)]
const fn turned(bits: u16) -> u16 {
    bits ^ (((bits & SIGN) >> 15).wrapping_neg() >> 1)
}

/// A half's key; NaN counts as +infinity.
#[inline(always)]
const fn key(bits: u16) -> u16 {
    turned(entered(bits))
}

/// Puts the larger of a key and that of an operand into each key's place.
#[inline(always)]
pub(super) fn raise(keys: &mut [u16], operands: &[u16]) {
    for (place, &operand) in keys.iter_mut().zip(operands) {
        *place = place.cast_signed().max(key(operand).cast_signed()).cast_unsigned();
    }
}

/// The half that a key stands for.
pub(crate) const fn half(key: u16) -> u16 {
    turned(key)
}

/// Copies halves as they enter the engine.
#[inline(always)]
pub(super) fn enter(from: &[u16], to: &mut [u16]) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to = entered(from);
    }
}

/// A pass-through: halves times a number, rounded once.
#[inline(always)]
pub(super) fn scale(from: &[u16], factor: f64, to: &mut [u16]) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to = encode(settle(decode(from) * factor));
    }
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;
    use crate::engine::numerics::halves::value;

    #[test]
    fn keys_are_in_the_order_of_numbers_and_stand_for_their_halves() {
        let mut halves: Vec<u16> = (0..=u16::MAX).filter(|&bits| entered(bits) == bits).collect();
        halves.sort_by_key(|&bits| key(bits).cast_signed());
        assert!(halves.iter().all(|&bits| half(key(bits)) == bits));
        let number = |bits: u16| f16::from_bits(bits);
        assert!(halves.windows(2).all(|pair| number(pair[0]).total_cmp(&number(pair[1])).is_lt()));
        assert_eq!(halves[0], half(LOWEST));
        assert_eq!(value(half(LOWEST)), f32::NEG_INFINITY);
    }
}
