//! Which numbers of a pass are small, so that products of theirs are looked at, and no others (see `kernels/sparse.rs`).
//!
//! A product is dropped if the exponents of its factors add up to -17 or less. Wherever a limit is put between small
//! and other coefficients, it follows which operands are small: so that of two that are not, no product is dropped, and of
//! two that are, every one. Where it is put changes nothing but the time it takes, so that a sample of the numbers decides.

use crate::engine::kernels::Dropped;
use crate::engine::numerics::halves::Operand;

/// Below which magnitudes numbers are small. Their product is 2^-16.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Split {
    pub(super) coefficients: f32,
    pub(super) operands: f32,
}

/// Halves that are looked at.
const SAMPLE: usize = 2048;
/// Exponents that a half can have.
const EXPONENTS: usize = 32;
/// What the products of a small operand cost, in products of others.
const OPERAND: f32 = 16.0;
/// The same for a small coefficient.
const COEFFICIENT: f32 = 3.0;
/// What it may cost: to look at each product costs as much as another, and to find small numbers something as well.
const WORTH: f32 = 0.75;
/// Products, of so many coefficients and columns, that take as long as those of one small number.
const PRODUCTS: usize = 128;

#[expect(clippy::arithmetic_side_effects, reason = "exponents of halves are small")]
impl Split {
    /// The cheapest limit, if there is one that is worth it.
    pub(super) fn new(operands: &[u16], coefficients: &[u16]) -> Option<Self> {
        let (operands, coefficients) = (shares(operands), shares(coefficients));
        // The largest exponent of a small coefficient: -15 if none is.
        let costs = (-15..=-3_i8).map(|exponent| {
            let cost =
                OPERAND * upto(&operands, -18 - exponent) + COEFFICIENT * upto(&coefficients, exponent);
            (exponent, cost)
        });
        let (exponent, _) = costs.filter(|&(_, cost)| cost < WORTH).min_by(|a, b| a.1.total_cmp(&b.1))?;
        let above = |exponent: i8| if exponent < -14 { 0.0 } else { 2f32.powi(i32::from(exponent) + 1) };
        Some(Self { coefficients: above(exponent), operands: above(-18 - exponent) })
    }
}

/// Whether it is worth it for these, among so many products: what a sample says of all need not be so everywhere.
pub(super) fn is_worth(dropped: Dropped<'_>, products: usize) -> bool {
    dropped.coefficients.len().saturating_add(dropped.operands.len()).saturating_mul(PRODUCTS) < products
}

/// How much of some halves has each exponent, the smallest first, and is not zero.
fn shares(halves: &[u16]) -> [f32; EXPONENTS] {
    let mut shares = [0.0; EXPONENTS];
    let step = halves.len().div_ceil(SAMPLE).max(1);
    // A step that shares a factor with the width of rows would look at few columns.
    let sample = || halves.iter().step_by(step | 1);
    let one = 1.0 / sample().count().max(1) as f32;
    for half in sample().filter(|&half| half & 0x7fff != 0) {
        let place = usize::try_from(Operand::new(*half).exponent.saturating_add(14)).ok();
        if let Some(share) = place.and_then(|place| shares.get_mut(place)) {
            *share += one;
        }
    }
    shares
}

/// How much has this exponent or a smaller one.
fn upto(shares: &[f32; EXPONENTS], exponent: i8) -> f32 {
    let count = usize::try_from(exponent.saturating_add(15)).unwrap_or_default();
    shares.iter().take(count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_leave_no_product_in_doubt_but_those_of_a_small_number_and_another() {
        // Operands are spread widely, coefficients are around 2^-5.
        let operands: Vec<u16> = (0..4000u16).map(|i| 0x3c00 + (i % 0x800)).collect();
        let coefficients: Vec<u16> = (0..4000u16).map(|i| 0x2800 + (i % 0x400)).collect();
        let split = Split::new(&operands, &coefficients).unwrap();
        assert_eq!(
            split.coefficients.max(2f32.powi(-14)) * split.operands.max(2f32.powi(-14)),
            2f32.powi(-16)
        );
    }

    #[test]
    fn numbers_that_are_small_in_great_number_are_not_taken_out() {
        let halves: Vec<u16> = (0..100).map(|i| if i % 3 == 0 { 0x1000 } else { 0x2000 }).collect();
        assert_eq!(Split::new(&halves, &halves), None);
    }
}
