//! How Linux packs an ioctl's number, and what is known about each ioctl.
//!
//! The number holds the direction, the size of the argument, a letter for the subsystem (`d` for DRM) and the
//! command's own number. As the size is part of it, a structure that grew would get another number: the
//! numbers of this ABI never change, and what may grow grows through parameters, counters and flags.

use crate::abi::{AbiStruct, StructLayout};

use super::errno::Errno;

/// The letter of all DRM ioctls.
pub const DRM_TYPE: u8 = b'd';

/// The direction of the argument from the client's side, as the number encodes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ArgumentDirection {
    /// No argument: `_IO`.
    None = 0,
    /// The client writes: `_IOW`.
    Write = 1,
    /// The client reads: `_IOR`.
    Read = 2,
    /// Both: `_IOWR`.
    ReadWrite = 3,
}

impl ArgumentDirection {
    /// The C macro that makes such a number.
    pub const fn c_macro(self) -> &'static str {
        match self {
            Self::None => "_IO",
            Self::Write => "_IOW",
            Self::Read => "_IOR",
            Self::ReadWrite => "_IOWR",
        }
    }
}

/// The largest argument that a number can express: the size has fourteen bits.
pub const MAX_SIZE: usize = 0x3fff;

const TYPE_SHIFT: u32 = 8;
const SIZE_SHIFT: u32 = 16;
const DIRECTION_SHIFT: u32 = 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Number {
    /// The direction of the argument.
    pub direction: ArgumentDirection,
    /// The subsystem's letter.
    pub subsystem: u8,
    pub nr: u8,
    /// Bytes of the argument; at most [`MAX_SIZE`].
    pub size: u16,
}

impl Number {
    pub const fn of<T>(direction: ArgumentDirection, subsystem: u8, nr: u8) -> Self {
        const { assert!(size_of::<T>() <= MAX_SIZE, "the size of an argument has fourteen bits") };
        Self { direction, subsystem, nr, size: size_of::<T>() as u16 }
    }

    /// The word that is passed to `ioctl`; bits of `size` above the fourteenth are dropped.
    pub const fn encode(self) -> u32 {
        (self.direction as u32) << DIRECTION_SHIFT
            | (self.size as u32 & MAX_SIZE as u32) << SIZE_SHIFT
            | (self.subsystem as u32) << TYPE_SHIFT
            | self.nr as u32
    }

    /// Takes a number apart; every word is some number.
    pub const fn decode(word: u32) -> Self {
        let direction = match word >> DIRECTION_SHIFT {
            0 => ArgumentDirection::None,
            1 => ArgumentDirection::Write,
            2 => ArgumentDirection::Read,
            _ => ArgumentDirection::ReadWrite,
        };
        let [nr, subsystem, ..] = word.to_le_bytes();
        Self { direction, subsystem, nr, size: (word >> SIZE_SHIFT) as u16 & MAX_SIZE as u16 }
    }
}

impl core::fmt::Display for Number {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(
            f,
            "{}('{}', {:#04x}, {} bytes)",
            self.direction.c_macro(),
            self.subsystem.escape_ascii(),
            self.nr,
            self.size
        )
    }
}

/// One way in which an ioctl fails.
#[derive(Clone, Copy, Debug)]
pub struct Refusal {
    pub errno: Errno,
    pub when: &'static str,
}

#[derive(Clone, Copy, Debug)]
pub struct Ioctl {
    /// The command's own number.
    pub nr: u8,
    /// The word that is passed to `ioctl`.
    pub number: u32,
    pub c_name: &'static str,
    pub structure: &'static StructLayout,
    pub doc: &'static str,
    /// How it fails, apart from [`super::ALWAYS`].
    pub refusals: &'static [Refusal],
}

impl Ioctl {
    /// An ioctl of DRM's letter with a `T`; used by `ioctls!`.
    pub(super) const fn new<T: AbiStruct>(
        direction: ArgumentDirection,
        nr: u8,
        c_name: &'static str,
        structure: &'static StructLayout,
        doc: &'static str,
        refusals: &'static [Refusal],
    ) -> Self {
        let number = Number::of::<T>(direction, DRM_TYPE, nr).encode();
        Self { nr, number, c_name, structure, doc, refusals }
    }

    pub const fn decoded(&self) -> Number {
        Number::decode(self.number)
    }
}

/// Declares ioctls: `NAME nr "C name", ArgumentDirection, Struct;` and, in braces, how they fail.
macro_rules! ioctls {
    ($(
        $( #[doc = $doc:literal] )*
        $name:ident $nr:literal $c_name:literal, $direction:ident, $structure:ty {
            $( $errno:ident $when:literal; )*
        }
    )*) => { $(
        $( #[doc = $doc] )*
        #[doc = ""]
        #[doc = concat!("In C: `", $c_name, "`.")]
        $(
            #[doc = ""]
            #[doc = concat!("* `", stringify!($errno), "`: ", $when)]
        )*
        pub const $name: $crate::ioctl::number::Ioctl = $crate::ioctl::number::Ioctl::new::<$structure>(
            $crate::ioctl::number::ArgumentDirection::$direction,
            $nr,
            $c_name,
            &<$structure as $crate::abi::AbiStruct>::LAYOUT,
            concat!($( $doc, "\n", )*),
            &[ $(
                $crate::ioctl::number::Refusal {
                    errno: $crate::ioctl::errno::Errno::$errno,
                    when: $when,
                },
            )* ],
        );
    )* };
}

pub(super) use ioctls;
