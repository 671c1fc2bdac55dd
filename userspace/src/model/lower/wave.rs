//! Sine and cosine: a table of one period, and the argument brought into it.
//!
//! The argument loses a whole number `k` of periods in two steps: `k` times 6.28125, whose eight bits make the product and
//! the difference exact, and then `k` times what 2 pi has more. So the rest is off by one rounding of a half. Added to
//! 1536, halves from 1024 to 2048, an argument in periods is rounded to the nearest whole number.
//!
//! From 512 on the rest would be less and less exact, and beyond 8192 neighbouring halves are a period apart. There the result
//! is infinity, not a number that looks right.

use std::f64::consts::TAU;

use super::held::Held;
use super::maps::MAGNITUDE;
use super::{Lower, Why};
use crate::build::activation as tables;
use crate::build::{Element, Tail};
use crate::model::network::operation::Map;
use crate::tensor::nearest_half;

/// The larger part of a period.
const PERIOD: f64 = 6.28125;

/// Sums with it are rounded to whole numbers.
const ROUNDER: f64 = 1536.0;

impl Lower<'_> {
    pub(super) fn wave(&mut self, map: Map, x: &Held) -> Result<Held, Why> {
        let periods = |bias: f64| Element {
            pre_scale: nearest_half(TAU.recip()),
            bias: nearest_half(bias),
            ..Element::COPY
        };
        let raised = self.planar(x, periods(ROUNDER))?;
        let count = self.planar(&raised, Element { bias: nearest_half(-ROUNDER), ..Element::COPY })?;
        let less = |part: f64| Element { pre_scale: nearest_half(-part), ..Element::ADD };
        let rest = self.combine(&count, x, less(PERIOD))?;
        let rest = self.combine(&count, &rest, less(TAU - PERIOD))?;
        let curve = if map == Map::Sine {
            self.through(&rest, Tail::table(tables::sine()))?
        } else {
            let magnitude = self.combine(&rest, &rest, MAGNITUDE)?;
            self.through(&magnitude, Tail::table(tables::cosine()))?
        };
        let beyond = self.through(x, Tail::table(tables::infinite_from(tables::WAVE_END)))?;
        self.combine(&curve, &beyond, Element::ADD)
    }
}
