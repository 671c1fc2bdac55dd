//! Finding a chip or an instance by the name a person would type.

use core::fmt;

use thiserror::Error;

use super::super::names::list;
use super::{CHIPS, Chip, Count, Instance, Quantity, Soc};

impl Soc {
    pub const fn chip(self) -> &'static Chip {
        const TABLE: &[Chip; 5] = &CHIPS;
        &TABLE[self as usize]
    }

    /// The SoC of that name; capitals do not matter.
    pub fn by_name(name: &str) -> Result<Self, Unknown<'_>> {
        Self::ALL.into_iter().find(|soc| soc.name().eq_ignore_ascii_case(name)).ok_or(Unknown::Soc { name })
    }
}

impl Chip {
    pub fn node<'a>(&self, node: &'a str) -> Result<&'static Instance, Unknown<'a>> {
        self.instances
            .iter()
            .find(|instance| instance.node == node)
            .ok_or(Unknown::Node { soc: self.soc, node })
    }

    /// Instance `number`, counted from 0.
    pub fn instance(&self, number: usize) -> Result<&'static Instance, Unknown<'static>> {
        self.instances.get(number).ok_or(Unknown::Instance { soc: self.soc, number })
    }

    /// One of the numbers that have been called the number of engines; `None` where no source gives it.
    pub fn count(&self, quantity: Quantity) -> Option<Count> {
        self.engines.iter().find(|(known, _)| *known == quantity).map(|&(_, count)| count)
    }
}

/// Something was asked for by a name that is not in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Unknown<'a> {
    /// No chip has that name.
    Soc { name: &'a str },
    /// The chip has no node of that name.
    Node { soc: Soc, node: &'a str },
    /// The number that was asked for is counted from 0.
    Instance { soc: Soc, number: usize },
}

impl fmt::Display for Unknown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Soc { name } => {
                write!(f, "chip {name:?} is not known; known: ")?;
                list(f, Soc::ALL.iter().map(|soc| soc.name()))
            }
            Self::Node { soc, node } => {
                write!(f, "node {node:?} does not exist on {soc}, which has: ")?;
                list(f, soc.chip().instances.iter().map(|instance| instance.node))
            }
            Self::Instance { soc, number } => {
                write!(f, "instance {number} does not exist on {soc}, which has 0 to ")?;
                write!(f, "{}", soc.chip().instances.len() - 1)
            }
        }
    }
}
