//! One output of the array at a time, by the definition of its products and sums (`numerics`).
//!
//! This is what all kernels are compared with, and what computes passes that are too small to prepare anything for.

use super::shape::Shape;
use crate::engine::numerics::sum::Tap;
use crate::engine::numerics::{Numerics, halves, product, sum};

/// A pass and its data, read number by number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Definition<'a> {
    pub(super) shape: &'a Shape,
    pub(super) input: &'a [u16],
    /// None if each is one.
    pub(super) coefficients: Option<&'a [u16]>,
    /// The first value of each sum, if not zero.
    pub(super) bias: Option<&'a [u16]>,
}

impl Definition<'_> {
    /// The sum of an output; `taps` is room to work in.
    pub(super) fn sum(&self, numerics: Numerics, output: usize, pixel: usize, taps: &mut Vec<Tap>) -> f64 {
        taps.clear();
        taps.extend(
            (0..self.shape.taps())
                .map(|tap| (self.operand(output, pixel, tap), self.coefficient(output, tap))),
        );
        sum::of(numerics, self.bias(output), taps)
    }

    fn bias(&self, output: usize) -> Option<u16> {
        self.bias.and_then(|bias| bias.get(output).copied())
    }

    /// The first value of an output's sums, in units.
    pub(super) fn begin(&self, output: usize) -> i64 {
        self.bias(output).map_or(0, |bias| product::of(bias, halves::ONE))
    }

    /// The operand of a tap; padding is zero.
    pub(super) fn operand(&self, output: usize, pixel: usize, tap: usize) -> u16 {
        let group = output.checked_div(self.shape.group_outputs).unwrap_or_default();
        let place = self.shape.operand(group, pixel, tap);
        place.and_then(|place| self.input.get(place)).copied().unwrap_or_default()
    }

    fn coefficient(&self, output: usize, tap: usize) -> u16 {
        let Some(all) = self.coefficients else { return halves::ONE };
        all.get(self.shape.coefficient(output, tap)).copied().unwrap_or_default()
    }
}
