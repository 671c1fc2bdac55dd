//! How a seed becomes the words that start a generator.

/// Words of the pool.
const POOL: usize = 4;

/// A multiplier that changes with every use.
struct Hash {
    constant: u32,
    multiplier: u32,
}

impl Hash {
    const fn of(&mut self, value: u32) -> u32 {
        let value = value ^ self.constant;
        self.constant = self.constant.wrapping_mul(self.multiplier);
        let value = value.wrapping_mul(self.constant);
        value ^ (value >> 16)
    }
}

const fn mix(x: u32, y: u32) -> u32 {
    let mixed = x.wrapping_mul(0xca01_f9dd).wrapping_sub(y.wrapping_mul(0x4973_f715));
    mixed ^ (mixed >> 16)
}

/// Four words of 64 bits from a seed of one.
pub(super) fn words(seed: u32) -> [u64; 4] {
    let mut hash = Hash { constant: 0x43b0_d7e5, multiplier: 0x931e_8875 };
    let mut pool: [u32; POOL] = std::array::from_fn(|index| hash.of(if index == 0 { seed } else { 0 }));
    for from in 0..POOL {
        for to in (0..POOL).filter(|&to| to != from) {
            pool[to] = mix(pool[to], hash.of(pool[from]));
        }
    }
    let mut hash = Hash { constant: 0x8b51_f9dd, multiplier: 0x58f3_8ded };
    let halves: [u32; 2 * POOL] = std::array::from_fn(|index| hash.of(pool[index % POOL]));
    std::array::from_fn(|index| u64::from(halves[2 * index]) | u64::from(halves[2 * index + 1]) << 32)
}
