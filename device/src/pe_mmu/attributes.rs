//! The attributes of a PE_MMU: the two attributes of seed 001, and how long its messages travel.

use std::str::FromStr;

use ane_uapi::hw::pe_mmu::{BadPageSize, DEFAULT_OVERHEAD_PS, PS_PER_NS, PageSize};
use thiserror::Error;

use crate::number::number;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    pub page_size: PageSize,
    /// The time that one translation costs its caller, in picoseconds.
    pub overhead_ps: u32,
    /// The time that a message travels over the fabric, in picoseconds of modelled time.
    ///
    /// Seed 001 measures it and gives no number; none is chosen.
    pub fabric_ps: u32,
}

impl Default for Attributes {
    fn default() -> Self {
        Self { page_size: PageSize::default(), overhead_ps: DEFAULT_OVERHEAD_PS, fabric_ps: 0 }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BadAttributes {
    #[error("attribute {0:?} is not known; known: page=BYTES, overhead-ns=N, fabric-ns=N")]
    Unknown(String),
    #[error("attribute {0:?} has no number")]
    NoNumber(String),
    #[error("{0}")]
    Page(BadPageSize),
    #[error("attribute {0:?} is longer than {max} ns", max = u32::MAX / PS_PER_NS)]
    TooLong(String),
}

/// Nanoseconds, up to three digits behind the point, as picoseconds.
fn picoseconds(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    if part.len() > 3 || !part.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let whole: u64 = whole.parse().ok()?;
    let part: u64 = format!("{part:0<3}").parse().ok()?;
    whole.checked_mul(PS_PER_NS.into())?.checked_add(part)
}

impl FromStr for Attributes {
    type Err = BadAttributes;

    /// Reads `page=BYTES,overhead-ns=N,fabric-ns=N`, in any order; what is left out is as seed 001 has it.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut attributes = Self::default();
        for word in text.split(',').filter(|word| !word.is_empty()) {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            let no_number = || BadAttributes::NoNumber(word.to_owned());
            let time = || {
                let time = picoseconds(value).ok_or_else(no_number)?;
                u32::try_from(time).map_err(|_| BadAttributes::TooLong(word.to_owned()))
            };
            match name {
                "page" => {
                    let bytes = number(value).ok_or_else(no_number)?;
                    attributes.page_size = PageSize::new(bytes).map_err(BadAttributes::Page)?;
                }
                "overhead-ns" => attributes.overhead_ps = time()?,
                "fabric-ns" => attributes.fabric_ps = time()?,
                _ => return Err(BadAttributes::Unknown(word.to_owned())),
            }
        }
        Ok(attributes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_that_are_left_out_are_the_seeds() {
        assert_eq!("".parse(), Ok(Attributes::default()));
        let read: Attributes = "overhead-ns=2.5,page=0x1000".parse().unwrap();
        assert_eq!((read.page_size.bytes(), read.overhead_ps, read.fabric_ps), (0x1000, 2500, 0));
        let read: Attributes = "fabric-ns=40".parse().unwrap();
        assert_eq!((read.page_size.bytes(), read.overhead_ps, read.fabric_ps), (0x20_0000, 0, 40_000));
    }

    #[test]
    fn bad_attributes_are_refused_by_name() {
        for (text, message) in [
            ("page=0", "page size is zero"),
            ("page=3", "page size 0x3 is not a power of two"),
            ("page=0x100000000", "page size 0x100000000 exceeds 0x80000000"),
            ("page", "attribute \"page\" has no number"),
            ("overhead-ns=-1", "attribute \"overhead-ns=-1\" has no number"),
            ("overhead-ns=1.0001", "attribute \"overhead-ns=1.0001\" has no number"),
            ("overhead-ns=99999999999", "attribute \"overhead-ns=99999999999\" is longer than 4294967 ns"),
            ("ways=4", "attribute \"ways=4\" is not known; known: page=BYTES, overhead-ns=N, fabric-ns=N"),
        ] {
            assert_eq!(text.parse::<Attributes>().unwrap_err().to_string(), message);
        }
    }
}
