//! Compares what came out with what is expected.

use sha2::{Digest, Sha256};

use super::case::{Tolerance, hex};
use super::record::{Outcome, Verdict};
use crate::container::Element;
use crate::tensor::{Tensor, nearest_half};

/// An output, as it came out.
#[derive(Clone, Debug)]
pub struct Got {
    /// Name of the surface.
    pub name: String,
    /// The extents of its arrays.
    pub extents: Vec<usize>,
    pub element: Element,
    pub tensor: Tensor,
}

/// SHA-256 of all outputs in their order, each as dense little-endian elements of its own kind.
pub fn sha256(outputs: &[Got]) -> String {
    let mut digest = Sha256::new();
    for output in outputs {
        let values = output.tensor.values().iter();
        match output.element {
            Element::Byte => values.for_each(|value| digest.update([value.to_f32() as u8])),
            Element::Half | Element::Other(_) => {
                // In pieces: one call for each element would cost more than what it is for.
                let bytes: Vec<u8> = values.flat_map(|value| value.to_le_bytes()).collect();
                digest.update(bytes);
            }
        }
    }
    hex(digest.finalize().iter())
}

/// Compares one output with what is expected of it, and puts what is found into the outcome.
pub fn compare(got: &Got, wanted: &[f64], tolerance: Tolerance, outcome: &mut Outcome) {
    let values = got.tensor.values();
    if values.len() != wanted.len() {
        let what =
            format!("output {:?} has {} elements, {} are expected", got.name, values.len(), wanted.len());
        *outcome = Outcome { sha256: outcome.sha256.take(), ..Outcome::because(Verdict::Error, what) };
        return;
    }
    let (mut wrong, mut first, mut largest) = (0_u64, None, outcome.max_error.unwrap_or(0.0));
    for (place, (value, &wanted)) in values.iter().zip(wanted).enumerate() {
        let (value, wanted) = (value.to_f64(), as_half_allows(wanted));
        let is_near = if value.is_nan() || wanted.is_nan() {
            value.is_nan() && wanted.is_nan()
        } else if value.is_infinite() || wanted.is_infinite() {
            value == wanted
        } else {
            let error = (value - wanted).abs();
            largest = f64::max(largest, error);
            error <= tolerance.absolute + tolerance.relative * wanted.abs()
        };
        if !is_near {
            wrong += 1;
            first.get_or_insert((place, value, wanted));
        }
    }
    outcome.max_error = Some(largest);
    if let Some((place, value, wanted)) = first {
        outcome.verdict = Verdict::Wrong;
        let before = outcome.wrong_elements.unwrap_or(0);
        outcome.wrong_elements = Some(before.saturating_add(wrong));
        outcome.reason.get_or_insert_with(|| {
            format!("output {:?}: element {place} is {value}, {wanted} is expected", got.name)
        });
    }
}

/// The number, or infinity if it is beyond the largest half.
fn as_half_allows(wanted: f64) -> f64 {
    let half = nearest_half(wanted);
    if half.is_infinite() { half.to_f64() } else { wanted }
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;
    use crate::container::Axes;

    fn got(values: &[f32]) -> Got {
        let shape = Axes { n: 1, c: 1, h: 1, w: values.len() as u32 };
        let extents = vec![values.len()];
        let values = values.iter().map(|&value| f16::from_f32(value)).collect();
        let tensor = Tensor::new(shape, values).unwrap();
        Got { name: "y".to_owned(), extents, element: Element::Half, tensor }
    }

    fn outcome(values: &[f32], wanted: &[f64], absolute: f64) -> Outcome {
        let mut outcome = Outcome::of(Verdict::Passed);
        compare(&got(values), wanted, Tolerance { absolute, relative: 0.0 }, &mut outcome);
        outcome
    }

    #[test]
    fn elements_beyond_the_tolerance_are_counted_and_the_first_is_named() {
        let outcome = outcome(&[1.0, 2.0, 3.0], &[1.0, 2.25, 4.0], 0.125);
        assert_eq!(
            (outcome.verdict, outcome.wrong_elements, outcome.max_error),
            (Verdict::Wrong, Some(2), Some(1.0))
        );
        assert_eq!(outcome.reason.unwrap(), "output \"y\": element 1 is 2, 2.25 is expected");
    }

    #[test]
    fn what_is_no_number_and_infinities_have_to_be_met() {
        let same = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
        // 70000 is infinite as a half.
        assert_eq!(outcome(&same, &[f64::NAN, 70_000.0, f64::NEG_INFINITY], 0.0).verdict, Verdict::Passed);
        for wanted in [[0.0, 0.0, 0.0], [f64::NAN, f64::NAN, f64::NEG_INFINITY]] {
            assert_eq!(outcome(&same, &wanted, 1e9).verdict, Verdict::Wrong);
        }
        assert_eq!(outcome(&[1.0], &[1.0, 2.0], 9.0).verdict, Verdict::Error);
    }

    #[test]
    fn hash_is_that_of_the_elements_as_they_lie_in_an_array() {
        // SHA-256 of the bytes 00 3c 00 c0.
        let hash = sha256(&[got(&[1.0, -2.0])]);
        assert_eq!(hash, hex(Sha256::digest([0x00, 0x3c, 0x00, 0xc0]).iter()));
        let bytes = Got { element: Element::Byte, ..got(&[1.0, 255.0]) };
        assert_eq!(sha256(&[bytes]), hex(Sha256::digest([1, 255]).iter()));
    }
}
