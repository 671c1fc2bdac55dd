//! Banks: which one a byte is in, and how many turns an access takes when several granules want the same.
//!
//! The pool is interleaved at 16 bytes over 64 banks, directly and without a second level: `(address / 16) mod 64`. In one
//! turn each bank gives one granule. Granules that are wanted together and lie in different banks come in one turn;
//! those that share a bank wait for each other, and the fullest bank decides (seed 003).

use super::Hierarchy;

/// The most banks that any generation has.
pub const BANKS_MAX: u32 = 64;

/// One direction in which the granules of an access are repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Bytes from one to the next; what is below a granule is ignored, as the registers do.
    pub stride: u64,
    pub count: u32,
}

impl Axis {
    pub const fn new(stride: u64, count: u32) -> Self {
        Self { stride, count }
    }
}

/// The largest number that divides both; 64 for a stride of no granules.
const fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl Hierarchy {
    /// The bank of a byte.
    ///
    /// ```
    /// use ane_uapi::hw::hal::Generation;
    /// use ane_uapi::hw::sram::Hierarchy;
    ///
    /// let m1 = Hierarchy::of(Generation::H13);
    /// assert_eq!([0, 15, 16, 1023, 1024].map(|at| m1.bank(at)), [0, 0, 1, 63, 0]);
    /// ```
    pub const fn bank(&self, address: u64) -> u32 {
        // A remainder of at most 64.
        (address / self.granule as u64 % self.banks as u64) as u32
    }

    /// Turns that `rows` granules take which lie `stride` bytes apart: `ceil(rows / (64 / gcd(stride / 16, 64)))`.
    pub const fn turns_of_rows(&self, rows: u32, stride: u64) -> u32 {
        let banks = self.banks as u64;
        let apart = banks / gcd(stride / self.granule as u64 % banks, banks);
        // As many banks as the rows reach, at least one.
        rows.div_ceil(apart as u32)
    }

    /// Turns of an access to one granule at each point of up to three axes: how many the fullest bank has.
    ///
    /// Exact for any counts, in bounded time; where the access begins makes no difference.
    pub fn turns(&self, axes: [Axis; 3]) -> u32 {
        fullest(&self.loads(0, axes))
    }

    /// How many of the granules at the points of up to three axes from `base` each bank has.
    pub fn loads(&self, base: u64, axes: [Axis; 3]) -> Loads {
        let mut load = [0; BANKS_MAX as usize];
        load[self.bank(base) as usize] = 1;
        axes.into_iter().fold(load, |load, axis| self.along(load, axis))
    }

    /// How many each bank has if the granules of `load` are there at each point of an axis.
    pub(super) fn along(&self, load: Loads, Axis { stride, count }: Axis) -> Loads {
        if count == 1 {
            return load;
        }
        let (banks, step) = (self.banks as usize, self.bank(stride) as usize);
        let mut next = [0_u64; BANKS_MAX as usize];
        // The axis comes back to its first bank after this many points.
        let apart = banks / gcd(step as u64, banks as u64) as usize;
        let mut shift = 0;
        for point in 0..apart.min(count as usize) {
            let times = (count as usize - point).div_ceil(apart) as u64;
            // Every bank's load goes so many banks on; the last ones come to the first.
            let (first, last) = load[..banks].split_at(banks - shift);
            let (low, high) = next[..banks].split_at_mut(shift);
            for (sum, load) in high.iter_mut().zip(first).chain(low.iter_mut().zip(last)) {
                *sum = sum.saturating_add(load.saturating_mul(times));
            }
            shift = (shift + step) % banks;
        }
        next
    }
}

/// Granules that each bank has.
pub type Loads = [u64; BANKS_MAX as usize];

pub(super) fn fullest(loads: &Loads) -> u32 {
    u32::try_from(loads.iter().copied().max().unwrap_or(0)).unwrap_or(u32::MAX)
}
