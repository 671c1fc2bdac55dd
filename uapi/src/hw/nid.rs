//! Network ids: the name of a request.
//!
//! A NID finds a task in a task sequence and a sequence in the pool of requests. It is 0 in the files that
//! compilers write, and patched before submission.

use core::fmt;
use core::num::NonZeroU8;

use thiserror::Error;

/// A network id, 1 to 255.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nid(NonZeroU8);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BadNid {
    #[error("network id 0 stands for no request")]
    Zero,
    #[error("network id {0:#x} has more than eight bits")]
    TooLarge(u32),
}

impl Nid {
    /// The id that the Linux driver gives each request (td 9).
    pub const LINUX: Self = match Self::new(0x40) {
        Ok(nid) => nid,
        Err(_) => panic!("0x40 is a network id"),
    };

    /// The largest id that a driver should use: the two sources disagree on 255 (facts M, X-08).
    pub const DRIVER_MAX: u8 = 254;

    pub const fn new(number: u32) -> Result<Self, BadNid> {
        if number > u8::MAX as u32 {
            return Err(BadNid::TooLarge(number));
        }
        match NonZeroU8::new(number as u8) {
            Some(number) => Ok(Self(number)),
            None => Err(BadNid::Zero),
        }
    }

    pub const fn number(self) -> u8 {
        self.0.get()
    }

    /// True if every source allows the id.
    pub const fn is_for_drivers(self) -> bool {
        self.number() <= Self::DRIVER_MAX
    }
}

impl fmt::Display for Nid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nid {:#x}", self.number())
    }
}
