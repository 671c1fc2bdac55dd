//! Activation tables, made from the functions (td 7.4).
//!
//! 33 knots hold the function's values, rounded to fp16; that is what the compiler's own sigmoid holds, bit for bit.
//! Outside the knots lie chords from the last knot to the end of the domain, and there a constant. Modes that take the
//! exponent off need knots for one octave or two only. Spacing and mode are the published ones; the ends of the
//! domains are published for sigmoid and (Chosen) for the others, so that the special values of numerics 9 to 12 come
//! out: infinity above 2^16 for an exponential, +0 for the root of a negative number, infinity for one over zero.

use ane_uapi::hw::td::activation::{ActivationTable, KNOTS, Mode};
use half::f16;

use super::error::Result;
use super::graph::{Graph, Tensor};
use super::pass::Tail;
use crate::model::network::operation::Map;
use crate::tensor::nearest_half;

/// Mode flags: odd symmetry, and a negative input that gives +0.
const ODD: u16 = ActivationTable::ODD;
const NON_NEGATIVE: u16 = ActivationTable::NON_NEGATIVE;

/// `log2(e)` as compilers write it: `0x3dc5`.
pub(super) const LOG2_E: f16 = f16::LOG2_E;

/// A spacing at which every number but zero lies beyond the knots.
const KNOTS_UNUSED: i16 = 64;

#[derive(Clone, Copy, Debug)]
struct End {
    at: f64,
    value: f64,
    /// Slope and intercept between the last knot and the end.
    line: (f64, f64),
}

impl End {
    const fn constant(at: f64, value: f64) -> Self {
        Self { at, value, line: (0.0, value) }
    }

    /// An end that a chord from the knot at `x` leads to.
    fn chord(at: f64, value: f64, x: f64, knot: f64) -> Self {
        let knot = round(knot);
        let slope = (value - knot) / (at - x);
        Self { at, value, line: (slope, value - slope * at) }
    }
}

/// A table whose knot `k` is `knot(k)`.
fn table(spacing: i16, mode: u16, low: End, high: End, knot: impl Fn(f64) -> f64) -> ActivationTable {
    let half = |value: f64| nearest_half(value).to_bits().into();
    let mut knots = [0.into(); KNOTS];
    for (index, place) in knots.iter_mut().enumerate() {
        *place = half(knot(index as f64));
    }
    ActivationTable {
        domain_low: half(low.at),
        domain_high: half(high.at),
        below: half(low.value),
        above: half(high.value),
        knots,
        slope_low: half(low.line.0),
        intercept_low: half(low.line.1),
        slope_high: half(high.line.0),
        intercept_high: half(high.line.1),
        spacing: spacing.cast_unsigned().into(),
        mode: mode.into(),
        rest: [0.into(); 21],
    }
}

fn round(value: f64) -> f64 {
    nearest_half(value).to_f64()
}

/// `1 / (1 + e^-x)`, within 0.0034: the compiler's own table.
pub fn sigmoid() -> ActivationTable {
    let f = |x: f64| 1.0 / (1.0 + (-x).exp());
    let low = End::chord(-9.9375, 0.0, -8.0, f(-8.0));
    let high = End::chord(8.320_312_5, 1.0, 8.0, f(8.0));
    table(1, Mode::Centred as u16, low, high, |k| f((k - 16.0) / 2.0))
}

/// `x / (1 + e^-x)`, within 0.0152.
pub fn silu() -> ActivationTable {
    let f = |x: f64| x / (1.0 + (-x).exp());
    let low = End::chord(-12.0, 0.0, -8.0, f(-8.0));
    table(1, Mode::Centred as u16, low, IDENTITY_ABOVE, |k| f((k - 16.0) / 2.0))
}

/// `x` times the normal distribution up to `x`, in the form with a hyperbolic tangent; within 0.0062.
pub fn gelu() -> ActivationTable {
    let inner = |x: f64| (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3));
    let f = |x: f64| 0.5 * x * (1.0 + inner(x).tanh());
    let low = End::chord(-5.0, 0.0, -4.0, f(-4.0));
    table(2, Mode::Centred as u16, low, IDENTITY_ABOVE, |k| f((k - 16.0) / 4.0))
}

/// The hyperbolic tangent, within 0.0017.
pub fn tanh() -> ActivationTable {
    // From 4.5 on, the nearest half is one.
    let high = End::chord(4.5, 1.0, 4.0, 4.0_f64.tanh());
    table(3, Mode::Plain as u16 | ODD, End::constant(0.0, 0.0), high, |k| (k / 8.0).tanh())
}

