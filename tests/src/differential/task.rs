//! A task as it is put together: registers by address, and the descriptor that writes them all.

use std::collections::BTreeMap;

use super::STEP;
use crate::random::Random;

/// Records of a full descriptor: first address and registers (td 3.3).
const RECORDS: [(u32, u32); 7] =
    [(0x1_f800, 62), (0, 16), (0x1_3800, 28), (0x4800, 18), (0x8800, 4), (0xc800, 5), (0x1_7800, 7)];

/// The records of a compact descriptor: kernel DMA in two (td 3.2).
const COMPACT: [(u32, u32); 8] = [
    (0x1_f800, 18),
    (0x1_f8c8, 12),
    (0, 16),
    (0x1_3800, 28),
    (0x4800, 18),
    (0x8800, 4),
    (0xc800, 5),
    (0x1_7800, 7),
];

/// Words of the header.
const HEADER: usize = 10;

/// TDE: the header has an eleventh word.
const EXTENDED: u32 = 1 << 24;

/// How a descriptor is written; none of it changes what it means.
#[derive(Clone, Copy, Debug, Default)]
pub struct DescriptorLayout {
    /// The header has an eleventh word.
    pub is_extended: bool,
    /// Registers that kernel DMA does not need are left out.
    pub is_compact: bool,
    /// Where in the order of the compiler the records start.
    pub rotation: usize,
}

impl DescriptorLayout {
    pub fn random(random: &mut Random) -> Self {
        Self {
            is_extended: random.below(4) == 0,
            is_compact: random.below(4) == 0,
            rotation: random.below(8) as usize,
        }
    }

    /// Words of the descriptor.
    pub const fn words(self) -> u32 {
        let records = if self.is_compact { 116 } else { 147 };
        HEADER as u32 + self.is_extended as u32 + records
    }

    fn records(self) -> Vec<(u32, u32)> {
        let mut records = if self.is_compact { COMPACT.to_vec() } else { RECORDS.to_vec() };
        let middle = self.rotation % records.len();
        records.rotate_left(middle);
        records
    }
}

#[derive(Clone, Debug, Default)]
pub struct TaskDraft {
    /// How its descriptor is written.
    pub layout: DescriptorLayout,
    /// Registers; those not named are 0.
    pub registers: BTreeMap<u32, u32>,
    /// Flags, operand BARs and coefficient BARs: words 6, 8 and 9.
    pub flags: u32,
    /// Operand BARs.
    pub operands: u32,
    /// Coefficient BARs.
    pub kernels: u32,
}

impl TaskDraft {
    pub fn set(&mut self, address: u32, value: u32) {
        self.registers.insert(address, value);
    }

    /// The descriptor of task `index`, before one of `next` words if there is one.
    fn descriptor(&self, index: u32, next: Option<u32>) -> Vec<u32> {
        let mut words = vec![0; HEADER];
        let nid = if index == 0 { 0x40 } else { 0 };
        words[0] = index | nid << 16 | u32::from(index != 0) << 24 | u32::from(next.is_none()) << 25;
        words[6] = self.flags;
        words[8] = self.operands;
        words[9] = self.kernels;
        if self.layout.is_extended {
            words[6] |= EXTENDED;
            words.push(0);
        }
        if let Some(next) = next {
            words[1] = (next - 1) << 16;
            words[7] = (index + 1) * STEP;
            words[8] |= 1 << 23;
        }
        for (address, count) in self.layout.records() {
            words.push((count - 1) << 26 | address);
            let value = |i| self.registers.get(&(address + 4 * i)).copied().unwrap_or_default();
            words.extend((0..count).map(value));
        }
        words
    }

    /// The stream of a chain.
    pub fn stream(tasks: &[Self]) -> Vec<u8> {
        let mut stream = Vec::new();
        for (index, task) in tasks.iter().enumerate() {
            stream.resize(index * STEP as usize, 0);
            let next = tasks.get(index + 1).map(|next| next.layout.words());
            let words = task.descriptor(index as u32, next);
            stream.extend(words.into_iter().flat_map(u32::to_le_bytes));
        }
        stream
    }

    /// Turns one bit of one of its registers.
    pub fn turn_a_bit(&mut self, random: &mut Random) {
        let (start, count) = RECORDS[random.below(7) as usize];
        let address = start + 4 * random.below(count);
        *self.registers.entry(address).or_default() ^= 1 << random.below(32);
    }
}

/// A half of many kinds: plain numbers mostly, and everything that has rules of its own.
pub fn half(random: &mut Random) -> u16 {
    const SPECIAL: [u16; 16] = [
        0x0000, 0x8000, 0x7c00, 0xfc00, 0x7e01, 0xfe00, 0x0001, 0x8001, 0x03ff, 0x0400, 0x7bff, 0xfbff,
        0x77ff, 0x7800, 0x3c00, 0xbc00,
    ];
    match random.below(16) {
        0 => SPECIAL[random.below(16) as usize],
        1 => random.word() as u16,
        // Between 2^-3 and 2^3, of either sign.
        _ => (random.word() as u16 & 0x83ff) | ((12 + random.below(6)) as u16) << 10,
    }
}

pub fn halves(random: &mut Random, bytes: usize) -> Vec<u8> {
    (0..bytes.div_ceil(2)).flat_map(|_| half(random).to_le_bytes()).collect()
}

/// The next multiple.
pub const fn align(value: u32, to: u32) -> u32 {
    value.div_ceil(to) * to
}
