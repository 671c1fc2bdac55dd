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
    /// The chip: t8103 (M1), t6000 (M1 Pro), t6001 (M1 Max), t6002 (M1 Ultra) or t8112 (M2: its registers and map;
    /// programs are read as H13's all the same)
    #[arg(long, value_name = "CHIP", default_value = "t8103", value_parser = super::chip)]
    pub chip: Soc,

    /// Which engine of the chip, from 0 [default: 0, or all where there is room for each]
    #[arg(long, value_name = "N")]
    pub instance: Option<usize>,

    /// Layout of page-table entries: seed (valid in bit 63, as Apple's kernel hands them over), t8020 or t6000
    /// (valid in bit 0, as Linux writes them: a Linux DART driver needs one of these) [default: seed, or t8020 as a
    /// platform device]
    #[arg(long, value_name = "FORMAT", value_parser = super::pte_format)]
    pub pte_format: Option<PteFormat>,

    /// What a real fault does: contain (report it), panic (be dead until reset, as an M1 is), stall (hold the
    /// transfer until its stream is invalidated, and try it again) or absorb (where nothing is mapped read zeros,
    /// write nothing, and go on) [default: contain, or stall as a platform device]
    #[arg(long, value_name = "POLICY", value_parser = super::fault_policy)]
    pub fault_policy: Option<FaultPolicy>,

    /// What becomes of a task that would hang an engine: deadline (its queue is aborted after two seconds) or
    /// report (it fails at once)
    #[arg(long, value_name = "HOW", default_value = "deadline")]
    pub hang: Hang,

    /// Report programming mistakes that silicon lets pass
    #[arg(long)]
    pub check: bool,

    /// Refuse accesses to registers that nothing is known about, and not just log them; and tasks that need
    /// behaviour which is inferred and not established (docs/coverage.md lists it)
    #[arg(long)]
    pub strict: bool,

    /// How the multiply-accumulate array computes: m1 (as the silicon does) or exact (double precision, to
    /// compare with). Each gives the same bytes on every machine
    #[arg(long, value_name = "HOW", default_value = "m1")]
    pub numerics: Numerics,

    /// Threads that a large pass may use; 0 is one for each processor. The results do not depend on it
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(..=1024))]
    pub threads: u16,

    /// Whose description the mover follows: seed (the default) or isa (the vendor's instruction-set pages)
    #[arg(long, value_name = "PROFILE", value_parser = super::mover_profile)]
    pub mover_profile: Option<Profile>,

    /// How the mover is made, as words with commas between them: contended (others use the ports of its memory,
    /// so transfers take longer), wait-for-credit (the vendor's silicon should wait there, and does not: without
    /// this the command is refused), wormhole (parameters are where the vendor's earlier chip has them)
    #[arg(long = "mover", value_name = "LIST", default_value = "")]
    pub mover: mover::Settings,

    /// Put a PE_MMU before the DART: what no region of it covers is used as it is. Its page is 2 MiB and costs
    /// nothing unless ATTRIBUTES, such as page=0x1000,overhead-ns=5,fabric-ns=40, say otherwise
    #[arg(
        long,
        value_name = "ATTRIBUTES",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = ""
    )]
    pub pe_mmu: Option<pe_mmu::Attributes>,

    /// Do not model what tasks would have taken on the chip: no virtual time in counters, completions and traces
    #[arg(long)]
    pub no_timing: bool,

    /// Make a fault: translation-fault:ADDRESS, translation-fault:after=N, slow-dma:MICROSECONDS, or
    /// lost-interrupt, stuck-queue, ignored-abort or corrupted-completion, which may have a number behind a colon
    /// too: how many, or which queue, or wedge, which only a reset or a cycle of the power ends. May be given several times; of one kind the last one counts
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
