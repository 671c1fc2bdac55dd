//! Two arrays, an element at a time.
//!
//! Halves are compared as halves. So is an array of other numbers with one of halves, whose elements are rounded to halves first: that is
//! how a result meets its reference. Two arrays of other numbers are compared as doubles, in which whole numbers beyond 2^53 are
//! rounded.

use half::f16;

use super::Comparison;
use crate::count::count;
use crate::tensor::nearest_half;

/// How far apart two elements may be and still count for the same. Either bound is enough.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tolerance {
    /// In units of the last place.
    pub ulps: u32,
    pub absolute: f64,
}

/// Compares the elements of two arrays of the shapes.
///
/// Any two things that are no number are the same, and so are the two zeros; for the rest the bits count.
///
/// # Examples
///
/// ```
/// use ane::diff::arrays::{Tolerance, compare};
/// use half::f16;
///
/// let a = [1.0, 2.0].map(f16::from_f32);
/// let b = [f16::from_bits(a[0].to_bits() + 1), a[1]];
/// assert_eq!(compare(&[2], &a, &[2], &b, Tolerance::default()).count, 1);
/// assert!(compare(&[2], &a, &[2], &b, Tolerance { ulps: 1, absolute: 0.0 }).is_same());
/// ```
pub fn compare(a_shape: &[u64], a: &[f16], b_shape: &[u64], b: &[f16], tolerance: Tolerance) -> Comparison {
    let elements = |halves| <[f16]>::iter(halves).copied().map(Element::Half);
    compare_each((a_shape, elements(a)), (b_shape, elements(b)), tolerance)
}

/// An element of an array.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Element {
    Half(f16),
    /// A number of another kind.
    Other(f64),
}

impl Element {
    fn value(self) -> f64 {
        match self {
            Self::Half(half) => half.to_f64(),
            Self::Other(value) => value,
        }
    }

    /// The nearest half; `None` if the number is beyond all of them.
    fn half(self) -> Option<f16> {
        match self {
            Self::Half(half) => Some(half),
            Self::Other(value) => {
                let half = nearest_half(value);
                (half.is_finite() || !value.is_finite()).then_some(half)
            }
        }
    }

    /// This one as it is compared with the other, and whether that is another value.
    fn beside(self, other: Self) -> (Self, bool) {
        match (self, other, self.half()) {
            (Self::Other(value), Self::Half(_), Some(half)) => {
                let is_rounded = half.to_f64() != value && !value.is_nan();
                (Self::Half(half), is_rounded)
            }
            _ => (self, false),
        }
    }

    fn told(self) -> String {
        match self {
            Self::Half(half) => format!("{half} ({:#06x})", half.to_bits()),
            Self::Other(value) => format!("{value}"),
        }
    }
}

/// The same of elements that come one after the other.
pub fn compare_each(
    (a_shape, a): (&[u64], impl Iterator<Item = Element>),
    (b_shape, b): (&[u64], impl Iterator<Item = Element>),
    tolerance: Tolerance,
) -> Comparison {
    let mut found = Comparison::default();
    if a_shape != b_shape {
        found.differs("shape", format!("{a_shape:?}"), format!("{b_shape:?}"));
        return found;
    }
    let (mut furthest, mut widest, mut unequal, mut rounded, mut all) = (0, 0.0_f64, 0_u64, 0_u64, 0);
    for (index, (a, b)) in a.zip(b).enumerate() {
        all = index + 1;
        let ((a, is_a_rounded), (b, is_b_rounded)) = (a.beside(b), b.beside(a));
        rounded += u64::from(is_a_rounded || is_b_rounded);
        let (first, second) = (a.value(), b.value());
        if (first.is_nan() && second.is_nan()) || first == second {
            continue;
        }
        unequal += 1;
        // Other numbers may lie between two halves.
        let apart = a.half().zip(b.half()).map_or(u32::MAX, |(a, b)| distance(a, b).max(1));
        let gap = (first - second).abs();
        furthest = furthest.max(apart);
        // A NaN has no distance, and `max` leaves it out.
        widest = widest.max(gap);
        let is_near = gap.is_finite() && gap <= tolerance.absolute;
        if apart > tolerance.ulps && !is_near {
            let place = format!("element {:?}", indices(a_shape, index as u64));
            found.differs(place, a.told(), b.told());
        }
    }
    if rounded > 0 {
        found.notes.push(format!("{} rounded to fp16, as the other array has it", count(rounded, "element")));
    }
    if unequal > 0 {
        found.notes.push(format!(
            "{unequal} of {} not equal, at most {} of the last place and {widest:.6} apart",
            count(all, "element"),
            count(furthest, "unit")
        ));
    }
    found
}

/// How many halves lie between the two, with one of them. What is no number and what is infinite is far from everything but its like:
/// a result that overflowed is not close to the largest half.
pub fn distance(a: f16, b: f16) -> u32 {
    if !a.is_finite() || !b.is_finite() {
        return if a == b || (a.is_nan() && b.is_nan()) { 0 } else { u32::MAX };
    }
    let rank = |value: f16| {
        let magnitude = i32::from(value.to_bits() & 0x7fff);
        if value.is_sign_negative() { -magnitude } else { magnitude }
    };
    rank(a).abs_diff(rank(b))
}

