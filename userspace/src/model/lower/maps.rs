//! Functions of each element: on the planar engine where it has them, else by a table.

use ane_uapi::hw::td::activation::ActivationTable;
use half::f16;

use super::held::Held;
use super::{Lower, Why};
use crate::build::activation as tables;
use crate::build::{Element, Tail};
use crate::model::network::operation::Map;
use crate::tensor::nearest_half;

/// The magnitude: the larger of `x` and `-x`.
pub(super) const MAGNITUDE: Element = Element { negate_second: true, ..Element::MAXIMUM };

impl Lower<'_> {
    pub(super) fn map(&mut self, map: Map, x: &Held) -> Result<Held, Why> {
        match map {
            Map::Affine { scale, offset } => self.affine(x, scale, offset),
            Map::Relu => self.planar(x, Element::COPY.relu()),
            Map::Square => self.planar(x, Element::SQUARE),
            Map::Abs => self.combine(x, x, MAGNITUDE),
            Map::Clip(low, high) => {
                let above = self.bounded(x, (low, f64::NEG_INFINITY), Element::MAXIMUM)?;
                self.bounded(&above, (high, f64::INFINITY), Element::MINIMUM)
            }
            Map::Exp => self.through(x, Tail { post_scale: f16::LOG2_E, ..Tail::table(tables::exp2()) }),
            Map::Ln => {
                let logarithm = self.through(x, Tail::table(tables::log2()))?;
                self.planar(&logarithm, Element::COPY.then(f16::ZERO, f16::LN_2))
            }
            Map::Softsign => {
                let magnitude = self.combine(x, x, MAGNITUDE)?;
                let more = self.affine(&magnitude, 1.0, 1.0)?;
                let part = self.through(&more, Tail::table(tables::reciprocal()))?;
                self.combine(x, &part, Element::MULTIPLY)
            }
            // The table's exponent has no divisor and its line a slope of one: both are brought outside.
            Map::Elu { alpha, beta, gamma } => {
                let scaled = if beta == 1.0 { x.clone() } else { self.affine(x, 1.0 / beta, 0.0)? };
                let curve = self.through(&scaled, Tail::table(tables::elu(alpha / beta)))?;
                if gamma * beta == 1.0 { Ok(curve) } else { self.affine(&curve, gamma * beta, 0.0) }
            }
            Map::Sine | Map::Cosine => self.wave(map, x),
            Map::Floor => self.rounded(x, [-1.0, 0.0, 0.0]),
            Map::Ceil => self.rounded(x, [0.0, 0.0, 1.0]),
            Map::Truncate => self.through(x, Tail::table(tables::whole_part())),
            Map::Round => self.nearest(x),
            _ => match table(map) {
                Some(table) => self.through(x, Tail::table(table)),
                None => Err(Why::Operation),
            },
        }
    }

    pub(super) fn affine(&mut self, x: &Held, scale: f64, offset: f64) -> Result<Held, Why> {
        let halves = self.halves(&[scale, offset]);
        self.planar(x, Element { pre_scale: halves[0], bias: halves[1], ..Element::COPY })
    }

    /// The whole part of `x`, and what is added for a fraction below zero, for none, and for one above (delta 14).
    fn rounded(&mut self, x: &Held, added: [f64; 3]) -> Result<Held, Why> {
        let fraction = self.through(x, Tail::table(tables::fraction()))?;
        let step = self.through(&fraction, Tail::table(tables::step(added.map(nearest_half))))?;
        let whole = self.through(x, Tail::table(tables::whole_part()))?;
        self.combine(&whole, &step, Element::ADD)
    }

    /// The whole number below, and one more where that is nearer, or as near and even.
    fn nearest(&mut self, x: &Held) -> Result<Held, Why> {
        let step = |values: [f64; 3]| Tail::table(tables::step(values.map(nearest_half)));
        let below = self.rounded(x, [-1.0, 0.0, 0.0])?;
        let rest = self.combine(x, &below, Element::SUBTRACT)?;
        let beyond = self.affine(&rest, 1.0, -0.5)?;
        let (is_nearer, is_between) =
            (self.through(&beyond, step([0.0, 0.0, 1.0]))?, self.through(&beyond, step([0.0, 1.0, 0.0]))?);
        let half =
            self.through(&below, Tail { post_scale: f16::from_f32(0.5), ..Tail::table(tables::fraction()) })?;
        let is_odd = self.through(&half, step([1.0, 0.0, 1.0]))?;
        let is_even_above = self.combine(&is_between, &is_odd, Element::MULTIPLY)?;
        let more = self.combine(&is_nearer, &is_even_above, Element::ADD)?;
        self.combine(&below, &more, Element::ADD)
    }

    /// The larger or the smaller of `x` and a bound, unless that is `none` or no number.
    fn bounded(&mut self, x: &Held, (bound, none): (f64, f64), element: Element) -> Result<Held, Why> {
        if bound == none || bound.is_nan() {
            return Ok(x.clone());
        }
        let bound = self.array(&crate::model::network::Array::scalar(bound), None)?.with_rank(x.dims.len());
        self.combine(x, &bound, element)
    }
}

/// How a convolution ends that has such a function behind it.
pub(super) fn tail(map: Map) -> Option<Tail> {
    match map {
        Map::Relu => Some(Tail::RELU),
        Map::Clip(low, high) => Some(Tail::table(tables::clamp(nearest_half(low), nearest_half(high)))),
        _ => table(map).map(Tail::table),
    }
}

/// The table of a function.
fn table(map: Map) -> Option<ActivationTable> {
    Some(match map {
        Map::LeakyRelu(slope) => tables::leaky_relu(nearest_half(slope)),
        Map::SquareRoot => tables::sqrt(),
        Map::ReciprocalSquareRoot => tables::rsqrt(),
        Map::Reciprocal => tables::reciprocal(),
        Map::Exp2 => tables::exp2(),
        Map::Sigmoid => tables::sigmoid(),
        Map::Tanh => tables::tanh(),
        Map::Gelu | Map::GeluTanh => tables::gelu(),
        Map::Silu => tables::silu(),
        Map::Erf => tables::erf(),
        Map::Softplus => tables::softplus(),
        Map::Mish => tables::mish(),
        Map::Step { below, zero, above } => tables::step([below, zero, above].map(nearest_half)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn convolution_takes_what_the_engine_can_do_behind_it_and_nothing_else() {
        let maps = [
            Map::Affine { scale: 2.0, offset: 1.0 },
            Map::Relu,
            Map::LeakyRelu(0.1),
            Map::Clip(0.0, 6.0),
            Map::Abs,
            Map::Square,
            Map::SquareRoot,
            Map::ReciprocalSquareRoot,
            Map::Reciprocal,
            Map::Exp,
            Map::Exp2,
            Map::Ln,
            Map::Sigmoid,
            Map::Tanh,
            Map::Sine,
            Map::Cosine,
            Map::Erf,
            Map::Gelu,
            Map::GeluTanh,
            Map::Silu,
            Map::Softplus,
            Map::Softsign,
            Map::Mish,
            Map::Elu { alpha: 1.0, beta: 1.0, gamma: 1.0 },
            Map::Floor,
            Map::Ceil,
            Map::Truncate,
            Map::Round,
            Map::Step { below: -1.0, zero: 0.0, above: 1.0 },
        ];
        for map in maps {
            assert_eq!(map.ends_convolution(), tail(map).is_some(), "{map:?}");
        }
    }
}
