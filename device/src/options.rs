//! The options of a device: one group for every command that starts one.
//!
//! The parts parse themselves from text, so that a command line only has to name them.

use std::num::NonZero;
use std::str::FromStr;

use ane_uapi::hw::chip::Soc;
use ane_uapi::hw::dart::pte::PteFormat;
use ane_uapi::hw::mover::Profile;

#[cfg(feature = "cli")]
pub mod args;
pub(crate) mod names;

pub use self::names::UnknownValue;
use self::names::by_name;
pub use crate::dart::FaultPolicy;
pub use crate::engine::numerics::Numerics;
use crate::inject::Injection;
use crate::{mover, pe_mmu};

/// The treatment of a task that would hang a real engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Hang {
    /// It hangs, until the deadline aborts its queue.
    #[default]
    Deadline,
    /// It ends at once, with an error that says why it would have hung.
    Report,
}

impl Hang {
    /// Every value with the name that the command line knows it by.
    pub const NAMES: [(&'static str, Self); 2] = [("deadline", Self::Deadline), ("report", Self::Report)];
}

/// Everything that a device can be told at its start.
#[derive(Clone, Debug)]
pub struct Options {
    pub chip: Soc,
    /// Index of the circuit on the chip, from 0.
    pub instance: usize,
    pub pte_format: PteFormat,
    /// The effect of a real fault on the device.
    pub fault_policy: FaultPolicy,
    /// The treatment of a task that would hang.
    pub hang: Hang,
    /// Programming mistakes that silicon lets pass are reported.
    pub check: bool,
    /// Only what is established: bits that no source explains are refused in a register write, and not just
    /// reported (the front ends a batch at the first refusal), and tasks that need inferred behaviour are refused.
    pub strict: bool,
    /// How the multiply-accumulate array computes.
    pub numerics: Numerics,
    /// Threads that a large pass may use.
    pub threads: NonZero<usize>,
    /// How the mover is made; its checking follows the device's.
    pub mover: mover::Settings,
    /// The PE_MMU before the DART, if there is one.
    pub pe_mmu: Option<pe_mmu::Attributes>,
    /// Whether the time of tasks on the chip is modelled.
    pub timing: bool,
    pub inject: Vec<Injection>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            chip: Soc::T8103,
            instance: 0,
            pte_format: PteFormat::Seed,
            fault_policy: FaultPolicy::Contain,
            hang: Hang::Deadline,
            check: false,
            strict: false,
            numerics: Numerics::M1,
            threads: NonZero::<usize>::MIN,
            mover: mover::Settings::default(),
            pe_mmu: None,
            timing: true,
            inject: Vec::new(),
        }
    }
}

pub fn chip(value: &str) -> Result<Soc, UnknownValue> {
    by_name("chip", value, Soc::ALL.into_iter().map(|soc| (soc.name(), soc)))
}

pub fn pte_format(value: &str) -> Result<PteFormat, UnknownValue> {
    by_name("page-table format", value, PteFormat::ALL.iter().map(|&format| (format.name(), format)))
}

pub fn fault_policy(value: &str) -> Result<FaultPolicy, UnknownValue> {
    by_name("fault policy", value, FaultPolicy::ALL.into_iter().map(|policy| (policy.name(), policy)))
}

pub fn mover_profile(value: &str) -> Result<Profile, UnknownValue> {
    by_name("mover profile", value, Profile::ALL.into_iter().map(|profile| (profile.name(), profile)))
}

impl FromStr for Hang {
    type Err = UnknownValue;

    fn from_str(value: &str) -> Result<Self, Self::Err> {
        by_name("hang", value, Self::NAMES.into_iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_found_by_its_name() {
        for soc in Soc::ALL {
            assert_eq!(chip(soc.name()), Ok(soc));
        }
        for &format in PteFormat::ALL {
            assert_eq!(pte_format(format.name()), Ok(format));
        }
        for (name, hang) in Hang::NAMES {
            assert_eq!(name.parse(), Ok(hang));
        }
        for profile in Profile::ALL {
            assert_eq!(mover_profile(profile.name()), Ok(profile));
        }
        for policy in FaultPolicy::ALL {
            assert_eq!(fault_policy(policy.name()), Ok(policy));
        }
    }

    #[test]
    fn unknown_value_is_answered_with_the_known_ones() {
        assert_eq!(
            "never".parse::<Hang>().unwrap_err().to_string(),
            "hang \"never\" is not known; known: deadline, report"
        );
    }
}
