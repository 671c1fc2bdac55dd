//! The numbers of a chip that its timing follows from.
//!
//! Each is one that some source states, for the chip and not for a curve: the model's curves are then held against
//! measurements (docs/timing.md), none of which chose a number here. Rates are those of the M1 as measured; sources take
//! an M1 Pro or Max for one, and give the M1's column of the HAL table (facts M, X-26).

use std::num::NonZero;

use ane_uapi::hw::hal::{self, Generation};
use ane_uapi::hw::sram::Hierarchy;

use crate::time::{TICKS_PER_SECOND, Ticks};

/// Granules of a line: what the array takes of one channel in one cycle.
///
/// Throughput was measured to repeat every 64 bytes, "32 half-precision elements and four 16-byte granules" (seed 003).
pub const LINE_GRANULES: u32 = 4;

/// Engines that a task descriptor can put to work (td 4.1).
pub const ENGINES: u32 = 16;

/// Cycles of any layer besides its work, as the compiler's cost model has it (facts G.1, I).
pub const LAYER_OVERHEAD: u64 = 44;

/// Rates of the generations that were measured (facts I).
struct Rates {
    clock_hz: u64,
    memory_bytes_per_second: u64,
    dispatch_nanoseconds: u64,
}

/// 1.14 GHz; 9.0 GB/s, fitted over whole calls by the source; 0.23 ms, the intercept of time over work.
const M1: Rates =
    Rates { clock_hz: 1_140_000_000, memory_bytes_per_second: 9_000_000_000, dispatch_nanoseconds: 230_000 };

/// 1.89 GHz, 57 GB/s, 0.11 ms.
const M5: Rates =
    Rates { clock_hz: 1_890_000_000, memory_bytes_per_second: 57_000_000_000, dispatch_nanoseconds: 110_000 };

/// The numbers of a chip that the timing model uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    pub hierarchy: Hierarchy,
    pub clock_hz: u64,
    /// Bytes in a second between DRAM and the chip, in both directions together.
    pub memory_bytes_per_second: u64,
    /// The time that every request takes from the call to its return, in nanoseconds.
    pub dispatch_nanoseconds: u64,
    /// Output channels that one pass over the input makes.
    pub outputs_per_pass: u32,
}

impl Machine {
    /// The machine of a generation. Deviation: inferred of any but the M1 and the M5, which have the M1's rates.
    pub fn of(generation: Generation) -> Self {
        let rates = match generation.class() {
            Generation::H17s => M5,
            _ => M1,
        };
        // All three have a value in every class, or that of the M1 below.
        let field = |offset| {
            let value = hal::expected(generation, offset).or_else(|| hal::value(Generation::H13, offset));
            value.map_or(1, |value| value.number)
        };
        // Cores, accumulators of a core, and output channels of an accumulator in packed fp16: 4 * 8 * 2 on the M1. With a
        // line of 32 elements that makes 2048 multiply-adds in a cycle, which is what seed 004 counts on a T8103.
        let cores = field(hal::CORES);
        let outputs = cores
            .saturating_mul(field(hal::ACCUMULATORS))
            .saturating_mul(field(hal::CHANNELS_PER_ACCUMULATOR));
        Self {
            hierarchy: Hierarchy::of(generation),
            clock_hz: rates.clock_hz,
            memory_bytes_per_second: rates.memory_bytes_per_second,
            dispatch_nanoseconds: rates.dispatch_nanoseconds,
            outputs_per_pass: outputs.max(ENGINES),
        }
    }

    pub const fn line_elements(&self) -> u64 {
        (self.hierarchy.granule as u64).saturating_mul(LINE_GRANULES as u64) / 2
    }

    /// Multiply-adds in a cycle, at best.
    pub const fn peak(&self) -> u64 {
        self.line_elements().saturating_mul(self.outputs_per_pass as u64)
    }

    /// Cycles that so many bytes take between DRAM and the chip.
    pub fn transfer(&self, bytes: u64) -> u64 {
        let cycles = u128::from(bytes).saturating_mul(self.clock_hz.into());
        let cycles = cycles.div_ceil(u128::from(self.memory_bytes_per_second.max(1)));
        u64::try_from(cycles).unwrap_or(u64::MAX)
    }

    pub fn nanoseconds(&self, cycles: u64) -> u64 {
        const SECOND: u64 = 1_000_000_000;
        let clock = NonZero::new(self.clock_hz).unwrap_or(NonZero::<u64>::MIN);
        // The rest that is less than a second is a product of 64 bits.
        let (seconds, rest) = (cycles / clock, cycles % clock);
        seconds.saturating_mul(SECOND).saturating_add(rest.saturating_mul(SECOND).div_ceil(clock.get()))
    }

    /// The same in the device's ticks, at least one.
    pub fn ticks(&self, cycles: u64) -> Ticks {
        let ticks = u128::from(cycles).saturating_mul(TICKS_PER_SECOND.into());
        let ticks = ticks.div_ceil(u128::from(self.clock_hz.max(1)));
        Ticks(u64::try_from(ticks).unwrap_or(u64::MAX).max(1))
    }

    /// The cycles that fill so many nanoseconds.
    pub fn cycles(&self, nanoseconds: u64) -> u64 {
        let cycles = u128::from(nanoseconds).saturating_mul(self.clock_hz.into()).div_ceil(1_000_000_000);
        u64::try_from(cycles).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m1_multiplies_as_often_in_a_cycle_as_seed_004_counts() {
        let m1 = Machine::of(Generation::H13);
        assert_eq!((m1.outputs_per_pass, m1.line_elements(), m1.peak()), (64, 32, 2048));
        let counted = ane_uapi::hw::chip::operations_per_cycle(1, 8);
        assert_eq!(m1.peak(), u64::from(counted));
    }

    #[test]
    fn times_of_any_size_neither_wrap_nor_vanish() {
        let m1 = Machine::of(Generation::H13);
        assert_eq!((m1.transfer(0), m1.transfer(1), m1.transfer(9_000_000_000)), (0, 1, 1_140_000_000));
        assert_eq!((m1.nanoseconds(1), m1.nanoseconds(1_140_000_000)), (1, 1_000_000_000));
        assert_eq!((m1.transfer(u64::MAX) > 1 << 60, m1.nanoseconds(u64::MAX) > 1 << 63), (true, true));
    }

    #[test]
    fn every_generation_has_a_machine() {
        for &generation in Generation::ALL {
            assert!(Machine::of(generation).peak() >= 512, "{generation}");
        }
    }
}
