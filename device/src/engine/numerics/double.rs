//! Halves by way of double precision, where everything behind the array is computed: the output port, the planar
//! engine, activation tables.
//!
//! Storage is fp16; what computes on it widens to double precision and rounds once at the end. The engine knows no
//! NaN: one that comes in counts as positive infinity, and an operation whose result has no value gives +0. All of
//! it is written without branches, so that a loop over it becomes vector instructions.

use super::halves::INFINITY;
pub(in crate::engine) use super::halves::ONE;

const SIGN: u16 = 0x8000;

/// The number that a half stands for; a NaN of either sign is +infinity (numerics 9).
#[inline(always)]
pub(in crate::engine) fn decode(bits: u16) -> f64 {
    let magnitude = bits & !SIGN;
    // Read as the upper bits of a single, the exponent is 127 - 15 too small, and denormals come out right too.
    let finite = f32::from_bits(u32::from(magnitude) << 13) * REBIAS;
    let value = if magnitude >= INFINITY { f32::INFINITY } else { finite };
    let is_negative = bits & SIGN != 0 && magnitude <= INFINITY;
    f64::from(if is_negative { -value } else { value })
}

/// Two to the 127 - 15.
const REBIAS: f32 = f32::from_bits((127 + 112) << 23);

/// The number that a single stands for; a NaN is +infinity.
pub(in crate::engine) fn decode_single(bits: u32) -> f64 {
    let value = f64::from(f32::from_bits(bits));
    if value.is_nan() { f64::INFINITY } else { value }
}

/// The half nearest to `value`, ties away from zero; 65520 and more is infinity.
///
/// Every store of the engine rounds so: measured for the array and for planar additions, chosen for the rest.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "each cast drops bits that do not count, or are zero")]
pub(in crate::engine) fn encode(value: f64) -> u16 {
    // Below a tie a single has zeros or ones behind the half's last bit, and never only the first of them: cutting a
    // double off to a single keeps it on its side of every tie, and the exact tie goes up with the rest.
    let single = (f64::from_bits(value.to_bits() & !BEYOND_SINGLE) as f32).to_bits();
    let sign = (single >> 16) as u16 & SIGN;
    let magnitude = single & 0x7fff_ffff;
    let half = if magnitude >= 0x477f_f000 {
        u32::from(INFINITY)
    } else if magnitude < 0x3880_0000 {
        // Below 2^-14 the spacing stays 2^-24. The product is exact, and so is the sum in a double.
        (f64::from(f32::from_bits(magnitude)) * 16_777_216.0 + 0.5) as u32
    } else {
        magnitude.wrapping_sub(112 << 23).wrapping_add(0x1000) >> 13
    };
    sign | half as u16
}

/// The bits of a double that a single does not have.
pub(in crate::engine) const BEYOND_SINGLE: u64 = (1 << 29) - 1;

/// The result of an operation; +0 if it has no value (numerics 10).
#[inline(always)]
pub(in crate::engine) fn settle(result: f64) -> f64 {
    if result.is_nan() { 0.0 } else { result }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A half by the definition of the format.
    fn defined(bits: u16) -> f64 {
        let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 0x3ff));
        let magnitude = match exponent {
            0 => fraction * 2f64.powi(-24),
            31 => f64::INFINITY,
            _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
        };
        if bits >> 15 == 0 || (exponent == 31 && fraction != 0.0) { magnitude } else { -magnitude }
    }

    #[test]
    fn half_of_any_bits_decodes_by_definition_and_comes_back() {
        for bits in 0..=u16::MAX {
            let value = decode(bits);
            assert_eq!(value.to_bits(), defined(bits).to_bits(), "{bits:#06x}");
            let same = if bits & 0x7fff > 0x7c00 { 0x7c00 } else { bits };
            assert_eq!(encode(value), same, "{bits:#06x}");
        }
    }

    #[test]
    fn value_at_and_around_the_middle_of_two_halves_rounds_away_from_zero() {
        for bits in 0..0x7c00u16 {
            let (low, high) = (defined(bits), if bits == 0x7bff { 65536.0 } else { defined(bits + 1) });
            let middle = (low + high) / 2.0;
            assert_eq!(encode(middle), bits + 1, "{bits:#06x}");
            assert_eq!(encode(-middle), 0x8000 | (bits + 1), "{bits:#06x}");
            assert_eq!(encode(middle.next_down()), bits);
            assert_eq!(encode(middle.next_up()), bits + 1);
            assert_eq!(encode(-middle.next_up()), 0x8000 | (bits + 1));
            assert_eq!(encode(low.next_up()), bits);
            assert_eq!(encode(high.next_down()), bits + 1);
        }
    }

    #[test]
    fn value_beyond_every_half_rounds_to_zero_or_infinity_of_its_sign() {
        for (value, bits) in [
            (f64::MAX, 0x7c00),
            (f64::from(f32::MAX).next_up(), 0x7c00),
            (f64::NEG_INFINITY, 0xfc00),
            (f64::MIN_POSITIVE, 0),
            (-5e-324, 0x8000),
            (-0.0, 0x8000),
        ] {
            assert_eq!(encode(value), bits, "{value}");
        }
    }

    #[test]
    fn single_that_is_no_number_counts_as_infinity() {
        assert_eq!(decode_single(0xffc0_0000), f64::INFINITY);
        assert_eq!(decode_single(0x3e80_0000), 0.25);
    }
}