/// `2^x`; infinity from 16 on, +0 up to -25.
pub fn exp2() -> ActivationTable {
    let (low, high) = (End::constant(-25.0, 0.0), End::constant(16.0, f64::INFINITY));
    table(5, Mode::Exp2 as u16, low, high, |k| (k / 32.0).exp2())
}

/// The base-2 logarithm; +0 below zero.
///
/// Deviation: inferred. Zero gives minus infinity, whose encoding, read as `-2^16` and multiplied by `ln 2`, is the
/// published `log(+0)` of -45440; no source says that the table holds it.
pub fn log2() -> ActivationTable {
    let low = End::constant(0.0, f64::NEG_INFINITY);
    table(6, Mode::Log2 as u16 | NON_NEGATIVE, low, INFINITE_ABOVE, |k| (0.5 + k / 64.0).log2())
}

/// The square root; +0 below zero.
pub fn sqrt() -> ActivationTable {
    let low = End::constant(0.0, 0.0);
    table(4, Mode::SquareRoot as u16 | NON_NEGATIVE, low, INFINITE_ABOVE, |k| (k / 16.0).sqrt())
}

/// One over the square root; infinity at both zeros, +0 below.
pub fn rsqrt() -> ActivationTable {
    let low = End::constant(0.0, f64::INFINITY);
    let high = End::constant(f64::INFINITY, 0.0);
    let mode = Mode::ReciprocalSquareRoot as u16 | NON_NEGATIVE;
    // Positions below 8 do not occur: the mantissa starts at one half.
    table(4, mode, low, high, |k| (k.max(8.0) / 16.0).sqrt().recip())
}

/// One over `x`; infinity at both zeros.
pub fn reciprocal() -> ActivationTable {
    // With odd symmetry the low end is exclusive: only zero lies below the smallest number.
    let low = End::constant(f64::from(f16::MIN_POSITIVE_SUBNORMAL), f64::INFINITY);
    let high = End::constant(f64::INFINITY, 0.0);
    table(6, Mode::Reciprocal as u16 | ODD, low, high, |k| (0.5 + k / 64.0).recip())
}

/// The larger of `x` and `low`, and the smaller of that and `high`: `high` everywhere, if `low` lies above it. A bound that is
/// no number is none.
pub fn clamp(low: f16, high: f16) -> ActivationTable {
    let bound = |bound: f16, none: f16| if bound.is_nan() { none } else { bound };
    let (low, high) = (bound(low, f16::NEG_INFINITY), bound(high, f16::INFINITY));
    // A domain whose low end lies above its high one has no meaning to the engine.
    let low = if low > high { high } else { low };
    let end = |bound: f16| End { at: bound.to_f64(), value: bound.to_f64(), line: (1.0, 0.0) };
    // Zero is a knot's; where it is outside the domain it does not get there.
    table(KNOTS_UNUSED, Mode::Centred as u16, end(low), end(high), |_| 0.0)
}

/// `x` above zero, `slope` times `x` below.
pub fn leaky_relu(slope: f16) -> ActivationTable {
    let below = if slope == f16::ZERO { 0.0 } else { -f64::INFINITY * slope.to_f64() };
    let low = End { at: f64::NEG_INFINITY, value: below, line: (slope.to_f64(), 0.0) };
    table(KNOTS_UNUSED, Mode::Centred as u16, low, IDENTITY_ABOVE, |_| 0.0)
}

/// `x` above zero, zero below; the neural engine has the same without a table.
pub fn relu() -> ActivationTable {
    leaky_relu(f16::ZERO)
}

/// The error function, within 0.0024.
pub fn erf() -> ActivationTable {
    let high = End::chord(4.0, 1.0, 3.999, 1.0);
    table(3, Mode::Plain as u16 | ODD, End::constant(0.0, 0.0), high, |k| {
        crate::model::network::evaluate::map(Map::Erf, k / 8.0)
    })
}

/// Magnitudes from here on have no sine.
pub(crate) const WAVE_END: f64 = 512.0;

/// The sine within a period, from -4 to 4.
pub(crate) fn sine() -> ActivationTable {
    let high = End::constant(4.0, 4.0_f64.sin());
    table(3, Mode::Plain as u16 | ODD, End::constant(0.0, 0.0), high, |k| (k / 8.0).sin())
}

