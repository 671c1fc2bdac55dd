//! Numbers as halves, and what that changes of them.

use half::f16;
use thiserror::Error;

/// The half that is nearest to a number; of two that are equally near, the even one.
///
/// `f16::from_f64` of the crate `half` goes by way of a single where the processor converts those, which rounds twice, and leaves out
/// the last bits where it does not.
#[expect(clippy::cast_possible_truncation, reason = "a single that is odd tells the bits which it left out")]
pub fn nearest_half(value: f64) -> f16 {
    let nearest = value as f32;
    if f64::from(nearest) == value || !nearest.is_finite() {
        return f16::from_f32(nearest);
    }
    // Cut off instead of rounded, and made odd: that is no tie of two halves, and on the same side of each tie as the number.
    let is_beyond = f64::from(nearest).abs() > value.abs();
    let cut_off = nearest.to_bits().saturating_sub(u32::from(is_beyond));
    f16::from_f32(f32::from_bits(cut_off | 1))
}

/// True if a text such as `1e400` became infinite when it was parsed: nobody who writes digits means infinity.
pub(crate) fn overflows(text: &str, number: f64) -> bool {
    number.is_infinite() && text.contains(|digit: char| digit.is_ascii_digit())
}

/// The changes to the numbers in the conversion to halves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conversion {
    /// Elements that a half does not hold exactly, and are rounded.
    pub rounded: u64,
    /// Elements beyond the largest half, of which infinities are made.
    pub overflowed: u64,
    /// Elements that are no numbers.
    pub nans: u64,
    /// Place of the first of those in the dense order.
    pub first_nan: Option<u64>,
}

/// A number that as a half would be another thing than what its user wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Unfit {
    #[error("is beyond 65504, the largest half, and would be infinite: write inf if that is meant")]
    Beyond,
    #[error("is so small that a half of it is 0: the smallest is 6e-8, and 0 has to be written as 0")]
    Vanished,
}

impl Conversion {
    /// The nearest half, ties to even; the change is counted.
    ///
    /// # Examples
    ///
    /// ```
    /// use ane::tensor::Conversion;
    /// use half::f16;
    ///
    /// let mut conversion = Conversion::default();
    /// assert_eq!([0.5, 0.1, 1e6].map(|value| conversion.half(value))[2], f16::INFINITY);
    /// assert_eq!(conversion.words().unwrap(), "1 rounded, 1 beyond the largest half");
    /// ```
    pub fn half(&mut self, value: f64) -> f16 {
        let half = nearest_half(value);
        self.nans += u64::from(value.is_nan());
        self.overflowed += u64::from(half.is_infinite() && value.is_finite());
        self.rounded += u64::from(half.is_finite() && half.to_f64() != value);
        half
    }

    /// The same of a number that may be rounded, and not become infinite.
    pub fn bounded(&mut self, value: f64) -> Result<f16, Unfit> {
        let half = nearest_half(value);
        if half.is_infinite() && value.is_finite() { Err(Unfit::Beyond) } else { Ok(self.half(value)) }
    }

    /// The same of a number that divides in the end, and may not become 0 either.
    pub fn epsilon(&mut self, value: f64) -> Result<f16, Unfit> {
        let vanishes = value != 0.0 && nearest_half(value).to_f64() == 0.0;
        if vanishes { Err(Unfit::Vanished) } else { self.bounded(value) }
    }

    /// The numbers that changed, for people; `None` if none did. Those that were no numbers still are none.
    pub fn words(&self) -> Option<String> {
        let each = [(self.rounded, "rounded"), (self.overflowed, "beyond the largest half")];
        let words = each.into_iter().filter(|(count, _)| *count > 0);
        let words: Vec<_> = words.map(|(count, what)| format!("{count} {what}")).collect();
        (!words.is_empty()).then(|| words.join(", "))
    }
}

