//! The registers that descriptors write: seven blocks, 140 words.
//!
//! They keep their values until another descriptor writes them; a reset of the engine clears them. A
//! register of record address `a` shows at container offset `0x1c00000 + a`, and the sixteen common ones once
//! more below each other block. Where the common block itself would show, nothing is mapped (seed 004).
//!
//! Registers that hold a base address exist twice: the word that was written, which later tasks build on, and
//! the sum with its BAR, which is what reading the register shows (seed 004: a BAR's value was seen to appear
//! in the configuration registers).

use ane_uapi::hw::space::Iova;
use ane_uapi::hw::td::words::DmaBytes;
use ane_uapi::hw::td::{self, REGISTER_WORDS};
use ane_uapi::register::{Reg, Word};

/// The first word of each block in the dense array, in the order of [`td::BLOCKS`].
const FIRST: [usize; td::BLOCKS.len()] = [0, 62, 78, 106, 124, 128, 133];

/// Registers that hold a base address: both sources, the destination, sixteen coefficient channels.
pub(crate) const BASES: usize = 19;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterFile {
    words: [u32; REGISTER_WORDS],
    sums: [Option<Iova>; BASES],
}

impl Default for RegisterFile {
    fn default() -> Self {
        Self { words: [0; REGISTER_WORDS], sums: [None; BASES] }
    }
}

/// Index of the word at record address `address` in [`RegisterFile::words`].
pub(super) fn dense_index(address: u32) -> Option<usize> {
    Some(place(address)?.0)
}

/// The same, and how many words its block has from there on.
fn place(address: u32) -> Option<(usize, usize)> {
    if !address.is_multiple_of(4) {
        return None;
    }
    td::BLOCKS.iter().zip(FIRST).find_map(|(block, first)| {
        let inside = address.checked_sub(block.start)?;
        let room = block.len.checked_sub(inside).filter(|&room| room > 0)?;
        Some((first.checked_add((inside >> 2) as usize)?, (room >> 2) as usize))
    })
}

/// Index of the base-address register at `address`; `None` if another register is there.
pub(crate) fn base_index(address: u32) -> Option<usize> {
    use ane_uapi::hw::td::{kernel_dma, tile_destination, tile_source};
    const FIXED: [u32; 3] = [
        tile_source::BASE_ADDR1.info.offset,
        tile_source::BASE_ADDR2.info.offset,
        tile_destination::BASE_ADDR.info.offset,
    ];
    if let Some(index) = FIXED.iter().position(|&fixed| fixed == address) {
        return Some(index);
    }
    let channel = address.checked_sub(kernel_dma::COEFF_BASE_ADDR.info.offset)? >> 2;
    (address.is_multiple_of(4) && channel < u32::from(kernel_dma::CHANNELS))
        .then(|| FIXED.len().saturating_add(channel as usize))
}

impl RegisterFile {
    /// Every word, block by block in the order of [`td::BLOCKS`].
    pub const fn words(&self) -> &[u32; REGISTER_WORDS] {
        &self.words
    }

    /// The word that was written at record address `address`; `None` if no block has it.
    pub fn written(&self, address: u32) -> Option<u32> {
        self.words.get(dense_index(address)?).copied()
    }

    /// The word that reading shows: as written, but for base addresses, which show their sums.
    pub fn shown(&self, address: u32) -> Option<u32> {
        match self.sum(address) {
            Some(sum) => Some(sum.0),
            None => self.written(address),
        }
    }

    /// Writes a word; `None` if no block has it.
    ///
    /// A base address loses its sum, until the next task makes one.
    pub fn write(&mut self, address: u32, value: u32) -> Option<()> {
        *self.words.get_mut(dense_index(address)?)? = value;
        if let Some(sum) = base_index(address).and_then(|base| self.sums.get_mut(base)) {
            *sum = None;
        }
        Some(())
    }

    /// The words of `count` registers from `address` on, to be written; `None` unless one block has them all.
    ///
    /// Base addresses lose their sums, all of them, until the next task makes some.
    pub(super) fn run(&mut self, address: u32, count: usize) -> Option<&mut [u32]> {
        let (first, room) = place(address)?;
        if count > room {
            return None;
        }
        self.sums = [None; BASES];
        self.words.get_mut(first..first.checked_add(count)?)
    }

    /// A register, typed, as it was written.
    pub fn get<T: Word>(&self, register: &Reg<T>) -> T {
        self.get_at(register, 0)
    }

    /// One instance of a register, typed, as it was written; of none beyond the last, the reset value.
    pub fn get_at<T: Word>(&self, register: &Reg<T>, instance: u16) -> T {
        match register.info.at(instance).and_then(|address| self.written(address)) {
            Some(word) => T::from_word(word),
            None => register.reset(),
        }
    }

