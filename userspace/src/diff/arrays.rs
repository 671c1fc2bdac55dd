//! Two arrays of halves, an element at a time.

use half::f16;

use super::Comparison;
use crate::count::count;

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
    compare_each((a_shape, a.iter().copied()), (b_shape, b.iter().copied()), tolerance)
}

/// The same of elements that come one after the other.
pub fn compare_each(
    (a_shape, a): (&[u64], impl Iterator<Item = f16>),
    (b_shape, b): (&[u64], impl Iterator<Item = f16>),
    tolerance: Tolerance,
) -> Comparison {
    let mut found = Comparison::default();
    if a_shape != b_shape {
        found.differs("shape", format!("{a_shape:?}"), format!("{b_shape:?}"));
        return found;
    }
    let (mut furthest, mut widest, mut unequal, mut all) = (0, 0.0_f64, 0_u64, 0);
    for (index, (a, b)) in a.zip(b).enumerate() {
        all = index + 1;
        if (a.is_nan() && b.is_nan()) || a == b {
            continue;
        }
        unequal += 1;
        let apart = distance(a, b);
        let gap = (a.to_f64() - b.to_f64()).abs();
        furthest = furthest.max(apart);
        // A NaN has no distance.
        widest = if gap.is_finite() { widest.max(gap) } else { widest };
        if apart > tolerance.ulps && (gap.is_nan() || gap > tolerance.absolute) {
            let place = format!("element {:?}", indices(a_shape, index as u64));
            found.differs(place, told(a), told(b));
        }
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

fn told(value: f16) -> String {
    format!("{value} ({:#06x})", value.to_bits())
}

/// How many halves lie between the two, with one of them; everything that is no number is far from everything.
pub fn distance(a: f16, b: f16) -> u32 {
    if a.is_nan() || b.is_nan() {
        return if a.is_nan() && b.is_nan() { 0 } else { u32::MAX };
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
        let loose = Tolerance { ulps: 100, absolute: 1e9 };
        for odd in [f16::INFINITY, f16::NAN] {
            assert_eq!(compare(&[1], &[half(1.0)], &[1], &[odd], loose).count, 1);
            assert!(compare(&[1], &[odd], &[1], &[odd], Tolerance::default()).is_same());
        }
    }

    #[test]
    fn shapes_are_compared_first() {
        let found = compare(&[2, 1], &[f16::ONE; 2], &[1, 2], &[f16::ZERO; 2], Tolerance::default());
        assert_eq!((found.count, found.differences[0].place.as_str()), (1, "shape"));
    }
}