impl std::ops::AddAssign for Conversion {
    /// The changes of both; the places are those of the first.
    fn add_assign(&mut self, other: Self) {
        self.rounded += other.rounded;
        self.overflowed += other.overflowed;
        self.nans += other.nans;
        self.first_nan = self.first_nan.or(other.first_nan);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_is_the_nearest_by_distance() {
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = || {
            random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            random
        };
        // Each half and its neighbour have a middle; numbers in it and closely around it, and any others.
        for bits in 0..0x7bff_u16 {
            let [low, high] = [bits, bits + 1].map(|bits| f16::from_bits(bits).to_f64());
            let middle = low.midpoint(high);
            let even = f16::from_bits(bits + (bits & 1));
            let part = (next() >> 11) as f64 / (1u64 << 53) as f64;
            for (value, wanted) in [
                (low, f16::from_bits(bits)),
                (middle, even),
                (middle.next_down(), f16::from_bits(bits)),
                (middle.next_up(), f16::from_bits(bits + 1)),
                (low + (middle - low) * part, f16::from_bits(bits)),
            ] {
                let is_middle = value == middle;
                let wanted = if is_middle { even } else { wanted };
                assert_eq!(nearest_half(value).to_bits(), wanted.to_bits(), "{value:e}");
                assert_eq!(nearest_half(-value).to_bits(), (-wanted).to_bits(), "-{value:e}");
            }
        }
    }

    #[test]
    fn half_of_what_is_beyond_every_half() {
        let [largest, tie] = [f16::MAX.to_f64(), 65_520.0];
        assert_eq!([largest, tie.next_down()].map(nearest_half), [f16::MAX; 2]);
        for value in [tie, tie.next_up(), 1e6, f64::from(f32::MAX) * 2.0, f64::MAX, f64::INFINITY] {
            assert_eq!([value, -value].map(nearest_half), [f16::INFINITY, f16::NEG_INFINITY], "{value:e}");
        }
        let smallest = 2f64.powi(-25);
        assert_eq!([smallest, smallest.next_up()].map(nearest_half), [f16::ZERO, f16::from_bits(1)]);
        for value in [f64::MIN_POSITIVE, 5e-324, 1e-46, 1e-40] {
            assert_eq!([value, -value].map(|value| nearest_half(value).to_bits()), [0, 0x8000], "{value:e}");
        }
        assert!(nearest_half(f64::NAN).is_nan());
    }

    #[test]
    fn number_that_becomes_another_thing_is_unfit_and_is_not_counted() {
        let mut conversion = Conversion::default();
        for value in [65_520.0, -1e6, f64::MAX] {
            assert_eq!(conversion.bounded(value), Err(Unfit::Beyond), "{value}");
            assert_eq!(conversion.epsilon(value), Err(Unfit::Beyond), "{value}");
        }
        for value in [1e-12, -2.0_f64.powi(-25), f64::MIN_POSITIVE] {
            assert_eq!(conversion.epsilon(value), Err(Unfit::Vanished), "{value}");
        }
        assert_eq!(conversion, Conversion::default());
    }

    #[test]
    fn digits_beyond_every_double_are_told_from_infinity() {
        let of = |text: &str| overflows(text, text.parse().unwrap());
        assert!(of("1e400") && of("-1e400") && !of("inf") && !of("-infinity") && !of("1e300"));
    }

    #[test]
    fn number_that_is_rounded_or_meant_is_fit() {
        let mut conversion = Conversion::default();
        assert_eq!(conversion.bounded(65_519.0), Ok(f16::MAX));
        assert_eq!(conversion.bounded(1e-12), Ok(f16::ZERO));
        assert_eq!(conversion.words().as_deref(), Some("2 rounded"));
        assert_eq!(conversion.bounded(f64::NEG_INFINITY), Ok(f16::NEG_INFINITY));
        assert!(conversion.bounded(f64::NAN).is_ok_and(f16::is_nan));
        assert_eq!(conversion.epsilon(0.0), Ok(f16::ZERO));
        assert_eq!(conversion.epsilon(6e-8), Ok(f16::from_bits(1)));
        assert_eq!((conversion.rounded, conversion.overflowed, conversion.nans), (3, 0, 1));
    }
}