    /// Every instance of a register, typed, as it was written.
    pub(super) fn instances<T: Word>(&self, register: &Reg<T>) -> impl Iterator<Item = T> {
        let first = dense_index(register.offset()).unwrap_or(REGISTER_WORDS);
        let words = self.words.get(first..).unwrap_or_default();
        let step = (register.info.stride >> 2) as usize;
        let instances = words.iter().step_by(step.max(1)).take(register.info.count.into());
        instances.map(|&word| T::from_word(word))
    }

    /// The sum of a base address with its BAR, if the last task named one for it.
    pub fn sum(&self, address: u32) -> Option<Iova> {
        *self.sums.get(base_index(address)?)?
    }

    /// The address that a base register stands for: its sum with its BAR, or the offset alone.
    pub fn base(&self, register: &Reg<DmaBytes>, instance: u16) -> Iova {
        let sum = register.info.at(instance).and_then(|address| self.sum(address));
        sum.unwrap_or_else(|| Iova(self.get_at(register, instance).bytes()))
    }

    /// Puts sums beside the words that were written: of both sources, the destination, and each coefficient channel.
    pub(super) const fn set_sums(&mut self, sums: [Option<Iova>; BASES]) {
        self.sums = sums;
    }
}

#[cfg(test)]
mod tests {
    use ane_uapi::hw::space::EngineOffset;
    use ane_uapi::hw::td::{kernel_dma, tile_destination, tile_source};

    use super::*;

    #[test]
    fn every_word_of_every_block_has_a_place_of_its_own() {
        let mut file = RegisterFile::default();
        let addresses: Vec<u32> =
            td::BLOCKS.iter().flat_map(|block| (block.start..block.start + block.len).step_by(4)).collect();
        assert_eq!(addresses.len(), REGISTER_WORDS);
        for (value, &address) in (1..).zip(&addresses) {
            assert_eq!(file.write(address, value), Some(()));
        }
        for (value, &address) in (1..).zip(&addresses) {
            assert_eq!(file.written(address), Some(value), "{address:#x}");
        }
        assert_eq!(file.write(0x0040, 1), None);
        assert_eq!(file.write(0x4802, 1), None);
    }

    /// Requirement: TD-06
    #[test]
    fn registers_show_at_their_record_address_from_container_offset_0x1c00000() {
        for block in td::BLOCKS.iter().filter(|block| block.name != "common") {
            for address in (block.start..block.start + block.len).step_by(4) {
                assert_eq!(td::shown_at(EngineOffset(0x1c0_0000 + address)), Some(address), "{address:#x}");
            }
        }
    }

    /// Requirement: DMA-10
    #[test]
    fn common_registers_show_0x800_below_each_other_block_and_nowhere_else() {
        let mut seen = Vec::new();
        for at in (0x1c0_0000..0x1c2_0000).step_by(4) {
            if let Some(address) = td::shown_at(EngineOffset(at))
                && address < 0x40
            {
                seen.push((at - 0x1c0_0000 - address, address));
            }
        }
        let echoes = [0x4000, 0x8000, 0xc000, 0x1_3000, 0x1_7000, 0x1_f000];
        let expected: Vec<_> =
            echoes.iter().flat_map(|&base| (0..16).map(move |word| (base, 4 * word))).collect();
        assert_eq!(seen, expected);
    }

    #[test]
    fn nineteen_registers_hold_base_addresses() {
        let mut bases: Vec<usize> = (0..0x2_0000).filter_map(base_index).collect();
        bases.sort_unstable();
        assert_eq!(bases, (0..BASES).collect::<Vec<_>>());
        assert_eq!(base_index(tile_source::BASE_ADDR1.offset()), Some(0));
        assert_eq!(base_index(tile_destination::BASE_ADDR.offset()), Some(2));
        assert_eq!(base_index(kernel_dma::COEFF_BASE_ADDR.info.at(15).unwrap()), Some(18));
    }

    #[test]
    fn instances_of_a_register_are_those_at_its_addresses() {
        let mut file = RegisterFile::default();
        let register = &kernel_dma::COEFF_BASE_ADDR;
        for channel in 0..kernel_dma::CHANNELS {
            file.write(register.info.at(channel).unwrap(), 0x40 * u32::from(channel));
        }
        let expected: Vec<_> =
            (0..kernel_dma::CHANNELS).map(|channel| file.get_at(register, channel)).collect();
        assert_eq!(file.instances(register).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn sum_is_shown_and_the_written_word_is_kept() {
        let mut file = RegisterFile::default();
        let address = tile_source::BASE_ADDR1.offset();
        file.write(address, 0x140);
        let mut sums = [None; BASES];
        sums[base_index(address).unwrap()] = Some(Iova(0x8140));
        file.set_sums(sums);
        assert_eq!((file.written(address), file.shown(address)), (Some(0x140), Some(0x8140)));
        file.write(address, 0x180);
        assert_eq!(file.shown(address), Some(0x180));
    }
}