/// The cosine of a magnitude up to 4.
pub(crate) fn cosine() -> ActivationTable {
    let (low, high) = (End::constant(f64::NEG_INFINITY, 1.0), End::constant(4.0, 4.0_f64.cos()));
    table(3, Mode::Plain as u16, low, high, |k| (k / 8.0).cos())
}

/// Infinity where the magnitude is `end` or more, zero elsewhere.
pub(crate) fn infinite_from(end: f64) -> ActivationTable {
    let beyond = |at: f64| End { at, value: f64::INFINITY, line: (0.0, 0.0) };
    table(KNOTS_UNUSED, Mode::Centred as u16, beyond(-end), beyond(end), |_| 0.0)
}

/// `ln(1 + e^x)`, within 0.0085.
pub fn softplus() -> ActivationTable {
    let f = |x: f64| crate::model::network::evaluate::map(Map::Softplus, x);
    let low = End::chord(-12.0, 0.0, -8.0, f(-8.0));
    table(1, Mode::Centred as u16, low, IDENTITY_ABOVE, |k| f((k - 16.0) / 2.0))
}

/// `x * tanh(ln(1 + e^x))`, within 0.021.
pub fn mish() -> ActivationTable {
    let f = |x: f64| crate::model::network::evaluate::map(Map::Mish, x);
    let low = End::chord(-14.0, 0.0, -8.0, f(-8.0));
    table(1, Mode::Centred as u16, low, IDENTITY_ABOVE, |k| f((k - 16.0) / 2.0))
}

/// `x` above zero, `alpha * (e^x - 1)` below, within 0.0083 for an `alpha` of 1.
pub fn elu(alpha: f64) -> ActivationTable {
    let f = |x: f64| crate::model::network::evaluate::map(Map::Elu { alpha, beta: 1.0, gamma: 1.0 }, x);
    let low = End::chord(-8.0, f(-16.0), -4.0, f(-4.0));
    table(2, Mode::Centred as u16, low, IDENTITY_ABOVE, |k| f((k - 16.0) / 4.0))
}

/// One value below zero, one at zero, one above: what comparisons and masks are made of (delta 4).
pub fn step([below, zero, above]: [f16; 3]) -> ActivationTable {
    let smallest = f64::from(f16::MIN_POSITIVE_SUBNORMAL);
    let low = End::constant(-smallest, below.to_f64());
    let high = End::constant(smallest, above.to_f64());
    table(KNOTS_UNUSED, Mode::Centred as u16, low, high, |_| zero.to_f64())
}

/// The fraction of `x`, with its sign; infinity has none (delta 14).
pub fn fraction() -> ActivationTable {
    let end = |at: f64| End { at, value: 0.0, line: (0.0, 0.0) };
    table(0, Mode::Fraction as u16 | ODD, end(f64::NEG_INFINITY), end(f64::INFINITY), |_| 0.0)
}

/// The whole part of `x`, towards zero (delta 14).
pub fn whole_part() -> ActivationTable {
    let end = |at: f64| End { at, value: at, line: (0.0, 0.0) };
    table(5, Mode::Integer as u16 | ODD, end(f64::NEG_INFINITY), end(f64::INFINITY), |_| 0.0)
}

/// Nothing but infinity is beyond the domain, and the value there.
const INFINITE_ABOVE: End = End::constant(f64::INFINITY, f64::INFINITY);

/// The value is `x` beyond the knots.
const IDENTITY_ABOVE: End = End { at: f64::INFINITY, value: f64::INFINITY, line: (1.0, 0.0) };

impl Graph {
    pub fn activation(&mut self, input: Tensor, table: ActivationTable) -> Result<Tensor> {
        self.pass_through(input, Tail::table(table))
    }

    /// `e^x`: the base-2 exponential of `x * log2(e)`; infinity from about 11.094 on.
    pub fn exp(&mut self, input: Tensor) -> Result<Tensor> {
        self.pass_through(input, Tail { post_scale: LOG2_E, ..Tail::table(exp2()) })
    }

    /// The natural logarithm: the base-2 logarithm, then times `ln 2` on the planar engine.
    pub fn ln(&mut self, input: Tensor) -> Result<Tensor> {
        let logarithm = self.activation(input, log2())?;
        self.unary(logarithm, super::Element::COPY.then(f16::ZERO, f16::LN_2))
    }
}

#[cfg(test)]
mod tests;
