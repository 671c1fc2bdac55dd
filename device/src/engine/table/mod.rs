//! Activation tables: 33 knots that bend a result into any curve.
//!
//! The array's result, rounded to fp16, becomes a position among 33 knots, and the curve is linear between
//! them. A table has the domain, the values outside of it, the distance of the knots, and a mode. The mode may
//! take the exponent away first and put it back after, so that one octave of knots serves a square root or a
//! logarithm over the whole range. The layout is [`ActivationTable`]; the arithmetic is that of
//! `docs/numerics.md`, "Activation tables".
//!
//! * [`Table`]: a table that was understood, and what it gives for one value.
//! * `parse`: which tables are refused.
//! * `position`: where a value lies among the knots.
//! * [`lookup`]: many values at once, and the tables that were used last.

pub mod lookup;
mod parse;
mod position;
#[cfg(test)]
mod tests;

#[cfg(doc)]
use ane_uapi::hw::td::activation::ActivationTable;
use ane_uapi::hw::td::activation::{KNOTS, Mode};

use self::lookup::Lookup;
pub use self::lookup::Tables;
pub use self::parse::{BadTable, BrokenRule};
use self::position::{fraction, fraction_of_four, power_of_two};
use super::numerics::double::{decode, encode, settle};

/// An exponent far beyond those of halves that still is one of doubles.
const EXPONENT_MAX: f64 = 1000.0;

const STRETCHES: usize = KNOTS - 1;

/// The treatment of negative values before the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fold {
    None,
    /// The curve is that of the magnitude, and takes the sign.
    Odd,
    /// They give +0.
    NonNegative,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct StraightLine {
    slope: f64,
    intercept: f64,
}

impl StraightLine {
    fn at(self, x: f64) -> f64 {
        settle(settle(self.slope * x) + self.intercept)
    }
}

#[derive(Clone, Debug)]
pub struct Table {
    low: f64,
    high: f64,
    below: f64,
    above: f64,
    /// Between two knots: the value at the first, and what is added on the way to the second.
    stretches: [StraightLine; STRETCHES],
    tail_low: StraightLine,
    tail_high: StraightLine,
    /// Knots in a unit of the position.
    knots_per_unit: f64,
    mode: Mode,
    fold: Fold,
    lookup: Lookup,
}

impl Table {
    /// The table's result for a value; both are fp16 bit patterns.
    pub fn evaluate(&self, value: u16) -> u16 {
        let x = decode(value);
        let is_negative = x < 0.0;
        encode(match self.fold {
            Fold::NonNegative if is_negative => 0.0,
            Fold::None | Fold::NonNegative => self.bounded(x, x <= self.low),
            Fold::Odd => {
                // A magnitude at the low end counts as below: so one over zero is what the table says (delta 14).
                let result = self.bounded(x.abs(), x.abs() <= self.low);
                if is_negative { -result } else { result }
            }
        })
    }

    fn bounded(&self, x: f64, is_under: bool) -> f64 {
        if is_under {
            self.below
        } else if x >= self.high {
            self.above
        } else {
            // No domain has an infinity inside.
            self.curve(x)
        }
    }

    fn curve(&self, x: f64) -> f64 {
        let spacing = self.knots_per_unit;
        match self.mode {
            Mode::Plain => self.tailed(x, x * spacing),
            Mode::Centred => self.tailed(x, x * spacing + 16.0),
            Mode::Below => self.tailed(x, x * spacing + STRETCHES as f64),
            // No value that is negative, or infinite, gets here: the domain or the symmetry sees to that.
            Mode::Fraction => x - x.trunc(),
            Mode::Integer => x.trunc(),
            Mode::Exp2 => {
                // No power of two is zero: an infinity between the knots stays one.
                let n = x.floor().clamp(-EXPONENT_MAX, EXPONENT_MAX);
                settle(self.between((x - x.floor()) * spacing) * power_of_two(n))
            }
            Mode::SquareRoot => {
                let (m, k) = fraction_of_four(x);
                settle(self.between(m * spacing) * power_of_two(k))
            }
            Mode::ReciprocalSquareRoot => {
                let (m, k) = fraction_of_four(x);
                settle(self.between(m * spacing) * power_of_two(-k))
            }
            Mode::Reciprocal => {
                let (m, k) = fraction(x);
                settle(self.between((m - 0.5).max(0.0) * spacing) * power_of_two(-k))
            }
            Mode::Log2 => {
                let (m, k) = fraction(x);
                settle(self.between((m - 0.5).max(0.0) * spacing) + k)
            }
        }
    }

    /// The value at a position that may lie outside the knots.
    fn tailed(&self, x: f64, position: f64) -> f64 {
        if position < 0.0 {
            self.tail_low.at(x)
        } else if position > STRETCHES as f64 {
            self.tail_high.at(x)
        } else {
            self.between(position)
        }
    }

    /// The value at a position from 0 to 32.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the position is small and not negative; the cast is its floor"
    )]
    fn between(&self, position: f64) -> f64 {
        let index = (position as usize).min(STRETCHES.saturating_sub(1));
        let line = self.stretches.get(index).copied().unwrap_or_default();
        // A value of -0 is at the knot, not before it: the way from the knot is +0 (Chosen).
        line.at(position - index as f64 + 0.0)
    }
}
