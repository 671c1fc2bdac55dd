//! The block's registers: what it was made with, one switch, and counters that only observe.

use ane_uapi::hw::pe_mmu::{Control, RegisterId};
use ane_uapi::register::Word;

use super::PeMmu;
use crate::halves::halves;

/// The high half of the counter whose low half was read last, until it is read itself.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Latched(Option<(RegisterId, u32)>);

impl PeMmu {
    pub fn read(&mut self, register: RegisterId, index: u16) -> u32 {
        match register {
            RegisterId::PAGE_SIZE => self.attributes.page_size.bytes(),
            RegisterId::OVERHEAD_PS => self.attributes.overhead_ps,
            RegisterId::FABRIC_PS => self.attributes.fabric_ps,
            RegisterId::CONTROL => self.control.word(),
            RegisterId::MAPS => self.half(register, index, self.counters.maps),
            RegisterId::UNMAPS => self.half(register, index, self.counters.unmaps),
            RegisterId::REGIONS => self.half(register, index, self.table.regions() as u64),
            RegisterId::TRANSLATIONS => self.half(register, index, self.counters.translations),
            RegisterId::FALLBACKS => self.half(register, index, self.counters.fallbacks),
        }
    }

    /// Half of a counter: reading the low half keeps the high half until that is read.
    fn half(&mut self, register: RegisterId, index: u16, count: u64) -> u32 {
        let (low, high) = halves(count);
        if index == 0 {
            self.latched = Latched(Some((register, high)));
            return low;
        }
        match self.latched.0.take_if(|(held, _)| *held == register) {
            Some((_, held)) => held,
            None => high,
        }
    }

    /// Writes a register; only one takes anything.
    pub fn write(&mut self, register: RegisterId, value: u32) {
        match register {
            RegisterId::CONTROL => {
                self.control = Control::from_word(value & !register.register().unknown);
            }
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

    pub const fn set_control(&mut self, control: Control) {
        self.control = control;
    }
}
