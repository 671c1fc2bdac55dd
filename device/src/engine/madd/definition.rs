//! One output at a time, straight from the definition.
//!
//! This is what all kernels are compared with, and what computes again the few outputs that a kernel could not
//! vouch for: those that met an infinity or came near a limit.

use super::shape::Shape;
use crate::engine::numerics::{Numerics, halves, sum};

/// A pass and its data, read number by number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Definition<'a> {
    pub(super) shape: &'a Shape,
    pub(super) input: &'a [u16],
    /// None if each is one.
    pub(super) coefficients: Option<&'a [u16]>,
}

impl Definition<'_> {
    /// The sum of an output; `taps` is room to work in.
    pub(super) fn sum(
        &self,
        numerics: Numerics,
        output: usize,
        pixel: usize,
        taps: &mut Vec<(f32, f32)>,
    ) -> f64 {
        taps.clear();
        taps.extend(
            (0..self.shape.taps())
                .map(|tap| (self.operand(output, pixel, tap), self.coefficient(output, tap))),
        );
        sum::of(numerics, taps)
    }

    pub(super) fn operand(&self, output: usize, pixel: usize, tap: usize) -> f32 {
        let group = output.checked_div(self.shape.group_outputs).unwrap_or_default();
        let place = self.shape.operand(group, pixel, tap);
        place.and_then(|place| self.input.get(place)).map_or(0.0, |&bits| halves::value(bits))
    }

    fn coefficient(&self, output: usize, tap: usize) -> f32 {
        let Some(all) = self.coefficients else { return 1.0 };
        all.get(self.shape.coefficient(output, tap)).map_or(0.0, |&bits| halves::value(bits))
    }
}
