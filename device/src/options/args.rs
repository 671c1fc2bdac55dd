//! The same options on a command line: the group that every command takes which starts a device.

use std::num::NonZero;

use ane_uapi::hw::chip::Soc;
use ane_uapi::hw::dart::pte::PteFormat;
use ane_uapi::hw::mover::Profile;
use clap::{Args, Command, FromArgMatches as _};

use super::{FaultPolicy, Hang, Numerics, Options};
use crate::inject::Injection;
use crate::{mover, pe_mmu};

/// The options of a device.
#[derive(Clone, Debug, PartialEq, Args)]
#[command(next_help_heading = "The device")]
pub struct OptionArgs {
    /// The chip: t8103 (M1), t6000 (M1 Pro), t6001 (M1 Max), t6002 (M1 Ultra) or t8112 (M2: with its registers and
    /// map, but programs are read as those of the H13)
    #[arg(long, value_name = "CHIP", default_value = "t8103", value_parser = super::chip)]
    pub chip: Soc,

    /// Engine of the chip, from 0 [default: 0, or all where there is room for each]
    #[arg(long, value_name = "N")]
    pub instance: Option<usize>,

    /// Layout of page-table entries: seed (bit 63 is valid, as in entries of Apple's kernel), t8020 or t6000 (bit 0
    /// is valid, as in entries of Linux: a Linux DART driver needs one of these) [default: seed, or t8020 as a
    /// platform device]
    #[arg(long, value_name = "FORMAT", value_parser = super::pte_format)]
    pub pte_format: Option<PteFormat>,

    /// Effect of a DART fault: contain (report it), panic (stop until reset, as an M1 does), stall (hold the
    /// transfer until its stream is invalidated, then try it again) or absorb (unmapped memory reads as zeros,
    /// writes are dropped, and the request goes on) [default: contain, or stall as a platform device]
    #[arg(long, value_name = "POLICY", value_parser = super::fault_policy)]
    pub fault_policy: Option<FaultPolicy>,

    /// End of a task that would hang a real engine: deadline (its queue is aborted after two seconds) or report
    /// (it fails at once)
    #[arg(long, value_name = "HOW", default_value = "deadline")]
    pub hang: Hang,

    /// Report programming mistakes that silicon lets pass
    #[arg(long)]
    pub check: bool,

    /// Refuse accesses to unknown registers instead of logging them, and refuse tasks that need behaviour which is
    /// inferred and not established (docs/coverage.md lists it)
    #[arg(long)]
    pub strict: bool,

    /// How the multiply-accumulate array computes: m1 (as the silicon does) or exact (double precision, to
    /// compare with). Each gives the same bytes on every machine
    #[arg(long, value_name = "HOW", default_value = "m1")]
    pub numerics: Numerics,

    /// Threads that a large pass may use; 0 is one for each processor. The results do not depend on it
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(..=1024))]
    pub threads: u16,

    /// Description that the mover follows: seed (the default) or isa (Tenstorrent's instruction-set pages)
    #[arg(long, value_name = "PROFILE", value_parser = super::mover_profile)]
    pub mover_profile: Option<Profile>,

    /// Variants of the mover, separated by commas: contended (other blocks use the ports of its memory, so transfers
    /// take longer), wait-for-credit (a command without credit waits, which Tenstorrent's silicon should do and does
    /// not; without this word it is refused), wormhole (parameters lie where Tenstorrent's earlier chip has them)
    #[arg(long = "mover", value_name = "LIST", default_value = "")]
    pub mover: mover::Settings,

    /// Put a PE_MMU before the DART. Addresses outside of its regions pass unchanged. Its page is 2 MiB and a
    /// translation takes no time, unless ATTRIBUTES say otherwise, such as page=0x1000,overhead-ns=5,fabric-ns=40
    #[arg(
        long,
        value_name = "ATTRIBUTES",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = ""
    )]
    pub pe_mmu: Option<pe_mmu::Attributes>,

    /// Do not model how long tasks take on the chip: no virtual time in counters, completions and traces
    #[arg(long)]
    pub no_timing: bool,

    /// Inject a fault: translation-fault:ADDRESS, translation-fault:after=N, slow-dma:MICROSECONDS, lost-interrupt,
    /// stuck-queue, ignored-abort, corrupted-completion (these four may have :N, how many or which queue), or wedge,
    /// which only a reset or a power cycle ends. May be given several times; of one kind the last one counts
    #[arg(long, value_name = "KIND[:ARG]")]
    pub inject: Vec<Injection>,
}

impl OptionArgs {
    /// True if they say no more than a command line without any of them.
    pub fn are_defaults(&self) -> bool {
        let none = Self::augment_args(Command::new("none")).try_get_matches_from(["none"]);
        none.and_then(|none| Self::from_arg_matches(&none)).is_ok_and(|defaults| defaults == *self)
    }

    /// The same where the engine is a platform device: what the driver of a real one writes and expects.
    pub fn platform_options(&self) -> Options {
        Options {
            pte_format: self.pte_format.unwrap_or(PteFormat::T8020),
            fault_policy: self.fault_policy.unwrap_or(FaultPolicy::Stall),
            ..self.options()
        }
    }

    /// The options of the device, of the engine named or the first.
    pub fn options(&self) -> Options {
        Options {
            chip: self.chip,
            instance: self.instance.unwrap_or(0),
            pte_format: self.pte_format.unwrap_or(PteFormat::Seed),
            fault_policy: self.fault_policy.unwrap_or_default(),
            hang: self.hang,
            check: self.check,
            strict: self.strict,
            mover: mover::Settings {
                profile: self.mover_profile.unwrap_or(self.mover.profile),
                ..self.mover
            },
            pe_mmu: self.pe_mmu,
            timing: !self.no_timing,
            inject: self.inject.clone(),
            numerics: self.numerics,
            threads: NonZero::new(usize::from(self.threads))
                .or_else(|| std::thread::available_parallelism().ok())
                .unwrap_or(NonZero::<usize>::MIN),
        }
    }
}
