//! Verdicts: why a task is not executed, by register, bits and value.

use std::fmt;

use ane_uapi::hw::td::{self, header};
use ane_uapi::register::{Bits, Reg, Word};

use crate::refusal::Category;
use crate::td::decode::HEADER_AT;
use crate::td::register_file::RegisterFile;

/// A task that is not executed, and the register to blame for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Would hang, undefined, unpredictable or unsupported.
    pub category: Category,
    /// Record address of the register.
    pub address: u32,
    /// The bits that matter.
    pub bits: u32,
    /// The register's value.
    pub value: u32,
    /// What is wrong with it.
    pub why: &'static str,
}

impl Verdict {
    /// The register's name.
    pub fn register(&self) -> &'static str {
        let in_header = || self.address.checked_sub(HEADER_AT).and_then(|offset| header::HEADER.find(offset));
        match td::find(self.address) {
            Some(place) => place.register.name,
            None => in_header().map_or("register", |(register, _)| register.name),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { category, address, bits, value, why } = self;
        let name = self.register();
        write!(f, "bits {bits:#010x} of {value:#010x} in {name} at {address:#x}: {why} ({category})")
    }
}

impl std::error::Error for Verdict {}

/// The registers of a task, and how to find fault with them.
#[derive(Clone, Copy)]
pub(super) struct Registers<'a>(pub(super) &'a RegisterFile);

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

    fn unless<T: Word>(
        self,
        holds: bool,
        register: &Reg<T>,
        bits: Bits<T>,
        category: Category,
        why: &'static str,
    ) -> Result<(), Verdict> {
        if holds { Ok(()) } else { Err(self.verdict(register, bits, category, why)) }
    }

    /// Refuses as undefined unless `holds`.
    pub(super) fn defined<T: Word>(
        self,
        holds: bool,
        register: &Reg<T>,
        bits: Bits<T>,
        why: &'static str,
    ) -> Result<(), Verdict> {
        self.unless(holds, register, bits, Category::Undefined, why)
    }

    /// Refuses as unsupported unless `holds`.
    pub(super) fn supported<T: Word>(
        self,
        holds: bool,
        register: &Reg<T>,
        bits: Bits<T>,
        why: &'static str,
    ) -> Result<(), Verdict> {
        self.unless(holds, register, bits, Category::Unsupported, why)
    }

    /// Says that the engine hangs unless `holds`.
    pub(super) fn runs<T: Word>(
        self,
        holds: bool,
        register: &Reg<T>,
        bits: Bits<T>,
        why: &'static str,
    ) -> Result<(), Verdict> {
        self.unless(holds, register, bits, Category::WouldHang, why)
    }
}
