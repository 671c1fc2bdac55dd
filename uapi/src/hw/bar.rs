//! BARs: the table of base addresses that a request brings along.
//!
//! Compilers leave every address in a task at zero, or at an offset, and name a base-address register for
//! it instead. The hardware adds the two and puts the sum into the configuration registers; software never
//! does that. Slots 0, 1 and 3 have a fixed meaning, the rest is the program's own affair: older compilers
//! put outputs before inputs, newer ones take the order of link addresses. Always ask the program's
//! descriptor (td 5; facts M, X-25).

use super::index::{OutOfRange, index};
use super::space::Iova;
use crate::layout;
use crate::register::Show;

index! {
    /// One of the 32 slots of a BAR table (seed 004: a table of `0x20`).
    pub struct BarIndex below 32, "bar";
}

impl BarIndex {
    /// The task descriptors; the base of every link between them (seed 004, td 5; measured).
    pub const TASKS: Self = Self(0);

    /// The constants (td 5; measured).
    pub const CONSTANTS: Self = Self(1);

    /// Scratch and intermediates (td 5; measured).
    pub const SCRATCH: Self = Self(3);

    /// The first surface that is bound; the others follow (td 5; measured).
    pub const FIRST_SURFACE: Self = Self(4);

    /// The slot of surface number `n`.
    pub const fn surface(n: u32) -> Result<Self, OutOfRange> {
        Self::new(n.saturating_add(Self::FIRST_SURFACE.0 as u32))
    }
}

layout! {
    /// A device address in a register.
    pub struct AddressWord {
        /// The address.
        #[bits(32)] iova: u32 => Show::Hex
    }
}

impl AddressWord {
    pub const fn of(address: Iova) -> Self {
        Self::from_bits(address.0)
    }

    pub const fn address(self) -> Iova {
        Iova(self.into_bits())
    }
}

/// The base addresses of one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct BarTable([Iova; BarIndex::COUNT as usize]);

impl BarTable {
    /// The address in a slot; 0 where none was put.
    pub const fn get(&self, bar: BarIndex) -> Iova {
        self.0[bar.index()]
    }

    pub const fn set(&mut self, bar: BarIndex, address: Iova) {
        self.0[bar.index()] = address;
    }

    /// Every slot with its address.
    pub fn iter(&self) -> impl Iterator<Item = (BarIndex, Iova)> {
        BarIndex::ALL.into_iter().zip(self.0)
    }
}
