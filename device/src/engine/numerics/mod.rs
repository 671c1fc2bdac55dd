//! The engine's arithmetic, number by number. It is in no other place.
//!
//! The multiply-accumulate array multiplies fp16 operands, rounds each product by itself to a multiple of 2^-16, and
//! adds these exactly in 32 bits of fixed point. The output port multiplies with the post-scale and rounds once. The
//! rules were found from relative errors that M1s printed with 16 digits, and reproduce them to the last; `docs/numerics.md`
//! states them one by one. Everything here is written for one number at a time, in integers where the hardware has
//! integers; the kernels that compute many at once are held to it bit for bit.
//!
//! * [`halves`]: how fp16 is read, inside the array and outside of it.
//! * `double`: the same by way of double precision, for everything behind the array.
//! * [`product`]: one product, in units of 2^-16.
//! * [`sum`]: a whole reduction, in each of the two modes.
//! * [`output`]: from a sum to the fp16 that is stored.
//! * [`bounds`]: bounds that results are kept within.

pub mod bounds;
pub(super) mod double;
pub mod halves;
pub mod output;
pub mod product;
pub mod sum;

#[cfg(test)]
pub(super) mod vectors;

use std::str::FromStr;

use crate::options::names::{UnknownValue, by_name};

/// How the array adds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Numerics {
    /// As an M1 does: products rounded to multiples of 2^-16, exact sums, the limit of 2^15.
    #[default]
    M1,
    /// In double precision, one after the other: what tests compare with.
    Exact,
}

impl Numerics {
    /// Every value with the name that the command line knows it by.
    pub const NAMES: [(&'static str, Self); 2] = [("m1", Self::M1), ("exact", Self::Exact)];

    /// A name of an earlier release, accepted for one more: the mode it named was there because `m1` was slow.
    pub const FORMER: (&'static str, Self) = ("fast", Self::M1);

    /// The name that command lines and reports use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::M1 => "m1",
            Self::Exact => "exact",
        }
    }
}

impl FromStr for Numerics {
    type Err = UnknownValue;

    fn from_str(value: &str) -> Result<Self, Self::Err> {
        let (former, numerics) = Self::FORMER;
        if value.eq_ignore_ascii_case(former) {
            log::warn!(target: "ane::options", "numerics {former:?} is gone and means {:?} now", numerics.name());
            return Ok(numerics);
        }
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

    #[test]
    fn former_name_means_what_replaced_it() {
        assert_eq!("fast".parse(), Ok(Numerics::M1));
        assert!("slow".parse::<Numerics>().is_err());
    }
}
