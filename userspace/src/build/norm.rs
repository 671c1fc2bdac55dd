//! Normalisation: mean and deviation by reductions, then `(x - mean) * rstd` (td 8.1, 8.3).

use ane_uapi::hw::td::planar::PostFunction;
use half::f16;

use super::elementwise::Element;
use super::error::Result;
use super::graph::{Graph, Tensor};
use super::reduce::{Over, Reduce};
use super::shape::Shape;

const SQUARED_DIFFERENCE: Element = Element { negate_second: true, ..Element::SUM_SQUARED };

impl Graph {
    /// Layer norm over everything: one mean and one deviation, by three tasks.
    ///
    /// The tensor is taken for one channel, so it and the result lie in memory.
    ///
    /// # Errors
    ///
    /// Refuses parts of tensors, and more rows in all channels together than 15 bits count.
    pub fn layer_norm(&mut self, x: Tensor, epsilon: f16) -> Result<Tensor> {
        let shape = self.shape(x)?;
        let folded = self.fold(x)?;
        let result = self.intermediate("layer norm", shape)?;
        let place = self.fold(result)?;
        self.normalise_planes(place, folded, epsilon)?;
        Ok(result)
    }

    /// Instance norm: a mean and a deviation for each channel.
    pub fn instance_norm(&mut self, x: Tensor, epsilon: f16) -> Result<Tensor> {
        let shape = self.shape(x)?;
        let result = self.intermediate("instance norm", shape)?;
        self.normalise_planes(result, x, epsilon)?;
        Ok(result)
    }

    /// Layer norm over the columns, with a factor and an addend for each.
    ///
    /// # Errors
    ///
    /// Refuses factors or addends that do not stretch.
    pub fn layer_norm_columns(
        &mut self,
        x: Tensor,
        gamma: Tensor,
        beta: Tensor,
        epsilon: f16,
    ) -> Result<Tensor> {
        let deviation = Reduce::MEAN.then(epsilon, PostFunction::ReciprocalSquareRoot);
        let mean = self.reduce(x, Element::COPY, Reduce::MEAN, Over::Columns)?;
        let centred = self.binary(x, mean, Element::SUBTRACT)?;
        let rstd = self.reduce(centred, Element::SQUARE, deviation, Over::Columns)?;
        let normal = self.binary(centred, rstd, Element::MULTIPLY)?;
        let scaled = self.binary(normal, gamma, Element::MULTIPLY)?;
        self.binary(scaled, beta, Element::ADD)
    }

    /// Each channel less its mean, over its deviation, into a tensor that is there already or a part of it.
    pub(crate) fn normalise_planes(&mut self, place: Tensor, x: Tensor, epsilon: f16) -> Result<()> {
        let channels = self.shape(x)?.c;
        let statistics = self.intermediate("statistics", Shape::new(channels, 2, 1))?;
        let mean = self.slice(statistics, 0..channels, 0..1)?;
        let rstd = self.slice(statistics, 0..channels, 1..2)?;
        let deviation = Reduce::MEAN.then(epsilon, PostFunction::ReciprocalSquareRoot);
        self.reduce_into(mean, (x, None), Element::COPY, Reduce::MEAN, Over::Plane)?;
        self.reduce_into(rstd, (x, Some(mean)), SQUARED_DIFFERENCE, deviation, Over::Plane)?;
        self.normalise_into(place, x, statistics, Element::COPY)
    }
}
