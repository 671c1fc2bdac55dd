//! The numbers that have all been called the number of engines.
//!
//! The sources count 4, 8, 16 and 32 of something, and each is right about a different thing (facts M, X-11):
//! a patent's *neural engines*, the *cores* that the compiler divides output channels over, the engines that
//! its cost model charges for, the cores that the running system reports and the shop advertises, and the
//! tiles of multipliers that firmware can clock one by one. They are kept apart here and never derived from
//! each other; where no source gives a quantity for a chip, the chip does not have it.

use crate::named;
use crate::register::Grade;

named! {
    pub enum Quantity {
        /// Neural engines in one circuit, each of [`MADDS_PER_ENGINE`] multiply-add circuits: 8 or 16.
        NeuralEngines "neural engines in a circuit",
        /// Cores that the compiler divides the output channels over: HAL field `0x238`.
        CompilerCores "cores that the compiler tiles over",
        /// Engines that the compiler's cost model was seen to charge for.
        CostedEngines "engines in the compiler's cost model",
        /// Cores that the running system reports, and the shop advertises.
        ReportedCores "cores reported and advertised",
        /// Engines that the running system reports: it means circuits that the driver has registered.
        ReportedEngines "engines reported",
        /// Tiles of multipliers with a clock enable of their own.
        MacTiles "multiplier tiles with a clock enable",
        /// Coefficient channels of kernel DMA, which a task descriptor sets up one by one.
        KernelChannels "kernel DMA channels",
    }
}

/// A number, and how well it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    pub number: u16,
    pub grade: Grade,
    pub source: &'static str,
}

const fn count(number: u16, grade: Grade, source: &'static str) -> Count {
    Count { number, grade, source }
}

/// Multiply-add circuits in one neural engine: the same in every part that the patent describes (seed 004).
pub const MADDS_PER_ENGINE: u32 = 256;

/// Multiply-adds that `circuits` circuits of `engines` neural engines each do in one cycle (seed 004).
///
/// Seed 004 is sure of the first example only, the T8103; the second is the patent's largest.
///
/// ```
/// use ane_uapi::hw::chip::operations_per_cycle;
///
/// assert_eq!(operations_per_cycle(1, 8), 2048);
/// assert_eq!(operations_per_cycle(2, 16), 8192);
/// ```
pub const fn operations_per_cycle(circuits: u16, engines: u16) -> u32 {
    // At most 2^16 * 2^16 * 2^8: saturates rather than wraps for numbers that no chip has.
    (circuits as u32).saturating_mul(engines as u32).saturating_mul(MADDS_PER_ENGINE)
}

const _: () = assert!(operations_per_cycle(1, 8) == 2048 && operations_per_cycle(2, 16) == 8192);

use Grade::{Derived, Measured, Predicted};
use Quantity::*;

/// Descriptors of the H13 engine set up sixteen channels on every chip that has it.
const H13_CHANNELS: (Quantity, Count) = (KernelChannels, count(16, Derived, "td 4.7"));

pub(super) const T8103: &[(Quantity, Count)] = &[
    (NeuralEngines, count(8, Derived, "seed 004, specs")),
    (CompilerCores, count(4, Derived, "facts A.4, 0x238")),
    (ReportedCores, count(16, Predicted, "facts G.1: as advertised; read on an M1 Max only")),
    (MacTiles, count(32, Derived, "facts A.8, G.1")),
    H13_CHANNELS,
];

/// M1 Pro.
pub(super) const T6000: &[(Quantity, Count)] = &[
    (CompilerCores, count(8, Derived, "facts A.3")),
    (ReportedCores, count(16, Predicted, "facts G.1: as advertised; read on an M1 Max only")),
    H13_CHANNELS,
];

/// M1 Max.
pub(super) const T6001: &[(Quantity, Count)] = &[
    (CompilerCores, count(8, Derived, "facts A.3")),
    (CostedEngines, count(8, Measured, "facts G.1")),
    (ReportedCores, count(16, Measured, "facts A.6")),
    (ReportedEngines, count(1, Measured, "facts A.6")),
    H13_CHANNELS,
];

/// M1 Ultra.
pub(super) const T6002: &[(Quantity, Count)] =
    &[(CompilerCores, count(8, Derived, "facts A.3")), H13_CHANNELS];

pub(super) const T8112: &[(Quantity, Count)] = &[(CompilerCores, count(4, Derived, "facts A.3, A.4"))];
