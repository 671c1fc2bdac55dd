//! Products: the first step of the array.

use super::halves;

/// Products are rounded to fp16 before they are added.
///
/// Deviation: inferred. The decompiled datapath speaks of an fp16 product; the published probes multiply by one and
/// cannot tell (numerics 3). Without the rounding a product is exact; what would be denormal is +0 either way.
/// The kernels know rounded products only; without the rounding, everything is computed one output at a time.
pub const ROUNDED: bool = true;

/// Operand times coefficient, as the adders see it.
///
/// The product of two halves has at most 22 digits, so a single holds it exactly and it is rounded once.
#[must_use]
pub fn of(operand: f32, coefficient: f32) -> f32 {
    let product = halves::or_zero(operand * coefficient);
    let rounded = if ROUNDED { halves::value(halves::from_f32(product)) } else { product };
    halves::flush(rounded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn product_just_below_the_normal_halves_is_rounded_before_it_is_flushed() {
        // 2047/2048 of 2^-14 lies halfway between the largest denormal and 2^-14, which is even.
        let operand = 2047.0 / 2048.0;
        assert_eq!(of(operand, halves::SMALLEST_NORMAL), halves::SMALLEST_NORMAL);
        assert_eq!(of(2046.0 / 2048.0, halves::SMALLEST_NORMAL), 0.0);
    }

    #[test]
    fn zero_times_infinity_is_positive_zero() {
        assert_eq!(of(-0.0, f32::INFINITY).to_bits(), 0);
    }

    #[test]
    fn product_beyond_the_halves_is_infinite() {
        assert_eq!(of(256.0, -256.0), f32::NEG_INFINITY);
        assert_eq!(of(255.875, 256.0), 65504.0);
    }
}
