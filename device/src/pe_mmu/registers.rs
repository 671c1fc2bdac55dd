//! The block's registers: what it was made with, one switch, and counters that only observe.

use ane_uapi::hw::pe_mmu::{self as regs, Control};
use ane_uapi::register::{Reg, Register, Word};

use super::PeMmu;
use crate::bus::halves;

/// The high half of the counter whose low half was read last, until it is read itself.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Latched(Option<(u32, u32)>);

/// True if a row of the block's table is this register.
fn is<T: Word>(row: &Register, register: &Reg<T>) -> bool {
    row.offset == register.offset()
}

impl PeMmu {
    /// What a register reads as.
    pub fn read(&mut self, row: &Register, index: u16) -> u32 {
        let count = if is(row, &regs::PAGE_SIZE) {
            return self.attributes.page_size.bytes();
        } else if is(row, &regs::OVERHEAD_PS) {
            return self.attributes.overhead_ps;
        } else if is(row, &regs::FABRIC_PS) {
            return self.attributes.fabric_ps;
        } else if is(row, &regs::CONTROL) {
            return self.control.word();
        } else if is(row, &regs::MAPS) {
            self.counters.maps
        } else if is(row, &regs::UNMAPS) {
            self.counters.unmaps
        } else if is(row, &regs::REGIONS) {
            self.table.regions() as u64
        } else if is(row, &regs::TRANSLATIONS) {
            self.counters.translations
        } else {
            self.counters.fallbacks
        };
        let (low, high) = halves(count);
        if index == 0 {
            self.latched = Latched(Some((row.offset, high)));
            return low;
        }
        match self.latched.0.take_if(|(offset, _)| *offset == row.offset) {
            Some((_, held)) => held,
            None => high,
        }
    }

    /// Writes a register; only one takes anything.
    pub fn write(&mut self, row: &Register, value: u32) {
        if is(row, &regs::CONTROL) {
            self.control = Control::from_word(value & !row.unknown);
        }
    }

    /// Sets the switches.
    pub const fn set_control(&mut self, control: Control) {
        self.control = control;
    }
}
