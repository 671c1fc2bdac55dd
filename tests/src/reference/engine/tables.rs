//! Activation tables: 33 knots, straight lines between them, and what is done before and after (td 7.4).

use super::numbers::{defined, half_value, power_of_two};

/// Halfwords of a table.
pub const HALVES: usize = 64;

/// A table whose mode and spacing are known to mean something.
#[derive(Debug, Clone)]
pub struct Table {
    numbers: [f64; HALVES],
    spacing: i32,
    mode: u16,
}

/// A value taken apart: the position among the knots, and the exponent that the result takes back.
struct Position {
    at: f64,
    exponent: i32,
}

impl Table {
    /// Reads a table.
    ///
    /// # Errors
    ///
    /// Says what is not known about its mode or its spacing.
    pub fn new(halves: [u16; HALVES]) -> Result<Self, String> {
        let (spacing, mode) = (i32::from(halves[41] as i16), halves[42]);
        let spacing_max = match mode & 0xF {
            0..=4 => 64,
            0xA => 5,
            5 | 6 => 4,
            7 | 9 => 6,
            _ => return Err(format!("table mode {mode:#x} is not known")),
        };
        if !matches!(mode & !0xF, 0 | 0x60 | 0xC0) {
            return Err(format!("table mode {mode:#x} has a combination of high bits that is not known"));
        }
        if !(-64..=spacing_max).contains(&spacing) {
            return Err(format!("table spacing {spacing} is outside -64 to {spacing_max} in mode {mode:#x}"));
        }
        Ok(Self { numbers: halves.map(half_value), spacing, mode })
    }

    /// The curve at a value that is already a half; the one rounding is the caller's.
    pub fn at(&self, value: f64) -> f64 {
        let [low, high, below, above] = [0, 1, 2, 3].map(|index| self.numbers[index]);
        let odd = self.mode & 0xE0 == 0x60;
        if self.mode & 0xE0 == 0xC0 && value < 0.0 {
            return 0.0;
        }
        let x = if odd { value.abs() } else { value };
        let result = if x <= low {
            below
        } else if x >= high {
            above
        } else {
            self.inside(x)
        };
        if odd && value < 0.0 { -result } else { result }
    }

    /// The curve inside the domain, where `x` is finite.
    fn inside(&self, x: f64) -> f64 {
        let kind = self.mode & 0xF;
        // Reading: modes 5, 6, 7 and 9 have no decomposition of a number below zero, so no value.
        if matches!(kind, 5 | 6 | 7 | 9) && x < 0.0 {
            return 0.0;
        }
        // The fraction and the whole part need no knots (delta 14).
        if kind == 3 {
            return defined(x - x.floor());
        }
        if kind == 4 {
            return x.floor();
        }
        let Position { at, exponent } = self.position(kind, x);
        if kind <= 2 && at < 0.0 {
            return defined(defined(self.numbers[37] * x) + self.numbers[38]);
        }
        if kind <= 2 && at > 32.0 {
            return defined(defined(self.numbers[39] * x) + self.numbers[40]);
        }
        let value = self.between_knots(at);
        match kind {
            0xA | 5 => scaled(value, exponent),
            6 | 7 => scaled(value, -exponent),
            9 => value + f64::from(exponent),
            _ => value,
        }
    }

    fn position(&self, kind: u16, x: f64) -> Position {
        let steps = power_of_two(self.spacing);
        match kind {
            0 => Position { at: x * steps, exponent: 0 },
            1 => Position { at: x * steps + 16.0, exponent: 0 },
            // Knot 32 lies at zero.
            2 => Position { at: x * steps + 32.0, exponent: 0 },
            0xA => Position { at: (x - x.floor()) * steps, exponent: x.floor() as i32 },
            _ if x == 0.0 => Position { at: 0.0, exponent: 0 },
            5 | 6 => {
                // m in [0.5, 2): the one power of four that brings x there.
                let (mut m, mut exponent) = (x, 0);
                while m >= 2.0 {
                    (m, exponent) = (m / 4.0, exponent + 1);
                }
                while m < 0.5 {
                    (m, exponent) = (m * 4.0, exponent - 1);
                }
                Position { at: m * steps, exponent }
            }
            _ => {
                let (mut m, mut exponent) = (x, 0);
                while m >= 1.0 {
                    (m, exponent) = (m / 2.0, exponent + 1);
                }
                while m < 0.5 {
                    (m, exponent) = (m * 2.0, exponent - 1);
                }
                Position { at: (m - 0.5) * steps, exponent }
            }
        }
    }

    fn between_knots(&self, at: f64) -> f64 {
        let index = at.floor().min(31.0);
        let (left, right) = (self.numbers[4 + index as usize], self.numbers[5 + index as usize]);
        defined(left + defined(defined(right - left) * (at - index)))
    }
}

/// A value times a power of two, in two steps so that the power itself does not leave the doubles.
fn scaled(value: f64, exponent: i32) -> f64 {
    let half = exponent.clamp(-2000, 2000) / 2;
    let rest = exponent.clamp(-2000, 2000) - half;
    value * power_of_two(half) * power_of_two(rest)
}
