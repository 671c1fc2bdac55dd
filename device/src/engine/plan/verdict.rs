//! Verdicts: why a task is not executed, by register, bits and value.

use ane_uapi::hw::td::{self, header};
use ane_uapi::register::{Bits, Reg, Word};
use thiserror::Error;

use crate::refusal::Category;
use crate::td::decode::HEADER_AT;
use crate::td::register_file::RegisterFile;

/// A task that is not executed, and the register to blame for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("bits {bits:#010x} of {value:#010x} in {} at {address:#x}: {why} ({category})", self.register())]
pub struct Verdict {
    /// Would hang, undefined, unpredictable or unsupported.
    pub category: Category,
    /// Record address of the register.
    pub address: u32,
    /// The bits that matter.
    pub bits: u32,
    pub value: u32,
    pub why: &'static str,
}

pub(super) type Result<T, E = Verdict> = std::result::Result<T, E>;

impl Verdict {
    pub fn register(&self) -> &'static str {
        let in_header = || self.address.checked_sub(HEADER_AT).and_then(|offset| header::HEADER.find(offset));
        match td::find(self.address) {
            Some(place) => place.register.name,
            None => in_header().map_or("register", |(register, _)| register.name),
        }
    }
}

/// The registers of a task, and how to find fault with them.
#[derive(Clone, Copy)]
pub(super) struct Registers<'a>(pub(super) &'a RegisterFile);

/// Methods that find fault with bits of a register unless a condition holds, one for each category.
macro_rules! demands {
    ($($(#[$documentation:meta])* $name:ident: $category:ident;)*) => {
        $(
            $(#[$documentation])*
            pub(super) fn $name<T: Word>(
                self,
                holds: bool,
                register: &Reg<T>,
                bits: Bits<T>,
                why: &'static str,
            ) -> Result<()> {
                if holds { Ok(()) } else { Err(self.verdict(register, bits, Category::$category, why)) }
            }
        )*
    };
}

impl Registers<'_> {
    /// A register, typed.
    pub(super) fn get<T: Word>(self, register: &Reg<T>) -> T {
        self.0.get(register)
    }

    /// Finds fault with bits of a register.
    pub(super) fn verdict<T: Word>(
        self,
        register: &Reg<T>,
        bits: Bits<T>,
        category: Category,
        why: &'static str,
    ) -> Verdict {
        self.verdict_at(register, 0, bits, category, why)
    }

    /// The same for one instance of the register.
    pub(super) fn verdict_at<T: Word>(
        self,
        register: &Reg<T>,
        instance: u16,
        bits: Bits<T>,
        category: Category,
        why: &'static str,
    ) -> Verdict {
        let address = register.info.at(instance).unwrap_or(register.offset());
        let value = self.0.written(address).unwrap_or_default();
        Verdict { category, address, bits: bits.mask(), value, why }
    }

    demands! {
        /// Refuses as undefined unless `holds`.
        defined: Undefined;
        /// Refuses as unsupported unless `holds`.
        supported: Unsupported;
        /// Says that the engine hangs unless `holds`.
        runs: WouldHang;
    }
}
