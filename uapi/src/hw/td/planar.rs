//! The planar engine: element-wise operations and reductions that need no coefficients.
//!
//! In order: source 1 times its pre-scale, negations, the operation, plus bias, times scale, ReLU, one
//! rounding to fp16. A reduction sums or takes the maximum over height and width, multiplies by the final
//! scale, adds epsilon, and may take a reciprocal or a reciprocal square root.

use super::BASE;
use crate::register::Show;
use crate::{codes, layout, registers};

codes! {
    /// How the planar engine combines its sources.
    pub enum Operation: u8, "planar operation" {
        /// `a + b`; with one source, `a`.
        Add = 0, "a + b";
        /// `a * b`.
        Multiply = 1, "a * b";
        /// The larger.
        Maximum = 2, "max(a, b)";
        /// The smaller.
        Minimum = 3, "min(a, b)";
        /// `(a + b)^2`; with one source, `a^2`.
        SumSquared = 4, "(a + b)^2";
    }
}

codes! {
    /// How a reduction combines elements.
    pub enum Reduction: u8, "planar reduction" {
        /// Their sum.
        Sum = 0, "sum";
        /// The largest.
        Maximum = 2, "maximum";
    }
}

codes! {
    /// The function on the value of a reduction.
    pub enum PostFunction: u8, "planar post function" {
        /// Nothing.
        None = 0, "none";
        /// `1 / x`.
        Reciprocal = 1, "1 / x";
        /// `1 / sqrt(x)`.
        ReciprocalSquareRoot = 2, "1 / sqrt(x)";
    }
}

codes! {
    /// The use of source 2.
    pub enum SecondSource: u8, "second-source selector" {
        /// Not at all: copies and reductions.
        Absent = 0, "absent";
        /// As it is.
        AsIs = 2, "as is";
        /// Negated, which makes a sum a difference.
        Negated = 3, "negated";
    }
}

layout! {
    /// The planar operation.
    pub struct PeCfg {
        /// How a reduction combines elements.
        #[bits(2)] reduction: u8 => Show::Codes(Reduction::CODES),
        /// How the sources are combined.
        #[bits(3)] operation: u8 => Show::Codes(Operation::CODES),
        /// ReLU on the result.
        #[bits(1)] relu: bool; Measured,
        /// The result is its magnitude.
        #[bits(1)] magnitude: bool,
        #[bits(5)] __: u8,
        /// The function on the value of a reduction.
        #[bits(2)] post_function: u8 => Show::Codes(PostFunction::CODES),
        #[bits(2)] __: u8,
        /// Source 1 is negated.
        #[bits(1)] negate_src1: bool,
        #[bits(1)] __: bool,
        /// The use of source 2.
        #[bits(2)] second_source: u8 => Show::Codes(SecondSource::CODES); Measured,
        #[bits(12)] __: u16
    }
}

layout! {
    /// Bias and scale: `(op + bias) * scale`, bias first.
    pub struct BiasScale {
        /// Bias, fp16.
        #[bits(16)] bias: u16 => Show::Half,
        /// Scale, fp16.
        #[bits(16)] scale: u16 => Show::Half; Measured
    }
}

layout! {
    /// Epsilon and pre-scale.
    pub struct EpsilonPreScale {
        /// Added after a reduction, fp16.
        #[bits(16)] epsilon: u16 => Show::Half,
        /// Multiplies source 1 alone, before the operation, fp16.
        #[bits(16)] pre_scale: u16 => Show::Half
    }
}

layout! {
    /// The final scale of a reduction.
    pub struct FinalScale {
        /// A single; one over the extent in a mean.
        #[bits(32)] scale: u32 => Show::Single
    }
}

registers! {
    /// The planar engine: element-wise operations and reductions.
    pub block PLANAR "planar", base BASE, 0x08800 + 0x10;

    /// The operation, the reduction, ReLU, negations.
    PE_CFG "PECfg" @ 0x8800: PeCfg, ReadWrite, Derived, "td 4.3, delta 14";
    /// Bias and scale.
    BIAS_SCALE "BiasScale" @ 0x8804: BiasScale, ReadWrite, Derived, "td 4.3";
    /// Epsilon and pre-scale.
    EPSILON_PRE_SCALE "EpsilonPreScale" @ 0x8808: EpsilonPreScale, ReadWrite, Derived, "td 4.3";
    /// Final scale of a reduction.
    FINAL_SCALE "FinalScale" @ 0x880c: FinalScale, ReadWrite, Derived, "td 4.3";
}
