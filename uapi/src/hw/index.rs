//! Small numbers that name one of a few like things: a stream, a context, a queue, a BAR.

use thiserror::Error;

/// A number named something of which there are fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{what} {value} does not exist, there are {count}")]
pub struct OutOfRange {
    pub what: &'static str,
    pub value: u32,
    pub count: u8,
}

/// Declares a number that is always below `$count`, so that whoever holds one need not check it again.
macro_rules! index {
    ($( #[$meta:meta] )* pub struct $name:ident below $count:literal, $what:literal;) => {
        $( #[$meta] )*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u8);

        impl $name {
            pub const COUNT: u8 = $count;

            /// Every one, in order.
            pub const ALL: [Self; $count] = {
                let mut all = [Self(0); $count];
                let mut i = 0;
                while i < Self::COUNT {
                    all[i as usize] = Self(i);
                    i += 1;
                }
                all
            };

            /// The one with this number.
            pub const fn new(number: u32) -> Result<Self, $crate::hw::index::OutOfRange> {
                if number < $count {
                    Ok(Self(number as u8))
                } else {
                    Err($crate::hw::index::OutOfRange { what: $what, value: number, count: $count })
                }
            }

            pub const fn number(self) -> u8 {
                self.0
            }

            /// Its number, to index an array of [`Self::COUNT`] with.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl TryFrom<u32> for $name {
            type Error = $crate::hw::index::OutOfRange;

            fn try_from(number: u32) -> Result<Self, Self::Error> {
                Self::new(number)
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                write!(f, concat!($what, " {}"), self.0)
            }
        }
    };
}

pub(crate) use index;
