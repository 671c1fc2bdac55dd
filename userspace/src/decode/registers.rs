//! The register file as it stands after a task: what the engine would compute with.

use std::collections::BTreeMap;

use ane_uapi::register::{Reg, Word};

/// Register values by record address; registers keep their values from task to task.
#[derive(Clone, Debug, Default)]
pub struct RegisterFile(BTreeMap<u32, u32>);

impl RegisterFile {
    /// Writes a register; returns what it held.
    pub fn write(&mut self, address: u32, value: u32) -> Option<u32> {
        self.0.insert(address, value)
    }

    pub fn get<T: Word>(&self, register: &Reg<T>) -> Option<T> {
        self.0.get(&register.offset()).map(|&word| T::from_word(word))
    }

    /// The word of a register, or its reset value where no task has written it.
    pub fn or_reset<T: Word>(&self, register: &Reg<T>) -> T {
        self.get(register).unwrap_or_else(|| register.reset())
    }
}
