//! `ane campaign`.

mod progress;

use std::collections::HashSet;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use ane::campaign::case::{Case, Limits, Shard};
use ane::campaign::contents::Contents;
use ane::campaign::manifest;
use ane::campaign::pool;
use ane::campaign::record::{self, Log, Record};
use ane::campaign::report::Totals;
use ane::count::count;
use anyhow::{Context, Result, anyhow};
use clap::{Args, Subcommand};
use progress::Progress;

use crate::failure::{Advise, Exit, Failure};
use crate::files::{self, Existing};

/// Run many programs in many modes, and report which results are right
///
/// MANIFEST is a folder of programs, or a TOML file of programs, ways of computing, seeds and what
/// is expected:
///
///   numerics = ["m1", "exact"]     # each program in each of these
///   seeds = 3                      # with random inputs of seeds 0, 1 and 2
///   [[program]]
///   path = "conv/*.hwx"            # a file, several, or a folder; .hwx, .anec, or a description
///   expect.numerics = "exact"      # also: arrays = "y.npy", sha256 = "...", device = "aned",
///                                  # meaning = "y = relu x"
///   absolute = 0.002               # how far off a result may be
///
/// Further keys of a program: family, inputs = { x = "x.npy" }, relative, seconds and mebibytes,
/// which a case may take; numerics, seeds, seconds and mebibytes may stand above all programs, too.
/// In a folder, NAME.npy beside NAME.hwx is the expected result.
///
/// Each case writes one line of JSON to the file that -o names. Cases that are in the file already
/// are left out, so a campaign that was killed goes on where it stopped. Each case runs in a worker
/// process. A worker is killed if it takes too long or too much memory, and replaced if it dies. dist/campaign has jobs for Slurm, Kubernetes and GNU parallel.
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
    /// Command on results
    #[command(subcommand)]
    pub(crate) command: Option<CampaignCommand>,
    /// A TOML file, or a folder of programs
    #[arg(required_unless_present = "worker")]
    pub(crate) manifest: Option<PathBuf>,
    /// Append the lines to this file
    #[arg(short, long, value_name = "FILE", required_unless_present_any = ["list", "worker"])]
    pub(crate) output: Option<PathBuf>,
    /// Run one part only: I of N, from 1. A case belongs to the same part on every machine
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
    /// Run cases that come in as lines; `ane campaign` starts its workers so
    #[arg(long, hide = true)]
    pub(crate) worker: bool,
}

/// Command on results
#[derive(Debug, Subcommand)]
pub(crate) enum CampaignCommand {
    Report(CampaignReport),
}

/// Merge result files, and report which results are right
///
/// Prints a table by family, the refusals ranked by register, and every wrong result. A case that has lines in several
/// files counts once.
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
    /// Also write the cases as JUnit XML; a file that exists is replaced
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Also write the report as an HTML page; a file that exists is replaced
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Print JSON for another program to read
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(args: &Campaign) -> Result<()> {
    match (&args.command, &args.manifest) {
        (Some(CampaignCommand::Report(args)), _) => report(args),
        (None, _) if args.worker => Ok(pool::serve(io::stdin().lock(), io::stdout().lock())?),
        (None, Some(manifest)) => campaign(args, manifest),
        // The parser wants one of them.
        (None, None) => Err(anyhow!("there is no manifest")),
    }
}

fn campaign(args: &Campaign, manifest: &Path) -> Result<()> {
    let shard = args.shard.unwrap_or(Shard::WHOLE);
    let mut cases = manifest::cases(manifest)
        .advise(Exit::Refused, "`ane help campaign` says what may stand in a manifest")?;
    let all = cases.len();
    if all == 0 {
        let what = format!("{}: has no case", files::name(manifest));
        let advice = "a folder wants .hwx or .anec files, and a manifest programs and seeds";
        return Err(Failure::new(Exit::Refused, what, advice).into());
    }
    cases.retain(|case| shard.has(&case.id()));
    limit(args, &mut cases)?;
    if args.list {
        let lines: String = cases.iter().map(line).collect();
        return files::print(lines.as_bytes());
    }
    let Some(output) = &args.output else { return Err(anyhow!("there is no -o")) };
    let name = files::name(output);
    let mut log = Log::open(output)
        .with_context(|| name.clone())
        .advise(Exit::Refused, "name a file that can be appended to")?;
    if log.damaged() > 0 && !args.quiet {
        let lines = count(log.damaged(), "line");
        files::tell(format_args!("{name}: {lines} cut short; the cases that are missing are run again"));
    }
    let part = cases.len();
    let ids: HashSet<String> = cases.iter().map(Case::id).collect();
    let mut contents = Contents::default();
    check_unchanged(&cases, &log, &mut contents, &name)?;
    cases.retain(|case| !log.has(&case.id()));
    let left = cases.len();
    // As they are before they run: a program that changes meanwhile is another one the next time.
    cases.iter().for_each(|case| drop(contents.of(case)));
    let program = std::env::current_exe().context("looking for this program")?;
    let worker = || {
        let mut command = Command::new(&program);
        command.args(["campaign", "--worker"]);
        command
    };
    let jobs =
        args.jobs.map(usize::from).or_else(|| std::thread::available_parallelism().ok().map(usize::from));
    let start = Instant::now();
    let mut progress = Progress::new(left, args.quiet);
    let done = pool::run(cases, jobs.unwrap_or(1), worker, |case, outcome| {
        let record = Record { contents: Some(contents.of(case)), ..Record::of(case, outcome) };
        log.append(&record)?;
        progress.step(&record);
        Ok(())
    });
    progress.end();
    done.map_err(|why| stopped(&name, &why))?;
    let seconds = start.elapsed().as_secs_f64();
    let mut lines = record::read(std::fs::File::open(output)?).with_context(|| name.clone())?;
    // Other parts may write the same file.
    lines.records.retain(|record| ids.contains(&record.id));
    let totals = Totals::of([lines]);
    let total = &totals.total;
    let mut said =
        format!("{name}: {} of {all} in this part, {left} run in {seconds:.1} s", count(part, "case"));
    for (verdict, count) in &total.verdicts {
        said.push_str(&format!(", {count} {}", verdict.name()));
    }
    said.push('\n');
    files::print(said.as_bytes())?;
    verdict(&totals)
}

