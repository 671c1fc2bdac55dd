//! Behaviour that no source establishes and that is executed all the same.
//!
//! A plan notes what of it the task needs; the device reports it, and `--strict` refuses it. Everything else
//! that is not established is refused always.

use std::fmt;

/// The inferred behaviour that a pass relies on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Inferred(u32);

impl Inferred {
    pub const NONE: Self = Self(0);
    /// Deviation: inferred. Where the last output leaves a whole stride of the input unread, it is left unread.
    pub const PADDING: Self = Self(1);
    /// Deviation: inferred. Sx and Sy of 3 are the distance between inputs of neighbouring outputs, as 2 is.
    pub const STRIDE: Self = Self(2);
    /// Deviation: inferred. A bias row is added to the accumulator before a post-scale other than 1.
    pub const BIAS: Self = Self(4);

    /// Deviation: inferred. A task with a depth above 1 is done for each depth, with the depth strides.
    pub const DEPTH: Self = Self(8);
    /// Deviation: inferred. An output step above 1 makes neighbouring columns of the result lanes side by side, each with
    /// coefficients that are moved by its place.
    pub const OUTPUT_STEP: Self = Self(16);
    /// Deviation: inferred. AccBias is added before the post-scale, and rounded to a multiple of 2^-16 as a bias row is.
    pub const ACC_BIAS: Self = Self(32);
    /// Deviation: inferred. The magnitude is that of the result, behind bias and scales.
    pub const MAGNITUDE: Self = Self(64);
    /// Deviation: inferred. InputReLU of a planar task is that of source 1.
    pub const SOURCE_RELU: Self = Self(128);
    /// Deviation: inferred. Elements of one byte in format 1 have no sign; known programs have format 0.
    pub const UNSIGNED: Self = Self(256);
    /// Deviation: inferred. Sparse coefficients of several input channels have the channel outermost where the kernel is
    /// larger than 1x1, and strides other than 2 have phases of their own.
    pub const SPARSE: Self = Self(512);
    /// Deviation: inferred. Bits 2 and 6 of PlanarMap are a broadcast along depth, which does nothing in a task of depth 1.
    pub const DEPTH_BROADCAST: Self = Self(1024);
    /// Deviation: inferred. A source 2 whose format is that of bytes is read as a source 1 of bytes is.
    pub const SOURCE2_BYTES: Self = Self(2048);
    /// Deviation: inferred. A plane that has fewer outputs than those before it has rows as wide as it has outputs.
    pub const RAGGED: Self = Self(4096);
    /// Deviation: inferred. Several slots of a group follow each other, and the group is padded, if the channels bring just that.
    pub const GROUP_PADDING: Self = Self(8192);
    /// Deviation: inferred. Bias, scale and ReLU of a reduction are those of its result, behind the post function; on reductions of known
    /// programs they do nothing.
    pub const REDUCTION_BIAS: Self = Self(1 << 14);
    /// Deviation: inferred. Bit 4 of L2Cfg is the ReLU of source 2; the known program has the same surface as both sources of a sum.
    pub const SECOND_RELU: Self = Self(1 << 15);
    /// Deviation: inferred. BinaryPoint has no effect; known programs have 28 where the array works on halves, and 0 where it works on bytes.
    pub const BINARY_POINT: Self = Self(1 << 16);
    /// Deviation: inferred. A pass-through of other extents passes what both have along each axis; that was seen of one row of one channel.
    pub const OVERLAP: Self = Self(1 << 17);

    pub const NAMES: [(Self, &'static str); 18] = [
        (Self::PADDING, "padding below zero"),
        (Self::STRIDE, "stride 3"),
        (Self::BIAS, "bias row beside a post-scale"),
        (Self::DEPTH, "depth"),
        (Self::OUTPUT_STEP, "output step"),
        (Self::ACC_BIAS, "accumulator bias"),
        (Self::MAGNITUDE, "magnitude"),
        (Self::SOURCE_RELU, "ReLU on source 1"),
        (Self::UNSIGNED, "bytes without a sign"),
        (Self::SPARSE, "sparse order"),
        (Self::DEPTH_BROADCAST, "broadcast along depth"),
        (Self::SOURCE2_BYTES, "source 2 of bytes"),
        (Self::RAGGED, "plane that is not full"),
        (Self::GROUP_PADDING, "padding of groups"),
        (Self::REDUCTION_BIAS, "bias, scale or ReLU of a reduction"),
        (Self::SECOND_RELU, "ReLU on source 2"),
        (Self::BINARY_POINT, "binary point"),
        (Self::OVERLAP, "pass-through of other extents"),
    ];

    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// True if all of `other` is here.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl fmt::Display for Inferred {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names = Self::NAMES.iter().filter(|(one, _)| self.contains(*one)).map(|(_, name)| name);
        f.write_str(names.next().unwrap_or(&"nothing"))?;
        names.try_for_each(|name| write!(f, ", {name}"))
    }
}
