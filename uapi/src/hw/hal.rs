//! The hardware-abstraction-layer table (HAL): what the compiler knows about each generation of the engine.
//!
//! Apple's compiler holds one structure of parameters for each of 28 targets and reads it by byte offset.
//! Almost every limit of the engine is a field of it: how large an operand may be to stay on chip, in how
//! many banks the on-chip buffer is interleaved, how many cores there are to divide channels over. A few
//! fields are written and never read (*dead*), and a few say that the silicon can do something which no
//! compiled program has been seen to reach: the byte attests, and only a compile-and-run proves.
//!
//! * this file: the targets, the shape of a field, and the lookups;
//! * [`fields`]: the table itself.
//!
//! The table holds what some source states and nothing else. A target without a value of its own for a field
//! may be given that of its class by [`expected`], which then says that it is a prediction.

use core::fmt;

use super::names::list;
use crate::register::Grade;

pub mod fields;

pub use fields::FIELDS;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldOffset(pub u16);

impl fmt::Display for FieldOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hal {:#x}", self.0)
    }
}

/// Accumulators of a core, in work units.
pub const ACCUMULATORS: FieldOffset = FieldOffset(0x0c);
/// Output channels of one accumulator where sources are packed fp16, the default.
pub const CHANNELS_PER_ACCUMULATOR: FieldOffset = FieldOffset(0x3b8);
/// The largest single operand that stays on chip; compilers also call it `MemCacheSize` and `L2Size`.
pub const MAX_OPERAND_BYTES: FieldOffset = FieldOffset(0x1b8);
/// Bytes of the granule at which the on-chip buffer is interleaved: the width of DMA.
pub const INTERLEAVE_GRANULE: FieldOffset = FieldOffset(0x1c0);
/// Banks of the on-chip buffer.
pub const BANK_COUNT: FieldOffset = FieldOffset(0x1c8);
/// Footprint of a convolution's output that decides about a buffer of its own; see [`RESIDENCY_GATE`].
pub const RESIDENCY_THRESHOLD: FieldOffset = FieldOffset(0x1f0);
/// Upper bound of the search for a stride without bank conflicts.
pub const MAX_DESTINATION_STRIDE: FieldOffset = FieldOffset(0x1f8);
/// Bytes of coefficients that kernel memory holds at once.
pub const DENSE_KERNEL_BYTES: FieldOffset = FieldOffset(0x200);
/// Bytes of coefficients that may be streamed through kernel memory.
pub const STREAMED_KERNEL_BYTES: FieldOffset = FieldOffset(0x210);
/// Bytes to which segments are packed.
pub const SEGMENT_ALIGNMENT: FieldOffset = FieldOffset(0x218);
/// Cores that output channels are divided over, `num_nes`.
pub const CORES: FieldOffset = FieldOffset(0x238);
/// Selects between the dense and the streamed cap of kernel memory.
pub const KERNEL_MEMORY_MODE: FieldOffset = FieldOffset(0x288);
/// Gate: the compiler reads [`RESIDENCY_THRESHOLD`] only where this is set.
///
/// The published listing takes the shared buffer where the gate is 1 and the footprint is above the
/// threshold; the prose beside it says the opposite (facts M, X-13).
pub const RESIDENCY_GATE: FieldOffset = FieldOffset(0x491);

macro_rules! generations {
    ($( $variant:ident $name:literal, $class:ident $(, $cores:literal )?; )*) => {
        /// A target of the compiler: one column of the table.
        ///
        /// Hn is, from H13 on, the engine of the M-series part n - 12, and a letter counts cores: `g` 8, `s`
        /// 16, `c` 32, `d` 64. U1 to U3 are reference profiles, not silicon. Facts A.3 prints the small
        /// embedded target once as M11 and once as X-11; M11 is taken.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Generation { $( $variant, )* }

        impl Generation {
            pub const ALL: &'static [Self] = &[ $( Self::$variant, )* ];

            pub const fn name(self) -> &'static str {
                match self { $( Self::$variant => $name, )* }
            }

            /// The target whose values describe the whole class (facts A.3).
            pub const fn class(self) -> Self {
                match self { $( Self::$variant => Self::$class, )* }
            }
        }

        /// Cores of the targets (facts A.3).
        ///
        /// For the parts before A13 the source only says 1 to 4, and 1 for M9.
        const CORES_OF: &[Stated] = &[ $( $( fields::cores(Generation::$variant, $cores), )? )* ];
    };
}

