//! What the engine computes, number by number: the one place of its arithmetic.
//!
//! The multiply-accumulate array multiplies fp16 operands, adds the products of four consecutive taps in a
//! narrow adder, and collects the sums of these tiles in a single. No datasheet says so: the model was fitted to
//! published probes of an M1, and `docs/numerics.md` states it rule by rule. Everything here is written for one
//! number at a time and follows that page; the kernels that compute many at once are held to it bit for bit.
//!
//! * [`halves`]: fp16 and back, NaN as infinity, results that have no value.
//! * `double`: the same by way of double precision, for everything behind the array.
//! * [`product`]: the rounding of a product, with the switch that turns it off.
//! * [`tile`]: the 12-bit add, and the sum of a tile.
//! * [`sum`]: a whole reduction, in each of the three modes.
//! * [`output`]: from a sum to the fp16 that is stored.
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::cast_possible_truncation
    )
)]

pub(super) mod double;
pub mod halves;
pub mod output;
pub mod product;
pub mod sum;
pub mod tile;

#[cfg(test)]
mod probes;

use std::str::FromStr;

use crate::options::{UnknownValue, by_name};

/// How the array adds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Numerics {
    /// As an M1 does, as far as it is known: rounded products, tiles of four, the limit of 2^15.
    #[default]
    M1,
    /// In single precision, in an order that vector units like.
    Fast,
    /// In double precision, one after the other.
    Exact,
}

impl Numerics {
    /// Every value with the name that the command line knows it by.
    pub const NAMES: [(&'static str, Self); 3] =
        [("m1", Self::M1), ("fast", Self::Fast), ("exact", Self::Exact)];

    /// The name that command lines and reports use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::M1 => "m1",
            Self::Fast => "fast",
            Self::Exact => "exact",
        }
    }
}

impl FromStr for Numerics {
    type Err = UnknownValue;

    fn from_str(value: &str) -> Result<Self, Self::Err> {
        by_name("numerics", value, Self::NAMES.into_iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numerics_are_found_by_their_names() {
        for (name, numerics) in Numerics::NAMES {
            assert_eq!((name.parse(), numerics.name()), (Ok(numerics), name));
        }
    }
}
