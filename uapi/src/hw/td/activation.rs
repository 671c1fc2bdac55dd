//! The activation table: 128 bytes that bend the neural engine's output into any curve.
//!
//! 33 knots and linear interpolation between them, a domain with a constant on either side, two linear
//! tails, and a mode that folds exponent or sign away before the table and puts it back after. The table is
//! the coefficient chunk of channel 0 in every program that has nothing but a table; with coefficients it leads
//! the chunk of every channel.

use core::mem::offset_of;

use zerocopy::little_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::codes;

pub const KNOTS: usize = 33;

pub const BYTES: usize = 128;

/// A table as it lies in memory; every number but `spacing` and `mode` is an fp16 bit pattern.
///
/// Measured and reproduced (td 7.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct ActivationTable {
    /// Lower end of the domain, inclusive.
    pub domain_low: U16,
    /// Upper end of the domain, inclusive.
    pub domain_high: U16,
    /// Value at or below the lower end.
    pub below: U16,
    /// Value at or above the upper end.
    pub above: U16,
    pub knots: [U16; KNOTS],
    /// Slope below the knots.
    pub slope_low: U16,
    /// Intercept below the knots.
    pub intercept_low: U16,
    /// Slope above the knots.
    pub slope_high: U16,
    /// Intercept above the knots.
    pub intercept_high: U16,
    /// Knots lie two to the minus this apart.
    pub spacing: U16,
    /// How the input becomes a position among the knots: a [`Mode`], with flags.
    pub mode: U16,
    /// Not part of the curve; zero in known tables.
    pub rest: [U16; 21],
}

const _: () = {
    assert!(size_of::<ActivationTable>() == BYTES);
    assert!(offset_of!(ActivationTable, knots) == 2 * 4);
    assert!(offset_of!(ActivationTable, slope_low) == 2 * 37);
    assert!(offset_of!(ActivationTable, spacing) == 2 * 41);
    assert!(offset_of!(ActivationTable, mode) == 2 * 42);
};

impl ActivationTable {
    /// Bits of `mode` that hold a [`Mode`].
    pub const MODE: u16 = 0x0f;

    /// Bits of `mode` that mark odd symmetry, when all are set: use `|x|`, restore the sign.
    pub const ODD: u16 = 0x60;

    /// Bits of `mode` that make a negative input give +0, when all are set.
    pub const NON_NEGATIVE: u16 = 0xc0;
}

codes! {
    /// How an input becomes a position `t` among the knots, and what happens to the value found there.
    ///
    /// `s` is the table's `spacing`.
    pub enum Mode: u16, "activation mode" {
        /// `t = x * 2^s`.
        Plain = 0x0, "plain";
        /// `t = x * 2^s + 16`, with the linear tails outside the knots.
        Centred = 0x1, "centred";
        /// `t = x * 2^s + 32`, with the linear tails outside the knots.
        Below = 0x2, "below zero";
        /// The fraction of `x`.
        Fraction = 0x3, "fraction";
        /// The integer part of `x`.
        Integer = 0x4, "integer part";
        /// `x = m * 4^k` with `m` in `[0.5, 2)`, `t = m * 2^s`; times `2^k`. A square root.
        SquareRoot = 0x5, "square root";
        /// The same; times `2^-k`. A reciprocal square root.
        ReciprocalSquareRoot = 0x6, "reciprocal square root";
        /// `x = m * 2^k` with `m` in `[0.5, 1)`, `t = (m - 0.5) * 2^s`; times `2^-k`. A reciprocal.
        Reciprocal = 0x7, "reciprocal";
        /// The same; plus `k`. A base-2 logarithm.
        Log2 = 0x9, "base-2 logarithm";
        /// `n = floor(x)`, `t = (x - n) * 2^s`; times `2^n`. A base-2 exponential.
        Exp2 = 0xa, "base-2 exponential";
    }
}