generations! {
    H11 "h11", H11;
    H12 "h12", H12;
    M9 "m9", M9, 1;
    T0 "t0", T0;
    H13 "h13", H13, 4;
    H13g "h13g", H13, 8;
    T1 "t1", H13, 4;
    H14 "h14", H14, 4;
    H14g "h14g", H14, 8;
    H14c "h14c", H14, 32;
    H15 "h15", H15, 4;
    H15g "h15g", H15, 8;
    H15c "h15c", H15, 32;
    H16 "h16", H16, 4;
    H16g "h16g", H16, 8;
    H16s "h16s", H16, 16;
    H16c "h16c", H16, 32;
    H17 "h17", H17s, 4;
    H17a "h17a", H17s, 4;
    H17g "h17g", H17s, 8;
    H17s "h17s", H17s, 16;
    H17c "h17c", H17s, 32;
    H17d "h17d", H17s, 64;
    H18 "h18", H18, 4;
    M11 "m11", M11, 1;
    U1 "u1", U1, 4;
    U2 "u2", U2, 4;
    U3 "u3", U3, 4;
}

const _: () = assert!(Generation::ALL.len() == 28);

/// A name that is no target of the compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub struct UnknownGeneration<'a> {
    pub name: &'a str,
}

impl fmt::Display for UnknownGeneration<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "generation {:?} is not known; known: ", self.name)?;
        list(f, Generation::ALL.iter().map(|generation| generation.name()))
    }
}

impl Generation {
    /// The target of that name; capitals do not matter.
    pub fn by_name(name: &str) -> Result<Self, UnknownGeneration<'_>> {
        Self::ALL
            .iter()
            .copied()
            .find(|generation| generation.name().eq_ignore_ascii_case(name))
            .ok_or(UnknownGeneration { name })
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A byte of the table and its part in a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldBytes {
    /// The field begins here.
    At(FieldOffset),
    /// One of the fields between these two, inclusive; no source says which.
    Within(FieldOffset, FieldOffset),
    /// Each byte between these two, inclusive, unless it has a row of its own.
    Each(FieldOffset, FieldOffset),
}

impl FieldBytes {
    pub const fn first(self) -> FieldOffset {
        match self {
            Self::At(first) | Self::Within(first, _) | Self::Each(first, _) => first,
        }
    }

    /// True if a value of this field is the value at `offset`.
    fn answers(self, offset: FieldOffset) -> bool {
        match self {
            Self::At(at) => at == offset,
            Self::Within(..) => false,
            Self::Each(first, last) => (first..=last).contains(&offset),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    Number,
    /// A capability: bit 0 of a byte.
    Capability,
    /// Not one number: a list, a curve, a name.
    Structure,
    /// Written and never read.
    Dead,
}

/// A value that some source states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stated {
    pub generation: Generation,
    pub number: u32,
    pub grade: Grade,
}

/// The values of a field.
#[derive(Clone, Copy, Debug)]
pub enum Values {
    /// Those that are stated; the rest are not known.
    Stated(&'static [Stated]),
    /// The same in all 28 targets.
    Everywhere(u32),
}

#[derive(Clone, Copy, Debug)]
pub struct Field {
    pub place: FieldBytes,
    pub name: &'static str,
    pub doc: &'static str,
    pub kind: FieldKind,
    pub values: Values,
    pub grade: Grade,
    pub source: &'static str,
}

/// A value, and how well it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    pub number: u32,
    pub grade: Grade,
}

impl Field {
    /// The value that a source states for exactly this target.
    pub fn value(&self, generation: Generation) -> Option<Value> {
        match self.values {
            Values::Everywhere(number) => Some(Value { number, grade: self.grade }),
            Values::Stated(values) => values
                .iter()
                .find(|stated| stated.generation == generation)
                .map(|stated| Value { number: stated.number, grade: stated.grade }),
        }
    }
}

/// The fields whose place includes `offset`: more than one where a byte of a cluster has a row of its own.
pub fn at(offset: FieldOffset) -> impl Iterator<Item = &'static Field> {
    FIELDS.iter().filter(move |field| field.place.answers(offset))
}

/// The value at `offset` that a source states for exactly this target.
///
/// # Examples
///
/// ```
/// use ane_uapi::hw::hal::{self, Generation};
///
/// let bytes = hal::value(Generation::H13, hal::MAX_OPERAND_BYTES).unwrap();
/// assert_eq!(bytes.number, 2 << 20);
/// assert_eq!(hal::value(Generation::H13g, hal::MAX_OPERAND_BYTES), None);
/// ```
pub fn value(generation: Generation, offset: FieldOffset) -> Option<Value> {
    // A row of its own speaks before the cluster that surrounds it.
    let own = at(offset).filter(|field| matches!(field.place, FieldBytes::At(_)));
    own.chain(at(offset)).find_map(|field| field.value(generation))
}

/// The value to go by: the stated one, or that of the target's class, which is a prediction then.
///
/// The M1 Pro, Max and Ultra need this: sources give the table's column for the M1 and say that the larger
/// parts belong to the same class.
pub fn expected(generation: Generation, offset: FieldOffset) -> Option<Value> {
    value(generation, offset).or_else(|| {
        let Value { number, .. } = value(generation.class(), offset)?;
        Some(Value { number, grade: Grade::Predicted })
    })
}
