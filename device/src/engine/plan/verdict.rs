//! Verdicts: why a task is not executed, by register, bits and value.

use std::fmt;

use ane_uapi::hw::td::{self, header};
use ane_uapi::register::{Reg, Register, Word};

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

    /// Finds fault with a field of a register; with all of it if `field` names none.
    pub(super) fn verdict(
        self,
        register: &Register,
        field: &str,
        category: Category,
        why: &'static str,
    ) -> Verdict {
        self.verdict_at(register, 0, field, category, why)
    }

    /// The same for one instance of the register.
    pub(super) fn verdict_at(
        self,
        register: &Register,
        instance: u16,
        field: &str,
        category: Category,
        why: &'static str,
    ) -> Verdict {
        let address = register.at(instance).unwrap_or(register.offset);
        let bits =
            register.fields.iter().find(|known| known.name == field).map_or(u32::MAX, |known| known.mask());
        Verdict { category, address, bits, value: self.0.written(address).unwrap_or_default(), why }
    }

    fn unless(
        self,
        holds: bool,
        register: &Register,
        field: &str,
        category: Category,
        why: &'static str,
    ) -> Result<(), Verdict> {
        if holds { Ok(()) } else { Err(self.verdict(register, field, category, why)) }
    }

    /// Refuses as undefined unless `holds`.
    pub(super) fn defined<T>(
        self,
        holds: bool,
        register: &Reg<T>,
        field: &str,
        why: &'static str,
    ) -> Result<(), Verdict> {
        self.unless(holds, &register.info, field, Category::Undefined, why)
    }

    /// Refuses as unsupported unless `holds`.
    pub(super) fn supported<T>(
        self,
        holds: bool,
        register: &Reg<T>,
        field: &str,
        why: &'static str,
    ) -> Result<(), Verdict> {
        self.unless(holds, &register.info, field, Category::Unsupported, why)
    }

    /// Says that the engine hangs unless `holds`.
    pub(super) fn runs<T>(
        self,
        holds: bool,
        register: &Reg<T>,
        field: &str,
        why: &'static str,
    ) -> Result<(), Verdict> {
        self.unless(holds, &register.info, field, Category::WouldHang, why)
    }
}