fn indices(shape: &[u64], mut index: u64) -> Vec<u64> {
    let mut place: Vec<u64> = shape
        .iter()
        .rev()
        .map(|&extent| {
            let here = index % extent.max(1);
            index /= extent.max(1);
            here
        })
        .collect();
    place.reverse();
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    fn half(value: f32) -> f16 {
        f16::from_f32(value)
    }

    #[test]
    fn distance_counts_halves_across_zero() {
        let smallest = f16::from_bits(1);
        assert_eq!(distance(smallest, -smallest), 2);
        assert_eq!(distance(half(0.0), half(-0.0)), 0);
        assert_eq!(distance(half(2.0), f16::from_bits(half(2.0).to_bits() - 3)), 3);
        assert_eq!(distance(f16::NAN, half(1.0)), u32::MAX);
        assert_eq!(distance(f16::NAN, -f16::NAN), 0);
        assert_eq!(distance(f16::INFINITY, f16::INFINITY), 0);
        assert_eq!(distance(f16::INFINITY, f16::MAX), u32::MAX);
        assert_eq!(distance(f16::INFINITY, f16::NEG_INFINITY), u32::MAX);
    }

    #[test]
    fn differing_element_is_named_by_its_place() {
        let a = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0].map(half);
        let mut b = a;
        b[4] = half(4.5);
        let found = compare(&[2, 3], &a, &[2, 3], &b, Tolerance::default());
        assert_eq!(found.count, 1);
        assert_eq!(found.differences[0].place, "element [1, 1]");
        assert_eq!(found.differences[0].b, "4.5 (0x4480)");
        assert_eq!(
            found.notes,
            ["1 of 6 elements not equal, at most 128 units of the last place and 0.500000 apart"]
        );
        assert!(compare(&[2, 3], &a, &[2, 3], &b, Tolerance { ulps: 0, absolute: 0.5 }).is_same());
    }

    #[test]
    fn infinity_and_no_number_differ_from_every_number() {
        for (loose, number) in [
            (Tolerance { ulps: 100, absolute: 1e9 }, half(1.0)),
            (Tolerance { ulps: 1, absolute: 0.0 }, f16::MAX),
            (Tolerance { ulps: 100_000, absolute: f64::INFINITY }, -f16::MAX),
        ] {
            for odd in [f16::INFINITY, f16::NEG_INFINITY, f16::NAN] {
                assert_eq!(compare(&[1], &[number], &[1], &[odd], loose).count, 1, "{number} {odd}");
            }
        }
        for odd in [f16::INFINITY, f16::NAN] {
            assert!(compare(&[1], &[odd], &[1], &[odd], Tolerance::default()).is_same());
        }
    }

    /// Compares an array of other numbers with one of halves, or with another of those.
    fn of_others(a: &[f64], b: &[f64], is_b_half: bool, tolerance: Tolerance) -> Comparison {
        let shape = [a.len() as u64];
        let element = |value: &f64| {
            if is_b_half { Element::Half(nearest_half(*value)) } else { Element::Other(*value) }
        };
        let a = a.iter().map(|&value| Element::Other(value));
        compare_each((&shape, a), (&shape, b.iter().map(element)), tolerance)
    }

    #[test]
    fn other_numbers_are_compared_as_they_are() {
        let exact = Tolerance::default();
        let found = of_others(&[1e5, 2e6, 1e-9, f64::NAN], &[9e5, 7e30, -2e-8, f64::NAN], false, exact);
        assert_eq!(found.count, 3);
        assert_eq!((found.differences[0].a.as_str(), found.differences[0].b.as_str()), ("100000", "900000"));
        assert_eq!(of_others(&[2049.0], &[2048.0], false, exact).count, 1);
        assert!(of_others(&[2049.0], &[2048.0], false, Tolerance { ulps: 1, absolute: 0.0 }).is_same());
        let loose = Tolerance { ulps: 100, absolute: 0.0 };
        assert_eq!(of_others(&[1e5], &[9e5], false, loose).count, 1, "no half is near");
    }

    #[test]
    fn other_numbers_beside_halves_are_rounded_and_that_is_said() {
        let exact = Tolerance::default();
        let found = of_others(&[0.1, 1.0], &[0.1, 1.0], true, exact);
        assert!(found.is_same());
        assert_eq!(found.notes, ["1 element rounded to fp16, as the other array has it"]);
        assert_eq!(of_others(&[1e5], &[f64::INFINITY], true, exact).count, 1);
        assert!(of_others(&[f64::INFINITY], &[f64::INFINITY], true, exact).notes.is_empty());
    }

    #[test]
    fn tolerance_that_is_no_number_accepts_nothing() {
        let tolerance = Tolerance { ulps: 0, absolute: f64::NAN };
        assert_eq!(compare(&[1], &[half(1.0)], &[1], &[half(2.0)], tolerance).count, 1);
    }

    #[test]
    fn shapes_are_compared_first() {
        let found = compare(&[2, 1], &[f16::ONE; 2], &[1, 2], &[f16::ZERO; 2], Tolerance::default());
        assert_eq!((found.count, found.differences[0].place.as_str()), (1, "shape"));
    }
}
