//! `ane campaign`.

use std::path::PathBuf;

use ane::campaign::case::Shard;
use clap::{Args, Subcommand};

/// Run many programs in many modes, and say what held
///
/// MANIFEST is a folder of programs, or a TOML file of programs, ways of computing, seeds and what is expected:
///
///   numerics = ["m1", "exact"]     # each program in each of these
///   seeds = 3                      # with random inputs of seeds 0, 1 and 2
///   [[program]]
///   path = "conv/*.hwx"            # a file, several, or a folder; .hwx, .anec, or what `ane build` takes
///   expect.numerics = "exact"      # also: arrays = "y.npy", sha256 = "...", meaning = "y = relu x", device = "aned"
///   absolute = 0.002               # how far off a result may be
///
/// Further keys of a program: family, inputs = { x = "x.npy" }, relative, seconds and mebibytes, which a case may take;
/// numerics, seeds, seconds and mebibytes may stand above all programs, too. Of a folder, NAME.npy beside NAME.hwx is what
/// it gives.
///
/// Each case gives one line of JSON in the file that -o names. Cases that the file has already are left out: a campaign
/// that was killed goes on where it stopped when it is started again. Cases run in processes of their own, which are
/// killed if they take too long or too much memory, and replaced if they die. dist/campaign has jobs for Slurm, Kubernetes
/// and GNU parallel.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    verbatim_doc_comment,
    after_help = "\
Examples:
  ane campaign programs/ -o results.jsonl
  ane campaign nightly.toml -o part-3.jsonl --shard 3/16 --jobs 4
  ane campaign nightly.toml --list
  ane campaign report part-*.jsonl --junit junit.xml --html report.html

Exit codes: 5 if a result is wrong, or a case could not be brought to an end; refusals
of the engine are counted and are no failure."
)]
pub(crate) struct Campaign {
    /// What to do with results
    #[command(subcommand)]
    pub(crate) command: Option<CampaignCommand>,
    /// A TOML file, or a folder of programs
    #[arg(required_unless_present = "worker")]
    pub(crate) manifest: Option<PathBuf>,
    /// Append the lines to this file
    #[arg(short, long, value_name = "FILE", required_unless_present_any = ["list", "worker"])]
    pub(crate) output: Option<PathBuf>,
    /// Run one part of several only: which, from 1, of how many. A case belongs to the same part everywhere
    #[arg(long, value_name = "I/N")]
    pub(crate) shard: Option<Shard>,
    /// Cases that run at once [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    /// Seconds that any case may take, whatever the manifest says
    #[arg(long, value_name = "N")]
    pub(crate) seconds: Option<f64>,
    /// Mebibytes of memory that any case may take, whatever the manifest says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) mebibytes: Option<u64>,
    /// Print the cases, and run none
    #[arg(long)]
    pub(crate) list: bool,
    /// Show no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Run cases that come in as lines: what `ane campaign` starts
    #[arg(long, hide = true)]
    pub(crate) worker: bool,
}

/// What to do with results
#[derive(Debug, Subcommand)]
pub(crate) enum CampaignCommand {
    Report(CampaignReport),
}

/// Merge the lines of files, and say what held
///
/// Prints a table by family, what programs are refused for by register, and every result that is wrong. A case that has
/// lines in several files counts once.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane campaign report results.jsonl
  ane campaign report part-*.jsonl --junit junit.xml --html report.html
  ane campaign report part-*.jsonl --json | jq .refusals

Exit codes: 5 if a result is wrong, or a case could not be brought to an end.")]
pub(crate) struct CampaignReport {
    /// Files of lines; - is standard input
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Write the cases as JUnit's XML, too
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Write the report as a page of HTML, too
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Print JSON for another program to read
    #[arg(long)]
    pub(crate) json: bool,
}
