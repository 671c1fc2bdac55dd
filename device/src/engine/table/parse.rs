//! The reader of tables: a table that is understood, or the rule that it breaks.

use ane_uapi::hw::td::activation::{ActivationTable, BYTES, Mode};

use super::lookup::Lookup;
use super::position::power_of_two;
use super::{Fold, STRETCHES, StraightLine, Table};
use crate::engine::numerics::double::{decode, settle};

/// A rule that a table breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BrokenRule {
    /// The low four bits name no mode that is known.
    #[error("no such mode")]
    Mode,
    /// Bits above the mode are set that are neither odd symmetry nor non-negative.
    #[error("flags set bits that are neither odd symmetry nor non-negative")]
    Flags,
    /// The knots are more than 2^64 or less than 2^-64 apart.
    #[error("spacing is not within -64 to 64")]
    Spacing,
    /// The position may leave the knots, and the mode has no tails.
    #[error("spacing leaves the knots in mode \"{0}\"")]
    SpacingInMode(Mode),
    /// The domain lets negative values through (Chosen).
    #[error("mode \"{0}\" has no position for negative values")]
    NegativeInMode(Mode),
    /// A knot is not zero in a mode that was seen with zeros only.
    #[error("knots that are not zero have no known effect in mode \"{0}\"")]
    KnotInMode(Mode),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("halfword {halfword} of the activation table is {value:#06x}: {why}")]
pub struct BadTable {
    /// Index of the halfword, below 64.
    pub halfword: u8,
    pub value: u16,
    pub why: BrokenRule,
}

/// Places of halfwords that are looked at.
const LOW: u8 = 0;
const KNOTS: u8 = 4;
const SPACING: u8 = 41;
const MODE: u8 = 42;

/// The finest spacing in a mode that keeps to the knots: there, a position reaches 32 and no more.
const fn finest(mode: Mode) -> Option<i16> {
    match mode {
        Mode::Plain | Mode::Centred | Mode::Below | Mode::Fraction | Mode::Integer => None,
        Mode::Exp2 => Some(5),
        Mode::SquareRoot | Mode::ReciprocalSquareRoot => Some(4),
        Mode::Reciprocal | Mode::Log2 => Some(6),
    }
}

impl Table {
    /// The table that 128 bytes describe.
    ///
    /// Halfwords behind the mode are not looked at; in known tables they are zero.
    ///
    /// # Errors
    ///
    /// Refuses modes, flags and spacings that no source explains, and those that leave the knots.
    pub fn parse(bytes: &[u8; BYTES]) -> Result<Self, BadTable> {
        let raw: ActivationTable = zerocopy::transmute!(*bytes);
        let (mode, fold) = understood(raw.mode.get())?;
        let spacing = raw.spacing.get().cast_signed();
        let bad = |why| BadTable { halfword: SPACING, value: raw.spacing.get(), why };
        if !(-64..=64).contains(&spacing) {
            return Err(bad(BrokenRule::Spacing));
        }
        if finest(mode).is_some_and(|finest| spacing > finest) {
            return Err(bad(BrokenRule::SpacingInMode(mode)));
        }
        let low = decode(raw.domain_low.get());
        let needs_magnitude = !matches!(mode, Mode::Plain | Mode::Centred | Mode::Below | Mode::Exp2);
        if needs_magnitude && fold == Fold::None && low < 0.0 {
            let why = BrokenRule::NegativeInMode(mode);
            return Err(BadTable { halfword: LOW, value: raw.domain_low.get(), why });
        }
        if matches!(mode, Mode::Fraction | Mode::Integer) {
            let knots = (KNOTS..).zip(raw.knots).map(|(halfword, knot)| (halfword, knot.get()));
            if let Some((halfword, value)) = knots.into_iter().find(|(_, knot)| *knot != 0) {
                return Err(BadTable { halfword, value, why: BrokenRule::KnotInMode(mode) });
            }
        }
        let mut stretches = [StraightLine::default(); STRETCHES];
        let knots = raw.knots.map(|knot| decode(knot.get()));
        for ((line, first), second) in stretches.iter_mut().zip(knots).zip(knots.into_iter().skip(1)) {
            *line = StraightLine { slope: settle(second - first), intercept: first };
        }
        Ok(Self {
            low,
            high: decode(raw.domain_high.get()),
            below: decode(raw.below.get()),
            above: decode(raw.above.get()),
            stretches,
            tail_low: StraightLine {
                slope: decode(raw.slope_low.get()),
                intercept: decode(raw.intercept_low.get()),
            },
            tail_high: StraightLine {
                slope: decode(raw.slope_high.get()),
                intercept: decode(raw.intercept_high.get()),
            },
            knots_per_unit: power_of_two(spacing.into()),
            mode,
            fold,
            lookup: Lookup::default(),
        })
    }
}

/// Mode and fold of a mode word.
fn understood(word: u16) -> Result<(Mode, Fold), BadTable> {
    let bad = |why| BadTable { halfword: MODE, value: word, why };
    let mode = Mode::try_from(word & ActivationTable::MODE).map_err(|_| bad(BrokenRule::Mode))?;
    let fold = match word & !ActivationTable::MODE {
        0 => Fold::None,
        ActivationTable::ODD => Fold::Odd,
        ActivationTable::NON_NEGATIVE => Fold::NonNegative,
        _ => return Err(bad(BrokenRule::Flags)),
    };
    Ok((mode, fold))
}
