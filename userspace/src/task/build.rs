//! The way back: a descriptor from typed registers.

use std::collections::BTreeMap;

use ane_uapi::hw::td::header::Header;
use ane_uapi::hw::td::record::RecordHeader;
use ane_uapi::hw::td::{self, BLOCKS};
use ane_uapi::register::{Reg, Word};

/// A full descriptor under construction: every register of every block, zero unless set.
///
/// # Examples
///
/// ```
/// use ane::task::Descriptor;
/// use ane_uapi::hw::td::{self, common};
///
/// let mut task = Descriptor::new();
/// task.set(&common::IN_DIM, common::Extent::new().with_width(77).with_height(1));
/// assert_eq!(task.encode().len() as u32, td::FULL_BYTES);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Descriptor {
    header: Header,
    registers: BTreeMap<u32, u32>,
}

impl Descriptor {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn header_mut(&mut self) -> &mut Header {
        &mut self.header
    }

    pub fn set<T: Word>(&mut self, register: &Reg<T>, word: T) -> &mut Self {
        self.registers.insert(register.offset(), word.word());
        self
    }

    pub fn fill<T: Word>(&mut self, register: &Reg<T>, word: T) -> &mut Self {
        for index in 0..register.info.count {
            if let Some(address) = register.info.at(index) {
                self.registers.insert(address, word.word());
            }
        }
        self
    }

    /// Sets one instance of an array of registers; instances that are not there are left alone.
    pub fn set_at<T: Word>(&mut self, register: &Reg<T>, index: u16, word: T) -> &mut Self {
        if let Some(address) = register.info.at(index) {
            self.registers.insert(address, word.word());
        }
        self
    }

    /// Bytes that [`encode`](Self::encode) makes.
    pub const fn len_bytes(&self) -> u32 {
        if self.header.dependence.is_some() { td::FULL_EXTENDED_BYTES } else { td::FULL_BYTES }
    }

    /// The descriptor's bytes: header, then one record for each block, in the order of compilers.
    pub fn encode(&self) -> Vec<u8> {
        let mut words: Vec<u32> = self.header.encode().into_iter().take(self.header.words()).collect();
        for (block, record) in BLOCKS.into_iter().zip(td::record::FULL) {
            words.push(record);
            let first = RecordHeader::from_bits(record).address();
            words.extend((first..first + block.len).step_by(4).map(|address| self.register(address)));
        }
        words.into_iter().flat_map(u32::to_le_bytes).collect()
    }

    fn register(&self, address: u32) -> u32 {
        self.registers.get(&address).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use ane_uapi::hw::td::header::Dependence;
    use ane_uapi::hw::td::{common, kernel_dma};

    use super::*;
    use crate::task::Tasks;

    #[test]
    fn descriptor_reads_back_with_its_registers() {
        let mut descriptor = Descriptor::new();
        descriptor.set(&common::C_IN, common::Channels::new().with_channels(64));
        let idle = kernel_dma::CoeffBfrSize::new().with_bytes(0x40);
        descriptor.fill(&kernel_dma::COEFF_BFR_SIZE, idle);
        let bytes = descriptor.encode();
        assert_eq!(bytes.len() as u32, td::FULL_BYTES);

        let task = Tasks::new(&bytes, td::FULL_BYTES, 1).next().unwrap().unwrap();
        let mut set = Vec::new();
        task.for_each_write(|address, value| {
            if value != 0 {
                set.push((address, value))
            }
        });
        let sizes = (0..16).map(|channel| (0x1f888 + 4 * channel, 0x40));
        assert_eq!(set, sizes.chain([(0x0c, 64)]).collect::<Vec<_>>());
    }

    #[test]
    fn extended_header_makes_the_descriptor_one_word_longer() {
        let mut descriptor = Descriptor::new();
        let header = descriptor.header_mut();
        header.flags.set_tde(true);
        header.dependence = Some(Dependence::new().with_dtid(3));
        assert_eq!(descriptor.encode().len() as u32, td::FULL_EXTENDED_BYTES);
    }
}