/// Refuses to go on with lines of programs that are others now.
fn check_unchanged(cases: &[Case], log: &Log, contents: &mut Contents, name: &str) -> Result<()> {
    let is_other = |case: &&Case| log.contents(&case.id()).is_some_and(|before| before != contents.of(case));
    let Some(case) = cases.iter().find(is_other) else { return Ok(()) };
    let program = ane::decode::printable(&case.program);
    let what = format!("{name}: {program}, or an array of its case, has changed since it ran");
    Err(Failure::new(Exit::Refused, what, "name another file with -o, so that all cases run again").into())
}

/// Puts the limits of the command line above those of the manifest.
fn limit(args: &Campaign, cases: &mut [Case]) -> Result<()> {
    if args.seconds.is_some_and(|seconds| !(seconds > 0.0 && seconds <= 1e6)) {
        let advice = "give a number above 0, and at most 1000000";
        return Err(
            Failure::new(Exit::CommandLine, "--seconds is no time that a case can take", advice).into()
        );
    }
    for case in cases {
        let Limits { seconds, mebibytes } = case.limits;
        case.limits = Limits {
            seconds: args.seconds.unwrap_or(seconds),
            mebibytes: args.mebibytes.unwrap_or(mebibytes),
        };
    }
    Ok(())
}

/// A case, for people and for `grep`.
fn line(case: &Case) -> String {
    let (id, expect) = (case.id(), case.expect.name());
    format!(
        "{id}  {}  {}  seed {}  {expect}\n",
        ane::decode::printable(&case.program),
        case.numerics,
        case.seed
    )
}

/// The reason why a campaign did not come to its end. Its output so far stays.
fn stopped(name: &str, why: &io::Error) -> anyhow::Error {
    let advice = match why.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            "make room and start it again: it goes on where it stopped"
        }
        _ => "start it again: it goes on where it stopped",
    };
    Failure::new(Exit::Refused, format_args!("{name}: {why}"), advice).into()
}

fn report(args: &CampaignReport) -> Result<()> {
    let mut lines = Vec::new();
    for path in &args.files {
        let bytes = files::read(path)?;
        lines.push(record::read(&bytes[..]).with_context(|| files::name(path))?);
    }
    // A part without a case has no line; a file of something else has no other.
    if let Some(at) = lines.iter().position(|lines| lines.records.is_empty() && lines.damaged > 0) {
        let what = format!("{}: no line of a campaign", files::name(&args.files[at]));
        return Err(Failure::new(Exit::Refused, what, "name the files that `ane campaign -o` wrote").into());
    }
    for written in args.junit.iter().chain(&args.html) {
        files::check_is_other(written, &args.files)?;
    }
    let totals = Totals::of(lines);
    if let Some(path) = &args.junit {
        files::save(path, totals.junit().as_bytes(), Existing::Replace)?;
    }
    if let Some(path) = &args.html {
        files::save(path, totals.html().as_bytes(), Existing::Replace)?;
    }
    if args.json {
        files::print_json(&totals)?
    } else {
        files::print(totals.page()?.as_bytes())?
    }
    verdict(&totals)
}

/// An error, if there is something to look into.
fn verdict(totals: &Totals) -> Result<()> {
    let failures = totals.total.failures();
    if failures == 0 && totals.contradictions.is_empty() {
        return Ok(());
    }
    let (wrong, other) = (totals.total.count(record::Verdict::Wrong), totals.contradictions.len());
    let what = format!(
        "{wrong} of {} are wrong, {} did not come to an end, {other} contradict themselves",
        count(totals.total.cases, "case"),
        failures.saturating_sub(wrong)
    );
    Err(Failure::new(Exit::Differs, what, "`ane campaign report` names them; `ane run` shows one alone")
        .into())
}
