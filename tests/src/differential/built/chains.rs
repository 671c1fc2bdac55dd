//! Operations of several passes.

use ane::build::{BuildError, Shape, Tensor};
use half::f16;

use super::making::{GraphMaker, GraphOperand};

impl GraphMaker {
    /// A small number that keeps a deviation from zero; sometimes none, sometimes anything.
    fn epsilon(&mut self) -> f16 {
        match self.random.below(4) {
            0 => f16::ZERO,
            1 => self.half(),
            _ => f16::from_f32(1e-5),
        }
    }
}

pub(super) fn softmax(making: &mut GraphMaker, from: GraphOperand) -> Result<Tensor, BuildError> {
    making.graph.softmax(from.tensor)
}

pub(super) fn softmax_columns(making: &mut GraphMaker, from: GraphOperand) -> Result<Tensor, BuildError> {
    making.graph.softmax_columns(from.tensor)
}

pub(super) fn norm(making: &mut GraphMaker, from: GraphOperand) -> Result<Tensor, BuildError> {
    let epsilon = making.epsilon();
    if making.once_in(2) {
        making.graph.layer_norm(from.tensor, epsilon)
    } else {
        making.graph.instance_norm(from.tensor, epsilon)
    }
}

pub(super) fn layer_norm_columns(making: &mut GraphMaker, from: GraphOperand) -> Result<Tensor, BuildError> {
    let shape = making.graph.shape(from.tensor)?;
    let factors = Shape::new(1, 1, shape.w);
    let (gamma, beta) = (making.input(factors)?, making.input(factors)?);
    let epsilon = making.epsilon();
    making.graph.layer_norm_columns(from.tensor, gamma, beta, epsilon)
}
