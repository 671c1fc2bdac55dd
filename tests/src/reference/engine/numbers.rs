//! Half-precision numbers, written out: what sixteen bits mean, and the one rounding of a store (numerics 9 and 10,
//! numerics-array 8).
//!
//! Every number of the interpreter is a double. A half, a product of two halves and a short sum of them are exact in
//! it, so that a rounding happens where the text names one and nowhere else.

use super::task::Width;

/// The bits of +infinity.
const INFINITY: u16 = 0x7C00;
/// The smallest exponent of a normal half; below it, spacing stays that of this exponent.
const EXPONENT_MIN: i32 = -14;

/// The number that sixteen bits stand for; NaN counts as +infinity, whatever its sign (numerics 9).
pub fn half_value(bits: u16) -> f64 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from((bits >> 10) & 0x1F), f64::from(bits & 0x3FF));
    match exponent {
        0x1F if fraction != 0.0 => f64::INFINITY,
        0x1F => sign * f64::INFINITY,
        0 => sign * fraction * power_of_two(EXPONENT_MIN - 10),
        _ => sign * (1024.0 + fraction) * power_of_two(exponent - 15 - 10),
    }
}

/// The bits of the half nearest to a number, halves of a step away from zero; what has no value becomes +0.
///
/// Measured for the array's output, planar addition and subtraction. Reading: every other store rounds the same way.
pub fn half_bits(value: f64) -> u16 {
    let value = defined(value);
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let magnitude = value.abs();
    if magnitude >= 65520.0 {
        return sign | INFINITY;
    }
    if magnitude == 0.0 {
        return sign;
    }
    let exponent = exponent_of(magnitude).max(EXPONENT_MIN);
    // How many steps of the grid the magnitude is. A carry out of the fraction moves on to the next exponent.
    let grid = magnitude * power_of_two(10 - exponent);
    let steps = grid.floor() as u32 + u32::from(grid - grid.floor() >= 0.5);
    let fraction_and_exponent = if steps < 1024 { steps } else { steps + (((exponent + 14) as u32) << 10) };
    sign | fraction_and_exponent as u16
}

/// A number rounded to a half, as a number.
pub fn round_half(value: f64) -> f64 {
    half_value(half_bits(value))
}

/// A number as a store makes it, as a half: of 8 bits, the nearest whole number that there is, halves away from
/// zero. Reading: it is rounded to a half before; nobody measured what is stored of other numbers than 0 and 1.
pub(super) fn stored(width: Width, value: f64) -> u16 {
    match width {
        Width::Half => half_bits(value),
        Width::Byte => half_bits(round_half(value).round().clamp(-128.0, 127.0) + 0.0),
        Width::Unsigned => half_bits(round_half(value).round().clamp(0.0, 255.0) + 0.0),
    }
}

/// A number, or +0 where an operation had no value (numerics 10).
pub fn defined(value: f64) -> f64 {
    if value.is_nan() { 0.0 } else { value }
}

/// The larger number; +0 is larger than -0.
pub fn maximum(a: f64, b: f64) -> f64 {
    if a > b || (a == b && b.is_sign_negative()) { a } else { b }
}

/// The smaller number; -0 is smaller than +0.
pub fn minimum(a: f64, b: f64) -> f64 {
    if a < b || (a == b && a.is_sign_negative()) { a } else { b }
}

/// A number, or +0 where it is not above zero.
pub fn relu(value: f64) -> f64 {
    if value > 0.0 { value } else { 0.0 }
}

/// The exponent of a number that is neither zero nor infinite: `2^e <= |value| < 2^(e+1)`.
pub fn exponent_of(value: f64) -> i32 {
    let field = ((value.to_bits() >> 52) & 0x7FF) as i32;
    if field == 0 { exponent_of(value * power_of_two(60)) - 60 } else { field - 1023 }
}

/// `2^n`; +infinity and +0 where a double ends.
pub fn power_of_two(n: i32) -> f64 {
    match n {
        ..=-1075 => 0.0,
        -1074..=-1023 => f64::from_bits(1 << (n + 1074)),
        -1022..=1023 => f64::from_bits(((n + 1023) as u64) << 52),
        _ => f64::INFINITY,
    }
}

/// The rounding against the `half` crate: every half, every midpoint, and random doubles between two neighbours.
#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;
    use crate::random::Random;

    /// Every finite half from -0 upwards in magnitude, as the crate reads it.
    fn magnitudes() -> Vec<f64> {
        (0..INFINITY).map(|bits| f16::from_bits(bits).to_f64()).collect()
    }

    /// The nearest half to a finite number by looking at its two neighbours, which the crate gives exactly.
    fn nearest(magnitudes: &[f64], value: f64) -> u16 {
        let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
        let below = magnitudes.partition_point(|&half| half <= value.abs()) as u16 - 1;
        let low = magnitudes[usize::from(below)];
        // One step above the largest half lies 65536: what is nearer to it overflows.
        let high = magnitudes.get(usize::from(below) + 1).copied().unwrap_or(65536.0);
        let (down, up) = (value.abs() - low, high - value.abs());
        sign | (below + u16::from(up <= down))
    }

    #[test]
    fn every_half_reads_as_the_crate_reads_it() {
        for bits in 0..=u16::MAX {
            let theirs = f16::from_bits(bits).to_f64();
            let theirs = if theirs.is_nan() { f64::INFINITY } else { theirs };
            assert_eq!(half_value(bits).to_bits(), theirs.to_bits(), "{bits:#x}");
        }
    }

    #[test]
    fn every_half_that_is_a_number_rounds_to_itself() {
        for bits in (0..=u16::MAX).filter(|&bits| !f16::from_bits(bits).is_nan()) {
            assert_eq!(half_bits(half_value(bits)), bits);
        }
    }

    #[test]
    fn midpoint_of_every_two_halves_rounds_away_from_zero_and_what_is_below_it_does_not() {
        let magnitudes = magnitudes();
        for pair in magnitudes.windows(2) {
            let middle = (pair[0] + pair[1]) / 2.0;
            for value in [middle.next_down(), middle, middle.next_up(), -middle] {
                assert_eq!(half_bits(value), nearest(&magnitudes, value), "{value:e}");
            }
        }
        assert_eq!([half_bits(65520.0), half_bits(65520.0_f64.next_down())], [0x7C00, 0x7BFF]);
    }

    #[test]
    fn random_doubles_round_to_the_nearest_half() {
        let (magnitudes, mut random) = (magnitudes(), Random::new(16));
        for _ in 0..200_000 {
            // Exponents from the denormals' end to beyond the overflow, and any fraction.
            let exponent = u64::from(random.below(45)) + 1023 - 28;
            let bits = (random.next() & 0x800F_FFFF_FFFF_FFFF) | (exponent << 52);
            let value = f64::from_bits(bits);
            assert_eq!(half_bits(value), nearest(&magnitudes, value.clamp(-65536.0, 65536.0)), "{value:e}");
        }
    }

    #[test]
    fn powers_of_two_are_exact_to_the_last_denormal() {
        assert_eq!(
            [power_of_two(-1075), power_of_two(-1074), power_of_two(0)],
            [0.0, f64::from_bits(1), 1.0]
        );
        for n in -1074..1030 {
            assert_eq!(power_of_two(n + 1), 2.0 * power_of_two(n), "{n}");
        }
        assert_eq!([exponent_of(1.0), exponent_of(0.75), exponent_of(power_of_two(-1060))], [0, -1, -1060]);
    }
}
