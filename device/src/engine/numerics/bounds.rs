//! Bounds of results that are not below zero: ReLU, and a clip behind it.

use super::halves::SIGN;

/// The smallest and the largest half that a result may be.
///
/// As whole numbers, halves without a sign are in order, and those with one lie below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub(in crate::engine) low: i16,
    pub(in crate::engine) high: i16,
}

impl Bounds {
    pub const NONE: Self = Self { low: i16::MIN, high: i16::MAX };

    pub const RELU: Self = Self { low: 0, ..Self::NONE };

    /// Bounds with a sign are none of this kind.
    #[must_use]
    pub const fn new(low: u16, high: u16) -> Option<Self> {
        if (low | high) & SIGN != 0 {
            return None;
        }
        Some(Self { low: low.cast_signed(), high: high.cast_signed() })
    }

    /// The half that takes the place of one that is no NaN.
    #[must_use]
    #[inline(always)]
    pub fn of(self, half: u16) -> u16 {
        half.cast_signed().max(self.low).min(self.high).cast_unsigned()
    }
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;

    #[test]
    fn every_half_but_a_nan_is_kept_within_the_bounds() {
        let (low, high) = (f16::from_f32(0.5), f16::from_f32(6.0));
        let bounds = Bounds::new(low.to_bits(), high.to_bits()).unwrap();
        let relu = |half: u16| if half & SIGN == 0 { half } else { 0 };
        for half in (0..=u16::MAX).map(f16::from_bits).filter(|half| !half.is_nan()) {
            assert_eq!(bounds.of(half.to_bits()), half.max(low).min(high).to_bits(), "{half}");
            assert_eq!(Bounds::RELU.of(half.to_bits()), relu(half.to_bits()), "{half}");
            assert_eq!(Bounds::NONE.of(half.to_bits()), half.to_bits(), "{half}");
        }
        assert_eq!(Bounds::new(0x8000, 0), None);
    }
}
