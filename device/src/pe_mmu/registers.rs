//! The block's registers: what it was made with, one switch, and counters that only observe.

use ane_uapi::hw::pe_mmu::{Control, RegisterId};
use ane_uapi::register::Word;

use super::PeMmu;

impl PeMmu {
    pub fn read(&mut self, register: RegisterId, index: u16) -> u32 {
        match register {
            RegisterId::PAGE_SIZE => self.attributes.page_size.bytes(),
            RegisterId::OVERHEAD_PS => self.attributes.overhead_ps,
            RegisterId::FABRIC_PS => self.attributes.fabric_ps,
            RegisterId::CONTROL => self.control.word(),
            RegisterId::MAPS => self.latch.half(register, index, self.counters.maps),
            RegisterId::UNMAPS => self.latch.half(register, index, self.counters.unmaps),
            RegisterId::REGIONS => self.latch.half(register, index, self.table.regions() as u64),
            RegisterId::TRANSLATIONS => self.latch.half(register, index, self.counters.translations),
            RegisterId::FALLBACKS => self.latch.half(register, index, self.counters.fallbacks),
        }
    }

    /// Writes a register; only one takes anything.
    pub fn write(&mut self, register: RegisterId, value: u32) {
        match register {
            RegisterId::CONTROL => self.control = Control::from_word(value & !register.register().unknown),
            RegisterId::PAGE_SIZE
            | RegisterId::OVERHEAD_PS
            | RegisterId::FABRIC_PS
            | RegisterId::MAPS
            | RegisterId::UNMAPS
            | RegisterId::REGIONS
            | RegisterId::TRANSLATIONS
            | RegisterId::FALLBACKS => {}
        }
    }
}
