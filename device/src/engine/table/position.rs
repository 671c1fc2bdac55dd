//! Where a value lies among the knots: its exponent taken apart from the rest.

/// `x = m * 2^k` with `m` in `[0.5, 1)`; zero is `(0, 0)` (Chosen).
///
/// For `x` from 2^-24 to 2^16: no denormal in double precision, no infinity, not negative.
pub(super) fn fraction(x: f64) -> (f64, f64) {
    const FRACTION: u64 = (1 << 52) - 1;
    /// The exponent bits of one half.
    const HALF: u64 = 1022;
    if x == 0.0 {
        return (0.0, 0.0);
    }
    let bits = x.to_bits();
    let exponent = bits >> 52 & 0x7ff;
    (f64::from_bits(bits & FRACTION | HALF << 52), exponent as f64 - HALF as f64)
}

/// `x = m * 4^k` with `m` in `[0.5, 2)`; zero is `(0, 0)` (Chosen).
pub(super) fn fraction_of_four(x: f64) -> (f64, f64) {
    let (m, k) = fraction(x);
    let halved = (k / 2.0).floor();
    (if k == halved * 2.0 { m } else { m * 2.0 }, halved)
}

/// Two to the `exponent`, a whole number, or the nearest power that a double has.
///
/// It is never zero or infinite, so that an infinity times it stays one and a zero too (Chosen); any other result of a
/// table is beyond the halves long before the doubles end.
#[expect(clippy::cast_possible_truncation, reason = "what is no exponent of a double was dealt with before")]
pub(super) fn power_of_two(exponent: f64) -> f64 {
    let exponent = exponent.clamp(-1074.0, 1023.0) as i64;
    match exponent {
        -1022.. => f64::from_bits(exponent.wrapping_add(1023).cast_unsigned() << 52),
        _ => f64::from_bits(1 << exponent.wrapping_add(1074)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::numerics::double::decode;

    #[test]
    fn fraction_and_exponent_of_any_positive_half_make_the_half_again() {
        for x in (1..0x7c00).map(decode) {
            let (m, k) = fraction(x);
            assert!((0.5..1.0).contains(&m), "{x}");
            assert_eq!(m * 2f64.powf(k), x);
            let (m, k) = fraction_of_four(x);
            assert!((0.5..2.0).contains(&m), "{x}");
            assert_eq!(m * 4f64.powf(k), x);
        }
    }

    #[test]
    fn power_of_two_of_any_exponent_is_that_of_the_library() {
        for exponent in -1074..1024 {
            assert_eq!(power_of_two(exponent.into()), 2f64.powf(exponent.into()), "{exponent}");
        }
        assert_eq!(power_of_two(-65504.0), power_of_two(-1074.0));
        assert_eq!(power_of_two(65503.0), power_of_two(1023.0));
    }
}
