//! The neural engine: multiply-accumulate, then a scale and a nonlinearity.
//!
//! The pipeline accumulates products, adds a bias row, multiplies by the post-scale, rounds to fp16, applies
//! the nonlinearity (none, ReLU, or an [activation table](super::activation)) and rounds again. Pass-through
//! and the channel sum or maximum are the same pipeline without coefficients.

use super::BASE;
use crate::register::Show;
use crate::{codes, layout, registers};

codes! {
    /// Format of the coefficients.
    pub enum KernelFormat: u8, "coefficient format" {
        /// Unsigned 8-bit.
        Uint8 = 0, "uint8";
        /// Signed 8-bit.
        Int8 = 1, "int8";
        /// IEEE 754 half.
        Fp16 = 2, "fp16";
    }
}

codes! {
    /// The operation of the multiply-accumulate array.
    pub enum OpMode: u8, "operation mode" {
        /// Multiplies and accumulates; without coefficients, sums channels.
        MultiplyAccumulate = 0, "multiply-accumulate";
        /// Takes the maximum.
        Maximum = 3, "maximum";
        /// Passes the input through.
        PassThrough = 4, "pass-through";
    }
}

codes! {
    /// The nonlinearity behind the accumulator.
    pub enum NonlinearMode: u8, "nonlinear mode" {
        /// None.
        None = 0, "none";
        /// ReLU.
        Relu = 1, "relu";
        /// A table of 33 knots.
        Table = 2, "table";
    }
}

layout! {
    /// Format and source of the coefficients.
    pub struct KernelCfg {
        /// Format.
        #[bits(2)] format: u8 => Show::Codes(KernelFormat::CODES),
        /// Coefficients are indices into a palette.
        #[bits(1)] palettised: bool,
        #[bits(1)] __: bool,
        /// Bits of an index into the palette; 8 or 0 when unused.
        #[bits(4)] palette_bits: u8; Predicted,
        /// Coefficients are stored sparsely: masks say which are there.
        #[bits(1)] sparse: bool,
        #[bits(1)] __: bool,
        /// Groups share one kernel.
        #[bits(1)] group_kernel_reuse: bool,
        #[bits(1)] __: bool,
        /// Set along chains of planar tasks that hand over on chip; without numerical effect.
        #[bits(1)] chain_a: bool,
        #[bits(1)] __: bool,
        /// Set along chains of planar tasks that hand over on chip; without numerical effect.
        #[bits(1)] chain_b: bool,
        #[bits(1)] __: bool,
        /// Coefficients come from a buffer that an earlier task filled.
        #[bits(1)] runtime: bool,
        #[bits(15)] __: u16
    }
}

layout! {
    /// The array's operation, and its treatment of the operands.
    pub struct MacCfg {
        /// Operation.
        #[bits(3)] op_mode: u8 => Show::Codes(OpMode::CODES),
        /// No coefficients: every weight is one.
        #[bits(1)] unity_kernel: bool,
        /// One bias row leads each coefficient plane.
        #[bits(1)] bias_mode: bool,
        #[bits(1)] __: bool,
        /// Matrix-bias enable; without effect so far.
        #[bits(1)] matrix_bias_en: bool,
        #[bits(1)] __: bool,
        /// Binary point; 0 or 28, without effect so far.
        #[bits(5)] binary_point: u8,
        #[bits(1)] __: bool,
        /// Post-scale mode; without effect so far.
        #[bits(1)] post_scale_mode: bool,
        #[bits(1)] __: bool,
        /// Nonlinearity.
        #[bits(2)] nonlinear_mode: u8 => Show::Codes(NonlinearMode::CODES); Measured,
        #[bits(2)] __: u8,
        /// Set by every compiler. Clearing it leaves modes 0 and 1 alone, but table outputs change, for a
        /// reason that is not known.
        #[bits(1)] compiler_set: bool; Measured,
        #[bits(11)] __: u16
    }
}

layout! {
    /// Bias of a matrix-vector product; without effect on a pass-through (measured).
    pub struct MatrixVectorBias {
        /// As compilers write it.
        #[bits(32)] value: u32 => Show::Hex
    }
}

layout! {
    /// Bias of the accumulator; without effect on a pass-through (measured).
    pub struct AccBias {
        /// Added to the accumulator of every output, fp16.
        #[bits(16)] value: u16 => Show::Half,
        /// Shift.
        #[bits(5)] shift: u8,
        #[bits(11)] __: u16
    }
}

layout! {
    /// The multiplier of the accumulator before the nonlinearity.
    pub struct PostScale {
        /// Multiplier, fp16.
        #[bits(16)] scale: u16 => Show::Half; Measured,
        /// Right shift.
        #[bits(5)] shift: u8,
        #[bits(11)] __: u16
    }
}

registers! {
    /// The neural engine: multiply-accumulate, scale, nonlinearity.
    pub block NEURAL "neural", base BASE, 0x0c800 + 0x14;

    /// Format and source of the coefficients.
    KERNEL_CFG "KernelCfg" @ 0xc800: KernelCfg, ReadWrite, Derived, "td 4.4, delta C7, C9";
    /// Operation and nonlinearity.
    MAC_CFG "MACCfg" @ 0xc804: MacCfg, ReadWrite, Derived, "td 4.4";
    /// Bias of a matrix-vector product.
    MATRIX_VECTOR_BIAS "MatrixVectorBias" @ 0xc808: MatrixVectorBias, ReadWrite, Measured, "td 4.4";
    /// Bias of the accumulator.
    ACC_BIAS "AccBias" @ 0xc80c: AccBias, ReadWrite, Derived, "td 4.4, delta C4";
    /// The multiplier of the accumulator.
    POST_SCALE "PostScale" @ 0xc810: PostScale, ReadWrite, Measured, "td 4.4";
}
