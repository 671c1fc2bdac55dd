//! A factor, an addend and a function behind a matrix product become part of it.
//!
//! The engine does a product with a known matrix as a convolution of one tap. So a factor for each output becomes part of the
//! matrix, an addend the bias, and a function behind it the function of the convolution. A product of two computed matrices
//! has no bias and no table; it can multiply its sums before they are rounded to halves, and end with ReLU.

use crate::model::network::array::Array;
use crate::model::network::evaluate::both;
use crate::model::network::operation::{JoinKind, Linear, Map, Operation};
use crate::model::network::{Kind, Network, Node};

/// A known matrix takes no smaller factor for all of its elements: its products would be small beside the accumulator's unit.
const FACTOR_MIN: f64 = 0.25;

/// Factors of sums that a register holds with all bits of a half.
const SCALES: std::ops::RangeInclusive<f64> = 6.2e-5..=65504.0;

impl Network {
    /// Has a matrix product end with a function of each element, if it can and does not yet.
    pub(super) fn product_takes_activation(&mut self, producer: usize, map: Map) -> bool {
        let node = &self.nodes[producer];
        let Some(linear) = open(node) else { return false };
        let fits = if self.known_side(node).is_some() { map.ends_convolution() } else { map == Map::Relu };
        if fits {
            self.nodes[producer].operation = Operation::Linear(Linear { activation: Some(map), ..linear });
        }
        fits
    }

    /// Has a matrix product be multiplied by a number, and have one added.
    pub(super) fn product_takes_affine(&mut self, producer: usize, scale: f64, offset: f64) -> bool {
        let node = &self.nodes[producer];
        if open(node).is_none() || self.known_side(node).is_none() && offset != 0.0 {
            return false;
        }
        let before = node.clone();
        let takes = (scale == 1.0 || self.product_takes(producer, JoinKind::Multiply, &Array::scalar(scale)))
            && (offset == 0.0 || self.product_takes(producer, JoinKind::Add, &Array::scalar(offset)));
        if !takes {
            // There may be room for the factor alone. The layer that stays behind the product has it.
            self.nodes[producer] = before;
        }
        takes
    }

    /// Has a matrix product be multiplied by what is known, or have it added.
    pub(super) fn product_takes(&mut self, producer: usize, kind: JoinKind, constant: &Array) -> bool {
        let node = &self.nodes[producer];
        let Some(linear) = open(node) else { return false };
        if self.known_side(node).is_some() {
            return self.known_product_takes(producer, linear, kind, constant);
        }
        let scale = constant.only().map(|factor| linear.scale * factor);
        let scale = scale.filter(|scale| kind == JoinKind::Multiply && SCALES.contains(&scale.abs()));
        let Some(scale) = scale else { return false };
        self.nodes[producer].operation = Operation::Linear(Linear { scale, ..linear });
        true
    }

    fn known_product_takes(
        &mut self,
        producer: usize,
        linear: Linear,
        kind: JoinKind,
        constant: &Array,
    ) -> bool {
        // A matrix beside a factor fills the array's range, and has no room for another or for an addend.
        if linear.scale != 1.0 {
            return false;
        }
        let Some((matrix, bias)) = self.with_constant(producer, kind, constant) else { return false };
        let name = self.nodes[producer].name.clone();
        if let Some(matrix) = matrix {
            let side = self.known_side(&self.nodes[producer]).unwrap_or(1);
            self.nodes[producer].inputs[side] = self.constant(&format!("{name} weights"), matrix, Kind::Real);
        }
        if let Some(bias) = bias {
            let bias = self.constant(&format!("{name} bias"), bias, Kind::Real);
            let inputs = &mut self.nodes[producer].inputs;
            inputs.truncate(2);
            inputs.push(bias);
        }
        self.nodes[producer].operation = Operation::Linear(linear);
        true
    }

    /// The matrix and the bias with a factor or an addend, as far as they change; `None` where the array has no such thing.
    fn with_constant(
        &self,
        producer: usize,
        kind: JoinKind,
        constant: &Array,
    ) -> Option<(Option<Array>, Option<Array>)> {
        let node = &self.nodes[producer];
        let side = self.known_side(node)?;
        let matrix = self.known(node.inputs[side])?;
        let bias = match node.inputs.get(2) {
            Some(&bias) => Some(self.known(bias)?),
            None => None,
        };
        let fits = is_for_outputs(constant, self.dims(node.output), matrix.dims(), side);
        if !fits || self.has_room(matrix.dims()).is_err() {
            return None;
        }
        if kind == JoinKind::Multiply {
            if constant.only().is_some_and(|factor| factor.abs() < FACTOR_MIN) {
                return None;
            }
            let times = |array: &Array| both(array, constant, |value, factor| value * factor).ok();
            let bias = match bias {
                Some(bias) => Some(times(bias)?),
                None => None,
            };
            return Some((Some(times(matrix)?), bias));
        }
        let bias = match bias {
            Some(bias) => both(bias, constant, |bias, addend| bias + addend).ok()?,
            None => constant.clone(),
        };
        Some((None, Some(bias)))
    }

    /// Which operand of a product is a known matrix.
    fn known_side(&self, node: &Node) -> Option<usize> {
        [1, 0].into_iter().find(|&side| self.known(node.inputs[side]).is_some())
    }
}

/// A product behind which there is room for something.
fn open(node: &Node) -> Option<Linear> {
    match node.operation {
        Operation::Product => Some(Linear::NONE),
        Operation::Linear(linear @ Linear { activation: None, .. }) => Some(linear),
        _ => None,
    }
}

/// Whether an array has one value for each output of a product with a matrix, or of each of its matrices.
fn is_for_outputs(array: &Array, dims: &[usize], matrix: &[usize], side: usize) -> bool {
    let rank = dims.len();
    let outputs = rank - 2 + side;
    let Some(missing) = rank.checked_sub(array.dims().len()) else { return false };
    let of_matrix = |axis: usize| (axis + matrix.len()).checked_sub(rank).map_or(1, |axis| matrix[axis]);
    array.dims().iter().enumerate().all(|(axis, &extent)| {
        let axis = axis + missing;
        extent == 1 || axis == outputs && extent == dims[axis] || axis < rank - 2 && extent == of_matrix(axis)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::network::COMPUTED_MAX;

    #[test]
    fn product_without_room_for_an_addend_takes_no_factor() {
        let mut network = Network::default();
        let x = network.input("x", vec![1, 2], Kind::Real).unwrap();
        let matrix = Array::new(vec![2, 2], vec![1.0; 4]).unwrap();
        let matrix = network.constant("matrix", matrix, Kind::Real);
        network.add("product", Operation::Product, &[x, matrix], Kind::Real).unwrap();
        // Another matrix fits, and then nothing.
        network.computed = COMPUTED_MAX - 4;
        assert!(!network.product_takes_affine(0, 2.0, 1.0));
        assert_eq!(network.nodes[0].inputs, [x, matrix]);
    }
}
