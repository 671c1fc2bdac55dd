//! Finding a chip, a board, a circuit or an instance by the name a person would type.

use core::fmt;

use super::super::names::list;
use super::{BOARDS, Board, CHIPS, CIRCUITS, Chip, Circuit, Count, Instance, Quantity, Soc};

impl Soc {
    /// Every SoC.
    pub const ALL: [Self; 5] = [Self::T8103, Self::T6000, Self::T6001, Self::T6002, Self::T8112];

    /// The name that the command line and dumps use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::T8103 => "t8103",
            Self::T6000 => "t6000",
            Self::T6001 => "t6001",
            Self::T6002 => "t6002",
            Self::T8112 => "t8112",
        }
    }

    /// The chip.
    pub const fn chip(self) -> &'static Chip {
        const TABLE: &[Chip; 5] = &CHIPS;
        &TABLE[self as usize]
    }

    /// The SoC of that name; capitals do not matter.
    ///
    /// # Errors
    ///
    /// [`Unknown::Soc`], which names the five.
    pub fn by_name(name: &str) -> Result<Self, Unknown<'_>> {
        Self::ALL.into_iter().find(|soc| soc.name().eq_ignore_ascii_case(name)).ok_or(Unknown::Soc { name })
    }

    /// The boards that were built around it.
    pub fn boards(self) -> impl Iterator<Item = &'static Board> {
        BOARDS.iter().filter(move |board| board.soc == self)
    }
}

impl fmt::Display for Soc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Board {
    /// The board of that product code; capitals do not matter.
    ///
    /// # Errors
    ///
    /// [`Unknown::Board`], which names the thirteen.
    pub fn by_product(product: &str) -> Result<&'static Self, Unknown<'_>> {
        BOARDS
            .iter()
            .find(|board| board.product.eq_ignore_ascii_case(product))
            .ok_or(Unknown::Board { product })
    }
}

impl Circuit {
    /// The circuit of that code name.
    ///
    /// # Errors
    ///
    /// [`Unknown::Circuit`], which names the six.
    pub fn by_codename(codename: &str) -> Result<&'static Self, Unknown<'_>> {
        CIRCUITS
            .iter()
            .find(|circuit| circuit.codename.eq_ignore_ascii_case(codename))
            .ok_or(Unknown::Circuit { codename })
    }
}

impl Chip {
    /// The instance of that node name.
    ///
    /// # Errors
    ///
    /// [`Unknown::Node`], which names those that the chip has.
    pub fn node<'a>(&self, node: &'a str) -> Result<&'static Instance, Unknown<'a>> {
        self.instances
            .iter()
            .find(|instance| instance.node == node)
            .ok_or(Unknown::Node { soc: self.soc, node })
    }

    /// Instance `number`, counted from 0.
    ///
    /// # Errors
    ///
    /// [`Unknown::Instance`], which says how many the chip has.
    pub fn instance(&self, number: usize) -> Result<&'static Instance, Unknown<'static>> {
        self.instances.get(number).ok_or(Unknown::Instance { soc: self.soc, number })
    }

    /// One of the numbers that have been called the number of engines; `None` where no source gives it.
    pub fn count(&self, quantity: Quantity) -> Option<Count> {
        self.engines.iter().find(|(known, _)| *known == quantity).map(|&(_, count)| count)
    }
}

/// Something was asked for by a name that is not in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown<'a> {
    /// No such SoC.
    Soc {
        /// The name.
        name: &'a str,
    },
    /// No such board.
    Board {
        /// The product code.
        product: &'a str,
    },
    /// No such circuit.
    Circuit {
        /// The code name.
        codename: &'a str,
    },
    /// The chip has no node of that name.
    Node {
        /// The chip.
        soc: Soc,
        /// The name of the node.
        node: &'a str,
    },
    /// The chip has fewer instances.
    Instance {
        /// The chip.
        soc: Soc,
        /// The number asked for, from 0.
        number: usize,
    },
}

impl fmt::Display for Unknown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Soc { name } => {
                write!(f, "chip {name:?} is not known; known: ")?;
                list(f, Soc::ALL.iter().map(|soc| soc.name()))
            }
            Self::Board { product } => {
                write!(f, "board {product:?} is not known; known: ")?;
                list(f, BOARDS.iter().map(|board| board.product))
            }
            Self::Circuit { codename } => {
                write!(f, "circuit {codename:?} is not known; known: ")?;
                list(f, CIRCUITS.iter().map(|circuit| circuit.codename))
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

impl core::error::Error for Unknown<'_> {}
